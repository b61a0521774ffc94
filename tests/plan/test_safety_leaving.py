"""The guards of everything that goes: each of their noes by its sentence, and the yes behind the last of them."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, TypeAlias

import pytest
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
from kafka_quorum.model.observed import Claim, KubeNode, Observed
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
"""The record behind the removal of controller 3002."""
AGAIN = with_report(with_disk_lost(RECORD, IDS[2], new_claim=False), IDS[2], directory(3002, 2))
"""Controller 3002 on its second disk, the first one lost."""


Asked: TypeAlias = Callable[[], Verdict]
"""A question to a guard: it is asked in the test, not where the test's table is made."""


def says(asked: Asked, reason: str, *, allowed: bool) -> None:
    """The guard's answer, in exactly these words."""
    verdict = asked()
    assert (verdict.reason, verdict.allowed) == (reason, allowed)


def quorum(
    voters: tuple[ReplicaKey, ...] = VOTERS,
    observers: tuple[ReplicaKey, ...] = (),
    *,
    behind: tuple[ReplicaKey, ...] = (),
    committed: bool = True,
    was: tuple[ReplicaKey, ...] | None = None,
    **changes: Any,  # noqa: ANN401 - whatever the field holds
) -> Observed:
    """One look; `was` are the voters of the last set known to be committed, if not these."""
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
    """What the guard says of removing this voter."""
    return partial(may_remove_voter, situation(wanted, record=record), view(voters, behind=behind), target)


@pytest.mark.parametrize(
    ("asked", "reason"),
    [
        (remove(key(3009)), f"{key(3009)} is no voter"),
        (
            remove(key(7), (*VOTERS, key(7)), behind=(key(7),)),
            f"voter {key(7)} is no controller of this resource: it is left alone",
        ),
        (
            remove(key(3002), record=AGAIN),
            f"stale voter {key(3002)} still fetches: it runs somewhere, and is removed once it is stopped",
        ),
        (
            remove(
                key(3002, 9), (*VOTERS[:2], key(3002, 9)), behind=(key(3002, 9),), wanted=desired(replacement=manual())
            ),
            (
                f"stale voter {key(3002, 9)} is no disk that this quorum retired: "
                "set spec.controllers.replacement.lostDisk to Automatic, or remove it yourself"
            ),
        ),
        (
            remove(key(3002), behind=(key(3001),)),
            f"{key(3002)} is not removed now: 2 of the 2 voters that stay must be caught up, and 1 are",
        ),
        (
            remove(key(3000), VOTERS[:1], record=running(1)),
            f"{key(3000)} is the only voter",
        ),
    ],
    ids=["no voter", "foreign", "stale and live", "unknown disk, manual", "no majority", "the last one"],
)
def test_remove_voter_no(asked: Asked, reason: str) -> None:
    """Every no of a removal."""
    says(asked, reason, allowed=False)


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
    """A removal after which a caught-up majority is left."""
    says(asked, f"{healthy} of the {staying} voters that stay are caught up", allowed=True)


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
    """A caught-up voter goes only if those that stay have a caught-up majority among themselves."""
    keys = tuple(key(3000 + index) for index in range(voters))
    assert remove(keys[-1], keys, behind=keys[:behind], record=running(voters))().allowed is allowed


# 2-retire-node

AUTOMATIC = desired(replacement=Replacement(lost_disk=Cure.AUTOMATIC, lost_node=Cure.AUTOMATIC, lost_node_after_s=600))
MANUAL = desired(replacement=manual())
HERE = "node worker-3002 of controller 3002 is down"


def retire(
    look: Observed, for_s: float = 600.0, *, wanted: Desired = AUTOMATIC, record: IdentityRecord = RECORD
) -> Asked:
    """What the guard says of giving up controller 3002's node, which has been lost for so long."""
    lost = LostNode(key=key(3002), kube_node="worker-3002", for_s=for_s, agreed_at_s=None)
    down = (("worker-3002", Known(value=KubeNode(name="worker-3002", present=True, ready=False))),)
    look = replace(look, memory=replace(look.memory, lost_nodes=(lost,)), kube_nodes=down)
    return partial(may_retire_node, situation(wanted, look, record), OF)


