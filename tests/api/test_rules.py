"""A rule's CEL and its predicate agree, on the values of every spec in the table and on random ones."""

import random
import sys
from collections.abc import Iterator
from typing import Any, Final

import pytest
from pydantic import ValidationError
from tests.api.specs import ACCEPTED, REFUSED, merged, resource
from tests.kit.crd import cel

from kafka_quorum.api import rules
from kafka_quorum.api.spec import KafkaQuorumSpec
from kit.crd.model import Extra, Model
from kit.crd.rule import Rule

STRICTER: Final = (rules.CLUSTER_ID_FORM, rules.IMAGE_FORM, rules.CONFIG_LINES, rules.CONFIG_KEYS, rules.OPTION_FORM)
"""For these the operator refuses more than CEL does: reserved ids, image references of no registry, ..."""
TOLD_BY_CHECKS: Final = frozenset({rules.LEVEL_NAME.message, rules.TEMPLATE_CONTAINERS.message})
"""Rules for which separate checks have longer sentences."""


def fields(part: Model, place: str = "spec") -> Iterator[tuple[str, tuple[Rule, ...], Any]]:
    """Every field with rules, as (place, rules, value)."""
    for name, info in type(part).model_fields.items():
        value, below = getattr(part, name), f"{place}.{info.alias or name}"
        if isinstance(info.json_schema_extra, Extra) and info.json_schema_extra.rules:
            yield below, info.json_schema_extra.rules, value
        for inner in [value] if isinstance(value, Model) else value if isinstance(value, list) else ():
            if isinstance(inner, Model):
                yield from fields(inner, below)


def plain(value: Any) -> Any:  # noqa: ANN401 - a field's value
    """The value as JSON."""
    if isinstance(value, Model):
        return value.model_dump(mode="json", exclude_none=True)
    return [plain(inner) for inner in value] if isinstance(value, list) else value


def check(spec: KafkaQuorumSpec) -> int:
    """Compares both sides of every rule, and counts the rules."""
    compared = 0
    for place, its_rules, value in fields(spec):
        both = [rule for rule in its_rules if rule.holds or rule.each]
        ours = {rule.message: not list(rule.broken(value, place)) for rule in both}
        servers = {rule.message: cel.holds(rule, plain(value)) for rule in both}
        for rule in both:
            if rule not in STRICTER:
                assert ours[rule.message] == servers[rule.message], (place, value, rule.message)
        assert not all(ours.values()) or all(servers.values()), (place, value)
        compared += len(both)
    return compared


def spec_of(patch: dict[str, Any]) -> KafkaQuorumSpec | None:
    """The spec of a patch; None if its shape is wrong, because then no rule applies."""
    try:
        return KafkaQuorumSpec.model_validate(resource(patch)["spec"], by_alias=True, by_name=False)
    except ValidationError:
        return None


@pytest.mark.parametrize("patch", [*ACCEPTED.values(), *(case.patch for case in REFUSED)], ids=str)
def test_both_sides_of_a_rule_agree(patch: dict[str, Any]) -> None:
    """The API server and the operator refuse the same values by the same rules."""
    spec = spec_of(patch)
    assert spec is None or check(spec) > 15


def test_both_sides_of_a_rule_agree_on_random_values() -> None:
    """The same for random texts, numbers and lists. The seed is printed."""
    seed = random.SystemRandom().randrange(2**32)
    sys.stdout.write(f"seed {seed}\n")
    chance, compared = random.Random(seed), 0
    while compared < 1500:
        spec = spec_of(merged(_random(chance), _random(chance)))
        compared += 0 if spec is None else check(spec)


def test_every_rule_of_a_field_has_a_predicate() -> None:
    """A rule without a predicate is a rule of changes, or one whose own check has a longer sentence."""
    spec = spec_of({"kafka": {"features": {"levels": [{"name": "metadata.version", "level": 20}]}}})
    assert spec is not None
    without = {rule.message for _, its, _ in fields(spec) for rule in its if not (rule.holds or rule.each)}
    changes = {rules.MODE_CHANGED.message, rules.SIZE_SHRUNK.message}
    assert without - changes <= TOLD_BY_CHECKS


