"""One look: the answers of API server and controllers, in which unknown is not the same as empty."""

import asyncio
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from tests.golden.facts import mentions
from tests.kit.kube.recording import RecordingKube
from tests.model.values import (
    CLUSTER,
    IDS,
    NAME,
    NAMESPACE,
    OTHER_CLUSTER,
    answer,
    bound,
    claim_uid,
    desired,
    directory,
    key,
    revision,
    running,
    runtime,
)
from tests.observe import kubernetes as k8s
from tests.plan.recovery.lost import open_record
from tests.wire.answering import AnsweringControllers

from kafka_quorum.api.properties import FETCH_TIMEOUT
from kafka_quorum.errors import KafkaProtocolError, KafkaRefused
from kafka_quorum.kind import QUORUMS
from kafka_quorum.model import names
from kafka_quorum.model.desired import ControllerListener
from kafka_quorum.model.identity import IdentityRecord, with_disk_lost
from kafka_quorum.model.ids import Member, NodeID, ReplicaKey
from kafka_quorum.model.journal import RecoveryStage
from kafka_quorum.model.known import Knowable, Known, Unknown
from kafka_quorum.model.memory import Memory, StepCheck
from kafka_quorum.model.observed import KubeNode
from kafka_quorum.model.operation import VoterAddition, VoterChange, VoterRemoval, VoterReplacement
from kafka_quorum.model.quorum import ClusterAnswer, Endpoint, FeatureStep, NodeVersions, QuorumAnswer
from kafka_quorum.observe import gather
from kafka_quorum.observe import snapshot as snapshot_
from kafka_quorum.observe.access import Access
from kafka_quorum.observe.gather import Look
from kafka_quorum.observe.snapshot import PODS_MAX, Snapshot
from kafka_quorum.observe.unlisted import unlabelled
from kafka_quorum.resources import objects
from kafka_quorum.resources.intent import operation_row
from kafka_quorum.resources.stored import record_object, revision_object
from kit.clock import Clock
from kit.errors import Fault, KubeError, KubeRefused, KubeUnavailable
from kit.kube.protocol import BUDGETS, CLAIMS, CONFIG_MAPS, NODES, PODS, REVISIONS, SERVICES, ResourceType

Json = dict[str, Any]
THREE = (key(3000), key(3001), key(3002))
VERSIONS = NodeVersions(supported=(), finalized=(), finalized_epoch=3)


class StillClock:
    """A clock that does not move."""

    def now(self) -> datetime:
        """Always the same time."""
        return datetime(2026, 1, 1, tzinfo=UTC)

    def monotonic(self) -> float:
        """Always the same second."""
        return 77.0


def stored(body: Json) -> Json:
    """The object as an API server returns it."""
    labels = {names.LABEL_QUORUM: NAME, **body["metadata"].get("labels", {})}
    return {**body, "metadata": {"uid": "u", "resourceVersion": "5", **body["metadata"], "labels": labels}}


def api_server(record: IdentityRecord | None = None) -> RecordingKube:
    """A quorum of three, as the API server stores it."""
    known = record or running()
    kube = RecordingKube()
    kube.put(QUORUMS, {"metadata": k8s.metadata(NAME), "spec": {}, "status": {"clusterID": CLUSTER}})
    kube.put(CONFIG_MAPS, stored(record_object(desired(), replace(known, resource_version="5"))))
    kube.put(CONFIG_MAPS, stored(objects.config(desired(), "alpha-config-0123456789", revision(), IDS)))
    kube.put(SERVICES, stored(objects.service(desired(), 9093)))
    kube.put(BUDGETS, stored(objects.budget(desired(), 2)))
    kube.put(NODES, {"metadata": {"name": "worker-1"}, "status": {"conditions": [{"type": "Ready", "status": "True"}]}})
    of = revision()
    kube.put(
        REVISIONS,
        stored(
            revision_object(
                desired(), of.name, 1, runtime=of.runtime, image=of.image, inputs_hash=of.inputs_hash, spec={"a": 1}
            )
        ),
    )
    for one in known.nodes:
        body = stored(objects.claim(desired(), known, one))
        body["metadata"]["uid"] = claim_uid(one.node_id)
        kube.put(CLAIMS, body)
        kube.put(PODS, pod(one.node_id))
    return kube


def pod(node_id: int, **changes: Any) -> Json:  # noqa: ANN401 - any JSON
    """A running pod of this controller."""
    item = k8s.pod(main=k8s.container("kafka", k8s.running()))
    labels = {**item["metadata"]["labels"], names.LABEL_NODE: str(node_id)}
    own = {names.DIRECTORY_ID: directory(node_id), names.CLAIM_UID: claim_uid(node_id)}
    annotations = {**item["metadata"]["annotations"], **own}
    item["metadata"] |= {"name": f"{NAME}-{node_id}-g1", "labels": labels, "annotations": annotations}
    item["status"] |= {"podIP": f"10.0.0.{node_id - 2999}"} | changes
    return item


async def snapshot(kube: RecordingKube) -> Snapshot:
    """A snapshot of a resource that exists."""
    taken = await snapshot_.snapshot(kube, NAMESPACE, NAME, StillClock())
    assert taken is not None
    return taken


