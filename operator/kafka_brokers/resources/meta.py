"""Metadata of every object of a pool."""

from typing import Final

from kafka_brokers.kind import POOLS
from kafka_brokers.model.names import LABEL_POOL
from kafka_brokers.model.pool import Fate, PoolDesired
from kafka_quorum.model.names import FIELD_MANAGER
from kafka_quorum.resources.meta import Json

KIND: Final = POOLS.kind


def labels(pool: str, **more: str) -> Json:
    """Kubernetes' recommended labels, and the label that selects this pool's objects."""
    return {
        "app.kubernetes.io/name": "kafka",
        "app.kubernetes.io/component": "broker",
        "app.kubernetes.io/instance": pool,
        "app.kubernetes.io/managed-by": FIELD_MANAGER,
        LABEL_POOL: pool,
        **more,
    }


def owner(desired: PoolDesired) -> list[Json]:
    """The resource as controller: its objects are deleted with it."""
    reference = {
        "apiVersion": POOLS.api_version,
        "kind": KIND,
        "name": desired.name,
        "uid": desired.uid,
        "controller": True,
        "blockOwnerDeletion": False,
    }
    return [reference]


def volume_owner(desired: PoolDesired) -> list[Json]:
    """The owner of claims, record and revisions: the resource, or none if they must outlive it."""
    return owner(desired) if desired.when_deleted is Fate.DELETE else []


def foreign_controller(item: Json) -> Json | None:
    """The reference to the controller of an object, if that is something other than a KafkaBrokerPool."""
    owners = item["metadata"].get("ownerReferences") or ()
    return next((one for one in owners if one.get("controller") and one.get("kind") != KIND), None)


def is_of_pool(item: Json, desired: PoolDesired) -> bool:
    """Whether an object with a name of ours is this pool's: by its label, or, if it lost that, by its owner."""
    metadata = item["metadata"]
    labelled = (metadata.get("labels") or {}).get(LABEL_POOL) == desired.name
    owned = any(one.get("uid") == desired.uid for one in metadata.get("ownerReferences") or ())
    return (labelled or owned) and foreign_controller(item) is None


def adoption(desired: PoolDesired, version: str) -> Json:
    """The metadata that makes the resource the controller of an object, if nothing has changed it since `version`."""
    return {"resourceVersion": version, "ownerReferences": owner(desired)}


def owned(desired: PoolDesired, name: str, **more: str) -> Json:
    """The metadata of an object that is deleted with the resource."""
    return {
        "name": name,
        "namespace": desired.namespace,
        "labels": labels(desired.name, **more),
        "ownerReferences": owner(desired),
    }
