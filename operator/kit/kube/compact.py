"""Objects that are remembered for long: without what nobody reads, and with what is equal kept once. Pure.

JSON from the API server brings its own copy of each name of a field. A thousand resources have some 300,000 of them.
"""

from collections.abc import Iterable
from typing import Any, Final

from kit.kube.protocol import Json

NAMES_MAX: Final = 20_000
"""So many names are kept once, and then forgotten: users choose some of them, such as those of labels."""
_NAME_MAX_CHARS: Final = 64
"""A longer name is kept as it comes: a user decides how long it is."""
_MANAGED: Final = "managedFields"
"""Who wrote which field: half of an object, and of no use while nothing is applied."""
_names: dict[str, str] = {}


def compact(item: Json) -> Json:
    """An equal object without its managed fields, for reading only; only without them if it is nested too deeply."""
    metadata = item.get("metadata")
    if isinstance(metadata, dict) and _MANAGED in metadata:
        item = item | {"metadata": {name: value for name, value in metadata.items() if name != _MANAGED}}
    return _small(item)


def once(value: Json, among: Iterable[Json]) -> Json:
    """The first of these that is the same JSON, which then stands for this one, too; else an equal object."""
    try:
        return next((each for each in among if _same(each, value)), None) or _small(value)
    except RecursionError:
        return value


def sharing(written: Json, read: Json) -> Json:
    """An object as it was written, with the spec that was read before if it is the same: others may share that."""
    spec, before = written.get("spec"), read.get("spec")
    if written is read or not isinstance(spec, dict) or not isinstance(before, dict):
        return written
    return written | {"spec": once(spec, (before,))}


def _small(item: Json) -> Json:
    try:
        found: Json = _with_shared_names(item)
    except RecursionError:
        return item
    return found


def _with_shared_names(value: Any) -> Any:  # noqa: ANN401 - any JSON
    if isinstance(value, dict):
        return {_name(name): _with_shared_names(inner) for name, inner in value.items()}
    return [_with_shared_names(inner) for inner in value] if isinstance(value, list) else value


def _name(name: str) -> str:
    if len(name) > _NAME_MAX_CHARS:
        return name
    if len(_names) >= NAMES_MAX:
        _names.clear()
    return _names.setdefault(name, name)


def _same(one: Any, other: Any) -> bool:  # noqa: ANN401 - any JSON
    """Equal in type, too: in Python, true equals 1."""
    if type(one) is not type(other):
        return False
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(_same(value, other[name]) for name, value in one.items())
    if isinstance(one, list):
        return len(one) == len(other) and all(map(_same, one, other))
    return bool(one == other)
