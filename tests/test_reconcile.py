"""One pass over one quorum, between an API server and controllers that answer as the test requires."""

import asyncio
import copy
import json
from dataclasses import replace
from typing import Any

import pytest
from tests.act.test_age import SlowKube
from tests.clocks import MovingClock
from tests.golden.facts import mentions
from tests.kit.kube.recording import Call, RecordingKube
from tests.model.values import CLUSTER, IDS, NAME, NAMESPACE, SETTLED, UID, answer, directory, key, saying
from tests.observe import kubernetes as k8s
from tests.observe.test_belonging import REPLICA_SET
from tests.observe.test_gather import api_server, healthy, refused_with
from tests.wire.answering import AnsweringControllers

from kafka_quorum.errors import KafkaUnreachable
from kafka_quorum.kind import QUORUMS
from kafka_quorum.model import names
from kafka_quorum.model.ids import NodeID
from kafka_quorum.model.known import Known
from kafka_quorum.model.names import token_holder, token_name
from kafka_quorum.model.observed import Observed
from kafka_quorum.model.quorum import ClusterAnswer, Endpoint, FeatureStep, FinalizedFeature, NodeVersions, QuorumAnswer
from kafka_quorum.observe.snapshot import KINDS
from kafka_quorum.reconcile import PassResult, Reconciler
from kafka_quorum.settings import Settings
from kit.errors import Fault, KubeConflict, KubeHeld, KubeUnavailable
from kit.key import ObjectKey
from kit.kube.inventory import Inventory, digest_of, together
from kit.kube.protocol import BUDGETS, CLAIMS, CONFIG_MAPS, LEASES, NODES, PODS, SERVICES, Json, ResourceType
from kit.loops import Loops
from kit.report.report import PassReport, Subscriber, Subscribers

KEY = ObjectKey(namespace=NAMESPACE, name=NAME)
SPEC: dict[str, Any] = {"kafka": {"version": "4.4.0"}, "controllers": {"replicas": 3}}


class Ids:
    """Different bytes each time."""

    def __init__(self) -> None:
        """Starts at one."""
        self._count = 0

    def uuid_bytes(self) -> bytes:
        """The next sixteen bytes."""
        self._count += 1
        return self._count.to_bytes(2, "big") * 8


class Bench:
    """A reconciler with its API server, controllers and clock."""

    def __init__(self, kube: RecordingKube | None = None, controllers: AnsweringControllers | None = None) -> None:
        """Without arguments there are no objects."""
        self.kube = kube or RecordingKube()
        self.controllers = controllers or AnsweringControllers()
        self.clock = MovingClock(100.0)
        self.reconciler = Reconciler(
            kube=self.kube,
            controllers=self.controllers,
            clock=self.clock,
            ids=Ids(),
            settings=Settings(),
        )

    def resource(self, spec: dict[str, Any] | None = None, **metadata: Any) -> None:  # noqa: ANN401 - any JSON
        """Stores the resource."""
        made = k8s.metadata(NAME, uid=UID, generation=1, **metadata)
        self.kube.put(QUORUMS, {"metadata": made, "spec": copy.deepcopy(SPEC) if spec is None else spec})

    async def run(self) -> PassResult:
        """One pass."""
        return await self.reconciler.run_pass(KEY)

    def condition(self, type_: str) -> tuple[str, str]:
        """Status and reason of a condition, as last written."""
        rows = self.kube.objects[QUORUMS.plural, NAME]["status"]["conditions"]
        return next((row["status"], row["reason"]) for row in rows if row["type"] == type_)

    def acts(self) -> list[Call]:
        """Writes other than of the status and events."""
        return [
            call for call in self.kube.writes() if call.plural != "events" and call.option("subresource") != "status"
        ]


def at_work() -> Bench:
    """A running quorum; its first passes correct what differs from this operator's own objects."""
    bench = Bench(api_server(), healthy())
    bench.resource()
    return bench


async def test_resource_is_gone() -> None:
    """A missing resource ends its loop."""
    result = await Bench().run()
    assert result.gone
    assert result.plan is None


async def test_first_pass() -> None:
    """The first pass over a new resource creates its identity and an event, and the next pass follows at once."""
    bench = Bench()
    bench.resource()
    result = await bench.run()
    assert [(call.verb, call.plural) for call in bench.acts()] == [("create", "configmaps")]
    assert [call.body["reason"] for call in bench.kube.writes() if call.plural == "events" and call.body] == [
        "IdentityMade"
    ]
    assert (result.again, result.failed) == (True, False)
    assert bench.condition("SpecAccepted") == ("True", "Valid")


async def test_failed_act_is_told_once() -> None:
    """After a failed action the next pass waits, and the same failure is one event."""
    bench = Bench()
    bench.resource()
    bench.kube.errors["create", "configmaps"] = KubeUnavailable("no answer")
    first = await bench.run()
    assert (first.again, first.failed) == (False, True)
    await bench.run()
    assert len([call for call in bench.kube.writes() if call.plural == "events"]) == 1


async def test_lost_events_change_nothing() -> None:
    """A pass succeeds even if its events cannot be written."""
    bench = Bench()
    bench.resource()
    bench.kube.errors["create", "events"] = KubeUnavailable("no answer")
    assert not (await bench.run()).failed


async def test_unreadable_objects_end_the_pass() -> None:
    """If the objects cannot be listed, nothing is judged and nothing is written."""
    bench = at_work()
    bench.kube.errors["list", PODS.plural] = KubeUnavailable("no answer")
    with pytest.raises(KubeUnavailable):
        await bench.run()
    assert bench.kube.writes() == []


async def test_resource_on_its_way_out() -> None:
    """A resource that is being deleted is left alone, so that its deleted objects are not recreated."""
    bench = Bench()
    bench.resource(deletionTimestamp="2026-01-01T00:00:00Z")
    result = await bench.run()
    assert bench.kube.writes() == []
    assert not result.gone


