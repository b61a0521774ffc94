"""Rule 14 on ground truth: no second quorum, no log that is rewritten too early, no untouched disk that changes.

What is judged here is what happens to disks, whatever the record and the status say. That no committed record is lost
is a rule of its own.
"""

from typing import Final

from tests.simulation.model.happened import Fail, PodDeleted, Rewrote, Started
from tests.simulation.model.kafka.disk import Disk
from tests.simulation.model.world import World

from kafka_quorum.model.ids import ClusterID, ReplicaKey
from kit.kube.protocol import Json

SECOND, EARLY, UNTOUCHED, STOPS = "14", "14, early", "14, untouched", "14, stops"
_LED_S: Final = 5.0
"""The operator need not see a leader that has led for no longer than this."""
_STOP: Final = "Stop"
_NOTHING_RUNS: Final = ("Copy", "Retire", "Format", "Rewrite")
"""The stages between the end of the last pod and the start of the survivor."""


def stage_of(record: Json | None) -> str:
    """The stage of the recovery that a record has open; empty if none is."""
    return str(((record or {}).get("recovery") or {}).get("stage", ""))


class RecoveryRules:
    """Judges disks after each step, and every rewrite of a log."""

    def __init__(self, world: World, fail: Fail) -> None:
        """Judge by this world, and report the rule and what happened to `fail`."""
        self._world, self._fail = world, fail
        self._newest: dict[ClusterID, int] = {}
        """The last recovery of each cluster that has rewritten a log."""
        self._rewritten: set[int] = set()
        """Serial numbers of disks whose log was rewritten since the last step."""
        self._late: set[int] = set()
        """Serial numbers of disks on which Kafka started after every controller had stopped, too early."""
        self._seen: dict[int, tuple[object, ...]] = {}
        """By serial number: what a disk without a user had on it when it was last looked at."""

    def look(self) -> None:
        """Judge the present state."""
        for process in self._world.kraft.processes:
            newest = self._newest.get(process.cluster_id, 0)
            if process.leads and process.disk.recovery < newest:
                before = f"a disk of recovery {process.disk.recovery}, and recovery {newest} has rewritten a log"
                self._fail(SECOND, f"{process.key} leads on {before}")
        used = {process.disk.serial for process in self._world.kraft.processes}
        used |= {disk.serial for disk in self._being_made()}
        present: dict[int, tuple[object, ...]] = {}
        for volume in self._world.volumes.by_claim.values():
            disk = volume.disk
            if disk.serial in used or disk.serial in self._rewritten or not disk.ran:
                continue
            present[disk.serial] = (disk.end, disk.last_epoch, disk.epoch, disk.recovery, disk.meta)
            if self._seen.get(disk.serial, present[disk.serial]) != present[disk.serial]:
                self._fail(UNTOUCHED, f"disk {disk.serial} of claim {volume.claim} changes, and has no user")
        self._seen, self._rewritten = present, set()

    def _being_made(self) -> list[Disk]:
        """The disks in pods that have not ended: a formatter or a copier may write to them."""
        boxes = self._world.kubelet.sandboxes.values()
        volumes = self._world.volumes.by_claim
        return [volumes[uid].disk for box in boxes if not box.done for uid in box.claim_uids if uid in volumes]

    def rewrote(self, event: Rewrote, record: Json | None, retired: frozenset[str]) -> None:
        """A log was rewritten: nothing else may be able to start, and every surviving disk has a copy."""
        self._rewritten.add(event.serial)
        self._newest[event.cluster_id] = max(self._newest.get(event.cluster_id, 0), event.epoch)
        if stage_of(record) == "":
            return  # a pod that comes late finds what was written before
        running = [str(one.key) for one in self._world.kraft.processes if one.cluster_id == event.cluster_id]
        if running:
            self._fail(EARLY, f"the log of {event.key} is rewritten, and {', '.join(running)} run")
        disks = self._world.volumes.by_claim.values()
        lost = {row["directory_id"] for row in (record or {}).get("recovery", {}).get("lost", ())}
        copies = {(one.disk.key, one.disk.end) for one in disks if "-copy-" in one.claim}
        for volume in disks:
            key = volume.disk.key
            if key is None or volume.dead or volume.hidden or "-copy-" in volume.claim or not volume.disk.ran:
                continue
            if key != event.key and key.directory_id not in retired:
                self._fail(EARLY, f"the log of {event.key} is rewritten, and {key} can still start")
            needs = volume.disk.end > 0 and key.directory_id not in lost  # one that never fetched has nothing
            if key != event.key and needs and not self._has_copy(volume.disk, copies):
                self._fail(EARLY, f"the log of {event.key} is rewritten, and {key} has no copy")
        seeded = (record or {})["recovery"]["survivor"]["source"]["node_id"] is None  # its own disk was just formatted
        if not seeded and not any(key == event.key for key, _ in copies):
            self._fail(EARLY, f"the log of {event.key} is rewritten, and it has no copy")

    def _has_copy(self, disk: Disk, copies: set[tuple[ReplicaKey | None, int]]) -> bool:
        return (disk.key, disk.end) in copies

    def started(self, event: Started, record: Json | None) -> None:
        """Kafka started: in a pod that comes late, if nothing may run at this stage."""
        if stage_of(record) in _NOTHING_RUNS:
            self._late.add(event.serial)

    def stopped(self, event: PodDeleted, record: Json | None) -> None:
        """The operator stops a pod while a recovery is open: at its first stage, and never under a leader.

        One that came late is stopped until the survivor starts.
        """
        if event.process is None or event.process.failed:
            return
        stage, late = stage_of(record), event.process.disk.serial in self._late
        if stage != _STOP and not (late and stage in _NOTHING_RUNS):
            self._fail(STOPS, f"pod {event.name} is stopped at stage {stage} of a recovery")
        leader = self._world.kraft.leader_of(event.process.cluster_id)
        if leader is not None and self._world.clock.elapsed_s - leader.elected_s > _LED_S:
            self._fail(STOPS, f"pod {event.name} is stopped for a recovery, and {leader.key} leads")