PLAIN = Access(namespace=NAMESPACE, quorum=NAME, listener=ControllerListener(name="CONTROLLER", port=9093))


async def look(taken: Snapshot, controllers: AnsweringControllers, memory: Memory | None = None) -> Look:
    """A look at the quorum."""
    return await gather.look(controllers, taken, memory or Memory(), access=PLAIN, clock=StillClock())


def refused() -> KafkaRefused:
    """A non-leader's answer."""
    return KafkaRefused(
        "DescribeQuorum was refused by controller 3001 with NOT_LEADER_OR_FOLLOWER: many words",
        code=6,
        name="NOT_LEADER_OR_FOLLOWER",
        server_message="",
        fault=Fault.THEIRS,
        retry_safe=True,
        outcome_unknown=False,
    )


def healthy() -> AnsweringControllers:
    """Controllers with leader 3000, whose followers are caught up in every look."""
    return AnsweringControllers(
        moves_ms=400,
        quorums={3000: answer(THREE), 3001: refused(), 3002: refused()},
        versions=dict.fromkeys(IDS, VERSIONS),
        clusters={3000: ClusterAnswer(cluster_id=CLUSTER, controller_ids=IDS)},
    )


# Kubernetes


async def test_snapshot() -> None:
    """A snapshot has every object of a quorum, reduced to what decisions need."""
    taken = await snapshot(api_server())
    assert taken.record == replace(running(), resource_version="5")
    assert taken.record_fault == ""
    assert [one.node_id for one in taken.claims] == list(IDS)
    assert [one.node_id for one in taken.pods] == list(IDS)
    assert taken.revisions == (revision(),)
    assert taken.spec_of(revision().name) == {"a": 1}
    assert taken.spec_of(None) is None
    kinds = sorted(item.kind for item in taken.support)
    assert kinds == ["ConfigMap", "ControllerRevision", "PodDisruptionBudget", "Service"]
    assert taken.taken_at_s == 77.0


async def test_resource_is_gone() -> None:
    """Without the resource there is no snapshot and no further request."""
    kube = RecordingKube()
    assert await snapshot_.snapshot(kube, NAMESPACE, NAME, StillClock()) is None
    assert [call.verb for call in kube.calls] == ["get"]


async def test_lists_are_of_this_quorum() -> None:
    """Every list selects the quorum's label."""
    kube = api_server()
    await snapshot(kube)
    lists = [call for call in kube.calls if call.verb == "list"]
    assert len(lists) == 6
    assert {call.options for call in lists} == {((names.LABEL_QUORUM, NAME),)}


@pytest.mark.parametrize("resource", [PODS, CLAIMS, CONFIG_MAPS, SERVICES, BUDGETS, REVISIONS])
async def test_failed_list_ends_the_look(resource: ResourceType) -> None:
    """If a list fails there is no snapshot, because a failure is not an empty list."""
    kube = api_server()
    kube.errors["list", resource.plural] = KubeUnavailable("no answer")
    with pytest.raises(KubeUnavailable):
        await snapshot_.snapshot(kube, NAMESPACE, NAME, StillClock())


async def test_record_without_its_label() -> None:
    """A record without its label, for example from a backup, is found by its name."""
    kube = api_server()
    item = kube.objects[CONFIG_MAPS.plural, "alpha-identity"]
    item["metadata"]["labels"] = {}
    assert (await snapshot(kube)).record is not None


async def test_no_record() -> None:
    """A record counts as absent only after a request by its name."""
    kube = api_server()
    del kube.objects[CONFIG_MAPS.plural, "alpha-identity"]
    taken = await snapshot(kube)
    assert (taken.record, taken.record_fault) == (None, "")
    assert any(call.verb == "get" and call.name == "alpha-identity" for call in kube.calls)


async def test_unreadable_record() -> None:
    """A record that cannot be read is a fault, not an absence."""
    kube = api_server()
    kube.objects[CONFIG_MAPS.plural, "alpha-identity"]["data"] = {"record.json": "{"}
    taken = await snapshot(kube)
    assert taken.record is None
    assert "alpha-identity" in taken.record_fault


async def test_unreadable_revision() -> None:
    """A revision that cannot be read is left out."""
    kube = api_server()
    kube.objects[REVISIONS.plural, revision().name]["data"] = {}
    assert (await snapshot(kube)).revisions == ()


async def test_missing_claim_is_asked_for_by_name() -> None:
    """A claim of the record that the list lacks is requested by name, so that one answer does not retire a disk."""
    kube = api_server()
    item = kube.objects[CLAIMS.plural, "alpha-3001-g1"]
    del item["metadata"]["labels"][names.LABEL_QUORUM]
    assert {one.name for one in (await snapshot(kube)).claims} >= {"alpha-3001-g1"}
    gets = [call.name for call in kube.calls if call.verb == "get" and call.plural == CLAIMS.plural]
    assert gets == ["alpha-3001-g1"]


async def test_claim_is_gone() -> None:
    """A claim that is found neither in the list nor by name is gone."""
    kube = api_server()
    del kube.objects[CLAIMS.plural, "alpha-3001-g1"]
    assert [one.node_id for one in (await snapshot(kube)).claims] == [3000, 3002]


