"""Controllers whose certificates end soon come first: the contract says so while a pool has the disruption token."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Final

import pytest
from tests.model.certificates import everything, leaf_seen, looked, material, recorded, secured, wanted, with_leaf
from tests.model.values import IDS, NAME, NOW_S, answering, kube_nodes, saying, situation, with_pod

from kafka_quorum.model.actions import ApplyContract
from kafka_quorum.model.admission import Admission, PodQuestion
from kafka_quorum.model.certified import holders
from kafka_quorum.model.contract import Contract, StoredContract, Turn
from kafka_quorum.model.desired import Desired
from kafka_quorum.model.generations import LATE
from kafka_quorum.model.ids import NodeID
from kafka_quorum.model.known import Known, Unknown
from kafka_quorum.model.material import BROKERS, LeafSeen, controller
from kafka_quorum.model.names import keystore_file, token_holder
from kafka_quorum.model.observed import Observed, Unreadable
from kafka_quorum.model.registered import BrokerSeen
from kafka_quorum.model.trust import TrustPolicy
from kafka_quorum.plan.brokers.contract import FILES_MISSING
from kafka_quorum.plan.brokers.contract import contract as published
from kafka_quorum.plan.brokers.turn import RESTART_S, due_turn
from kafka_quorum.plan.facts.contract import due_contract
from kafka_quorum.plan.facts.token import why_no_token
from kafka_quorum.plan.releases.rolls import roll
from kit.stamps import second
from kit.token import Token

pytestmark = pytest.mark.usefixtures("real_token")

RECORD: Final = recorded()
POOLS: Final = Token(holder="pool/hot", since="", resource_version="4")
FREE: Final = replace(POOLS, holder="")
OURS: Final = replace(POOLS, holder=token_holder(NAME))
LIFE_S: Final = 90 * 24 * 3600
ENDS_S: Final = int(NOW_S) + LIFE_S
RENEWAL_S: Final = LIFE_S / 3
MARGIN_S: Final = RENEWAL_S * LATE
FROM_S: Final = ENDS_S - MARGIN_S
SPEC: Final = wanted(trust=TrustPolicy(leaf_s=LIFE_S))
TURN: Final = Turn(ends_s=ENDS_S, last_s=int(ENDS_S - MARGIN_S / 2))


def leaf(node_id: int, life_s: int) -> LeafSeen:
    """The second leaf of a controller: it was put into its Secret two thirds of its life before the first one ends."""
    begin_s = ENDS_S - 2 * life_s // 3
    found = leaf_seen(controller(IDS[node_id]), generation=2, before_ends_s=ENDS_S, composed_s=begin_s)
    times = replace(found.certificate, not_before_s=begin_s, not_after_s=begin_s + life_s)
    return replace(found, certificate=times)


def renewed(token: Token = POOLS, life_s: int = LIFE_S) -> Observed:
    """Each Secret has the second leaf, no controller has restarted yet, and the first leafs end soon."""
    seen = material(RECORD)
    for holder in holders(RECORD):
        files = everything() | {keystore_file(1), keystore_file(2)}
        seen = with_leaf(seen, holder, leaf_seen(holder, generation=2, before_ends_s=ENDS_S, files=files))
    for number, node_id in enumerate(IDS):
        seen = with_leaf(seen, controller(node_id), leaf(number, life_s))
    return replace(looked(RECORD, seen, secured(), secured(certificates=2)), token=Known(value=token))


def contract(turn: Turn | None) -> Contract:
    """The contract of the quorum with this turn."""
    plain = due_contract(situation(SPEC, renewed(), RECORD, now_s=FROM_S), None, may_go_down=False)
    return replace(plain, turn=turn, resource_version="5")


def turn(look: Observed, now_s: float, stored: Turn | None = None, spec: Desired = SPEC) -> Turn | None:
    """What the contract shall say."""
    return due_turn(situation(spec, look, RECORD, now_s=now_s), contract(stored))


def test_a_pool_that_has_the_token_leaves_it_to_controllers_whose_certificates_end_soon() -> None:
    """From the moment when the renewal should be complete; not before, because most pools end in time."""
    assert turn(renewed(), FROM_S - 1) is None
    assert turn(renewed(), FROM_S) == TURN
    assert FROM_S < TURN.last_s < TURN.ends_s


@pytest.mark.parametrize("token", [FREE, OURS], ids=["free", "ours"])
def test_no_turn_is_asked_for_while_no_pool_has_the_token(token: Token) -> None:
    """Pools are held up only if nothing else holds up the controllers."""
    assert turn(renewed(token), FROM_S) is None
    unread = replace(renewed(), token=Unknown(reason="leases is forbidden"))
    assert turn(unread, FROM_S) is None


def test_no_turn_is_asked_for_by_controllers_that_cannot_restart_anyway() -> None:
    """One lags, or a person holds them all: the pool's brokers would wait for nothing."""
    behind = with_pod(renewed(), IDS[2], deleting=True)
    assert turn(behind, FROM_S) is None
    held = replace(SPEC, hold=Known(value=frozenset(IDS)))
    assert turn(renewed(), FROM_S, spec=held) is None


