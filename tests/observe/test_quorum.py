"""Who leads, is live or caught up, and what is committed: judged only by the leader's clock."""

from dataclasses import replace
from typing import Any

import pytest
from tests.golden.facts import mentions
from tests.model.values import IDS, LEADER_NOW_MS, answer, key, row

from kafka_quorum.api.properties import DEFAULT_FETCH_TIMEOUT_MS
from kafka_quorum.model.ids import NodeID, ReplicaKey
from kafka_quorum.model.known import Knowable, Known, Unknown
from kafka_quorum.model.memory import FirstSeen, Memory
from kafka_quorum.model.observed import QuorumView
from kafka_quorum.model.quorum import QuorumAnswer, Replica
from kafka_quorum.observe.instances import FetchTimeout, FetchTimeouts, Instances
from kafka_quorum.observe.quorum import (
    is_static,
    keyed,
    leader_of,
    live_voters,
    standing,
    view,
    without_answer,
)

TIMEOUT_MS = DEFAULT_FETCH_TIMEOUT_MS
SETTLES_S = 10.0
THREE = (key(3000), key(3001), key(3002))
NEW = key(3003)


def ago(of: ReplicaKey, fetched_ms: int, caught_up_ms: int | None = None, **more: int) -> Replica:
    """A replica that fetched, and was caught up, this long before the leader's present time."""
    caught_up = fetched_ms if caught_up_ms is None else caught_up_ms
    return row(of, last_fetch_ms=LEADER_NOW_MS - fetched_ms, last_caught_up_ms=LEADER_NOW_MS - caught_up, **more)


def with_rows(*voters: Replica, observers: tuple[Replica, ...] = (), **changes: Any) -> QuorumAnswer:  # noqa: ANN401 - whatever the field holds
    """An answer with these rows; 3000 leads."""
    return replace(answer([one.key for one in voters], **changes), voters=voters, observers=observers)


def judged(said: QuorumAnswer, memory: Memory | None = None, *, static: bool = False) -> tuple[QuorumView, Memory]:
    """The view of an answer, and the memory after it."""
    return view(
        said, memory or long_seen(said), live_within_ms=TIMEOUT_MS, taken_at_s=1.0, settles_s=SETTLES_S, static=static
    )


def long_seen(said: QuorumAnswer) -> Memory:
    """The memory of looks at this leader that saw every replica long before its last fetch."""
    rows = (*said.voters, *said.observers)
    seen = tuple(FirstSeen(key=one.key, instance="", at_ms=0, assumed=False) for one in rows)
    return Memory(leader=(said.leader_id, said.leader_epoch), first_seen=seen)


def chosen(timeouts: FetchTimeouts | None = None, **answers: Knowable[QuorumAnswer]) -> Knowable[QuorumAnswer]:
    """The leader's answer among these, by default with Kafka's fetch timeout; the names are `n3000` and so on."""
    said = {NodeID(int(name[1:])): answer for name, answer in answers.items()}
    return leader_of(said, timeouts or FetchTimeouts())


NO_LEADER = Unknown(reason="3001 is not the leader")


# The leader


def test_leader() -> None:
    """The answer of the only leader counts, whatever the others report."""
    said = answer(THREE)
    assert chosen(n3000=Known(value=said), n3001=NO_LEADER, n3002=NO_LEADER) == Known(value=said)


def test_highest_epoch() -> None:
    """Of two controllers that report themselves as leader, the one with the higher epoch counts."""
    old, new = answer(THREE, leader_epoch=5), answer([key(3001), key(3000), key(3002)], leader_epoch=6)
    assert chosen(n3000=Known(value=old), n3001=Known(value=new)) == Known(value=new)
    assert chosen(n3001=Known(value=new), n3000=Known(value=old)) == Known(value=new)


def test_deposed_leader_is_no_fallback() -> None:
    """If the leader of the highest epoch has no live majority, an older one does not count instead."""
    old = answer(THREE, leader_epoch=5)
    new = replace(with_rows(row(key(3000)), ago(key(3001), 9000), ago(key(3002), 9000)), leader_epoch=6)
    assert isinstance(chosen(n3000=Known(value=old), n3001=Known(value=new)), Unknown)


