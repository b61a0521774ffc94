"""What runs with an invalid spec or while paused; and what failed a moment ago keeps nothing else from going on."""

from dataclasses import replace

from tests.brokers.looks import edited, look, partition, planned, ran, revision_of, view
from tests.brokers.values import broker, desired, record

from kafka_brokers.model.actions import (
    AlterConfig,
    AnnotateClaim,
    ApplyBudget,
    ApplyService,
    CreateClaim,
    CreatePod,
    ElectPreferred,
    GiveToken,
    KeepSpec,
    MarkPod,
    TakeToken,
    WriteRecord,
)
from kafka_brokers.model.observed import Unreadable
from kafka_brokers.model.plan import Severity, Wait
from kafka_brokers.plan import planner
from kafka_brokers.plan.order import CHANGES, UPKEEP, key_of
from kafka_quorum.model.ids import NodeID
from kafka_quorum.model.known import Known, Unknown
from kit.token import Token

OURS = Known(value=Token(holder="pool/payments", since="", resource_version="1"))
DYNAMIC = desired({"config": {"background.threads": "11"}})


def test_a_pool_at_rest_has_nothing_to_do() -> None:
    """No action, and nothing is waited for."""
    plan = planned(look())
    assert (plan.actions, plan.waits) == ((), ())


def test_a_paused_pool_does_nothing_and_says_so() -> None:
    """Not even a repair, whatever is missing."""
    paused = desired({"paused": True})
    plan = planned(look(ran(record(), paused), paused, pods=()), paused)
    assert not plan.actions
    assert plan.waits[0].reason == "Paused"


def test_nothing_is_done_while_an_object_cannot_be_read() -> None:
    """It could change any decision; the object is named."""
    plan = planned(look(pods=(), unreadable=(Unreadable(kind="Pod", name="x", why="no uid"),)))
    assert not plan.actions
    assert any(one.reason == "Unreadable" and "Pod x" in one.message for one in plan.waits)


def test_an_invalid_spec_repairs_lost_pods() -> None:
    """A pod that is gone is created again from the revision of its broker, and no setting is changed."""
    of = look(ran(record(), DYNAMIC), DYNAMIC, least=3)
    plan = planned(replace(of, pods=of.pods[1:]), DYNAMIC, repair_only=True)
    assert [type(one) for one in plan.actions if not isinstance(one, AlterConfig)] == [CreatePod]
    assert not any(isinstance(one, AlterConfig) for one in plan.actions)


def test_a_setting_that_is_refused_does_not_keep_the_token() -> None:
    """Kafka refuses a value of the spec again and again: the token is given back all the same."""
    of = look(ran(record(), DYNAMIC), DYNAMIC, token=OURS)
    first = planned(of, DYNAMIC)
    assert all(isinstance(one, AlterConfig) for one in first.actions)
    failed = frozenset(map(key_of, first.actions))
    (given,) = planned(of, DYNAMIC, failed=failed).actions
    assert isinstance(given, GiveToken)


def test_an_exclusive_act_that_fails_takes_turns_with_the_others() -> None:
    """Once it is left out for what follows it; with nothing else to do it is tried again at once."""
    rows = [partition("t-0", [1, 0, 2], [0, 1, 2], leader=0)]
    of = look(seen=view(rows))
    (elect,) = planned(of).actions
    assert isinstance(elect, ElectPreferred)
    assert planned(of, failed=frozenset({key_of(elect)})).actions == (elect,)


def test_a_claim_that_cannot_be_created_does_not_stop_a_roll() -> None:
    """Upkeep that failed a moment ago lets a change act; upkeep that may succeed comes first."""
    five = desired({"replicas": 3, "config": {"auto.create.topics.enable": "false"}})
    old = revision_of(desired())
    of = edited(ran(record(), desired()), 2, ran=False, revision=None)
    of = edited(of, 2, disks=(replace(broker(of, 2).disks[0], claim_uid=None, directory_id=None),))
    seen = look(of, five, old=(old,), token=OURS, least=1, seen=view([partition("t-0", [0, 1])], min_isr=1))
    rows = tuple(replace(one, revision=old.name) for one in seen.pods if one.node_id != 2)
    seen = replace(seen, pods=rows, claims=tuple(one for one in seen.claims if one.node_id != 2))
    first = planned(seen, five)
    assert [type(one) for one in first.actions] == [CreateClaim]
    (begun,) = planned(seen, five, failed=frozenset(map(key_of, first.actions))).actions
    assert isinstance(begun, WriteRecord)


