"""The changed parts of a status, as a merge patch (RFC 7396). Pure."""

from typing import Any, TypeAlias

Json: TypeAlias = dict[str, Any]


def patch_of(old: Json, new: Json) -> Json:
    """A merge patch that turns `old` into `new`; empty if nothing differs."""
    changed = {key: _merge_value(old.get(key), value) for key, value in new.items() if old.get(key) != value}
    return changed | {key: None for key in old if key not in new}


def _merge_value(old: Any, new: Any) -> Any:  # noqa: ANN401 - any JSON
    """The server merges objects, so what is gone must be named; everything else is replaced."""
    if isinstance(old, dict) and isinstance(new, dict):
        return patch_of(old, new)
    return new
