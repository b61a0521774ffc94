"""No controller is stopped whose next pod would not come back for want of a Secret."""

from dataclasses import replace

import pytest
from tests.golden.facts import mentions
from tests.model.certificates import (
    LISTENER,
    leaf_seen,
    looked,
    material,
    recorded,
    secured,
    wanted,
    with_leaf,
)
from tests.model.values import IDS, NAME, NOW_S, runtime, situation

from kafka_quorum.model.desired import Protocol
from kafka_quorum.model.known import Knowable, Known, Unknown
from kafka_quorum.model.material import Holder, LeafSeen, Material, UsersSeen, controller
from kafka_quorum.model.permit import Verdict
from kafka_quorum.model.situation import Situation
from kafka_quorum.plan.facts.mountable import why_no_secret
from kafka_quorum.plan.guards.rule5_restarts import may_restart
from kit.pki.authority import SKEW

SECOND = IDS[1]
SASL = replace(LISTENER, protocol=Protocol.SASL_SSL)


def ended() -> LeafSeen:
    """A leaf that has just ended."""
    seen = leaf_seen(controller(SECOND))
    return replace(seen, certificate=replace(seen.certificate, not_after_s=int(NOW_S)))


EMPTY = Unknown(reason="keystore.pem has no certificate")


def rolling(seen: Material | None) -> Situation:
    """A quorum that runs from one revision with SSL, and shall run from another one."""
    made, next_ = secured(), secured(heap="1G")
    record = recorded(made)
    spec = wanted(runtime=runtime(listener=LISTENER, heap="1G"))
    return situation(spec, looked(record, seen, made, next_), record, now_s=NOW_S)


def with_second(seen: Knowable[LeafSeen | None]) -> Material:
    """The same Secrets, except that of the second controller."""
    found = material(recorded())
    holder = controller(SECOND)
    return replace(found, leafs=tuple((one, seen if one == holder else each) for one, each in found.leafs))


def restarts(now: Situation, index: int) -> Verdict:
    """What the guard says of the restart of this controller."""
    node = now.record.nodes[index]
    return may_restart(now, node, now.observed.serving(node.node_id)[0])


@pytest.mark.parametrize(
    "seen",
    [
        pytest.param(Known(value=None), id="missing"),
        pytest.param(EMPTY, id="not readable"),
        pytest.param(Known(value=ended()), id="ended"),
        pytest.param(Known(value=leaf_seen(controller(SECOND), 2)), id="of another authority"),
        pytest.param(Known(value=leaf_seen(controller(SECOND), authority="")), id="of an unknown authority"),
    ],
)
def test_a_running_controller_without_a_good_secret_is_not_stopped(seen: Knowable[LeafSeen | None]) -> None:
    """Its own restart waits, and the sentence names the Secret. The others do not wait for its Secret."""
    now = rolling(with_second(seen))
    verdict = restarts(now, 1)
    assert not verdict.allowed
    assert mentions(verdict.reason, f"{NAME}-{SECOND}-tls", SECOND)
    assert restarts(now, 2).allowed


def written(holder: Holder, generation: int, at_s: float, ends_after_s: int = 60) -> LeafSeen:
    """A leaf that was put into its Secret at this time, where the earlier one ends so long after now."""
    leaf = leaf_seen(holder, generation=generation, before_ends_s=int(NOW_S) + ends_after_s)
    return replace(leaf, certificate=replace(leaf.certificate, not_before_s=int(at_s - SKEW.total_seconds())))


HELD = written(controller(SECOND), 1, NOW_S - 3600)


def renewing(second: Knowable[LeafSeen | None], ends_after_s: int = 60, heap: str = "") -> Situation:
    """Controllers restart for certificate 2, and maybe for another heap; this is in the Secret of the second one."""
    made, more = secured(), {"heap": heap} if heap else {}
    record = recorded(made)
    found = material(record)
    for holder, _ in found.leafs:
        found = with_leaf(found, holder, written(holder, 2, NOW_S - 3600, ends_after_s))
    found = replace(
        found, leafs=tuple((one, second if one == controller(SECOND) else each) for one, each in found.leafs)
    )
    look = looked(record, found, made, secured(certificates=2, **more))
    return situation(wanted(runtime=runtime(listener=LISTENER, **more)), look, record, now_s=NOW_S)


