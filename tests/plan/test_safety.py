"""Every guard allows and refuses, and each refusal gives its reason."""

import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, TypeAlias

import pytest
from tests.golden.facts import facts
from tests.model import certificates
from tests.model.values import (
    IDS,
    LOOKED_S,
    NAME,
    SILENT,
    UID,
    at_rest,
    bound,
    claim,
    desired,
    directory,
    empty_report,
    formatter,
    key,
    looks,
    manual,
    minted,
    mirrored,
    node,
    nothing,
    pod,
    report,
    running,
    runtime,
    situation,
    started,
    still_blank,
    support,
    view,
    with_pod,
    with_the_claim,
    without_claim,
    without_pod,
)
from tests.plan.recovery.lost import judged_in_a_recovery

from kafka_quorum.model.desired import ControllerListener, Desired
from kafka_quorum.model.identity import BootstrapPhase, FormatMode, IdentityRecord, with_disk_lost, with_report
from kafka_quorum.model.ids import NodeID, ReplicaKey
from kafka_quorum.model.known import Knowable, Known, Unknown
from kafka_quorum.model.material import OPERATOR, controller
from kafka_quorum.model.memory import Memory
from kafka_quorum.model.migration import ListenerChange
from kafka_quorum.model.nodes import initial_nodes
from kafka_quorum.model.observed import Observed, QuorumView, Tenure
from kafka_quorum.model.permit import Verdict
from kafka_quorum.model.pods import DiskFound, Running, Terminated, Waiting
from kafka_quorum.model.quorum import FeatureStep
from kafka_quorum.model.scram import ScramSeen
from kafka_quorum.plan.guards.registry import GUARDS, yes
from kafka_quorum.plan.guards.rule1_formats import may_format_initial, may_format_newcomer, may_start
from kafka_quorum.plan.guards.rule2_disks import may_give_up_formatter, may_retire_disk, may_retire_node, may_run
from kafka_quorum.plan.guards.rule2_given_up import may_give_up_disk
from kafka_quorum.plan.guards.rule3_voters import (
    may_add_voter,
    may_hand_over,
    may_remove_leader,
    may_remove_voter,
    may_replace_pod,
    may_stop_retired,
)
from kafka_quorum.plan.guards.rule4_changes import may_change_voters, may_drop_node
from kafka_quorum.plan.guards.rule5_restarts import may_restart, may_take_token
from kafka_quorum.plan.guards.rule6_volumes import may_delete_claim
from kafka_quorum.plan.guards.rule7_listeners import (
    may_begin_listeners,
    may_drop_listener,
    may_end_listeners,
    may_prefer,
    may_return,
    may_send_brokers,
)
from kafka_quorum.plan.guards.rule7_migrations import (
    may_begin_migration,
    may_drop_static,
    may_end_at_brokers,
    may_leave_controllers,
    may_revert_level,
)
from kafka_quorum.plan.guards.rule7_releases import may_cure_ghost, may_lower, may_raise, may_run_image
from kafka_quorum.plan.guards.rule7_zookeeper import (
    may_attempt_again,
    may_be_finalized,
    may_copy_metadata,
    may_end_quorum,
    may_finalize,
    may_give_back,
    may_leave_zookeeper,
    may_let_zookeeper_lead,
    may_roll_back,
    may_stop_controllers,
)
from kafka_quorum.plan.guards.rule8_identity import may_adopt, may_mint, may_mint_beside
from kafka_quorum.plan.guards.rule13_authority import may_drop_old, may_end_change, may_trust_new, may_turn_trust
from kafka_quorum.plan.guards.rule13_trust import may_end_authority, may_give_users, may_reload, may_show_leaf
from kafka_quorum.plan.guards.rule13_users import may_change_user

Asked: TypeAlias = Callable[[], Verdict]
"""A guard's verdict, judged when the test asks for it."""
WAITING = Waiting(reason="PodInitializing", message="", last_exit=None)
LOST = with_disk_lost(running(), NodeID(3001), new_claim=False)
"""A running quorum whose controller 3001 lost the data on its disk, which must be formatted as a newcomer's."""

