"""Generations of certificates: which one every Secret has, and which one controllers shall show as clients."""

from dataclasses import replace

import pytest
from tests.model.certificates import (
    LEAF_S,
    leaf_seen,
    looked,
    material,
    of_others,
    recorded,
    secured,
    source,
    wanted,
    with_leaf,
)
from tests.model.values import IDS, NOW_S, revision, without_pod

from kafka_quorum.model.certified import holders
from kafka_quorum.model.desired import Desired, Runtime
from kafka_quorum.model.generations import (
    BROUGHT_AFTER_S,
    MOUNTED_AFTER_S,
    complete,
    due_for_lost,
    generation_due,
    is_mounted,
    lost,
    newest,
    pauses_until_s,
    written_s,
)
from kafka_quorum.model.known import Known, Unknown
from kafka_quorum.model.material import BROKERS, OPERATOR, Holder, LeafSeen, Material, controller

RECORD = recorded()
THIRD = controller(IDS[2])
ENDS_S = int(NOW_S) + LEAF_S
MIDDLE_S = ENDS_S - (LEAF_S + 300) / 6
"""Half of the time between a renewal and the end of the earlier leaf is over: a leaf begins five minutes early."""


def renewed(generation: int = 2, **changes: int) -> Material:
    """Every Secret has a leaf of this generation, which replaced one of now."""
    of = material(RECORD)
    for holder in holders(RECORD):
        seen = leaf_seen(holder, generation=generation, **({"before_ends_s": ENDS_S} | changes))
        of = with_leaf(of, holder, seen)
    return of


def due(seen: Material | None, now_s: float, *begun: Runtime, spec: Desired | None = None) -> int:
    """The generation that controllers of this look shall show."""
    look = looked(RECORD, seen, secured(), *begun)
    return generation_due(spec or wanted(), look, RECORD, now_s)


def unread(of: Material, *which: Holder) -> Material:
    """The same Secrets, except that these could not be read."""
    bad = Unknown(reason="no right")
    return replace(of, leafs=tuple((one, bad if one in which else seen) for one, seen in of.leafs))


def test_a_generation_is_complete_when_every_controller_has_it() -> None:
    """One controller's Secret that is missing, older, or was not read holds a generation back."""
    assert complete(renewed(), RECORD) == 2
    assert complete(with_leaf(renewed(), THIRD, leaf_seen(THIRD)), RECORD) == 1
    assert complete(with_leaf(renewed(), THIRD, None), RECORD) == 0
    assert complete(unread(renewed(), THIRD), RECORD) == 0
    assert complete(unread(renewed(), OPERATOR, BROKERS), RECORD) == 2


def test_the_first_generation_is_shown_at_once() -> None:
    """Controllers that were never made for a generation start when every Secret has one, whoever it is for."""
    bare = replace(RECORD, applied_revision=None)
    look = looked(bare, renewed(3))
    assert generation_due(wanted(), look, bare, NOW_S) == 3
    for holder in holders(RECORD):
        look = looked(bare, unread(renewed(3), holder))
        assert generation_due(wanted(), look, bare, NOW_S) == 0


def test_restarts_begin_in_the_middle() -> None:
    """The generation goes up when half of the time between the renewal and the end of the earlier leaf is over."""
    assert due(renewed(), MIDDLE_S - 1) == 1
    assert due(renewed(), MIDDLE_S) == 2


@pytest.mark.parametrize(
    "seen",
    [
        pytest.param(with_leaf(renewed(), THIRD, leaf_seen(THIRD)), id="one is refused"),
        pytest.param(with_leaf(renewed(), THIRD, None), id="one is missing"),
        pytest.param(unread(renewed(), THIRD), id="one was not read"),
        pytest.param(unread(renewed(), BROKERS, OPERATOR), id="those of clients were not read"),
        pytest.param(with_leaf(renewed(), BROKERS, leaf_seen(BROKERS)), id="that of the brokers is refused"),
    ],
)
def test_one_secret_keeps_no_other_controller_from_its_restart(seen: Material) -> None:
    """The others restart in the same middle as if every Secret had the renewed leaf, and not before."""
    assert due(seen, MIDDLE_S - 1) == 1
    assert due(seen, MIDDLE_S) == 2


def test_without_a_renewed_leaf_of_a_controller_nothing_restarts() -> None:
    """The generation stays while no controller's Secret is known to have a later leaf."""
    every = [controller(node_id) for node_id in RECORD.node_ids]
    earlier = renewed()
    for holder in every:
        earlier = with_leaf(earlier, holder, leaf_seen(holder))
    assert due(earlier, ENDS_S) == due(unread(renewed(), *every), ENDS_S) == due(None, ENDS_S) == 1


def test_a_generation_that_was_begun_stays() -> None:
    """What a restarted controller has is not taken back, also before its time."""
    second = secured(certificates=2)
    record = replace(RECORD, nodes=(replace(RECORD.nodes[0], revision=revision(second).name), *RECORD.nodes[1:]))
    look = looked(record, renewed(), secured(), second)
    assert generation_due(wanted(), look, record, NOW_S) == 2


