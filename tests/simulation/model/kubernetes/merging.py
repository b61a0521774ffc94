"""How the API server merges a patch into an object."""

from typing import Any

from kit.kube.protocol import Json


def merged(old: Any, patch: Any) -> Any:  # noqa: ANN401 - JSON of any shape
    """A JSON merge patch (RFC 7396) as the API server applies it."""
    if not isinstance(patch, dict):
        return patch
    result = dict(old) if isinstance(old, dict) else {}
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = merged(result.get(key), value)
    return result


def merge_conditions(old: Json, patch: Json) -> None:
    """Complete the conditions of a strategic patch: those of other types stay as they are."""
    rows = patch.get("status", {}).get("conditions")
    if rows is not None:
        named = {row["type"] for row in rows}
        kept = [row for row in old.get("status", {}).get("conditions") or [] if row["type"] not in named]
        patch["status"]["conditions"] = [*kept, *rows]