async def test_never_valid() -> None:
    """A resource that never was valid is reported by field and with one warning, and nothing else is written."""
    bench = Bench()
    bench.resource({"kafka": {"version": "four"}, "controllers": {"replicas": 3}})
    for _ in range(2):
        await bench.run()
    assert bench.acts() == []
    assert bench.condition("SpecAccepted") == bench.condition("Ready") == ("False", "InvalidSpec")
    (event,) = [call.body for call in bench.kube.writes() if call.plural == "events" and call.body]
    assert (event["type"], event["reason"]) == ("Warning", "InvalidSpec")
    assert "spec.kafka.version" in event["message"]


async def test_invalid_now() -> None:
    """If the spec becomes invalid, the quorum is repaired from the last valid one."""
    bench = at_work()
    del bench.kube.objects[PODS.plural, "alpha-3001-g1"]
    revision = next(item for (plural, _), item in bench.kube.objects.items() if plural == "controllerrevisions")
    revision["data"]["spec"] = SPEC
    for _ in range(3):
        await bench.run()
    bench.resource({**SPEC, "kafka": {"version": "four"}})
    bench.reconciler.changed(KEY)
    result = await bench.run()
    assert result.plan is not None
    assert bench.condition("SpecAccepted") == ("False", "InvalidSpec")
    assert ("create", "pods") in [(call.verb, call.plural) for call in bench.acts()]


@pytest.mark.parametrize(
    ("controllers", "retired"),
    [
        ({"replacement": {"lostDisk": "Automatic"}}, True),
        ({"replacement": {"lostDisk": "Manual"}}, False),
        ({"replacement": {"lostDisk": "perhaps"}}, False),
        ({"replacement": "perhaps"}, False),
        ("no object", True),
    ],
    ids=["Automatic", "Manual", "not understood", "no object", "no controllers"],
)
async def test_policies_of_an_invalid_spec_bind_at_once(controllers: Any, *, retired: bool) -> None:  # noqa: ANN401
    """The replacement policy of an invalid spec applies at once; if it cannot be understood, no disk is retired."""
    bench = at_work()
    revision = next(item for (plural, _), item in bench.kube.objects.items() if plural == "controllerrevisions")
    revision["data"]["spec"] = SPEC
    for _ in range(3):
        await bench.run()
    for plural, name in ((PODS.plural, "alpha-3001-g1"), (CLAIMS.plural, "alpha-3001-g1")):
        del bench.kube.objects[plural, name]
    bench.controllers.quorums = {3000: without_live(3001)}
    bench.resource({"kafka": {"version": "four"}, "controllers": controllers})
    bench.reconciler.changed(KEY)
    await bench.run()
    record = bench.kube.objects[CONFIG_MAPS.plural, "alpha-identity"]
    assert (directory(3001) in lost_of(record, 3001)) is retired


def without_live(node_id: int) -> QuorumAnswer:
    """The leader's answer, in which the last fetch of this controller is long ago."""
    said = answer([key(each) for each in IDS])
    old = tuple(
        replace(row, last_fetch_ms=1, last_caught_up_ms=1) if row.key.node_id == node_id else row for row in said.voters
    )
    return replace(said, voters=old)


def lost_of(record: Json, node_id: int) -> list[str]:
    """The directory ids that the stored record has as lost."""
    nodes = json.loads(record["data"]["record.json"])["nodes"]
    return next(list(node["lost"]) for node in nodes if node["node_id"] == node_id)


async def test_earlier_resource_binds_nobody() -> None:
    """A record and claims of an earlier resource do not make the new spec invalid."""
    bench = at_work()
    bench.resource({**SPEC, "bootstrap": {"mode": "Standalone"}})
    for plural, name in ((CONFIG_MAPS.plural, "alpha-identity"), *((CLAIMS.plural, f"alpha-{i}-g1") for i in IDS)):
        bench.kube.objects[plural, name]["metadata"]["ownerReferences"] = k8s.owned("earlier")
    await bench.run()
    assert bench.acts() == []
    assert bench.condition("SpecAccepted") == ("True", "Valid")
    assert bench.condition("Progressing") == ("True", "EarlierResourceEnds")
    assert "clusterID" not in bench.kube.objects[QUORUMS.plural, NAME]["status"]


async def test_status_conflict_is_no_failure() -> None:
    """If another write of the status came first, the pass is no failure."""
    bench = Bench()
    bench.resource()
    bench.kube.errors["patch", QUORUMS.plural] = KubeConflict("another version")
    assert not (await bench.run()).failed


async def at_rest() -> Bench:
    """A quorum after the passes that bring its objects to what this operator creates."""
    bench = at_work()
    for _ in range(20):
        result = await bench.run()
        if not result.again:
            break
        bench.clock.seconds += 1
    assert result.plan is not None
    assert (result.plan.actions, result.plan.waits) == ((), ())
    bench.clock.seconds += SETTLED.settles_after_s
    bench.kube.calls.clear()
    return bench


async def test_status_ceases_to_say_ready_before_a_voter_change_begins() -> None:
    """Before the intent of a voter change is written, the status is not Ready any more; this costs one pass at most."""
    bench = await at_rest()
    assert bench.condition("Ready")[0] == "True"
    ready = bench.kube.objects[QUORUMS.plural, NAME]["status"]
    bench.resource({**SPEC, "controllers": {"replicas": 2}})
    for _ in ("the pass that keeps the accepted spec", "the pass that would begin the change"):
        bench.kube.objects[QUORUMS.plural, NAME]["status"] = copy.deepcopy(ready)
        bench.reconciler.changed(KEY)
        await bench.run()
        assert bench.condition("Ready")[0] == "False"
        assert bench.kube.objects[QUORUMS.plural, NAME]["status"].get("operation") is None
    await bench.run()
    assert bench.kube.objects[QUORUMS.plural, NAME]["status"]["operation"]["type"] == "RemoveVoter"