@pytest.mark.parametrize(
    ("voters", "silent", "known"),
    [(1, 0, True), (2, 0, True), (2, 1, False), (3, 1, True), (3, 2, False), (4, 1, True), (4, 2, False), (5, 2, True)],
)
def test_live_majority(voters: int, silent: int, *, known: bool) -> None:
    """A leader counts only with a live majority of all voters, itself included."""
    keys = [key(3000 + index) for index in range(voters)]
    rows = [row(one) for one in keys[: voters - silent]] + [ago(one, 9000) for one in keys[voters - silent :]]
    assert isinstance(chosen(n3000=Known(value=with_rows(*rows))), Known) is known


@pytest.mark.parametrize(
    ("leader", "least_ms", "known"),
    [(3000, 5000, True), (3000, 4999, False), (3001, 5000, False)],
    ids=["long", "short", "of a follower"],
)
def test_majority_within_the_leaders_own_timeout(leader: int, least_ms: int, *, known: bool) -> None:
    """The majority must have fetched within the timeout of the leader that they fetch from, at its lower bound."""
    said = with_rows(row(key(3000)), ago(key(3001), 5000), ago(key(3002), 5000))
    timeout = FetchTimeout(least_ms=least_ms, most_ms=30_000)
    timeouts = FetchTimeouts(by_node={NodeID(leader): timeout})
    assert isinstance(chosen(timeouts, n3000=Known(value=said)), Known) is known


def test_why_unknown() -> None:
    """Unknown has a reason: no controller runs, none leads, or the leader has no majority."""
    assert isinstance(chosen(), Unknown)
    silent = chosen(n3000=Unknown(reason="connection refused"), n3001=NO_LEADER)
    assert isinstance(silent, Unknown)
    assert "3000: connection refused" in silent.reason
    assert "3001" in silent.reason
    alone = chosen(n3000=Known(value=with_rows(row(key(3000)), ago(key(3001), 9000), ago(key(3002), 9000))))
    assert isinstance(alone, Unknown)
    assert mentions(alone.reason, 1, 3)


def test_leader_that_is_no_voter() -> None:
    """A leader outside its own voter set has no row with a clock, so the quorum is Unknown."""
    assert isinstance(chosen(n3009=Known(value=answer(THREE, leader_id=NodeID(3009)))), Unknown)


# Live


@pytest.mark.parametrize(("fetched_ms", "live"), [(0, True), (1999, True), (2000, True), (2001, False), (10**9, False)])
def test_live(fetched_ms: int, *, live: bool) -> None:
    """A voter is live while its last fetch is within the fetch timeout of the leader's own row."""
    said = with_rows(row(key(3000)), ago(key(3001), fetched_ms), row(key(3002)))
    assert (key(3001) in live_voters(said, TIMEOUT_MS)) is live


def test_never_fetched() -> None:
    """A stamp of -1 means that the voter never fetched."""
    said = with_rows(row(key(3000)), row(key(3001), last_fetch_ms=-1), row(key(3002)))
    assert live_voters(said, TIMEOUT_MS) == {key(3000), key(3002)}


def test_stamps_from_the_future() -> None:
    """A voter whose stamp is an hour ahead, after the leader's clock was set back, is not live.

    A voter whose stamp is a little ahead is live, but not known to be caught up.
    """
    view_, _ = judged(with_rows(row(THREE[0]), ago(THREE[1], -3_600_000), ago(THREE[2], -500)))
    assert view_.live == {THREE[0], THREE[2]}
    assert view_.caught_up == {THREE[0]}


def test_longer_fetch_timeout() -> None:
    """With a longer fetch timeout a slower voter is live."""
    said = with_rows(row(key(3000)), ago(key(3001), 5000), row(key(3002)))
    assert key(3001) in live_voters(said, 6000)


def test_operators_clock_decides_nothing() -> None:
    """The judgement does not depend on the operator's clock."""
    said = answer(THREE)
    early, _ = view(said, Memory(), live_within_ms=TIMEOUT_MS, taken_at_s=0.0, settles_s=SETTLES_S)
    late, _ = view(said, Memory(), live_within_ms=TIMEOUT_MS, taken_at_s=10.0**9, settles_s=SETTLES_S)
    assert (early.live, early.caught_up, early.committed) == (late.live, late.caught_up, late.committed)


# Caught up


@pytest.mark.parametrize(
    ("fetched_ms", "caught_up_ms", "caught_up"),
    [(100, 400, True), (100, 2000, True), (100, 2001, False), (9000, 400, False), (100, LEADER_NOW_MS + 1, False)],
    ids=["both", "just", "lags", "not live", "never"],
)
def test_caught_up(fetched_ms: int, caught_up_ms: int, *, caught_up: bool) -> None:
    """A replica is caught up if it is live and was caught up recently; a stamp of -1 means never."""
    said = with_rows(row(key(3000)), row(key(3001)), ago(key(3002), fetched_ms, caught_up_ms))
    assert (key(3002) in judged(said)[0].caught_up) is caught_up


