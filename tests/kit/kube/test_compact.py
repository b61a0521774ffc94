"""Objects that are remembered are small, and say the same."""

import json
import sys
from typing import Any

import pytest

from kit.kube import compact as module
from kit.kube.compact import compact, once

_ITEM = json.dumps(
    {
        "metadata": {"name": "a", "managedFields": [{"manager": "m"}], "labels": {"some-label": "x"}},
        "spec": {"parts": [{"some-name": 1}, [2, None]]},
    }
)


def read() -> dict[str, Any]:
    """The object, as another request reads it."""
    item: dict[str, Any] = json.loads(_ITEM)
    return item


def test_an_object_keeps_all_but_its_managed_fields() -> None:
    """The small object is equal without managed fields, and the one that was read is not changed."""
    item, wanted = read(), read()
    del wanted["metadata"]["managedFields"]
    assert compact(item) == wanted
    assert item == read()


def test_two_objects_share_the_names_of_their_fields() -> None:
    """Names of fields that were read twice are one text in memory."""
    ones = [next(iter(read()["spec"]["parts"][0])) for _ in range(2)]
    assert ones[0] is not ones[1]
    small = [compact(read()) for _ in range(2)]
    deep = [next(iter(one["spec"]["parts"][0])) for one in small]
    labels = [next(iter(one["metadata"]["labels"])) for one in small]
    assert deep[0] is deep[1]
    assert labels[0] is labels[1]


def test_an_object_without_metadata_is_fine() -> None:
    """An answer of another form, as a proxy may give it, is left as it is."""
    items: list[dict[str, Any]] = [{}, {"metadata": None}, {"metadata": {}}]
    for item in items:
        assert compact(item) == item


def test_an_object_that_is_nested_too_deeply_is_kept_as_it_is() -> None:
    """Its managed fields are still dropped."""
    deep: dict[str, Any] = {}
    for _ in range(sys.getrecursionlimit()):
        deep = {"x": deep}
    found = compact({"metadata": {"managedFields": []}, "spec": deep})
    assert found["metadata"] == {}
    assert found["spec"] is deep


def test_names_without_end_are_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """Names that users invent do not fill the memory."""
    monkeypatch.setattr(module, "_names", {})
    monkeypatch.setattr(module, "NAMES_MAX", 10)
    for number in range(100):
        assert compact({f"name-{number}": number}) == {f"name-{number}": number}
    assert len(module._names) <= 10
    compact({"x" * 100_000: 1})
    assert max(map(len, module._names)) < 100


def test_equal_json_is_kept_once() -> None:
    """What is equal, in type too, is one object; a true value is not a 1."""
    spec = read()["spec"]
    assert once(read()["spec"], [{}, spec]) is spec
    assert once({"a": 1}, [{"a": True}]) == {"a": 1}
    for other in ({"a": 2}, {"a": 1.0}, {"b": 1}, {"a": [1]}, {"a": {"b": 1}}):
        found = once({"a": 1}, [other])
        assert found is not other
        assert (found, type(found["a"])) == ({"a": 1}, int)
    assert once({"a": [1, 2]}, [{"a": [1]}]) == {"a": [1, 2]}
    assert once({}, [{}]) == {}
