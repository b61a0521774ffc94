"""Dynamic configuration: what is set on running brokers and removed again, and what other concerns rule."""

from dataclasses import replace

import pytest
from tests.brokers.looks import ORDERS, changed_pod, look, planned, ran, registered, situation, view, with_view
from tests.brokers.values import desired, record

from kafka_brokers.model.actions import AlterConfig
from kafka_brokers.model.observed import Observed
from kafka_brokers.model.pool import PoolDesired
from kafka_brokers.plan.facts import CHANGED, CORDON
from kafka_brokers.plan.settings import changes_of, settings
from kafka_quorum.model.brokers import ConfigChange, ConfigEntry
from kafka_quorum.model.ids import NodeID
from kafka_quorum.model.known import Known, Unknown

SPEC = desired({"config": {"log.cleaner.threads": "2", "message.max.bytes": "5"}})
RAN = ran(record(), SPEC)


def entry(name: str, value: str | None, source: int = CHANGED) -> ConfigEntry:
    """A setting of a running broker."""
    return ConfigEntry(name=name, value=value, source=source, read_only=False)


def changed(of: Observed, by: PoolDesired = SPEC) -> dict[int, dict[str, str | None]]:
    """What is changed at each broker."""
    rows = [one for one in settings(situation(of, by)).actions if isinstance(one, AlterConfig)]
    assert all(one.broker.node_id == one.node_id for one in rows)
    return {one.node_id: {change.name: change.value for change in one.changes} for one in rows}


def having(*rows: ConfigEntry) -> Observed:
    """A look at a pool whose broker 1 has these settings, and whose others have what the spec asks for."""
    asked = tuple(entry(name, value) for name, value in SPEC.dynamic)
    known = tuple((NodeID(node), Known(value=rows if node == 1 else asked)) for node in range(3))
    return replace(look(RAN, SPEC), configs=known)


def test_what_the_spec_asks_for_is_set_at_each_broker_that_lacks_it() -> None:
    """One change for each broker, asked of the broker itself; nothing at those that have it."""
    assert changed(having()) == {1: {"log.cleaner.threads": "2", "message.max.bytes": "5"}}
    assert changed(having(entry("message.max.bytes", "5"))) == {1: {"log.cleaner.threads": "2"}}
    both = tuple(entry(name, value) for name, value in SPEC.dynamic)
    assert changed(having(*both)) == {}


def test_a_value_of_the_properties_file_is_not_the_brokers_own() -> None:
    """Only what was set while it ran counts: a default of the same value may change with the release."""
    for source in (4, 5, 3):
        assert "message.max.bytes" in changed(having(entry("message.max.bytes", "5", source)))[1]


def test_what_the_spec_does_not_ask_for_any_more_is_removed() -> None:
    """Of the broker's own dynamic settings, and no others."""
    both = tuple(entry(name, value) for name, value in SPEC.dynamic)
    rows = (*both, entry("log.retention.ms", "7"), entry("num.io.threads", "9", 4))
    assert changed(having(*rows)) == {1: {"log.retention.ms": None}}


OWNED = (CORDON, "leader.replication.throttled.rate", "follower.replication.throttled.rate")


@pytest.mark.parametrize("name", OWNED)
def test_what_other_concerns_rule_is_left_alone(name: str) -> None:
    """A cordon, and the limits of a drain."""
    assert changes_of(desired(), (entry(name, "1"),)) == ()


def test_threads_change_by_a_factor_of_two() -> None:
    """From the value that counts now, whoever set it."""
    asked = desired({"config": {"num.io.threads": "64"}})
    assert changes_of(asked, (entry("num.io.threads", "8", 5),)) == (ConfigChange(name="num.io.threads", value="16"),)
    assert changes_of(asked, (entry("num.io.threads", "64", 5),)) == (ConfigChange(name="num.io.threads", value="64"),)
    assert changes_of(asked, (entry("num.io.threads", "64"),)) == ()


def test_a_broker_that_is_not_known_is_not_changed() -> None:
    """It does not run, is fenced, or did not answer: its settings are unknown, and not empty."""
    of = having()
    fenced = view(ORDERS, [registered(0), registered(1, fenced=True), registered(2)])
    for seen in (
        replace(of, configs=tuple((node, Unknown(reason="timeout")) for node, _ in of.configs)),
        replace(of, configs=()),
        changed_pod(of, 1, deleting=True),
        changed_pod(of, 1, ip=""),
        with_view(of, fenced),
        with_view(of, view(ORDERS, [registered(0), registered(2)])),
        replace(of, cluster=Unknown(reason="timeout")),
        replace(of, leader=Unknown(reason="timeout")),
    ):
        assert changed(seen) == {}
    assert not any(isinstance(one, AlterConfig) for one in planned(of, SPEC, repair_only=True).actions)
    assert [one.node_id for one in planned(of, SPEC).actions if isinstance(one, AlterConfig)] == [NodeID(1)]
