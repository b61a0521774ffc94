"""Rules 3, 4, 5 and 6 on ground truth: what a voter change, a stopped pod and a deleted claim leave of the quorum.

A voter change is judged as it is decided on, by what is true at that moment: knowledge may be seconds old, and a
newcomer counts as the guards count it. What a late request does is Kafka's to refuse; records are never lost by it.
"""

from collections.abc import Callable
from collections.abc import Set as AbstractSet
from typing import Final

from tests.simulation.happened import AddSent, ClaimDeleted, PodDeleted, RemoveSent
from tests.simulation.kraft_model import Process
from tests.simulation.world import World

from kafka_quorum.kube.protocol import PODS, QUORUMS, Json
from kafka_quorum.model.ids import DirectoryID, ReplicaKey

RECENT_S: Final = 5.0
"""How old the operator's knowledge of who is caught up may be: a look of two seconds, and the fetch timeout."""
_PAIR: Final = 2
_JUST_NOW_S: Final = 1.0
FORMATTER: Final = "formatter"
_ROLE, _NODE_ID = "kafkaquorum.io/role", "kafkaquorum.io/node-id"

Fail = Callable[[str, str], None]


class MembershipRules:
    """Judges requests of the operator that take something from a quorum, or add to it."""

    def __init__(self, world: World, fail: Fail) -> None:
        """Judge by this world, and tell `fail` the rule and what happened."""
        self._world, self._fail = world, fail

    def added(self, event: AddSent) -> None:
        """AddRaftVoter, as it is sent."""
        leader = self._leader(event.endpoint.host, event.endpoint.port)
        if leader is None:
            return
        target, voters = event.request.voter, leader.disk.voter_set
        if self._world.kraft.uncommitted_change(leader):
            self._fail("4", f"{target} is added while another voter change is uncommitted")
        if target in voters:
            return  # an answer was lost; Kafka refuses, and nothing changes
        if not self._healthy(leader, target):
            self._fail("3", f"{target} is added, and has not caught up")
        count, majority = len(self._caught_up(leader, voters)), (len(voters) + 1) // 2 + 1
        if len(voters) == 1 and self._pair_is_safe(leader, target):
            count += 1
        if count < majority:
            self._fail("3", f"{target} is added with {count} of {len(voters) + 1} voters caught up")

    def removed(self, event: RemoveSent) -> None:
        """RemoveRaftVoter, as it is sent."""
        leader = self._leader(event.endpoint.host, event.endpoint.port)
        if leader is None:
            return
        target, voters = event.request.voter, leader.disk.voter_set
        if self._world.kraft.uncommitted_change(leader):
            self._fail("4", f"{target} is removed while another voter change is uncommitted")
        if target not in voters:
            return  # an answer was lost; Kafka refuses, and nothing changes
        staying = voters - {target}
        count, majority = len(self._caught_up(leader, staying)), len(staying) // 2 + 1
        if count < majority:
            self._fail("3", f"{target} is removed, and {count} of the {len(staying)} that stay are caught up")
        if target == leader.key and len(voters) == _PAIR:
            self._fail("3", f"{target} leads a pair, and is removed: should it crash now, nobody can lead")
        if target == leader.key and not self._elected_since_begun(leader):
            self._in_order(leader, self._caught_up(leader, staying))

    def _in_order(self, leader: Process, others: set[ReplicaKey]) -> None:
        """The active controller is removed when no other is left to remove."""
        wanted = self._controllers(leader).get("nodeIDs") or ()
        unwanted = sorted(str(key) for key in others if wanted and key.node_id not in wanted)
        if unwanted and leader.meta.node_id not in wanted:
            self._fail("3", f"the active controller {leader.key} is removed before {', '.join(unwanted)}")

    def _elected_since_begun(self, leader: Process) -> bool:
        """Whether the removal was begun when another one led, or for another spec."""
        begun = ((self._resource(leader).get("status") or {}).get("operation") or {}).get("startedAt", "")
        if not begun or self._changed_meanwhile(leader):
            return True
        return str(begun) <= self._world.clock.stamp_of(leader.elected_s)

    def pod_deleted(self, event: PodDeleted, retired: AbstractSet[DirectoryID]) -> None:
        """The operator stopped a pod in which a voter may run: a restart, or the end of one of the `retired`."""
        process = event.process
        if process is None:
            return
        leader = self._world.kraft.leader_of(process.cluster_id)
        voters = leader.disk.voter_set if leader is not None else process.disk.voter_set
        if process.key not in voters:
            return
        if leader is None:
            self._fail("3", f"pod {event.name} is stopped, a voter, and there is no leader")
            return
        others = self._caught_up(leader, voters - {process.key})
        if process is leader and len(voters) == _PAIR and self._may_interrupt(leader):
            if not others:
                self._fail("3", f"pod {event.name} is to hand over, and the other voter is not caught up")
            return
        if len(others) <= len(voters) // 2:
            self._fail("3", f"pod {event.name} is stopped, and {len(others)} of {len(voters)} voters are caught up")
        if process.key.directory_id not in retired:
            self._fail("5", f"pod {event.name} of voter {process.key} is stopped while its Kafka runs")

    def retired(self, directories: AbstractSet[DirectoryID], kept: AbstractSet[int]) -> None:
        """The record gives up disks of controllers that it keeps: none of them may run, and fetch, at that moment."""
        for process in self._world.kraft.processes:
            if process.key.directory_id not in directories or process.meta.node_id not in kept:
                continue
            leader = self._world.kraft.leader_of(process.cluster_id)
            if leader is None:
                continue
            row = leader.row(process.key)
            if process is leader or self._world.kraft.fresh_within(row.fetched_s, _JUST_NOW_S):
                self._fail("given up", f"the disk of {process.key} is given up, and its Kafka runs and fetches")

    def claim_deleted(self, event: ClaimDeleted) -> None:
        """The operator deleted a claim: its replica must be no voter, and not the last that has what is committed."""
        disk = event.disk
        if disk is None or disk.key is None:
            return
        cluster_id = disk.meta.cluster_id if disk.meta else None
        committed = self._world.kraft.committed.get(cluster_id, []) if cluster_id else []
        current = [one.disk.voter_set for one in self._world.kraft.processes if one.leads and one.disk is not disk]
        known = next(iter(current), disk.voters)
        voters = next((entry.voters for entry in reversed(committed) if entry.voters is not None), known)
        if disk.key in voters or any(disk.key in one for one in current):
            self._fail("6", f"claim {event.name} is deleted, and its replica {disk.key} is a voter")
        if not disk.ran:
            return
        others = (volume.disk for volume in self._world.volumes.by_claim.values() if volume.disk is not disk)
        processes = (one.disk for one in self._world.kraft.processes if one.disk is not disk)
        reached = len(committed) - int(4 * RECENT_S)
        if not any(other.end >= reached and other.key in voters for other in (*others, *processes)):
            self._fail("6", f"claim {event.name} is deleted, and no other disk has what is committed")

    def _leader(self, host: str, port: int) -> Process | None:
        leader = self._world.kraft.at(host, port)
        return leader if leader is not None and leader.leads else None

    def _caught_up(self, leader: Process, keys: frozenset[ReplicaKey]) -> set[ReplicaKey]:
        return {key for key in keys if self._healthy(leader, key)}

    def _healthy(self, leader: Process, key: ReplicaKey) -> bool:
        return self._world.kraft.is_caught_up(leader, key, RECENT_S)

    def _pair_is_safe(self, leader: Process, target: ReplicaKey) -> bool:
        """From one voter to two the newcomer counts, with a third one ready where three or more are wanted.

        It does not where a list of the pods shows that it is on its way out.
        """
        if not self._healthy(leader, target) or not self._has_pod(leader, target):
            return False
        others = [key for key in leader.rows if key not in (target, leader.key) and self._healthy(leader, key)]
        return bool(others) or self._wanted(leader) <= len(leader.disk.voter_set) + 1

    def _has_pod(self, leader: Process, key: ReplicaKey) -> bool:
        for pod in self._world.kube.all(PODS):
            labels, ours = (
                pod["metadata"]["labels"],
                {"kafkaquorum.io/quorum": _quorum(leader), _NODE_ID: str(key.node_id)},
            )
            if ours.items() <= labels.items() and labels[_ROLE] != FORMATTER:
                return "deletionTimestamp" not in pod["metadata"]
        return False

    def _resource(self, leader: Process) -> Json:
        """The resource of a leader's quorum; empty if it is gone."""
        bodies = (body for body in self._world.kube.all(QUORUMS) if body["metadata"]["name"] == _quorum(leader))
        return next(bodies, {})

    def _controllers(self, leader: Process) -> Json:
        body = self._resource(leader)
        return dict(body["spec"]["controllers"]) if body else {}

    def _may_interrupt(self, leader: Process) -> bool:
        """Whether the leader of a pair may be restarted, for it is, or was a moment ago, to be removed."""
        if self._changed_meanwhile(leader):
            return True
        spec = self._controllers(leader)
        stays = leader.meta.node_id in (spec.get("nodeIDs") or ())
        return not stays and self._wanted(leader) == 1 and spec.get("allowInterruption") is not False

    def _changed_meanwhile(self, leader: Process) -> bool:
        """Whether the spec is another one by now than the operator has told of."""
        body = self._resource(leader)
        told = (body.get("status") or {}).get("observedGeneration")
        return not body or bool(told != body["metadata"]["generation"])

    def _wanted(self, leader: Process) -> int:
        return int(self._controllers(leader).get("replicas", 0))


def _quorum(leader: Process) -> str:
    return leader.host.rsplit(f"-{leader.meta.node_id}.", 1)[0]


def retired_in(record: Json) -> frozenset[DirectoryID]:
    """The directory ids that a record's JSON retires for ever."""
    nodes = (*record.get("nodes", ()), *record.get("former", ()))
    return frozenset(DirectoryID(directory) for node in nodes for directory in node.get("lost") or ())
