"""How a run may end, held against ground truth: Ready, or what is honest where nothing else is.

`Ready` must be true. Without a lost disk nothing else will do. A disk that was lost behind the barrier may leave the
quorum `Degraded` with the lost replica named; the majority of the initial disks, `BootstrapFailed`.
"""

from dataclasses import dataclass
from typing import Final

from tests.simulation.happened import DiskLost
from tests.simulation.invariants import Checker
from tests.simulation.kraft_model import Process
from tests.simulation.scenarios import NAME, NAMESPACE, Scenario, condition, is_ready, resource
from tests.simulation.world import World

from kafka_quorum.kube.protocol import Json
from kafka_quorum.model.ids import ReplicaKey

_SEEN_S: Final = 1.5
"""How long a leader must have been there for the operator to know."""


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
        return Ending(says=said, honest=True)
    if is_ready(world) and scenario.ends == "Ready":
        why = _why_not_ready(world, checker)
        return Ending(says="Ready", honest=not why, why=why)
    lost = [gone for gone in checker.lineage(NAMESPACE, NAME).lost if gone.key is not None]
    if degraded.get("status") != "True" or not lost:
        return Ending(says=said, honest=False, why=f"neither Ready nor Degraded by a lost disk: {_story(world)}")
    failed = said == "BootstrapFailed"
    why = _why_not_failed(world, checker, lost) if failed else _why_not_named(world, degraded, lost)
    return Ending(says=said, honest=not why, why=why)


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
    voters, wanted = leader.disk.voter_set, int(body["spec"]["controllers"]["replicas"])
    running = {process.key for process in world.kraft.processes if not process.frozen}
    late = [str(key) for key in voters if not world.kraft.is_caught_up(leader, key, 5.0)]
    rows = (
        (len(voters) != wanted, f"there are {len(voters)} voters, {wanted} are wanted"),
        (bool(voters - running), f"voters {', '.join(map(str, voters - running))} do not run"),
        (world.kraft.uncommitted_change(leader), "the voter set is not committed"),
        (bool(late), f"voters {', '.join(late)} lag"),
        (bool(status.get("operation")), "an operation is open"),
    )
    return next((text for holds, text in rows if holds), "")


def _why_not_failed(world: World, checker: Checker, lost: list[DiskLost]) -> str:
    lineage = checker.lineage(NAMESPACE, NAME)
    initial = next(iter(lineage.initial_voters), frozenset())
    gone = {key for one in lost if (key := one.key) in initial}
    if len(initial) - len(gone) > len(initial) // 2:
        return f"BootstrapFailed, but {len(initial) - len(gone)} of {len(initial)} initial disks are there"
    led_s = min((world.kraft.led_since_s.get(one, lineage.lost_at_s) for one in lineage.formatted), default=0.0)
    if lineage.lost_at_s - led_s > _SEEN_S:
        return f"BootstrapFailed, but there was a leader {lineage.lost_at_s - led_s:.1f} s before the loss"
    return ""


def _why_not_named(world: World, degraded: Json, lost: list[DiskLost]) -> str:
    """Every lost replica that is still a voter is in the status, or its controller in the message."""
    status = (resource(world) or {}).get("status") or {}
    stale = {(row["nodeID"], row.get("directoryID")) for row in status.get("staleReplicas") or []}
    message = str(degraded.get("message", ""))
    for key in {one.key for one in lost if one.key is not None and _counts(world, one.key)}:
        if (key.node_id, key.directory_id) not in stale and f"controller {key.node_id} lost its disk" not in message:
            return f"{key} is lost, and not named: {_story(world)}"
    return ""


def _counts(world: World, key: ReplicaKey) -> bool:
    """Whether a lost replica is a voter for anybody who is left."""
    disks = [volume.disk for volume in world.volumes.of_quorum(NAMESPACE, NAME)]
    return not disks or any(key in disk.voter_set for disk in disks if disk.meta is not None)


def _leader(world: World, cluster_id: str) -> Process | None:
    leaders = (world.kraft.leader_of(process.cluster_id) for process in world.kraft.processes)
    return next((one for one in leaders if one is not None and one.cluster_id == cluster_id), None)


def _story(world: World) -> str:
    """The conditions, in short."""
    rows = ((resource(world) or {}).get("status") or {}).get("conditions") or []
    told = (f"{row['type']}={row['status']}({row['reason']}: {row['message']})" for row in rows)
    return " | ".join(told) or "no condition at all"
