"""What the operator keeps in objects of its own, and reads back: the identity record, and the revisions.

Reading is strict: a record that cannot be understood is not an empty one (rule 8), and says why.
"""

import json
from typing import Final

from pydantic import TypeAdapter, ValidationError

from kafka_quorum.model import names
from kafka_quorum.model.desired import Desired, Runtime
from kafka_quorum.model.identity import IdentityRecord, fault_of
from kafka_quorum.model.names import record_name
from kafka_quorum.model.observed import Revision
from kafka_quorum.resources.meta import Json, labels
from kafka_quorum.resources.objects import volume_owner
from kit.parsing import Malformed, json_object, quoted
from kit.text import WORDS_MAX_CHARS, clean

_SCHEMA: Final = 1
_KEY: Final = "record.json"
_RECORD: Final = TypeAdapter(IdentityRecord)
_RUNTIME: Final = TypeAdapter(Runtime)


class Unreadable(ValueError):
    """A stored object is there and cannot be understood; the text says what is wrong and what to do."""


def record_object(desired: Desired, record: IdentityRecord) -> Json:
    """The ConfigMap of a record. With a resource version it replaces exactly that state of it."""
    body = _RECORD.dump_python(record, mode="json")
    del body["resource_version"]
    text = json.dumps({"schemaVersion": _SCHEMA, **body}, indent=1)
    metadata: Json = {
        "name": record_name(desired.name),
        "namespace": desired.namespace,
        "labels": record_labels(desired.name),
        "ownerReferences": volume_owner(desired),
        "annotations": {
            names.CLUSTER_ID: record.cluster_id,
            "kafkaquorum.io/note": "The identity of this quorum's volumes. Deleting it does not delete the quorum.",
        },
    }
    if record.resource_version:
        metadata["resourceVersion"] = record.resource_version
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {_KEY: text}}


def record_labels(quorum: str) -> Json:
    """What selects the record. A restore may lose it."""
    return labels(quorum, **{names.LABEL_ROLE: "identity"})


def record_from(item: Json) -> IdentityRecord:
    """The record in a ConfigMap; `Unreadable` if it is not one of ours, or of a later version of this operator."""
    where = f"ConfigMap {item['metadata']['name']}"
    try:
        body = json_object((item.get("data") or {})[_KEY])
        version = body.pop("schemaVersion")
    except KeyError as error:
        raise Unreadable(f"{where} holds no identity record that can be read: restore it from a backup") from error
    except Malformed as error:
        raise Unreadable(
            f"{where} holds no identity record that can be read ({error}): restore it from a backup"
        ) from error
    if version != _SCHEMA:
        raise Unreadable(f"{where} has schema version {quoted(version)}: run the operator version that wrote it")
    try:
        stored = {**body, "resource_version": item["metadata"]["resourceVersion"]}
        record = _RECORD.validate_python(stored, strict=False)
    except ValidationError as error:
        raise Unreadable(
            f"{where} cannot be understood ({error.error_count()} faults): restore it from a backup"
        ) from error
    if (fault := fault_of(record)) is not None:
        raise Unreadable(f"{where} cannot be understood: {fault}; restore it from a backup")
    return record


def revision_object(
    desired: Desired, name: str, number: int, *, runtime: Runtime, image: str, inputs_hash: str, spec: Json
) -> Json:
    """A ControllerRevision: the runtime that pods are made from, and the valid spec that it came from."""
    metadata = {
        "name": name,
        "namespace": desired.namespace,
        "labels": labels(desired.name),
        "annotations": {names.INPUTS_HASH: inputs_hash},
        "ownerReferences": volume_owner(desired),  # it outlives the resource where the volumes do
    }
    data = {
        "schemaVersion": _SCHEMA,
        "runtime": _RUNTIME.dump_python(runtime, mode="json"),
        "image": image,
        "spec": spec,
    }
    return {
        "apiVersion": "apps/v1",
        "kind": "ControllerRevision",
        "metadata": metadata,
        "revision": number,
        "data": data,
    }


def revision_from(item: Json) -> tuple[Revision, Json]:
    """A revision and the spec that it came from; `Unreadable` if a later version of this operator wrote it."""
    name = item["metadata"]["name"]
    try:
        version = item["data"]["schemaVersion"]
        found = _revision(item) if version == _SCHEMA else None
    except (KeyError, TypeError, ValueError) as error:
        why = clean(repr(error), max_chars=WORDS_MAX_CHARS)
        raise Unreadable(f"ControllerRevision {name} cannot be understood: {why}") from error
    if found is None:
        raise Unreadable(f"ControllerRevision {name} has schema version {quoted(version)}")
    return found


def _revision(item: Json) -> tuple[Revision, Json]:
    data: Json = item["data"]
    revision = Revision(
        name=item["metadata"]["name"],
        number=int(item["revision"]),
        image=str(data["image"]),
        inputs_hash=item["metadata"]["annotations"][names.INPUTS_HASH],
        runtime=_RUNTIME.validate_python(data["runtime"]),
    )
    for template in (revision.runtime.template_metadata, revision.runtime.template_spec):
        json_object(template)  # pods are made from it: what cannot be read is found here
    return revision, dict(data["spec"])
