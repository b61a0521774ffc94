"""The accepted endings of a run, compared with ground truth: Ready, or an alternative that is reported correctly.

`Ready` must be true. A lost disk is replaced, so no other ending is accepted while a majority of voters has its disks.
Only without such a majority may the quorum end `Degraded`, with a lost replica named; before its first leader,
`BootstrapFailed`.
"""

import re
from collections.abc import Iterable
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Final

from tests.simulation.model.happened import DiskLost
from tests.simulation.model.kafka.disk import Disk
from tests.simulation.model.kafka.process import Process
from tests.simulation.model.kubernetes.pool_pods import LABEL_POOL
from tests.simulation.model.place import NAME, NAMESPACE
from tests.simulation.model.world import World
from tests.simulation.rules.invariants import Checker
from tests.simulation.runs.scenarios.scenes import Scenario, condition, is_ready, resource

from kafka_quorum.model.ids import ClusterID, DirectoryID, ReplicaKey
from kafka_quorum.model.names import HOLD, KEPT, token_holder, token_name
from kit.kube.protocol import CLAIMS, CONFIG_MAPS, LEASES, PODS, Json

_SEEN_S: Final = 1.5
"""How long a leader must have been there so that the operator must have seen it."""
_SEEN_LOOKS: Final = 2
"""How many looks must have shown it: without a lease holder there is none, and one may fail to write."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """What the resource reports at the end, whether that is true, and if not, why."""

    says: str
    honest: bool
    why: str = ""


def judge(world: World, checker: Checker, scenario: Scenario, *, settled: bool) -> Ending:
    """Compare the resource's report with the truth."""
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
    late, held = _with_a_wrong_clock(world), _held_and_named(world, degraded)
    if degraded.get("status") == "True" and (held or late or _is_stranded(world, checker)):
        gone = (f"Kubernetes node {one.name} is down" for one in world.machines.by_name.values() if one.gone)
        named = held or any(text in str(degraded.get("message")) for text in (f"pod {NAME}-", *gone, *late))
        return Ending(says=said, honest=named, why=_story(world))
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
    """Whether a person has to decide about a machine that is gone, because no quorum can.

    Before the barrier there is none: the claim is deleted there. Afterwards a pod that cannot end on that machine keeps
    a volume, which another machine could have; without a leader the operator does not delete it by force.
    """
    gone = {machine.name for machine in world.machines.by_name.values() if machine.gone}
    if not checker.lineage(NAMESPACE, NAME).phase_started:
        return bool(gone)
    held = any(pod["spec"].get("nodeName") in gone for pod in world.kube.all(PODS))
    return held and not any(process.leads for process in world.kraft.processes)


def _held_and_named(world: World, degraded: Json) -> bool:
    """Whether a person holds a controller, and the message names one: nothing of it is repaired."""
    text = str(((resource(world) or {}).get("metadata", {}).get("annotations") or {}).get(HOLD) or "")
    return any(word.strip() in str(degraded.get("message")) for word in text.split(",") if word.strip())


def _with_a_wrong_clock(world: World) -> list[str]:
    """Controllers whose own clock is so wrong that no certificate is valid by it: only a person can correct it."""
    return [
        str(one.key)
        for one in world.kraft.processes
        if one.tls is not None
        and one.tls.shown.not_before <= world.clock.now() < one.tls.shown.not_after
        and not one.tls.shown.not_before <= world.kraft.wall(one) < one.tls.shown.not_after
    ]


def is_doomed(world: World, given_up: AbstractSet[DirectoryID]) -> bool:
    """Whether no majority of the voters can ever meet again, because too many of their disks are gone.

    The newest voter set of the best remaining log counts, committed or not. Of the remaining disks only those do not
    count that were `given_up` while their machines were silent. The end of a run does not show this: such a machine may
    be back, and its disk is intact. But its directory id never runs again, because the machine could have been gone
    permanently. If another disk is lost before the vote has moved to a new one, no majority is left. What else the
    record retires is no reason: that a retired disk has no data is a rule of its own (`2, data`).
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
    """Whether the voters have no directory ids: then a person must decide about a lost disk."""
    return any(process.is_static for process in world.kraft.processes if process.leads)


def _has_static_majority(world: World, disks: Iterable[Disk]) -> bool:
    """Whether more than half of a static quorum have a disk that ran: any disk of a voter's node id counts."""
    wanted = int(((resource(world) or {}).get("spec") or {}).get("controllers", {}).get("replicas", 0))
    return sum(disk.static and disk.ran for disk in disks) > wanted // 2


def _why_not_ready(world: World, checker: Checker) -> str:
    """Why Ready is false, by ground truth; empty if it is true."""
    body = resource(world) or {}
    lineage = checker.lineage(NAMESPACE, NAME)
    status = body.get("status") or {}
    if lineage.formatted != {status.get("clusterID")}:
        return f"the status says cluster {status.get('clusterID')}, disks are of {lineage.formatted}"
    lease = world.kube.get(LEASES, NAMESPACE, token_name(NAME)) or {}
    if (lease.get("spec") or {}).get("holderIdentity") == token_holder(NAME):
        return "nothing is stopped, and the disruption token is not given back"
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
    """What a Ready quorum must not have in addition to its voters: pods, and volumes that the policy does not keep."""
    pods = [pod["metadata"]["name"] for pod in world.kube.all(PODS) if _is_its(pod)]
    retention = (body["spec"]["controllers"].get("storage") or {}).get("retentionPolicy") or {}
    volumes = world.volumes.by_claim  # a claim that lost its volume before a process ran there is no loss
    bound = (claim for claim in world.kube.all(CLAIMS) if claim["metadata"]["uid"] in volumes)
    present = [claim["metadata"] for claim in bound if _is_its(claim)]
    claims = [one["name"] for one in present if "-copy-" not in one["name"] and not _is_kept(one)]
    formats = [item["metadata"]["name"] for item in world.kube.all(CONFIG_MAPS)]
    if initial := [name for name in formats if name.startswith(f"{NAME}-format-")]:
        return f"the config maps of initial formats are left: {', '.join(initial)}"
    if len(pods) != len(voters):
        return f"there are pods {', '.join(pods)} for {len(voters)} voters"
    if retention.get("whenScaled", "Delete") == "Delete" and len(claims) != len(voters):
        return f"there are claims {', '.join(claims)} for {len(voters)} voters"
    return ""


def _is_kept(metadata: Json) -> bool:
    return KEPT in (metadata.get("annotations") or {})


def _is_its(item: Json) -> bool:
    """Whether an object is the quorum's, and not a pool's."""
    return LABEL_POOL not in (item["metadata"].get("labels") or {})


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
    """Without a leader the voters are unknown: one lost replica is named, in the status or in the message."""
    status = (resource(world) or {}).get("status") or {}
    stale = {row["nodeID"] for row in status.get("staleReplicas") or []}
    message = str(degraded.get("message", ""))
    hidden = any(machine.gone for machine in world.machines.by_name.values())
    if degraded.get("reason") == "NoLeader" and (hidden or len(lost) > 1):
        return ""  # no report of a machine; or the first of several was being replaced when the last broke the majority
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
    """The conditions, in one line."""
    rows = ((resource(world) or {}).get("status") or {}).get("conditions") or []
    told = (f"{row['type']}={row['status']}({row['reason']}: {row['message']})" for row in rows)
    return " | ".join(told) or "no condition at all"
