"""A pydantic schema in the structural form that the API server takes.

References are inlined, optional fields unwrapped, titles dropped, closed objects left to the API server's own pruning.
"""

from typing import Any, Final

Json = dict[str, Any]

_DROPPED: Final = frozenset({"title", "$defs", "additionalProperties"})


def structural(model_schema: Json) -> Json:
    """The schema of a model, brought into that form."""
    return _clean(model_schema, model_schema.get("$defs", {}))


def _clean(node: Json, definitions: dict[str, Json]) -> Json:
    if "$ref" in node:
        target = definitions[node["$ref"].rpartition("/")[2]]
        return _clean({**target, **{key: value for key, value in node.items() if key != "$ref"}}, definitions)
    if "anyOf" in node:
        return _clean(
            {**_one_of(node["anyOf"]), **{key: value for key, value in node.items() if key != "anyOf"}}, definitions
        )
    cleaned = {key: value for key, value in node.items() if key not in _DROPPED}
    if cleaned.get("default", 0) is None:
        del cleaned["default"]
    if "const" in cleaned:
        cleaned["enum"] = [cleaned.pop("const")]
    if isinstance(node.get("additionalProperties"), dict):
        cleaned["additionalProperties"] = _clean(node["additionalProperties"], definitions)
    if "properties" in node:
        cleaned["properties"] = {name: _clean(child, definitions) for name, child in node["properties"].items()}
    if "items" in node:
        cleaned["items"] = _clean(node["items"], definitions)
    if cleaned.get("type") == "integer":
        cleaned.setdefault("format", "int64")
    return cleaned


def _one_of(branches: list[Json]) -> Json:
    """The schema for a union: its only member besides null, or Kubernetes' own integer-or-string."""
    present = [branch for branch in branches if branch.get("type") != "null"]
    if len(present) == 1:
        return present[0]
    if {branch.get("type") for branch in present} == {"integer", "string"}:
        return {"x-kubernetes-int-or-string": True}
    raise ValueError(f"no structural schema for {branches}")
