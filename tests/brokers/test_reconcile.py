"""One pass over one pool, between an API server and brokers that answer as the test requires."""

import copy
import json
from typing import Any

import pytest
from tests.brokers.edges import (
    REACHED,
    RECORD,
    AnsweringBrokers,
    api_server,
    behind,
    contract_of,
    pod_name,
    quorum,
    unreachable,
)
from tests.brokers.looks import partition, registered
from tests.brokers.values import NAMESPACE, POOL, resource
from tests.clocks import MovingClock
from tests.kit.kube.recording import Call, RecordingKube
from tests.test_reconcile import Ids

from kafka_brokers.act.execute import CREATED_WITHIN_S
from kafka_brokers.kind import POOLS
from kafka_brokers.model import names
from kafka_brokers.model.observed import Observed
from kafka_brokers.reconcile import PassResult, PoolReconciler
from kafka_quorum.errors import KafkaUnreachable
from kafka_quorum.model.brokers import BrokersAnswer, ConfigEntry
from kafka_quorum.model.ids import NodeID
from kafka_quorum.model.quorum import Endpoint
from kafka_quorum.settings import Settings
from kit.errors import Fault, KubeAlreadyExists, KubeConflict, KubeHeld, KubeRefused, KubeUnavailable, NotActing
from kit.key import ObjectKey
from kit.kube.protocol import BUDGETS, CLAIMS, CONFIG_MAPS, LEASES, PODS, SERVICES, Json
from kit.repeats import FREE
from kit.report.report import PassReport, Subscribers

KEY = ObjectKey(namespace=NAMESPACE, name=POOL)


class Bench:
    """A reconciler with its API server, brokers and clock."""

    def __init__(self, kube: RecordingKube | None = None, brokers: AnsweringBrokers | None = None) -> None:
        """Without arguments, a pool at rest."""
        self.kube = kube or api_server()
        self.brokers = brokers or AnsweringBrokers()
        self.clock = MovingClock(100.0)
        self.leads = True
        self.reconciler = PoolReconciler(
            kube=self.kube,
            brokers=self.brokers,
            clock=self.clock,
            ids=Ids(),
            settings=Settings(),
            may_act=lambda: self.leads,
        )

    def resource(self, spec: Json | None = None, **metadata: Any) -> None:  # noqa: ANN401 - any JSON
        """Stores the resource, with the status of before."""
        before = self.kube.objects.get((POOLS.plural, POOL), {})
        self.kube.put(POOLS, resource(spec, **metadata) | {"status": copy.deepcopy(before.get("status") or {})})
        self.reconciler.changed(KEY)

    async def run(self, count: int = 1) -> PassResult:
        """So many passes, a second apart; the last result."""
        for _ in range(count):
            result = await self.reconciler.run_pass(KEY)
            self.clock.seconds += 1
        return result

    @property
    def status(self) -> Json:
        """The status as last written."""
        found: Json = self.kube.objects[POOLS.plural, POOL].get("status") or {}
        return found

    def condition(self, type_: str) -> tuple[str, str]:
        """Status and reason of a condition, as last written."""
        return next((row["status"], row["reason"]) for row in self.status["conditions"] if row["type"] == type_)

    def acts(self) -> list[Call]:
        """Writes other than of the status and events."""
        return [
            call for call in self.kube.writes() if call.plural != "events" and call.option("subresource") != "status"
        ]

    def events(self) -> list[tuple[str, str]]:
        """Type and reason of each event that was created."""
        bodies = [call.body for call in self.kube.writes() if (call.verb, call.plural) == ("create", "events")]
        return [(body["type"], body["reason"]) for body in bodies if body]


async def at_rest(spec: Json | None = None) -> Bench:
    """A pool after the passes that bring its objects to what this operator creates."""
    bench = Bench(api_server(spec))
    result = await bench.run()
    assert result.plan is not None
    assert (result.plan.actions, result.plan.waits) == ((), ())
    bench.kube.calls.clear()
    bench.brokers.asked.clear()
    return bench


async def test_nothing_is_written_at_rest() -> None:
    """A pass without news writes nothing, lists nothing again, and the pool is Ready."""
    bench = await at_rest()
    result = await bench.run()
    assert bench.kube.calls == []
    assert (result.again, result.failed, result.gone, result.urgent) == (False, False, False, False)
    assert bench.condition("Ready") == ("True", "AllBrokersBack")
    assert bench.condition("Available") == ("True", "PartitionsAvailable")
    assert bench.condition("Degraded") == ("False", "Healthy")
    assert (bench.status["doing"], bench.status["summary"]) == ("Done", "3/3")
    assert bench.brokers.asked_for("describe_partitions") == [0]