BEHIND = replace(bound(), phase=BootstrapPhase.STARTED)
"""A record behind the barrier without any report."""


def held(verdict: Verdict, *named: object) -> None:
    """The guard refuses, and names at least these."""
    assert not verdict.allowed
    assert set(facts(*named)) <= set(facts(verdict.reason))


# Rule 8: may_mint


def test_mint_from_nothing() -> None:
    """An identity is created if there is no trace of an earlier one."""
    assert may_mint(nothing()).allowed


@pytest.mark.parametrize(
    ("trace", "named"),
    [
        (replace(nothing(), claims=at_rest().claims[:1]), "alpha-3000-g1"),
        (replace(nothing(), pods=at_rest().pods[:1]), "alpha-3000-g1"),
        (replace(nothing(), status=mirrored(minted())), "status.clusterID"),
        (replace(nothing(), record=minted()), ""),
        (replace(nothing(), record_fault="cannot be understood"), ""),
    ],
    ids=["claim", "pod", "status", "record", "unreadable record"],
)
def test_no_mint_over_a_trace(trace: Observed, named: str) -> None:
    """Any single trace of an identity prevents a new one, and is named."""
    held(may_mint(trace), named)


# Rule 1: may_format_initial


def initial(record: IdentityRecord, look: Observed | None = None, **changes: Any) -> Asked:  # noqa: ANN401 - whatever the field holds
    """The guard's verdict on the initial format of controller 3000, or of a changed one."""
    of = replace(node(record, 3000), **changes)
    return partial(may_format_initial, situation(record=record, observed=look or at_rest(record)), of)


def beside(*node_ids: int) -> Observed:
    """A look before the barrier with Kafka pods of these controllers."""
    return at_rest(bound(), pods=tuple(pod(bound(), node(bound(), node_id)) for node_id in node_ids))


def test_format_initial() -> None:
    """An initial controller's own claim is formatted before the barrier; its owner is no matter of a guard."""
    assert initial(bound())().allowed
    owned = tuple(claim(bound(), of, owner_uid=UID) for of in bound().nodes)
    assert initial(bound(), at_rest(bound(), claims=owned))().allowed


@pytest.mark.parametrize(
    ("asked", "named"),
    [
        (initial(BEHIND, at_rest(BEHIND, pods=())), ()),
        (initial(started(), at_rest(started(), pods=())), ()),
        (initial(bound(), directory_id=directory(3000, 2)), ()),
        (initial(bound(), mode=FormatMode.NO_INITIAL_CONTROLLERS), ()),
        (initial(bound(), beside(3002)), (3000, "alpha-3002-g1")),
        (initial(bound(), beside(3001, 3002)), (3000, "alpha-3001-g1", "alpha-3002-g1")),
        (initial(minted(), at_rest(bound())), ()),
    ],
    ids=[
        "behind the barrier",
        "behind the barrier, and formatted",
        "another directory id than the record's",
        "joins later",
        "a Kafka pod",
        "two Kafka pods",
        "a claim whose uid is not in the record",
    ],
)
def test_no_initial_format(asked: Asked, named: tuple[object, ...]) -> None:
    """Nothing is formatted with initial controllers if the quorum may have started, or another controller is meant."""
    held(asked(), *named)
    assert not named or facts(asked().reason) == facts(*named)


# The claim of every guard that touches a disk


