"""What is stored beside the record and in the status, as far as versions of the operator differ in it. Pure."""

from dataclasses import dataclass
from typing import Final

from kafka_quorum.kube.protocol import Json
from kafka_quorum.model import formats
from kafka_quorum.model.formats import LaterFormat, Unreadable
from kafka_quorum.model.identity import IdentityRecord
from kafka_quorum.resources.stored import accepted_from, stored_text


@dataclass(frozen=True, slots=True, kw_only=True)
class Accepted:
    """The spec that was accepted last: `text` as it is stored, empty where none is, and `spec` as it is read.

    `fault` says why a stored one cannot be read; `later`, that a later version of this operator wrote it.
    """

    text: str = ""
    spec: Json | None = None
    fault: str = ""
    later: bool = False


NONE_ACCEPTED: Final = Accepted()


def accepted_of(stored: Json | None) -> Accepted:
    """The spec that was accepted last, in the ConfigMap of the record."""
    text = stored_text(stored) if stored is not None else ""
    if stored is None or not text:
        return NONE_ACCEPTED
    try:
        return Accepted(text=text, spec=accepted_from(text, f"ConfigMap {stored['metadata']['name']}"))
    except Unreadable as error:
        return Accepted(text=text, fault=str(error), later=isinstance(error, LaterFormat))


def later_texts(resource: Json, accepted: Accepted) -> tuple[str, ...]:
    """What of the status and the accepted spec a later version of this operator wrote, a sentence each."""
    kept = (accepted.fault,) if accepted.later else ()
    try:
        formats.check((resource.get("status") or {}).get("schemaVersion"), formats.STATUS, "the status")
    except Unreadable as error:
        return (str(error), *kept)
    return kept


def recorded_revisions(record: IdentityRecord | None) -> set[str | None]:
    """The revisions that the record makes pods from: the fleet's, and those of single controllers."""
    return set() if record is None else {record.applied_revision, *(node.revision for node in record.nodes)}