@pytest.mark.parametrize("acknowledged", [True, False])
async def test_after_an_acknowledged_removal_a_new_leader_is_believed(*, acknowledged: bool) -> None:
    """After an acknowledged removal a new leader is believed at once; without an answer, only after a while."""
    bench = await at_rest()
    bench.resource({**SPEC, "controllers": {"replicas": 2}})
    if not acknowledged:
        text = "no answer"
        bench.controllers.refusal = KafkaUnreachable(text, fault=Fault.PATH, retry_safe=False, outcome_unknown=True)
    for _ in range(9):
        bench.reconciler.changed(KEY)
        await bench.run()
        if bench.controllers.removed:
            break
    assert len(bench.controllers.removed) == 1
    bench.controllers.quorums = {3001: answer([key(3001), key(3000)], leader_epoch=6)}
    bench.controllers.clusters = {3001: ClusterAnswer(cluster_id=CLUSTER, controller_ids=IDS)}
    for _ in range(6):
        bench.clock.seconds += 1
        bench.reconciler.changed(KEY)
        await bench.run()
    record = bench.kube.objects[CONFIG_MAPS.plural, "alpha-identity"]["data"]["record.json"]
    assert ([one["node_id"] for one in json.loads(record)["nodes"]] == [3000, 3001]) is acknowledged


async def test_nothing_is_written_at_rest() -> None:
    """A pass without news writes nothing, and the quorum is Ready."""
    bench = await at_rest()
    await bench.run()
    assert bench.kube.writes() == []
    assert bench.condition("Ready") == ("True", "AllVotersCaughtUp")
    assert bench.kube.objects[QUORUMS.plural, NAME]["status"]["clusterID"] == CLUSTER


async def test_objects_are_remembered_at_rest() -> None:
    """At rest only the controllers are asked; the API server is asked after a watch event, or after a while."""
    bench = await at_rest()
    await bench.run()
    assert bench.kube.calls == []
    bench.reconciler.changed(KEY)
    await bench.run()
    assert bench.kube.calls != []
    bench.kube.calls.clear()
    bench.clock.seconds += Settings().resync_s + 1
    await bench.run()
    assert bench.kube.calls != []


def echoing(bench: Bench, *also: str) -> None:
    """From now on a watch reports each write before its answer comes, and after it these events."""
    real = bench.kube.patch

    async def patch(*place: Any, **more: Any) -> Json:  # noqa: ANN401 - as it came
        written = await real(*place, **more)
        for version in (written["metadata"]["resourceVersion"], *also):
            bench.reconciler.changed(KEY, version)
        return written

    bench.kube.patch = patch  # type: ignore[method-assign]


async def test_an_echo_that_comes_before_the_answer_to_its_write_is_no_event() -> None:
    """The watch may be faster than the answer: the objects of the pass are remembered all the same."""
    bench = await at_rest()
    await bench.run()
    bench.clock.seconds += 80  # the stamp of the look is due
    bench.kube.calls.clear()
    echoing(bench)
    await bench.run()
    token_and_stamp = [("get", LEASES.plural), ("patch", QUORUMS.plural)]
    assert [(call.verb, call.plural) for call in bench.kube.calls] == token_and_stamp
    bench.kube.calls.clear()
    bench.clock.seconds += 10
    await bench.run()
    assert bench.kube.calls == []


async def test_an_event_beside_the_echo_is_one() -> None:
    """A change of another object during the same pass is not taken for an echo."""
    bench = await at_rest()
    await bench.run()
    bench.clock.seconds += 80
    echoing(bench, "")
    await bench.run()
    bench.kube.calls.clear()
    await bench.run()
    assert "list" in [call.verb for call in bench.kube.calls]


async def an_inventory(bench: Bench) -> Inventory:
    """What exists now, of the one quorum."""
    stored = {kind: await bench.kube.list(kind, NAMESPACE, names.quorum_labels(NAME)) for kind in KINDS}
    resource = bench.kube.objects[QUORUMS.plural, NAME]["metadata"]
    return Inventory(
        began_s=bench.clock.monotonic(),
        versions={KEY: (resource["uid"], resource["resourceVersion"])},
        parts={KEY: together(digest_of(kind, item["metadata"]) for kind in KINDS for item in stored[kind])},
    )


async def test_an_inventory_makes_remembered_objects_fresh() -> None:
    """Objects that exist unchanged are not listed again, however long nothing else happens."""
    bench = await at_rest()
    await bench.run()
    read = []
    for _ in range(5):
        bench.clock.seconds += 100
        bench.reconciler.objects.confirm(await an_inventory(bench))
        bench.kube.calls.clear()
        await bench.run()
        read += [call.plural for call in bench.kube.calls if call.verb != "patch"]  # that is the stamp of the look
    assert read == [LEASES.plural]  # once more, long after the operator began
    bench.clock.seconds += Settings().resync_s + 1
    await bench.run()
    assert [call.verb for call in bench.kube.calls].count("list") == len(KINDS)


async def test_what_an_inventory_does_not_have_is_read_again() -> None:
    """A pod that is gone, without any event of a watch, is found when its quorum lists its objects again."""
    bench = await at_rest()
    await bench.run()
    bench.clock.seconds += 100
    del bench.kube.objects[PODS.plural, next(name for kind, name in bench.kube.objects if kind == PODS.plural)]
    bench.reconciler.objects.confirm(await an_inventory(bench))
    bench.clock.seconds += Settings().resync_s - 90
    bench.kube.calls.clear()
    await bench.run()
    assert [call.verb for call in bench.kube.calls].count("list") == len(KINDS)


async def test_old_objects_are_not_remembered() -> None:
    """If an answer is older than our own last write of the status, the next pass lists the objects again."""
    bench = await at_rest()
    place = (QUORUMS.plural, NAME)
    newest = bench.kube.objects[place]
    old = copy.deepcopy(newest)
    old["metadata"]["resourceVersion"] = "1"
    bench.kube.objects[place] = old
    bench.reconciler.changed(KEY)
    await bench.run()
    bench.kube.objects[place] = newest
    bench.kube.calls.clear()
    await bench.run()
    assert [call.verb for call in bench.kube.calls].count("list") == 6


