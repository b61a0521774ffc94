"""Pods that work on disks for a recovery, as the kubelet runs them: they read, compare, copy or rewrite a disk.

What is asked is the JSON in their environment, and what they report is the form of `kafka_quorum.worker`. A disk that
is mounted read-only is never changed here. The rewrite refuses a disk that is not the one of its plan, and finds its
own record again, as `kraftlog.rewrite` does. A crash can come between any two steps: a copy is begun, then whole.

Kafka ends if two voter sets in a row differ by more than one voter, so the rewrite drops one voter after the other.
"""

import json
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Final

from tests.simulation.model.clock import VirtualClock
from tests.simulation.model.happened import Happened, Rewrote
from tests.simulation.model.kafka.disk import Content, Disk, Entry
from tests.simulation.model.kubernetes.kube_model import KubeModel
from tests.simulation.model.kubernetes.pod_status import write_status
from tests.simulation.model.kubernetes.sandbox import Sandbox
from tests.simulation.model.kubernetes.volumes import Volumes

from kafka_quorum.model.disk_work import REPORT, ROLE
from kafka_quorum.model.ids import DirectoryID, NodeID, ReplicaKey
from kafka_quorum.resources.recovery import REQUEST, WORK_CONTAINER
from kit.kube.protocol import Json

GAP: Final = 1000
__all__ = ["ROLE", "DiskPods"]


class RefusedError(Exception):
    """The program refuses the disk; nothing is changed."""