REPAIRS = {
    "revisions",
    "volumes that are lost",
    "volumes",
    "services and budget",
    "formats",
    "pods",
    "volumes that are released",
    "brokers that return",
    "limits of drains",
    "the disruption token",
    "preferred leaders",
    "old revisions",
    "rolls",
}


def test_what_an_invalid_spec_still_does() -> None:
    """Repairs, what was begun is ended, and a roll to a renewed certificate; nobody joins, leaves or is configured."""
    every = {one.name: one.repairs for one in (*UPKEEP, *CHANGES)}
    assert len(every) == len(UPKEEP) + len(CHANGES)
    assert {name for name, repairs in every.items() if repairs} == REPAIRS
    assert set(every) - REPAIRS == {
        "the accepted spec",
        "brokers that join and leave",
        "settings without a restart",
        "brokers that leave",
    }


def test_losses_are_judged_before_volumes_and_pods() -> None:
    """A claim is not created again, nor a pod, before it is known what its absence means; returns come last."""
    names = [one.name for one in UPKEEP]
    assert names.index("the accepted spec") == 0
    assert names.index("volumes that are lost") < names.index("volumes") < names.index("formats") < names.index("pods")
    assert names[-1] == "brokers that return"
    changes = [one.name for one in CHANGES]
    assert changes.index("rolls") < changes.index("brokers that leave") < changes.index("the disruption token")
    assert changes.index("limits of drains") < changes.index("brokers that leave")


def test_the_first_exclusive_action_stands_alone() -> None:
    """The record is written by one concern at a time; what others would do is found again in the next look."""
    of = look(spec_kept=False)
    of = replace(of, pods=of.pods[1:], support=())
    (action,) = planned(of, desired({"replicas": 5})).actions
    assert isinstance(action, KeepSpec)


def test_changes_wait_for_upkeep() -> None:
    """A roll does not begin in the pass that creates a lost pod, and says what it would do."""
    new = desired({"config": {"background.threads": "11", "auto.create.topics.enable": "false"}})
    old = revision_of(desired())
    of = look(ran(record(), desired()), new, old=(old,), least=3)
    rows = tuple(replace(one, revision=old.name) for one in of.pods)
    of = replace(of, pods=rows, support=tuple(one for one in of.support if one.kind != "Service"))
    plan = planned(of, new)
    assert {type(one) for one in plan.actions} <= {ApplyService, ApplyBudget}
    assert any(one.reason == "Rolling" for one in plan.waits)


def test_one_change_at_a_time() -> None:
    """Settings first; the roll begins when they are set."""
    new = desired({"config": {"background.threads": "11", "auto.create.topics.enable": "false"}})
    old = revision_of(desired())
    of = look(ran(record(), desired()), new, old=(old,), least=2)
    of = replace(of, pods=tuple(replace(one, revision=old.name) for one in of.pods))
    first = planned(of, new).actions
    assert [type(one) for one in first] == [AlterConfig] * 3
    assert isinstance(planned(of, new, failed=frozenset(map(key_of, first))).actions[-1], TakeToken)


def test_the_key_of_an_action_is_about_its_object() -> None:
    """Two brokers, volumes or generations are different ones; another version of the same pod is not."""
    keys = {
        key_of(CreateClaim(node_id=NodeID(n), index=i, generation=g)) for n in (0, 1) for i in (0, 1) for g in (1, 2)
    }
    assert len(keys) == 8
    first, second = look().pods[:2]
    mark = MarkPod(pod=first, gate="True", message="m")
    assert key_of(mark) == key_of(replace(mark, pod=replace(first, resource_version="9"), judged_at_s=3.0))
    assert key_of(mark) != key_of(replace(mark, pod=second))
    claim = AnnotateClaim(claim=look().claims[0], directory_id=None)
    assert key_of(claim) != key_of(replace(claim, claim=look().claims[1]))


def test_when_the_next_look_follows() -> None:
    """At once while something is under way; later for a person; and at rest every ten seconds."""
    assert planned(look()).requeue_s == 10.0
    assert planned(look(), desired({"paused": True})).requeue_s == 5.0
    assert planned(replace(look(), record_fault="x", record=None)).requeue_s == 5.0
    assert planned(replace(look(), contract=Unknown(reason="x"))).requeue_s == 0.5
    for reason, pause_s in (("Draining", 0.5), ("ClaimKept", 5.0)):  # a claim may be kept for ever
        wait = Wait(severity=Severity.PROGRESS, reason=reason, message="m")
        assert planner.requeue_s((wait,)) == pause_s