async def test_a_resource_that_is_gone() -> None:
    """It ends its loop."""
    result = await Bench(RecordingKube()).run()
    assert (result.gone, result.plan) == (True, None)


async def test_a_first_pass_makes_the_record() -> None:
    """One write and its event; the next pass follows at once."""
    kube = RecordingKube()
    kube.put(POOLS, resource())
    kube.put(CONFIG_MAPS, contract_of())
    bench = Bench(kube)
    result = await bench.run()
    assert [(call.verb, call.plural, call.name) for call in bench.acts()] == [("create", *RECORD)]
    assert bench.events() == [("Normal", "PoolRecordMade")]
    assert (result.again, result.failed) == (True, False)


async def test_without_the_lease_nothing_is_done() -> None:
    """Not even a look; nor does a lease that lapses during the pass let an act through."""
    bench = Bench()
    bench.leads = False
    result = await bench.run()
    assert (bench.kube.calls, bench.brokers.asked, result.plan) == ([], [], None)
    await bench.reconciler.cannot_look(KEY, "timeout")
    assert bench.kube.calls == []

    class Lapsing(AnsweringBrokers):
        async def min_isr(self, *given: Any) -> dict[str, int]:  # noqa: ANN401 - as the edge
            bench.leads = False
            return await AnsweringBrokers.min_isr(self, *given)

    bench = Bench(brokers=Lapsing())
    del bench.kube.objects[pod_name(1)]
    with pytest.raises(NotActing):
        await bench.run()
    assert bench.kube.writes() == []


# Errors


async def test_a_failure_is_told_in_the_status_and_once_as_an_event() -> None:
    """As long as it lasts, the condition names it; the next pass waits."""
    bench = await at_rest()
    del bench.kube.objects[pod_name(1)]
    bench.reconciler.changed(KEY)
    bench.kube.errors["create", "pods"] = KubeRefused("exceeded quota: pods")
    result = await bench.run(3)
    assert (result.failed, result.again, result.requeue_s) == (True, False, 1.0)
    assert bench.condition("Progressing") == ("False", "ActionFailed")
    row = next(row for row in bench.status["conditions"] if row["type"] == "Progressing")
    assert "exceeded quota: pods" in row["message"]
    assert [event for event in bench.events() if event[1] == "ActionFailed"] == [("Warning", "ActionFailed")]
    del bench.kube.errors["create", "pods"]
    result = await bench.run()
    assert not result.failed
    assert bench.condition("Progressing")[1] != "ActionFailed"


async def test_the_gravest_failure_is_told() -> None:
    """A refusal comes before an answer that was lost."""
    bench = await at_rest()
    for node in (0, 1, 2):
        del bench.kube.objects[pod_name(node)]
    del bench.kube.objects[SERVICES.plural, "payments-bootstrap"]
    bench.brokers.quorums = {3000: quorum([])}
    bench.brokers.cluster = BrokersAnswer(cluster_id=REACHED.cluster_id, brokers=())
    bench.reconciler.changed(KEY)
    bench.kube.errors["create", "pods"] = KubeUnavailable("no answer")
    bench.kube.errors["apply", "services"] = KubeRefused("forbidden")
    await bench.run()
    row = next(row for row in bench.status["conditions"] if row["type"] == "Progressing")
    assert (row["reason"], "forbidden" in row["message"]) == ("ActionFailed", True)


async def test_a_conflict_is_no_failure_to_tell_however_often_it_comes() -> None:
    """Somebody else wrote first: the next look decides, after a pause. No event, no condition."""
    bench = await at_rest()
    bench.resource({"replicas": 4})
    bench.kube.errors["replace", CONFIG_MAPS.plural] = KubeConflict("another version")
    bench.kube.errors["patch", CONFIG_MAPS.plural] = KubeConflict("another version")
    result = await bench.run(5)
    (outcome,) = result.outcomes
    assert (outcome.done, outcome.held, result.again, result.failed) == (False, True, False, True)
    assert bench.condition("Progressing")[1] != "ActionFailed"
    assert bench.events() == []
    bench.kube.errors.clear()
    await bench.run(3)
    assert json.loads(bench.kube.objects[RECORD]["data"]["disks.json"])["brokers"][3]["node_id"] == 3


