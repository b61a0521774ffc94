"""The catalogue of metrics: names, units and closed sets of labels, held to the source that they come from."""

import ast
import re

import pytest
from tests.plan.source import OPERATOR
from tests.plan.test_documented import TABLE, constants

from kafka_quorum.metrics import catalogue
from kafka_quorum.model.operation import CHANGE_WORDS
from kafka_quorum.status.build import CONDITIONS
from kit.metrics.metric import Metric, Type

NAMES = [metric.name for metric in catalogue.ALL]


def test_every_metric_has_a_name_of_its_own() -> None:
    """No two metrics have the same name, and each begins with one of the four prefixes."""
    assert len(NAMES) == len(set(NAMES))
    prefixes = ("kafka_quorum_", "kafka_broker_pool_", "kafka_streams_application_")
    assert [name for name in NAMES if not name.startswith(prefixes)] == []


@pytest.mark.parametrize("metric", catalogue.ALL, ids=NAMES)
def test_metrics_follow_the_conventions_of_prometheus(metric: Metric) -> None:
    """Counters alone end in `_total`; a unit is in the name; histograms have buckets; the help is a sentence."""
    assert metric.name.endswith("_total") == (metric.type is Type.COUNTER)
    assert metric.unit in metric.name
    assert bool(metric.buckets) == (metric.type is Type.HISTOGRAM)
    assert re.fullmatch("[A-Z].*[.]", metric.help)
    for name in metric.label_names:
        assert re.fullmatch("[a-z][a-z_]*", name)
        assert name not in ("le", "job", "instance", "pod")


def test_conditions_are_those_of_the_status() -> None:
    """The condition label has every condition that a status can have: those of all quorums, and those of some."""
    values = next(label for label in catalogue.CONDITION.labels if label.name == "condition").values
    assert {*CONDITIONS, "MigratedFromZooKeeper", "CertificatesValid"} == set(values)


def test_acts_are_named_once() -> None:
    """Every action has its name, and a change of the record its word, never the name of the action that writes it."""
    acts = next(label for label in catalogue.ACTS.labels if label.name == "act").values
    assert {"AddRaftVoter", "CreatePod", "DiskLost", "NodeLost"} <= set(acts)
    assert not {"DecideRecord", "WriteRecord"} & set(acts)


def test_operations_are_those_that_are_stored() -> None:
    """Every type of a stored operation is a value of the label."""
    types = next(label for label in catalogue.OPERATION_OPEN.labels if label.name == "type").values
    assert {*CHANGE_WORDS.values(), "RaiseFeature", "LowerFeature", "Unknown"} == set(types)


def test_what_is_held_is_documented() -> None:
    """The reasons that say what is held are reasons of docs/operations.md, and what they hold is in the catalogue."""
    assert set(catalogue.HELD_REASONS) <= TABLE
    assert set(catalogue.HELD_REASONS.values()) <= set(catalogue.HELD)


def test_reasons_with_a_hold_are_in_the_source() -> None:
    """Every reason that says what is held is a word of the planner's source: a renamed one is noticed here."""
    words = {
        node.value
        for path in (OPERATOR / "plan").rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }
    assert set(catalogue.HELD_REASONS) <= words
    assert constants(ast.parse('A = "B"')) == {"A": "B"}
