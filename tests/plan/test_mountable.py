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


def written(holder: Holder, generation: int, at_s: float) -> LeafSeen:
    """A leaf that was put into its Secret at this time."""
    leaf = leaf_seen(holder, generation=generation, before_ends_s=int(NOW_S) + 60)
    return replace(leaf, certificate=replace(leaf.certificate, not_before_s=int(at_s - SKEW.total_seconds())))


def renewing(generation: int, at_s: float) -> Situation:
    """Controllers restart for certificate 2, and the Secret of the second one was written at this time."""
    made, next_ = secured(), secured(certificates=2)
    record = recorded(made)
    found = material(record)
    for holder, _ in found.leafs:
        found = with_leaf(found, holder, written(holder, 2, NOW_S - 3600))
    found = with_leaf(found, controller(SECOND), written(controller(SECOND), generation, at_s))
    return situation(wanted(), looked(record, found, made, next_), record, now_s=NOW_S)


@pytest.mark.parametrize(
    ("generation", "at_s", "said"),
    [(1, NOW_S - 3600, "certificate 1 yet"), (2, NOW_S - 59, "just now"), (2, NOW_S - 60, "")],
    ids=["an earlier leaf", "a leaf of just now", "a leaf that is mounted"],
)
def test_a_controller_restarts_only_for_the_leaf_of_its_revision(generation: int, at_s: float, said: str) -> None:
    """A pod with an earlier leaf would count as one with the later leaf, and would not restart before its end."""
    now = renewing(generation, at_s)
    assert now.runtime.certificates == 2
    verdict = restarts(now, 1)
    assert verdict.allowed is not bool(said)
    assert said in verdict.reason
    assert restarts(now, 2).allowed


def test_the_active_controller_does_not_wait_for_one_that_its_secret_holds() -> None:
    """It shows a certificate of its own that ends, and comes after the others only as far as they can restart."""
    now = renewing(1, NOW_S - 3600)
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
