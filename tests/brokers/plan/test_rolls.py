"""Rolls: the token, the record, the evictions and the way back; and what ends a stop that cannot go on."""

from dataclasses import replace

import pytest
from tests.brokers.looks import (
    CRASHES,
    NOW_S,
    ORDERS,
    changed_pod,
    edited,
    leader,
    look,
    partition,
    planned,
    ran,
    registered,
    revision_of,
    view,
    with_view,
    without_pod,
)
from tests.brokers.secured import SECRET, TRUST, mutual
from tests.brokers.values import broker, desired, record

from kafka_brokers.model.actions import (
    AlterConfig,
    ApplyBudget,
    CreateRevision,
    DeletePod,
    ElectPreferred,
    EvictPod,
    GiveToken,
    RecordChange,
    TakeToken,
    WriteRecord,
)
from kafka_brokers.model.disks import DiskIdentity, changed, with_brokers
from kafka_brokers.model.observed import ClusterView, Observed
from kafka_brokers.model.plan import Plan, Severity
from kafka_brokers.model.pool import BrokerRuntime, PoolDesired
from kafka_brokers.plan.facts import certificate_end_s
from kafka_brokers.plan.order import key_of
from kafka_quorum.model.ids import NodeID
from kafka_quorum.model.known import Known, Unknown
from kit.token import Token

OLD = revision_of(desired())
NEW = desired({"config": {"auto.create.topics.enable": "false"}})
OURS = Known(value=Token(holder="pool/payments", since="", resource_version="1"))
THEIRS = Known(value=Token(holder="quorum/events", since="", resource_version="1"))
ROLLED = ran(record(), desired())


def outdated(of: Observed | None = None, wanted: PoolDesired = NEW, **changes: object) -> Observed:
    """A look at a pool whose pods run from the revision before the present one."""
    base = of or look(ROLLED, wanted, old=(OLD,), least=2)
    rows = tuple(replace(one, revision=OLD.name) for one in base.pods)
    return replace(base, pods=rows, **changes)  # type: ignore[arg-type]


def change(of: Plan) -> WriteRecord:
    """The only action, which writes the record."""
    (action,) = of.actions
    assert isinstance(action, WriteRecord), action
    return action


def begun(*ids: int, token: object = OURS) -> Observed:
    """A look after the stop of these brokers was noted."""
    found = ROLLED
    for node_id in ids:
        found = edited(found, node_id, stopped=True, revision=revision_of(NEW).name)
    return outdated(look(found, NEW, old=(OLD,), least=3 - len(ids)), token=token)


def test_a_roll_takes_the_token_first() -> None:
    """Nothing is noted or stopped before the token of the quorum is held."""
    (action,) = planned(outdated(), NEW).actions
    assert isinstance(action, TakeToken)
    assert [one.node_id for one in action.pods] == [0]


def test_another_holder_is_waited_for_and_named() -> None:
    """While another one restarts servers, or it is not known who does, no broker is stopped."""
    for token, said in ((THEIRS, "quorum/events restarts"), (Unknown(reason="timeout"), "(timeout)")):
        plan = planned(outdated(token=token), NEW)
        assert not any(isinstance(one, TakeToken | WriteRecord | EvictPod) for one in plan.actions)
        assert any(said in one.message and one.reason == "RollHeld" for one in plan.waits)


def test_a_stop_is_noted_before_the_eviction() -> None:
    """With the token, the record notes which broker is stopped, its revision, and where it was outside the ISR."""
    rows = (*ORDERS, partition("slow-0", [1, 2, 0], [1, 2]))
    of = with_view(outdated(look(ROLLED, NEW, old=(OLD,), least=3), token=OURS), view(rows))
    action = change(planned(of, NEW))
    assert action.change is RecordChange.STOP_BEGUN
    one = broker(action.record)
    assert (one.stopped, one.revision, [str(at) for at in one.outside]) == (True, revision_of(NEW).name, ["slow-0"])
    assert [each.stopped for each in action.record.brokers] == [True, False, False]


def test_what_is_noted_is_evicted() -> None:
    """The pod that runs from the earlier revision is evicted, and only that one."""
    (action,) = planned(begun(0), NEW).actions
    assert isinstance(action, EvictPod)
    assert action.pod.node_id == 0


