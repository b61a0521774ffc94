"""Every scenario with a seeded share of single faults, and storms: no rule is broken, and every ending is accepted.

One fault at a time: each call of the operator gets every possible fault, and before each step of the world each
controller suffers every possible loss; `make soak` runs all of them. Counts are printed; a failure names the run that
replays it.
"""

import itertools
from typing import get_args

import pytest
from tests.simulation.runs.choose import driver_of
from tests.simulation.runs.explore import explore, faults_of, replay, scenario
from tests.simulation.runs.faults import Loss, Strike
from tests.simulation.runs.scenarios.scenarios import ALL
from tests.simulation.runs.tally import Tally, kind_of
from tests.simulation.tests.conftest import Shows

from kafka_quorum.model.actions import Action
from kafka_quorum.plan.guards.registry import GUARDS

pytestmark = [pytest.mark.simulation, pytest.mark.timeout(2700)]
ONE_IN = 2000
STORMS = 60
"""Storms of controllers; `make soak` performs 2000 of each kind."""
DISKS = 20
"""Storms in which disks hide and return."""
ROLLING = 30
"""Storms in which releases and levels also change."""

TAILS = 8
"""Storms of elections beside voter changes."""
CERTIFICATES = 10
"""Storms with certificates that live ten minutes."""

_REPLAY = "PYTHONPATH=operator:. python -m tests.simulation --replay"


@pytest.fixture(scope="module")
def tally() -> Tally:
    """Every run, counted once."""
    return explore(
        [one.name for one in ALL],
        one_in=ONE_IN,
        storms=STORMS,
        rolling=ROLLING,
        disks=DISKS,
        tails=TAILS,
        certificates=CERTIFICATES,
    )


def test_no_rule_is_broken_and_every_end_is_honest(tally: Tally, shows: Shows) -> None:
    """Every run ends Ready, or BootstrapFailed, or Degraded with the lost replica named, true by ground truth."""
    shows(tally)
    first = "\n".join(f"{_REPLAY} '{text.split(': ', 1)[0]}'\n    {text}" for text in tally.failures[:10])
    assert not tally.failures, f"{len(tally.failures)} of {tally.runs} runs failed, the first ones:\n{first}"


BESIDE = frozenset({"RequestLeaf"})
"""The model has no cert-manager: unit tests and the end-to-end scenario of issuers reach it."""


def test_every_action_is_reached(tally: Tally) -> None:
    """The simulation reaches every type of action."""
    kinds = {kind.__name__ for kind in get_args(Action)}
    assert kinds - BESIDE - set(tally.actions) == set()


SECOND = frozenset(
    {"13-end-authority no", "13-turn-trust no", "14-copy no", "14-rewrite no", "14-stop no", "14-release no"}
)
"""Refusals behind another gate: the migration that leads there has judged the same before, and the stage of a recovery
asks only when everything that it does itself is done. Unit tests reach them."""


def test_every_guard_has_said_yes_and_no(tally: Tally) -> None:
    """Every guard has both agreed and refused, so that both answers were tested."""
    wanted = {f"{rule} {answer}" for rule in GUARDS for answer in ("yes", "no")}
    assert wanted - SECOND - set(tally.verdicts) == set()


def test_every_kind_of_ending_is_reached(tally: Tally) -> None:
    """Some runs end Ready, and some in each of the exceptions that are accepted once a quorum has formed."""
    assert {"Ready", "LostDisk", "LostNode"} <= set(tally.endings)


def test_a_quorum_that_cannot_form_says_so() -> None:
    """If the only disk is emptied before there was a leader, the end is BootstrapFailed, and that is true."""
    early = (fault for fault in faults_of(driver_of(scenario("initial-1")).run()) if kind_of(fault) == "emptied")
    runs = (replay(f"initial-1/{fault}") for fault in itertools.islice(early, 20))
    failed = next((run for run in runs if run.ending.says == "BootstrapFailed"), None)
    assert failed is not None
    assert failed.ok, failed.ending.why


def test_every_fault_struck_something(tally: Tally) -> None:
    """All counted faults really happened, and every kind of fault is among them."""
    assert tally.idle == 0
    assert sum(tally.faults.values()) > 2_000
    assert {kind.value for kind in (*Loss, *Strike)} - set(tally.faults) == set()


def test_random_events(tally: Tally) -> None:
    """Storms draw more than a hundred thousand times what continues, with which fault."""
    assert tally.events > 150_000