@pytest.mark.parametrize(
    "changes",
    [{"uid": "another"}, {"deleting": True}, {"volume_gone": True}, {"generation": 2}, {"node_id": NodeID(3009)}],
    ids=["other uid", "deleting", "lost", "other generation", "other node"],
)
def test_claim_must_be_the_records(changes: dict[str, object]) -> None:
    """Formatting, starting and running need exactly the claim of the record, with its volume."""
    record, ready = bound(), started()
    look = with_the_claim(at_rest(record), 3000, **changes)
    held(may_format_initial(situation(record=record, observed=look), node(record, 3000)))
    behind = with_the_claim(at_rest(ready, pods=()), 3000, **changes)
    held(may_run(situation(record=ready, observed=behind), node(ready, 3000), mirrored=True))
    all_formatted = replace(ready, phase=BootstrapPhase.FORMATTING)
    held(may_start(situation(record=all_formatted, observed=behind), initial_nodes(all_formatted), NAME))
    newcomer = with_the_claim(without_pod(at_rest(LOST), 3001), 3001, **changes)
    held(may_format_newcomer(situation(record=LOST, observed=newcomer), node(LOST, 3001)))


def test_a_formatter_beside_a_pod_that_refused_the_disk() -> None:
    """A formatter waits for every pod that uses its disk, except one that can never run Kafka on it."""
    refused: dict[str, object] = {"deleting": True, "container": WAITING, "report": empty_report()}
    look = with_the_claim(at_rest(running()), 3001, bound_to="worker-3001")

    def verdict(record: IdentityRecord = LOST, **changes: object) -> Verdict:
        seen = with_pod(look, 3001, **(refused | changes))
        return may_format_newcomer(situation(record=record, observed=replace(seen, record=record)), node(record, 3001))

    assert verdict().allowed
    own = report(running(), node(running(), 3001))
    for changes in (
        {"deleting": False},
        {"container": Running(started_at="")},
        {"report": None},
        {"report": own},
        {"report": replace(empty_report(), found=DiskFound.UNREADABLE)},
        {"report": replace(own, directory_id=directory(3001, 9), accepted=False)},
        {"directory_id": directory(3001, 9)},
        {"node_name": "worker-3002"},
    ):
        held(verdict(**changes), f"pod {NAME}-3001-g1")
    nowhere = with_the_claim(with_pod(look, 3001, **refused), 3001, bound_to="")
    held(may_format_newcomer(situation(record=LOST, observed=replace(nowhere, record=LOST)), node(LOST, 3001)))


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({}, f"is the one in the record of cluster {started().cluster_id}"),
        ({"uid": "another"}, "is another than the record's: uid another instead of claim-3000-1"),
        ({"deleting": True}, "is being deleted"),
        ({"volume_gone": True}, "is without its volume"),
    ],
    ids=["ours", "other uid", "deleting", "lost"],
)
def test_claim_in_words(changes: dict[str, object], said: str) -> None:
    """The refusal names what is wrong with a claim."""
    look = with_the_claim(at_rest(started(), pods=()), 3000, **changes)
    verdict = may_run(situation(record=started(), observed=look), node(started(), 3000), mirrored=True)
    assert (facts(verdict.reason), verdict.allowed) == (facts("alpha-3000-g1", said), not changes)


# Rules 1 and 2: may_format_newcomer


def newcomer(record: IdentityRecord = LOST, look: Observed | None = None, node_id: int = 3001) -> Asked:
    """The guard's verdict on the format of a newcomer's disk, by default of the one that was lost, without a pod."""
    seen = look or without_pod(at_rest(record), node_id)
    return partial(may_format_newcomer, situation(record=record, observed=seen), node(record, node_id))


def test_format_newcomer() -> None:
    """Behind the barrier, with a leader, an emptied disk is formatted as a newcomer's."""
    assert newcomer()().allowed


@pytest.mark.parametrize(
    ("asked", "named"),
    [
        (newcomer(replace(LOST, phase=BootstrapPhase.FORMATTING), without_pod(at_rest(LOST), 3001)), ()),
        (newcomer(with_report(LOST, NodeID(3001), directory(3001, 2))), ()),
        (newcomer(BEHIND, at_rest(BEHIND), 3000), ()),
        (newcomer(LOST, at_rest(LOST, pods=(pod(running(), node(running(), 3001)),))), ()),
        (newcomer(LOST, replace(without_pod(at_rest(LOST), 3001), quorum=SILENT)), (SILENT.reason,)),
    ],
    ids=["before the barrier", "formatted", "an initial controller's disk", "a Kafka pod uses it", "no leader"],
)
def test_no_newcomer(asked: Asked, named: tuple[object, ...]) -> None:
    """A disk is not formatted again, under a pod, as an initial controller's, or where it could not catch up."""
    held(asked(), *named)