def test_a_stop_that_a_budget_holds_keeps_no_other_change_from_acting() -> None:
    """They take turns: the budget may count a broker that leaves, and nothing else begins to stop meanwhile."""
    (evict,) = planned(begun(0), NEW).actions
    held = frozenset({key_of(evict)})
    again = planned(begun(0), NEW, failed=held)
    assert again.actions == (evict,)
    assert any("Brokers 0 stop next" in one.message and one.reason == "Rolling" for one in again.waits)
    both = desired({"config": {"auto.create.topics.enable": "false", "background.threads": "11"}})
    of = begun(0)
    assert {type(one) for one in planned(of, both).actions} == {EvictPod}
    assert {type(one) for one in planned(of, both, failed=held).actions} == {AlterConfig}


def test_a_noted_stop_without_the_token_takes_it_again() -> None:
    """The token was lost between the note and the eviction: without it nothing is stopped, and no eviction allowed."""
    (action,) = planned(begun(0, token=Known(value=Token(holder="", since="", resource_version="2"))), NEW).actions
    assert isinstance(action, TakeToken)
    (budget,) = planned(begun(0, token=THEIRS), NEW).actions
    assert isinstance(budget, ApplyBudget)
    assert budget.min_available == len(ROLLED.brokers)


def test_a_token_that_ends_is_taken_again_before_a_stop() -> None:
    """A request that frees it may be under way: neither the note nor the eviction comes before it is taken again."""
    assert isinstance(OURS, Known)
    ends = Known(value=replace(OURS.value, ends=True))
    for of in (outdated(token=ends), begun(0, token=ends)):
        (action,) = planned(of, NEW).actions
        assert isinstance(action, TakeToken)
        assert action.seen == ends.value


def test_a_stop_that_is_refused_by_now_is_called_off() -> None:
    """The broker keeps running from its own revision, and the record says so."""
    of = with_view(begun(0), view((*ORDERS, partition("t-0", [0, 1, 2], [0, 1]))))
    action = change(planned(of, NEW))
    assert action.change is RecordChange.STOP_CALLED_OFF
    one = broker(action.record)
    assert (one.stopped, one.revision, one.outside) == (False, OLD.name, ())


def test_a_broker_that_is_away_holds_the_token_and_the_next_stop() -> None:
    """While a stopped broker is not back, nothing else stops, and the token stays."""
    plan = planned(without_pod(begun(0), 0), NEW)
    assert not any(isinstance(one, EvictPod | GiveToken | WriteRecord) for one in plan.actions)
    assert any("does not run yet" in one.message for one in plan.waits)


def test_brokers_that_are_back_are_noted_and_the_token_is_given_back() -> None:
    """After the last restart the record forgets the stop, then the token is given back."""
    last = look(edited(ran(record(), NEW), 0, stopped=True), NEW, old=(OLD,), least=2, token=OURS)
    action = change(planned(last, NEW))
    assert action.change is RecordChange.BACK
    assert not broker(action.record).stopped
    (given,) = planned(look(ran(record(), NEW), NEW, old=(OLD,), token=OURS), NEW).actions
    assert isinstance(given, GiveToken)


def test_a_refusal_names_the_broker_that_it_is_about() -> None:
    """The sentence of a held roll names the first broker of the order, and the reason is that one's."""
    racks = [registered(0, rack="b"), registered(1, rack="a"), registered(2, rack="a")]
    held = changed_pod(with_view(outdated(), view(ORDERS, racks)), 1, held=True)
    alone = with_view(held, view([*ORDERS, partition("alone-0", [0]), partition("alone-1", [2])], racks))
    (wait,) = (one for one in planned(alone, NEW).waits if one.reason == "RollHeld")
    assert "Did not restart broker 1 yet: pod payments-1-broker has the annotation" in wait.message
    assert wait.severity is Severity.HELD


def test_a_held_broker_does_not_hold_the_others() -> None:
    """The roll goes on with the next broker."""
    of = outdated(look(ROLLED, NEW, old=(OLD,), least=3), token=OURS)
    (action,) = planned(changed_pod(of, 0, held=True), NEW).actions
    assert isinstance(action, WriteRecord)
    assert [one.node_id for one in action.record.brokers if one.stopped] == [1]