class DiskPods:
    """Every pod of this kind."""

    def __init__(
        self,
        kube: KubeModel,
        clock: VirtualClock,
        volumes: Volumes,
        tell: Callable[[Happened], None],
        is_locked: Callable[[Disk], bool],
    ) -> None:
        """Begin without any. `is_locked` says whether Kafka runs on a disk: then only inspectors read it."""
        self._kube, self._clock, self._volumes, self._tell = kube, clock, volumes, tell
        self._is_locked = is_locked

    def step(self, pod: Json, sandbox: Sandbox) -> None:
        """One small step: the container starts, works, and reports."""
        sandbox.stage += 1
        if sandbox.stage == 1:
            self._write(pod, {"running": {"startedAt": self._clock.stamp()}}, "Running")
            return
        container = pod["spec"]["containers"][0]
        request = json.loads(next(row["value"] for row in container["env"] if row["name"] == REQUEST))
        try:
            report = self._work(request, pod, sandbox)
        except RefusedError as error:
            report = {"done": False, "found": "unknown", "message": str(error)}
        if report is None:
            return
        sandbox.done = True
        text = json.dumps({"report": REPORT, **report})
        ended = {"exitCode": 0 if report["done"] else 1, "message": text, "finishedAt": self._clock.stamp()}
        self._write(pod, {"terminated": ended}, "Succeeded" if report["done"] else "Failed")

    def _write(self, pod: Json, state: Json, phase: str) -> None:
        write_status(self._kube, pod, {"phase": phase, "containerStatuses": [{"name": WORK_CONTAINER, "state": state}]})

    def _work(self, request: Json, pod: Json, sandbox: Sandbox) -> Json | None:
        disk = self._volumes.by_claim[sandbox.claim_uids[0]].found
        if request["kind"] not in {"inspect", "compare"} and self._is_locked(disk):
            raise RefusedError("a Kafka server uses it: stop the server first")
        match request["kind"]:
            case "inspect":
                return _inspected(disk)
            case "compare":
                return _compared(disk, request["chosen"])
            case "copy":
                return self._copied(disk, sandbox)
            case _:
                return self._rewritten(request, disk, pod, sandbox)

    def _copied(self, disk: Disk, sandbox: Sandbox) -> Json | None:
        """The copy appears in two steps; a second run continues it, and refuses other data."""
        target = self._volumes.by_claim[sandbox.claim_uids[1]].disk
        if disk.content is not Content.FORMATTED:
            raise RefusedError(f"the disk is {disk.content.value}")
        if target.meta is not None and (target.epoch, target.log) != (disk.epoch, disk.log[: len(target.log)]):
            raise RefusedError("the target has other data")
        target.meta, target.voters, target.static, target.epoch = disk.meta, disk.voters, disk.static, disk.epoch
        target.files, target.recovery = True, disk.recovery
        if sandbox.stage == 2:
            target.log = disk.log[: len(disk.log) // 2]
            return None
        target.log = list(disk.log)
        return {"done": True, "digest": f"{disk.serial}-{disk.end}", **_inspected(target)}

    def _rewritten(self, request: Json, disk: Disk, pod: Json, sandbox: Sandbox) -> Json:
        """Append the voter sets, and mark the disk; what is there already is found again."""
        plan = request["plan"]
        if "seed" in request:
            plan = plan["target"]
            _seeded(disk, self._volumes.by_claim[sandbox.claim_uids[1]].found, plan)
        key = ReplicaKey(node_id=NodeID(plan["node_id"]), directory_id=DirectoryID(plan["directory_id"]))
        if disk.meta is None or (disk.meta.cluster_id, disk.key) != (plan["cluster_id"], key):
            raise RefusedError("not rewritten, because this is not the disk of the plan")
        epoch = max(plan["last_epoch"], plan["leader_epoch"]) + GAP
        done = disk.log[plan["end_offset"] :][:1]
        if not done or done[0].epoch != epoch:
            if (disk.end, disk.last_epoch) != (plan["end_offset"], plan["last_epoch"]):
                raise RefusedError("not rewritten, because its log does not end where the plan says")
            if disk.epoch > plan["leader_epoch"] + GAP // 2:
                raise RefusedError("not rewritten, because it has seen a later epoch")
            for voters in _chain(disk.voter_set, key):
                image = replace(disk.image, voters=voters)
                disk.log.append(Entry(epoch=epoch, what="voters", voters=voters, image=image))
            disk.epoch = max(disk.epoch, epoch)
        disk.recovery = request["mark"]["epoch"]
        self._tell(
            Rewrote(
                namespace=sandbox.namespace,
                quorum=sandbox.quorum,
                serial=disk.serial,
                key=key,
                cluster_id=disk.meta.cluster_id,
                epoch=disk.recovery,
                pod=pod["metadata"]["name"],
            )
        )
        return {"done": True, **_inspected(disk)}


def _seeded(disk: Disk, seed: Disk, plan: Json) -> None:
    """Fill a disk that was just formatted from a seed; what is there already is found again."""
    if disk.ran or disk.meta is None or seed.meta is None or seed.meta.cluster_id != disk.meta.cluster_id:
        raise RefusedError("not seeded, because this is not a new disk of the seed's cluster")
    if disk.log:
        return
    if (seed.end, seed.last_epoch) != (plan["end_offset"], plan["last_epoch"]):
        raise RefusedError("not seeded, because the seed does not end where the plan says")
    disk.log, disk.static = list(seed.log), False
    if not any(entry.voters is not None for entry in seed.log):
        disk.voters = seed.voters


def _chain(voters: frozenset[ReplicaKey], survivor: ReplicaKey) -> list[frozenset[ReplicaKey]]:
    """The voter sets from the present one to the survivor alone, each with one voter less than the one before."""
    chain, present = [], voters | {survivor}
    for key in sorted(voters - {survivor}, key=str):
        present = present - {key}
        chain.append(present)
    return chain or [frozenset({survivor})]


def _inspected(disk: Disk) -> Json:
    """What is read of a disk."""
    if disk.content is Content.EMPTY:
        return {"done": True, "found": "empty"}
    if disk.meta is None or disk.content is not Content.FORMATTED:
        raise RefusedError(f"the disk is {disk.content.value}")
    keys = sorted((key for key in disk.voter_set if key.directory_id), key=str)
    log = {
        "clusterID": disk.meta.cluster_id,
        "nodeID": disk.meta.node_id,
        "directoryID": disk.meta.directory_id,
        "leaderEpoch": disk.epoch,
        "lastEpoch": disk.last_epoch,
        "endOffset": disk.end,
        "epochs": [[epoch, first] for epoch, first, _ in _runs(disk.log, 0)],
        "checkpoint": None,
        "tornBytes": 0,
        "damagedAt": None,
        "voters": [{"nodeID": key.node_id, "directoryID": key.directory_id} for key in keys],
        "kraftVersion": 1 if keys else 0,
    }
    return {"done": True, "found": "log", "log": log}


def _runs(log: list[Entry], start: int) -> list[tuple[int, int, int]]:
    """Epoch, first and last offset of each run of one epoch, from an offset on."""
    runs: list[tuple[int, int, int]] = []
    for offset in range(start, len(log)):
        epoch = log[offset].epoch
        first = runs.pop()[1] if runs and runs[-1][0] == epoch else offset
        runs.append((epoch, first, offset))
    return runs


def _compared(disk: Disk, chosen: Json) -> Json:
    """What this log has that the chosen one does not have, whose epochs are all known here."""
    if disk.meta is None or disk.content is not Content.FORMATTED:
        raise RefusedError(f"the disk is {disk.content.value}")
    theirs: list[int] = []
    ends = [each["offset"] for each in chosen["epochs"][1:]] + [chosen["end_offset"]]
    for each, end in zip(chosen["epochs"], ends, strict=True):
        theirs += [each["epoch"]] * (end - each["offset"])
    both = [offset for offset, (epoch, entry) in enumerate(zip(theirs, disk.log, strict=False)) if epoch == entry.epoch]
    start = both[-1] + 1 if both else 0
    beyond = disk.log[start:]
    types = Counter(entry.what for entry in beyond)
    return {
        "done": True,
        "found": "compared",
        "beyond": {
            "end": {"epoch": disk.last_epoch, "offset": disk.end},
            "shared": {"epoch": theirs[both[-1]], "offset": both[-1]} if both else None,
            "records": len(beyond),
            "undecided": 0,
            "unread": 0,
            "whole": True,
            "first": start if beyond else None,
            "last": disk.end - 1 if beyond else None,
            "epochs": [[*run, run[2] - run[1] + 1] for run in _runs(disk.log, start)][-8:],
            "types": [list(each) for each in types.most_common()],
            "topics": [],
            "topicsTotal": 0,
        },
    }
