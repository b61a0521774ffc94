"""A person's words: held controllers are left alone, and a disk that is named is given up and replaced, once."""

import time

import pytest

from harness.quorum import Quorum
from harness.shell import holds_for, kubectl, wait_until
from scenarios.conftest import Write
from scenarios.expectations import assert_nothing_lost, assert_one_quorum, assert_untouched
from scenarios.rolls import ROLL_TIMEOUT_S
from scenarios.test_scaling import ALL, leader

pytestmark = [pytest.mark.e2e, pytest.mark.full, pytest.mark.timeout(600)]

_HOLD, _REPLACE = "kafkaquorum.io/hold", "kafkaquorum.io/replace"
_REPLACED_TIMEOUT_S = 120.0


def annotate(quorum: Quorum, *changes: str) -> None:
    """Set annotations of the resource (`name=value`), or remove them (`name-`)."""
    kubectl("-n", quorum.namespace, "annotate", "kq", quorum.name, *changes, "--overwrite")


def waits(quorum: Quorum, reason: str) -> list[str]:
    """The messages of the waits with this reason."""
    return [row["message"] for row in quorum.status().get("waits") or [] if row["reason"] == reason]


def key_of(quorum: Quorum, node_id: int) -> str:
    """The replica of a controller, as a person reads it in the status."""
    return f"{node_id}-{quorum.controller(node_id)['directoryID']}"


def wait_replaced(quorum: Quorum, before: str) -> str:
    """The controller is a voter on another disk, and the quorum is Ready; returns the new replica."""
    node_id = int(before.partition("-")[0])

    def replaced() -> str | None:
        own = [key for key in quorum.voters() if key.startswith(f"{node_id}-")]
        return own[0] if own and own != [before] else None

    after = wait_until(f"controller {node_id} is a voter on another disk", replaced, _REPLACED_TIMEOUT_S)
    quorum.wait_ready(_REPLACED_TIMEOUT_S)
    return after


@pytest.mark.full
def test_a_held_controller_is_left_alone(ready: Quorum) -> None:
    """A roll restarts the other follower only, and a deleted pod is not created, until the hold ends."""
    running, active = ready.running(), leader(ready)
    held, goes = sorted(ALL - {active})
    annotate(ready, f"{_HOLD}={held}")
    wait_until("the hold is reported", lambda: waits(ready, "Holding"), 60)
    assert ready.condition("Ready")["status"] == "True"
    ready.patch({"controllers": {"jvm": {"heap": "160Mi"}}})
    wait_until("the other follower restarts", lambda: ready.running().get(goes, running[goes]) != running[goes], 120)
    wait_until("the cost is reported", lambda: waits(ready, "HeldBack"), ROLL_TIMEOUT_S)
    holds_for("the others stay", lambda: all(ready.running()[n] == running[n] for n in (held, active)), 15)
    wait_until("the other follower is back", lambda: ready.controller(goes).get("caughtUp"), ROLL_TIMEOUT_S)
    ready.delete_pod(ready.controller(held)["podName"])
    wait_until("its pod is gone", lambda: held not in ready.pods(), 90)
    holds_for("no pod is created", lambda: held not in ready.pods(), 15)
    assert any("does not run" in message for message in waits(ready, "HeldBack"))
    annotate(ready, f"{_HOLD}-")
    ready.wait_ready(ROLL_TIMEOUT_S)
    assert {uid for uid, _, _ in ready.running().values()}.isdisjoint(uid for uid, _, _ in running.values())
    assert_one_quorum(ready, initial=ALL, voters=ALL)


@pytest.mark.full
def test_a_hold_that_cannot_be_read_holds_every_controller(ready: Quorum) -> None:
    """A wrong text is a fault that names the annotation, and no pod is created until it is corrected."""
    annotate(ready, f"{_HOLD}=3001;3002")
    ready.wait_condition("SpecAccepted", "False", "InvalidSpec")
    assert _HOLD in ready.condition("SpecAccepted")["message"]
    ready.delete_pod(ready.controller(3001)["podName"])
    wait_until("its pod is gone", lambda: 3001 not in ready.pods(), 90)
    holds_for("no pod is created", lambda: 3001 not in ready.pods(), 15)
    annotate(ready, f"{_HOLD}-")
    ready.wait_ready(120)


@pytest.mark.parametrize(
    "which", [pytest.param("follower", marks=pytest.mark.full), pytest.param("leader", id="leader")]
)
def test_a_healthy_disk_is_given_up_once(which: str, ready: Quorum, writing: Write) -> None:
    """The named disk is replaced, no other controller restarts, no acknowledged write is lost; the word may stay."""
    running, active = ready.running(), leader(ready)
    node_id = active if which == "leader" else min(ALL - {active})
    before, voters = key_of(ready, node_id), ready.voters()
    writer, began_s = writing(ready), time.monotonic()
    annotate(ready, f"{_REPLACE}={before}")
    after = wait_replaced(ready, before)
    print(f"{time.monotonic() - began_s:.1f} s from the word to Ready")
    assert ready.voters() == voters - {before} | {after}
    assert_untouched(ready, running, ALL - {node_id})
    assert [reason for reason, _ in ready.events()].count("DiskGivenUp") == 1
    new = ready.running()
    kubectl("-n", ready.namespace, "annotate", "kq", ready.name, "example.com/wakes=the-operator")
    holds_for(
        "the new disk stays", lambda: ready.running() == new and ready.voters() == voters - {before} | {after}, 15
    )
    assert_one_quorum(ready, initial=ALL, voters=ALL)
    assert_nothing_lost(writer, began_s)


@pytest.mark.full
def test_a_word_that_is_refused_is_explained(ready: Quorum) -> None:
    """Without a directory id nothing is replaced, and the message has it; a held controller is not replaced either."""
    running, before = ready.running(), key_of(ready, 3001)
    annotate(ready, f"{_REPLACE}=3001")
    wait_until("the way out is named", lambda: any(before in said for said in waits(ready, "ReplaceRefused")), 60)
    annotate(ready, f"{_REPLACE}={before}", f"{_HOLD}=3001")
    wait_until("the hold comes first", lambda: any(_HOLD in said for said in waits(ready, "ReplaceRefused")), 60)
    holds_for("nothing is replaced", lambda: ready.running() == running, 10)
    annotate(ready, f"{_HOLD}-")
    wait_replaced(ready, before)
