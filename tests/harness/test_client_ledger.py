"""The judgement of the clients' records: each broken promise is counted under its name, and a good run has none."""

import pytest

from harness.client.ledger import Acknowledged, Lane, Read, Verdict, gaps, judge, longest_gap, longest_gap_s
from harness.client.outages import OFFLINE, UNDER_MIN_ISR, Outages, Seen

GOOD = [Read(offset=offset, sequence=offset) for offset in range(5)]


def lane(**changes: object) -> Lane:
    """Five records, acknowledged and consumed, with these changes."""
    fields: dict[str, object] = {
        "sent": 5,
        "acknowledged": [Acknowledged(sequence=n, offset=n, at_s=float(n)) for n in range(5)],
        "consumed": list(GOOD),
    }
    return Lane(**(fields | changes))  # type: ignore[arg-type]


def test_a_good_run_has_no_faults() -> None:
    """Everything acknowledged is at its offset, and was consumed once in order."""
    verdict = judge("t-0", lane(), GOOD)
    assert verdict == Verdict(acknowledged=5, consumed=5)
    assert verdict.faults == {}


@pytest.mark.parametrize(
    ("changes", "log", "faults"),
    [
        pytest.param({"consumed": GOOD[:3]}, GOOD[:4], {"lost": 1}, id="the last record is gone"),
        pytest.param(
            {"consumed": []},
            [*GOOD[:3], Read(offset=3, sequence=4)],
            {"lost": 1, "moved": 1},
            id="another record is at the offset of a lost one",
        ),
        pytest.param(
            {"consumed": []}, [*GOOD, Read(offset=5, sequence=4)], {"duplicated": 1}, id="a record is there twice"
        ),
        pytest.param(
            {"consumed": [], "acknowledged": []},
            [Read(offset=0, sequence=1), Read(offset=1, sequence=0)],
            {"disordered": 1},
            id="records changed places",
        ),
        pytest.param({"consumed": [*GOOD, GOOD[4]]}, GOOD, {"reread": 1}, id="the consumer got a record twice"),
        pytest.param({"acknowledged": []}, GOOD[:4], {"withdrawn": 1}, id="a consumed record is gone"),
        pytest.param({"consumed": [*GOOD[:2], *GOOD[3:]]}, GOOD, {"skipped": 1}, id="the consumer missed a record"),
    ],
)
def test_each_broken_promise_is_counted(changes: dict[str, object], log: list[Read], faults: dict[str, int]) -> None:
    """Each of them under its own name, and nothing else."""
    assert judge("t-0", lane(**changes), log).faults == faults


def test_a_record_without_an_answer_is_no_fault() -> None:
    """It may be in the log or not; it is counted, and whether it happened."""
    verdict = judge("t-0", lane(sent=7, failed={5: "timed out"}), [*GOOD, Read(offset=5, sequence=6)])
    assert (verdict.unanswered, verdict.happened, verdict.faults) == (2, 1, {})


def test_verdicts_are_summed() -> None:
    """Counts are added, and a few examples kept."""
    both = Verdict(lost=1, examples=("a",)).plus(Verdict(lost=2, acknowledged=3, examples=("b",)))
    assert both == Verdict(lost=3, acknowledged=3, examples=("a", "b"))


def test_gaps_are_of_each_partition_within_the_window() -> None:
    """The edges of the window count, and what lies outside does not."""
    assert longest_gap_s([0.0, 1.0, 2.5, 9.0], 0.5, 4.0) == 1.5
    assert longest_gap_s([], 1.0, 4.0) == 3.0
    assert longest_gap([1.0, 2.5, 4.0], 0.5, 4.5) == (1.5, 1.0)
    found = gaps({"a": lane(), "b": Lane()}, 0.0, 4.0)
    assert {name: length_s for name, (length_s, _) in found.items()} == {"a": 1.0, "b": 4.0}
    assert found["b"] == (4.0, 0.0)


def seen(leader: int = 1, isr: int = 3) -> Seen:
    """One look at a partition of three replicas."""
    return Seen(partition="t-0", leader=leader, replicas=3, isr=isr, min_isr=2)


def test_an_outage_lasts_from_its_first_look_to_the_first_good_one() -> None:
    """A look without the partition does not end it, and one that never ended is in the answer too."""
    outages = Outages()
    for at_s, rows in enumerate(([seen()], [seen(leader=-1, isr=1)], [], [seen(leader=-1, isr=2)], [seen(isr=1)])):
        outages.note(rows, float(at_s))
    found = {(row["kind"], row["since_s"], row["until_s"]) for row in outages.values()["outages"]}
    assert found == {(OFFLINE, 1.0, 4.0), (UNDER_MIN_ISR, 1.0, 3.0), (UNDER_MIN_ISR, 4.0, None)}
    assert outages.values()["looks"] == 5
    assert outages.values()["blind_s"] == 1.0


def test_a_record_that_is_there_twice_is_shown() -> None:
    """With its offsets and its acknowledgement, so that a person can find the moment in the servers' logs."""
    verdict = judge("t-0", lane(consumed=[]), [*GOOD, Read(offset=5, sequence=4)])
    assert verdict.examples == ("t-0: record 4 is at offsets [4, 5], acknowledged: ['offset 4 at 4.0 s']",)