# Rule 1: may_start


def test_start() -> None:
    """The barrier falls when every initial controller has reported."""
    record = replace(started(), phase=BootstrapPhase.FORMATTING)
    assert may_start(situation(record=record, observed=at_rest(record)), initial_nodes(record), NAME).allowed


def test_no_start_while_one_is_missing() -> None:
    """One initial controller without a report holds the barrier, and is named."""
    record = with_report(with_report(bound(), IDS[0], directory(3000)), IDS[1], directory(3001))
    held(may_start(situation(record=record, observed=at_rest(record)), initial_nodes(record), NAME), 3002)


def test_no_start_while_a_formatter_could_run() -> None:
    """While the config map of the initial format exists, the barrier holds, because a late formatter could run."""
    record = replace(started(), phase=BootstrapPhase.FORMATTING)
    look = at_rest(record, support=support(bound()))
    held(may_start(situation(record=record, observed=look), initial_nodes(record), NAME))


# Rule 2: may_run


def test_run() -> None:
    """Kafka may run on its own formatted disk, after the barrier, with the identity in three places."""
    record = started()
    assert may_run(
        situation(record=record, observed=at_rest(record, pods=())), node(record, 3000), mirrored=True
    ).allowed


RETIRED = replace(
    started(), nodes=tuple(replace(n, retired=(directory(3000),)) if n.node_id == 3002 else n for n in started().nodes)
)


@pytest.mark.parametrize(
    ("record", "look", "mirrored_"),
    [
        (replace(started(), phase=BootstrapPhase.FORMATTING), at_rest(started(), pods=()), True),
        (bound(), None, True),
        (replace(bound(), phase=BootstrapPhase.STARTED), None, True),
        (RETIRED, at_rest(started(), pods=()), True),
        (started(), at_rest(started(), pods=(formatter(started(), node(started(), 3000)),)), True),
        (started(), at_rest(started(), pods=()), False),
    ],
    ids=["before the barrier", "not formatted", "no report", "retired id", "formatter there", "not mirrored"],
)
def test_no_run(record: IdentityRecord, look: Observed | None, mirrored_: bool) -> None:  # noqa: FBT001 - a column
    """Kafka may not run if one of these is missing, or if any controller retired the directory id."""
    seen = at_rest(record, pods=()) if look is None else look
    held(may_run(situation(record=record, observed=seen), node(record, 3000), mirrored=mirrored_))


# Rule 2: may_retire_disk


def stopped(observed: Observed, node_id: int = 3001) -> Observed:
    """The same look; the controller's pod does not run, and its disk was found empty twice."""
    return still_blank(with_pod(observed, node_id, container=WAITING, report=empty_report()))


def unseen(observed: Observed, *behind: int, committed: bool = True) -> Observed:
    """The same look; these replicas do not fetch any more, or 3001 if none is named."""
    keys = [key(node_id) for node_id in behind or (3001,)]
    seen = view([key(3000), key(3001), key(3002)], behind=keys, committed=committed)
    return replace(observed, quorum=Known(value=seen))


def retire(look: Observed, wanted: Desired | None = None) -> Verdict:
    """The guard's verdict on the disk of controller 3001."""
    record = running()
    return may_retire_disk(situation(desired=wanted or desired(), observed=look, record=record), node(record, 3001))


def test_an_emptied_disk_needs_no_time() -> None:
    """Two runs in the place of the data are evidence, however close; one is not, and neither are old ones."""

    def verdict(**changes: object) -> Verdict:
        look = still_blank(unseen(EMPTIED), 0.5)
        (row,) = look.memory.blank_disks
        rows = (replace(row, **changes),)  # type: ignore[arg-type]
        return retire(replace(look, memory=replace(look.memory, blank_disks=rows)))

    assert verdict(emptied_runs=2).allowed
    held(verdict(emptied_runs=1))
    held(verdict(emptied_runs=2, unseen_s=LOOKED_S - 11.0))


