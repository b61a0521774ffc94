"""Pages of metadata: what is declared is read, everything else is skipped, and nothing ends the process."""

import json
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from kit.kube.pages import identity, metadata_page

_LEVELS = 20_000
"""Twice what the API server accepts."""


@pytest.fixture
def operators_limit() -> Iterator[None]:
    """The recursion limit of the operator's process."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(25_000)
    yield
    sys.setrecursionlimit(before)


def page(*items: dict[str, Any], place: str | None = None) -> bytes:
    """An answer of the API server."""
    return json.dumps({"kind": "PartialObjectMetadataList", "metadata": {"continue": place}, "items": items}).encode()


def test_what_identifies_an_object_is_read() -> None:
    """All fields that are kept come as the server wrote them, with the one label, and the place of the next page."""
    kept = {
        "name": "a",
        "namespace": "ns",
        "uid": "u",
        "generation": 3,
        "deletionTimestamp": "2026-01-01T00:00:00Z",
        "resourceVersion": "17",
    }
    more = {"labels": {"x": "1", "y": "2"}, "annotations": {"a": "b"}, "managedFields": [{"fieldsV1": {"f:a": {}}}]}
    found = metadata_page(page({"metadata": kept | more}, place="next"))
    assert found.place == "next"
    assert [identity(each, "x") for each in found.items] == [kept | {"labels": {"x": "1"}}]
    assert [identity(each, "z") for each in found.items] == [kept | {"labels": {"z": None}}]
    assert [identity(each, "") for each in found.items] == [kept]


@pytest.mark.parametrize("data", [b'{"metadata":{},"items":null}', b'{"items":[]}', b'{"metadata":null,"items":null}'])
def test_an_empty_list_is_empty(data: bytes) -> None:
    """The API server writes null for an empty list of metadata."""
    found = metadata_page(data)
    assert (found.items, found.place) == ([], "")


@pytest.mark.parametrize(
    "data",
    [
        *(b"{}", b'{"kind":"Status","metadata":{}}', b'{"kind":"Table","rows":[]}'),
        *(b"", b"<html>", b"[]", b"null", b"7", b'{"items":7}', b'{"items":[7]}', b'{"items":[{"metadata":null}]}'),
        *(b'{"items":[{"metadata":{}}]}', b'{"items":[{"metadata":{"name":7}}]}'),
        *(b'{"items":[{"metadata":{"name":"a","labels":{"x":7}}}]}', b'{"items":[{"metadata":{"name":"\xff"}}]}'),
        b'{"items":[{"metadata":{"name":"a"}}',
    ],
)
def test_anything_else_is_an_error(data: bytes) -> None:
    """A proxy's page, or an answer that broke off, is no empty list."""
    with pytest.raises(ValueError, match=r"."):
        metadata_page(data)


@pytest.mark.usefixtures("operators_limit")
def test_managed_fields_of_any_depth_are_skipped() -> None:
    """Whoever may write an object decides how deep its managed fields are: those beside it are read all the same."""
    deep = b'{"f:a":' * _LEVELS + b"{}" + b"}" * _LEVELS
    hostile = b'{"metadata":{"name":"h","managedFields":[{"fieldsV1":' + deep + b"}]}}"
    found = metadata_page(b'{"metadata":{},"items":[{"metadata":{"name":"a"}},' + hostile + b"]}")
    assert [each.name for each in found.items] == ["a", "h"]


@pytest.mark.usefixtures("operators_limit")
def test_a_depth_beyond_all_bounds_is_an_error() -> None:
    """More levels than the process can stand do not end it."""
    for deep in (b'{"a":' * 1_000_000, b"[" * 1_000_000):
        with pytest.raises((RecursionError, ValueError)):
            metadata_page(b'{"items":[{"metadata":{"name":"h","managedFields":' + deep)
