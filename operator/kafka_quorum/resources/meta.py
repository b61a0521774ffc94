"""Metadata of every object of ours."""

from typing import Any, Final, TypeAlias

from kafka_quorum.model.desired import Desired
from kafka_quorum.model.names import FIELD_MANAGER, GROUP, LABEL_QUORUM

Json: TypeAlias = dict[str, Any]
KIND: Final = "KafkaQuorum"


def labels(quorum: str, **more: str) -> Json:
    """Kubernetes' recommended labels, and the labels that select this quorum's objects."""
    return {
        "app.kubernetes.io/name": "kafka",
        "app.kubernetes.io/component": "controller",
        "app.kubernetes.io/instance": quorum,
        "app.kubernetes.io/managed-by": FIELD_MANAGER,
        LABEL_QUORUM: quorum,
        **more,
    }


def foreign_controller(item: Json) -> Json | None:
    """The reference to the controller of an object, if that is something other than a KafkaQuorum."""
    owners = item["metadata"].get("ownerReferences") or ()
    return next((one for one in owners if one.get("controller") and one.get("kind") != KIND), None)


def adoption(desired: Desired, version: str) -> Json:
    """The metadata that makes the resource the controller of an object, if nothing has changed it since `version`."""
    return {"resourceVersion": version, "ownerReferences": owner(desired)}


def owner(desired: Desired) -> list[Json]:
    """The resource as controller: its objects are deleted with it."""
    reference = {
        "apiVersion": f"{GROUP}/v1alpha1",
        "kind": KIND,
        "name": desired.name,
        "uid": desired.uid,
        "controller": True,
        "blockOwnerDeletion": False,
    }
    return [reference]