@pytest.mark.parametrize(
    ("rule", "value", "before"),
    [
        (rules.MODE_CHANGED, "Static", "Static"),
        (rules.MODE_CHANGED, "Static", "Adopt"),
        (rules.SIZE_SHRUNK, "1Gi", "1024Mi"),
        (rules.SIZE_SHRUNK, "2Gi", "1Gi"),
        (rules.SIZE_SHRUNK, "1023Mi", "1Gi"),
        (rules.SIZE_SHRUNK, "x", "1Gi"),
    ],
)
def test_both_sides_of_a_change_agree(rule: Rule, value: str, before: str) -> None:
    """Both sides agree about which value may follow another one."""
    assert rule.holds_after is not None
    assert rule.holds_after(value, before) == cel.holds(rule, value, before)


@pytest.mark.parametrize(
    ("status", "allowed"),
    [
        ({}, True),
        ({"status": {}}, True),
        ({"status": {"bootstrap": {}}}, True),
        ({"status": {"bootstrap": {"phase": "Formatting"}}}, True),
        ({"status": {"bootstrap": {"phase": "Started"}}}, False),
    ],
    ids=["no status", "an empty one", "no phase", "formatting", "started"],
)
def test_a_storage_class_can_be_corrected_until_the_start(status: dict[str, Any], *, allowed: bool) -> None:
    """A wrong storage class can be corrected before the start (no volume has it); the same class is always allowed."""

    def of(name: str) -> dict[str, Any]:
        return {"spec": {"controllers": {"storage": {"storageClassName": name}}}, **status}

    assert cel.holds(rules.STORAGE_CLASS_CHANGED, of("fast"), of("fsat")) == allowed
    assert cel.holds(rules.STORAGE_CLASS_CHANGED, of("fast"), of("fast"))


@pytest.mark.parametrize("jmx", [False, True])
@pytest.mark.parametrize("port", [9093, 9404])
def test_both_sides_of_the_rule_of_the_port_agree(port: int, *, jmx: bool) -> None:
    """Only with metrics the listener must not have their port."""
    candidate = resource(
        {"metrics": {"jmx": jmx}, "controllers": {"listeners": [{"name": "CONTROLLER", "port": port}]}}
    )
    spec, rule = spec_of(candidate["spec"]), rules.JMX_PORT_TAKEN
    assert spec is not None
    assert rule.holds is not None
    assert rule.holds(spec) == cel.holds(rule, candidate) == (not jmx or port != 9404)


@pytest.mark.parametrize("name", ["a", "events", "e" * 51, "e" * 52, "1a", "a.b", "a-", "A", "a-b1"])
def test_both_sides_of_the_rules_of_names_agree(name: str) -> None:
    """Both sides agree about names, on creation, where the expression checks the name."""
    for rule in (rules.NAME_TOO_LONG, rules.NAME_NO_LABEL):
        assert rule.holds is not None
        created = Rule(expression=rule.expression.removeprefix("oldSelf.hasValue() || "), message="")
        assert created.expression != rule.expression
        assert rule.holds(name) == cel.holds(created, {"metadata": {"name": name}})


_TEXTS: Final = (
    *("", "a", "CONTROLLER", "10Gi", "1.1Gi", "0.5Ki", "0", "8Ei", "63Mi", "64Mi", "1e3", "3.8.9", "3.9.0", "04.1.0"),
    *("12.0.1", "4.4", "a b", "a\nb", "zookeeper.x", "node.id", "a/b:c", "-Xmx1g", "-ok", "x", "kafkaquorum.io/x"),
    *("app.kubernetes.io/name", "metadata.version", "Static", "PLAINTEXT", "SSL", "4L6g3nShT-eMCtK--X86sw"),
)
_NUMBERS: Final = (-1, 0, 1, 2, 3, 15, 16, 1023, 1024, 65535, 65536, 2**31 - 1, 2**31)


def _random(chance: random.Random) -> dict[str, Any]:
    def text() -> str:
        return "".join(chance.choices(_TEXTS, k=chance.choice((1, 1, 1, 2))))

    def number() -> int:
        return chance.choice(_NUMBERS)

    listener = {"name": text(), "port": number(), "protocol": chance.choice(["SSL", "PLAINTEXT"])}
    return chance.choice(
        [
            {"clusterID": text(), "kafka": {"version": text(), "image": text(), "config": {text(): text()}}},
            {"controllers": {"replicas": number(), "nodeIDs": [number() for _ in range(chance.randrange(4))]}},
            {"controllers": {"listeners": [listener] * chance.randrange(3)}},
            {"controllers": {"storage": {"size": text()}, "jvm": {"heap": text(), "options": [text()]}}},
            {"controllers": {"template": {"metadata": {"labels": {text(): "x"}, "annotations": {text(): "x"}}}}},
        ]
    )
