"""A rule's CEL and its predicate agree, on the values of every spec in the table and on random ones."""

import random
import sys
from typing import Any, Final

import pytest
from pydantic import ValidationError
from tests.api.test_rules import fields, plain
from tests.brokers.api.specs import ACCEPTED, REFUSED
from tests.brokers.values import resource
from tests.kit.crd import cel

from kafka_brokers.api import rules
from kafka_brokers.api.crd import KIND
from kafka_brokers.api.spec import KafkaBrokerPoolSpec
from kafka_quorum.api import rules as shared
from kit.crd.rule import Rule

STRICTER: Final = (rules.CONFIG_LINES, rules.CONFIG_KEYS, rules.OPTION_FORM)
"""For these the operator refuses more than CEL does."""
CHANGES: Final = (
    rules.QUORUM_CHANGED,
    rules.STORAGE_REMOVED,
    rules.STORAGE_SHRUNK,
    rules.STORAGE_CLASS_CHANGED,
    rules.STORAGE_DIRECTORY_CHANGED,
)
TOLD_BY_CHECKS: Final = (shared.TEMPLATE_CONTAINERS,)


def spec_of(patch: dict[str, Any]) -> KafkaBrokerPoolSpec | None:
    """The spec of a patch; None if its shape is wrong, because then no rule applies."""
    try:
        return KafkaBrokerPoolSpec.model_validate(resource(patch)["spec"], by_alias=True, by_name=False)
    except ValidationError:
        return None


def check(spec: KafkaBrokerPoolSpec) -> int:
    """Compares both sides of every rule, and counts the rules."""
    compared = 0
    for place, its_rules, value in fields(spec):
        for rule in its_rules:
            if rule.holds is None and rule.each is None:
                continue
            ours, servers = not list(rule.broken(value, place)), cel.holds(rule, plain(value))
            assert ours == servers or (rule in STRICTER and not ours), (place, value, rule.message)
            compared += 1
    assert rules.NODE_IDS_COUNT.holds is not None
    whole = {"metadata": {"name": "payments"}, "spec": plain(spec)}
    assert rules.NODE_IDS_COUNT.holds(spec) == cel.holds(rules.NODE_IDS_COUNT, whole)
    return compared + 1


@pytest.mark.parametrize("patch", [*ACCEPTED.values(), *(case.patch for case in REFUSED)], ids=str)
def test_both_sides_of_a_rule_agree(patch: dict[str, Any]) -> None:
    """The API server and the operator refuse the same values by the same rules."""
    spec = spec_of(patch)
    assert spec is None or check(spec) > 15


@pytest.mark.parametrize("case", [case for case in REFUSED if case.by_server], ids=lambda case: case.name)
def test_the_server_refuses_what_it_should(case: Any) -> None:  # noqa: ANN401 - as the table has it
    """A spec that the server refuses breaks a rule in CEL, or a limit of the schema."""
    spec = spec_of(case.patch)
    assert spec is not None
    rows = [(rule, plain(value)) for _, its, value in fields(spec) for rule in its if "oldSelf" not in rule.expression]
    rows.append((rules.NODE_IDS_COUNT, {"spec": plain(spec)}))
    minimum = case.field.rpartition(".")[2] in ("throttleBytesPerSecond", "maxUnavailable", "lostNodeAfterSeconds")
    if case.field.startswith("spec.template.spec."):  # its rules are a part of its schema, as those of a quorum are
        return
    assert minimum or not all(cel.holds(rule, value) for rule, value in rows)


def test_both_sides_of_a_rule_agree_on_random_values() -> None:
    """The same for random texts, numbers and lists. The seed is printed."""
    seed = random.SystemRandom().randrange(2**32)
    sys.stdout.write(f"seed {seed}\n")
    chance, compared = random.Random(seed), 0
    while compared < 1500:
        spec = spec_of(_random(chance) | _random(chance))
        compared += 0 if spec is None else check(spec)


def test_every_rule_of_a_field_has_a_predicate() -> None:
    """A rule without a predicate is a rule of changes, or one whose own check has a longer sentence."""
    spec = spec_of({})
    assert spec is not None
    without = {rule.message for _, its, _ in fields(spec) for rule in its if not (rule.holds or rule.each)}
    known = {rule.message for rule in (*CHANGES, *TOLD_BY_CHECKS)}
    assert {text for text in without if "template.spec may set" not in text} <= known


ONE: Final = [{"size": "1Gi", "class": "a", "directory": "kafka"}]
TWO: Final = [*ONE, {"size": "2Gi", "class": "b", "directory": "kafka"}]


