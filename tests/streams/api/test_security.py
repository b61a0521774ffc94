"""`spec.security`: which combinations are accepted, by the API server and by the operator alike."""

from itertools import product
from typing import Any

import pytest
from tests.api.test_rules import fields, plain
from tests.kit.crd import cel
from tests.streams.cluster import resource

from kafka_quorum.api.security import RULES, SecuritySpec
from kafka_quorum.model.known import Known
from kafka_streams.api.crd import crd
from kafka_streams.api.validation import validate
from kafka_streams.model.application import Desired

PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
ACCEPTED = {
    ("PLAINTEXT", "", "", ""),
    ("SSL", "ca", "", ""),
    ("SSL", "ca", "own", ""),
    ("SASL_PLAINTEXT", "", "", "user"),
    ("SASL_SSL", "ca", "", "user"),
    ("SASL_SSL", "ca", "own", "user"),
}
ALL = list(product(PROTOCOLS, ("", "ca"), ("", "own"), ("", "user")))


def asked(protocol: str, ca: str, own: str, user: str) -> dict[str, Any]:
    """A spec, as the API server stores it."""
    return {
        "protocol": protocol,
        "tls": {"caSecretName": ca, "certificateSecretName": own},
        "sasl": {"mechanism": "PLAIN", "secretName": user},
    }


@pytest.mark.parametrize("case", ALL, ids=str)
def test_what_belongs_together(case: tuple[str, str, str, str]) -> None:
    """Of all combinations just these are accepted, and the API server refuses the same ones by the same rules."""
    given = asked(*case)
    spec = {"release": "3.9.1", "image": "app:1", "security": given}
    found = validate(resource(spec), Known(value=""))
    assert isinstance(found, Desired) is (case in ACCEPTED)
    if not isinstance(found, Desired):
        assert {fault.field for fault in found} == {"spec.security"}
    parsed = SecuritySpec.model_validate(given)
    for rule in RULES:
        assert rule.holds is not None
        assert rule.holds(parsed) == cel.holds(rule, given), rule.message


@pytest.mark.parametrize("name", ["Upper", "a_b", "-a", "a/b", "a" * 254])
def test_names_that_no_secret_has(name: str) -> None:
    """A name that no Secret can have is refused at its field."""
    spec = {"release": "3.9.1", "image": "app:1", "security": asked("SASL_PLAINTEXT", "", "", name)}
    found = validate(resource(spec), Known(value=""))
    assert not isinstance(found, Desired)
    assert {fault.field for fault in found} == {"spec.security.sasl.secretName"}
    if len(name) < 254:
        parsed = SecuritySpec.model_validate(spec["security"])
        for _, rules, value in fields(parsed):
            assert all(cel.holds(one, plain(value)) == (one.holds is None or one.holds(value)) for one in rules)


def test_without_it_connections_are_plain() -> None:
    """A resource of before needs no change: the field has a default, and Secrets stand in no other field of it."""
    assert isinstance(validate(resource({"release": "3.9.1", "image": "app:1"}), Known(value="")), Desired)
    schema = crd()["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]["security"]
    assert schema["default"] == {}
    assert schema["properties"]["protocol"]["default"] == "PLAINTEXT"
