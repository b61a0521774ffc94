"""The common base of a resource's models: camelCase with ID in capitals, no coercion, no unknown fields.

Each field has its description, and where the CRD needs more than a type, the extra keys and rules (`schema`). `wrongs`
finds the rules of the fields in the model again, and checks a whole spec with them.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, Field
from pydantic.config import JsonDict

from kit.crd.rule import Json, Rule, Wrong

T = TypeVar("T")

_CAPITALS = {"id": "ID", "ids": "IDs", "uid": "UID"}


def camel(name: str) -> str:
    """`node_ids` as `nodeIDs`: the form of the Kubernetes API."""
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Extra:
    """The parts of a field's schema besides its type. Pydantic calls it with the schema."""

    keys: Json
    rules: tuple[Rule, ...] = ()

    def as_json(self) -> Json:
        """The keys, and the rules as the CRD has them."""
        rules = {"x-kubernetes-validations": [rule.as_json() for rule in self.rules]} if self.rules else {}
        return {**self.keys, **rules}

    def __call__(self, schema: JsonDict) -> None:
        """Add all of these to the schema."""
        schema.update(self.as_json())


def schema(*rules: Rule, **keys: Any) -> Extra:  # noqa: ANN401 - JSON
    """Extra keys of a field's schema; `list_type` and the like become `x-kubernetes-list-type`."""
    extra = {
        f"x-kubernetes-{name.replace('_', '-')}" if name in {"list_type", "list_map_keys"} else name: value
        for name, value in keys.items()
    }
    return Extra(keys=extra, rules=rules)


def section(model: type[T], description: str, *rules: Rule) -> Any:  # noqa: ANN401 - stands for a field of any model
    """A nested part with defaults of its own: leaving it out means all of its defaults."""
    return Field(default_factory=model, description=description, json_schema_extra=schema(*rules, default={}))


def wrongs(part: Model, place: str) -> Iterator[Wrong]:
    """Every rule of a field that a part of a resource breaks, at any depth; `place` is the path of the part."""
    for name, field in type(part).model_fields.items():
        value, below = getattr(part, name), f"{place}.{field.alias or name}"
        if value is None:
            continue
        if isinstance(field.json_schema_extra, Extra):
            for rule in field.json_schema_extra.rules:
                yield from rule.broken(value, below)
        if isinstance(value, Model):
            yield from wrongs(value, below)
        elif isinstance(value, list):
            for index, item in enumerate(value):
                if isinstance(item, Model):
                    yield from wrongs(item, f"{below}[{index}]")
