"""The names in the alerts' expressions, held to the catalogue: a rule over a name that is not there is silent."""

import re
from collections.abc import Iterator

import pytest
from tests.alerts import promtool

from kafka_quorum.metrics import catalogue
from kafka_quorum.resources.jmx import SHOWN
from kit.metrics.metric import Type

RULES = promtool.rules()
OF_TARGET = {"job", "pod"}
"""Labels that the scrape adds to every series."""
OF_QUORUM = {"namespace", "quorum"}
_METRIC = re.compile(r"\b(kafka_[a-z0-9_]+)(?:\{([^}]*)\})?")
_MATCHER = re.compile(r'(\w+)(=~|!~|!=|=)"([^"]*)"')
_BY = re.compile(r"\b(?:by|on) \(([^)]*)\)")
OWN = {metric.name: metric for metric in catalogue.ALL}
KAFKAS = {each.name for each in SHOWN}
"""Kafka's own metrics, as controllers show them with `spec.metrics.jmx`."""


def used(expression: str) -> Iterator[tuple[str, list[tuple[str, str, str]]]]:
    """Every metric of an expression, with its matchers."""
    for name, inside in _METRIC.findall(expression):
        yield name, _MATCHER.findall(inside)


@pytest.mark.parametrize("alert", sorted(RULES))
def test_every_series_exists(alert: str) -> None:
    """Each metric is the operator's or Kafka's; each matcher names a label of it, and values that it can have."""
    found = list(used(RULES[alert]["expr"]))
    assert found
    for name, matchers in found:
        assert name in OWN or name in KAFKAS, name
        labels = {label.name: label for label in OWN[name].labels} if name in OWN else {}
        for label, operator, value in matchers:
            assert label in labels, (name, label)
            if labels[label].values:
                pattern = value if "~" in operator else re.escape(value)
                branches = [
                    each
                    for each in pattern.split("|")
                    if not any(map(re.compile(each).fullmatch, labels[label].values))
                ]
                assert branches == [], (name, label)


@pytest.mark.parametrize("alert", sorted(RULES))
def test_every_label_of_the_result_exists(alert: str) -> None:
    """What an expression groups or joins by, and what a text shows, are labels of its series or of their targets."""
    rule = RULES[alert]
    names = [name for name, _ in used(rule["expr"])]
    labels = {label for name in names if name in OWN for label in OWN[name].label_names}
    if any(name in KAFKAS for name in names):
        labels |= OF_QUORUM
    if any(name.startswith("kafka_quorum_operator_") for name in names):
        labels |= {"namespace"}
    grouped = {label.strip() for inside in _BY.findall(rule["expr"]) for label in inside.split(",") if label.strip()}
    assert grouped <= labels | OF_TARGET
    shown = {label for text in rule["annotations"].values() for label in re.findall(r"\$labels\.(\w+)", text)}
    assert shown <= grouped


@pytest.mark.parametrize("alert", sorted(RULES))
def test_counters_are_read_as_counters(alert: str) -> None:
    """A counter of the operator is read by `increase` or `rate`, except where its first value is what counts."""
    for name, _ in used(RULES[alert]["expr"]):
        if name in OWN and OWN[name].type is Type.COUNTER:
            assert re.search(rf"(increase|rate)\({name}", RULES[alert]["expr"]), name
