"""Which objects with our labels are ours: by the names that the operator makes, and by who controls them. Pure.

Everybody can set a label. An object that only has our labels is named in the status, and neither used, changed nor
deleted.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from kafka_quorum.model import names
from kafka_quorum.model.observed import Stranger
from kafka_quorum.model.pods import PodRole
from kafka_quorum.resources.meta import foreign_controller
from kafka_quorum.resources.podstatus import FINISHED, status_of
from kit.kube.protocol import PODS, Json

CONFIG_ROLE: Final = "config"


@dataclass(frozen=True, slots=True, kw_only=True)
class Own:
    """The claims, pods, config maps and revisions that are ours."""

    claims: list[Json]
    pods: list[Json]
    configs: list[Json]
    revisions: list[Json]

    def without(self, listed: Iterable[Json], quorum: str) -> tuple[Stranger, ...]:
        """The listed objects that are not ours."""
        own = {item["metadata"]["uid"] for item in (*self.claims, *self.pods, *self.configs, *self.revisions)}
        strangers = (_stranger(item, quorum) for item in listed if item["metadata"]["uid"] not in own)
        return tuple(sorted(strangers, key=str))


def _stranger(item: Json, quorum: str) -> Stranger:
    metadata = item["metadata"]
    return Stranger(
        kind=item.get("kind", ""),
        name=metadata["name"],
        identified=bool((metadata.get("annotations") or {}).get(names.CLUSTER_ID)),
        on_disk=is_on_disk(item, quorum),
    )


def is_on_disk(item: Json, quorum: str) -> bool:
    """Whether something is a pod that has not ended, with the volume of a controller. Its labels do not matter."""
    rows = (item.get("spec") or {}).get("volumes") or () if item.get("kind") == PODS.kind else ()
    claims = (str((row.get("persistentVolumeClaim") or {}).get("claimName", "")) for row in rows)
    ours = any((parts := names.claim_parts(claim)) is not None and parts[0].pool == quorum for claim in claims)
    return ours and status_of(item).get("phase") not in FINISHED


def is_claim(item: Json, quorum: str) -> bool:
    """Whether a claim has a name that this quorum's claims have."""
    parts = names.claim_parts(item["metadata"]["name"])
    return parts is not None and parts[0].pool == quorum and foreign_controller(item) is None


def is_pod(item: Json, quorum: str) -> bool:
    """Whether a pod has the name that its role and node id make."""
    metadata = item["metadata"]
    labels = metadata.get("labels") or {}
    formats = labels.get(names.LABEL_ROLE) == PodRole.FORMATTER.value
    name = metadata["name"]
    if formats != name.endswith(names.FORMATTER_SUFFIX) or foreign_controller(item) is not None:
        return False
    parts = names.claim_parts(name.removesuffix(names.FORMATTER_SUFFIX))
    return parts is not None and (parts[0].pool, str(parts[0].node_id)) == (quorum, labels.get(names.LABEL_NODE))


def is_config(item: Json, quorum: str) -> bool:
    """Whether a config map has the name of a revision's server properties."""
    return names.is_config_name(quorum, item["metadata"]["name"]) and foreign_controller(item) is None


def is_revision(item: Json, quorum: str) -> bool:
    """Whether a ControllerRevision has the name of a runtime, whatever controls it: pods may be made from it."""
    return names.is_revision_name(quorum, item["metadata"]["name"])
