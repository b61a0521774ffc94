"""How a run may end, held against ground truth: Ready, or what is honest where nothing else is.

`Ready` must be true. A lost disk is cured, so nothing else will do while a majority of the voters has its disks: only
then may the quorum end `Degraded`, with a lost replica named; before its first leader, as `BootstrapFailed`.
"""

import re
from collections.abc import Iterable
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Final

from tests.simulation.model.happened import DiskLost
from tests.simulation.model.kafka.disk import Disk
from tests.simulation.model.kafka.process import Process
from tests.simulation.model.place import NAME, NAMESPACE
from tests.simulation.model.world import World
from tests.simulation.rules.invariants import Checker
from tests.simulation.runs.scenarios.scenes import Scenario, condition, is_ready, resource

from kafka_quorum.model.ids import ClusterID, DirectoryID, ReplicaKey
from kafka_quorum.model.names import KEPT
from kit.kube.protocol import CLAIMS, PODS, Json

_SEEN_S: Final = 1.5
"""How long a leader must have been there for the operator to know."""
_SEEN_LOOKS: Final = 2
"""How many looks must have shown it: there is none while no operator holds the lease, and one may fail to write."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """What the resource says at the end, whether that is honest, and if not, why."""

    says: str
    honest: bool
    why: str = ""


def judge(world: World, checker: Checker, scenario: Scenario, *, settled: bool) -> Ending:
    """Hold what the resource says against what is."""
    degraded, progressing = condition(world, "Degraded"), condition(world, "Progressing")
    said = str(degraded.get("reason") if degraded.get("status") == "True" else progressing.get("reason"))
    if not settled:
        return Ending(says=said, honest=False, why=f"not settled: {_story(world)}")
    if scenario.ends == said:
        why = scenario.holds(world)
        return Ending(says=said, honest=not why, why=why)
    if is_ready(world) and scenario.ends == "Ready":
        why = _why_not_ready(world, checker) or scenario.holds(world)
        return Ending(says="Ready", honest=not why, why=why)
    lost = [gone for gone in checker.lineage(NAMESPACE, NAME).lost if gone.key is not None]
    if degraded.get("status") == "True" and _is_stranded(world, checker):
        return Ending(says=said, honest=f"pod {NAME}-" in str(degraded.get("message")), why=_story(world))
    if degraded.get("status") != "True" or not lost:
        return Ending(says=said, honest=False, why=f"neither Ready nor Degraded by a lost disk: {_story(world)}")
    if said == "BootstrapFailed":
        why = _why_not_failed(world, checker, lost)
    elif said in ("LostDisk", "LostNode") and _is_static(world):
        why = _why_not_named(world, degraded, lost)
    elif not is_doomed(world, checker.lineage(NAMESPACE, NAME).given_up):
        why = f"a majority of the voters has its disks: {_story(world)}"
    else:
        why = _why_not_named(world, degraded, lost)
    return Ending(says=said, honest=not why, why=why)


def _is_stranded(world: World, checker: Checker) -> bool:
    """Before the barrier there is no quorum that could agree on a lost machine: a person deletes the claim there."""
    gone = any(machine.gone for machine in world.machines.by_name.values())
    return gone and not checker.lineage(NAMESPACE, NAME).phase_started


def is_doomed(world: World, given_up: AbstractSet[DirectoryID]) -> bool:
    """Whether no majority of the voters can ever come together again: too many of their disks are gone.

    Of those that are left only the ones that were `given_up` with their machines do not count. The newest voter set of
    the best log that is left counts, committed or not.
    """
    present = (volume for volume in world.volumes.of_quorum(NAMESPACE, NAME) if not volume.dead)
    disks = {id(volume.disk): volume.disk for volume in present}
    disks |= {id(process.disk): process.disk for process in world.kraft.processes}
    ran = [disk for disk in disks.values() if disk.key is not None and disk.voter_set]
    best = max(ran, key=lambda disk: (disk.last_epoch, disk.end), default=None)
    if best is None:
        return not _has_static_majority(world, disks.values())
    left = {disk.key for disk in ran if disk.key and disk.key.directory_id not in given_up} & best.voter_set
    left |= {process.key for process in world.kraft.processes} & best.voter_set
    return len(left) <= len(best.voter_set) // 2


def _is_static(world: World) -> bool:
    """Whether the voters have no directory ids: such a quorum's lost disk is for a person to decide about."""
    return any(process.is_static for process in world.kraft.processes if process.leads)


def _has_static_majority(world: World, disks: Iterable[Disk]) -> bool:
    """Whether of a static quorum, in which any disk of a voter's node id will do, more than half have one that ran."""
    wanted = int(((resource(world) or {}).get("spec") or {}).get("controllers", {}).get("replicas", 0))
    return sum(disk.static and disk.ran for disk in disks) > wanted // 2


