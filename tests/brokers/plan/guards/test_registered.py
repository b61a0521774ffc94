"""The guards of brokers: each is registered, in the file of its rule, and named in docs/safety.md."""

import re
from pathlib import Path

import pytest

from kafka_brokers.model import permit
from kafka_brokers.plan.guards import rule2_disks, rule10_records, rule11_stops  # noqa: F401 - they register
from kafka_brokers.plan.guards.registry import GUARDS
from kafka_quorum.model.permit import Guard

EVERY = {kind.id: kind for kind in Guard.__subclasses__() if kind.__module__ == permit.__name__}
SAFETY = Path(__file__).parents[4] / "docs" / "safety.md"


def test_every_guard_is_registered() -> None:
    """Each guard class has a registered function, and there is no other one."""
    assert GUARDS.keys() == EVERY.keys()


@pytest.mark.parametrize("id_", EVERY)
def test_a_guard_is_in_the_file_of_its_rule(id_: str) -> None:
    """The number of a guard is that of its file; rules 1 and 2 share one."""
    number = id_.split("-", maxsplit=1)[0]
    assert GUARDS[id_].rsplit(".", 1)[1].startswith("rule2_" if number in {"1", "2"} else f"rule{number}_")


def test_the_safety_page_names_every_guard() -> None:
    """docs/safety.md has each guard of brokers in its table."""
    rows = re.findall(r"^\| ([0-9]+-[a-z-]+(?:, [0-9]+-[a-z-]+)*) \|", SAFETY.read_text(), flags=re.MULTILINE)
    assert {name for row in rows for name in row.split(", ")} == EVERY.keys()
