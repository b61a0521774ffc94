"""Parse many objects; one that cannot be understood is Unknown, by name, and does not stop the others. Pure."""

import re
from collections.abc import Callable, Iterable
from functools import partial
from typing import TypeVar

from kafka_quorum.model import names
from kafka_quorum.model.formats import LaterFormat
from kafka_quorum.model.ids import NodeID
from kafka_quorum.model.observed import Unreadable
from kit.kube.protocol import Json
from kit.kube.readable import parsed_with
from kit.text import NAME_MAX_CHARS, WORDS_MAX_CHARS, clean

T = TypeVar("T")


def parsed(
    kind: str, items: Iterable[Json], parse: Callable[[Json], T | None]
) -> tuple[tuple[T, ...], tuple[Unreadable, ...]]:
    """The results of `parse` without its Nones, and the objects that it cannot understand."""
    return parsed_with(items, parse, partial(unreadable_from, kind))


def unreadable_from(kind: str, item: Json, error: Exception) -> Unreadable:
    """An object that cannot be understood: what is known of it, and why it cannot be."""
    metadata = item.get("metadata") or {}
    name = clean(str(metadata.get("name", "")), max_chars=NAME_MAX_CHARS)
    words = str(error) if isinstance(error, ValueError) and str(error) else f"{type(error).__name__} {error}"
    return Unreadable(
        kind=kind,
        name=name,
        node_id=_node_of(metadata),
        why=clean(words, max_chars=WORDS_MAX_CHARS),
        later=isinstance(error, LaterFormat),
    )


def _node_of(metadata: Json) -> NodeID | None:
    """The controller of an object: by the name that the operator gave it, which cannot change; else by its label."""
    by_name = names.claim_parts(str(metadata.get("name", "")).removesuffix(names.FORMATTER_SUFFIX))
    if by_name is not None:
        return by_name[0].node_id
    text = str((metadata.get("labels") or {}).get(names.LABEL_NODE, ""))
    return NodeID(int(text)) if re.fullmatch(r"[0-9]{1,10}", text) else None