def _why_not_ready(world: World, checker: Checker) -> str:
    """What stands against Ready, by ground truth; empty if nothing does."""
    body = resource(world) or {}
    lineage = checker.lineage(NAMESPACE, NAME)
    status = body.get("status") or {}
    if lineage.formatted != {status.get("clusterID")}:
        return f"the status says cluster {status.get('clusterID')}, disks are of {lineage.formatted}"
    leader = _leader(world, str(status["clusterID"]))
    if leader is None:
        return "there is no leader"
    voters, wanted = leader.voters, int(body["spec"]["controllers"]["replicas"])
    exact = set(body["spec"]["controllers"].get("nodeIDs") or {key.node_id for key in voters})
    running = {leader.known(process.key) for process in world.kraft.processes if world.kraft.is_up(process)}
    late = [str(key) for key in voters if not world.kraft.is_caught_up(leader, key, 5.0)]
    rows = (
        (len(voters) != wanted, f"there are {len(voters)} voters, {wanted} are wanted"),
        ({key.node_id for key in voters} != exact, f"the voters are {', '.join(map(str, voters))}"),
        (bool(voters - running), f"voters {', '.join(map(str, voters - running))} do not run"),
        (world.kraft.uncommitted_change(leader), "the voter set is not committed"),
        (bool(late), f"voters {', '.join(late)} lag"),
        (bool(status.get("operation")), "an operation is open"),
    )
    return next((text for holds, text in rows if holds), "") or _left_behind(world, body, voters)


def _left_behind(world: World, body: Json, voters: frozenset[ReplicaKey]) -> str:
    """What a Ready quorum must not have beside its voters: pods, and volumes that the policy does not retain."""
    pods = [pod["metadata"]["name"] for pod in world.kube.all(PODS)]
    retention = (body["spec"]["controllers"].get("storage") or {}).get("retentionPolicy") or {}
    volumes = world.volumes.by_claim  # a claim that has lost its volume before anything ran there is no loss
    present = (claim["metadata"] for claim in world.kube.all(CLAIMS) if claim["metadata"]["uid"] in volumes)
    claims = [claim["name"] for claim in present if KEPT not in (claim.get("annotations") or {})]
    if len(pods) != len(voters):
        return f"there are pods {', '.join(pods)} for {len(voters)} voters"
    if retention.get("whenScaled", "Delete") == "Delete" and len(claims) != len(voters):
        return f"there are claims {', '.join(claims)} for {len(voters)} voters"
    return ""


def _why_not_failed(world: World, checker: Checker, lost: list[DiskLost]) -> str:
    lineage = checker.lineage(NAMESPACE, NAME)
    initial = next(iter(lineage.initial_voters), frozenset())
    gone = {key for one in lost if (key := one.key) in initial}
    if len(initial) - len(gone) > len(initial) // 2:
        return f"BootstrapFailed, but {len(initial) - len(gone)} of {len(initial)} initial disks are there"
    led_s = min((world.kraft.led_since_s.get(one, lineage.lost_at_s) for one in lineage.formatted), default=0.0)
    looks = sum(led_s <= one < lineage.lost_at_s for one in checker.led_looks_s)
    if lineage.lost_at_s - led_s > _SEEN_S and looks >= _SEEN_LOOKS:
        return f"BootstrapFailed, but there was a leader {lineage.lost_at_s - led_s:.1f} s before the loss"
    return ""


def _why_not_named(world: World, degraded: Json, lost: list[DiskLost]) -> str:
    """Without a leader nobody knows who votes: one lost replica is named, in the status or in the message."""
    status = (resource(world) or {}).get("status") or {}
    stale = {row["nodeID"] for row in status.get("staleReplicas") or []}
    message = str(degraded.get("message", ""))
    hidden = any(machine.gone for machine in world.machines.by_name.values())
    if degraded.get("reason") == "NoLeader" and (hidden or len(lost) > 1):
        return ""  # nobody tells of a machine; the first of several was being cured when the last broke the majority
    told = (
        "controller {} lost its disk",
        "controller {} is being removed, so its lost disk",
        "the disk of controller {}, which is lost",
        "controller {}, whose Kubernetes node",
        "of controller {} is down",
        "pod demo-{}",
    )
    for node_id in {one.key.node_id for one in lost if one.key is not None}:
        several = re.search(rf"controllers [\d, ]*\b{node_id}\b[\d, ]*: ", message) is not None
        names = (node_id, "<id>") if several else (node_id,)
        if node_id in stale or any(text.format(name) in message for text in told for name in names):
            return ""
    return f"nothing that is lost is named: {_story(world)}"


def _leader(world: World, cluster_id: str) -> Process | None:
    return world.kraft.leader_of(ClusterID(cluster_id))


def _story(world: World) -> str:
    """The conditions, in short."""
    rows = ((resource(world) or {}).get("status") or {}).get("conditions") or []
    told = (f"{row['type']}={row['status']}({row['reason']}: {row['message']})" for row in rows)
    return " | ".join(told) or "no condition at all"