async def test_a_status_written_from_remembered_objects_is_written_again() -> None:
    """The look after a disturbance without any event but the echo corrects the status at once."""
    bench = await at_rest()
    await bench.run()
    whole = bench.controllers.quorums[3000]
    assert isinstance(whole, QuorumAnswer)
    ahead = tuple(replace(row, log_end_offset=whole.high_watermark + 1) for row in whole.voters)
    elected = replace(whole, leader_epoch=whole.leader_epoch + 1, voters=ahead)
    bench.controllers.quorums[3000] = elected
    await bench.run()
    assert bench.condition("Ready") == ("False", "VoterSetUncommitted")
    version = bench.kube.objects[QUORUMS.plural, NAME]["metadata"]["resourceVersion"]
    assert not bench.reconciler.changed(KEY, version)
    bench.controllers.quorums[3000] = replace(elected, high_watermark=whole.high_watermark + 1)
    await bench.run()
    assert bench.condition("Ready") == ("True", "AllVotersCaughtUp")


async def test_remembered_objects_are_not_acted_upon() -> None:
    """Before an action, the objects are listed again and the quorum is judged again."""
    bench = await at_rest()
    controllers = healthy()
    controllers.quorums[3000] = answer([key(3000), key(3001)], [key(3002)])
    bench.reconciler._controllers = controllers
    await bench.run()  # at the first look this leader's clock is set back
    bench.kube.calls.clear()
    await bench.run()
    verbs = [call.verb for call in bench.kube.calls]
    assert "list" in verbs
    assert verbs.index("list") < verbs.index("patch")


async def test_nothing_is_remembered_of_a_resource_that_is_gone() -> None:
    """After `forget` the next pass lists everything."""
    bench = await at_rest()
    bench.reconciler.forget(KEY)
    await bench.run()
    assert [call.verb for call in bench.kube.calls].count("list") == 6


async def test_a_watch_that_speaks_during_a_pass() -> None:
    """Objects that changed while they were read are not kept for the next pass."""
    bench = await at_rest()
    bench.reconciler.changed(KEY)
    controllers = SpeakingControllers(bench.reconciler)
    healthy_ones = healthy()
    controllers.quorums, controllers.versions = healthy_ones.quorums, healthy_ones.versions
    controllers.clusters = healthy_ones.clusters
    bench.reconciler._controllers = controllers
    await bench.run()
    bench.kube.calls.clear()
    await bench.run()
    assert bench.kube.calls != []


class SpeakingControllers(AnsweringControllers):
    """Controllers during whose answers a watch event arrives."""

    def __init__(self, reconciler: Reconciler) -> None:
        """Takes the reconciler that gets the event."""
        super().__init__()
        self._reconciler = reconciler

    async def describe_cluster(self, endpoint: Endpoint) -> ClusterAnswer:
        """Answers, after a watch event."""
        self._reconciler.changed(KEY)
        return await super().describe_cluster(endpoint)


class Witnessing:
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


def subscribed(bench: Bench, *subscribers: Subscriber[Observed]) -> None:
    """Adds subscribers to those that every reconciler has."""
    present = bench.reconciler._subscribers._subscribers
    bench.reconciler._subscribers = Subscribers((*subscribers, *present))


async def test_a_subscriber_is_told_of_every_look_and_of_the_end() -> None:
    """A subscriber gets the look that the pass was judged by, with the memory of several looks, and its time."""
    bench, witness = await at_rest(), Witnessing()
    subscribed(bench, witness)
    await bench.run()
    (report,) = witness.reports
    assert (report.key, report.error) == (KEY, None)
    assert report.seen is not None
    assert isinstance(report.seen.quorum, Known)
    assert report.seen.memory.committed_voters == frozenset({key(3000), key(3001), key(3002)})
    assert report.seen_at == bench.clock.now()
    bench.reconciler.forget(KEY)
    assert witness.forgotten == [KEY]


async def test_a_pass_that_ends_in_an_error_is_reported_with_what_it_saw() -> None:
    """If the status cannot be written, a subscriber still gets the look of the pass, and the error that ended it."""
    bench, witness = await at_rest(), Witnessing()
    subscribed(bench, witness)
    bench.resource(status={})
    bench.reconciler.changed(KEY)
    bench.kube.errors["patch", QUORUMS.plural] = KubeUnavailable("no answer")
    with pytest.raises(KubeUnavailable):
        await bench.run()
    report = witness.reports[-1]
    assert isinstance(report.error, KubeUnavailable)
    assert report.seen is not None
    assert report.notices == ()


class Broken(Witnessing):
    """A subscriber that fails at every report."""

    async def take(self, report: PassReport[Observed]) -> None:
        """Fails."""
        await super().take(report)
        raise KeyError("a fault")


async def test_a_subscriber_that_fails_ends_no_pass_and_no_other_subscriber() -> None:
    """If a subscriber fails, the pass ends normally, and the next subscriber gets the report."""
    bench, broken, witness = await at_rest(), Broken(), Witnessing()
    subscribed(bench, broken, witness)
    result = await bench.run()
    assert not result.failed
    assert len(broken.reports) == len(witness.reports) == 1


# Questions about features to the leader


RAISE = FeatureStep(name="metadata.version", level=28)


def outdated(spec: dict[str, Any] | None = None) -> Bench:
    """A running quorum of 4.4 at the levels of 4.1, with this spec."""
    said = replace(saying(), finalized=saying("4.1.2").finalized)
    controllers = healthy()
    controllers.versions = dict.fromkeys(IDS, said)
    bench = Bench(api_server(), controllers)
    bench.resource(spec)
    return bench


def asking(**levels: int) -> dict[str, Any]:
    """The spec that names these levels, without a soak."""
    rows = [{"name": name.replace("_", "."), "level": level} for name, level in levels.items()]
    return {**SPEC, "kafka": {"version": "4.4.0", "features": {"levels": rows, "soakSeconds": 0}}}