def test_leader_is_caught_up() -> None:
    """The leader is caught up with itself, even if its own row has -1."""
    said = with_rows(row(key(3000), last_caught_up_ms=-1), row(key(3001)), row(key(3002)))
    assert key(3000) in judged(said)[0].caught_up


def test_observers_are_judged_alike() -> None:
    """Observers are live and caught up by the same stamps; one with the leader's node id is not the leader."""
    old_disk = ago(key(3000, 9), 9000)
    said = with_rows(*(row(one) for one in THREE), observers=(ago(NEW, 300), old_disk))
    seen, _ = judged(said)
    assert NEW in seen.caught_up
    assert old_disk.key not in seen.caught_up | seen.live


# Since this container was first seen


def later(moment_ms: int, stamp_ms: int, *, of: ReplicaKey = THREE[2], epoch: int = 5) -> QuorumAnswer:
    """A look at this time of the leader's clock, at which one voter fetches, and was caught up at `stamp_ms`."""
    now = LEADER_NOW_MS + moment_ms
    rows = tuple(
        row(one, last_fetch_ms=now, last_caught_up_ms=LEADER_NOW_MS + stamp_ms if one == of else now) for one in THREE
    )
    return replace(answer(THREE, leader_epoch=epoch), voters=rows)


def running_in(**containers: str) -> Instances:
    """Controllers in these containers, by names like `n3002`; our controllers without one do not run."""
    by_key = {key(int(name[1:])): container for name, container in containers.items()}
    return Instances(own=frozenset(IDS), running=by_key)


def seen_in(*looks: tuple[QuorumAnswer, Instances], memory: Memory | None = None) -> list[QuorumView]:
    """The views of these looks, one after the other."""
    remembered, views = memory or Memory(), []
    for said, instances in looks:
        found, remembered = view(
            said, remembered, live_within_ms=30_000, taken_at_s=1.0, settles_s=SETTLES_S, instances=instances
        )
        views.append(found)
    return views


BEFORE, AFTER = running_in(n3000="a", n3001="b", n3002="c"), running_in(n3000="a", n3001="b", n3002="d")


def test_restarted_voter_counts_from_its_own_fetch() -> None:
    """A stamp of an earlier process does not count for the container that runs now."""
    views = seen_in(
        (later(0, 0), BEFORE),
        (later(400, 400), BEFORE),
        (later(800, 600), AFTER),
        (later(1200, 600), AFTER),
        (later(1600, 800), AFTER),
        (later(2000, 801), AFTER),
    )
    assert [THREE[2] in one.caught_up for one in views] == [False, True, False, False, False, True]
    assert [THREE[2] in one.unproven for one in views] == [True, False, False, False, False, False]
    assert all(THREE[2] in one.live for one in views)


def test_fetch_timeout_makes_nobody_caught_up() -> None:
    """A caught-up stamp counts for two seconds, even with a fetch timeout of 30 s."""
    views = seen_in((later(0, 0), BEFORE), (later(2400, 400), BEFORE), (later(2401, 400), BEFORE))
    assert [THREE[2] in one.shown for one in views] == [True, True, False]
    assert THREE[2] in views[1].caught_up
    assert all(THREE[2] in one.live for one in views)


def test_controller_that_does_not_run_is_not_caught_up() -> None:
    """A controller of ours without a running container is not caught up; for others the stamp decides."""
    gone = Instances(own=frozenset(IDS[:2]), running={THREE[0]: "a"})
    _, second = seen_in((later(0, 0), gone), (later(400, 400), gone))
    assert second.caught_up == second.shown == {THREE[0], THREE[2]}


def test_leader_whose_pod_is_being_deleted_is_not_caught_up() -> None:
    """The leader is caught up without a stamp, but only while its container runs."""
    leader = next(one for one in THREE if one.node_id == later(0, 0).leader_id)
    ends = Instances(own=frozenset(IDS), running={one: "a" for one in THREE if one != leader})
    first, second = seen_in((later(0, 0), BEFORE), (later(400, 400), ends))
    assert leader in first.caught_up
    assert leader not in second.shown
    assert leader in second.live


