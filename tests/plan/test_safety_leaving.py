"""The guards of every removal: each refusal by what it names, and a permit when none of them is true."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, TypeAlias

import pytest
from tests.golden.facts import facts, mentions
from tests.model.values import (
    IDS,
    OTHER_CLUSTER,
    SILENT,
    at_rest,
    claim,
    desired,
    directory,
    formatter,
    key,
    manual,
    mirrored,
    node,
    operation,
    pod,
    running,
    situation,
    view,
)

from kafka_quorum.model.desired import Cure, Desired, Replacement
from kafka_quorum.model.identity import IdentityRecord, with_disk_lost, with_nodes, with_report, without_node
from kafka_quorum.model.ids import NodeID, ReplicaKey
from kafka_quorum.model.known import Known
from kafka_quorum.model.memory import LostNode
from kafka_quorum.model.observed import Claim, KubeNode, Observed, Tenure
from kafka_quorum.model.permit import Verdict
from kafka_quorum.model.pods import Pod
from kafka_quorum.plan.guards.rule1_formats import may_format_newcomer
from kafka_quorum.plan.guards.rule2_disks import may_retire_node
from kafka_quorum.plan.guards.rule3_voters import may_remove_voter, may_stop_retired
from kafka_quorum.plan.guards.rule4_changes import may_drop_node
from kafka_quorum.plan.guards.rule6_volumes import may_delete_claim

VOTERS = (key(3000), key(3001), key(3002))
FIVE = (*VOTERS, key(3003), key(3004))
RECORD = running()
OF = node(RECORD, 3002)
WITHOUT = without_node(RECORD, IDS[2])
"""The record after the removal of controller 3002."""
AGAIN = with_report(with_disk_lost(RECORD, IDS[2], new_claim=False), IDS[2], directory(3002, 2))
"""Controller 3002 on its second disk, after the first one was lost."""


Asked: TypeAlias = Callable[[], Verdict]
"""A question to a guard, which is asked in the test and not while the test's table is built."""


def says(asked: Asked, *named: object, allowed: bool) -> None:
    """Checks the guard's answer, and what it names."""
    verdict = asked()
    assert (facts(verdict.reason), verdict.allowed) == (facts(*named), allowed)


def quorum(
    voters: tuple[ReplicaKey, ...] = VOTERS,
    observers: tuple[ReplicaKey, ...] = (),
    *,
    behind: tuple[ReplicaKey, ...] = (),
    committed: bool = True,
    was: tuple[ReplicaKey, ...] | None = None,
    **changes: Any,  # noqa: ANN401 - whatever the field holds
) -> Observed:
    """One look; `was` are the voters of the last committed set, if they are not these."""
    seen = view(voters, observers, behind=behind, committed=committed)
    if was is not None:
        seen = replace(seen, committed_voters=frozenset(was))
    return at_rest(**{"quorum": Known(value=seen), **changes})


def doing(target: ReplicaKey) -> Any:  # noqa: ANN401 - a status
    """The status while the change of this voter is open."""
    return mirrored(RECORD, open=operation(target))


# 3-remove-voter


def remove(
    target: ReplicaKey,
    voters: tuple[ReplicaKey, ...] = VOTERS,
    *,
    behind: tuple[ReplicaKey, ...] = (),
    record: IdentityRecord = RECORD,
    wanted: Desired | None = None,
) -> Asked:
    """The guard's verdict on the removal of this voter."""
    return partial(may_remove_voter, situation(wanted, record=record), view(voters, behind=behind), target)


@pytest.mark.parametrize(
    ("asked", "named"),
    [
        (remove(key(3009)), (key(3009),)),
        (remove(key(7), (*VOTERS, key(7)), behind=(key(7),)), (key(7),)),
        (remove(key(3002), record=AGAIN), (key(3002),)),
        (
            remove(
                key(3002, 9), (*VOTERS[:2], key(3002, 9)), behind=(key(3002, 9),), wanted=desired(replacement=manual())
            ),
            ((key(3002, 9), "spec.controllers.replacement.lostDisk")),
        ),
        (remove(key(3002), behind=(key(3001),)), (key(3002), 2, 2, 1)),
        (remove(key(3000), VOTERS[:1], record=running(1)), (key(3000),)),
    ],
    ids=["no voter", "foreign", "stale and live", "unknown disk, manual", "no majority", "the last one"],
)
def test_remove_voter_no(asked: Asked, named: tuple[object, ...]) -> None:
    """Every refusal of a removal."""
    says(asked, *named, allowed=False)


