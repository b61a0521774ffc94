"""The pod of an instance, its claim, and its file of properties. Pure."""

import json
from typing import Final

from kafka_quorum.api.podfields import without_nulls
from kafka_quorum.api.podpolicy import pod_security
from kafka_quorum.model.names import REVISION
from kafka_quorum.resources.meta import Json
from kafka_streams.api.podtemplate import PROPERTIES_VOLUME, STATE_VOLUME
from kafka_streams.model import names
from kafka_streams.model.adoption import Candidate, KeptClaim
from kafka_streams.model.application import Desired
from kafka_streams.model.observed import Revision
from kafka_streams.model.properties import with_upgrade_from
from kafka_streams.model.record import Slot
from kafka_streams.resources.meta import labels, owned, owner

FILE: Final = "application.properties"
_CONFINED: Final = {"allowPrivilegeEscalation": False}
_DROPPED: Final = {"drop": ["ALL"]}


def instance(desired: Desired, slot: Slot, revision: Revision, pull_policy: str) -> Json:
    """The pod of an instance, from the template of its revision."""
    runtime = revision.runtime
    spec: Json = without_nulls(json.loads(runtime.template_spec))
    spec["securityContext"] = pod_security(spec.get("securityContext") or {})
    spec["restartPolicy"] = "Always"
    spec.setdefault("automountServiceAccountToken", False)
    for kind in ("initContainers", "containers"):
        for container in spec.get(kind, ()):
            own = container.get("securityContext") or {}
            capabilities = {**_DROPPED, **(own.get("capabilities") or {})}
            container["securityContext"] = {**_CONFINED, **own, "capabilities": capabilities}
    for container in spec["containers"]:
        if container["name"] == runtime.container:
            _application(container, revision, pull_policy)
    volumes = [*spec.get("volumes", ()), *_volumes(desired, slot, revision)]
    if volumes:
        spec["volumes"] = volumes
    metadata: Json = json.loads(runtime.template_metadata)
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": names.pod_name(desired.name, slot.index),
            "namespace": desired.namespace,
            "labels": {
                **metadata["labels"],
                **labels(desired.name, **{names.LABEL_INSTANCE: str(slot.index)}),
            },
            "annotations": {
                **metadata["annotations"],
                REVISION: revision.name,
                names.GENERATION: str(slot.generation),
            },
            "ownerReferences": owner(desired),
        },
        "spec": spec,
    }


def _application(container: Json, revision: Revision, pull_policy: str) -> None:
    runtime = revision.runtime
    container["image"] = runtime.image
    if pull_policy and "imagePullPolicy" not in container:
        container["imagePullPolicy"] = pull_policy
    if runtime.upgrade_variable:
        kept = [one for one in container.get("env", ()) if one.get("name") != runtime.upgrade_variable]
        value = {"name": runtime.upgrade_variable, "value": revision.upgrade_from}
        container["env"] = [*kept, value] if revision.upgrade_from else kept
    mounts = list(container.get("volumeMounts", ()))
    if runtime.state_path:
        mounts.append({"name": STATE_VOLUME, "mountPath": runtime.state_path})
    if runtime.properties is not None:
        path, _ = runtime.properties
        mounts.append({"name": PROPERTIES_VOLUME, "mountPath": path, "subPath": FILE, "readOnly": True})
    if mounts:
        container["volumeMounts"] = mounts


def _volumes(desired: Desired, slot: Slot, revision: Revision) -> list[Json]:
    found: list[Json] = []
    if revision.runtime.state_path:
        claim = names.claim_of(desired.name, slot)
        found.append({"name": STATE_VOLUME, "persistentVolumeClaim": {"claimName": claim}})
    if revision.runtime.properties is not None:
        found.append({"name": PROPERTIES_VOLUME, "configMap": {"name": revision.name}})
    return found


def claim(desired: Desired, slot: Slot) -> Json:
    """The claim of an instance's local state. It is deleted with the resource: the changelog topics have it all."""
    spec: Json = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": desired.state_size}}}
    if desired.state_class:
        spec["storageClassName"] = desired.state_class
    metadata = owned(
        desired,
        names.claim_of(desired.name, slot),
        **{names.LABEL_INSTANCE: str(slot.index)},
    )
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": metadata, "spec": spec}


def taken_pod(desired: Desired, pod: Candidate, slot: Slot) -> Json:
    """The patch of a pod that becomes an instance: a label changes only when nothing selects pods by it any more."""
    return {
        "metadata": {
            "uid": pod.uid,
            "resourceVersion": pod.resource_version,
            "labels": {names.LABEL_APPLICATION: desired.name, names.LABEL_INSTANCE: str(slot.index)},
            "annotations": {REVISION: slot.revision, names.GENERATION: str(slot.generation)},
            "ownerReferences": owner(desired),
        }
    }


def taken_claim(desired: Desired, claim: KeptClaim, slot: Slot) -> Json:
    """The patch of a claim that becomes an instance's state. It is not deleted with the resource, as before."""
    return {
        "metadata": {
            "uid": claim.uid,
            "resourceVersion": claim.resource_version,
            "labels": {names.LABEL_APPLICATION: desired.name, names.LABEL_INSTANCE: str(slot.index)},
            "annotations": {names.GENERATION: str(slot.generation)},
        }
    }


def properties(desired: Desired, revision: Revision) -> Json | None:
    """The config map with a revision's file of properties; None if the application has none."""
    if revision.runtime.properties is None:
        return None
    _, text = revision.runtime.properties
    if revision.upgrade_from:
        text = with_upgrade_from(text, revision.upgrade_from)
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": owned(desired, revision.name),
        "immutable": True,
        "data": {FILE: text},
    }
