"""What the resource's models have in common: names in camelCase with ID in capitals, nothing coerced, nothing unknown.

Each field carries its description, and where the CRD needs more than a type, the extra keys of its schema (`schema`).
"""

from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, Field

from kit.crd.rule import Rule

T = TypeVar("T")

_CAPITALS = {"id": "ID", "ids": "IDs", "uid": "UID"}


def camel(name: str) -> str:
    """`node_ids` as `nodeIDs`: the Kubernetes API's way of writing."""
    first, *others = name.split("_")
    return first + "".join(_CAPITALS.get(word, word.capitalize()) for word in others)


class Model(BaseModel):
    """A part of the resource, as it stands in JSON."""

    model_config = ConfigDict(
        alias_generator=camel,
        validate_by_name=True,
        validate_by_alias=True,
        serialize_by_alias=True,
        extra="forbid",
        frozen=True,
        strict=True,
    )


def schema(*rules: Rule, **keys: Any) -> dict[str, Any]:  # noqa: ANN401 - JSON
    """Extra keys of a field's schema; `list_type` and the like become `x-kubernetes-list-type`."""
    extra = {
        f"x-kubernetes-{name.replace('_', '-')}" if name in {"list_type", "list_map_keys"} else name: value
        for name, value in keys.items()
    }
    if rules:
        extra["x-kubernetes-validations"] = [rule.as_json() for rule in rules]
    return extra


def section(model: type[T], description: str, *rules: Rule) -> Any:  # noqa: ANN401 - stands for a field of any model
    """A nested part with defaults of its own: leaving it out means all of its defaults."""
    return Field(default_factory=model, description=description, json_schema_extra=schema(*rules, default={}))