def aged(observed: Observed, age_s: float) -> Observed:
    """The same look; the last look at an empty disk is this old."""
    rows = observed.memory.blank_disks
    old = tuple(replace(row, unseen_s=LOOKED_S - age_s, looked_s=LOOKED_S) for row in rows)
    return replace(observed, memory=replace(observed.memory, blank_disks=old))


EMPTIED = stopped(at_rest())
CLAIM_GONE = without_pod(without_claim(at_rest(), 3001), 3001)
VOLUME_LOST = still_blank(without_pod(with_the_claim(at_rest(), 3001, volume_gone=True), 3001))
NO_VOTER = Known(value=view([key(3000), key(3002)]))


@pytest.mark.parametrize("look", [EMPTIED, CLAIM_GONE, VOLUME_LOST], ids=["found empty", "claim gone", "volume lost"])
def test_retire(look: Observed) -> None:
    """A disk is retired on evidence: an empty volume, a missing claim, or a missing volume."""
    assert retire(unseen(look)).allowed


@pytest.mark.parametrize("look", [EMPTIED, CLAIM_GONE, VOLUME_LOST], ids=["found empty", "claim gone", "volume lost"])
@pytest.mark.parametrize(
    "quorum",
    [
        SILENT,
        unseen(at_rest(), 3001, 3002).quorum,
        unseen(at_rest(), committed=False).quorum,
        Known(value=view([key(3000), key(3001)], behind=[key(3001)])),
    ],
    ids=["no leader", "another voter is behind", "uncommitted", "pair"],
)
def test_no_retirement_takes_the_quorum_with_it(look: Observed, quorum: Knowable[QuorumView]) -> None:
    """A voter's disk stays, whatever the evidence, unless the other voters are known to have a caught-up majority."""
    held(retire(replace(look, quorum=quorum)))


def test_an_observers_disk_needs_no_majority() -> None:
    """The disk of a replica without a vote needs no majority, but a leader must show that it has no vote."""
    behind = view([key(3000), key(3002)], behind=[key(3002)])
    assert retire(replace(EMPTIED, quorum=NO_VOTER)).allowed
    assert retire(replace(EMPTIED, quorum=Known(value=behind))).allowed
    held(retire(replace(EMPTIED, quorum=SILENT)))


def test_one_that_was_a_voter_when_last_committed_needs_one() -> None:
    """A replica in the last committed voter set counts as a voter."""
    odd = replace(view([key(3000), key(3002)], behind=[key(3002)]), committed_voters=frozenset({key(3001)}))
    held(retire(replace(EMPTIED, quorum=Known(value=odd))))


@pytest.mark.parametrize(
    "look",
    [
        unseen(with_pod(at_rest(), 3001, report=empty_report())),
        unseen(without_pod(at_rest(), 3001)),
        unseen(with_pod(at_rest(), 3001, container=WAITING)),
        unseen(with_pod(EMPTIED, 3001, report=replace(empty_report(), found=DiskFound.UNREADABLE))),
        unseen(with_pod(EMPTIED, 3001, report=None)),
        EMPTIED,
        CLAIM_GONE,
        unseen(with_pod(EMPTIED, 3001, claim_uid="another")),
        unseen(with_pod(EMPTIED, 3001, directory_id=directory(3001, 2))),
        unseen(with_pod(at_rest(), 3001, container=WAITING, report=empty_report())),
        unseen(still_blank(EMPTIED, 14.0)),
        unseen(aged(EMPTIED, 10.5)),
        unseen(aged(EMPTIED, math.inf)),
        unseen(still_blank(VOLUME_LOST, 14.0)),
        unseen(with_pod(EMPTIED, 3001, uid="another pod")),
    ],
    ids=[
        "runs",
        "pod gone",
        "pod waits",
        "unreadable",
        "looks again",
        "fetches",
        "claim gone, fetches",
        "pod of another claim",
        "pod of another id",
        "one look",
        "two looks too close",
        "looked too long ago",
        "nobody knows when it looked",
        "volume lost for a moment",
        "another pod's looks",
    ],
)
def test_no_retire(look: Observed) -> None:
    """Without evidence, or while the replica fetches, a disk is kept; a missing pod is no evidence."""
    held(retire(look))