async def passes(bench: Bench, count: int, *, every_s: float = 1.0) -> None:
    """Runs this many passes, one after the other."""
    for _ in range(count):
        await bench.run()
        bench.clock.seconds += every_s
        if 3000 in bench.controllers.quorums:
            bench.controllers.quorums[3000] = later(bench.controllers.quorums[3000])


def later(said: QuorumAnswer | Exception) -> QuorumAnswer:
    """The same answer a second later, by the leader's clock."""
    assert isinstance(said, QuorumAnswer)
    rows = (
        replace(row, last_fetch_ms=row.last_fetch_ms + 1000, last_caught_up_ms=row.last_caught_up_ms + 1000)
        for row in said.voters
    )
    return replace(said, voters=tuple(rows))


def validated(bench: Bench) -> list[FeatureStep]:
    """The steps that the leader was asked to validate."""
    return [request.step for _, request in bench.controllers.updated if request.validate_only]


def sent(bench: Bench) -> list[FeatureStep]:
    """The steps that were sent to the leader."""
    return [request.step for _, request in bench.controllers.updated if not request.validate_only]


async def test_announced_steps_are_asked_about_once_a_minute() -> None:
    """Steps that are possible under Hold are asked about at most once a minute."""
    bench = outdated()
    await passes(bench, 30)
    asked = validated(bench)
    assert len(asked) == len(set(asked)) == 3
    assert sent(bench) == []
    assert bench.condition("FeaturesSettled") == ("True", "Held")
    bench.clock.seconds += 60
    await bench.run()
    assert len(validated(bench)) == 6


async def test_refusals_of_announced_steps_are_remembered() -> None:
    """What blocks a possible step is in the status after every pass, whether it was asked about or not."""
    bench = outdated()
    words = "Broker 2 only supports versions 1-21"
    bench.controllers.refusal = refused_with("INVALID_UPDATE_VERSION", words)
    await passes(bench, 30)
    rows = bench.kube.objects[QUORUMS.plural, NAME]["status"]["features"]
    (row,) = (row for row in rows if row["name"] == "metadata.version")
    assert (row.get("wanted"), row["blockedBy"]) == (None, words)
    assert len(validated(bench)) == 3


async def test_other_steps_are_asked_about_at_once() -> None:
    """If other steps become possible, they are asked about in the same look."""
    bench = outdated()
    await passes(bench, 20)
    bench.controllers.updated.clear()
    raised = replace(saying(), finalized=saying("4.2.1").finalized)
    bench.controllers.versions = dict.fromkeys(IDS, raised)
    bench.reconciler.changed(KEY)  # a look follows, no glance
    await bench.run()
    assert {step.name for step in validated(bench)} == {"metadata.version", "share.version"}


async def test_next_step_is_asked_in_every_look() -> None:
    """A wanted step is asked about in every look, then begun with its intent, and sent."""
    bench = outdated(asking(metadata_version=28, share_version=0, streams_version=0))
    await passes(bench, 20)
    steps = sent(bench)
    assert steps
    assert set(steps) == {RAISE}
    assert validated(bench).count(RAISE) > len(steps)
    operation = bench.kube.objects[QUORUMS.plural, NAME]["status"]["operation"]
    assert (operation["type"], operation["target"]) == ("RaiseFeature", "metadata.version=28")


async def test_open_step_is_urgent() -> None:
    """While a step is open the pass is urgent; when the level is reached, the step is closed."""
    bench = outdated(asking(metadata_version=28, share_version=0, streams_version=0))
    for _ in range(20):
        result = await bench.run()
        bench.clock.seconds += 1
        if sent(bench):
            break
    assert result.urgent
    bench.controllers.versions = dict.fromkeys(IDS, said_at(28))
    await passes(bench, 3)
    assert "operation" not in bench.kube.objects[QUORUMS.plural, NAME]["status"]
    assert bench.condition("FeaturesSettled") == ("True", "Held")


def said_at(level: int) -> NodeVersions:
    """A controller of 4.4 at this metadata.version, with the other levels of 4.1, after one more change."""
    others = tuple(each for each in saying("4.1.2").finalized if each.name != "metadata.version")
    levels = tuple(sorted((*others, FinalizedFeature(name="metadata.version", level=level))))
    return replace(saying(epoch=8), finalized=levels)


async def test_held_restart_is_no_event() -> None:
    """A restart that a disruption budget holds is repeated, without an event or a condition of failure."""
    bench = at_work()
    bench.controllers.versions = dict.fromkeys(IDS, saying())
    await passes(bench, 20)
    held = KubeHeld("The disruption budget alpha needs 2 healthy pods and has 2 currently")
    bench.kube.errors["ask-evict", "pods"] = held
    bench.resource({**SPEC, "controllers": {"replicas": 3, "jvm": {"heap": "1Gi"}}})
    bench.reconciler.changed(KEY)
    await passes(bench, 20)
    verbs = [call.verb for call in bench.kube.calls]
    assert verbs.count("ask-evict") > 1
    assert "evict" not in verbs
    reasons = [call.body["reason"] for call in bench.kube.writes() if call.plural == "events" and call.body]
    assert "ActionFailed" not in reasons
    assert bench.condition("Degraded")[0] == "False"


@pytest.mark.parametrize("takes_s", [0.1, 2.5, 12.0])
async def test_slow_admission_does_not_stop_a_roll(takes_s: float) -> None:
    """However long the dry run of the new pod takes, the roll comes to the eviction of its first controller."""
    kube = SlowKube(objects=api_server().objects)
    bench = Bench(kube, healthy())
    bench.resource()
    kube.wait("dry-run", lambda: setattr(bench.clock, "seconds", bench.clock.seconds + takes_s))
    bench.controllers.versions = dict.fromkeys(IDS, saying())
    await passes(bench, 20)
    bench.resource({**SPEC, "controllers": {"replicas": 3, "jvm": {"heap": "1Gi"}}})
    bench.reconciler.changed(KEY)
    await passes(bench, 6)
    assert [call.name for call in kube.calls if call.verb == "ask-evict"][:1] == ["alpha-3001-g1"]