async def test_failed_confirmation_ends_the_look() -> None:
    """If the request by name fails, the claim is unknown, not gone."""
    kube = api_server()
    del kube.objects[CLAIMS.plural, "alpha-3001-g1"]
    kube.errors["get", CLAIMS.plural] = KubeUnavailable("no answer")
    with pytest.raises(KubeUnavailable):
        await snapshot_.snapshot(kube, NAMESPACE, NAME, StillClock())


LOST_LABELS = [names.LABEL_QUORUM, names.LABEL_NODE, names.LABEL_ROLE]


@pytest.mark.parametrize("label", LOST_LABELS)
@pytest.mark.parametrize("value", [None, "another"])
async def test_a_pod_that_lost_a_label_is_neither_there_nor_gone(label: str, value: str | None) -> None:
    """Its Kafka runs on. The status has the command that gives exactly this label back."""
    kube = api_server()
    labels = kube.objects[PODS.plural, "alpha-3001-g1"]["metadata"]["labels"]
    before = labels.pop(label)
    if value is not None:
        labels[label] = value
    taken = await snapshot(kube)
    assert [one.node_id for one in taken.pods] == [3000, 3002]
    assert taken.strangers == ()
    (told,) = taken.unreadable
    assert (told.name, told.node_id) == ("alpha-3001-g1", 3001)
    assert told.why.endswith(f": kubectl -n {NAMESPACE} label pod alpha-3001-g1 --overwrite {label}={before}")
    kube.objects[PODS.plural, "alpha-3001-g1"]["metadata"]["labels"][label] = before
    assert (await snapshot(kube)).unreadable == ()


async def test_a_formatter_that_lost_its_label_is_there() -> None:
    """It may still write to the disk."""
    kube = api_server()
    item = kube.objects.pop((PODS.plural, "alpha-3001-g1"))
    item["metadata"] |= {"name": "alpha-3001-g1-format", "labels": {}}
    kube.put(PODS, item)
    (told,) = (await snapshot(kube)).unreadable
    assert told.name == "alpha-3001-g1-format"
    assert f"{names.LABEL_ROLE}=formatter" in told.why


@pytest.mark.parametrize("labelled", [False, True])
@pytest.mark.parametrize("given_up", [False, True])
async def test_a_pod_that_something_else_controls_is_there(labelled: bool, given_up: bool) -> None:  # noqa: FBT001
    """No edit hides a controller, with its labels or without; nobody is told to delete it as the pod of others."""
    record = with_disk_lost(running(), NodeID(3001), new_claim=True) if given_up else running()
    kube = api_server(record)
    metadata = kube.objects[PODS.plural, "alpha-3001-g1"]["metadata"]
    if not labelled:
        metadata["labels"] = {}
    metadata["ownerReferences"] = [{"kind": "Other", "name": "x", "uid": "x", "controller": True}]
    taken = await snapshot(kube)
    (told,) = taken.unreadable
    assert (told.name, told.node_id) == ("alpha-3001-g1", 3001)
    assert "not a KafkaQuorum" in told.why
    assert taken.strangers == ()


async def test_no_pod_is_asked_for_while_all_are_listed() -> None:
    """A quorum costs no request more. A pod that is gone costs two, and one that cannot be asked for ends the look."""
    kube = api_server()
    await snapshot(kube)
    assert [call.name for call in kube.calls if (call.verb, call.plural) == ("get", PODS.plural)] == []
    del kube.objects[PODS.plural, "alpha-3001-g1"]
    assert (await snapshot(kube)).unreadable == ()
    asked = [call.name for call in kube.calls if (call.verb, call.plural) == ("get", PODS.plural)]
    assert asked == ["alpha-3001-g1", "alpha-3001-g1-format"]
    kube.errors["get", PODS.plural] = KubeUnavailable("no answer")
    with pytest.raises(KubeUnavailable):
        await snapshot_.snapshot(kube, NAMESPACE, NAME, StillClock())


async def test_a_label_that_comes_back_during_a_look_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """Between the list and the question for the pod: it is there, so that no disk under it is copied."""
    kube = api_server()
    place = (PODS.plural, "alpha-3001-g1")
    before, get = kube.objects[place]["metadata"]["labels"], kube.get

    async def late(resource: ResourceType, namespace: str, name: str) -> Json | None:
        if name == place[1]:
            kube.objects[place]["metadata"]["labels"] = before
        return await get(resource, namespace, name)

    monkeypatch.setattr(kube, "get", late)
    kube.objects[place]["metadata"]["labels"] = {}
    taken = await snapshot(kube)
    assert [one.node_id for one in taken.pods] == [3000, 3001, 3002]
    assert (taken.unreadable, taken.strangers) == ((), ())