def test_what_time_ends_is_no_decision_of_a_person() -> None:
    """A topic whose name looks like our words does not turn progress into a question."""
    rows = [partition("annotation.spec.roll.x-0", [0, 1, 2], [0, 1]), *ORDERS]
    of = with_view(outdated(), view(rows, min_isr={"annotation.spec.roll.x": 2, "orders": 3}))
    (wait,) = (one for one in planned(of, NEW).waits if one.reason == "RollHeld")
    assert wait.severity is Severity.PROGRESS


def racks(count: int) -> ClusterView:
    """Brokers in three racks, whose partitions have a replica in each."""
    brokers = [registered(node, rack=f"r{node % 3}") for node in range(count)]
    rows = [partition(f"t{n}-0", [n, n + 1, n + 2]) for n in range(0, count, 3)]
    return view(rows, brokers)


def test_brokers_of_one_rack_stop_together() -> None:
    """With `maxUnavailable` 2, two of six stop in one rack; brokers of another rack do not go with them."""
    wide = desired({"replicas": 6, "roll": {"maxUnavailable": 2}, "config": {"auto.create.topics.enable": "false"}})
    six = with_brokers(record(), [NodeID(3), NodeID(4), NodeID(5)], 1)
    for node in (3, 4, 5):
        disk = DiskIdentity(index=0, claim_uid=f"c{node}", directory_id=broker(record()).disks[0].directory_id)
        six = changed(six, replace(broker(six, node), disks=(disk,)))
    six = ran(six, desired())
    of = outdated(look(six, wide, seen=racks(6), old=(OLD,), least=5, token=OURS), wide)
    action = change(planned(of, wide))
    assert [one.node_id for one in action.record.brokers if one.stopped] == [0, 3]


def fenced(node_id: int) -> ClusterView:
    """One broker is fenced."""
    rows = [partition(f"orders-{n}", [n, (n + 1) % 3, (n + 2) % 3], [x for x in range(3) if x != node_id]) for n in
            range(3)]  # fmt: skip
    return view(rows, [registered(node, fenced=node == node_id) for node in range(3)])


def test_a_fenced_broker_gets_the_present_revision_without_a_stop_of_others() -> None:
    """It serves nothing: its pod is recreated; no other is touched meanwhile."""
    of = changed_pod(with_view(outdated(look(ROLLED, NEW, old=(OLD,), least=3)), fenced(1)), 1, gate="False")
    action = change(planned(of, NEW))
    assert (action.change, broker(action.record, 1).revision) == (RecordChange.REVISION, revision_of(NEW).name)
    after = replace(of, record=replace(action.record, resource_version="8"))
    deleted = [one for one in planned(after, NEW).actions if isinstance(one, DeletePod)]
    assert [one.pod.node_id for one in deleted] == [1]


def test_a_stopped_broker_that_cannot_start_gets_the_corrected_spec() -> None:
    """Its new pod crashes, a person corrects the spec: the pod is replaced, although its stop is not over yet."""
    wrong = desired({"config": {"auto.create.topics.enable": "wrong"}})
    bad = revision_of(wrong, number=2)
    stopped = edited(ROLLED, 0, stopped=True, revision=bad.name)
    of = with_view(look(stopped, NEW, old=(OLD, bad), token=OURS), fenced(0))
    rows = tuple(replace(one, revision=bad.name if one.node_id == 0 else OLD.name) for one in of.pods)
    of = changed_pod(replace(of, pods=rows), 0, container=CRASHES, gate="False")
    action = change(planned(of, NEW))
    assert (action.change, broker(action.record).revision) == (RecordChange.REVISION, revision_of(NEW).name)
    after = replace(of, record=replace(action.record, resource_version="8"))
    assert any(isinstance(one, DeletePod) and one.pod.node_id == 0 for one in planned(after, NEW).actions)


def test_a_stopped_broker_that_stays_fenced_gets_the_corrected_spec() -> None:
    """The same if its Kafka runs, and never becomes unfenced."""
    bad = revision_of(desired({"config": {"auto.create.topics.enable": "wrong"}}), number=2)
    stopped = edited(ROLLED, 0, stopped=True, revision=bad.name)
    of = with_view(look(stopped, NEW, old=(OLD, bad), token=OURS), fenced(0))
    rows = tuple(replace(one, revision=bad.name if one.node_id == 0 else OLD.name) for one in of.pods)
    of = changed_pod(replace(of, pods=rows), 0, gate="False", ready=False)
    action = change(planned(of, NEW))
    assert (action.change, broker(action.record).revision) == (RecordChange.REVISION, revision_of(NEW).name)


