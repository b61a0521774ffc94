"""One pass over one quorum, between an API server and controllers that answer as the test says."""

import copy
import json
from dataclasses import replace
from typing import Any

import pytest
from tests.act.test_age import SlowKube
from tests.clocks import MovingClock
from tests.kit.kube.recording import Call, RecordingKube
from tests.model.values import CLUSTER, IDS, NAME, NAMESPACE, UID, answer, directory, key, saying
from tests.observe import kubernetes as k8s
from tests.observe.test_gather import api_server, healthy, refused_with
from tests.wire.answering import AnsweringControllers

from kafka_quorum.kind import QUORUMS
from kafka_quorum.model.known import Known
from kafka_quorum.model.observed import Observed
from kafka_quorum.model.quorum import ClusterAnswer, Endpoint, FeatureStep, FinalizedFeature, NodeVersions, QuorumAnswer
from kafka_quorum.reconcile import PassResult, Reconciler
from kafka_quorum.settings import Settings
from kit.errors import KubeConflict, KubeHeld, KubeUnavailable
from kit.key import ObjectKey
from kit.kube.protocol import CLAIMS, CONFIG_MAPS, PODS, SERVICES, Json
from kit.report.report import PassReport, Subscriber, Subscribers

KEY = ObjectKey(namespace=NAMESPACE, name=NAME)
SPEC: dict[str, Any] = {"kafka": {"version": "4.4.0"}, "controllers": {"replicas": 3}}


class Ids:
    """Different bytes each time."""

    def __init__(self) -> None:
        """Begin at one."""
        self._count = 0

    def uuid_bytes(self) -> bytes:
        """The next sixteen."""
        self._count += 1
        return self._count.to_bytes(2, "big") * 8


class Bench:
    """A reconciler between its edges."""

    def __init__(self, kube: RecordingKube | None = None, controllers: AnsweringControllers | None = None) -> None:
        """A resource with nothing, unless the test brings more."""
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
        """Put the resource there."""
        made = k8s.metadata(NAME, uid=UID, generation=1, **metadata)
        self.kube.put(QUORUMS, {"metadata": made, "spec": copy.deepcopy(SPEC) if spec is None else spec})

    async def run(self) -> PassResult:
        """One pass."""
        return await self.reconciler.run_pass(KEY)

    def condition(self, type_: str) -> tuple[str, str]:
        """Status and reason of a condition, as they were last written."""
        rows = self.kube.objects[QUORUMS.plural, NAME]["status"]["conditions"]
        return next((row["status"], row["reason"]) for row in rows if row["type"] == type_)

    def acts(self) -> list[Call]:
        """Writes of anything but the status and events."""
        return [
            call for call in self.kube.writes() if call.plural != "events" and call.option("subresource") != "status"
        ]


def at_work() -> Bench:
    """A running quorum; what differs from what this operator would make of it is made so by its first passes."""
    bench = Bench(api_server(), healthy())
    bench.resource()
    return bench


async def test_resource_is_gone() -> None:
    """A resource that is not there ends its loop."""
    result = await Bench().run()
    assert result.gone
    assert result.plan is None


async def test_first_pass() -> None:
    """The first pass over a new resource makes its identity, tells an event of it, and is followed at once."""
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
    """An act that fails is no success: the next pass waits, and the same failure is told once."""
    bench = Bench()
    bench.resource()
    bench.kube.errors["create", "configmaps"] = KubeUnavailable("no answer")
    first = await bench.run()
    assert (first.again, first.failed) == (False, True)
    await bench.run()
    assert len([call for call in bench.kube.writes() if call.plural == "events"]) == 1


async def test_lost_events_change_nothing() -> None:
    """Nothing depends on events."""
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
    """A resource that is being deleted is left alone: what goes with it is not made again."""
    bench = Bench()
    bench.resource(deletionTimestamp="2026-01-01T00:00:00Z")
    result = await bench.run()
    assert bench.kube.writes() == []
    assert not result.gone


async def test_never_valid() -> None:
    """A resource that never was valid says so, by field and with one warning, and touches nothing."""
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
    """With a spec that became invalid, the quorum is repaired from the last valid one."""
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
    """What is said of replacing counts although the rest is invalid; not understood, nothing is given up."""
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
    """The leader's answer where this one's last fetch is long ago."""
    said = answer([key(each) for each in IDS])
    old = tuple(
        replace(row, last_fetch_ms=1, last_caught_up_ms=1) if row.key.node_id == node_id else row for row in said.voters
    )
    return replace(said, voters=old)


def lost_of(record: Json, node_id: int) -> list[str]:
    """The directory ids that the stored record calls lost."""
    nodes = json.loads(record["data"]["record.json"])["nodes"]
    return next(list(node["lost"]) for node in nodes if node["node_id"] == node_id)


async def test_earlier_resource_binds_nobody() -> None:
    """A record and claims that an earlier resource owns are not held against the new one's spec."""
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
    """Somebody who wrote meanwhile wins; the next pass starts from there."""
    bench = Bench()
    bench.resource()
    bench.kube.errors["patch", QUORUMS.plural] = KubeConflict("another version")
    assert not (await bench.run()).failed