def test_other_leader_is_another_clock() -> None:
    """The first look at a new leader proves no stamp, whatever the last leader showed."""
    views = seen_in(
        (later(0, 0), BEFORE), (later(400, 400), BEFORE), (later(100, 90, epoch=6), BEFORE), (later(500, 480), BEFORE)
    )
    assert [THREE[2] in one.caught_up for one in views[:3]] == [False, True, False]
    assert THREE[2] in views[2].unproven
    restarted = seen_in((later(0, 0), BEFORE), (later(400, 300), AFTER), (later(100, 90, epoch=6), AFTER))
    assert restarted[1].unproven == frozenset()


def test_clock_that_was_set_back() -> None:
    """If the leader's clock is set back, the looks start over, and no earlier stamp counts."""
    hour_ms = 3_600_000
    views = seen_in(
        (later(hour_ms, hour_ms), BEFORE),
        (later(hour_ms + 400, hour_ms + 400), BEFORE),
        (later(0, hour_ms + 400), BEFORE),
        (later(400, 399), BEFORE),
    )
    assert [THREE[2] in one.caught_up for one in views] == [False, True, False, True]


def test_nothing_is_remembered_of_who_is_gone() -> None:
    """A container that was gone in one look counts as new, because another one may have run between the looks."""
    away = running_in(n3000="a", n3001="b")
    views = seen_in(
        (later(0, 0), BEFORE), (later(400, 400), BEFORE), (later(800, 800), away), (later(900, 850), BEFORE)
    )
    assert [THREE[2] in one.caught_up for one in views] == [False, True, False, False]
    assert views[3].unproven == frozenset()


# Looks


def looked(*answers: QuorumAnswer) -> Memory:
    """What is remembered after these looks."""
    memory = long_seen(answers[0])
    for said in answers:
        _, memory = judged(said, memory)
    return memory


def at(moment_ms: int, *, behind: bool = False, epoch: int = 5) -> QuorumAnswer:
    """A look at this time of the leader's clock; with `behind` the newcomer lags."""
    now = LEADER_NOW_MS + moment_ms
    rows = tuple(row(one, last_fetch_ms=now, last_caught_up_ms=now) for one in THREE)
    new = row(NEW, last_fetch_ms=now, last_caught_up_ms=now - (9000 if behind else 0))
    return replace(answer(THREE, leader_epoch=epoch), voters=rows, observers=(new,))


def test_looks_in_a_row() -> None:
    """Each later look at the leader counts as one."""
    assert looked(at(0), at(400), at(800)).looks(NEW) == 3


def test_same_moment_counts_once() -> None:
    """Two looks at the same time of the leader's clock count as one."""
    assert looked(at(0), at(0), at(0)).looks(NEW) == 1
    assert looked(at(0), at(400), at(400)).looks(NEW) == 2


def test_lagging_starts_over() -> None:
    """A look in which the replica lags starts the count over."""
    assert looked(at(0), at(400), at(800, behind=True)).looks(NEW) == 0
    assert looked(at(0), at(400), at(800, behind=True), at(1200)).looks(NEW) == 1


def test_new_leader_starts_over() -> None:
    """A new epoch starts the count over, because its leader has another clock."""
    assert looked(at(0), at(400), at(800, epoch=6)).looks(NEW) == 1


def test_no_answer_starts_over() -> None:
    """A look without an answer starts the count over, and is itself counted."""
    memory = without_answer(looked(at(0), at(400)))
    assert (memory.looks(NEW), memory.unknown_looks) == (0, 1)
    assert without_answer(memory).unknown_looks == 2
    _, again = judged(at(800), memory)
    assert (again.looks(NEW), again.unknown_looks) == (1, 0)


def test_no_answer_keeps_the_voter_set() -> None:
    """A look without an answer does not change the remembered voter set."""
    memory = looked(at(0))
    assert without_answer(memory).voter_set == memory.voter_set
    assert without_answer(memory).committed_voters == memory.committed_voters


# Committed


def grown(high_watermark: int, log_end: int, epoch: int = 5) -> QuorumAnswer:
    """An answer that shows four voters."""
    rows = tuple(row(one, log_end_offset=log_end) for one in (*THREE, NEW))
    return replace(answer((*THREE, NEW), high_watermark=high_watermark, leader_epoch=epoch), voters=rows)


def test_committed_at_the_first_look() -> None:
    """A set is committed at once if the high watermark is at the log end."""
    seen, _ = judged(answer(THREE))
    assert seen.committed
    assert seen.committed_voters == frozenset(THREE)