async def test_the_pod_of_a_disk_that_was_given_up_is_there_without_labels() -> None:
    """That is recorded before the pod is deleted: without this, a second pod of the controller would start beside."""
    kube = api_server(with_disk_lost(running(), NodeID(3001), new_claim=True))
    assert [one.name for one in (await snapshot(kube)).pods if one.node_id == 3001] == ["alpha-3001-g1"]
    kube.objects[PODS.plural, "alpha-3001-g1"]["metadata"]["labels"] = {}
    (told,) = (await snapshot(kube)).unreadable
    assert (told.name, told.node_id) == ("alpha-3001-g1", 3001)
    assert told.why.endswith(f"{names.LABEL_QUORUM}=alpha {names.LABEL_NODE}=3001 {names.LABEL_ROLE}=controller")
    kube.put(PODS, {**pod(3001), "metadata": {**pod(3001)["metadata"], "name": "alpha-3001-g2"}})
    kube.calls.clear()
    assert (await snapshot(kube)).unreadable == ()
    assert [call.name for call in kube.calls if (call.verb, call.plural) == ("get", PODS.plural)] == []


async def test_a_stranger_hides_no_pod_without_labels() -> None:
    """It has the name of the formatter, and our labels, but another controller."""
    kube = api_server()
    stranger = kube.objects[PODS.plural, "alpha-3001-g1"]
    owner = {"kind": "Other", "name": "x", "uid": "x", "controller": True}
    changed = {"name": "alpha-3001-g1-format", "uid": "other", "ownerReferences": [owner]}
    kube.put(PODS, {**stranger, "metadata": {**stranger["metadata"], **changed}})
    kube.objects[PODS.plural, "alpha-3001-g1"]["metadata"]["labels"] = {}
    taken = await snapshot(kube)
    assert [one.name for one in taken.unreadable] == ["alpha-3001-g1"]
    assert [one.name for one in taken.strangers] == ["alpha-3001-g1-format"]


def on_disk(name: str, phase: str = "Running", claim: str = "alpha-3001-g1") -> Json:
    """A pod of a person on the disk of a controller, without any label of ours."""
    volume = {"name": "data", "persistentVolumeClaim": {"claimName": claim}}
    volumes = [{"name": "tmp", "emptyDir": {}}, volume]
    metadata = k8s.metadata(name) | {"labels": {}, "uid": name}
    return {"kind": PODS.kind, "metadata": metadata, "spec": {"volumes": volumes}, "status": {"phase": phase}}


async def test_a_pod_of_others_on_a_disk_is_seen_while_a_recovery_is_open() -> None:
    """Whatever labels it has, it may write to what is copied. One that has ended writes nothing."""
    for record in (running(), open_record(RecoveryStage.STOP)):
        kube = api_server(record)
        kube.put(PODS, on_disk("debug"))
        kube.put(PODS, on_disk("ended", "Succeeded"))
        kube.put(PODS, on_disk("other", claim="beta-3001-g1"))
        found = (await snapshot(kube)).strangers
        assert [(one.name, one.on_disk) for one in found] == ([("debug", True)] if record.recovery else [])
        kube.objects[PODS.plural, "debug"]["metadata"]["labels"] = {names.LABEL_QUORUM: NAME}
        assert [(one.name, one.on_disk) for one in (await snapshot(kube)).strangers] == [("debug", True)]


async def test_a_pod_of_ours_without_labels_is_told_once_while_a_recovery_is_open() -> None:
    """As one that gets them back, and not as one to be deleted."""
    kube = api_server(open_record(RecoveryStage.STOP))
    kube.objects[PODS.plural, "alpha-3001-g1"]["metadata"]["labels"] = {}
    kube.objects[PODS.plural, "alpha-3001-g1"]["spec"] = on_disk("")["spec"]
    taken = await snapshot(kube)
    assert ([one.name for one in taken.unreadable], taken.strangers) == (["alpha-3001-g1"], ())


async def test_the_command_is_never_cut() -> None:
    """The longest name that a quorum may have, and the longest of a controller's."""
    name, last = "a" * 51, NodeID(2**31 - 1)
    record = running()
    record = replace(record, nodes=(replace(record.nodes[0], node_id=last, generation=999_999_999),))
    kube = RecordingKube()
    kube.put(PODS, {"metadata": k8s.metadata(f"{name}-{last}-g999999999") | {"labels": {}}})
    _, (told,) = await unlabelled(kube, NAMESPACE, name, record, [])
    assert told.why.endswith(f"{names.LABEL_NODE}={last} {names.LABEL_ROLE}=controller")


async def test_what_was_asked_for_by_name_is_no_part_of_an_inventory() -> None:
    """No list shows that it changed or is gone, so the lists alone confirm nothing."""
    name = revision().name
    kube = api_server(replace(running(), applied_revision=name))
    metadata = k8s.metadata(names.contract_name(NAME)) | {"labels": {names.LABEL_QUORUM: NAME}}
    kube.put(CONFIG_MAPS, {"metadata": metadata, "data": {}})
    assert (await snapshot(kube)).parts is not None
    del kube.objects[REVISIONS.plural, name]["metadata"]["labels"][names.LABEL_QUORUM]
    assert (await snapshot(kube)).parts is None


async def test_a_revision_that_lost_its_label_is_found_by_its_name() -> None:
    """Pods are made from it, as before."""
    name = revision().name
    kube = api_server(replace(running(), applied_revision=name))
    del kube.objects[REVISIONS.plural, name]["metadata"]["labels"][names.LABEL_QUORUM]
    assert [one.name for one in (await snapshot(kube)).revisions] == [name]


