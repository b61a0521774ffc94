"""docs/metrics-kafka.md: its table lists what the agent is told to show, with the same words."""

import re

from tests.metrics_page import PAGE, Row, table

from kafka_quorum.model.names import JMX_PORT
from kafka_quorum.resources.agent import METRICS
from kafka_quorum.resources.jmx import OF_JAVA, SHOWN, STATES

OF_MIGRATION = ("ZkMigrationState", "MigratingZkBrokerCount")
"""What every controller of 3.9 has; the lag exists during a migration only."""


def test_the_table_is_the_whitelist() -> None:
    """Each metric of the whitelist has a row, in its order, with its MBean and its help; and no other one has."""
    rows = table()
    assert [(row.name, row.source, row.meaning) for row in rows[: len(SHOWN)]] == [
        (each.name, f"{each.bean} {each.attribute}", each.help) for each in SHOWN
    ]
    assert [row.name for row in rows[len(SHOWN) :]] == [METRICS[name] for name in OF_MIGRATION]


def test_the_words_beside_the_table() -> None:
    """The page names every state, the port, and every metric of Java that stays."""
    text = PAGE.read_text()
    assert all(f"`{state}`" in text for state in STATES)
    assert str(JMX_PORT) in text
    assert all(re.search(rf"`{name}(_total|_count)?`", text) for name in OF_JAVA)


def test_releases_of_a_row() -> None:
    """A row's releases are all, those from a line on, or one line; some metrics are the leader's."""
    late = Row(name="x", first=(4, 1), last=None, leader_only=True, source="", meaning="")
    only = Row(name="y", first=(3, 9), last=(3, 9), leader_only=False, source="", meaning="")
    releases = ("3.9.2", "4.0.2", "4.1.2", "4.10.0")
    assert [late.on(release, leader=True) for release in releases] == [False, False, True, True]
    assert not late.on("4.4.0", leader=False)
    assert [only.on(release, leader=False) for release in releases] == [True, False, False, False]
