"""Pages of a list as the API server answers, read into what is needed of them. Pure.

Of metadata only the fields that are declared here are read: managed fields are most of it, and were a quarter of the
processor time of an operator with a thousand quorums (docs/performance.md).
"""

import json
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeVar

import msgspec

from kit.kube.protocol import Json

Item = TypeVar("Item")
METADATA_PAGE: Final = 500
"""At most so many objects are requested at once if only their metadata comes, as `kubectl` does."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Page(Generic[Item]):
    """Some items of a list, and the place of the next page; empty at the end.

    `size_bytes` is the length of the answer, and `at_once` how many objects the next page should have.
    """

    items: list[Item]
    place: str
    size_bytes: int = 0
    at_once: int = 0


class Metadata(msgspec.Struct, gc=False):
    """What identifies an object, and its state."""

    name: str
    uid: str | None = None
    resourceVersion: str | None = None  # noqa: N815 - as in the answer
    namespace: str | None = None
    generation: int | None = None
    deletionTimestamp: str | None = None  # noqa: N815
    labels: dict[str, str] | None = None


class _Object(msgspec.Struct, gc=False):
    metadata: Metadata


class _Place(msgspec.Struct, gc=False):
    at: str | None = msgspec.field(name="continue", default=None)


class _List(msgspec.Struct, gc=False):
    items: list[_Object] | None
    """An empty list of metadata is null there; an answer without it is another one."""
    metadata: _Place | None = None


_decoder: Final = msgspec.json.Decoder(_List)


def metadata_page(data: bytes) -> Page[Metadata]:
    """A page of a `PartialObjectMetadataList`. Raises `ValueError` and `RecursionError`: it is something else."""
    try:
        found = _decoder.decode(data)
    except msgspec.DecodeError as error:
        raise ValueError(str(error)) from error
    place = None if found.metadata is None else found.metadata.at
    return Page(items=[item.metadata for item in found.items or ()], place=place or "")


def objects_page(data: bytes) -> Page[Json]:
    """A page of a list of whole objects. Raises `ValueError` and `RecursionError`: it is something else."""
    answer: Any = json.loads(data)
    if not isinstance(answer, dict) or "items" not in answer:
        raise ValueError("it has no items")
    items = [] if answer["items"] is None else answer["items"]
    metadata = {} if answer.get("metadata") is None else answer["metadata"]
    place = metadata.get("continue") if isinstance(metadata, dict) else metadata
    fine = isinstance(items, list) and all(isinstance(item, dict) for item in items)
    if not fine or not isinstance(place, str | None):
        raise ValueError("its items, or the place of its next page, are something else")
    return Page(items=items, place=place or "")


def identity(found: Metadata, label: str) -> Json:
    """The metadata as JSON, with the value of this label if one is named."""
    kept: Json = {
        "name": found.name,
        "namespace": found.namespace,
        "uid": found.uid,
        "generation": found.generation,
        "deletionTimestamp": found.deletionTimestamp,
        "resourceVersion": found.resourceVersion,
    }
    return kept | {"labels": {label: (found.labels or {}).get(label)}} if label else kept