# The quorum


async def test_look() -> None:
    """The leader's answer is judged, and every controller's versions are kept."""
    taken = await snapshot(api_server())
    looked = await look(taken, healthy())
    assert isinstance(looked.quorum, Known)
    assert looked.quorum.value.voters == frozenset(THREE)
    assert looked.quorum.value.taken_at_s == 77.0
    assert looked.versions == tuple((node_id, Known(value=VERSIONS)) for node_id in IDS)
    assert looked.memory.looks(key(3001)) == 0


@pytest.mark.parametrize(
    ("change", "remembered"), [(VoterAddition, True), (VoterReplacement, True), (VoterRemoval, False)]
)
async def test_a_replica_that_is_asked_for_may_vote(change: type[VoterChange], *, remembered: bool) -> None:
    """While an operation is open that makes a replica a voter, the log may list this one; a removal adds nobody."""
    kube = api_server()
    status = {
        "clusterID": CLUSTER,
        "operation": operation_row(change(target=key(3003)), id_="1", holder="a", started_at=""),
    }
    kube.put(QUORUMS, {"metadata": k8s.metadata(NAME), "spec": {}, "status": status})
    looked = await look(await snapshot(kube), healthy())
    assert looked.memory.may_vote == frozenset(THREE) | ({key(3003)} if remembered else set())


async def test_memory_goes_on() -> None:
    """The memory of earlier looks continues in the next look."""
    taken = await snapshot(api_server())
    first = await look(taken, AnsweringControllers())
    second = await look(taken, AnsweringControllers(), first.memory)
    assert second.memory.unknown_looks == 2


@pytest.mark.parametrize(
    "changes",
    [
        {"podIP": ""},
        {"containerStatuses": [k8s.container("kafka", k8s.waiting("CrashLoopBackOff"))]},
    ],
    ids=["no address", "does not run"],
)
async def test_only_running_pods_are_asked(changes: Json) -> None:
    """A pod without an address, or in which Kafka does not run, is not asked."""
    kube = api_server()
    kube.put(PODS, pod(3001, **changes))
    controllers = healthy()
    await look(await snapshot(kube), controllers)
    assert {endpoint.node_id for _, endpoint in controllers.asked} == {3000, 3002}


async def test_formatters_are_not_asked() -> None:
    """A formatter is not asked, because it is no controller."""
    kube = api_server(bound())
    for name in [name for plural, name in kube.objects if plural == PODS.plural]:
        del kube.objects[PODS.plural, name]
    kube.put(PODS, k8s.pod("formatter", main=k8s.container("format", k8s.running())))
    controllers = healthy()
    looked = await look(await snapshot(kube), controllers)
    assert controllers.asked == []
    assert isinstance(looked.quorum, Unknown)


async def test_listener_of_the_pods_own_revision() -> None:
    """A pod is asked at the port of its own revision, or at the spec's port if that revision is unknown."""
    taken = await snapshot(api_server())
    other = replace(
        revision(), runtime=replace(revision().runtime, listener=replace(revision().runtime.listener, port=19093))
    )
    controllers = healthy()
    await look(replace(taken, revisions=(other,)), controllers)
    assert {endpoint.port for _, endpoint in controllers.asked} == {19093}
    await look(replace(taken, revisions=()), controllers)
    assert controllers.asked[-1][1].port == 9093


async def live_after(
    text: str, *ages_ms: int, made_from: str = revision().name, clock: Clock | None = None
) -> set[ReplicaKey] | None:
    """Who is live, or None without a leader, if 3001 and 3002 fetched this long ago.

    The revision `made_from` has this fetch timeout; that of the pods is `revision().name`.
    """
    rows = zip(answer(THREE).voters, (0, *ages_ms), strict=True)
    voters = tuple(replace(one, last_fetch_ms=one.last_fetch_ms - age_ms) for one, age_ms in rows)
    controllers = healthy()
    controllers.quorums[3000] = replace(answer(THREE), voters=voters)
    changed = replace(revision(runtime(config=((FETCH_TIMEOUT, text),))), name=made_from)
    taken = replace(await snapshot(api_server()), revisions=(changed,))
    looked = await gather.look(controllers, taken, Memory(), access=PLAIN, clock=clock or StillClock())
    return set(looked.quorum.value.live) if isinstance(looked.quorum, Known) else None


@pytest.mark.parametrize(
    ("text", "ages_ms", "live"),
    [
        ("2000", (5000, 0), {THREE[0], THREE[2]}),
        ("2000", (5000, 5000), None),
        ("6000", (5000, 0), set(THREE)),
        ("6000", (5000, 5000), set(THREE)),
        ("6000", (7000, 5000), {THREE[0], THREE[2]}),
    ],
)
async def test_live_within_the_timeout_that_the_leader_runs_with(
    text: str, ages_ms: tuple[int, int], live: set[ReplicaKey] | None
) -> None:
    """The fetch timeout of the leader's own pod decides who is live, and whether the leader has a majority."""
    assert await live_after(text, *ages_ms) == live
    assert await live_after(text, *ages_ms, clock=SteppingClock(4.0)) == live, "when the leader is asked again"


