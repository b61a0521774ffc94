"""The last turn of a scenario at every moment: the spec changes again, or the identity record is lost."""

from dataclasses import replace
from functools import partial

import pytest
from tests.simulation.runs.branches import forked
from tests.simulation.runs.driver import Driver
from tests.simulation.runs.explore import scenario
from tests.simulation.runs.scenarios.scenes import Turn, When, always, has_copies

pytestmark = [pytest.mark.simulation, pytest.mark.timeout(900)]


@pytest.mark.parametrize(
    ("name", "when"),
    [
        ("target-changed-half-way", always),
        ("scale-4-to-3-and-back", always),
        ("emptied-disk-and-two-asked", always),
        ("all-ids-swapped-and-four-asked", always),
        ("roll-reversed", always),
        ("record-deleted-initialcontrollers", has_copies),
        ("record-deleted-standalone", has_copies),
        ("record-deleted-static", has_copies),
        ("static-to-dynamic-without-its-record", has_copies),
        ("migration-taken-back", always),
    ],
)
def test_the_last_turn_may_come_at_any_moment(name: str, when: When) -> None:
    """In whichever step of the operator the last turn happens, no rule is broken and the end is the scenario's."""
    whole = scenario(name)
    last, begun = replace(whole.turns[-1], when=when), replace(whole, turns=whole.turns[:-1])
    steps = [moment.step for moment in Driver(begun).run().moments if moment.turned and moment.acted]
    assert steps
    stem, failed = Driver(begun), {}
    try:
        stem.begin()
        for step in steps:
            stem.go_on(step)
            if why := forked(partial(_why_not, stem, last)):
                failed[step] = why
    finally:
        stem.close()
    assert failed == {}


def _why_not(stem: Driver, last: Turn) -> str:
    run = stem.end_after(last)
    return "" if run.ok else f"{run.violations} {run.ending}"
