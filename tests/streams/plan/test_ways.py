"""The way between two releases: the table of KIP-268, what was measured since, and what holds for every pair."""

import itertools

import pytest

from kafka_streams.model.release import StreamsRelease, parse_release
from kafka_streams.model.way import Kind, NoWay, Protocol, Way, WayFound
from kafka_streams.plan.matrix import LINES, accepted_values, facts_of
from kafka_streams.plan.ways import Change, find_way


def release(text: str) -> StreamsRelease:
    """A release that is one."""
    parsed = parse_release(text)
    assert parsed is not None
    return parsed


def found(start: str, target: str, *brokers: str, before: str = "classic", after: str = "classic") -> WayFound:
    """The way with brokers of 3.9.2 unless others are named."""
    return find_way(
        Change(
            start=release(start),
            target=release(target),
            brokers=frozenset(map(release, brokers or ("3.9.2",))),
            start_protocol=Protocol(before),
            target_protocol=Protocol(after),
        )
    )


def told(way: WayFound) -> str:
    """Every sentence of it."""
    return " ".join(reason.text for reason in way.reasons)


def way(start: str, target: str, *brokers: str) -> Way:
    """A way that leads there while instances run."""
    one = found(start, target, *brokers)
    assert isinstance(one, Way)
    return one


TWO = {
    ("0.10.0.1", "0.10.2.2"): "0.10.0",
    ("0.10.0.1", "0.11.0.3"): "0.10.0",
    ("0.10.0.1", "1.0.2"): "0.10.0",
    ("0.10.0.1", "1.1.1"): "0.10.0",
    ("0.10.0.1", "2.0.1"): "0.10.0",
    ("0.10.1.1", "2.0.1"): "0.10.1",
    ("0.10.2.2", "2.0.1"): "0.10.2",
    ("0.11.0.3", "2.0.1"): "0.11.0",
    ("1.0.2", "2.0.1"): "1.0",
    ("1.1.1", "2.0.1"): "1.1",
    ("1.1.1", "2.3.1"): "1.1",
    ("2.0.1", "2.1.1"): "1.1",
    ("2.0.1", "2.3.1"): "1.1",
    ("2.0.1", "2.4.1"): "2.0",
    ("2.3.1", "2.4.1"): "2.3",
    ("2.3.1", "3.9.1"): "2.3",
    ("3.2.3", "3.3.2"): "3.2",
    ("2.4.1", "3.4.1"): "2.4",
    ("3.4.1", "3.5.2"): "3.4",
    ("3.4.1", "3.9.1"): "3.4",
    ("2.4.1", "4.3.1"): "2.4",
    ("3.0.2", "4.1.2"): "3.0",
}
ONE = [
    *itertools.pairwise(("0.10.1.1", "0.10.2.2", "0.11.0.3", "1.0.2", "1.1.1")),
    *(("0.10.1.1", "1.1.1"), ("0.10.1.0", "0.10.1.1"), ("2.1.1", "2.3.1"), ("2.3.0", "2.3.1")),
    *(
        ("2.4.1", "2.8.2"),
        ("2.4.1", "3.2.3"),
        ("3.3.2", "3.4.1"),
        ("3.5.2", "3.9.1"),
        ("3.9.1", "4.3.1"),
        ("4.2.0", "4.3.1"),
    ),
]


@pytest.mark.parametrize(("pair", "value"), TWO.items(), ids=str)
def test_two_bounces_name_a_value_that_the_target_accepts(pair: tuple[str, str], value: str) -> None:
    """First every instance gets the new release with `upgrade.from`, then every one restarts without it."""
    both = way(*pair)
    assert both.kind is Kind.TWO_BOUNCES
    assert [(step.release, step.upgrade_from, step.together) for step in both.steps] == [
        (release(pair[1]), value, False),
        (release(pair[1]), "", False),
    ]


@pytest.mark.parametrize("pair", ONE, ids=str)
def test_one_bounce_is_enough_where_the_releases_agree_or_probe(pair: tuple[str, str]) -> None:
    """No value of `upgrade.from`, and one restart of each instance."""
    once = way(*pair)
    assert once.kind is Kind.ONE_BOUNCE
    assert [(step.release, step.upgrade_from, step.together) for step in once.steps] == [(release(pair[1]), "", False)]