def test_an_unknown_end_restarts_soon() -> None:
    """If the earlier end is not known, the restarts begin as soon as every pod mounts the new content."""
    unknown = renewed(before_ends_s=0)
    assert due(unknown, NOW_S + MOUNTED_AFTER_S - 1) == 1
    assert due(unknown, NOW_S + MOUNTED_AFTER_S) == 2


def test_a_time_in_the_future_counts_for_nothing() -> None:
    """Anybody who may write a Secret may write when it was composed: a day that has not come holds nothing up."""
    seen = leaf_seen(THIRD, generation=2, before_ends_s=ENDS_S, composed_s=int(NOW_S) + 10**9)
    plain = replace(seen, composed_s=0)
    later_s = NOW_S + MOUNTED_AFTER_S
    assert is_mounted(seen, later_s) is is_mounted(plain, later_s) is True
    ahead = replace(seen, composed_s=int(later_s) + 30)
    assert not is_mounted(ahead, later_s)
    assert due(renewed(composed_s=int(NOW_S) + 10**9), MIDDLE_S) == 2


def test_the_newest_generation_survives_lost_secrets() -> None:
    """Without any Secret the newest generation is the one that controllers were made for."""
    bare = replace(material(RECORD), leafs=tuple((one, Known(value=None)) for one in holders(RECORD)))
    look = looked(RECORD, bare, secured(certificates=4))
    record = replace(RECORD, applied_revision=look.revisions[0].name)
    assert newest(bare, look, record) == 4
    assert newest(renewed(7), look, record) == 7


def test_secrets_of_brokers_count_only_without_any_other() -> None:
    """More users may write them: what the controllers and the operator have, or are made for, is the newest one."""
    ahead = with_leaf(material(RECORD), BROKERS, leaf_seen(BROKERS, generation=9))
    assert newest(ahead, looked(RECORD, ahead), RECORD) == 1
    alone = replace(ahead, leafs=tuple((one, seen) for one, seen in ahead.leafs if one == BROKERS))
    assert newest(alone, looked(RECORD, alone), RECORD) == 1
    assert newest(alone, replace(looked(RECORD, alone), revisions=()), RECORD) == 9


def test_a_copy_of_another_issuer_was_written_when_it_was_copied() -> None:
    """Its begin is not some minutes early: a container that started after the copy has loaded it."""
    seen = replace(leaf_seen(THIRD, generation=2), composed_s=int(NOW_S) + 5)
    seen = replace(seen, certificate=replace(seen.certificate, not_before_s=int(NOW_S)))
    assert written_s(seen, NOW_S + 10) == NOW_S + 5


def test_a_lost_leaf_is_one_that_a_pod_may_show() -> None:
    """A Secret is lost if it is gone and its controller has a pod; a newcomer lacks one, and unread is not gone."""
    gone = with_leaf(material(RECORD), THIRD, None)
    assert list(lost(gone, looked(RECORD, gone), RECORD)) == [THIRD]
    assert list(lost(gone, without_pod(looked(RECORD, gone), 3002), RECORD)) == []
    unread = tuple((one, Unknown(reason="no right")) for one in holders(RECORD))
    assert list(lost(replace(gone, leafs=unread), looked(RECORD, gone), RECORD)) == []


def test_an_earlier_leaf_than_the_pod_is_made_for_is_lost() -> None:
    """The pod counts as one that shows the later leaf, so all get a generation above it, and it restarts again."""
    third = secured(certificates=3)
    record = recorded(third)
    seen = with_leaf(renewed(3), THIRD, leaf_seen(THIRD, generation=2))
    look = looked(record, seen, third)
    assert list(lost(seen, look, record)) == [THIRD]
    assert due_for_lost(seen, look, record) == 4
    assert list(lost(renewed(3), look, record)) == []
    assert list(lost(seen, without_pod(look, 3002), record)) == []


def test_given_leafs_pause_no_longer_than_the_restarts_to_them_can_wait() -> None:
    """Another given leaf of a controller is used three minutes after the last copy, or when its roll must begin.

    It never comes before pods mount what was written last, and at its end it is replaced at once.
    """
    now_s = int(NOW_S)

    def until_s(ends_in_s: int) -> float:
        seen = with_leaf(material(RECORD), OPERATOR, replace(leaf_seen(OPERATOR), composed_s=now_s))
        leaf = replace(leaf_seen(THIRD), composed_s=now_s - 1)
        leaf = replace(leaf, certificate=replace(leaf.certificate, not_after_s=now_s + ends_in_s))
        return pauses_until_s(of_others(), seen, THIRD, leaf, NOW_S) - now_s

    spec, life_s = of_others().trust, leaf_seen(THIRD).certificate.life_s
    assert until_s(LEAF_S) == BROUGHT_AFTER_S
    assert until_s(30) == 30
    assert until_s(90) == MOUNTED_AFTER_S
    soon = replace(leaf_seen(THIRD).certificate, not_after_s=now_s + 600)
    assert life_s > soon.life_s > 0
    roll_s = spec.renewal_s(now_s + 600, soon.life_s, 1 / 2) - now_s - MOUNTED_AFTER_S
    assert until_s(600) == max(min(BROUGHT_AFTER_S, roll_s), MOUNTED_AFTER_S)