@pytest.mark.parametrize(
    ("asked", "healthy", "staying"),
    [
        (remove(key(3002)), 2, 2),
        (remove(key(3002), behind=(key(3002),)), 2, 2),
        (remove(key(3000), VOTERS[:2]), 1, 1),
        (remove(key(3002), behind=(key(3002),), record=AGAIN), 2, 2),
        (remove(key(3002), record=WITHOUT), 2, 2),
        (remove(key(3002), wanted=desired(replacement=manual())), 2, 2),
        (remove(key(3002, 9), (*VOTERS[:2], key(3002, 9)), behind=(key(3002, 9),)), 2, 2),
    ],
    ids=[
        "live",
        "dead",
        "of two the leader",
        "lost disk",
        "removed controller that fetches",
        "its own disk, manual",
        "unknown disk, automatic",
    ],
)
def test_remove_voter_yes(asked: Asked, healthy: int, staying: int) -> None:
    """A voter is removed if a caught-up majority is left."""
    says(asked, healthy, staying, allowed=True)


@pytest.mark.parametrize(
    ("voters", "behind", "allowed"),
    [
        (2, 1, False),
        (3, 0, True),
        (3, 1, False),
        (4, 1, True),
        (4, 2, False),
        (5, 1, True),
        (5, 2, False),
        (6, 2, True),
    ],
)
def test_projected_majority(voters: int, behind: int, *, allowed: bool) -> None:
    """A caught-up voter is removed only if the remaining voters have a caught-up majority."""
    keys = tuple(key(3000 + index) for index in range(voters))
    assert remove(keys[-1], keys, behind=keys[:behind], record=running(voters))().allowed is allowed


# 2-retire-node

AUTOMATIC = desired(replacement=Replacement(lost_disk=Cure.AUTOMATIC, lost_node=Cure.AUTOMATIC, lost_node_after_s=600))
MANUAL = desired(replacement=manual())


def retire(
    look: Observed, for_s: float = 600.0, *, wanted: Desired = AUTOMATIC, record: IdentityRecord = RECORD
) -> Asked:
    """The guard's verdict on giving up controller 3002's Kubernetes node, which has been lost for this long."""
    lost = LostNode(key=key(3002), kube_node="worker-3002", for_s=for_s, agreed_at_s=None)
    down = (("worker-3002", Known(value=KubeNode(name="worker-3002", exists=True, ready=False))),)
    look = replace(look, memory=replace(look.memory, lost_nodes=(lost,)), kube_nodes=down)
    return partial(may_retire_node, situation(wanted, look, record), OF)


LOST = quorum(behind=VOTERS[2:])


@pytest.mark.parametrize(
    ("asked", "named"),
    [
        (retire(replace(LOST, quorum=SILENT)), ("worker-3002", 3002)),
        (retire(quorum()), (key(3002),)),
        (retire(LOST, wanted=MANUAL), (("worker-3002", 3002, "spec.controllers.replacement.lostNode"))),
        (retire(LOST, 599.9), ("worker-3002", 3002, 600)),
        (retire(quorum((*VOTERS, key(7)), behind=VOTERS[2:])), ("worker-3002", 3002, key(7))),
        (retire(quorum(behind=VOTERS[1:])), ("worker-3002", 3002, 1, 2)),
        (retire(quorum((*VOTERS, key(8), key(7)), behind=VOTERS[2:])), ("worker-3002", 3002, key(7), key(8))),
        (retire(quorum(FIVE, behind=FIVE[2:]), record=running(5)), ("worker-3002", 3002, 2, 3)),
        (retire(quorum(behind=VOTERS[2:], committed=False)), ("worker-3002", 3002)),
        (retire(quorum(VOTERS[:2], committed=False, was=VOTERS)), ("worker-3002", 3002)),
    ],
    ids=[
        "no leader",
        "fetches",
        "manual",
        "too soon",
        "another stale voter",
        "no majority",
        "two stale voters",
        "no majority of five",
        "uncommitted",
        "its removal is uncommitted",
    ],
)
def test_retire_node_no(asked: Asked, named: tuple[object, ...]) -> None:
    """Every refusal of giving up a Kubernetes node."""
    says(asked, *named, allowed=False)