def test_manual_replacement() -> None:
    """Under the Manual policy a lost disk waits for a person, and the refusal names the field."""
    assert facts(retire(unseen(stopped(at_rest())), desired(replacement=manual())).reason) == (
        facts(3001, "spec.controllers.replacement.lostDisk")
    )


# Rules 3 and 5: may_replace_pod

ENDED = Terminated(exit_code=1, reason="Error", message="", finished_at="2026-01-01T00:00:00Z")


@pytest.mark.parametrize(
    ("changes", "allowed"),
    [
        ({}, False),
        ({"container": WAITING}, True),
        ({"container": ENDED}, True),
        ({"finished": True}, True),
        ({"finished": True, "container": ENDED}, True),
    ],
    ids=["runs", "waits", "ended", "evicted", "failed"],
)
def test_replace_pod(changes: dict[str, object], *, allowed: bool) -> None:
    """Only a pod whose Kafka does not run may be replaced; in a finished pod nothing runs."""
    verdict = may_replace_pod(situation(), pod(running(), node(running(), 3000), **changes))
    assert verdict.allowed is allowed
    assert "alpha-3000-g1" in verdict.reason


# Rule 4: may_change_voters


@pytest.mark.parametrize(
    ("committed", "open_target", "allowed"),
    [
        (True, None, True),
        (True, key(3003), True),
        (True, key(3004), False),
        (False, None, False),
        (False, key(3003), False),
    ],
    ids=["free", "own operation", "another operation", "uncommitted", "own, uncommitted"],
)
def test_one_change(committed: bool, open_target: ReplicaKey | None, *, allowed: bool) -> None:  # noqa: FBT001 - a column
    """Only one voter change at a time, and none on an uncommitted set, not even the same one again."""
    seen = view([key(3000), key(3001), key(3002)], [key(3003)], committed=committed)
    assert may_change_voters(seen, key(3003), open_target).allowed is allowed


@pytest.mark.parametrize(
    ("for_s", "unsettled_s", "allowed"),
    [(0.0, 0.0, False), (9.9, 69.9, False), (10.0, 0.0, True), (0.0, 70.0, True)],
    ids=["just elected", "not yet", "has led for long", "leaders change too often to wait"],
)
def test_no_change_soon_after_an_election(for_s: float, unsettled_s: float, *, allowed: bool) -> None:
    """No voter changes until the leader has led for long, unless none has for a minute more than that."""
    tenure = Tenure(for_s=for_s, settles_after_s=10.0, unsettled_s=unsettled_s)
    seen = view([key(3000), key(3001), key(3002)], [key(3003)], tenure=tenure)
    verdict = may_change_voters(seen, key(3003), None)
    assert verdict.allowed is allowed
    if not allowed:
        assert facts(verdict.reason) == facts(key(3003), 3000, 10)


# Rule 3: may_add_voter


def add(
    voters: int,
    *,
    behind: int = 0,
    wanted: int = 7,
    newcomer_looks: int = 3,
    others: tuple[ReplicaKey, ...] = (),
    memory: Memory | None = None,
    **pod_changes: Any,  # noqa: ANN401 - whatever the field holds
) -> Verdict:
    """The guard's verdict on adding the next controller to this many voters; the last `behind` of them lag."""
    keys = [key(3000 + index) for index in range(voters)]
    target = key(3000 + voters)
    seen = view(keys, [target, *others], behind=keys[voters - behind :])
    remembered = memory or replace(
        looks(seen, 3), caught_up_looks=((target, newcomer_looks), *((other, 3) for other in others))
    )
    look = at_rest(memory=remembered)
    newcomer = replace(look.pods[0], node_id=target.node_id, **pod_changes)
    return may_add_voter(seen, replace(look, pods=(*look.pods, newcomer)), target, wanted, others)