HOUR_S = 3600
YEAR_S = 365 * 24 * HOUR_S
EVENTS = Holder(role=BROKERS.role, pool="events")


def lasting(leaf: LeafSeen, begin_s: int, end_s: int) -> LeafSeen:
    """The same leaf with other times."""
    return replace(leaf, certificate=replace(leaf.certificate, not_before_s=begin_s, not_after_s=end_s))


def pool_pauses_s(*, begun_s: int, ends_s: int, source_ends_s: int | None, at_s: int = 0) -> float:
    """How long after the last generation a pool's leaf waits; all times are seconds after it.

    Every other leaf lives a year. `source_ends_s` is the end of what the issuer gave for the pool since then.
    """
    now_s = int(NOW_S)
    seen = with_leaf(material(RECORD), BROKERS, None)
    for holder in (*map(controller, RECORD.node_ids), OPERATOR):
        leaf = replace(leaf_seen(holder), composed_s=now_s)
        seen = with_leaf(seen, holder, lasting(leaf, now_s - 10, now_s + YEAR_S))
    if source_ends_s is not None:
        given = source(BROKERS)
        given = replace(given, certificate=replace(given.certificate, not_after_s=now_s + source_ends_s))
        seen = replace(seen, sources=((EVENTS, Known(value=given)),))
    leaf = lasting(replace(leaf_seen(EVENTS), composed_s=now_s), now_s + begun_s, now_s + ends_s)
    return pauses_until_s(of_others(), seen, EVENTS, leaf, NOW_S + at_s) - now_s


def test_a_given_leaf_of_a_pool_is_replaced_before_it_ends() -> None:
    """One that lives an hour, beside others that live a year: the pause ends when the restarts must begin."""
    restarts_s = HOUR_S - HOUR_S // 6 - MOUNTED_AFTER_S
    assert pool_pauses_s(begun_s=0, ends_s=HOUR_S, source_ends_s=2 * HOUR_S) == restarts_s
    begun_s = -1200  # it was copied again, for another pool
    ends_s, renewed_s = begun_s + HOUR_S, begun_s + HOUR_S * 5 // 3
    assert pool_pauses_s(begun_s=begun_s, ends_s=ends_s, source_ends_s=renewed_s) == restarts_s + begun_s
    assert pool_pauses_s(begun_s=0, ends_s=YEAR_S, source_ends_s=2 * YEAR_S) == HOUR_S
    assert pool_pauses_s(begun_s=0, ends_s=HOUR_S, source_ends_s=None) == HOUR_S


def test_short_leafs_of_a_pool_bring_no_generation_at_each_change() -> None:
    """A user who gives certificates that end soon, again and again, restarts servers once a pause, as before."""
    for minutes in range(60):
        assert pool_pauses_s(begun_s=0, ends_s=300, source_ends_s=60 * minutes + 300, at_s=60 * minutes) == HOUR_S


def test_a_leaf_of_a_pool_that_began_long_ago_leads_to_no_earlier_restarts() -> None:
    """Its issuer may write any beginning: what counts is its end."""
    ends_s = 2 * HOUR_S // 3
    assert pool_pauses_s(begun_s=-YEAR_S, ends_s=ends_s, source_ends_s=2 * HOUR_S) == ends_s - 600 - MOUNTED_AFTER_S


def test_a_part_of_the_pause_always_passes() -> None:
    """Also if the leaf in the Secret has ended: more users may write that Secret."""
    assert pool_pauses_s(begun_s=-HOUR_S, ends_s=-10, source_ends_s=2 * HOUR_S) == HOUR_S // 6
    assert pool_pauses_s(begun_s=-HOUR_S, ends_s=700, source_ends_s=2 * HOUR_S) == HOUR_S // 6


def test_a_lost_leaf_that_is_refused_begins_no_generation_at_each_roll() -> None:
    """What the others were restarted for meanwhile is new for the controller whose Secret is lost."""
    second = secured(certificates=2)
    record = replace(RECORD, nodes=tuple(replace(node, revision=revision(second).name) for node in RECORD.nodes[:2]))
    record = replace(record, nodes=(*record.nodes, RECORD.nodes[2]))
    seen = with_leaf(renewed(), THIRD, None)
    look = looked(record, seen, secured(), second)
    assert list(lost(seen, look, record)) == [THIRD]
    assert due_for_lost(seen, look, record) == 2
    gone = replace(look, revisions=())
    assert due_for_lost(seen, gone, record) == 2
