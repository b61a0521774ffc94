"""The tables of a migration by hand and by the operator."""

from bench.figures import WIDTH, Figures
from bench.migration import Migrated
from bench.test_zookeeper import _add
from harness.by_hand_migration import STEPS
from harness.client.ledger import Verdict
from harness.clients import Gap

SIZE = "220 topics, 1200 partitions, 60 ACLs, 5 SCRAM users, 12 quotas, 5 dynamic settings of brokers"


def migrated(took_s: float, worst_s: float) -> Migrated:
    """A migration whose first step takes so long, all others a second, and whose longest gap is this one."""

    def gap(what: str, seconds: float) -> Gap:
        return Gap(what=what, took_s=seconds, worst_s=worst_s, where="orders-1", all_s=0.1)

    first, *others = STEPS
    return Migrated(
        steps=(gap(first, took_s), *(gap(what, 1.0) for what in others)),
        whole=gap("whole", took_s + len(others)),
        load=9.5,
        verdict=Verdict(acknowledged=12345, consumed=12345, lost=1),
        differences=("one",),
        offline=0,
    )


def test_the_tables_of_a_migration() -> None:
    """They fit a terminal, have a row for each step, the medians of both sides, their ratio, and what was lost."""
    figures = Figures()
    found = {
        "by hand": [migrated(95.0, 2.0), migrated(105.0, 2.0), migrated(95.0, 3.0)],
        "operator": [migrated(115.0, 1.5), migrated(115.0, 1.5), migrated(1150.0, 1.5)],
    }
    _add(figures, found, SIZE)
    steps, checks = figures.tables
    assert max(map(len, f"{steps}\n{checks}".splitlines())) <= WIDTH
    assert all(what in steps for what in STEPS)
    assert figures.values["from_zookeeper"]["whole"] == ("from the begin to the end", 100.0, 2.0, 120.0, 1.5, 1.2)
    assert checks.splitlines()[2].split() == ["by", "hand", "12345", "12345", "1", "1", "0", "1", "9.50"]
