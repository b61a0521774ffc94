"""Rules 2 and 3 on ground truth, for disks that go with their pods.

The operator stops no pod whose end loses a needed vote, and no change of the voters makes such a disk needed. If a
claim is being deleted, lost or gone, only the pod keeps its disk: the disk is lost with the pod.
"""

from typing import Final

from tests.simulation.model.happened import AddSent, Fail, PodDeleted, RemoveSent
from tests.simulation.model.kafka.process import Process
from tests.simulation.model.kubernetes.kube_model import claims_of
from tests.simulation.model.world import World
from tests.simulation.rules.glances import RECENT_S, Glance, Glances

from kafka_quorum.model.ids import DirectoryID, ReplicaKey
from kit.kube.protocol import CLAIMS, PODS, Json

KEPT: Final = "2, kept"
DISKS: Final = "3, disks"


class KeptRules:
    """Judges every stop of a pod, whether Kafka runs in it or not, and every change of the voters."""

    def __init__(self, world: World, glances: Glances, fail: Fail) -> None:
        """Judge by this world, and report the rule and what happened to `fail`."""
        self._world, self._glances, self._fail = world, glances, fail
        self._going_s: dict[str, float] = {}
        """By the uids of pods: since when their claims are being deleted, lost or gone."""
        self._held: dict[str, ReplicaKey] = {}
        """By the uids of pods: the replicas whose disks are lost with their pods."""

    def look(self) -> None:
        """Note which disks only their pods still keep."""
        going = {str(pod["metadata"]["uid"]): pod for pod in self._world.kube.all(PODS) if self._goes(pod)}
        now_s = self._world.clock.elapsed_s
        self._going_s = {uid: self._going_s.get(uid, now_s) for uid in going}
        held = {uid: self._held.get(uid) or self._replica(uid) for uid in going}
        self._held = {uid: key for uid, key in held.items() if key is not None}

    def stop_sent(self, event: PodDeleted, retired: frozenset[DirectoryID]) -> None:
        """The operator asks for the stop of a pod."""
        sandbox = self._world.kubelet.of_pod(event.namespace, event.name)
        key = self._held.get(sandbox.uid) if sandbox else None
        if sandbox is None or key is None or key.directory_id in retired or not self._is_known(sandbox.uid):
            return
        moments = [one for cluster in self._world.kraft.committed for one in self._glances.of(cluster, RECENT_S)]
        if all(self._is_needed(moment, key) for moment in moments):
            self._fail(
                KEPT, f"pod {event.name} is stopped, and the disk of {key} is lost with it, a vote that is needed"
            )

    def change_sent(self, event: AddSent | RemoveSent) -> None:
        """The operator asks for a change of the voters."""
        leader = self._world.kraft.at(event.endpoint.host, event.endpoint.port)
        if leader is None or not leader.leads:
            return
        target, adds = event.request.voter, isinstance(event, AddSent)
        moments = self._glances.of(leader.cluster_id, RECENT_S)
        if all(self._hangs_on_disks(leader, moment, target, adds=adds) for moment in moments):
            change = "added" if adds else "removed"
            self._fail(DISKS, f"{target} is {change}, and now a majority needs a disk that goes with its pod")

    def _hangs_on_disks(self, leader: Process, moment: Glance, target: ReplicaKey, *, adds: bool) -> bool:
        """Whether the voters on lasting disks were a majority at that moment, and are none after the change."""
        going = {leader.known(held) for uid, held in self._held.items() if self._is_known(uid)}
        voters = moment.voters | {target} if adds else moment.voters - {target}
        staying = moment.caught_up - going
        left = (staying | ({target} - going)) if adds else staying - {target}
        return len(staying) > len(moment.voters) // 2 and len(left) <= len(voters) // 2

    def _goes(self, pod: Json) -> bool:
        namespace = pod["metadata"]["namespace"]
        claims = (self._world.kube.view(CLAIMS, namespace, name) for name in claims_of(pod))
        return any(
            claim is None or "deletionTimestamp" in claim["metadata"] or claim["status"].get("phase") == "Lost"
            for claim in claims
        )

    def _replica(self, pod_uid: str) -> ReplicaKey | None:
        sandbox = self._world.kubelet.sandboxes.get(pod_uid)
        if sandbox is None:
            return None
        volume = self._world.volumes.by_claim.get(sandbox.claim_uid)
        return volume.disk.key if volume else sandbox.process.key if sandbox.process else None

    def _is_known(self, pod_uid: str) -> bool:
        """Whether this has been so for longer than the age of a look."""
        return self._world.clock.elapsed_s - self._going_s[pod_uid] > RECENT_S

    def _is_needed(self, moment: Glance, key: ReplicaKey) -> bool:
        """Whether, at that moment, the other caught-up voters on lasting disks were no majority."""
        leader = moment.leader
        if leader is None:
            return True
        going = {leader.known(held) for uid, held in self._held.items() if self._is_known(uid)}
        votes, staying = leader.known(key) in moment.voters, moment.caught_up - going - {leader.known(key)}
        return votes and len(staying) <= len(moment.voters) // 2