async def at_rest() -> Bench:
    """A quorum after the passes that bring everything around it to what this operator makes."""
    bench = at_work()
    for _ in range(20):
        result = await bench.run()
        if not result.again:
            break
        bench.clock.seconds += 1
    assert result.plan is not None
    assert (result.plan.actions, result.plan.waits) == ((), ())
    bench.kube.calls.clear()
    return bench


async def test_status_ceases_to_say_ready_before_a_voter_change_begins() -> None:
    """The intent of a voter change is written to a status that does not say Ready, and is held for one pass at most."""
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


async def test_nothing_is_written_at_rest() -> None:
    """A pass that finds nothing new writes nothing, and everything says Ready."""
    bench = await at_rest()
    await bench.run()
    assert bench.kube.writes() == []
    assert bench.condition("Ready") == ("True", "AllVotersCaughtUp")
    assert bench.kube.objects[QUORUMS.plural, NAME]["status"]["clusterID"] == CLUSTER


async def test_objects_are_remembered_at_rest() -> None:
    """At rest only the controllers are asked; the API server again after a watch spoke, or after a while."""
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


async def test_old_objects_are_not_remembered() -> None:
    """An answer from before our own last write of the status hides what the status says: the next pass asks again."""
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


async def test_remembered_objects_are_not_acted_upon() -> None:
    """What a look at the quorum calls for is judged again on objects that were listed for it."""
    bench = await at_rest()
    controllers = healthy()
    controllers.quorums[3000] = answer([key(3000), key(3001)], [key(3002)])
    bench.reconciler._controllers = controllers
    await bench.run()  # the first look finds this leader's clock set back
    bench.kube.calls.clear()
    await bench.run()
    verbs = [call.verb for call in bench.kube.calls]
    assert "list" in verbs
    assert verbs.index("list") < verbs.index("patch")


async def test_nothing_is_remembered_of_a_resource_that_is_gone() -> None:
    """After `forget` the next pass asks for everything."""
    bench = await at_rest()
    bench.reconciler.forget(KEY)
    await bench.run()
    assert [call.verb for call in bench.kube.calls].count("list") == 6


async def test_a_watch_that_speaks_during_a_pass() -> None:
    """Objects that changed while they were read are not remembered."""
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
    """While these are asked, a watch speaks."""

    def __init__(self, reconciler: Reconciler) -> None:
        """Know whom to tell."""
        super().__init__()
        self._reconciler = reconciler

    async def describe_cluster(self, endpoint: Endpoint) -> ClusterAnswer:
        """Answer, and have the watch speak."""
        self._reconciler.changed(KEY)
        return await super().describe_cluster(endpoint)


class Witnessing:
    """Notes what it is told."""

    def __init__(self) -> None:
        """Nothing yet."""
        self.reports: list[PassReport[Observed]] = []
        self.forgotten: list[ObjectKey] = []

    async def take(self, report: PassReport[Observed]) -> None:
        """Note it."""
        self.reports.append(report)

    def forget(self, key: ObjectKey) -> None:
        """Note it."""
        self.forgotten.append(key)


def subscribed(bench: Bench, *subscribers: Subscriber[Observed]) -> None:
    """Add subscribers to those that every reconciler has."""
    present = bench.reconciler._subscribers._subscribers
    bench.reconciler._subscribers = Subscribers((*subscribers, *present))


async def test_a_subscriber_is_told_of_every_look_and_of_the_end() -> None:
    """What a pass judged by is what a subscriber gets, with what several looks agreed on, and when it was seen."""
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
    """A subscriber has the look of a pass whose status could not be written, and the error that ended it."""
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
    """Fails whenever it is told."""

    async def take(self, report: PassReport[Observed]) -> None:
        """Fail."""
        await super().take(report)
        raise KeyError("a fault")


async def test_a_subscriber_that_fails_ends_no_pass_and_no_other_subscriber() -> None:
    """The pass ends as ever, and the one behind it is told."""
    bench, broken, witness = await at_rest(), Broken(), Witnessing()
    subscribed(bench, broken, witness)
    result = await bench.run()
    assert not result.failed
    assert len(broken.reports) == len(witness.reports) == 1


# What the leader is asked of features


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
    """The spec that names these levels, and waits for nothing."""
    rows = [{"name": name.replace("_", "."), "level": level} for name, level in levels.items()]
    return {**SPEC, "kafka": {"version": "4.4.0", "features": {"levels": rows, "soakSeconds": 0}}}


async def passes(bench: Bench, count: int, *, every_s: float = 1.0) -> None:
    """So many passes, one after the other."""
    for _ in range(count):
        await bench.run()
        bench.clock.seconds += every_s
        bench.controllers.quorums[3000] = later(bench.controllers.quorums[3000])


def later(said: QuorumAnswer | Exception) -> QuorumAnswer:
    """The same answer a second later by the leader's clock."""
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
    """The steps that the leader was asked to take."""
    return [request.step for _, request in bench.controllers.updated if not request.validate_only]