# The status while passes fail, or while nothing happens


async def test_a_status_that_cannot_be_kept_up_is_taken_back() -> None:
    """While passes end in errors, Ready is Unknown, and one event gives the reason."""
    bench = await at_rest()
    for _ in range(3):
        await bench.reconciler.cannot_look(KEY, "list pods: forbidden")
    assert bench.condition("Ready") == ("Unknown", "CannotLook")
    assert bench.condition("Available") == ("Unknown", "CannotLook")
    assert bench.condition("Degraded") == ("True", "CannotLook")
    told = [call for call in bench.kube.writes() if call.plural == "events" and call.body]
    assert [(call.verb, call.body["reason"], call.body["type"]) for call in told if call.body] == [
        ("create", "CannotLook", "Warning")
    ]
    assert len(bench.kube.writes()) == 2
    await bench.run()
    assert bench.condition("Ready") == ("True", "AllVotersCaughtUp")
    assert bench.condition("Degraded") == ("False", "Healthy")


async def test_an_operator_without_the_lease_takes_nothing_back() -> None:
    """An operator without the lease does not write the status."""
    bench = await at_rest()
    bench.reconciler._may_act = lambda: False
    await bench.reconciler.cannot_look(KEY, "list pods: forbidden")
    assert bench.kube.calls == []


async def test_the_last_look_is_stamped_once_a_minute() -> None:
    """At rest the only write is the stamp, at most once a minute."""
    bench = await at_rest()
    began, stamps = bench.clock.seconds, []
    while bench.clock.seconds < began + 600:
        bench.clock.seconds += 10
        await bench.run()
        stamps.append(bench.kube.objects[QUORUMS.plural, NAME]["status"]["lastLook"])
    writes = bench.kube.writes()
    written = {(call.plural, tuple((call.body or {})["status"])) for call in writes}
    assert written == {("kafkaquorums", ("lastLook", "nextLookBy"))}
    assert 7 <= len(writes) <= 10
    assert len(set(stamps)) == len(writes) + 1


async def test_the_stamp_wakes_nothing() -> None:
    """The operator's own write of the status is no change, so the kept objects are used again."""
    bench = await at_rest()
    bench.clock.seconds += 100
    await bench.run()
    version = bench.kube.objects[QUORUMS.plural, NAME]["metadata"]["resourceVersion"]
    assert not bench.reconciler.changed(KEY, version)
    bench.kube.calls.clear()
    await bench.run()
    assert bench.kube.calls == []
    assert bench.reconciler.changed(KEY, "another")


async def test_an_action_without_effect_backs_off_and_is_told_once() -> None:
    """A service that another program changes back is applied with growing pauses, and causes two events in total."""
    bench = await at_rest()
    service = json.loads(json.dumps(bench.kube.objects[SERVICES.plural, "alpha-controllers"]))
    service["spec"]["ports"][0]["port"] = 1
    pauses = []
    for _ in range(12):
        bench.kube.put(SERVICES, json.loads(json.dumps(service)))
        bench.reconciler.changed(KEY)
        result = await bench.run()
        pauses.append(0.0 if result.repeated is None else result.repeated.pause_s)
        bench.clock.seconds += pauses[-1] + 0.1
    assert pauses == [0, 0, 0, 0.5, 1, 2, 4, 8, 16, 30, 30, 30]
    created = [call.body for call in bench.kube.writes() if (call.verb, call.plural) == ("create", "events")]
    assert [body["reason"] for body in created if body] == ["ServiceApplied", "NoEffect"]


async def test_an_unreadable_claim_neither_ends_the_pass_nor_is_missing() -> None:
    """An unreadable claim is reported, its disk is not retired, and another controller's lost pod is recreated."""
    bench = await at_rest()
    for name in ("alpha-3001-g1", "alpha-3002-g1"):
        del bench.kube.objects[PODS.plural, name]
    claim = json.loads(json.dumps(bench.kube.objects[CLAIMS.plural, "alpha-3001-g1"]))
    claim["spec"]["resources"]["requests"]["storage"] = "many"
    bench.kube.put(CLAIMS, claim)
    bench.reconciler.changed(KEY)
    result = await bench.run()
    assert result.plan is not None
    assert bench.condition("Degraded") == ("True", "Unreadable")
    assert [call.name for call in bench.acts() if (call.verb, call.plural) == ("create", "pods")] == ["alpha-3002-g1"]
    assert directory(3001) not in lost_of(bench.kube.objects[CONFIG_MAPS.plural, "alpha-identity"], 3001)


async def test_a_claim_that_something_else_controls_is_not_lost() -> None:
    """A claim that something else controls, for example a backup tool, is not a lost disk."""
    bench = await at_rest()
    claim = json.loads(json.dumps(bench.kube.objects[CLAIMS.plural, "alpha-3002-g1"]))
    claim["metadata"]["ownerReferences"] = [{"kind": "Snapshot", "name": "nightly", "uid": "b", "controller": True}]
    bench.kube.put(CLAIMS, claim)
    del bench.kube.objects[PODS.plural, "alpha-3002-g1"]
    said = answer((key(3000), key(3001), key(3002)))
    rows = (replace(row, last_fetch_ms=1) if row.key.node_id == 3002 else row for row in said.voters)
    bench.controllers.quorums[3000] = replace(said, voters=tuple(rows))
    bench.reconciler.changed(KEY)
    await passes(bench, 3)
    assert lost_of(bench.kube.objects[CONFIG_MAPS.plural, "alpha-identity"], 3002) == []
    assert bench.condition("Degraded") == ("True", "Unreadable")