def test_a_stopped_broker_that_leaves_comes_back_first() -> None:
    """A scale-down during a roll does not keep the token for the time of the drain."""
    gone = edited(ran(record(), desired()), 2, stopped=True, leaving=True)
    action = change(planned(look(gone, desired({"replicas": 2}), token=OURS), desired({"replicas": 2})))
    assert action.change is RecordChange.BACK
    assert not broker(action.record, 2).stopped


def test_a_broker_that_leaves_is_restarted_like_the_others() -> None:
    """A drain that is held for weeks does not keep a broker on an old release."""
    two = desired({"replicas": 2, "config": {"auto.create.topics.enable": "false"}})
    gone = edited(ran(record(), two, 0, 1), 2, ran=True, revision=OLD.name, leaving=True)
    of = look(gone, two, old=(OLD,), token=OURS)
    of = changed_pod(of, 2, revision=OLD.name)
    action = change(planned(of, two))
    assert action.change is RecordChange.STOP_BEGUN
    assert broker(action.record, 2).stopped


def test_no_stop_without_a_leader_nor_with_one_that_is_not_settled() -> None:
    """A controlled shutdown needs an active controller."""
    for led in (Unknown(reason="no controller answers"), Known(value=leader(settled=False))):
        plan = planned(outdated(leader=led, token=OURS), NEW)
        assert not any(isinstance(one, WriteRecord | EvictPod) for one in plan.actions)


def test_an_invalid_spec_begins_no_roll_and_ends_one() -> None:
    """What was begun is ended with the last accepted spec; nothing new begins."""
    assert not any(isinstance(one, TakeToken) for one in planned(outdated(), NEW, repair_only=True).actions)
    assert any(isinstance(one, EvictPod) for one in planned(begun(0), NEW, repair_only=True).actions)


def test_an_invalid_spec_brings_a_renewed_certificate_alone() -> None:
    """Without it the certificates would end that brokers show; another change beside it still waits."""
    renewed = replace(desired(), runtime=replace(desired().runtime, certificates=2))
    before = replace(desired(), runtime=replace(desired().runtime, certificates=1))
    other = replace(NEW, runtime=replace(NEW.runtime, certificates=2))
    for wanted, begins in ((renewed, True), (other, False)):
        old = revision_of(before)
        seen = look(ran(record(), before), wanted, old=(old,), least=2)
        seen = replace(seen, pods=tuple(replace(one, revision=old.name) for one in seen.pods))
        plan = planned(seen, wanted, repair_only=True)
        assert [isinstance(one, TakeToken) for one in plan.actions] == ([True] if begins else [])
        assert [wait.reason for wait in plan.waits if "Correct the spec" in wait.message] == (
            [] if begins else ["RollHeld"]
        )
        made = replace(seen, revisions=(old,))
        created = [one for one in planned(made, wanted, repair_only=True).actions if isinstance(one, CreateRevision)]
        assert bool(created) == begins


def test_preferred_leaders_come_after_restarts() -> None:
    """A partition whose preferred replica is in the ISR gets it as its leader, not while a broker is stopped."""
    rows = [partition("t-0", [1, 0, 2], [0, 1, 2], leader=0), *ORDERS]
    (action,) = planned(look(seen=view(rows))).actions
    assert isinstance(action, ElectPreferred)
    assert [str(at) for at in action.partitions] == ["t-0"]
    away = look(edited(ran(record(), desired()), 0, stopped=True), seen=view(rows), least=2, configs=())
    assert not any(isinstance(one, ElectPreferred) for one in planned(away).actions)
    others = [partition("t-0", [9, 0, 2], [0, 9, 2], leader=0), *ORDERS]
    assert not planned(look(seen=view(others, [*map(registered, range(3)), registered(9)]))).actions


FIRST, SECOND = desired(contract=mutual(1)), desired(contract=mutual(2))
EARLIER = revision_of(FIRST)
ENDED = ((1, int(NOW_S) - 60), (2, int(NOW_S) + 600))