def test_committed_when_the_watermark_arrives() -> None:
    """A change is committed when the high watermark has reached the log end of the first look that showed it."""
    _, memory = judged(answer(THREE))
    first, memory = judged(grown(100, 110), memory)
    assert (first.committed, first.committed_voters) == (False, frozenset(THREE))
    second, memory = judged(grown(109, 150), memory)
    assert (second.committed, second.committed_voters) == (False, frozenset(THREE))
    third, memory = judged(grown(110, 190), memory)
    assert (third.committed, third.committed_voters) == (True, frozenset((*THREE, NEW)))
    assert memory.committed_voters == frozenset((*THREE, NEW))


def test_committed_stays() -> None:
    """A set that was committed in an epoch stays committed in it, even if the log grows."""
    _, memory = judged(grown(100, 100))
    seen, _ = judged(grown(100, 500), memory)
    assert seen.committed


def test_new_epoch_asks_again() -> None:
    """In a new epoch the same set must be seen committed again, because the log may have been truncated."""
    _, memory = judged(grown(100, 100))
    seen, memory = judged(grown(100, 120, epoch=6), memory)
    assert not seen.committed
    assert seen.committed_voters == frozenset((*THREE, NEW))
    assert judged(grown(120, 130, epoch=6), memory)[0].committed


def test_change_taken_back() -> None:
    """If a set disappears before it was committed, the earlier set is the committed one."""
    _, memory = judged(answer(THREE))
    _, memory = judged(grown(100, 110), memory)
    back, _ = judged(answer(THREE, leader_epoch=6, high_watermark=105), memory)
    assert back.committed
    assert back.committed_voters == frozenset(THREE)


def test_a_static_set_proves_nothing_of_the_same_set_in_the_log() -> None:
    """A committed static set does not prove the same set in the log, which the leader writes at kraft.version 1.

    No record stored the static set, so the written set must be seen committed itself.
    """
    configured, memory = judged(grown(100, 100), static=True)
    assert configured.committed
    written, memory = judged(grown(100, 102), memory)
    assert not written.committed
    assert judged(grown(102, 110), memory)[0].committed


def test_unknown_watermark() -> None:
    """While the leader has no high watermark, no set is committed."""
    empty = with_rows(*(row(one, log_end_offset=0) for one in THREE), high_watermark=-1)
    assert not judged(empty)[0].committed


def test_unknown_directory_ids() -> None:
    """The voters of a static quorum are judged without directory ids."""
    static = [ReplicaKey(node_id=node_id, directory_id=None) for node_id in IDS]
    seen, _ = judged(answer(static))
    assert seen.caught_up == frozenset(static)


# Static quorums


BARE = tuple(ReplicaKey(node_id=one.node_id, directory_id=None) for one in THREE)


def test_keys_of_static_voters() -> None:
    """Voters without directory ids get the keys of our disks; voters of others, and observers, do not change."""
    own = {one.node_id: one for one in THREE[:2]}
    said = keyed(answer(BARE, (NEW,)), own)
    assert [one.key for one in said.voters] == [*THREE[:2], BARE[2]]
    assert said.observers == answer(BARE, (NEW,)).observers
    assert keyed(answer(THREE), {one.node_id: key(one.node_id, 2) for one in THREE}) == answer(THREE)


def test_static_by_the_voters() -> None:
    """A quorum is static if any voter has no directory id."""
    assert is_static(answer(BARE))
    assert is_static(answer((*THREE[:2], BARE[2])))
    assert not is_static(answer(THREE, (BARE[2],)))


def test_view_of_a_static_quorum() -> None:
    """The view is static if the caller sets this."""
    for static in (True, False):
        seen, _ = view(
            answer(THREE), Memory(), live_within_ms=TIMEOUT_MS, taken_at_s=1.0, settles_s=SETTLES_S, static=static
        )
        assert seen.static is static
    assert not view(answer(THREE), Memory(), live_within_ms=TIMEOUT_MS, taken_at_s=1.0, settles_s=SETTLES_S)[0].static


def test_stopped_controllers_are_not_caught_up() -> None:
    """A controller that does not run loses its looks; the others keep theirs."""
    memory = looked(at(0), at(400))
    kept = standing(memory, [THREE[0].node_id])
    assert (kept.looks(THREE[0]), kept.looks(THREE[1]), kept.looks(NEW)) == (0, 2, 2)
    assert standing(memory, []) == memory
    assert kept.voter_set == memory.voter_set
