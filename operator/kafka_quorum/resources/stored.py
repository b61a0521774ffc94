"""What the operator stores in its own objects, and reads back: the identity, the last accepted spec, the revisions.

Reading is strict: a record that cannot be understood is not an empty one (rule 8), and the error gives the reason.
"""

import json
from typing import Final

from pydantic import TypeAdapter, ValidationError

from kafka_quorum.model import formats, journal, names
from kafka_quorum.model.desired import Desired, Protocol, Runtime
from kafka_quorum.model.formats import LaterFormat, Unreadable
from kafka_quorum.model.identity import IdentityRecord
from kafka_quorum.model.migration import is_known
from kafka_quorum.model.names import record_name
from kafka_quorum.model.observed import Revision
from kafka_quorum.model.record_faults import fault_of
from kafka_quorum.resources.meta import Json, labels
from kafka_quorum.resources.objects import volume_owner
from kit.kept import Kept
from kit.parsing import Malformed, json_object, larger_than, quoted
from kit.text import WORDS_MAX_CHARS, clean

_KEY: Final = "record.json"
ACCEPTED_KEY: Final = "accepted-spec.json"
"""The key of the accepted spec in the data of the ConfigMap."""
ACCEPTED_MAX_CHARS: Final = 128 * 1024
"""A longer spec is not stored: the record beside it may need the room, and a ConfigMap has 1 MiB at most."""
_RECORD: Final = TypeAdapter(IdentityRecord)
_RUNTIME: Final = TypeAdapter(Runtime)
_RECORDS: Final[Kept[tuple[str, str, str], IdentityRecord]] = Kept(1 << 20, lambda key, _: len(key[2]))
"""Records that were read before: at most about a million characters of their text."""
_SINCE: Final[Json] = {
    "zookeeper": None,
    "other": None,
    "trust": "",
    "certificates": 0,
    "users": 0,
    "super_users": [],
    "measured": False,
    "jmx": False,
}
"""Fields of a runtime that the first version did not have, which are stored only if they say something."""
_RECOVERY: Final[Json] = {"recovery": None, "recovery_epoch": 0, "recoveries_taken_back": 0}
"""Fields of a record that it has only after a recovery began."""
_RETIRED: Final = {"retired": "lost", "lost": "retired"}
"""The retired directory ids of a node are stored as `lost`, as version 0.1.0 did."""


def record_object(desired: Desired, record: IdentityRecord, accepted: str = "") -> Json:
    """The ConfigMap of a record and the last accepted spec. With a resource version it replaces exactly that one."""
    body = _renamed(_RECORD.dump_python(record, mode="json"))
    del body["resource_version"]
    if body["migration"] is not None and body["migration"]["listeners"] is None:
        del body["migration"]["listeners"]
    if body["migration"] is None:
        del body["migration"]  # versions before migrations were stored refuse the field, and read all others
    elif body["migration"]["trust"] is None:
        del body["migration"]["trust"]  # so do versions before authorities could be changed
    if body["listener"] is None:
        del body["listener"]  # so do versions before listeners could be secured
    for name, default in _RECOVERY.items():
        if body[name] == default:
            del body[name]  # so do versions before a lost majority could be recovered
    text = json.dumps({"schemaVersion": formats.RECORD, **body}, indent=1)
    data = {_KEY: text} | (accepted_data(accepted) if accepted else {})
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
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}


def record_labels(quorum: str) -> Json:
    """The labels that select the record. A restore may remove them."""
    return labels(quorum, **{names.LABEL_ROLE: "identity"})


def record_from(item: Json) -> IdentityRecord:
    """The record in a ConfigMap; `Unreadable` if it is not one of ours, `LaterFormat` if a later version wrote it."""
    data, name, version = item.get("data") or {}, item["metadata"]["name"], item["metadata"]["resourceVersion"]
    text = str(data.get(_KEY))
    return _RECORDS.of((name, version, text), lambda: _read_record(name, version, data))


def _read_record(name: str, resource_version: str, data: Json) -> IdentityRecord:
    where = f"ConfigMap {name}"
    try:
        body = json_object(data[_KEY])
        version = body.pop("schemaVersion")
    except KeyError as error:
        raise Unreadable(f"{where} has no identity record that can be read. Restore it from a backup") from error
    except Malformed as error:
        raise Unreadable(
            f"{where} has no identity record that can be read ({error}). Restore it from a backup"
        ) from error
    formats.check(version, formats.RECORD, where)
    _refuse_unknown_migration(body.get("migration"), where)
    _check_journal(body.get("recovery"), where)
    try:
        stored = {**body, "resource_version": resource_version}
        record = _RECORD.validate_python(_renamed(stored), strict=False)
    except ValidationError as error:
        raise Unreadable(f"{where} is not valid ({error.error_count()} faults). Restore it from a backup") from error
    if (fault := fault_of(record)) is not None:
        raise Unreadable(f"{where} is not valid: {fault}. Restore it from a backup")
    _refuse_unknown(stored, _renamed(_RECORD.dump_python(record, mode="json")), where)
    return record


