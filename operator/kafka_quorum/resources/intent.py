"""The open operation in the form of `status.operation`, and back. One that cannot be understood is never absent."""

from typing import Final

from kafka_quorum.model import formats
from kafka_quorum.model.ids import DirectoryID, NodeID, ReplicaKey
from kafka_quorum.model.operation import (
    CHANGE_WORDS,
    LOWER_FEATURE,
    RAISE_FEATURE,
    FeatureOperation,
    Operation,
    UnknownOperation,
    VoterChange,
    VoterOperation,
)
from kafka_quorum.model.quorum import FeatureStep
from kafka_quorum.resources.meta import Json
from kit.parsing import Malformed, number, quoted
from kit.text import name

_WHERE: Final = "status.operation"
_CHANGES: Final = {word: kind for kind, word in CHANGE_WORDS.items()}
_FEATURES: Final = {RAISE_FEATURE: False, LOWER_FEATURE: True}
"""The types of feature steps, and whether each is a downgrade."""


def operation_row(intent: VoterChange | FeatureStep, *, id_: str, holder: str, started_at: str) -> Json:
    """The intent as it is stored, begun by `holder` at `started_at` (RFC 3339)."""
    if isinstance(intent, FeatureStep):
        type_ = LOWER_FEATURE if intent.downgrade else RAISE_FEATURE
        target = f"{intent.name}={intent.level}"
    else:
        type_, target = CHANGE_WORDS[type(intent)], str(intent.target)
    return {"id": id_, "type": type_, "target": target, "step": "Begun", "holder": holder, "startedAt": started_at}


def operation_from(row: object) -> Operation | None:
    """The operation in `status.operation`; None if there is none, or only text that no operator ever wrote."""
    if not isinstance(row, dict):
        return None
    type_ = row.get("type")
    known = isinstance(type_, str) and type_ in (*_CHANGES, *_FEATURES)
    if not row.get("id") and (known or not type_):
        return None
    try:
        formats.check(row.get("schemaVersion"), formats.OPERATION, _WHERE)
        return _read(row, str(type_)) if known else _unknown(row, f"{_WHERE} is of type {quoted(type_)}")
    except (formats.Unreadable, Malformed) as error:
        return _unknown(row, str(error))


def _unknown(row: Json, why: str) -> UnknownOperation:
    return UnknownOperation(why=why, holder=str(row.get("holder", "")))


def _read(row: Json, type_: str) -> Operation:
    """An operation of a known type (`Malformed` if its target is not)."""
    id_, holder, started_at = (str(row.get(key, "")) for key in ("id", "holder", "startedAt"))
    target = str(row.get("target", ""))
    if type_ in _FEATURES:
        feature, _, level = target.partition("=")
        if not feature:
            raise Malformed(f"{_WHERE} of type {type_} has no feature")
        step = FeatureStep(name=feature, level=_number(level, target), downgrade=_FEATURES[type_])
        return FeatureOperation(id=id_, step=step, holder=holder, started_at=started_at)
    node_text, _, directory = target.partition("-")
    key = ReplicaKey(
        node_id=NodeID(_number(node_text, target)), directory_id=DirectoryID(name(directory)) if directory else None
    )
    waiting_for = str(row.get("waitingFor", ""))
    change = _CHANGES[type_](target=key)
    return VoterOperation(id=id_, change=change, holder=holder, started_at=started_at, waiting_for=waiting_for)


def _number(text: str, target: str) -> int:
    try:
        return number(text)
    except Malformed as error:
        raise Malformed(f"{_WHERE} has the target {quoted(target)}, which cannot be read") from error
