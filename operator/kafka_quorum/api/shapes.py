"""The shape of a spec: read into its model, or refused with the path of each value that cannot stand there.

Every kind of resource of ours reads its spec with this.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeVar

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from kafka_quorum.model.desired import FieldFault
from kit.crd.model import Model

FAULTS_MAX: Final = 100
"""The largest number of faults that are looked for: a message shows some, and each value of a spec may have one."""
Spec = TypeVar("Spec", bound=Model)


def parsed(model: type[Spec], resource: Mapping[str, Any]) -> Spec | tuple[FieldFault, ...]:
    """The spec of a resource as its model has it; else one fault for each value of a wrong type, sorted."""
    try:
        return model.model_validate(resource.get("spec"), by_alias=True, by_name=False)
    except ValidationError as error:
        if (count := error.error_count()) > FAULTS_MAX:
            return (FieldFault(field="spec", message=f"{count} values in it cannot stand there: correct it"),)
        return tuple(sorted({_type_fault(detail) for detail in error.errors(include_url=False)}))


def _type_fault(detail: ErrorDetails) -> FieldFault:
    """Turn one of pydantic's errors into a fault. The names of a union's branches are no part of a path."""
    place = "spec"
    for part in detail["loc"]:
        if isinstance(part, int):
            place += f"[{part}]"
        elif part not in {"int", "str"}:
            place += f".{part}"
    if detail["type"] == "missing" or detail["input"] is None:
        return FieldFault(field=place, message="this field is required: set it")
    if detail["type"] == "extra_forbidden":
        return FieldFault(
            field=place, message="this version of the operator has no such field: remove it, or upgrade the operator"
        )
    return FieldFault(field=place, message=f"{detail['input']!r} cannot stand here: {_expectation(detail)}")


def _expectation(detail: ErrorDetails) -> str:
    if detail["loc"] and detail["loc"][-1] in {"int", "str"}:
        return "write a number, or a name in quotes"
    if detail["type"] in {"model_type", "dict_type"}:
        return "it should be an object with fields"
    return detail["msg"].replace("Input should", "it should")


def canonical(value: Mapping[str, Any] | Sequence[Any]) -> str:
    """JSON with one form for equal values: keys sorted, no spaces."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def part(holder: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    """A nested object; empty if it is missing or no object."""
    value = holder.get(key)
    return value if isinstance(value, Mapping) else {}


def annotation(metadata: Mapping[str, Any], name: str) -> str:
    """An annotation of a resource; empty if it is missing."""
    return str(part(metadata, "annotations").get(name) or "")