def test_a_turn_lasts_until_no_certificate_ends_soon() -> None:
    """The pool has given the token back, a voter lags, a Secret cannot be read: it stays. Restarts end it."""
    for look in (renewed(FREE), renewed(OURS), with_pod(renewed(), IDS[2], deleting=True)):
        assert turn(look, FROM_S + 1, TURN) == TURN
    look = renewed(FREE)
    assert look.material is not None
    bad = Unknown(reason="no right")
    unread = tuple((one, bad if one == controller(IDS[0]) else seen) for one, seen in look.material.leafs)
    assert turn(replace(look, material=replace(look.material, leafs=unread)), FROM_S + 1, TURN) == TURN
    assert turn(replace(look, material=None), FROM_S + 1, TURN) == TURN
    done = looked(recorded(secured(certificates=2)), look.material, secured(certificates=2))
    record = recorded(secured(certificates=2))
    assert due_turn(situation(SPEC, done, record, now_s=FROM_S + 1), contract(TURN)) is None


def test_short_lives_leave_half_a_minute_for_each_controller() -> None:
    """But the turn never begins before the restarts do."""
    hour = replace(SPEC, trust=TrustPolicy(leaf_s=3600))
    margin_s = RESTART_S * len(IDS)
    found = turn(renewed(life_s=3600), ENDS_S - margin_s, spec=hour)
    assert found == Turn(ends_s=ENDS_S, last_s=int(ENDS_S - margin_s / 2))
    assert turn(renewed(life_s=3600), ENDS_S - margin_s - 1, spec=hour) is None
    minutes = replace(SPEC, trust=TrustPolicy(leaf_s=300))
    assert turn(renewed(life_s=300), ENDS_S - 51, spec=minutes) is None
    assert turn(renewed(life_s=300), ENDS_S - 49, spec=minutes) == Turn(ends_s=ENDS_S, last_s=ENDS_S - 25)


def test_a_turn_that_nobody_takes_back_ends() -> None:
    """A contract that is not brought up to date any more holds no pool for ever."""
    assert TURN.holds(ENDS_S + MARGIN_S - 10)
    assert not TURN.holds(ENDS_S + MARGIN_S + 10)


def test_it_is_published_and_the_wait_says_it() -> None:
    """The contract is written once. Then the status of the quorum says when the pool gives the token back."""
    look = replace(renewed(), contract=Known(value=StoredContract(contract=contract(None))))
    (write,) = published(situation(SPEC, look, RECORD, now_s=FROM_S)).actions
    assert isinstance(write, ApplyContract)
    assert (write.contract.turn, write.contract.revision) == (TURN, contract(None).revision)
    look = replace(look, contract=Known(value=StoredContract(contract=write.contract)))
    assert published(situation(SPEC, look, RECORD, now_s=FROM_S)).actions == ()
    said = why_no_token(situation(SPEC, look, RECORD, now_s=FROM_S))
    assert "begin no stop" in said
    assert f"{second(datetime.fromtimestamp(TURN.last_s, tz=UTC))} at the latest" in said
    assert "begin no stop" not in why_no_token(situation(SPEC, look, RECORD, now_s=ENDS_S + MARGIN_S))


@pytest.mark.parametrize("now", [None, TURN])
def test_those_whose_certificates_end_soon_restart_before_other_followers(now: Turn | None) -> None:
    """3001 shows one that ends later. While it is the controllers' turn, 3002 goes first; 3000 leads."""
    look = renewed(OURS)
    assert look.material is not None
    later = replace(leaf(1, LIFE_S), before_ends_s=ENDS_S + 10 * int(MARGIN_S))
    look = replace(look, material=with_leaf(look.material, controller(IDS[1]), later))
    look = replace(look, contract=Known(value=StoredContract(contract=contract(now))))
    (question,) = roll(situation(SPEC, look, RECORD, now_s=FROM_S)).questions
    assert str(IDS[1] if now is None else IDS[2]) in str(question)


def test_a_turn_ends_while_pools_must_act_first() -> None:
    """No controller can restart, whoever has the token: brokers do, because their certificates end, too."""
    for look in (renewed(FREE), renewed(OURS)):
        assert turn(look, FROM_S + 1, TURN) == TURN
        cordoned = kube_nodes((f"worker-{node_id}" for node_id in IDS), cordoned=True)
        assert turn(replace(look, kube_nodes=cordoned), FROM_S + 1, TURN) is None
    down = replace(SPEC, runtime=replace(SPEC.runtime, release="4.3.0"))
    assert turn(renewed(FREE), FROM_S + 1, TURN, spec=down) is None  # the levels are not known to allow it
    seen = replace(renewed(FREE), versions=answering(RECORD, said=saying("4.3.0")))
    assert turn(seen, FROM_S + 1, TURN, spec=down) == TURN
    newer = replace(
        seen, brokers=Known(value=(BrokerSeen(node_id=NodeID(5), settings=Known(value={}), metadata_max=33),))
    )
    assert turn(newer, FROM_S + 1, TURN, spec=down) is None


