"""What the operator stores for a pool, and reads back: the record of its disks, and its revisions.

Reading is strict: a record that cannot be understood is not an empty one, and the error gives the reason. The last
accepted spec stands beside the record, as a quorum's does (`kafka_quorum.resources.stored`).
"""

import json
from typing import Any, Final

from pydantic import TypeAdapter, ValidationError

from kafka_brokers.model import formats
from kafka_brokers.model.disks import PoolRecord
from kafka_brokers.model.faults import fault_of
from kafka_brokers.model.names import LABEL_ROLE, record_name
from kafka_brokers.model.observed import Revision
from kafka_brokers.model.pool import BrokerRuntime, PoolDesired
from kafka_brokers.resources.meta import labels, volume_owner
from kafka_quorum.model.formats import LaterFormat, Unreadable, check, unknown_field
from kafka_quorum.model.names import CLUSTER_ID, INPUTS_HASH
from kafka_quorum.resources.meta import Json
from kafka_quorum.resources.stored import accepted_data, accepted_from, accepted_text, stored_text
from kit.kept import Kept
from kit.parsing import Malformed, json_object, quoted
from kit.text import WORDS_MAX_CHARS, clean

__all__ = [
    "KEY",
    "accepted_data",
    "accepted_from",
    "accepted_text",
    "record_from",
    "record_object",
    "revision_from",
    "revision_object",
    "stored_text",
]

KEY: Final = "disks.json"
_RECORD: Final = TypeAdapter(PoolRecord)
_RUNTIME: Final = TypeAdapter(BrokerRuntime)
_RECORDS: Final[Kept[tuple[str, str, str], PoolRecord]] = Kept(1 << 20, lambda key, _: len(key[2]))
"""Records that were read before: at most about a million characters of their text."""
RECORD_ROLE: Final = "broker-disks"
"""The role of the ConfigMap of every pool's record."""


def record_object(desired: PoolDesired, record: PoolRecord, accepted: str = "") -> Json:
    """The ConfigMap of a record and the last accepted spec. With a resource version it replaces exactly that one."""
    body = _RECORD.dump_python(record, mode="json")
    del body["resource_version"]
    if not record.replication_tls:  # not written: earlier versions of the operator do not know it
        del body["replication_tls"]
    for broker in body["brokers"]:
        if not broker["outside_unknown"]:  # the same
            del broker["outside_unknown"]
    text = json.dumps({"schemaVersion": formats.RECORD, **body}, indent=1)
    metadata: Json = {
        "name": record_name(desired.name),
        "namespace": desired.namespace,
        "labels": record_labels(desired.name),
        "ownerReferences": volume_owner(desired),
        "annotations": {
            CLUSTER_ID: record.cluster_id,
            "kafkaquorum.io/note": "The disks of this pool's brokers. Deleting it does not delete the pool.",
        },
    }
    if record.resource_version:
        metadata["resourceVersion"] = record.resource_version
    data = {KEY: text} | (accepted_data(accepted) if accepted else {})
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}


def record_labels(pool: str) -> Json:
    """The labels that select the record. A restore may remove them."""
    return labels(pool, **{LABEL_ROLE: RECORD_ROLE})


def record_from(item: Json) -> PoolRecord:
    """The record in a ConfigMap; `Unreadable` if it is not one of ours, `LaterFormat` if a later version wrote it."""
    data, name, version = item.get("data") or {}, item["metadata"]["name"], item["metadata"]["resourceVersion"]
    text = str(data.get(KEY))
    return _RECORDS.of((name, version, text), lambda: _read_record(name, version, data))


def _read_record(name: str, resource_version: str, data: Json) -> PoolRecord:
    where = f"ConfigMap {name}"
    try:
        body = json_object(data[KEY])
        version = body.pop("schemaVersion")
    except KeyError as error:
        raise Unreadable(f"{where} has no record of disks that can be read. Restore it from a backup") from error
    except Malformed as error:
        raise Unreadable(
            f"{where} has no record of disks that can be read ({error}). Restore it from a backup"
        ) from error
    check(version, formats.RECORD, where)
    stored = {**body, "resource_version": resource_version}
    try:
        record = _RECORD.validate_python(stored, strict=False)
    except ValidationError as error:
        raise Unreadable(f"{where} is not valid ({error.error_count()} faults). Restore it from a backup") from error
    if (fault := fault_of(record)) is not None:
        raise Unreadable(f"{where} is not valid: {fault}. Restore it from a backup")
    _refuse_unknown(stored, _RECORD.dump_python(record, mode="json"), where)
    return record


def revision_object(desired: PoolDesired, revision: Revision, spec: Json) -> Json:
    """A ControllerRevision: the runtime that pods are made from, and the valid spec that it came from."""
    metadata = {
        "name": revision.name,
        "namespace": desired.namespace,
        "labels": labels(desired.name),
        "annotations": {INPUTS_HASH: revision.inputs_hash},
        "ownerReferences": volume_owner(desired),  # it outlives the resource if the volumes do
    }
    data = {
        "schemaVersion": formats.REVISION,
        "runtime": _stored_runtime(revision.runtime),
        "image": revision.image,
        "spec": spec,
    }
    return {
        "apiVersion": "apps/v1",
        "kind": "ControllerRevision",
        "metadata": metadata,
        "revision": revision.number,
        "data": data,
    }


def _stored_runtime(runtime: BrokerRuntime) -> Json:
    """The runtime as JSON. What earlier versions of the operator do not know is only written if it is set."""
    body: Json = _RUNTIME.dump_python(runtime, mode="json")
    for field in ("zookeeper", "directories", "replication_tls", "certificates"):
        if not body[field]:
            del body[field]
    for listener in body["listeners"]:
        if not listener["client_auth"]:
            del listener["client_auth"]
    return body


def revision_from(item: Json) -> tuple[Revision, Json]:
    """A revision and the spec that it came from (`Unreadable`); `LaterFormat` if a later version wrote it."""
    where = f"ControllerRevision {item['metadata']['name']}"
    try:
        check(item["data"]["schemaVersion"], formats.REVISION, where)
        return _revision(item, where)
    except LaterFormat:
        raise
    except (KeyError, TypeError, ValueError) as error:
        why = clean(repr(error), max_chars=WORDS_MAX_CHARS)
        raise Unreadable(f"{where} cannot be read: {why}") from error


def _revision(item: Json, where: str) -> tuple[Revision, Json]:
    data: Json = item["data"]
    if not isinstance(data["image"], str):
        raise TypeError("its image is no text")
    runtime = _RUNTIME.validate_python(data["runtime"])
    revision = Revision(
        name=item["metadata"]["name"],
        number=int(item["revision"]),
        image=data["image"],
        inputs_hash=item["metadata"]["annotations"][INPUTS_HASH],
        runtime=runtime,
    )
    for template in (runtime.template_metadata, runtime.template_spec):
        json_object(template)  # pods are made from it: what cannot be read is found here
    _refuse_unknown(data["runtime"], _RUNTIME.dump_python(runtime, mode="json"), f"{where}, runtime")
    return revision, dict(data["spec"])


def _refuse_unknown(stored: Json, understood: Any, where: str) -> None:  # noqa: ANN401 - any JSON
    """Raise `LaterFormat` if something is stored that this version would lose when it writes the object again."""
    if field := unknown_field(stored, understood):
        raise LaterFormat(
            f"{where} has the field {quoted(field)}, which this version of the operator cannot read. "
            "Run the operator version that wrote it, or a later one"
        )