async def test_a_budget_that_refuses_an_eviction_is_no_failure_to_tell() -> None:
    """The stop stays noted, the token stays taken, and it is tried again."""
    bench = await at_rest()
    bench.resource({"config": {"auto.create.topics.enable": "false"}})
    bench.kube.errors["ask-evict", "pods"] = KubeHeld("the disruption budget does not allow it")
    result = await bench.run(12)
    assert [call.verb for call in bench.acts() if call.plural == PODS.plural] == []
    assert "ask-evict" in [call.verb for call in bench.kube.calls]
    assert (result.urgent, bench.condition("Progressing")[1]) == (True, "Rolling")
    assert bench.kube.objects[LEASES.plural, "events-disruption"]["spec"]["holderIdentity"] == "pool/payments"
    assert ("Warning", "ActionFailed") not in bench.events()


async def test_an_object_that_exists_already_is_told() -> None:
    """It is unknown whether it is ours: the next look shows it."""
    bench = await at_rest()
    del bench.kube.objects[pod_name(1)]
    bench.reconciler.changed(KEY)
    bench.kube.errors["create", "pods"] = KubeAlreadyExists("payments-1-broker exists")
    outcome = next(one for one in (await bench.run()).outcomes if not one.done)
    assert (outcome.done, outcome.unknown, outcome.held) == (False, True, False)
    assert bench.condition("Progressing") == ("False", "ActionFailed")


async def test_an_act_that_changes_nothing_is_told_once_and_repeated_with_pauses() -> None:
    """Something undoes it again and again."""
    bench = await at_rest()
    rows = (partition("orders-0", [1, 0, 2], [0, 1, 2], leader=0),)
    bench.brokers.partitions = rows
    result = await bench.run(FREE + 5)
    assert len([name for name, _ in bench.brokers.asked if name.startswith("elect_preferred")]) == FREE + 5
    assert bench.events().count(("Warning", "NoEffect")) == 1
    assert result.repeated is not None
    assert result.repeated.pause_s > 0


async def test_unreadable_objects_end_the_pass_and_nothing_is_written() -> None:
    """If the objects cannot be listed, nothing is judged."""
    bench = Bench()
    bench.kube.errors["list", PODS.plural] = KubeUnavailable("no answer")
    with pytest.raises(KubeUnavailable):
        await bench.run()
    assert (bench.kube.writes(), bench.brokers.asked) == ([], [])


async def test_errors_that_last_are_told_in_the_status() -> None:
    """The status claims nothing that is unknown by then; one event; what it said of the brokers stays."""
    bench = await at_rest()
    before = bench.status
    for _ in range(3):
        await bench.reconciler.cannot_look(KEY, "no answer\x1b[2J\nfrom the API server")
    assert {row["type"]: (row["status"], row["reason"]) for row in bench.status["conditions"]} == {
        "Ready": ("Unknown", "CannotLook"),
        "Available": ("Unknown", "CannotLook"),
        "Progressing": ("Unknown", "CannotLook"),
        "SpecAccepted": ("Unknown", "CannotLook"),
        "Degraded": ("True", "CannotLook"),
    }
    assert (bench.status["doing"], bench.status["brokers"]) == ("CannotLook", before["brokers"])
    assert bench.status["message"].isprintable()
    assert bench.events() == [("Warning", "CannotLook")]
    bench.kube.calls.clear()
    await bench.run()
    assert "list" in [call.verb for call in bench.kube.calls]
    assert bench.condition("Ready") == ("True", "AllBrokersBack")


async def test_cannot_look_at_what_is_gone_or_going() -> None:
    """Nothing is written."""
    gone = Bench(RecordingKube())
    await gone.reconciler.cannot_look(KEY, "timeout")
    going = Bench()
    going.resource(deletionTimestamp="2026-01-01T00:00:00Z")
    await going.reconciler.cannot_look(KEY, "timeout")
    assert gone.kube.writes() == going.kube.writes() == []


async def test_an_edge_that_fails_ends_neither_the_pass_nor_the_status() -> None:
    """No leader, or no broker that answers: nothing is done, and the status says what is unknown."""
    bench = await at_rest()
    bench.brokers.quorums = {}
    bench.resource({"config": {"auto.create.topics.enable": "false"}})
    await bench.run(4)
    assert bench.condition("Ready") == ("Unknown", "Unknown")
    assert bench.condition("Available") == ("Unknown", "PartitionsUnknown")
    assert bench.condition("Degraded") == ("Unknown", "NoLeader")
    assert not {call.verb for call in bench.acts()} & {"evict", "delete"}
    assert bench.status["summary"] == "?/3"


