"""Rules 3, 4, 5 and 6 on ground truth: the quorum after a voter change, a stopped pod or a deleted claim.

A voter change is judged when it is sent, by what is true at that moment. The knowledge may be seconds old, and a
newcomer counts as in the guards. Whether a late request is refused depends on Kafka, and it never loses records.
"""

from collections.abc import Set as AbstractSet
from typing import Final

from tests.simulation.model.happened import AddSent, ClaimDeleted, Fail, PodDeleted, RemoveSent
from tests.simulation.model.kafka.process import Process, Row
from tests.simulation.model.kubernetes.kube_model import claims_of
from tests.simulation.model.kubernetes.volumes import Volume
from tests.simulation.model.world import World
from tests.simulation.rules.committed_rules import WRITTEN_S as _WRITTEN_S
from tests.simulation.rules.feature_rules import quorum_of
from tests.simulation.rules.glances import RECENT_S
from tests.simulation.rules.roll_rules import NO_TOKEN, RollRules
from tests.simulation.rules.spoken import changed_meanwhile, resource_of, spec_changed_s
from tests.simulation.rules.word_rules import WordRules

from kafka_quorum.model.ids import DirectoryID, ReplicaKey
from kit.kube.protocol import PODS, Json

_PAIR: Final = 2
_JUST_NOW_S: Final = 1.0
_HEARD_S: Final = 1.0
_LATELY_S: Final = 5.0
"""The operator need not see what has been back for no longer than this."""
_LOOKED_S: Final = 10.0
"""A disk that has been back for longer than this was there at the last check of its pod."""
FORMATTER: Final = "formatter"
_ROLE, _NODE_ID = "kafkaquorum.io/role", "kafkaquorum.io/node-id"


