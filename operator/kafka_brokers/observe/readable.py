"""Parse many objects; one that cannot be understood is Unknown, by name, and does not stop the others. Pure."""

from collections.abc import Callable, Iterable
from functools import partial
from typing import TypeVar

from kafka_brokers.model.observed import Unreadable
from kafka_quorum.model.formats import LaterFormat
from kit.kube.protocol import Json
from kit.kube.readable import parsed_with
from kit.text import NAME_MAX_CHARS, WORDS_MAX_CHARS, clean

T = TypeVar("T")


def parsed(
    kind: str, items: Iterable[Json], parse: Callable[[Json], T | None]
) -> tuple[tuple[T, ...], tuple[Unreadable, ...]]:
    """The results of `parse` without its Nones, and the objects that it cannot understand."""
    return parsed_with(items, parse, partial(_unreadable, kind))


def _unreadable(kind: str, item: Json, error: Exception) -> Unreadable:
    return Unreadable(
        kind=kind,
        name=clean(str((item.get("metadata") or {}).get("name", "")), max_chars=NAME_MAX_CHARS),
        why=clean(str(error) or type(error).__name__, max_chars=WORDS_MAX_CHARS),
        later=isinstance(error, LaterFormat),
    )