@pytest.mark.parametrize("target", ["0.10.1.1", "0.10.2.0", "0.10.2.1", "0.11.0.2", "1.0.1", "1.1.0"])
def test_from_0_10_0_only_offline_where_the_target_ignores_upgrade_from(target: str) -> None:
    """KAFKA-6054: these releases take no notice of the setting, so a mixed group fails."""
    none = found("0.10.0.1", target)
    assert isinstance(none, NoWay)
    assert none.offline is not None
    assert [step.together for step in none.offline.steps] == [True]
    assert not none.bridge


def test_a_later_patch_that_would_do_is_named() -> None:
    """1.1.0 ignores `upgrade.from`, 1.1.1 does not; no patch of 0.10.1 accepts it."""
    assert "1.1.1 has one: take that release" in told(found("0.10.0.1", "1.1.0"))
    assert "has to stop" in told(found("0.10.0.1", "0.10.1.1"))


@pytest.mark.parametrize("start", ["0.10.2.2", "1.1.1", "2.0.1", "2.3.1"])
@pytest.mark.parametrize("target", ["4.0.1", "4.1.2", "4.3.1"])
def test_from_2_3_and_older_a_bridge_leads_to_4(start: str, target: str) -> None:
    """4.x does not know the eager protocol: a 3.9 release is between them, and both halves have a way."""
    none = found(start, target)
    assert isinstance(none, NoWay)
    assert none.bridge == "3.9"
    assert none.offline is not None
    assert none.offline.steps[0].wipe
    assert isinstance(found(start, "3.9.1"), Way)
    assert isinstance(found("3.9.1", target), Way)


def test_the_bridge_itself_needs_no_wipe_on_its_second_half() -> None:
    """3.9 and 4.3 read checkpoints in the same way; 2.3 and 3.9 do not."""
    assert [step.wipe for step in way("2.3.1", "3.9.1").steps] == [True, False]
    assert not way("3.9.1", "4.3.1").steps[0].wipe


@pytest.mark.parametrize(
    ("start", "target"), [("2.3.1", "2.6.3"), ("2.5.1", "2.6.0"), ("2.4.1", "2.8.2"), ("2.5.1", "3.9.1")]
)
def test_local_state_is_emptied_where_checkpoints_change_their_meaning(start: str, target: str) -> None:
    """From 2.5 and older to 2.6 and later: in the first bounce, and only there."""
    first, *others = way(start, target).steps
    assert first.wipe
    assert not any(step.wipe for step in others)


@pytest.mark.parametrize(
    ("start", "target"), [("2.3.1", "2.5.1"), ("2.4.1", "2.5.1"), ("2.6.3", "2.8.2"), ("2.6.0", "4.3.1")]
)
def test_local_state_is_kept_where_both_releases_read_checkpoints_alike(start: str, target: str) -> None:
    """Both before 2.6, or both since."""
    assert not any(step.wipe for step in way(start, target).steps)


@pytest.mark.parametrize(("start", "target"), [("4.3.1", "3.9.1"), ("4.3.1", "4.2.0"), ("2.3.1", "2.1.1")])
def test_the_way_back_empties_the_state(start: str, target: str) -> None:
    """An earlier release does not open the stores of a later one: each instance restores."""
    back = way(start, target)
    assert back.kind is Kind.ONE_BOUNCE
    assert back.steps[0].wipe


@pytest.mark.parametrize(("start", "target"), [("2.4.1", "2.3.1"), ("2.0.1", "1.1.1"), ("3.9.1", "2.3.1")])
def test_there_is_no_way_back_to_an_earlier_format_while_instances_run(start: str, target: str) -> None:
    """`upgrade.from` names older releases than the instance's own, never newer ones."""
    none = found(start, target)
    assert isinstance(none, NoWay)
    assert none.offline is not None
    assert none.offline.steps[0].wipe


def test_what_cannot_be_turned_back_is_said_before() -> None:
    """A later line writes stores that the earlier one does not open; a patch does not."""
    assert "does not start with 3.9.1 on its state" in way("3.9.1", "4.3.1").no_return[0].text
    assert way("3.9.0", "3.9.1").no_return == ()