@pytest.mark.parametrize(
    ("voters", "behind", "allowed"),
    [
        (2, 0, True),
        (2, 1, False),
        (3, 0, True),
        (3, 1, False),
        (4, 0, True),
        (4, 1, True),
        (4, 2, False),
        (5, 1, True),
        (5, 2, False),
        (6, 2, True),
        (6, 3, False),
    ],
)
def test_projected_majority(voters: int, behind: int, *, allowed: bool) -> None:
    """The projected set needs a caught-up majority, in which the newcomer does not count as caught up."""
    assert add(voters, behind=behind).allowed is allowed


@pytest.mark.parametrize(("newcomer_looks", "allowed"), [(0, False), (1, False), (2, False), (3, True), (9, True)])
def test_three_looks(newcomer_looks: int, *, allowed: bool) -> None:
    """A newcomer is added only after it was caught up in three looks in a row."""
    assert add(3, newcomer_looks=newcomer_looks).allowed is allowed


@pytest.mark.parametrize(
    "changes",
    [{"deleting": True}, {"container": Waiting(reason="CrashLoopBackOff", message="", last_exit=None)}],
    ids=["on its way out", "not running"],
)
def test_pod_of_the_newcomer(changes: dict[str, Any]) -> None:
    """A newcomer whose pod ends or does not run is not added, even if the leader reports it as caught up."""
    held(add(3, **changes))


def test_caught_up_now() -> None:
    """Earlier looks do not count if the newcomer lags in this one."""
    target = key(3003)
    seen = view([key(3000), key(3001), key(3002)], [target], behind=[target])
    look = at_rest(memory=Memory(caught_up_looks=((target, 5),)))
    held(may_add_voter(seen, look, target, 4, ()))


@pytest.mark.parametrize(
    ("wanted", "others", "allowed"),
    [(2, (), True), (3, (), False), (3, (key(3002),), True), (5, (), False), (5, (key(3004),), True)],
    ids=["a pair", "three, alone", "three, third caught up", "five, alone", "five, another caught up"],
)
def test_from_one_to_two(wanted: int, others: tuple[ReplicaKey, ...], *, allowed: bool) -> None:
    """From one voter to two the newcomer counts; if more are wanted, a further one must be caught up as well."""
    assert add(1, wanted=wanted, others=others).allowed is allowed


def test_from_one_to_two_other_not_yet() -> None:
    """For the third controller two looks are not enough."""
    target, other = key(3001), key(3002)
    memory = Memory(caught_up_looks=((target, 3), (other, 2)))
    held(add(1, wanted=3, others=(other,), memory=memory))


def test_single_voter_that_lags() -> None:
    """A single voter that is not caught up gets no second one."""
    assert not add(1, behind=1, wanted=2).allowed


def test_node_id_is_a_voter_already() -> None:
    """While the same node id is a voter on another disk, the new disk is not added."""
    seen = view([key(3000), key(3001), key(3002)], [key(3001, 2)])
    verdict = may_add_voter(seen, at_rest(memory=looks(seen)), key(3001, 2), 3, ())
    held(verdict, str(key(3001)))


LISTENER = ControllerListener(name="CONTROLLER", port=9093)


