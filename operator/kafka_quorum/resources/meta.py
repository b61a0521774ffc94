"""Metadata that every object of ours carries."""

from typing import Any, TypeAlias

from kafka_quorum.model.desired import Desired
from kafka_quorum.model.names import FIELD_MANAGER, GROUP, LABEL_QUORUM

Json: TypeAlias = dict[str, Any]


def labels(quorum: str, **more: str) -> Json:
    """Kubernetes' recommended labels, and what selects this quorum's objects."""
    return {
        "app.kubernetes.io/name": "kafka",
        "app.kubernetes.io/component": "controller",
        "app.kubernetes.io/instance": quorum,
        "app.kubernetes.io/managed-by": FIELD_MANAGER,
        LABEL_QUORUM: quorum,
        **more,
    }


def owner(desired: Desired) -> list[Json]:
    """The resource as controller: its objects go when it goes."""
    reference = {
        "apiVersion": f"{GROUP}/v1alpha1",
        "kind": "KafkaQuorum",
        "name": desired.name,
        "uid": desired.uid,
        "controller": True,
        "blockOwnerDeletion": False,
    }
    return [reference]