@pytest.mark.parametrize(("ages_ms", "live"), [((5000, 0), set(THREE)), ((5000, 5000), None)])
async def test_live_within_a_timeout_that_is_unknown(ages_ms: tuple[int, int], live: set[ReplicaKey] | None) -> None:
    """If the leader's timeout is unknown, the shortest one decides about its majority, the longest about each voter."""
    assert await live_after("6000", *ages_ms, made_from="alpha-another") == live


async def test_who_does_not_lead_says_so_in_two_words() -> None:
    """A controller that does not lead is listed with a few words, because people read the status."""
    controllers = replace(healthy(), quorums={3000: refused(), 3001: refused()})
    looked = await look(await snapshot(api_server()), controllers)
    assert isinstance(looked.quorum, Unknown)
    assert mentions(looked.quorum.reason, 3000, 3001)
    assert "many words" not in looked.quorum.reason


async def test_errors_are_unknown() -> None:
    """An error of one controller is Unknown with its reason, and does not hide the answers of the others."""
    broken = KafkaProtocolError("cut short", fault=Fault.THEIRS, retry_safe=True, outcome_unknown=False)
    controllers = healthy()
    controllers.quorums[3001] = broken
    controllers.versions[3001] = broken
    looked = await look(await snapshot(api_server()), controllers)
    assert isinstance(looked.quorum, Known)
    assert dict(looked.versions)[IDS[1]] == Unknown(reason="cut short")


async def test_nobody_answers() -> None:
    """Without any answer the quorum is Unknown, with the reason of every controller."""
    looked = await look(await snapshot(api_server()), AnsweringControllers())
    assert isinstance(looked.quorum, Unknown)
    for node_id in IDS:
        assert str(node_id) in looked.quorum.reason


async def test_foreign_cluster() -> None:
    """If the leader reports another cluster id, for example after its address was reused, the quorum is Unknown."""
    controllers = healthy()
    controllers.clusters[3000] = ClusterAnswer(cluster_id=OTHER_CLUSTER, controller_ids=IDS)
    looked = await look(await snapshot(api_server()), controllers)
    assert isinstance(looked.quorum, Unknown)
    assert OTHER_CLUSTER in looked.quorum.reason
    assert CLUSTER in looked.quorum.reason


async def test_leader_without_its_cluster_id() -> None:
    """If the leader does not report its cluster id, the quorum is Unknown."""
    controllers = healthy()
    del controllers.clusters[3000]
    looked = await look(await snapshot(api_server()), controllers)
    assert isinstance(looked.quorum, Unknown)
    assert looked.memory.unknown_looks == 1


async def test_leader_that_is_no_pod() -> None:
    """If the leader is no pod of this quorum, the quorum is Unknown."""
    controllers = healthy()
    controllers.quorums[3000] = answer([key(3009), key(3000), key(3001)])
    looked = await look(await snapshot(api_server()), controllers)
    assert isinstance(looked.quorum, Unknown)
    assert "3009" in looked.quorum.reason


async def test_observed() -> None:
    """Snapshot and look are combined in one Observed, and the status comes from the resource."""
    taken = await snapshot(api_server())
    looked = await look(taken, healthy())
    seen = gather.observed(taken, looked)
    assert seen.record == taken.record
    assert seen.status.cluster_id == CLUSTER
    assert (seen.claims, seen.pods, seen.support, seen.revisions) == (
        taken.claims,
        taken.pods,
        taken.support,
        taken.revisions,
    )
    assert (seen.quorum, seen.versions, seen.memory) == (looked.quorum, looked.versions, looked.memory)
    assert seen.claim(names.claim_name(Member(NAME, NodeID(3001)), 1)) is not None


class SteppingClock(StillClock):
    """A clock that moves on by this many seconds at every reading."""

    def __init__(self, step_s: float) -> None:
        """Starts at zero."""
        self._now_s, self._step_s = -step_s, step_s

    def monotonic(self) -> float:
        """The next moment."""
        self._now_s += self._step_s
        return self._now_s


@pytest.mark.parametrize(("step_s", "asked", "taken_at_s"), [(0.1, 1, 0.0), (4.0, 2, 8.0)], ids=["quick", "slow"])
async def test_slow_look_is_made_fresh(step_s: float, asked: int, taken_at_s: float) -> None:
    """After a slow look the leader is asked again, because an old answer would allow no action."""
    controllers = healthy()
    looked = await gather.look(
        controllers,
        await snapshot(api_server()),
        Memory(),
        access=PLAIN,
        clock=SteppingClock(step_s),
    )
    assert isinstance(looked.quorum, Known)
    assert looked.quorum.value.taken_at_s == taken_at_s
    assert [question for question, at in controllers.asked if at.node_id == 3000].count("DescribeQuorum") == asked
    assert [question for question, at in controllers.asked if at.node_id == 3001].count("DescribeQuorum") == 1


class FrozenFollower(AnsweringControllers):
    """Controllers of which one, 3001, accepts connections but does not answer."""

    cancelled = 0

    async def describe_quorum(self, endpoint: Endpoint) -> QuorumAnswer:
        """Hangs if the controller is the frozen one."""
        if endpoint.node_id == 3001:
            try:
                await asyncio.Event().wait()
            finally:
                type(self).cancelled += 1
        return await super().describe_quorum(endpoint)