LOST = quorum(behind=VOTERS[2:])


@pytest.mark.parametrize(
    ("asked", "reason"),
    [
        (
            retire(replace(LOST, quorum=SILENT)),
            f"{HERE}, and it is not replaced while there is no leader: no controller runs yet",
        ),
        (retire(quorum()), f"replica {key(3002)} still fetches: its node is not lost"),
        (
            retire(LOST, wanted=MANUAL),
            (
                f"{HERE}, and its replacement is Manual: "
                "set spec.controllers.replacement.lostNode to Automatic, or bring the node back"
            ),
        ),
        (
            retire(LOST, 599.9),
            f"{HERE} and its replica does not fetch: after 600 s of both it is replaced on another node",
        ),
        (
            retire(quorum((*VOTERS, key(7)), behind=VOTERS[2:])),
            f"{HERE}, and it is replaced once the stale voters {key(7)} are removed",
        ),
        (
            retire(quorum(behind=VOTERS[1:])),
            f"{HERE}, and it is not replaced now: 1 other voters are caught up, and 2 must be",
        ),
        (
            retire(quorum((*VOTERS, key(8), key(7)), behind=VOTERS[2:])),
            f"{HERE}, and it is replaced once the stale voters {key(7)}, {key(8)} are removed",
        ),
        (
            retire(quorum(FIVE, behind=FIVE[2:]), record=running(5)),
            f"{HERE}, and it is not replaced now: 2 other voters are caught up, and 3 must be",
        ),
        (
            retire(quorum(behind=VOTERS[2:], committed=False)),
            f"{HERE}, and it is replaced once the present voter set is committed",
        ),
        (
            retire(quorum(VOTERS[:2], committed=False, was=VOTERS)),
            f"{HERE}, and it is replaced once the present voter set is committed",
        ),
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
def test_retire_node_no(asked: Asked, reason: str) -> None:
    """Every no of giving up a node."""
    says(asked, reason, allowed=False)


@pytest.mark.parametrize(
    "look",
    [LOST, quorum((*VOTERS[:2], key(3002, 9)), behind=(key(3002, 9),)), quorum(VOTERS[:2], behind=VOTERS[1:2])],
    ids=["a voter", "its own stale vote waits for it", "no voter, majority or not"],
)
def test_retire_node_yes(look: Observed) -> None:
    """A node on whose loss Kubernetes and the quorum agreed for long enough is given up."""
    says(retire(look), f"{HERE} for 600 s, and its replica does not fetch", allowed=True)


# 3-stop-retired


def stop(look: Observed, record: IdentityRecord = WITHOUT, **changes: Any) -> Asked:  # noqa: ANN401 - any field
    """What the guard says of stopping the pod of replica 3002, first disk."""
    return partial(may_stop_retired, situation(observed=look, record=record), pod(RECORD, OF, **changes))


@pytest.mark.parametrize(
    ("asked", "reason"),
    [
        (
            stop(quorum(), RECORD),
            f"pod alpha-3002-g1 runs replica {key(3002)}, which this quorum never retired: it is left alone",
        ),
        (
            stop(quorum(quorum=SILENT)),
            "pod alpha-3002-g1 is stopped once the quorum has a leader: no controller runs yet",
        ),
        (
            stop(quorum(VOTERS[:2], committed=False)),
            "pod alpha-3002-g1 is stopped once the present voter set is committed",
        ),
        (
            stop(quorum(status=doing(key(3003)))),
            "pod alpha-3002-g1 is stopped once the change that is open is closed",
        ),
        (
            stop(quorum(behind=(key(3001),))),
            "pod alpha-3002-g1 goes on: without it 1 of 3 voters would be caught up, and 2 must be",
        ),
    ],
    ids=["not retired", "no leader", "uncommitted", "another change", "needed"],
)
def test_stop_retired_no(asked: Asked, reason: str) -> None:
    """Every no of stopping a pod on a retired disk."""
    says(asked, reason, allowed=False)


@pytest.mark.parametrize(
    ("asked", "reason"),
    [
        (stop(quorum(VOTERS[:2])), f"{key(3002)} is retired and no voter"),
        (stop(quorum(VOTERS[:2], behind=(key(3001),))), f"{key(3002)} is retired and no voter"),
        (stop(quorum()), f"{key(3002)} is retired, and 2 of 3 voters are caught up without it"),
        (stop(quorum(), AGAIN), f"{key(3002)} is retired, and 2 of 3 voters are caught up without it"),
        (
            stop(quorum(behind=VOTERS[2:], status=doing(key(3002, 2))), AGAIN),
            f"{key(3002)} is retired, and 2 of 3 voters are caught up without it",
        ),
        (
            stop(quorum(behind=VOTERS[2:], status=doing(key(3003)))),
            f"{key(3002)} is retired, and 2 of 3 voters are caught up without it",
        ),
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
def test_stop_retired_yes(asked: Asked, reason: str) -> None:
    """A pod whose replica nobody counts on."""
    says(asked, reason, allowed=True)


# 4-drop-node


def drop(look: Observed, record: IdentityRecord = RECORD) -> Asked:
    """What the guard says of dropping controller 3002 from the record."""
    return partial(may_drop_node, situation(observed=look, record=record), OF)


@pytest.mark.parametrize(
    ("asked", "reason"),
    [
        (
            drop(quorum(quorum=SILENT)),
            "controller 3002 is removed once the quorum has a leader: no controller runs yet",
        ),
        (drop(quorum()), f"controller 3002 goes once voter {key(3002)} is removed"),
        (
            drop(quorum((*VOTERS[:2], key(3002, 9)))),
            f"controller 3002 goes once voter {key(3002, 9)} is removed",
        ),
        (
            drop(quorum(VOTERS[:2], VOTERS[2:], committed=False)),
            "controller 3002 goes once its removal from the voters is committed",
        ),
        (drop(quorum(VOTERS[:2], status=doing(key(3002)))), "controller 3002 goes once its change is closed"),
        (drop(quorum(VOTERS[:2]), replace(RECORD, nodes=(OF,))), "controller 3002 is the last one"),
    ],
    ids=["no leader", "voter", "voter on another disk", "uncommitted", "change open", "last"],
)
def test_drop_node_no(asked: Asked, reason: str) -> None:
    """Every no of dropping a controller."""
    says(asked, reason, allowed=False)


@pytest.mark.parametrize("status", [mirrored(RECORD), doing(key(3003))], ids=["nothing open", "another's change"])
def test_drop_node_yes(status: Any) -> None:  # noqa: ANN401 - a column
    """A controller whose removal is seen committed is dropped, whatever else goes on."""
    asked = drop(quorum(VOTERS[:2], status=status))
    says(asked, "controller 3002 is no voter, and that is committed", allowed=True)


# 6-delete-volume

CLAIM = claim(RECORD, OF)
NAMED = "claim alpha-3002-g1"


def delete(look: Observed, record: IdentityRecord = WITHOUT, of: Claim = CLAIM) -> Asked:
    """What the guard says of deleting controller 3002's first claim."""
    return partial(may_delete_claim, situation(observed=look, record=record), of)


def gone(*pods: Pod, **how: Any) -> Observed:  # noqa: ANN401 - as `quorum` takes it
    """Two voters are left, and these pods of controller 3002."""
    look = quorum(**{"voters": VOTERS[:2], **how})
    return replace(look, pods=(*look.pods[:2], *pods))


@pytest.mark.parametrize(
    ("asked", "reason"),
    [
        (delete(gone(quorum=SILENT)), f"{NAMED} is kept while there is no leader: no controller runs yet"),
        (delete(gone(), RECORD), f"{NAMED} is a controller's disk"),
        (
            delete(gone(), of=replace(CLAIM, directory_id=directory(3002, 9))),
            f"{NAMED} holds no replica that this quorum retired: it is left alone",
        ),
        (
            delete(gone(), of=replace(CLAIM, cluster_id=OTHER_CLUSTER)),
            f"{NAMED} holds no replica that this quorum retired: it is left alone",
        ),
        (
            delete(gone(), of=replace(CLAIM, cluster_id=None, directory_id=None)),
            f"{NAMED} holds no replica that this quorum retired: it is left alone",
        ),
        (
            delete(gone(), of=replace(CLAIM, name="alpha-3002-g2", generation=2, directory_id=None)),
            "claim alpha-3002-g2 is none that this quorum ever had: it stays",
        ),
        (delete(gone(pod(RECORD, OF))), f"{NAMED} is kept until pods alpha-3002-g1 are gone"),
        (
            delete(gone(pod(RECORD, OF), formatter(RECORD, OF))),
            f"{NAMED} is kept until pods alpha-3002-g1, alpha-3002-g1-format are gone",
        ),
        (
            delete(gone(voters=VOTERS)),
            f"{NAMED} is kept while its replica {directory(3002)} is a voter",
        ),
        (
            delete(gone(was=VOTERS, committed=False)),
            f"{NAMED} is kept while its replica {directory(3002)} is a voter",
        ),
        (
            delete(gone(was=VOTERS[:2], committed=False)),
            f"{NAMED} is kept until the present voter set is committed",
        ),
        (
            delete(gone(), of=replace(CLAIM, kept=True)),
            f"{NAMED} is kept: data was found on it after it was retired",
        ),
        (
            delete(gone(voters=VOTERS), of=replace(CLAIM, directory_id=None)),
            f"{NAMED} is kept while {key(3002)}, which it may hold, is a voter",
        ),
        (
            delete(gone(behind=(key(3001),))),
            f"{NAMED} is kept: 1 voters are caught up, and 2 must be",
        ),
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
def test_delete_volume_no(asked: Asked, reason: str) -> None:
    """Every no of deleting a volume."""
    says(asked, reason, allowed=False)


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
    """A volume goes whose replica is retired, or never was, while others have the data."""
    says(asked, f"{NAMED} holds no voter, and 2 voters have its data", allowed=True)


# 1-format-newcomer: node ids in use elsewhere


def newcomer(node_id: int = 3003) -> tuple[IdentityRecord, Observed]:
    """A controller that is to join, with its claim."""
    bare = with_nodes(RECORD, [NodeID(node_id)])
    nodes = tuple(replace(of, claim_uid="claim-new") if of.node_id == node_id else of for of in bare.nodes)
    record = replace(bare, nodes=nodes)
    return record, at_rest(record)


@pytest.mark.parametrize(
    ("observers", "behind", "allowed"),
    [
        ((), (), True),
        ((key(3003, 9),), (), False),
        ((key(3003, 9),), (key(3003, 9),), True),
        ((key(1001),), (), True),
    ],
    ids=["free", "in use elsewhere", "stopped since", "another id"],
)
def test_node_id_in_use_elsewhere(
    observers: tuple[ReplicaKey, ...], behind: tuple[ReplicaKey, ...], *, allowed: bool
) -> None:
    """No disk is formatted for a node id that somebody else fetches under: a broker, or another's controller."""
    record, look = newcomer()
    look = replace(look, quorum=Known(value=view(VOTERS, observers, behind=behind)))
    verdict = may_format_newcomer(situation(record=record, observed=look), node(record, 3003))
    assert verdict.allowed is allowed
    if not allowed:
        assert verdict.reason == (
            f"node id 3003 is in use elsewhere, by replica {key(3003, 9)}: "
            "choose another id in spec.controllers.nodeIDs, or stop that one"
        )


def test_node_id_in_use_elsewhere_twice() -> None:
    """Of several replicas elsewhere always the same one is named: the words do not change from look to look."""
    record, look = newcomer()
    two = (key(3003, 9), key(3003, 8))
    named = []
    for observers in (two, two[::-1]):
        seen = replace(look, quorum=Known(value=view(VOTERS, observers)))
        named.append(may_format_newcomer(situation(record=record, observed=seen), node(record, 3003)).reason)
    first = min(two, key=str)
    assert f"in use elsewhere, by replica {first}: " in named[0]
    assert named[0] == named[1]


def test_own_lost_disk_is_not_somebody_else() -> None:
    """A replica on a disk that this controller had before is no stranger: its fate is the stale voter's."""
    lost = with_disk_lost(RECORD, IDS[2], new_claim=False)
    verdict = may_format_newcomer(
        situation(record=lost, observed=replace(quorum(), pods=at_rest().pods[:2])), node(lost, 3002)
    )
    assert "in use elsewhere" not in verdict.reason