@pytest.mark.parametrize(
    ("leaf", "said"),
    [
        pytest.param(HELD, "certificate 1 yet", id="an earlier leaf"),
        pytest.param(written(controller(SECOND), 2, NOW_S - 59, 121), "just now", id="a leaf of just now"),
        pytest.param(written(controller(SECOND), 2, NOW_S - 60, 121), "", id="a leaf that is mounted"),
        pytest.param(written(controller(SECOND), 2, NOW_S - 1, 120), "just now", id="though the earlier one ends soon"),
    ],
)
def test_a_controller_restarts_only_for_the_leaf_of_its_revision(leaf: LeafSeen, said: str) -> None:
    """A pod with an earlier leaf would count as one with the later leaf, and would not restart before its end."""
    now = renewing(Known(value=leaf))
    assert now.runtime.certificates == 2
    verdict = restarts(now, 1)
    assert verdict.allowed is not bool(said)
    assert said in verdict.reason
    assert restarts(now, 2).allowed


@pytest.mark.parametrize(
    "now",
    [
        pytest.param(renewing(Known(value=HELD), ends_after_s=500), id="its own certificate is valid for long"),
        pytest.param(renewing(Known(value=HELD), heap="2G"), id="something else comes with the restart"),
    ],
)
def test_the_active_controller_waits_for_one_that_its_secret_holds(now: Situation) -> None:
    """A Secret that cannot be read for a moment is no reason to restart the active controller first."""
    assert mentions(restarts(now, 0).reason, "it restarts after controllers 3001, 3002")


def test_the_active_controller_does_not_wait_for_ever() -> None:
    """Its own certificate ends before long: it comes after the others only as far as they can restart."""
    now = renewing(Known(value=HELD))
    assert mentions(restarts(now, 0).reason, "it restarts after controllers 3002")
    third = replace(now.record.nodes[2], revision=now.target)
    record = replace(now.record, nodes=(*now.record.nodes[:2], third))
    moved = {third.node_id: now.target}
    pods = tuple(replace(pod, revision=moved.get(pod.node_id, pod.revision)) for pod in now.observed.pods)
    done = situation(now.desired, replace(now.observed, pods=pods, record=record), record, now_s=NOW_S)
    assert restarts(done, 0).allowed


def test_secrets_that_were_not_read_stop_every_restart() -> None:
    """Unknown is not well."""
    assert not any(restarts(rolling(None), index).allowed for index in range(3))


@pytest.mark.parametrize(
    ("second", "said"),
    [
        pytest.param(Known(value=HELD), "certificate 1 yet", id="an earlier leaf"),
        pytest.param(EMPTY, "keystore.pem has no certificate", id="not readable"),
        pytest.param(Known(value=written(controller(SECOND), 2, NOW_S, 121)), "just now", id="a leaf of just now"),
        pytest.param(Known(value=written(controller(SECOND), 2, NOW_S - 60, 121)), "", id="the leaf of the target"),
        pytest.param(Known(value=None), "", id="missing: its pod waits for it"),
    ],
)
def test_one_that_does_not_run_is_moved_to_the_target_only_with_its_leaf(
    second: Knowable[LeafSeen | None], said: str
) -> None:
    """Else it comes back from its own revision, and restarts when its Secret has the leaf."""
    now = renewing(second)
    verdict = may_restart(now, now.record.nodes[1], None)
    assert verdict.allowed is not bool(said)
    assert said in verdict.reason
    assert may_restart(rolling(with_second(second)), now.record.nodes[1], None).allowed


def test_a_controller_that_does_not_run_needs_no_secret() -> None:
    """Its new pod waits for the Secret just as well."""
    now = rolling(with_second(Known(value=None)))
    assert may_restart(now, now.record.nodes[1], None).allowed


@pytest.mark.parametrize(
    ("seen", "said"),
    [
        pytest.param(Known(value=None), True, id="missing"),
        pytest.param(EMPTY, True, id="not readable"),
        pytest.param(Known(value=UsersSeen(listeners=frozenset({"OTHER"}), version="1")), True, id="of another one"),
        pytest.param(Known(value=UsersSeen(listeners=frozenset({SASL.name}), version="1")), False, id="complete"),
    ],
)
def test_users_must_be_there_if_the_next_revision_has_some(seen: Knowable[UsersSeen | None], *, said: bool) -> None:
    """A controller without its passwords logs in nowhere."""
    now = rolling(material(recorded(), users=seen))
    why = why_no_secret(now, SECOND, secured(listener=SASL))
    assert bool(why) is said
    assert not said or f"{NAME}-users" in why
    assert not why_no_secret(now, SECOND, secured())


def test_nothing_is_needed_without_encryption() -> None:
    """A revision with PLAINTEXT mounts no Secret."""
    assert not why_no_secret(rolling(None), SECOND, runtime())


def test_a_lost_leaf_in_a_restart_without_a_leader() -> None:
    """The way out for certificates that have ended needs the later one in the Secret."""
    now = rolling(with_leaf(material(recorded()), controller(SECOND), None))
    leaderless = situation(now.desired, replace(now.observed, quorum=Unknown(reason="none")), now.record, now_s=NOW_S)
    assert not restarts(leaderless, 1).allowed