def test_a_turn_ends_while_the_next_pods_are_refused() -> None:
    """The API server would refuse each of them: then the roll takes no token. An old answer is asked for again."""
    target = situation(SPEC, renewed(), RECORD, now_s=FROM_S).target
    for no, goes_on in ((Admission(allowed=False), False), (Admission(allowed=False, current=False), True)):
        asked = tuple((PodQuestion(node_id=node_id, revision=target), Known(value=no)) for node_id in IDS)
        now = TURN if goes_on else None
        assert turn(replace(renewed(FREE), admissions=asked), FROM_S + 1, TURN) == now
        assert turn(replace(renewed(), admissions=asked), FROM_S + 1) == now
        assert turn(replace(renewed(FREE), admissions=asked[1:]), FROM_S + 1, TURN) == now
    unknown = tuple((each, Unknown(reason="timeout")) for each, _ in asked)
    assert turn(replace(renewed(FREE), admissions=unknown), FROM_S + 1, TURN) == TURN


def test_a_turn_ends_while_a_restarted_controller_is_another_release() -> None:
    """The roll stops there until a person corrects the image or the version."""
    target = situation(SPEC, renewed(), RECORD, now_s=FROM_S).target
    moved = [pod if pod.node_id != IDS[0] else replace(pod, revision=target) for pod in renewed(FREE).pods]
    for release, now in (("4.4.0", TURN), ("4.2.0", None)):
        look = replace(renewed(FREE), pods=tuple(moved), versions=answering(RECORD, said=saying(release)))
        assert turn(look, FROM_S + 1, TURN) == now


def test_a_turn_ends_while_an_object_cannot_be_read() -> None:
    """Then the quorum takes no token."""
    bad = (Unreadable(kind="Pod", name="alpha-3001", node_id=None, why="it has no node id"),)
    assert turn(replace(renewed(FREE), unreadable=bad), FROM_S + 1, TURN) is None
    assert turn(replace(renewed(), unreadable=bad), FROM_S + 1) is None


def test_an_invalid_spec_with_other_changes_ends_a_turn() -> None:
    """Then no controller restarts."""
    other = replace(SPEC, runtime=replace(SPEC.runtime, heap="1G"))
    now = replace(situation(other, renewed(FREE), RECORD, now_s=FROM_S + 1), repair_only=True)
    assert now.held_by_faults
    assert due_turn(now, contract(TURN)) is None


def test_an_earlier_end_moves_a_turn_and_one_that_is_over_is_followed_by_the_next() -> None:
    """Another Secret could not be read when the turn began; or no operator ran until it was over."""
    early_s = ENDS_S - 2 * int(MARGIN_S)
    look = renewed()
    assert look.material is not None
    early = replace(leaf(0, LIFE_S), before_ends_s=early_s)
    look = replace(look, material=with_leaf(look.material, controller(IDS[0]), early))
    first = Turn(ends_s=early_s, last_s=int(early_s - MARGIN_S / 2))
    assert turn(look, early_s - 1, TURN) == first
    assert turn(look, early_s - 1, replace(first, last_s=early_s)) == first
    assert turn(look, first.over_s - 1, first) == first
    assert turn(look, FROM_S + 1, first) == TURN
    assert look.material is not None
    bad = Unknown(reason="no right")
    unread = tuple((one, bad if one == controller(IDS[0]) else seen) for one, seen in look.material.leafs)
    look = replace(look, material=replace(look.material, leafs=unread))
    assert turn(look, FROM_S + 1, first) == TURN
    cordoned = kube_nodes((f"worker-{node_id}" for node_id in IDS), cordoned=True)
    assert turn(replace(look, kube_nodes=cordoned), FROM_S + 1, TURN) is None


def test_a_turn_does_not_wait_for_files_of_brokers() -> None:
    """Their Secret cannot be read: what they must have stays, and the controllers' turn is published all the same."""
    before = replace(renewed(), material=material(RECORD))
    plain = due_contract(situation(SPEC, before, RECORD, now_s=FROM_S), None, may_go_down=False)
    stored = replace(plain, resource_version="5")
    look = renewed()
    assert look.material is not None
    bad = Unknown(reason="no right")
    unread = tuple((one, bad if one == BROKERS else seen) for one, seen in look.material.leafs)
    look = replace(look, material=replace(look.material, leafs=unread))
    look = replace(look, contract=Known(value=StoredContract(contract=stored)))
    part = published(situation(SPEC, look, RECORD, now_s=FROM_S))
    (write,) = part.actions
    assert isinstance(write, ApplyContract)
    assert write.contract == replace(stored, turn=TURN)
    assert [wait.reason for wait in part.waits] == [FILES_MISSING]
    assert published(situation(SPEC, look, RECORD, now_s=FROM_S - 1)).actions == ()
