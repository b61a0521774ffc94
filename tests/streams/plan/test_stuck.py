"""One instance may process nothing while the others do: each partition that gets records must be committed on."""

from dataclasses import replace

import pytest
from tests.streams.plan.test_upkeep import made, pod_of, situation

from kafka_quorum.model.known import Knowable, Known, Unknown
from kafka_streams.model.membership import Group, GroupState, Member
from kafka_streams.model.observed import Memory
from kafka_streams.model.record import Change, Stage
from kafka_streams.model.way import Kind, Protocol, Step
from kafka_streams.observe.view import remembered
from kafka_streams.plan.facts import Situation
from kafka_streams.plan.gates import processes

A, B = ("words", 0), ("words", 1)
Offsets = dict[tuple[str, int], int]


def group(
    committed: Offsets | None, ends: Offsets, *, member: str = "one", state: GroupState = GroupState.STABLE
) -> Group:
    """A group of one member; `None`: its offsets are not known."""
    known: Knowable[Offsets] = Unknown(reason="no answer") if committed is None else Known(value=committed)
    members = (Member(member_id=member, instance_id="", host="10.0.0.1"),)
    return Group(protocol=Protocol.CLASSIC, state=state, members=members, committed=known, ends=Known(value=ends))


def seen(*groups: Group) -> Situation:
    """The situation after looks at these groups, one second apart."""
    memory = Memory()
    for number, one in enumerate(groups):
        memory = remembered(Known(value=one), memory, float(number), 15.0)
    base = situation(made(1))
    return replace(base, observed=replace(base.observed, group=Known(value=groups[-1]), memory=memory))


def test_a_partition_that_nobody_processes_is_named() -> None:
    """The group as a whole has committed more, and one partition with new records has not."""
    now = seen(group({A: 5, B: 5}, {A: 5, B: 5}), group({A: 9, B: 5}, {A: 9, B: 9}))
    assert now.stuck == (B,)
    assert [text for text in processes(now, now.record.slots[0]) if "words-1 gets records" in text]


@pytest.mark.parametrize(
    ("committed", "ends"),
    [({A: 9, B: 6}, {A: 9, B: 9}), ({A: 9, B: 5}, {A: 9, B: 6}), ({A: 5, B: 5}, {A: 5, B: 6})],
    ids=["both are committed on", "the end stays behind a marker", "nothing new"],
)
def test_what_is_committed_or_gets_nothing_is_not_stuck(committed: Offsets, ends: Offsets) -> None:
    """A partition without new records may have a lag for ever, as a transaction's marker makes it."""
    assert seen(group({A: 5, B: 5}, {A: 5, B: 6}), group(committed, ends)).stuck == ()


def test_a_topic_that_is_not_read_any_more_is_nobodys() -> None:
    """Its committed offsets stay for days, and others write to it; a partition of a topic that is read counts."""
    first, last = (
        group({A: 5, ("old", 0): 5}, {A: 5, ("old", 0): 5}),
        group({A: 5, ("old", 0): 5}, {A: 9, ("old", 0): 9}),
    )
    assert seen(first, replace(last, topics=frozenset({"words"}))).stuck == (A,)
    assert seen(first, last).stuck == (("old", 0), A)


def test_it_counts_from_when_the_group_is_stable_with_the_same_members() -> None:
    """A rebalance, another member, or offsets that were not known begin anew."""
    first, last = group({A: 5}, {A: 5}), group({A: 5}, {A: 9})
    assert seen(first, last).stuck == (A,)
    assert seen(first, group({A: 5}, {A: 9}, member="two")).stuck == ()
    assert seen(first, replace(first, state=GroupState.PREPARING), last).stuck == ()
    assert seen(group(None, {A: 5}), last).stuck == ()
    assert seen(group(None, {A: 5}), first, last).stuck == (A,)


@pytest.mark.parametrize(
    ("owner", "runs", "counts"), [("one", 1, False), ("one", 2, True), ("another", 1, True), ("", 1, True)]
)
def test_what_the_change_has_not_reached_is_no_fault_of_it(owner: str, runs: int, *, counts: bool) -> None:
    """It may be what the change repairs. What has its revision counts, and so does what nobody is known to have."""
    owners = {A: owner} if owner else {}
    now = seen(group({A: 5}, {A: 5}), replace(group({A: 5}, {A: 9}), owners=owners))
    before, wanted = made(1), now.desired.runtime
    step = Step(release=wanted.release)
    change = Change(
        start=wanted.release,
        target=wanted.release,
        start_protocol=wanted.protocol,
        target_protocol=wanted.protocol,
        kind=Kind.ONE_BOUNCE,
        steps=(step,),
        stage=Stage.BOUNCING,
    )
    asked = made(2)
    pod = replace(pod_of(before if runs == 1 else asked, deleting=False), ip="10.0.0.1")
    changing = replace(
        now,
        desired=replace(now.desired, runtime=asked.runtime),
        observed=replace(now.observed, pods=(pod,), revisions=(before, asked)),
        record=replace(now.record, change=change),
    )
    assert changing.stuck == ((A,) if counts else ())
    assert changing.lag == 4
    assert changing.lag_reached == (4 if counts else 0)