def shut_out(*ends: tuple[int, int], seen: ClusterView | None = None) -> Observed:
    """Brokers 1 and 2 run with the first certificate, and are fenced; all partitions wait for them."""
    rows = [partition(f"orders-{n}", [0, 1, 2], [1, 2], leader=None) for n in range(3)]
    away = seen or view(rows, [registered(node, fenced=node > 0) for node in range(3)])
    returned = edited(ran(record(), SECOND), 0, stopped=True)
    made = edited(edited(returned, 1, revision=EARLIER.name), 2, revision=EARLIER.name)
    of = look(made, SECOND, old=(EARLIER,), least=3)
    of = replace(with_view(of, away), contract=Known(value=replace(mutual(2), certificate_ends=ends)), token=OURS)
    of = replace(of, secrets=((SECRET, Known(value=frozenset({"keystore-1.pem", "keystore-2.pem", TRUST}))),))
    return changed_pod(changed_pod(of, 1, revision=EARLIER.name, gate="False"), 2, revision=EARLIER.name, gate="False")


def test_brokers_whose_certificates_ended_start_again() -> None:
    """They are fenced, and only a start loads another one: nothing waits for them, and all start again at once."""
    of = shut_out(*ENDED)
    action = change(planned(of, SECOND))
    assert action.change is RecordChange.REVISION
    assert {broker(action.record, node_id).revision for node_id in (1, 2)} == {revision_of(SECOND).name}
    after = replace(of, record=replace(action.record, resource_version="8"))
    deleted = [one.pod.node_id for one in planned(after, SECOND).actions if isinstance(one, DeletePod)]
    assert deleted == [1, 2]


@pytest.mark.parametrize(("end_s", "out"), [(NOW_S - 60, True), (NOW_S + 60, False), (None, False)])
def test_a_pool_has_its_own_end(end_s: float | None, out: bool) -> None:  # noqa: FBT001
    """A pool that came later has one that ends later than the contract's: without it, nothing counts as ended."""
    own = replace(revision_of(FIRST).runtime, replication_tls=True)
    young = replace(shut_out(*ENDED), certificate_ends=() if end_s is None else (("keystore-1.pem", int(end_s)),))
    assert bool(planned(_made(young, own), SECOND).actions) is out
    of = replace(shut_out(*ENDED), certificate_ends=(("keystore-9.pem", 0),))
    if end_s is not None:
        of = replace(of, certificate_ends=(("keystore-1.pem", int(end_s)),))
    assert bool(planned(_made(of, own), SECOND).actions) is out


def _made(of: Observed, runtime: BrokerRuntime) -> Observed:
    """The look, in which the earlier revision has this runtime."""
    return replace(
        of, revisions=tuple(replace(one, runtime=runtime) if one == EARLIER else one for one in of.revisions)
    )


def test_without_its_file_a_pool_is_judged_by_the_next_generation() -> None:
    """That was made later, so it ends later; certificates that a person gives follow no such order."""
    over = ((1, int(NOW_S) - 600), (2, int(NOW_S) - 60), (3, int(NOW_S) + 600))
    of = _made(shut_out(*over), replace(revision_of(FIRST).runtime, replication_tls=True))
    assert isinstance(of.contract, Known)
    assert certificate_end_s(of, of.revisions[0].runtime) == int(NOW_S) - 60
    given = replace(of, contract=Known(value=replace(of.contract.value, given=True)))
    assert certificate_end_s(given, of.revisions[0].runtime) is None


@pytest.mark.parametrize("ends", [(), ((1, int(NOW_S) - 10), (2, int(NOW_S) + 600)), ((1, int(NOW_S) + 60),)])
def test_brokers_whose_certificates_may_be_valid_recover(ends: tuple[tuple[int, int], ...]) -> None:
    """Without a certain end, or one that clocks may differ about, they may be recovering: they keep running."""
    assert not planned(shut_out(*ends), SECOND).actions


def test_a_broker_that_the_controllers_hear_from_is_not_shut_out() -> None:
    """A connection outlives its certificate: an unfenced broker restarts by the rules of every roll."""
    seen = view([partition("orders-0", [0, 1, 2], [0, 1, 2])], [registered(node) for node in range(3)])
    acts = planned(shut_out(*ENDED, seen=seen), SECOND).actions
    assert not any(isinstance(one, DeletePod) for one in acts)