def _refuse_unknown_migration(found: object, where: str) -> None:
    """Raise `LaterFormat` if a migration of a later version is under way: it is not known here what it has done."""
    if isinstance(found, dict) and not is_known(found.get("kind"), found.get("stage")):
        what = f"{quoted(found.get('kind'))}, stage {quoted(found.get('stage'))}"
        raise LaterFormat(
            f"{where} has a migration that this version of the operator does not know ({what}). "
            "Run the operator version that wrote it, or a later one"
        )


def _check_journal(found: object, where: str) -> None:
    """Raise `LaterFormat` if a recovery of a later version is open: it is not known here what it has done."""
    if isinstance(found, dict):
        formats.check(found.get("schema"), journal.SCHEMA, f"the recovery in {where}")
        if found.get("stage") not in {stage.value for stage in journal.RecoveryStage}:
            raise LaterFormat(
                f"{where} has a recovery at stage {quoted(found.get('stage'))}, which this version of the operator "
                "does not know. Run the operator version that wrote it, or a later one"
            )


def _renamed(body: Json) -> Json:
    """A record with the names of its fields as they are stored, or back. Other values than lists of rows stay."""

    def row(found: object) -> object:
        return {_RETIRED.get(name, name): value for name, value in found.items()} if isinstance(found, dict) else found

    lists = {name: body[name] for name in ("nodes", "former") if isinstance(body.get(name), list)}
    return body | {name: [row(each) for each in rows] for name, rows in lists.items()}


def accepted_text(spec: Json) -> str:
    """A spec as it is stored; empty if it is too long, or too deep, to be read back. Equal specs have equal texts."""
    if larger_than(spec, values=ACCEPTED_MAX_CHARS, chars=ACCEPTED_MAX_CHARS):  # too long, whatever it is written as
        return ""
    text = json.dumps({"schemaVersion": formats.ACCEPTED_SPEC, "spec": spec}, sort_keys=True, separators=(",", ":"))
    try:
        json_object(text, max_chars=ACCEPTED_MAX_CHARS)
    except Malformed:
        return ""
    return text


def accepted_data(text: str) -> Json:
    """The part of the ConfigMap's data that holds this text; an empty one removes it in a merge patch."""
    return {ACCEPTED_KEY: text or None}


def stored_text(item: Json) -> str:
    """The accepted spec in the ConfigMap of a record, not parsed; empty if there is none."""
    text = (item.get("data") or {}).get(ACCEPTED_KEY)
    return text if isinstance(text, str) else ""


def accepted_from(text: str, where: str) -> Json:
    """The spec in a stored text (`Unreadable`, `LaterFormat`). `where` names the ConfigMap for the message."""
    place = f"{ACCEPTED_KEY} in {where}"
    try:
        body = json_object(text, max_chars=ACCEPTED_MAX_CHARS)
    except Malformed as error:
        raise Unreadable(f"{place} cannot be read ({error})") from error
    formats.check(body.get("schemaVersion"), formats.ACCEPTED_SPEC, place)
    spec = body.get("spec")
    if not isinstance(spec, dict):
        raise Unreadable(f"{place} cannot be read: it has no spec")
    return spec


def revision_object(
    desired: Desired, name: str, number: int, *, runtime: Runtime, image: str, inputs_hash: str, spec: Json
) -> Json:
    """A ControllerRevision: the runtime that pods are made from, and the valid spec that it came from."""
    metadata = {
        "name": name,
        "namespace": desired.namespace,
        "labels": labels(desired.name),
        "annotations": {names.INPUTS_HASH: inputs_hash},
        "ownerReferences": volume_owner(desired),  # it outlives the resource if the volumes do
    }
    made_from = _RUNTIME.dump_python(runtime, mode="json")
    for name_, default in _SINCE.items():  # earlier versions refuse the field, and read every other revision
        if made_from[name_] == default:
            del made_from[name_]
    if runtime.listener.protocol is Protocol.PLAINTEXT:
        del made_from["listener"]["protocol"]
    data = {
        "schemaVersion": formats.REVISION,
        "runtime": made_from,
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
    """A revision and the spec that it came from (`Unreadable`); `LaterFormat` if a later version wrote it."""
    where = f"ControllerRevision {item['metadata']['name']}"
    try:
        formats.check(item["data"]["schemaVersion"], formats.REVISION, where)
        return _revision(item, where)
    except LaterFormat:
        raise
    except (KeyError, TypeError, ValueError) as error:
        why = clean(repr(error), max_chars=WORDS_MAX_CHARS)
        raise Unreadable(f"{where} cannot be read: {why}") from error


def _revision(item: Json, where: str) -> tuple[Revision, Json]:
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
    _refuse_unknown(data["runtime"], _RUNTIME.dump_python(revision.runtime, mode="json"), f"{where}, runtime")
    return revision, dict(data["spec"])


def _refuse_unknown(stored: Json, understood: Json, where: str) -> None:
    """Raise `LaterFormat` if something is stored that this version would lose when it writes the object again."""
    if field := formats.unknown_field(stored, understood):
        raise LaterFormat(
            f"{where} has the field {quoted(field)}, which this version of the operator cannot read. "
            "Run the operator version that wrote it, or a later one"
        )
