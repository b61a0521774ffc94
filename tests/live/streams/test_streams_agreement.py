"""The operator's table of ways beside `measured.json`: it does nothing that was measured to fail or to lose counts."""

from dataclasses import replace

import pytest
from tests.live.streams.agreement import STRICTER, contradicts, named, offline, reasons, refused, release, running
from tests.live.streams.matrix import pairs
from tests.live.streams.measured import Measured, Pair, Release, Row, load
from tests.live.streams.page import FILE, page
from tests.live.streams.ways import FAILS, WORKS, WRONG

from kafka_streams.plan.matrix import LINES, accepted_values, facts_of

MEASURED = load()
BOUNCES = ("one", "two", "offline")
TWO = Pair(old="1.1.1", new="2.0.1", broker="3.9.2", way="two", upgrade_from="1.1")


def _name(row: Row) -> str:
    return str(row.pair)


@pytest.mark.parametrize("row", MEASURED.pairs, ids=_name)
def test_no_way_of_the_operator_was_measured_to_fail(row: Row) -> None:
    """A row that failed, lost counts or varies is none of the operator's ways."""
    assert contradicts(row) == ""


@pytest.mark.parametrize("row", [row for row in MEASURED.pairs if row.pair.way in BOUNCES], ids=_name)
def test_what_the_operator_does_between_two_measured_releases_was_measured(row: Row) -> None:
    """Between the two releases, with this broker, the operator's own way was measured to work, and so was offline."""
    pair = row.pair
    for act in (running(pair), offline(pair)):
        if act is not None:
            own = MEASURED.row(replace(pair, way=act.way, upgrade_from=act.upgrade_from, wiped=act.wiped))
            assert own is not None, act
            assert own.outcome == WORKS


@pytest.mark.parametrize("row", [row for row in MEASURED.pairs if refused(row)], ids=_name)
def test_each_stricter_answer_has_its_reason(row: Row) -> None:
    """What worked and is not done has exactly one of the reasons of the page."""
    assert [rule.name for rule in reasons(row)] in [[rule.name] for rule in STRICTER], running(row.pair)


def test_no_reason_is_without_a_pair() -> None:
    """A reason that no measured pair has would be a guess."""
    used = {rule.name for row in MEASURED.pairs if refused(row) for rule in reasons(row)}
    assert used == {rule.name for rule in STRICTER}


@pytest.mark.parametrize("known", MEASURED.releases, ids=lambda each: each.version)
def test_the_operator_knows_each_release_as_measured(known: Release) -> None:
    """The values of `upgrade.from` that a client starts with, and the version of the subscription that it sends."""
    facts = facts_of(release(known.version))
    assert facts is not None
    assert facts.subscription_version == known.subscription
    accepted = [value for value, said in known.upgrade_from.items() if said == "accepted"]
    assert list(accepted_values(release(known.version))) == accepted


def test_each_line_that_the_operator_knows_was_measured() -> None:
    """No line of the table is only read about."""
    assert {facts.line for facts in LINES} == {release(known.version).line for known in MEASURED.releases}


def test_a_failure_of_a_way_of_the_operator_is_noticed() -> None:
    """One bad run among good ones is enough, and so is one lost count; another way may fail."""
    assert named(TWO)
    for runs in ({FAILS: 1}, {WORKS: 3, FAILS: 1}, {WRONG: 1}):
        assert "the operator may do this" in contradicts(Row(pair=TWO, runs=runs))
        assert contradicts(Row(pair=replace(TWO, way="one", upgrade_from=None), runs=runs)) == ""
    assert contradicts(Row(pair=TWO, runs={WORKS: 1})) == ""


def test_old_local_state_is_met_by_every_way() -> None:
    """Counts that are lost by old local state disprove each way that keeps it, and none that empties it."""
    stale = Pair(old="3.9.1", new="4.3.1", broker="3.9.2", way="stale")
    assert contradicts(Row(pair=stale, runs={WRONG: 1}, lost=[1])) != ""
    assert contradicts(Row(pair=replace(stale, wiped=True), runs={WRONG: 1}, lost=[1])) == ""


def test_a_bridge_is_the_one_that_the_operator_names() -> None:
    """Over 3.9, with an empty state directory in the first half; no other release, and no local state that is kept."""
    bridge = Pair(old="2.3.1", new="4.3.1", broker="3.9.2", way="bridge", upgrade_from="2.3", over="3.9.1", wiped=True)
    assert named(bridge)
    for other in ({"over": "3.8.1"}, {"wiped": False}, {"upgrade_from": "2.2"}, {"new": "3.9.1"}):
        assert not named(replace(bridge, **other))


@pytest.mark.parametrize("way", ["turned", "late"])
def test_the_way_back_between_two_bounces_empties_local_state(way: str) -> None:
    """It belongs to each change with two bounces, and only with an empty state directory."""
    back = replace(TWO, way=way, wiped=True)
    assert named(back)
    assert not named(replace(back, wiped=False))
    assert not named(replace(back, old="3.9.1", new="4.3.1", upgrade_from="3.9"))


def test_every_row_of_the_file_is_planned() -> None:
    """A row that no run of the matrix would measure again is not evidence."""
    assert {row.pair for row in MEASURED.pairs} <= set(pairs())


def test_the_page_is_made_from_the_file() -> None:
    """docs/streams-measured.md is what `python -m tests.live.streams.page` writes."""
    assert FILE.read_text() == page(MEASURED)


def test_an_unmeasured_matrix_makes_no_page_that_passes() -> None:
    """The comparison with the page needs the rows."""
    assert page(Measured()) != page(MEASURED)