@pytest.mark.parametrize("rule", CHANGES[1:], ids=["removed", "shrunk", "class", "directory"])
@pytest.mark.parametrize(
    ("value", "before"),
    [
        (ONE, ONE),
        (TWO, ONE),
        (ONE, TWO),
        (TWO[::-1], TWO),
        ([{"size": "1024Mi", "class": "a", "directory": "kafka"}], ONE),
        ([{"size": "1023Mi", "class": "a", "directory": "kafka"}], ONE),
        ([{"size": "x", "class": "", "directory": "kafka"}], ONE),
        ([{"size": "4Gi", "class": "c", "directory": "kafka"}, *ONE], TWO),
        (TWO * 8, TWO * 8),
    ],
)
def test_both_sides_of_a_change_of_volumes_agree(rule: Rule, value: list[Any], before: list[Any]) -> None:
    """Both sides agree about which volumes may follow others."""
    assert rule.holds_after is not None
    assert rule.holds_after(value, before) == cel.holds(rule, value, before)


def test_what_each_rule_of_changes_refuses() -> None:
    """Each change that is not allowed is refused by one rule; growth and a further volume by none."""

    def refused(value: list[Any], before: list[Any]) -> list[bool]:
        return [not cel.holds(rule, value, before) for rule in CHANGES[1:]]

    assert refused(ONE, TWO) == [True, False, False, False]
    assert refused([{"size": "1Mi", "class": "a", "directory": "kafka"}], ONE) == [False, True, False, False]
    assert refused([{"size": "1Gi", "class": "", "directory": "kafka"}], ONE) == [False, False, True, False]
    assert refused(TWO, ONE) == [False, False, False, False]
    assert refused([ONE[0] | {"directory": "logs"}], ONE) == [False, False, False, True]
    assert not cel.holds(rules.QUORUM_CHANGED, "a", "b")
    assert cel.holds(rules.QUORUM_CHANGED, "a", "a")


@pytest.mark.parametrize("name", ["a", "payments", "p" * 51, "p" * 52, "1a", "a.b", "a-", "A", "a-b1"])
def test_both_sides_of_the_rules_of_names_agree(name: str) -> None:
    """Both sides agree about names, on creation, where the expression checks the name."""
    for rule in (rules.NAME_TOO_LONG, rules.NAME_NO_LABEL):
        assert rule.holds is not None
        created = Rule(expression=rule.expression.removeprefix("oldSelf.hasValue() || "), message="")
        assert created.expression != rule.expression
        assert rule.holds(name) == cel.holds(created, {"metadata": {"name": name}})


@pytest.mark.parametrize(
    ("name", "listener", "holds"),
    [("p" * 36, "A" * 15, True), ("p" * 37, "A" * 15, False), ("p" * 51, "A" * 15, True)],
)
def test_the_server_knows_the_names_of_external_services(name: str, listener: str, *, holds: bool) -> None:
    """The rule over name and listeners counts external listeners only."""
    external = "None" if len(name) == 51 else "NodePort"
    whole = {"metadata": {"name": name}, "spec": {"listeners": [{"name": listener, "external": external}]}}
    assert cel.holds(rules.NAME_AND_LISTENERS, whole) is holds
    assert cel.holds(rules.NAME_AND_LISTENERS, {"metadata": {"name": name}, "spec": {}})
    assert rules.NAME_AND_LISTENERS in KIND.rules


_TEXTS: Final = (
    *("", "a", "PLAINTEXT", "REPLICATION", "A_", "10Gi", "1.1Gi", "0", "64Mi", "a b", "a\nb", "node.id", "zookeeper.x"),
    *("controller.x", "min.insync.replicas", "b-{id}.org", "{id", "zone", "a/b", "-Xmx1g", "-ok", "kafkaquorum.io/x"),
)
_NUMBERS: Final = (-1, 0, 1, 2, 3, 100, 101, 1024, 9091, 9092, 65535, 65536, 2**31 - 1, 2**31)


def _random(chance: random.Random) -> dict[str, Any]:
    def text() -> str:
        return "".join(chance.choices(_TEXTS, k=chance.choice((1, 1, 1, 2))))

    def number() -> int:
        return chance.choice(_NUMBERS)

    def listener() -> dict[str, Any]:
        kinds = ["None", "NodePort", "LoadBalancer"]
        ports = {"port": number(), "nodePort": number()}
        return {"name": text(), "external": chance.choice(kinds), "host": text(), **ports}

    return chance.choice(
        [
            {"quorum": text(), "replicas": number(), "nodeIDs": [number() for _ in range(chance.randrange(4))]},
            {"firstNodeID": number(), "config": {text(): text(), text(): text()}},
            {"listeners": [listener() for _ in range(chance.randrange(3))]},
            {"storage": [{"size": text(), "class": text()} for _ in range(chance.randrange(3))]},
            {"rack": {"topologyKey": text()}, "jvm": {"heap": text(), "options": [text()]}},
            {"template": {"metadata": {"labels": {text(): "x"}, "annotations": {text(): "x"}}}},
        ]
    )