async def test_a_frozen_controller_holds_no_look_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """After a leader's answer a frozen controller is not waited for long, and its request is cancelled."""
    monkeypatch.setattr(gather, "_PATIENCE_S", 0.05)
    well = healthy()
    frozen = FrozenFollower(quorums=well.quorums, versions=well.versions, clusters=well.clusters)
    async with asyncio.timeout(10):
        looked = await look(await snapshot(api_server()), frozen)
    assert isinstance(looked.quorum, Known)
    assert FrozenFollower.cancelled == 1


def kube_node_item(name: str, *, ready: str | None) -> Json:
    """A Kubernetes node with this status of its Ready condition, or without the condition."""
    conditions = [] if ready is None else [{"type": "Ready", "status": ready}]
    more = [{"type": "MemoryPressure", "status": "False"}]
    return {"metadata": {"name": name}, "status": {"conditions": [*more, *conditions]}}


@pytest.mark.parametrize(
    ("ready", "well"),
    [("True", True), ("False", False), ("Unknown", False), (None, False)],
    ids=["ready", "not ready", "kubelet silent", "no condition"],
)
async def test_kube_node(ready: str | None, *, well: bool) -> None:
    """A Kubernetes node is ready only if its condition is True; it is not ready if its kubelet is silent."""
    kube = RecordingKube()
    kube.put(NODES, kube_node_item("worker-1", ready=ready))
    ((name, found),) = await gather.kube_nodes(kube, ("worker-1",))
    assert (name, found) == ("worker-1", Known(value=KubeNode(name="worker-1", exists=True, ready=well)))


async def test_kube_node_that_is_gone() -> None:
    """A Kubernetes node that the API server does not have is absent, and not ready."""
    ((_, found),) = await gather.kube_nodes(RecordingKube(), ("worker-1",))
    assert found == Known(value=KubeNode(name="worker-1", exists=False, ready=False))


@pytest.mark.parametrize("error", [KubeRefused("403: nodes is forbidden"), KubeUnavailable("no answer")])
async def test_kube_node_that_cannot_be_read(error: Exception) -> None:
    """A Kubernetes node that cannot be read is Unknown with the server's words, and never lost."""
    kube = RecordingKube(errors={("get", "nodes"): error})
    ((_, found),) = await gather.kube_nodes(kube, ("worker-1",))
    assert found == Unknown(reason=str(error))


async def test_no_node_is_asked_for_nothing() -> None:
    """Without suspects there is no request."""
    kube = RecordingKube()
    assert await gather.kube_nodes(kube, ()) == ()
    assert kube.calls == []


# Controllers that do not lead


async def test_those_that_answered_do_not_lead() -> None:
    """Without a leader, controllers that reported that they do not lead are distinct from those that did not answer."""
    taken = await snapshot(api_server())
    told = await look(taken, AnsweringControllers(quorums={3000: refused(), 3001: refused()}))
    assert told.not_leading == {IDS[0], IDS[1]}


async def test_a_leader_of_too_few_does_not_lead() -> None:
    """A leader without a live majority counts as not leading; with a leader no controller does."""
    taken = await snapshot(api_server())
    alone = answer([key(3000), key(3001), key(3002)])
    rows = (alone.voters[0], *(replace(row, last_fetch_ms=-1) for row in alone.voters[1:]))
    told = await look(taken, AnsweringControllers(quorums={3000: replace(alone, voters=rows), 3001: refused()}))
    assert isinstance(told.quorum, Unknown)
    assert told.not_leading == {IDS[0], IDS[1]}
    assert (await look(taken, healthy())).not_leading == frozenset()


# What the leader would allow


RAISE = FeatureStep(name="metadata.version", level=28)
LOWER = FeatureStep(name="metadata.version", level=26, downgrade=True)
LEADER = Endpoint(node_id=IDS[0], host="10.0.0.1", port=9093)


def refused_with(name: str, words: str) -> KafkaRefused:
    """A refusal of the leader with this error and these words."""
    text = f"UpdateFeatures was refused by controller 3000 with {name}: {words}"
    return KafkaRefused(
        text, code=95, name=name, server_message=words, fault=Fault.OURS, retry_safe=False, outcome_unknown=False
    )


async def checked(*steps: FeatureStep, refusal: Exception | None = None) -> list[Knowable[StepCheck]]:
    """The leader's answers about these steps."""
    controllers = AnsweringControllers(refusal=refusal)
    found = await gather.checks(controllers, LEADER, steps)
    assert [step for step, _ in found] == list(steps)
    assert [endpoint for endpoint, _ in controllers.updated] == [LEADER] * len(steps)
    assert all(request.validate_only for _, request in controllers.updated)
    assert [request.step for _, request in controllers.updated] == list(steps)
    return [answer for _, answer in found]


async def test_steps_are_validated_only() -> None:
    """The leader is asked about each step in order, with validate only."""
    assert await checked(LOWER, RAISE) == [Known(value=StepCheck(allowed=True, words=""))] * 2


