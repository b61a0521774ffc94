"""The annotation that requests a restart of every controller, like the one of `kubectl rollout restart`."""

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any, Final

from kafka_quorum.api.shapes import annotation
from kafka_quorum.model.desired import FieldFault
from kafka_quorum.model.names import RESTARTED_AT

FIELD: Final = f"metadata.annotations[{RESTARTED_AT}]"
_LONGEST: Final = 40


def restarted_at(metadata: Mapping[str, Any]) -> str:
    """The annotation's value; empty if it is missing, or no time."""
    text = annotation(metadata, RESTARTED_AT)
    return text if _is_time(text) else ""


def faults(metadata: Mapping[str, Any]) -> Iterator[FieldFault]:
    """The faults of the annotation: a word like `now` would restart once, and never again."""
    text = annotation(metadata, RESTARTED_AT)
    if text and not _is_time(text):
        ask = "write it as 2026-01-31T12:00:00Z. To restart now, write the present time"
        yield FieldFault(field=FIELD, message=f"{text[:_LONGEST]!r} is not a time: {ask}")


def _is_time(text: str) -> bool:
    if len(text) > _LONGEST or not text.isascii() or "T" not in text:
        return False
    try:
        return datetime.fromisoformat(text).tzinfo is not None
    except ValueError:
        return False
