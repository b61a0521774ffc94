"""Volumes behind claims: created when a claim is bound, deleted with it, emptied or lost by accident."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

from tests.simulation.model.happened import DiskLost, Happened
from tests.simulation.model.kafka.disk import Disk
from tests.simulation.model.kubernetes.kube_model import KubeModel

from kafka_quorum.model.names import LABEL_QUORUM
from kit.kube.protocol import CLAIMS, VOLUMES, Json

_BELOW_THE_MOUNT: Final = 7
"""The number of every directory that stands in for a volume."""
_FIRST_ROOT: Final = 100


@dataclass(slots=True, kw_only=True)
class Volume:
    """A volume, the Kubernetes node that it is on or attached to, and its present disk."""

    disk: Disk
    node: str
    namespace: str
    quorum: str
    claim: str
    pool: str = ""
    local: bool = True
    """Whether it stays on the machine where it was created; else any machine can attach it."""
    dead: bool = False
    """Its machine is gone permanently."""
    root: int = 0
    """The number of its root directory, which emptying does not change."""
    stand_in: Disk | None = None
    """What pods temporarily find in place of the disk: an empty directory, or an unreadable one."""
    stands_at_root: bool = False
    """The stand-in is the root directory itself, which is listed as empty for a moment."""
    absent: bool = False
    """Temporarily it cannot be mounted: pods that need it wait."""
    away: bool = False
    """It is hidden for so long that it counts as lost."""
    back_s: float = -1e9
    """When the disk appeared again, after it was hidden or absent."""

    @property
    def found(self) -> Disk:
        """The disk as pods find it now."""
        return self.stand_in or self.disk

    @property
    def place(self) -> str:
        """Number, birth time and file system of the directory that pods find now."""
        stands_in = self.stand_in is not None and not self.stands_at_root
        return f"{_BELOW_THE_MOUNT if stands_in else self.root}:1790000000:f5"

    @property
    def hidden(self) -> bool:
        """Whether the disk exists, and pods cannot see it."""
        return self.absent or self.stand_in is not None

    def shown(self, now_s: float) -> None:
        """The disk is visible again."""
        self.stand_in, self.absent, self.away, self.back_s = None, False, False, now_s
        self.stands_at_root = False


class Volumes:
    """Every volume, by the uid of its claim."""

    def __init__(self, kube: KubeModel, tell: Callable[[Happened], None]) -> None:
        """Begin without any."""
        self._tell = tell
        self._kube = kube
        self._serials = 0
        self.local = True
        """Whether new volumes stay on their machines."""
        self.by_claim: dict[str, Volume] = {}

    def claim_uid(self, namespace: str, name: str) -> str | None:
        """The uid of the claim of this name, if there is one."""
        claim = self._kube.view(CLAIMS, namespace, name)
        return None if claim is None else str(claim["metadata"]["uid"])

    def bind(self, claim: Json, node: str) -> None:
        """Provision an empty disk on this node for a claim."""
        metadata = claim["metadata"]
        self.by_claim[metadata["uid"]] = Volume(
            disk=(disk := self._disk()),
            root=_FIRST_ROOT + disk.serial,
            node=node,
            local=self.local,
            namespace=metadata["namespace"],
            quorum=metadata["labels"].get(LABEL_QUORUM, ""),
            pool=metadata["labels"].get("kafkaquorum.io/pool", ""),
            claim=metadata["name"],
        )
        noted = {"metadata": {"annotations": {"volume.kubernetes.io/selected-node": node}}}
        name = f"pvc-{metadata['uid']}"
        affinity = {"required": {"nodeSelectorTerms": [{"matchExpressions": [_on(node)]}]}}
        self._kube.create(
            VOLUMES, "", {"metadata": {"name": name}, "spec": {"nodeAffinity": affinity} if self.local else {}}
        )
        bound = noted | {"spec": {"volumeName": name}}
        claim = self._kube.patch(CLAIMS, metadata["namespace"], metadata["name"], bound)
        self._kube.put_status(CLAIMS, claim, {"phase": "Bound"})

    def empty(self, claim_uid: str) -> None:
        """All content of the volume is gone; a process keeps its open files."""
        volume = self.by_claim[claim_uid]
        self._lost(volume)
        volume.disk = self._disk()

    def sweep(self) -> None:
        """Volumes whose claims are gone are deleted."""
        present = {claim["metadata"]["uid"] for claim in self._kube.all(CLAIMS)}
        for uid in [uid for uid in self.by_claim if uid not in present]:
            self._lost(self.by_claim.pop(uid))

    def lose(self, claim_uid: str) -> None:
        """The volume of a bound claim is gone: the claim stays, in phase `Lost`."""
        volume = self.by_claim.pop(claim_uid)
        self._lost(volume)
        claim = self._kube.view(CLAIMS, volume.namespace, volume.claim)
        if claim is not None:
            self._kube.put_status(CLAIMS, claim, {"phase": "Lost"})

    def lose_machine(self, node: str) -> None:
        """Every volume of a machine is gone permanently, and no claim shows it."""
        for volume in self.by_claim.values():
            if volume.node == node and volume.local and not volume.dead:
                volume.dead = True
                self._lost(volume)

    def restore(self, claim: Json, copied: Disk, node: str) -> None:
        """A new claim is bound to a volume from a snapshot: another disk, with the same files."""
        self.bind(claim, node)
        volume = self.by_claim[claim["metadata"]["uid"]]
        self._serials += 1
        replicas = {at: log.copy() for at, log in copied.replicas.items()}
        volume.disk = replace(copied, serial=self._serials, log=list(copied.log), replicas=replicas)

    def of_quorum(self, namespace: str, quorum: str) -> list[Volume]:
        """The volumes of one quorum, by claim."""
        own = (one for one in self.by_claim.values() if (one.namespace, one.quorum) == (namespace, quorum))
        return sorted(own, key=lambda volume: volume.claim)

    def _disk(self) -> Disk:
        self._serials += 1
        return Disk(serial=self._serials)

    def _lost(self, volume: Volume) -> None:
        disk = volume.disk
        gone = DiskLost(
            namespace=volume.namespace,
            quorum=volume.quorum,
            serial=disk.serial,
            key=disk.key,
            ran=disk.ran,
            reported=disk.reported,
            replicas=tuple(disk.replicas),
        )
        self._tell(gone)


def _on(node: str) -> Json:
    return {"key": "kubernetes.io/hostname", "operator": "In", "values": [node]}
