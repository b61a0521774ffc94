"""What the operator stores for an application, and reads back: its record, and its revisions.

Reading is strict: a record that cannot be understood is not an empty one, and the error gives the reason. The last
accepted spec stands beside the record, as a quorum's does (`kafka_quorum.resources.stored`).
"""

import json
from typing import Any, Final

from pydantic import TypeAdapter, ValidationError

from kafka_quorum.model.formats import LaterFormat, Unreadable, check, unknown_field
from kafka_quorum.resources.meta import Json
from kafka_quorum.resources.stored import accepted_data, accepted_from, accepted_text, stored_text
from kafka_streams.model import formats, names
from kafka_streams.model.application import Desired, Runtime
from kafka_streams.model.observed import Revision
from kafka_streams.model.record import Record
from kafka_streams.resources.meta import owned
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

KEY: Final = "application.json"
_RECORD: Final = TypeAdapter(Record)
_RUNTIME: Final = TypeAdapter(Runtime)
_TEXT: Final = TypeAdapter(str)


def record_object(desired: Desired, record: Record, accepted: str = "") -> Json:
    """The ConfigMap of a record and the last accepted spec. With a resource version it replaces exactly that one."""
    body = _RECORD.dump_python(record, mode="json")
    del body["resource_version"]
    text = json.dumps({"schemaVersion": formats.RECORD, **body}, indent=1)
    metadata = owned(desired, names.record_name(desired.name))
    metadata["annotations"] = {
        "kafkaquorum.io/note": "What each instance of this application runs. Deleting it forgets an open upgrade."
    }
    if record.resource_version:
        metadata["resourceVersion"] = record.resource_version
    data = {KEY: text} | (accepted_data(accepted) if accepted else {})
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}


def record_from(item: Json) -> Record:
    """The record in a ConfigMap; `Unreadable` if it is not one of ours, `LaterFormat` if a later version wrote it."""
    where = f"ConfigMap {item['metadata']['name']}"
    try:
        body = json_object((item.get("data") or {})[KEY])
        version = body.pop("schemaVersion")
    except (KeyError, Malformed) as error:
        why = "it is missing" if isinstance(error, KeyError) else str(error)
        raise Unreadable(f"{where} has no record that can be read ({why}). Restore it from a backup") from error
    check(version, formats.RECORD, where)
    stored = {**body, "resource_version": item["metadata"]["resourceVersion"]}
    try:
        record = _RECORD.validate_python(stored, strict=False)
    except ValidationError as error:
        raise Unreadable(f"{where} is not valid ({error.error_count()} faults). Restore it from a backup") from error
    if (fault := _fault(record)) is not None:
        raise Unreadable(f"{where} is not valid: {fault}. Restore it from a backup")
    _refuse_unknown(stored, _RECORD.dump_python(record, mode="json"), where)
    return record


def _fault(record: Record) -> str | None:
    """What contradicts itself in a record."""
    indexes = [slot.index for slot in record.slots]
    if indexes != sorted(set(indexes)) or any(index < 0 for index in indexes):
        return "its instances are not in order, each once"
    change = record.change
    if change is not None and not 0 <= change.step < len(change.steps):
        return f"step {change.step} of its change does not exist"
    return None


def revision_object(desired: Desired, revision: Revision, spec: Json) -> Json:
    """A ControllerRevision: what pods are made from, and the valid spec that it came from."""
    data = {
        "schemaVersion": formats.REVISION,
        "runtime": _RUNTIME.dump_python(revision.runtime, mode="json"),
        "upgradeFrom": revision.upgrade_from,
        "spec": spec,
    }
    return {
        "apiVersion": "apps/v1",
        "kind": "ControllerRevision",
        "metadata": owned(desired, revision.name),
        "revision": revision.number,
        "data": data,
    }


def revision_from(item: Json) -> Revision:
    """A revision (`Unreadable`); `LaterFormat` if a later version wrote it."""
    where = f"ControllerRevision {item['metadata']['name']}"
    try:
        data: Json = item["data"]
        check(data["schemaVersion"], formats.REVISION, where)
        runtime = _RUNTIME.validate_python(data["runtime"])
        upgrade_from = _TEXT.validate_python(data["upgradeFrom"])
        for template in (runtime.template_metadata, runtime.template_spec):
            json_object(template)  # pods are made from it: what cannot be read is found here
        _refuse_unknown(data["runtime"], _RUNTIME.dump_python(runtime, mode="json"), f"{where}, runtime")
        return Revision(
            name=item["metadata"]["name"], number=int(item["revision"]), runtime=runtime, upgrade_from=upgrade_from
        )
    except LaterFormat:
        raise
    except (KeyError, TypeError, ValueError) as error:
        why = clean(repr(error), max_chars=WORDS_MAX_CHARS)
        raise Unreadable(f"{where} cannot be read: {why}") from error


def _refuse_unknown(stored: Json, understood: Any, where: str) -> None:  # noqa: ANN401 - any JSON
    """Raise `LaterFormat` if something is stored that this version would lose when it writes the object again."""
    if field := unknown_field(stored, understood):
        raise LaterFormat(
            f"{where} has the field {quoted(field)}, which this version of the operator cannot read. "
            "Run the operator version that wrote it, or a later one"
        )