@pytest.mark.parametrize(
    "look",
    [LOST, quorum((*VOTERS[:2], key(3002, 9)), behind=(key(3002, 9),)), quorum(VOTERS[:2], behind=VOTERS[1:2])],
    ids=["a voter", "its own stale vote waits for it", "no voter, majority or not"],
)
def test_retire_node_yes(look: Observed) -> None:
    """A Kubernetes node is given up if Kubernetes and the quorum both reported it as lost for long enough."""
    says(retire(look), "worker-3002", 3002, 600, allowed=True)


# 3-stop-retired


def stop(look: Observed, record: IdentityRecord = WITHOUT, **changes: Any) -> Asked:  # noqa: ANN401 - any field
    """The guard's verdict on stopping the pod of replica 3002 on its first disk."""
    return partial(may_stop_retired, situation(observed=look, record=record), pod(RECORD, OF, **changes))


@pytest.mark.parametrize(
    ("asked", "named"),
    [
        (stop(quorum(), RECORD), ("alpha-3002-g1", key(3002))),
        (stop(quorum(quorum=SILENT)), ("alpha-3002-g1",)),
        (stop(quorum(VOTERS[:2], committed=False)), ("alpha-3002-g1",)),
        (stop(quorum(status=doing(key(3003)))), ("alpha-3002-g1", key(3003))),
        (stop(quorum(behind=(key(3001),))), ("alpha-3002-g1", 1, 3, 2)),
    ],
    ids=["not retired", "no leader", "uncommitted", "another change", "needed"],
)
def test_stop_retired_no(asked: Asked, named: tuple[object, ...]) -> None:
    """Every refusal of stopping a pod on a retired disk."""
    says(asked, *named, allowed=False)


@pytest.mark.parametrize(
    ("asked", "named"),
    [
        (stop(quorum(VOTERS[:2])), (key(3002),)),
        (stop(quorum(VOTERS[:2], behind=(key(3001),))), (key(3002),)),
        (stop(quorum()), (key(3002), 2, 3)),
        (stop(quorum(), AGAIN), (key(3002), 2, 3)),
        (stop(quorum(behind=VOTERS[2:], status=doing(key(3002, 2))), AGAIN), (key(3002), 2, 3)),
        (stop(quorum(behind=VOTERS[2:], status=doing(key(3003)))), (key(3002), 2, 3)),
    ],
    ids=[
        "no voter",
        "no voter, majority or not",
        "voter of a removed controller",
        "lost disk",
        "its own change is open",
        "dead, another change",
    ],
)
def test_stop_retired_yes(asked: Asked, named: tuple[object, ...]) -> None:
    """A pod whose replica the quorum does not need is stopped."""
    says(asked, *named, allowed=True)


# 4-drop-node


def drop(look: Observed, record: IdentityRecord = RECORD) -> Asked:
    """The guard's verdict on dropping controller 3002 from the record."""
    return partial(may_drop_node, situation(observed=look, record=record), OF)


@pytest.mark.parametrize(
    ("asked", "named"),
    [
        (drop(quorum(quorum=SILENT)), (3002,)),
        (drop(quorum()), (3002, key(3002))),
        (drop(quorum((*VOTERS[:2], key(3002, 9)))), (3002, key(3002, 9))),
        (drop(quorum(VOTERS[:2], VOTERS[2:], committed=False)), (3002,)),
        (drop(quorum(VOTERS[:2], status=doing(key(3002)))), (3002,)),
        (drop(quorum(VOTERS[:2]), replace(RECORD, nodes=(OF,))), (3002,)),
    ],
    ids=["no leader", "voter", "voter on another disk", "uncommitted", "change open", "last"],
)
def test_drop_node_no(asked: Asked, named: tuple[object, ...]) -> None:
    """Every refusal of dropping a controller."""
    says(asked, *named, allowed=False)