class MembershipRules:
    """Judges requests of the operator that remove something from a quorum, or add to it."""

    def __init__(self, world: World, rolls: RollRules, words: WordRules, fail: Fail) -> None:
        """Judge by this world, and report the rule and what happened to `fail`.

        `rolls` judges restarts, `words` has what a person says.
        """
        self._world, self._rolls, self._words, self._fail = world, rolls, words, fail
        self._handing_over: set[str] = set()
        """Incarnations of the leaders of a pair that were stopped so that the other voter leads."""

    def added(self, event: AddSent) -> None:
        """AddRaftVoter, as it is sent."""
        leader = self._leader(event.endpoint.host, event.endpoint.port)
        if leader is None:
            return
        target, voters = event.request.voter, leader.voters
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
        target, voters = event.request.voter, leader.voters
        if self._world.kraft.uncommitted_change(leader):
            self._fail("4", f"{target} is removed while another voter change is uncommitted")
        if target not in voters:
            return  # an answer was lost; Kafka refuses, and nothing changes
        staying = voters - {target}
        count, majority = len(self._caught_up(leader, staying)), len(staying) // 2 + 1
        if count < majority:
            self._fail("3", f"{target} is removed, and {count} of the {len(staying)} that stay are caught up")
        if len(staying) < self._wanted(leader) and not self._successors(leader) and not self._changed_meanwhile(leader):
            self._fail("3, fewer", f"{target} is removed, {len(staying)} voters stay, and no successor is ready")
        if target == leader.key and len(voters) == _PAIR:
            self._fail("3", f"{target} leads a pair, and is removed: should it crash now, nobody can lead")
        if target == leader.key and not self._elected_since_begun(leader):
            self._in_order(leader, self._caught_up(leader, staying))

    def _in_order(self, leader: Process, others: set[ReplicaKey]) -> None:
        """The active controller is removed when no other controller is left to remove."""
        wanted = self._controllers(leader).get("nodeIDs") or ()
        unwanted = sorted(str(key) for key in others if wanted and key.node_id not in wanted)
        if unwanted and leader.meta.node_id not in wanted:
            self._fail("3", f"the active controller {leader.key} is removed before {', '.join(unwanted)}")

    def _elected_since_begun(self, leader: Process) -> bool:
        """Whether the removal was begun under another leader, or for another spec."""
        begun = ((self._resource(leader).get("status") or {}).get("operation") or {}).get("startedAt", "")
        if not begun or self._changed_meanwhile(leader):
            return True
        since_s = max(leader.elected_s, spec_changed_s(self._world, quorum_of(leader)))
        return str(begun) <= self._world.clock.stamp_of(since_s)

    def pod_deleted(self, event: PodDeleted, retired: AbstractSet[DirectoryID]) -> None:
        """The operator stopped a pod in which a voter may run. The request itself was judged when it was sent."""
        process = event.process
        if process is None or process.failed or process.key.directory_id in retired:
            return
        if process.incarnation not in self._handing_over:
            self._rolls.stopped(event, process)

    def stop_sent(self, event: PodDeleted, retired: AbstractSet[DirectoryID]) -> None:
        """The operator requests the stop of a pod in which a voter may run: a restart, or one of the `retired`."""
        process = event.process
        if process is None or process.failed:
            return
        if process.key.directory_id not in retired:
            if self._hands_over(event, process):
                self._handing_over.add(process.incarnation)
            else:
                self._rolls.stop_sent(event, process)
            return
        leader = self._world.kraft.leader_of(process.cluster_id)
        voters = (leader or process).voters
        if (leader or process).known(process.key) not in voters:
            return
        if leader is None:
            self._fail("3", f"pod {event.name} is stopped, a voter, and there is no leader")
            return
        others = self._caught_up(leader, voters - {leader.known(process.key)})
        if len(others) <= len(voters) // 2:
            self._fail("3", f"pod {event.name} is stopped, and {len(others)} of {len(voters)} voters are caught up")

    def _hands_over(self, event: PodDeleted, process: Process) -> bool:
        """Whether the leader of a pair is restarted so that it can be removed. This must not happen too early."""
        leader = self._world.kraft.leader_of(process.cluster_id)
        if leader is not process or len(leader.voters) != _PAIR or not self._may_interrupt(leader):
            return False
        if not self._caught_up(leader, leader.voters - {leader.known(leader.key)}):
            self._fail("3", f"pod {event.name} is to hand over, and the other voter is not caught up")
        if not self._rolls.has_token(event):
            self._fail(NO_TOKEN, f"pod {event.name} is to hand over without the disruption token")
        return True

    def retired(
        self, of: tuple[str, str], directories: AbstractSet[DirectoryID], kept: AbstractSet[int]
    ) -> frozenset[DirectoryID]:
        """The record of a quorum gives up disks of controllers that it keeps: none may run and fetch at that moment.

        A process that stands still counts as fetching for the fetch timeout of the leader. The disks must also have no
        data, unless their machine is gone or silent. The directory ids on such machines are returned, and those that a
        person gives up: a person may give up any disk, and one that keeps up only with the disruption token.
        """
        given_up = self._given_up(of, directories, kept)
        return given_up | self._retired_without_a_word(directories - given_up, kept)

    def _given_up(
        self, of: tuple[str, str], directories: AbstractSet[DirectoryID], kept: AbstractSet[int]
    ) -> frozenset[DirectoryID]:
        """Those of these disks that a person gives up."""
        named = set()
        disks = [volume.disk for volume in self._world.volumes.by_claim.values()]
        disks += [process.disk for process in self._world.kraft.processes]
        for key in {disk.key for disk in disks if disk.key is not None}:
            directory = key.directory_id
            if directory is None or directory not in directories:
                continue
            self._words.retired(of[1], key.node_id, directory)
            if key.node_id in kept and self._words.is_named(of[1], key.node_id, directory):
                named.add(directory)
                self._has_token_for(of, key)
        return frozenset(named)

    def _has_token_for(self, of: tuple[str, str], key: ReplicaKey) -> None:
        """A voter that keeps up is given up only with the token."""
        process = next((one for one in self._world.kraft.processes if one.key == key), None)
        leader = None if process is None else self._world.kraft.leader_of(process.cluster_id)
        if leader is not None and self._healthy(leader, key) and not self._rolls.quorum_has_token(*of):
            self._fail(NO_TOKEN, f"the disk of voter {key} is given up without the disruption token")

    def _retired_without_a_word(
        self, directories: AbstractSet[DirectoryID], kept: AbstractSet[int]
    ) -> frozenset[DirectoryID]:
        """Disks that are given up on evidence."""
        for process in self._world.kraft.processes:
            if process.key.directory_id not in directories or process.meta.node_id not in kept:
                continue
            leader = self._world.kraft.leader_of(process.cluster_id)
            if leader is None:
                continue
            row = leader.row(process.key)
            if process is leader or self._world.kraft.fresh_within(row.fetched_s, _JUST_NOW_S):
                self._fail("given up", f"the disk of {process.key} is given up, and its Kafka runs and fetches")
            elif self._was_live(leader, row):
                self._fail("given up", f"the disk of {process.key} is given up within the fetch timeout of its Kafka")
        left = [volume for volume in self._with_data(directories, kept) if not self._is_there(volume)]
        return frozenset(key.directory_id for volume in left if (key := volume.disk.key) and key.directory_id)

    def _was_live(self, leader: Process, row: Row) -> bool:
        """Whether every look behind this write showed a replica that had fetched within the leader's own timeout."""
        ago_s = (self._world.kraft.stamp_ms(leader, self._world.clock.elapsed_s) - row.fetched_ms) / 1000
        return row.fetched_ms >= 0 and _WRITTEN_S < ago_s <= leader.fetch_timeout_s

    def _with_data(self, directories: AbstractSet[DirectoryID], kept: AbstractSet[int]) -> list[Volume]:
        """The volumes that hold these directory ids, of controllers that are kept, on machines that may come back."""
        volumes = self._world.volumes.by_claim.values()
        keys = ((volume, volume.disk.key) for volume in volumes if not volume.dead)
        return [volume for volume, key in keys if key and key.node_id in kept and key.directory_id in directories]

    def _is_there(self, volume: Volume) -> bool:
        """Whether the disk is readable now, or as soon as its pod is scheduled: such a disk must not be given up."""
        machine, now_s = self._world.machines.by_name[volume.node], self._world.clock.elapsed_s
        heard = machine.heard and now_s - machine.heard_s <= _HEARD_S  # not if it came back in this very step
        silent = not heard or now_s - machine.back_s < _LATELY_S
        if silent and (volume.local or self._is_attached(volume)):
            return False
        if volume.away:
            return False
        if now_s - volume.back_s >= _LOOKED_S:
            self._fail("2, data", f"the disk of {volume.disk.key} is given up, and has its data on {volume.claim}")
        return True

    def _is_attached(self, volume: Volume) -> bool:
        """Whether a pod holds a volume: it cannot be attached elsewhere until that pod is gone."""
        pods = self._world.kube.all(PODS)
        return any(pod["spec"].get("nodeName") == volume.node and volume.claim in claims_of(pod) for pod in pods)

    def claim_deleted(self, event: ClaimDeleted) -> None:
        """The operator deleted a claim: its replica must be no voter, and not the last with all committed records."""
        disk = event.disk
        if disk is None or disk.key is None:
            return
        cluster_id = disk.meta.cluster_id if disk.meta else None
        committed = self._world.kraft.committed.get(cluster_id, []) if cluster_id else []
        current = [one.voters for one in self._world.kraft.processes if one.leads and one.disk is not disk]
        known = next(iter(current), disk.voters)
        told = committed[-1].image.voters if committed else None
        voters = known if told is None else told
        if _votes(disk.key, voters) or any(_votes(disk.key, one) for one in current):
            self._fail("6", f"claim {event.name} is deleted, and its replica {disk.key} is a voter")
        if not disk.ran:
            return
        others = (volume.disk for volume in self._world.volumes.by_claim.values() if volume.disk is not disk)
        processes = (one.disk for one in self._world.kraft.processes if one.disk is not disk)
        reached = len(committed) - int(4 * RECENT_S)
        if not any(other.end >= reached and other.key and _votes(other.key, voters) for other in (*others, *processes)):
            self._fail("6", f"claim {event.name} is deleted, and no other disk has what is committed")

    def _leader(self, host: str, port: int) -> Process | None:
        leader = self._world.kraft.at(host, port)
        return leader if leader is not None and leader.leads else None

    def _caught_up(self, leader: Process, keys: frozenset[ReplicaKey]) -> set[ReplicaKey]:
        return {key for key in keys if self._healthy(leader, key)}

    def _healthy(self, leader: Process, key: ReplicaKey) -> bool:
        return self._world.kraft.is_caught_up(leader, key, RECENT_S)

    def _pair_is_safe(self, leader: Process, target: ReplicaKey) -> bool:
        """From one voter to two the newcomer counts; if three or more are required, a third one must be ready.

        The newcomer does not count if its pod is missing or being deleted.
        """
        if not self._healthy(leader, target) or not self._has_pod(leader, target):
            return False
        others = [key for key in leader.rows if key not in (target, leader.key) and self._healthy(leader, key)]
        # If the spec requires more now, it was another spec at the operator's look.
        return bool(others) or self._wanted(leader) <= len(leader.voters) + 1 or self._changed_meanwhile(leader)

    def _successors(self, leader: Process) -> set[ReplicaKey]:
        """The caught-up replicas that are no voters."""
        return self._caught_up(leader, frozenset(leader.rows) - leader.voters)

    def _has_pod(self, leader: Process, key: ReplicaKey) -> bool:
        for pod in self._world.kube.all(PODS):
            labels, ours = (
                pod["metadata"]["labels"],
                {"kafkaquorum.io/quorum": quorum_of(leader), _NODE_ID: str(key.node_id)},
            )
            if ours.items() <= labels.items() and labels[_ROLE] != FORMATTER:
                return "deletionTimestamp" not in pod["metadata"]
        return False

    def _resource(self, leader: Process) -> Json:
        """The resource of a leader's quorum; empty if it is gone."""
        return resource_of(self._world, quorum_of(leader))

    def _controllers(self, leader: Process) -> Json:
        body = self._resource(leader)
        return dict(body["spec"]["controllers"]) if body else {}

    def _may_interrupt(self, leader: Process) -> bool:
        """Whether the leader of a pair may be restarted because it is to be removed, now or a moment ago."""
        if self._changed_meanwhile(leader):
            return True
        spec = self._controllers(leader)
        stays = leader.meta.node_id in (spec.get("nodeIDs") or ())
        return not stays and self._wanted(leader) == 1 and spec.get("allowInterruption") is not False

    def _changed_meanwhile(self, leader: Process) -> bool:
        """Whether the spec has changed since the operator's last report."""
        return changed_meanwhile(self._world, quorum_of(leader))

    def _wanted(self, leader: Process) -> int:
        return int(self._controllers(leader).get("replicas", 0))


def _votes(key: ReplicaKey, voters: AbstractSet[ReplicaKey]) -> bool:
    """Whether a replica is a voter: a static one is its node id, on any disk."""
    return bool({key, ReplicaKey(node_id=key.node_id, directory_id=None)} & voters)


def retired_in(record: Json) -> frozenset[DirectoryID]:
    """The directory ids that a record's JSON retires for ever."""
    nodes = (*record.get("nodes", ()), *record.get("former", ()))
    return frozenset(DirectoryID(directory) for node in nodes for directory in node.get("lost") or ())