async def test_announced_steps_are_asked_about_once_a_minute() -> None:
    """What could be raised, and is held, is asked about at most once a minute, and told in between."""
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
    """Who would block what could be raised is in the status in every pass, asked or not."""
    bench = outdated()
    words = "Broker 2 only supports versions 1-21"
    bench.controllers.refusal = refused_with("INVALID_UPDATE_VERSION", words)
    await passes(bench, 30)
    rows = bench.kube.objects[QUORUMS.plural, NAME]["status"]["features"]
    (row,) = (row for row in rows if row["name"] == "metadata.version")
    assert (row.get("wanted"), row["blockedBy"]) == (None, words)
    assert len(validated(bench)) == 3


async def test_other_steps_are_asked_about_at_once() -> None:
    """When other steps are held than before, they are asked about in the very look."""
    bench = outdated()
    await passes(bench, 20)
    bench.controllers.updated.clear()
    raised = replace(saying(), finalized=saying("4.2.1").finalized)
    bench.controllers.versions = dict.fromkeys(IDS, raised)
    await bench.run()
    assert {step.name for step in validated(bench)} == {"metadata.version", "share.version"}


async def test_next_step_is_asked_in_every_look() -> None:
    """A wanted step is asked about in every look in which it is judged, begun with its intent, and sent."""
    bench = outdated(asking(metadata_version=28, share_version=0, streams_version=0))
    await passes(bench, 20)
    steps = sent(bench)
    assert steps
    assert set(steps) == {RAISE}
    assert validated(bench).count(RAISE) > len(steps)
    operation = bench.kube.objects[QUORUMS.plural, NAME]["status"]["operation"]
    assert (operation["type"], operation["target"]) == ("RaiseFeature", "metadata.version=28")


async def test_open_step_is_urgent() -> None:
    """While a step is open no failure is waited out for long; when the level is there the step is closed."""
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
    """A controller of 4.4 at this metadata.version, beside the levels of 4.1, after one more change."""
    others = tuple(each for each in saying("4.1.2").finalized if each.name != "metadata.version")
    levels = tuple(sorted((*others, FinalizedFeature(name="metadata.version", level=level))))
    return replace(saying(epoch=8), finalized=levels)


async def test_held_restart_is_no_event() -> None:
    """A restart that a disruption budget put off is tried again, without an event or a condition of failure."""
    bench = at_work()
    bench.controllers.versions = dict.fromkeys(IDS, saying())
    await passes(bench, 20)
    bench.kube.errors["evict", "pods"] = KubeHeld(
        "The disruption budget alpha needs 2 healthy pods and has 2 currently"
    )
    bench.resource({**SPEC, "controllers": {"replicas": 3, "jvm": {"heap": "1Gi"}}})
    bench.reconciler.changed(KEY)
    await passes(bench, 20)
    verbs = [call.verb for call in bench.kube.calls]
    assert verbs.count("evict") > 1
    reasons = [call.body["reason"] for call in bench.kube.writes() if call.plural == "events" and call.body]
    assert "ActionFailed" not in reasons
    assert bench.condition("Degraded")[0] == "False"


@pytest.mark.parametrize("takes_s", [0.1, 2.5, 12.0])
async def test_slow_admission_does_not_stop_a_roll(takes_s: float) -> None:
    """However long a webhook thinks about the new pod, the restart is judged by a look that was made after it."""
    kube = SlowKube(objects=api_server().objects)
    bench = Bench(kube, healthy())
    bench.resource()
    kube.wait("dry-run", lambda: setattr(bench.clock, "seconds", bench.clock.seconds + takes_s))
    bench.controllers.versions = dict.fromkeys(IDS, saying())
    await passes(bench, 20)
    bench.resource({**SPEC, "controllers": {"replicas": 3, "jvm": {"heap": "1Gi"}}})
    bench.reconciler.changed(KEY)
    await passes(bench, 6)
    assert [call.name for call in kube.calls if call.verb == "evict"][:1] == ["alpha-3001-g1"]


# What the status says where passes fail, or nothing happens


async def test_a_status_that_cannot_be_kept_up_is_taken_back() -> None:
    """A healthy status does not stand when passes end in errors: Ready is Unknown, and an event says why, once."""
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
    """The status is the lease holder's."""
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
    assert {(call.plural, tuple((call.body or {})["status"])) for call in writes} == {("kafkaquorums", ("lastLook",))}
    assert 7 <= len(writes) <= 10
    assert len(set(stamps)) == len(writes) + 1


async def test_the_stamp_wakes_nothing() -> None:
    """The operator's own write of the status is no news: remembered objects stay in use."""
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
    """A service that another program changes back is applied with growing pauses, and two events say so in all."""
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
    """The status names it, its disk is not given up, and another controller's lost pod is made again."""
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
    """A backup tool that takes a claim over does not make its disk a lost one: it is there, by name."""
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
    """What the API server makes of 1.1Gi ends no pass: the spec is refused by field, and the quorum is kept."""
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