@pytest.mark.parametrize("status", [mirrored(RECORD), doing(key(3003))], ids=["nothing open", "another's change"])
def test_drop_node_yes(status: Any) -> None:  # noqa: ANN401 - a column
    """A controller whose removal is seen committed is dropped, even while another change is open."""
    asked = drop(quorum(VOTERS[:2], status=status))
    says(asked, 3002, allowed=True)


def doubted(look: Observed, unsure: ReplicaKey, *, for_s: float = 29.9) -> Observed:
    """The leader has led for so long, and does not show a replica that its log may list."""
    assert isinstance(look.quorum, Known)
    tenure = Tenure(for_s=for_s, settles_after_s=10.0)
    return replace(look, quorum=Known(value=replace(look.quorum.value, unsure=frozenset({unsure}), tenure=tenure)))


def test_drop_node_unconfirmed() -> None:
    """A removal that only a new leader shows does not count before this one has led for long."""
    look = quorum(VOTERS[:2], status=mirrored(RECORD))
    says(drop(doubted(look, key(3002))), 3002, key(3002), 3000, 30, allowed=False)
    says(drop(doubted(look, key(3002), for_s=30.0)), 3002, allowed=True)
    says(drop(doubted(look, key(3001))), 3002, allowed=True)


# 6-delete-volume

CLAIM = claim(RECORD, OF)


def delete(look: Observed, record: IdentityRecord = WITHOUT, of: Claim = CLAIM) -> Asked:
    """The guard's verdict on the deletion of controller 3002's first claim."""
    return partial(may_delete_claim, situation(observed=look, record=record), of)


def gone(*pods: Pod, **how: Any) -> Observed:  # noqa: ANN401 - as `quorum` takes it
    """Two voters are left, and these pods of controller 3002."""
    look = quorum(**{"voters": VOTERS[:2], **how})
    return replace(look, pods=(*look.pods[:2], *pods))


@pytest.mark.parametrize(
    ("asked", "named"),
    [
        (delete(gone(quorum=SILENT)), ("alpha-3002-g1",)),
        (delete(gone(), RECORD), ("alpha-3002-g1",)),
        (delete(gone(), of=replace(CLAIM, directory_id=directory(3002, 9))), ("alpha-3002-g1",)),
        (delete(gone(), of=replace(CLAIM, cluster_id=OTHER_CLUSTER)), ("alpha-3002-g1",)),
        (delete(gone(), of=replace(CLAIM, cluster_id=None, directory_id=None)), ("alpha-3002-g1",)),
        (
            delete(gone(), of=replace(CLAIM, name="alpha-3002-g2", generation=2, directory_id=None)),
            ("alpha-3002-g2",),
        ),
        (delete(gone(pod(RECORD, OF))), ("alpha-3002-g1", "alpha-3002-g1")),
        (
            delete(gone(pod(RECORD, OF), formatter(RECORD, OF))),
            ("alpha-3002-g1", "alpha-3002-g1", "alpha-3002-g1-format"),
        ),
        (delete(gone(voters=VOTERS)), ("alpha-3002-g1", directory(3002))),
        (delete(gone(was=VOTERS, committed=False)), ("alpha-3002-g1", directory(3002))),
        (delete(gone(was=VOTERS[:2], committed=False)), ("alpha-3002-g1",)),
        (delete(gone(), of=replace(CLAIM, kept=True)), ("alpha-3002-g1",)),
        (delete(gone(voters=VOTERS), of=replace(CLAIM, directory_id=None)), ("alpha-3002-g1", key(3002))),
        (delete(gone(behind=(key(3001),))), ("alpha-3002-g1", 1, 2)),
    ],
    ids=[
        "no leader",
        "in use",
        "never retired",
        "another cluster",
        "bare",
        "never had",
        "pod there",
        "two pods there",
        "voter",
        "voter until it is committed",
        "uncommitted",
        "data found on it",
        "it held a voter before it was emptied",
        "few copies",
    ],
)
def test_delete_volume_no(asked: Asked, named: tuple[object, ...]) -> None:
    """Every refusal of deleting a volume."""
    says(asked, *named, allowed=False)


