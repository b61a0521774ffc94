"""Kafka's own metrics: each rule of the agent takes its own attribute, and no other one."""

import re

import pytest
import yaml

from kafka_quorum.resources.jmx import SHOWN, STATES, Shown, rule

TEXTS = {each.name: next(iter(each.values), "12.5") for each in SHOWN}


def agents_name(shown: Shown, value: str) -> str:
    """What the agent compares with the patterns."""
    domain, _, keys = shown.bean.partition(":")
    return f"{domain}<{keys.replace(',', ', ')}><>{shown.attribute}: {value}"


def first(text: str) -> tuple[str, dict[str, str]] | None:
    """The metric, and its labels, that the agent makes of this: by the first rule that matches anywhere."""
    for each in yaml.safe_load("".join(map(rule, SHOWN))):
        if found := re.fullmatch(f"^.*(?:{each['pattern']}).*$", text):
            labels = {name: found.expand(value.replace("$", "\\")) for name, value in each.get("labels", {}).items()}
            return each["name"], labels
    return None


@pytest.mark.parametrize("shown", SHOWN, ids=lambda each: each.name)
def test_each_attribute_has_its_own_metric(shown: Shown) -> None:
    """The first rule that matches an attribute is its own, also if its name begins another attribute's name."""
    found = first(agents_name(shown, TEXTS[shown.name]))
    assert found is not None
    assert found[0] == shown.name
    longer = Shown(name="x", bean=shown.bean, attribute=f"{shown.attribute}-directory-id", help="")
    assert first(agents_name(longer, "12.5")) is None


def test_states_are_a_closed_set() -> None:
    """Each state is the value of a label; another text has no series, also if it begins or ends with a state."""
    state = next(each for each in SHOWN if each.values)
    for text in STATES:
        assert first(agents_name(state, text)) == ("kafka_raft_current_state", {"state": text})
    for text in ("", "leader2", "unattached-", "no leader", "Leader"):
        assert first(agents_name(state, text)) is None


def test_names() -> None:
    """Names are unique, in lower case, with Kafka's prefix; only counters end in `_total`, and units are whole ones."""
    names = [each.name for each in SHOWN]
    assert len(set(names)) == len(names)
    assert all(re.fullmatch("kafka_[a-z]+(_[a-z]+)*", name) for name in names)
    for each in SHOWN:
        made = yaml.safe_load(rule(each))[0]
        assert made["type"] == ("COUNTER" if each.name.endswith("_total") else "GAUGE")
        assert made.get("valueFactor", 1) == (0.001 if each.name.endswith("_seconds") else 1)
        assert made["help"] == each.help