async def test_refused_step() -> None:
    """A refusal is known, with the server's words, or with the error's name if it has no words."""
    words = "Invalid update version 28 for feature metadata.version. Broker 2 only supports versions 1-21"
    (said,) = await checked(RAISE, refusal=refused_with("INVALID_UPDATE_VERSION", words))
    assert said == Known(value=StepCheck(allowed=False, words=words))
    (bare,) = await checked(RAISE, refusal=refused_with("CLUSTER_AUTHORIZATION_FAILED", ""))
    assert bare == Known(value=StepCheck(allowed=False, words="CLUSTER_AUTHORIZATION_FAILED"))


@pytest.mark.parametrize("name", ["NOT_CONTROLLER", "REQUEST_TIMED_OUT", "UNKNOWN_SERVER_ERROR", "NETWORK_EXCEPTION"])
async def test_answer_that_is_no_verdict(name: str) -> None:
    """A controller that is not the active one, or timed out, gives no verdict on the step."""
    error = refused_with(name, "some words")
    assert await checked(RAISE, refusal=error) == [Unknown(reason=str(error))]


async def test_no_answer_is_no_verdict() -> None:
    """An answer that cannot be read is Unknown: neither allowed nor refused."""
    error = KafkaProtocolError("garbled", fault=Fault.THEIRS, retry_safe=False, outcome_unknown=True)
    assert await checked(RAISE, refusal=error) == [Unknown(reason="garbled")]


async def test_nobody_to_ask() -> None:
    """Without a leader no step is asked about."""
    controllers = AnsweringControllers()
    assert await gather.checks(controllers, None, (RAISE,)) == ()
    assert controllers.updated == []


async def test_registered_controllers() -> None:
    """A look has the leader's list of registered controllers and the leader's address."""
    controllers = healthy()
    controllers.clusters[3000] = ClusterAnswer(cluster_id=CLUSTER, controller_ids=(*IDS, NodeID(3003)))
    found = await look(await snapshot(api_server()), controllers)
    assert found.registered == Known(value=(*IDS, NodeID(3003)))
    assert found.leader == LEADER
    assert gather.observed(await snapshot(api_server()), found).registered == found.registered


@pytest.mark.parametrize("how", ["no leader", "another cluster"])
async def test_registered_is_unknown(how: str) -> None:
    """Without a leader of this cluster the registered controllers are unknown, and no leader is set."""
    controllers = healthy()
    if how == "no leader":
        controllers.quorums[3000] = refused()
    else:
        controllers.clusters[3000] = ClusterAnswer(cluster_id=OTHER_CLUSTER, controller_ids=IDS)
    found = await look(await snapshot(api_server()), controllers)
    assert isinstance(found.registered, Unknown)
    assert found.leader is None


async def test_static_voters_get_the_keys_of_their_disks() -> None:
    """Voters without directory ids get those of the record, and the view is marked as static."""
    controllers = healthy()
    bare = [ReplicaKey(node_id=node_id, directory_id=None) for node_id in IDS]
    controllers.quorums[3000] = answer(bare)
    found = await look(await snapshot(api_server()), controllers)
    assert isinstance(found.quorum, Known)
    assert found.quorum.value.voters == frozenset(THREE)
    assert found.quorum.value.static
    dynamic = await look(await snapshot(api_server()), healthy())
    assert isinstance(dynamic.quorum, Known)
    assert not dynamic.quorum.value.static


async def test_stopped_pod_is_not_caught_up() -> None:
    """A controller whose pod is being deleted loses its looks, even if Kafka reports it as caught up."""
    kube = api_server()
    going = pod(3002)
    going["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    kube.put(PODS, going)
    taken, controllers = await snapshot(kube), healthy()
    first = await look(taken, controllers)
    second = await look(taken, controllers, first.memory)
    assert [second.memory.looks(one) for one in THREE] == [2, 1, 0]
    assert isinstance(second.quorum, Known)
    assert second.quorum.value.caught_up == second.quorum.value.shown == {*THREE[:2]}


async def test_time_of_a_look_without_a_leader() -> None:
    """A look without a leader has the time of its end, even if it waited long for controllers that do not answer.

    Otherwise a frozen controller would prevent every action that needs no leader.
    """
    taken = await snapshot(api_server())
    found = await gather.look(AnsweringControllers(), taken, Memory(), access=PLAIN, clock=SteppingClock(4.0))
    assert isinstance(found.quorum, Unknown)
    assert found.taken_at_s == 4.0
    assert gather.observed(taken, found).looked_at_s == 4.0


async def test_more_pods_than_a_quorum_can_have_end_the_look() -> None:
    """With more pods than a quorum can have there is no snapshot, and the error names what to delete."""
    kube = api_server()
    labels = {names.LABEL_QUORUM: NAME, names.LABEL_ROLE: "controller"}
    for number in range(PODS_MAX + 1):
        name, node = f"{NAME}-{number + 5000}-g1", {names.LABEL_NODE: str(number + 5000)}
        metadata = {"name": name, "namespace": NAMESPACE, "uid": f"uid-{number}", "labels": labels | node}
        kube.objects[PODS.plural, name] = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {}}
    with pytest.raises(KubeError, match=str(PODS_MAX)):
        await snapshot(kube)
