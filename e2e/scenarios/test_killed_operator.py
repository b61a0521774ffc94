"""The operator is killed during a bootstrap, after each step and at random moments: the result is always one quorum."""

import random
import time
from collections.abc import Callable

import pytest

from harness import operator
from harness.quorum import Quorum
from harness.shell import Json, wait_until
from scenarios.expectations import assert_one_quorum

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(300)]

STANDALONE = {"bootstrap": {"mode": "Standalone"}}
_POLL_S = 0.05
_STEP_TIMEOUT_S = 90.0
Step = Callable[[Quorum], object]


def _nodes(quorum: Quorum) -> list[Json]:
    """The nodes of the record; before there is one, a node without fields."""
    rows: list[Json] = quorum.record().get("nodes") or [{"claim_uid": None, "formatted": False}]
    return rows


STEPS: dict[str, Step] = {
    "the identity is written": Quorum.record,
    "the claims are there": Quorum.claims,
    "the claims are bound": lambda quorum: all(row["claim_uid"] for row in _nodes(quorum)),
    "a formatter is there": lambda quorum: quorum.pods("formatter"),
    "a disk is reported": lambda quorum: any(row["formatted"] for row in _nodes(quorum)),
    "the quorum may start": lambda quorum: quorum.record().get("phase") == "Started",
    "a pod of Kafka is there": lambda quorum: quorum.pods(),
    "a leader was seen": lambda quorum: quorum.record().get("had_leader"),
}
EARLY = ("the quorum may start",)
"""The steps in `make test`: right after the barrier. The simulation has the operator crash at every call."""
JOINING: dict[str, Step] = {
    "an observer's pod is there": lambda quorum: len(quorum.pods()) > 1,
    "the intent to add is written": lambda quorum: quorum.status().get("operation"),
    "two voters are there": lambda quorum: (quorum.status().get("quorum") or {}).get("voters") == 2,
}


def assert_ends_well(quorum: Quorum, initial: set[int]) -> None:
    """The quorum is ready, with the cluster id and the first voters of the only identity."""
    quorum.wait_ready(150)
    assert_one_quorum(quorum, initial=initial, voters={3000, 3001, 3002})
    made = [note for reason, note in quorum.events() if reason == "IdentityMade"]
    assert len(made) <= 1  # an event may be lost with the operator; a second identity must not be made


def kill_after(quorum: Quorum, name: str, step: Step, delay_s: float = 0.0) -> None:
    """Wait for a step, and then for this delay; then kill the operator."""
    wait_until(name, lambda: step(quorum), _STEP_TIMEOUT_S, _POLL_S)
    time.sleep(delay_s)  # this is no wait for a state: the moment of the crash varies
    operator.crash()


@pytest.mark.parametrize("name", EARLY)
def test_killed_after_a_step(name: str, quorum: Quorum) -> None:
    """After a kill right behind a step, the next operator continues from the state of the cluster."""
    quorum.apply()
    kill_after(quorum, name, STEPS[name])
    assert_ends_well(quorum, {3000, 3001, 3002})


@pytest.mark.full
@pytest.mark.parametrize("name", [name for name in STEPS if name not in EARLY])
def test_killed_after_another_step(name: str, quorum: Quorum) -> None:
    """The same holds for every other step of a bootstrap."""
    quorum.apply()
    kill_after(quorum, name, STEPS[name])
    assert_ends_well(quorum, {3000, 3001, 3002})


@pytest.mark.full
@pytest.mark.parametrize("name", JOINING)
def test_killed_while_controllers_join(name: str, quorum: Quorum) -> None:
    """After a kill between intent, request and answer, all voters are added and the operation is closed."""
    quorum.apply(STANDALONE)
    kill_after(quorum, name, JOINING[name])
    assert_ends_well(quorum, {3000})
    assert "operation" not in quorum.status()


@pytest.mark.full
@pytest.mark.timeout(1500)
def test_killed_again_and_again(quorums: Callable[[str], Quorum], randomly_seed: int) -> None:
    """Six bootstraps with two to four kills at random moments each end in one quorum."""
    dice = random.Random(randomly_seed)  # noqa: S311 - moments of crashes, not cryptography
    for round_ in range(6):
        spec, initial = ({}, {3000, 3001, 3002}) if round_ % 2 else (STANDALONE, {3000})
        delays = [dice.uniform(0.0, 8.0) for _ in range(dice.randint(2, 4))]
        print(f"round {round_}, seed {randomly_seed}: {initial}, killed after {[f'{delay:.2f} s' for delay in delays]}")
        quorum = quorums("q")
        quorum.apply(spec)
        for delay_s in delays:
            kill_after(quorum, "the operator runs", _operator_runs, delay_s)
        assert_ends_well(quorum, initial)
        quorum.delete(wait=False)


def _operator_runs(_: Quorum) -> object:
    return any(row["ready"] for pod in operator.pods() for row in pod.get("status", {}).get("containerStatuses", []))