@pytest.mark.parametrize("target", ["0.10.1.1", "1.1.1", "2.0.1"])
def test_brokers_of_4_do_not_serve_clients_before_2_1(target: str) -> None:
    """KIP-896: not even offline, because the group looks stable and nothing is processed."""
    none = found("0.10.1.0", target, "3.9.2", "4.4.0")
    assert isinstance(none, NoWay)
    assert none.offline is None
    assert "4.4.0" in told(none)


def test_the_streams_protocol_needs_all_brokers_and_the_release() -> None:
    """4.2 on both sides; a broker that corrupts such a group is named; a change of the protocol is offline only."""
    to_streams = {"before": "classic", "after": "streams"}
    early = found("4.1.2", "4.1.2", "4.4.0", **to_streams)
    assert isinstance(early, NoWay)
    assert early.offline is None
    old = found("4.3.1", "4.3.1", "4.4.0", "3.9.2", **to_streams)
    assert isinstance(old, NoWay)
    assert old.offline is None
    assert "3.9.2" in told(old)
    bad = found("4.3.1", "4.3.1", "4.2.0", **to_streams)
    assert isinstance(bad, NoWay)
    assert bad.offline is None
    assert "KAFKA-20254" in bad.reasons[0].source
    good = found("4.3.1", "4.3.1", "4.4.0", **to_streams)
    assert isinstance(good, NoWay)
    assert good.offline is not None
    assert good.offline.steps[0].protocol is Protocol.STREAMS
    back = found("4.3.1", "4.3.1", "4.4.0", before="streams", after="classic")
    assert isinstance(back, NoWay)
    assert back.offline is not None


def test_a_group_of_the_streams_protocol_needs_one_bounce() -> None:
    """The instances exchange no format, so nothing of KIP-268 is left."""
    once = found("4.2.0", "4.3.1", "4.4.0", before="streams", after="streams")
    assert isinstance(once, Way)
    assert once.kind is Kind.ONE_BOUNCE
    assert once.steps[0].protocol is Protocol.STREAMS


@pytest.mark.parametrize(("start", "target"), [("0.9.0.1", "1.1.1"), ("3.9.1", "5.0.0"), ("3.9.1", "4.99.0")])
def test_an_unknown_line_is_refused(start: str, target: str) -> None:
    """Nothing is guessed about a release that the table does not have."""
    none = found(start, target)
    assert isinstance(none, NoWay)
    assert none.offline is None
    assert "knows no Kafka Streams" in told(none)


def test_without_a_known_broker_there_is_no_answer() -> None:
    """Unknown brokers are no brokers of the best kind."""
    with pytest.raises(ValueError, match="ask the brokers first"):
        Change(start=release("3.9.1"), target=release("4.3.1"), brokers=frozenset())


PATCHES = [StreamsRelease(facts.line, patch) for facts in LINES for patch in (0, 1, 2, 3)]


def test_every_pair_has_an_answer_that_keeps_the_rules() -> None:
    """What holds for every pair of known releases, on brokers of 3.9 and of 4.4."""
    brokers = [frozenset({release("3.9.2")}), frozenset({release("4.4.0")})]
    for start, target, served in itertools.product(PATCHES, PATCHES, brokers):
        answer = find_way(Change(start=start, target=target, brokers=served))
        assert answer.reasons, (start, target)
        assert all(reason.text and reason.source for reason in (*answer.reasons, *getattr(answer, "no_return", ())))
        ways = [answer] if isinstance(answer, Way) else [answer.offline] if answer.offline is not None else []
        for one in ways:
            assert all(step.release == target for step in one.steps)
            assert all(not step.upgrade_from or step.upgrade_from in accepted_values(target) for step in one.steps)
            assert one.steps[-1].upgrade_from == ""
            assert (one.kind is Kind.OFFLINE) == all(step.together for step in one.steps)
            assert len(one.steps) == (2 if one.kind is Kind.TWO_BOUNCES else 1)
        if isinstance(answer, Way):
            assert answer.kind is not Kind.OFFLINE
            low, high = sorted((start, target))
            facts = facts_of(low), facts_of(high)
            assert facts[0] is not None
            assert facts[1] is not None
            alike = facts[0].subscription_version == facts[1].subscription_version
            probing = low.line >= (2, 4)
            assert answer.kind is Kind.TWO_BOUNCES or alike or probing, (start, target)
            assert not (low.line <= (2, 3) and high.line >= (4, 0)), (start, target)