async def test_a_status_that_cannot_be_written_first_is_no_failure() -> None:
    """Another write of it came first."""
    bench = Bench()
    bench.kube.errors["patch", POOLS.plural] = KubeConflict("another version")
    assert not (await bench.run()).failed


async def test_lost_events_change_nothing() -> None:
    """A pass succeeds even if its events cannot be written."""
    bench = Bench()
    bench.resource({"paused": True})
    bench.kube.errors["create", "events"] = KubeUnavailable("no answer")
    assert not (await bench.run()).failed


# Special states of the resource


async def test_a_paused_pool_repairs_nothing_and_says_so() -> None:
    """Not even a lost pod; one event when it begins, and work again when it ends."""
    bench = await at_rest()
    del bench.kube.objects[pod_name(1)]
    bench.resource({"paused": True})
    await bench.run(3)
    assert bench.acts() == []
    assert bench.condition("Progressing") == ("False", "Paused")
    assert bench.events().count(("Normal", "Paused")) == 1
    bench.resource()
    await bench.run()
    assert ("create", "pods") in [(call.verb, call.plural) for call in bench.acts()]


async def test_a_resource_on_its_way_out_is_left_alone() -> None:
    """Its objects are deleted with it, and none is created again."""
    bench = Bench()
    del bench.kube.objects[pod_name(1)]
    bench.resource(deletionTimestamp="2026-01-01T00:00:00Z")
    result = await bench.run()
    assert (bench.kube.writes(), bench.brokers.asked, result.gone) == ([], [], False)


async def test_a_spec_that_never_was_valid() -> None:
    """It is reported by field, with one warning; nothing is created."""
    kube = RecordingKube()
    kube.put(POOLS, resource({"replicas": "many"}))
    kube.put(CONFIG_MAPS, contract_of())
    bench = Bench(kube)
    await bench.run(2)
    assert bench.acts() == []
    assert bench.condition("SpecAccepted") == bench.condition("Ready") == ("False", "InvalidSpec")
    assert bench.events() == [("Warning", "InvalidSpec")]
    row = next(row for row in bench.status["conditions"] if row["type"] == "SpecAccepted")
    assert "spec.replicas" in row["message"]


async def test_an_invalid_spec_repairs_by_the_last_accepted_one_and_changes_nothing() -> None:
    """A lost pod comes back; the record keeps the accepted spec, and the new one has no effect."""
    bench = await at_rest()
    accepted = bench.kube.objects[RECORD]["data"]["accepted-spec.json"]
    del bench.kube.objects[pod_name(1)]
    bench.resource({"replicas": 1, "roll": {"maxUnavailable": 0}, "config": {"auto.create.topics.enable": "false"}})
    await bench.run(2)
    acts = sorted((call.verb, call.plural, call.name) for call in bench.acts())  # they are sent together
    assert acts == [("apply", BUDGETS.plural, "payments-brokers"), ("create", *pod_name(1))]
    assert bench.condition("SpecAccepted") == ("False", "InvalidSpec")
    assert bench.kube.objects[RECORD]["data"]["accepted-spec.json"] == accepted


async def test_pausing_takes_effect_with_an_invalid_spec_too() -> None:
    """A person stops the operator at once, whatever else the spec says."""
    bench = await at_rest()
    del bench.kube.objects[pod_name(1)]
    bench.resource({"replicas": "many", "paused": True})
    await bench.run()
    assert bench.acts() == []
    assert bench.condition("SpecAccepted") == ("False", "InvalidSpec")


async def test_a_quorum_without_a_contract_is_waited_for() -> None:
    """Nothing is created; the status says whom it waits for, and what it said of the brokers stays known."""
    kube = RecordingKube()
    kube.put(POOLS, resource())
    bench = Bench(kube)
    result = await bench.run()
    assert bench.acts() == []
    assert bench.condition("SpecAccepted") == ("Unknown", "WaitingForQuorum")
    assert bench.condition("Progressing") == ("True", "WaitingForQuorum")
    assert result.requeue_s == 2.0
    assert "events" in bench.status["message"]


# What is remembered between passes