async def test_a_size_in_thousandths_of_a_byte_is_read() -> None:
    """A claim with the size that the API server stores for 1.1Gi ends no pass, and the spec is refused."""
    bench = await at_rest()
    for node_id in IDS:
        claim = json.loads(json.dumps(bench.kube.objects[CLAIMS.plural, f"alpha-{node_id}-g1"]))
        claim["spec"]["resources"]["requests"]["storage"] = "1181116006400m"
        bench.kube.put(CLAIMS, claim)
    spec = json.loads(json.dumps(SPEC))
    spec["controllers"]["storage"] = {"size": "1.1Gi"}
    bench.resource(spec)
    bench.reconciler.changed(KEY)
    await bench.run()
    assert bench.condition("SpecAccepted") == ("False", "InvalidSpec")


# Owners and labels that a person, a backup tool or another controller changed


async def changed(bench: Bench, resource: ResourceType, name: str, **metadata: Any) -> Json:  # noqa: ANN401 - any JSON
    """The metadata of an object, two passes after these changes of it."""
    bench.kube.objects[resource.plural, name]["metadata"] |= metadata
    bench.reconciler.changed(KEY)
    await passes(bench, 2)
    found: Json = bench.kube.objects[resource.plural, name]["metadata"]
    return found


async def test_an_orphaned_pod_gets_its_owner() -> None:
    """A pod without an owner gets the resource as its owner, and is not restarted."""
    bench = await at_rest()
    metadata = await changed(bench, PODS, "alpha-3001-g1", ownerReferences=None)
    assert [(row["kind"], row["uid"], row["controller"]) for row in metadata["ownerReferences"]] == [
        ("KafkaQuorum", UID, True)
    ]
    assert {(call.verb, call.name) for call in bench.acts()} == {("patch", "alpha-3001-g1")}


@pytest.mark.parametrize(
    ("name", "reason"), [("alpha-3001-g1", "Unreadable"), ("alpha-3001-g1-format", "ForeignObject")]
)
async def test_a_pod_of_another_controller_is_left_alone(name: str, reason: str) -> None:
    """A pod with our name and labels that another controller owns is named, and neither adopted nor deleted."""
    bench = await at_rest()
    pod = copy.deepcopy(bench.kube.objects[PODS.plural, "alpha-3001-g1"])
    pod["metadata"] |= {"name": name, "ownerReferences": REPLICA_SET, "uid": "web"}
    if name.endswith("-format"):
        pod["metadata"]["labels"][names.LABEL_ROLE] = "formatter"
    bench.kube.put(PODS, pod)
    metadata = await changed(bench, PODS, name)
    assert (metadata["ownerReferences"], metadata["uid"]) == (REPLICA_SET, "web")
    assert {call.verb for call in bench.acts()} <= {"create"}
    status = bench.kube.objects[QUORUMS.plural, NAME]["status"]
    assert [f"Pod {name}" in row["message"] for row in status["waits"] if row["reason"] == reason] == [True]


FALSE_LABELS = [
    {names.LABEL_NODE: "3002"},
    {names.LABEL_QUORUM: "beta"},
    {names.LABEL_QUORUM: "beta", names.LABEL_NODE: "9"},
]


@pytest.mark.parametrize("labels", FALSE_LABELS, ids=["node id", "quorum", "both"])
async def test_false_labels_of_a_claim_are_corrected(labels: Json) -> None:
    """A claim with the name and uid of the record gets the record's labels, and stays in use."""
    bench = await at_rest()
    before = copy.deepcopy(bench.kube.objects[CLAIMS.plural, "alpha-3001-g1"]["metadata"])
    metadata = await changed(bench, CLAIMS, "alpha-3001-g1", labels=before["labels"] | labels)
    assert {name: metadata["labels"][name] for name in (names.LABEL_QUORUM, names.LABEL_NODE)} == {
        names.LABEL_QUORUM: NAME,
        names.LABEL_NODE: "3001",
    }
    assert metadata["annotations"] == before["annotations"]
    assert {(call.verb, call.plural, call.name) for call in bench.acts()} == {("patch", CLAIMS.plural, "alpha-3001-g1")}
    assert bench.condition("Ready") == ("True", "AllVotersCaughtUp")


@pytest.mark.parametrize("labels", FALSE_LABELS, ids=["node id", "quorum", "both"])
async def test_false_labels_of_another_claim_stay(labels: Json) -> None:
    """A claim with the record's name and another uid is a conflict, whatever labels it has: nothing is corrected."""
    bench = await at_rest()
    own = bench.kube.objects[CLAIMS.plural, "alpha-3001-g1"]["metadata"]["labels"]
    metadata = await changed(bench, CLAIMS, "alpha-3001-g1", labels=own | labels, uid="another")
    assert metadata["labels"] == own | labels
    assert bench.acts() == []
    assert bench.condition("Degraded") == ("True", "IdentityConflict")


# A storage class that is corrected


def with_class(name: str) -> Json:
    """The spec with this storage class."""
    return {**SPEC, "controllers": {"replicas": 3, "storage": {"storageClassName": name}}}


def classes(bench: Bench) -> dict[str, str]:
    """The storage class of every claim."""
    found = {name: item["spec"] for (plural, name), item in bench.kube.objects.items() if plural == CLAIMS.plural}
    return {name: spec.get("storageClassName", "") for name, spec in found.items()}


def nodes_of(bench: Bench) -> list[Json]:
    """The controllers of the stored record."""
    record = bench.kube.objects[CONFIG_MAPS.plural, "alpha-identity"]
    nodes: list[Json] = json.loads(record["data"]["record.json"])["nodes"]
    return nodes


