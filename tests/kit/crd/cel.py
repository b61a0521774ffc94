"""CEL as the API server evaluates a CRD's rules: with Kubernetes' own functions for quantities and texts."""

from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import cache
from typing import Any

import celpy
from celpy.adapter import json_to_cel
from celpy.celtypes import BoolType, IntType, ListType, StringType

from kit.crd.rule import Rule
from kit.kube.quantities import parse_quantity


class _Quantity(Fraction):
    """A quantity with only the operations below."""


def _quantity(text: StringType) -> _Quantity:
    return _Quantity(parse_quantity(str(text)) or 0)


def _sign(one: _Quantity, other: _Quantity) -> IntType:
    return IntType((one > other) - (one < other))


_FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    "isQuantity": lambda text: BoolType(parse_quantity(str(text)) is not None),
    "quantity": _quantity,
    "isGreaterThan": lambda one, other: BoolType(one > other),
    "compareTo": _sign,
    # For a fraction of a binary unit the API server never reports an integer.
    "isInteger": lambda one: BoolType(one.denominator == 1 and one < 2**63),
    "split": lambda text, by: ListType([StringType(part) for part in str(text).split(str(by))]),
}


@cache
def _program(expression: str) -> Any:  # noqa: ANN401 - celpy's own
    environment = celpy.Environment()
    return environment.program(environment.compile(expression), functions=dict(_FUNCTIONS))


def holds(rule: Rule, value: Any, before: Any = None) -> bool:  # noqa: ANN401 - any JSON
    """Whether the API server admits this value, compared with the one before it if the rule needs that."""
    given = {"self": json_to_cel(value)} | ({} if before is None else {"oldSelf": json_to_cel(before)})
    return bool(_program(rule.expression).evaluate(given))