async def test_remembered_objects_are_not_acted_upon() -> None:
    """Before an act, the objects are listed again and the pool is judged again."""
    bench = await at_rest()
    bench.brokers.cluster = BrokersAnswer(
        cluster_id=REACHED.cluster_id, brokers=(registered(0), registered(1, fenced=True), registered(2))
    )
    await bench.run()
    verbs = [call.verb for call in bench.kube.calls]
    assert verbs.index("list") < verbs.index("patch")


async def test_objects_are_listed_again_after_an_event_or_a_while() -> None:
    """And not for an echo of our own write of the status."""
    bench = await at_rest()
    version = bench.kube.objects[POOLS.plural, POOL]["metadata"]["resourceVersion"]
    assert not bench.reconciler.changed(KEY, version)
    await bench.run()
    assert bench.kube.calls == []
    assert bench.reconciler.changed(KEY, "another")
    await bench.run()
    assert "list" in [call.verb for call in bench.kube.calls]
    bench.kube.calls.clear()
    bench.clock.seconds += Settings().resync_s + 1
    await bench.run()
    assert "list" in [call.verb for call in bench.kube.calls]
    bench.kube.calls.clear()
    bench.reconciler.forget(KEY)
    await bench.run()
    assert "list" in [call.verb for call in bench.kube.calls]


async def test_a_watch_that_speaks_during_a_pass() -> None:
    """Objects that changed while they were read are not kept for the next pass."""
    bench = await at_rest()

    class Speaking(AnsweringBrokers):
        async def min_isr(self, *given: Any) -> dict[str, int]:  # noqa: ANN401 - as the edge
            bench.reconciler.changed(KEY)
            return await AnsweringBrokers.min_isr(self, *given)

    bench.reconciler._brokers = Speaking()
    await bench.run()
    bench.kube.calls.clear()
    await bench.run()
    assert "list" in [call.verb for call in bench.kube.calls]


async def test_a_look_that_is_too_old_stops_nobody() -> None:
    """Kafka's answers take longer than they are good for: the eviction is not sent."""
    bench = await at_rest()
    bench.resource({"config": {"auto.create.topics.enable": "false"}})

    class Slow(AnsweringBrokers):
        async def min_isr(self, *given: Any) -> dict[str, int]:  # noqa: ANN401 - as the edge
            bench.clock.seconds += Settings().look_max_age_s + 0.1
            return await AnsweringBrokers.min_isr(self, *given)

    slow = Slow()
    bench.reconciler._brokers = slow
    result = await bench.run(15)
    assert "evict" not in [call.verb for call in bench.acts()]
    assert '"stopped": true' not in bench.kube.objects[RECORD]["data"]["disks.json"]
    assert [one.held for one in result.outcomes] == [True]
    bench.reconciler._brokers = bench.brokers
    await bench.run(3)
    assert "evict" in [call.verb for call in bench.acts()]


async def test_a_roll_goes_on_after_each_step_in_another_operator() -> None:
    """Whatever is lost between its steps, another operator goes on from the record and the token."""
    bench = await at_rest()
    bench.resource({"config": {"auto.create.topics.enable": "false"}})
    for _ in range(12):
        await Bench(bench.kube, bench.brokers).run()  # an operator that remembers nothing
        if "evict" in [call.verb for call in bench.acts()]:
            break
    steps = [(call.verb, call.plural) for call in bench.acts() if call.plural in (LEASES.plural, PODS.plural)]
    assert steps == [("create", LEASES.plural), ("evict", PODS.plural)]
    record = json.loads(bench.kube.objects[RECORD]["data"]["disks.json"])
    assert [one["stopped"] for one in record["brokers"]] == [True, False, False]


async def test_a_lagging_broker_is_not_asked() -> None:
    """The next one is, and what it knows decides."""
    bench = await at_rest()
    bench.brokers.quorums = {3000: behind(quorum(), 0)}
    await bench.run()
    assert set(bench.brokers.asked_for("describe_partitions")) == {1}


async def test_a_partial_answer_changes_nothing() -> None:
    """The partitions of a cluster whose min ISR cannot be read are unknown: a pod that is fenced by it stays."""
    bench = await at_rest()
    bench.brokers.cluster = BrokersAnswer(cluster_id=REACHED.cluster_id, brokers=())
    bench.brokers.errors = {("min_isr", node): unreachable() for node in range(3)}
    bench.resource({"config": {"auto.create.topics.enable": "false"}})
    await bench.run(5)
    assert not {(call.verb, call.plural) for call in bench.acts()} & {
        ("evict", "pods"), ("delete", "pods"), ("patch", "pods")
    }  # fmt: skip


