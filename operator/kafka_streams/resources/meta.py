"""Metadata of every object of an application."""

from kafka_quorum.model.names import FIELD_MANAGER
from kafka_quorum.resources.meta import Json
from kafka_streams.kind import APPLICATIONS
from kafka_streams.model.application import Desired
from kafka_streams.model.names import LABEL_APPLICATION


def labels(application: str, **more: str) -> Json:
    """Kubernetes' recommended labels, and the label that selects this application's objects."""
    return {
        "app.kubernetes.io/name": "kafka-streams",
        "app.kubernetes.io/component": "application",
        "app.kubernetes.io/instance": application,
        "app.kubernetes.io/managed-by": FIELD_MANAGER,
        LABEL_APPLICATION: application,
        **more,
    }


def owner(desired: Desired) -> list[Json]:
    """The resource as controller: its objects are deleted with it."""
    reference = {
        "apiVersion": APPLICATIONS.api_version,
        "kind": APPLICATIONS.kind,
        "name": desired.name,
        "uid": desired.uid,
        "controller": True,
        "blockOwnerDeletion": False,
    }
    return [reference]


def owned(desired: Desired, name: str, **more: str) -> Json:
    """The metadata of an object that is deleted with the resource."""
    return {
        "name": name,
        "namespace": desired.namespace,
        "labels": labels(desired.name, **more),
        "ownerReferences": owner(desired),
    }


def foreign_controller(item: Json) -> Json | None:
    """The reference to the controller of an object, if that is something other than a KafkaStreamsApplication."""
    owners = item["metadata"].get("ownerReferences") or ()
    return next((one for one in owners if one.get("controller") and one.get("kind") != APPLICATIONS.kind), None)