def test_every_guard_is_listed() -> None:
    """The list of guards that the simulation must reach is complete."""
    record, seen = running(), view([key(3000)])
    said: tuple[Verdict, ...] = (
        may_mint(nothing()),
        may_adopt(desired(), nothing()),
        may_format_initial(situation(record=record, observed=at_rest()), node(record, 3000)),
        may_format_newcomer(situation(record=record, observed=at_rest()), node(record, 3000)),
        may_start(situation(record=record, observed=at_rest()), initial_nodes(record), NAME),
        may_run(situation(record=record, observed=at_rest()), node(record, 3000), mirrored=True),
        may_retire_disk(situation(desired=desired(), observed=at_rest(), record=record), node(record, 3000)),
        may_replace_pod(situation(), pod(record, node(record, 3000))),
        may_give_up_formatter(situation(record=record), formatter(record, node(record, 3000))),
        may_give_up_disk(situation(record=record), key(3000)),
        may_change_voters(seen, key(3001), None),
        may_add_voter(seen, at_rest(), key(3001), 3, ()),
        may_remove_voter(situation(desired=desired(), record=record), seen, key(3001)),
        may_remove_leader(seen, key(3001)),
        may_hand_over(situation(desired=desired(), observed=at_rest()), view([key(3000), key(3001)]), key(3000)),
        may_retire_node(situation(desired=desired(), observed=at_rest(), record=record), node(record, 3000)),
        may_stop_retired(situation(record=record, observed=at_rest()), pod(record, node(record, 3000))),
        may_drop_node(situation(observed=at_rest(), record=record), node(record, 3000)),
        may_delete_claim(situation(record=record, observed=at_rest()), claim(record, node(record, 3000))),
    )
    asked = FeatureStep(name="metadata.version", level=33)
    said += (
        may_restart(
            situation(desired=desired(), observed=at_rest(), record=record),
            node(record, 3000),
            pod(record, node(record, 3000)),
        ),
        may_take_token(situation(record=record, observed=at_rest()), yes("it may stop"), "Waiting"),
        may_run_image(situation(record=record, observed=at_rest()), "4.4.0"),
        may_raise(situation(desired=desired(), observed=at_rest(), record=record), asked, ()),
        may_lower(situation(desired=desired(), observed=at_rest(), record=record), asked, asked),
        may_cure_ghost(situation(observed=at_rest(), record=record), NodeID(3004)),
        may_drop_static(situation(observed=at_rest(), record=record)),
        may_begin_migration(situation(observed=at_rest(), record=record), "to test", ""),
        may_leave_controllers(situation(observed=at_rest(), record=record)),
        may_end_at_brokers(situation(observed=at_rest(), record=record)),
        may_revert_level(situation(observed=at_rest(), record=record)),
    )
    of_zookeeper = (
        *(may_copy_metadata, may_leave_zookeeper, may_finalize, may_be_finalized, may_roll_back),
        *(may_stop_controllers, may_give_back, may_let_zookeeper_lead, may_end_quorum, may_attempt_again),
    )
    said += tuple(gate(situation(observed=at_rest(), record=record)) for gate in of_zookeeper)
    said += (may_mint_beside(desired(), nothing()),)
    change = ListenerChange(old=LISTENER, new=replace(LISTENER, name="OTHER", port=9193))
    at = situation(observed=at_rest(), record=record)
    said += (
        may_begin_listeners(at, change.new),
        *(gate(at, change) for gate in (may_send_brokers, may_prefer, may_drop_listener, may_end_listeners)),
        may_return(at, change, 0),
    )
    secured = certificates.judged()
    unread = Unknown(reason="not read")
    said += (
        may_show_leaf(secured, OPERATOR, "", ""),
        may_end_authority(secured, ""),
        may_give_users(secured, None, ""),
        may_reload(secured, certificates.served(3001), certificates.leaf_seen(controller(IDS[1])), runtime()),
        may_change_user(secured, ScramSeen(given=unread, recorded=unread), "ada"),
        *(gate(secured) for gate in (may_trust_new, may_drop_old, may_end_change, may_turn_trust)),
    )
    said += judged_in_a_recovery()
    assert {verdict.rule for verdict in said} == set(GUARDS)


def test_views_are_frozen() -> None:
    """A guard cannot change the view that it judges."""
    seen = view([key(3000)])
    assert isinstance(seen, QuorumView)
    with pytest.raises(AttributeError):
        seen.committed = False  # type: ignore[misc]  # this is what the test is about