async def test_an_unreadable_claim_stops_everything() -> None:
    """It counts neither as there nor as gone: a lost pod is not even created again."""
    bench = await at_rest()
    del bench.kube.objects[pod_name(2)]
    bench.kube.objects[CLAIMS.plural, "payments-1-d0-g1"]["spec"]["resources"]["requests"]["storage"] = "many"
    bench.reconciler.changed(KEY)
    await bench.run(2)
    assert bench.acts() == []
    assert bench.condition("Degraded") == ("True", "Unreadable")


# Reports


class Witness:
    """A subscriber that records its reports."""

    def __init__(self) -> None:
        """Starts without reports."""
        self.reports: list[PassReport[Observed]] = []
        self.forgotten: list[ObjectKey] = []

    async def take(self, report: PassReport[Observed]) -> None:
        """Records the report."""
        self.reports.append(report)

    def forget(self, key: ObjectKey) -> None:
        """Records the key."""
        self.forgotten.append(key)


async def test_subscribers_get_every_look_and_the_error_that_ended_a_pass() -> None:
    """The look, the answers of guards, and how the pass ended."""
    bench, witness = await at_rest(), Witness()
    bench.reconciler._subscribers = Subscribers((witness,))
    await bench.run()
    (report,) = witness.reports
    assert report.seen is not None
    assert (report.key, report.error, report.seen.looked_at_s) == (KEY, None, 101.0)
    bench.resource({"paused": True})
    bench.kube.errors["patch", POOLS.plural] = KubeUnavailable("no answer")
    with pytest.raises(KubeUnavailable):
        await bench.run()
    assert isinstance(witness.reports[-1].error, KubeUnavailable)
    bench.reconciler.forget(KEY)
    assert witness.forgotten == [KEY]


async def test_a_hold_of_a_person_keeps_its_broker_running() -> None:
    """Every pass again, until the annotation is removed."""
    bench = await at_rest()
    for node in range(3):
        bench.kube.objects[pod_name(node)]["metadata"]["annotations"][names.HOLD] = "true"
    bench.resource({"config": {"auto.create.topics.enable": "false"}})
    await bench.run(8)
    assert "evict" not in [call.verb for call in bench.acts()]
    assert bench.condition("Progressing") == ("False", "RollHeld")


async def test_a_budget_that_counts_the_other_way_gets_its_number_back() -> None:
    """A person wrote maxUnavailable in its place: the API server refuses both, and apply would leave both."""
    bench = await at_rest()
    ((key, budget),) = [(key, item) for key, item in bench.kube.objects.items() if key[0] == BUDGETS.plural]
    least = budget["spec"].pop("minAvailable")
    budget["spec"]["maxUnavailable"] = 2
    bench.reconciler.changed(KEY)
    await bench.run()
    spec = bench.kube.objects[key]["spec"]
    assert (spec["minAvailable"], "maxUnavailable" in spec) == (least, False)


class SlowBrokers(AnsweringBrokers):
    """After `slow_s` seconds its broker 2 has not answered a question for its configuration."""

    clock = MovingClock()
    slow_s = 0.0

    async def describe_broker_config(self, endpoint: Endpoint, node_id: NodeID) -> tuple[ConfigEntry, ...]:
        """Time passes, and then nothing answers."""
        if self.slow_s and node_id == 2:
            self.clock.seconds += self.slow_s
            raise KafkaUnreachable("no answer", fault=Fault.PATH, retry_safe=True, outcome_unknown=False)
        return await super().describe_broker_config(endpoint, node_id)


@pytest.mark.parametrize(
    ("slow_s", "is_made"), [(2.1, True), (CREATED_WITHIN_S - 1, True), (CREATED_WITHIN_S + 1, False)]
)
async def test_a_pod_is_made_by_a_slow_look_but_not_by_an_old_one(slow_s: float, is_made: bool) -> None:  # noqa: FBT001 - a column of the table
    """A broker that does not answer keeps no other one away; in half a minute another operator may have gone on."""
    brokers = SlowBrokers()
    bench = Bench(api_server(), brokers)
    brokers.clock = bench.clock
    await bench.run(2)
    brokers.slow_s = slow_s
    name = "payments-1-broker"
    del bench.kube.objects[PODS.plural, name]
    bench.reconciler.changed(KEY)
    await bench.run(2)
    assert ((PODS.plural, name) in bench.kube.objects) is is_made
