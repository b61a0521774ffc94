"""A rule's CEL and its predicate agree, on the values of every spec in the table."""

from typing import Any

import pytest
from pydantic import ValidationError
from tests.api.test_rules import fields, plain
from tests.kit.crd import cel
from tests.streams.api.specs import ACCEPTED, REFUSED, Refused, resource

from kafka_streams.api import rules
from kafka_streams.api.spec import KafkaStreamsApplicationSpec
from kit.crd.rule import Rule


def spec_of(patch: dict[str, Any]) -> KafkaStreamsApplicationSpec | None:
    """The spec of a patch; None if its shape is wrong, because then no rule applies."""
    whole = resource({"release": "3.9.1", "image": "app:1", **patch})["spec"]
    try:
        return KafkaStreamsApplicationSpec.model_validate(whole, by_alias=True, by_name=False)
    except ValidationError:
        return None


@pytest.mark.parametrize("patch", [*ACCEPTED.values(), *(case.patch for case in REFUSED)], ids=str)
def test_both_sides_of_a_rule_agree(patch: dict[str, Any]) -> None:
    """The API server and the operator refuse the same values by the same rules."""
    spec = spec_of(patch)
    assert spec is not None
    compared = 0
    for place, its, value in fields(spec):
        for rule in its:
            if rule.holds is None and rule.each is None:
                continue
            assert (not list(rule.broken(value, place))) == cel.holds(rule, plain(value)), (place, value, rule.message)
            compared += 1
    assert compared > 10


@pytest.mark.parametrize("case", REFUSED, ids=lambda case: case.name)
def test_the_server_refuses_what_it_should(case: Refused) -> None:
    """A spec that the server refuses breaks a rule in CEL; one that only the operator refuses breaks none."""
    spec = spec_of(case.patch)
    assert spec is not None
    rows = [(rule, plain(value)) for _, its, value in fields(spec) for rule in its if "oldSelf" not in rule.expression]
    assert all(cel.holds(rule, value) for rule, value in rows) != case.by_server


@pytest.mark.parametrize(
    ("name", "right"),
    [("counts", True), ("c" * 40, True), ("c" * 41, False), ("Counts", False), ("co.unts", False), ("0counts", False)],
)
def test_names_of_pods_are_made_from_the_name(name: str, *, right: bool) -> None:
    """A name that pods, claims and labels cannot have is refused by both sides, on creation."""
    both = (rules.NAME_TOO_LONG, rules.NAME_NO_LABEL)
    assert all(rule.holds is not None and rule.holds(name) for rule in both) is right
    created = [Rule(expression=rule.expression.removeprefix("oldSelf.hasValue() || "), message="") for rule in both]
    assert all(cel.holds(rule, {"metadata": {"name": name}}) for rule in created) is right