@pytest.mark.parametrize(
    "asked",
    [
        delete(gone()),
        delete(gone(), of=replace(CLAIM, directory_id=None)),
        delete(gone(), of=replace(CLAIM, directory_id="")),
    ],
    ids=["retired", "never formatted", "annotation empty"],
)
def test_delete_volume_yes(asked: Asked) -> None:
    """A volume of a retired or never formatted replica is deleted while others have the data."""
    says(asked, "alpha-3002-g1", 2, allowed=True)


@pytest.mark.parametrize("annotated", [directory(3002), None], ids=["of this replica", "never formatted"])
def test_delete_volume_unconfirmed(annotated: str | None) -> None:
    """A volume stays while only a new leader shows that its replica is no voter."""
    of = replace(CLAIM, directory_id=annotated)
    says(delete(doubted(gone(), key(3002)), of=of), "alpha-3002-g1", key(3002), 3000, 30, allowed=False)
    says(delete(doubted(gone(), key(3002), for_s=30.0), of=of), "alpha-3002-g1", 2, allowed=True)
    of_another = ReplicaKey(node_id=NodeID(3001), directory_id=key(3002).directory_id)
    for other in (key(3001), key(3002, 9), of_another):
        says(delete(doubted(gone(), other), of=of), "alpha-3002-g1", 2, allowed=True)


# 1-format-newcomer: node ids in use elsewhere


def newcomer(node_id: int = 3003) -> tuple[IdentityRecord, Observed]:
    """A controller that joins, with its claim."""
    bare = with_nodes(RECORD, [NodeID(node_id)])
    nodes = tuple(replace(of, claim_uid="claim-new") if of.node_id == node_id else of for of in bare.nodes)
    record = replace(bare, nodes=nodes)
    return record, at_rest(record)


@pytest.mark.parametrize(
    ("observers", "behind", "allowed"),
    [((), (), True), ((key(3003, 9),), (), False), ((key(3003, 9),), (key(3003, 9),), True), ((key(1001),), (), True)],
    ids=["free", "in use elsewhere", "stopped since", "another id"],
)
def test_node_id_in_use_elsewhere(
    observers: tuple[ReplicaKey, ...], behind: tuple[ReplicaKey, ...], *, allowed: bool
) -> None:
    """No disk is formatted for a node id that another running replica uses; another node id does not matter."""
    record, look = newcomer()
    look = replace(look, quorum=Known(value=view(VOTERS, observers, behind=behind)))
    verdict = may_format_newcomer(situation(record=record, observed=look), node(record, 3003))
    assert verdict.allowed is allowed
    if not allowed:
        assert facts(verdict.reason) == facts(3003, key(3003, 9), "spec.controllers.nodeIDs")


def test_node_id_in_use_elsewhere_twice() -> None:
    """If several foreign replicas use the id, always the same one is named, so that the message does not change."""
    record, look = newcomer()
    two = (key(3003, 9), key(3003, 8))
    named = []
    for observers in (two, two[::-1]):
        seen = replace(look, quorum=Known(value=view(VOTERS, observers)))
        named.append(may_format_newcomer(situation(record=record, observed=seen), node(record, 3003)).reason)
    first = min(two, key=str)
    assert mentions(named[0], first)
    assert named[0] == named[1]


def test_own_lost_disk_is_not_somebody_else() -> None:
    """A replica on an earlier disk of this controller is not another process with its node id."""
    lost = with_disk_lost(RECORD, IDS[2], new_claim=False)
    verdict = may_format_newcomer(
        situation(record=lost, observed=replace(quorum(), pods=at_rest().pods[:2])), node(lost, 3002)
    )
    assert str(key(3002)) not in verdict.reason