async def formatting(storage_class: str, *, formatted: bool) -> Bench:
    """A new quorum whose formatters find no volumes; the disk of 3000 may be formatted already."""
    bench = Bench()
    bench.resource(with_class(storage_class))
    await passes(bench, 10)
    record = json.loads(bench.kube.objects[CONFIG_MAPS.plural, "alpha-identity"]["data"]["record.json"])
    said = "0/3 nodes are available: pod has unbound immediate PersistentVolumeClaims"
    unbound = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": said}
    for node in record["nodes"]:
        status: Json = {"phase": "Pending", "conditions": [unbound]}
        if formatted and node["node_id"] == 3000:
            ids = {"clusterID": record["cluster_id"], "directoryID": node["directory_id"]}
            done = k8s.terminated(0, json.dumps(k8s.GOOD | ids))
            status = {"phase": "Succeeded", "containerStatuses": [k8s.container("format", done)]}
        bench.kube.objects[PODS.plural, f"alpha-{node['node_id']}-g1-format"]["status"] = status
    await passes(bench, 10)
    assert [node["formatted"] for node in nodes_of(bench)] == [formatted, False, False]
    return bench


@pytest.mark.parametrize(
    ("formatted", "deleted"),
    [(False, IDS), (True, IDS[1:]), (True, IDS)],
    ids=["nothing formatted", "the others", "the formatted one, too"],
)
async def test_a_storage_class_is_corrected_before_the_start(*, formatted: bool, deleted: tuple[NodeID, ...]) -> None:
    """Every claim that a person deletes is created again with the corrected class, and no other claim changes.

    No disk is lost by this, even if it was formatted, because Kafka never ran on it.
    """
    bench = await formatting("fats", formatted=formatted)
    assert bench.condition("Degraded") == ("True", "ClaimUnbound")
    before = nodes_of(bench)
    bench.resource(with_class("fast"))
    bench.reconciler.changed(KEY)
    await passes(bench, 10)
    assert bench.condition("SpecAccepted") == ("True", "Valid")
    assert set(classes(bench).values()) == {"fats"}, "a claim that exists is left to a person"
    for node_id in deleted:
        bench.kube.model.remove(CLAIMS, NAMESPACE, f"alpha-{node_id}-g1")
    bench.reconciler.changed(KEY)
    await passes(bench, 10)
    new = {node_id: "g2" if node_id in deleted else "g1" for node_id in IDS}
    by_generation = {"g1": "fats", "g2": "fast"}
    assert classes(bench) == {f"alpha-{node_id}-{one}": by_generation[one] for node_id, one in new.items()}
    bare = [node_id for node_id in IDS if node_id in deleted or not formatted]
    formatters = {name for plural, name in bench.kube.objects if plural == PODS.plural}
    assert formatters == {f"alpha-{node_id}-{new[node_id]}-format" for node_id in bare}
    ids = [(node["directory_id"], node["lost"]) for node in nodes_of(bench)]
    assert ids == [(node["directory_id"], []) for node in before]


async def test_a_storage_class_does_not_change_under_a_disk_that_has_run() -> None:
    """After the start another class changes no claim: a deleted claim is a lost disk, and only the next one has it."""
    bench = await at_rest()
    bench.resource(with_class("fast"))
    bench.reconciler.changed(KEY)
    await passes(bench, 3)
    assert classes(bench) == {f"alpha-{node_id}-g1": "" for node_id in IDS}
    for resource in (PODS, CLAIMS):
        del bench.kube.objects[resource.plural, "alpha-3001-g1"]
    bench.controllers.quorums[3000] = without_live(3001)
    bench.reconciler.changed(KEY)
    await passes(bench, 6)
    assert lost_of(bench.kube.objects[CONFIG_MAPS.plural, "alpha-identity"], 3001) == [directory(3001)]
    assert classes(bench) == {"alpha-3000-g1": "", "alpha-3001-g2": "fast", "alpha-3002-g1": ""}


async def test_an_unbound_claim_is_named_with_its_own_class() -> None:
    """The message names the class of the claim, which a corrected spec does not change, and the claim to delete."""
    bench = await formatting("fats", formatted=False)
    bench.resource(with_class("fast"))
    bench.reconciler.changed(KEY)
    await passes(bench, 10)
    message = bench.kube.objects[QUORUMS.plural, NAME]["status"]["message"]
    assert mentions(message, "fats", "fast")


async def looks(bench: Bench, count: int, *, anew: bool) -> None:
    """So many passes of the quorum's loop, 5 s apart, after this operator got the lease (again)."""
    loops = Loops(bench.reconciler)
    loops.wake(KEY, create=True)
    loops.wake_all(anew=anew)
    for _ in range(count):
        while loops.longest_wait_s() or loops.longest_pass_s():  # noqa: ASYNC110 - a pass sets no event
            await asyncio.sleep(0)
        bench.clock.seconds += 5
        loops.wake(KEY, create=False)
    await loops.stop()


@pytest.mark.parametrize("anew", [False, True])
async def test_a_token_that_another_operator_took_is_given_back(*, anew: bool) -> None:
    """An operator whose turn comes again does not rely on the holder that it read before the other one's turn."""
    bench, name = await at_rest(), token_name(NAME)
    await bench.run()
    assert bench.reconciler._memories[KEY].holder == ""
    bench.kube.put(LEASES, {"metadata": k8s.metadata(name), "spec": {"holderIdentity": token_holder(NAME)}})
    await looks(bench, 10, anew=anew)
    assert (bench.kube.objects[LEASES.plural, name]["spec"]["holderIdentity"] == "") is anew


@pytest.mark.parametrize("anew", [False, True])
async def test_the_time_of_a_lost_node_begins_again_after_another_operators_turn(*, anew: bool) -> None:
    """In between the Kubernetes node may have been well for days, which this operator has not seen."""
    bench = await at_rest()
    bench.controllers.quorums[3000] = without_live(3002)
    bench.kube.objects[NODES.plural, "worker-1"]["status"]["conditions"][0]["status"] = "Unknown"
    await bench.run()
    memory = bench.reconciler._memories[KEY]
    (lost,) = memory.lost_nodes
    bench.reconciler._memories[KEY] = replace(memory, lost_nodes=(replace(lost, for_s=590.0),))
    await looks(bench, 2, anew=anew)
    assert (bench.reconciler._memories[KEY].lost_for_s(lost.key) < 60) is anew


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
