"""The requests of every action: their preconditions, and the outcome that follows from an error."""

import json
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from types import ModuleType
from typing import Any

import pytest
from tests.golden.facts import facts, mentions
from tests.kit.kube.recording import Call, RecordingKube
from tests.model.values import (
    CLUSTER,
    IDS,
    NAME,
    NAMESPACE,
    UID,
    bound,
    claim,
    desired,
    directory,
    key,
    minted,
    node,
    permit,
    pod,
    revision,
    running,
    runtime,
    storage,
    uuid,
)
from tests.model.values import write as written
from tests.status.passes import done as passed
from tests.wire.answering import AnsweringControllers

from kafka_quorum.act.building import Context
from kafka_quorum.act.execute import Executor
from kafka_quorum.errors import KafkaError, KafkaRefused, KafkaUnreachable, KafkaUnsecured
from kafka_quorum.kind import QUORUMS
from kafka_quorum.model import actions as act
from kafka_quorum.model import names
from kafka_quorum.model import permit as permits
from kafka_quorum.model.actions import Action, RecordChange, stamped
from kafka_quorum.model.desired import BootstrapMode, Desired, VolumeFate
from kafka_quorum.model.identity import Format, IdentityRecord
from kafka_quorum.model.ids import ClusterID, NodeID, uuid_from_bytes
from kafka_quorum.model.names import inputs_hash
from kafka_quorum.model.operation import VoterAddition
from kafka_quorum.model.plan import Outcome, Plan
from kafka_quorum.model.pods import PodRole, Terminated, Waiting
from kafka_quorum.model.quorum import (
    AddVoter,
    ClusterAnswer,
    Endpoint,
    FeatureRange,
    FeatureStep,
    Listener,
    RemoveVoter,
)
from kafka_quorum.observe.objects import status_from
from kafka_quorum.resources import objects, pods, stored
from kafka_quorum.resources.stored import record_from
from kafka_quorum.settings import Settings
from kafka_quorum.status.build import build
from kit.errors import (
    Fault,
    KubeAlreadyExists,
    KubeConflict,
    KubeError,
    KubeHeld,
    KubeNotFound,
    KubeRefused,
    KubeUnavailable,
)
from kit.kube.protocol import BUDGETS, CLAIMS, CONFIG_MAPS, PODS, REVISIONS, SERVICES

RESOURCE: dict[str, Any] = {
    "metadata": {"name": NAME, "namespace": NAMESPACE, "uid": UID, "resourceVersion": "77"},
    "spec": {"kafka": {"version": "4.4.0"}},
}
POD = pod(running(), node(running(), 3001))
LEADER = Endpoint(node_id=IDS[0], host="10.0.0.1", port=9093)
REQUEST = AddVoter(
    cluster_id=CLUSTER, voter=key(3003), listeners=(Listener(name="CONTROLLER", host="h", port=9093),), timeout_ms=5000
)
ADD = act.AddRaftVoter(leader=LEADER, request=REQUEST, judged_at_s=1000.0, permit=permit(permits.AddVoter))


class SetClock:
    """A stopped clock, by default two seconds after the look."""

    def __init__(self, age_s: float = 2.0) -> None:
        """`age_s` is the age of the look."""
        self._now_s = 1000.0 + age_s

    def now(self) -> datetime:
        """A fixed time."""
        return datetime(2026, 1, 1, 12, 30, tzinfo=UTC)

    def monotonic(self) -> float:
        """The time of the look plus its age."""
        return self._now_s


class CountingIds:
    """Sixteen bytes at a time; Kafka reserves the first ones, and the second ones would look like an option."""

    def __init__(self) -> None:
        """Starts with the ids that must be skipped."""
        self._given = [bytes(16), bytes([0xF8]) + bytes(15), *(bytes([index] * 16) for index in range(1, 20))]

    def uuid_bytes(self) -> bytes:
        """The next id."""
        return self._given.pop(0)


def seed(kube: RecordingKube, action: Action) -> None:
    """Stores the object that the action was planned from: its pod, claim, record or config map."""
    match action:
        case act.MarkPod(pod=seen) | act.DeletePod(pod=seen) | act.RestartPod(pod=seen):
            place, name, uid, version = PODS, seen.name, seen.uid, seen.resource_version
        case act.AnnotateClaim(claim=held) | act.DeleteClaim(claim=held):
            place, name, uid, version = CLAIMS, held.name, held.uid, held.resource_version
        case act.WriteRecord(record=record) if record.resource_version:
            place, name, uid, version = CONFIG_MAPS, names.record_name(NAME), "u-record", record.resource_version
        case act.SetRecordOwner(resource_version=version) | act.KeepSpec(resource_version=version):
            place, name, uid = CONFIG_MAPS, names.record_name(NAME), "u-record"
        case act.AdoptConfig(name=name, resource_version=version):
            place, uid = CONFIG_MAPS, "u-config"
        case _:
            return
    metadata = {"name": name, "namespace": NAMESPACE, "uid": uid, "resourceVersion": version}
    bound = {"volumeName": f"pv-{name}"} if place is CLAIMS else {}
    kube.put(place, {"metadata": metadata, "spec": bound, "status": {}})


async def carried_out(
    *todo: Action,
    kube: RecordingKube | None = None,
    controllers: AnsweringControllers | None = None,
    record: IdentityRecord | None = None,
    wanted: Desired | None = None,
    age_s: float = 2.0,
    accepted: str = "",
    access: Callable[[Endpoint], Endpoint] = lambda at: at,
) -> tuple[list[Call], tuple[Outcome, ...]]:
    """The writes of the actions, and their outcomes."""
    api = kube or RecordingKube()
    api.put(QUORUMS, RESOURCE)
    for action in todo:
        seed(api, action)
    executor = Executor(
        api,
        controllers or AnsweringControllers(),
        SetClock(age_s),
        CountingIds(),
        Settings(holder="operator-1", image_pull_policy="Never"),
    )
    context = Context(
        desired=wanted or desired(),
        record=record or running(),
        resource=RESOURCE,
        spec=RESOURCE["spec"],
        accepted=accepted,
    )
    context = replace(context, access=access)
    outcomes = await executor.execute(Plan(actions=todo, waits=(), verdicts=(), requeue_s=1.0), context)
    return api.writes(), outcomes


async def one_call(action: Action, **how: Any) -> Call:  # noqa: ANN401 - options of `carried_out`
    """The single write of an action that was done, on a look of its own."""
    calls, (outcome,) = await carried_out(stamped(action, 1000.0), **how)
    assert outcome.done, outcome
    assert not outcome.unknown
    (call,) = calls
    return call


# The record


@pytest.mark.parametrize(("accepted", "stored"), [("the spec", "the spec"), ("", None)], ids=["stored", "too long"])
async def test_the_accepted_spec_is_stored_beside_the_record(accepted: str, stored: str | None) -> None:
    """Only the key of the accepted spec is written, at the version that was read; one that is too long is removed."""
    call = await one_call(act.KeepSpec(resource_version="7"), accepted=accepted)
    assert (call.verb, call.plural, call.name) == ("patch", "configmaps", "alpha-identity")
    assert call.body == {"metadata": {"resourceVersion": "7"}, "data": {"accepted-spec.json": stored}}


@pytest.mark.parametrize("accepted", ["the spec", ""])
async def test_writes_of_the_record_carry_the_accepted_spec(accepted: str) -> None:
    """If the whole record is replaced, the accepted spec in the same ConfigMap is kept."""
    written = replace(running(), resource_version="7")
    call = await one_call(
        act.WriteRecord(record=written, change=RecordChange.FIRST_LEADER, message="m"), accepted=accepted
    )
    assert call.body is not None
    assert call.body["data"].get("accepted-spec.json", "") == accepted
    assert set(call.body["data"]) <= {"record.json", "accepted-spec.json"}


async def test_mint() -> None:
    """A new identity is created, never replaced, with random ids that Kafka itself could generate."""
    action = act.MintIdentity(
        cluster_id=None,
        format=Format(mode=BootstrapMode.STANDALONE, release="4.4.0", features=()),
        initial=IDS[:1],
        others=IDS[1:],
        permit=permit(permits.Mint),
    )
    call = await one_call(action, record=None)
    assert (call.verb, call.plural, call.name) == ("create", "configmaps", "alpha-identity")
    assert call.body is not None
    call.body["metadata"]["resourceVersion"] = "1"
    made = record_from(call.body)
    assert len({made.cluster_id, made.initial[0].directory_id}) == 2
    assert not any(text.startswith("-") for text in (made.cluster_id, str(made.initial[0].directory_id)))
    assert [of.directory_id for of in made.nodes[1:]] == [None, None]


async def test_mint_with_a_given_cluster_id() -> None:
    """The cluster id of the spec is used unchanged."""
    action = act.MintIdentity(
        cluster_id=ClusterID(uuid(9)), format=minted().format, initial=IDS, others=(), permit=permit(permits.Mint)
    )
    call = await one_call(action)
    assert call.body is not None
    assert json.loads(call.body["data"]["record.json"])["cluster_id"] == uuid(9)


@pytest.mark.parametrize(("version", "verb"), [("5", "replace"), ("", "create")])
async def test_record_is_compared_and_swapped(version: str, verb: str) -> None:
    """A record replaces only the version that was read; a rebuilt record is created."""
    record = replace(bound(), resource_version=version)
    call = await one_call(written(record, RecordChange.STARTED, "m"))
    assert (call.verb, call.name) == (verb, "alpha-identity")
    assert call.body is not None
    assert call.body["metadata"].get("resourceVersion", "") == version


@pytest.mark.parametrize(("fate", "owners"), [(VolumeFate.RETAIN, 0), (VolumeFate.DELETE, 1)])
async def test_record_owner(fate: VolumeFate, owners: int) -> None:
    """The record's owner follows the retention policy, at the version that was read, and lost labels are restored."""
    wanted = desired(storage=storage(when_deleted=fate))
    call = await one_call(act.SetRecordOwner(resource_version="5"), wanted=wanted)
    assert call.body is not None
    assert call.body["metadata"]["resourceVersion"] == "5"
    assert call.body["metadata"]["labels"][names.LABEL_QUORUM] == NAME
    assert len(call.body["metadata"]["ownerReferences"]) == owners


# The operation


async def test_intent() -> None:
    """The intent is written to the status, at the version of the resource that the plan was made from."""
    call = await one_call(act.BeginOperation(change=VoterAddition(target=key(3003)), permit=permit(permits.OneChange)))
    assert (call.verb, call.plural, call.name) == ("patch", "kafkaquorums", NAME)
    assert (call.option("subresource"), call.option("strategic")) == ("status", False)
    assert call.body is not None
    assert call.body["metadata"] == {"resourceVersion": "77"}
    operation = call.body["status"]["operation"]
    assert (operation["type"], operation["target"], operation["holder"]) == ("AddVoter", str(key(3003)), "operator-1")
    assert operation["startedAt"] == "2026-01-01T12:30:00Z"
    assert operation["id"]


async def test_operation_is_closed() -> None:
    """A finished operation is removed, at the version of the resource that the plan was made from."""
    call = await one_call(act.FinishOperation(id="op-1", reason="Completed", message="m"))
    assert call.body == {"metadata": {"resourceVersion": "77"}, "status": {"operation": None}}


# The quorum


@pytest.mark.parametrize(("age_s", "sent"), [(0.0, True), (2.0, True), (2.1, False), (60.0, False)])
async def test_stale_look_sends_nothing(age_s: float, *, sent: bool) -> None:
    """A request to the quorum is sent only if its look is at most two seconds old; the outcome is not unknown."""
    controllers = AnsweringControllers()
    _, (outcome,) = await carried_out(ADD, controllers=controllers, age_s=age_s)
    assert controllers.added == ([(LEADER, REQUEST)] if sent else [])
    assert (outcome.done, outcome.unknown) == (sent, False)
    assert sent or mentions(outcome.message, age_s, 2)


@pytest.mark.parametrize(("age_s", "sent"), [(2.0, True), (2.1, False)])
async def test_stale_look_removes_nobody(age_s: float, *, sent: bool) -> None:
    """A removal has the same condition."""
    controllers = AnsweringControllers()
    removal = RemoveVoter(cluster_id=CLUSTER, voter=key(3002))
    action = act.RemoveRaftVoter(
        leader=LEADER, request=removal, judged_at_s=ADD.judged_at_s, permit=permit(permits.RemoveVoter)
    )
    _, (outcome,) = await carried_out(action, controllers=controllers, age_s=age_s)
    assert controllers.removed == ([(LEADER, removal)] if sent else [])
    assert (outcome.done, outcome.unknown) == (sent, False)


@pytest.mark.parametrize(
    ("error", "unknown"),
    [
        (KafkaUnreachable("deadline", fault=Fault.PATH, retry_safe=False, outcome_unknown=True), True),
        (KafkaUnreachable("refused", fault=Fault.PATH, retry_safe=True, outcome_unknown=False), False),
        (
            KafkaRefused(
                "duplicate",
                code=126,
                name="DUPLICATE_VOTER",
                server_message="",
                fault=Fault.OURS,
                retry_safe=False,
                outcome_unknown=False,
            ),
            False,
        ),
    ],
    ids=["no answer", "not reached", "refused"],
)
async def test_error_of_kafka(error: KafkaError, *, unknown: bool) -> None:
    """After an error the outcome shows whether the request may have had an effect, and nothing is sent twice."""
    controllers = AnsweringControllers(refusal=error)
    _, (outcome,) = await carried_out(ADD, controllers=controllers)
    assert len(controllers.added) == 1
    assert (outcome.done, outcome.unknown) == (False, unknown)
    assert str(error) in outcome.message


# Pods


async def test_delete_pod() -> None:
    """The deletion of a pod has the uid and resource version that were judged."""
    call = await one_call(act.DeletePod(pod=POD, reason="PodFinished", message="m", permit=permit(permits.ReplacePod)))
    assert (call.verb, call.plural, call.name) == ("delete", "pods", POD.name)
    assert (call.option("uid"), call.option("resource_version")) == (POD.uid, POD.resource_version)


async def test_delete_pod_of_a_lost_node() -> None:
    """A pod on a lost Kubernetes node is deleted without grace, with uid and version."""
    call = await one_call(
        act.DeletePod(pod=POD, reason="PodGivenUp", message="m", force=True, permit=permit(permits.ReplacePod))
    )
    assert call.option("ended") is True
    assert (call.option("uid"), call.option("resource_version")) == (POD.uid, POD.resource_version)


async def test_delete_claim() -> None:
    """A claim is deleted by the uid and version that were judged, so a changed claim is not deleted."""
    old = claim(running(), node(running(), 3001))
    call = await one_call(act.DeleteClaim(claim=old, message="m", permit=permit(permits.DeleteVolume)))
    assert (call.verb, call.plural, call.name) == ("delete", "persistentvolumeclaims", old.name)
    assert (call.option("uid"), call.option("resource_version")) == (old.uid, old.resource_version)


async def test_retire_claim() -> None:
    """A retired claim keeps its directory id, and has the mark of retirement as its phase."""
    old = claim(running(), node(running(), 3001))
    retire = act.AnnotateClaim(claim=old, directory_id=directory(3001), grow_to=None, retired=True)
    call = await one_call(retire)
    assert call.body is not None
    assert call.body["metadata"]["uid"] == old.uid
    marks = call.body["metadata"]["annotations"]
    assert (marks[names.PHASE], marks[names.DIRECTORY_ID]) == (names.RETIRED, directory(3001))
    assert names.KEPT not in marks


async def test_keep_claim() -> None:
    """A retired claim on which data was found is marked as kept."""
    old = claim(running(), node(running(), 3001))
    call = await one_call(
        act.AnnotateClaim(claim=old, directory_id=directory(3001), grow_to=None, retired=True, kept=True)
    )
    assert call.body is not None
    assert call.body["metadata"]["annotations"][names.KEPT] == "true"


async def test_delete_formatter() -> None:
    """A finished formatter is deleted without grace; one that may still run, and a Kafka pod, has its grace period."""
    over = Terminated(exit_code=0, reason="Completed", message="", finished_at="")
    waits = Waiting(reason="ImagePullBackOff", message="", last_exit=None)
    cases = ((PodRole.FORMATTER, over, True), (PodRole.FORMATTER, waits, None), (PodRole.KAFKA, over, None))
    for role, container, ended in cases:
        pod = replace(POD, role=role, container=container)
        call = await one_call(
            act.DeletePod(pod=pod, reason="FormatterDone", message="m", permit=permit(permits.ReplacePod))
        )
        assert call.option("ended") == ended


async def test_only_an_orphaned_pod_gets_an_owner() -> None:
    """A mark sets the owner of a pod that has none, at the version that the look saw; it leaves other owners alone."""
    mark = act.MarkPod(pod=POD, voter=False, gate="False", message="m")
    adopted = {"labels", "uid", "ownerReferences", "resourceVersion"}
    for owner_uid, fields in ((POD.owner_uid, {"labels", "uid"}), (None, adopted)):
        calls, _ = await carried_out(replace(mark, pod=replace(POD, owner_uid=owner_uid)))
        assert calls[0].body is not None
        assert set(calls[0].body["metadata"]) == fields


async def test_mark_pod() -> None:
    """Label and gate are two patches of that pod; the gate's is strategic, so that other conditions stay."""
    action = act.MarkPod(pod=POD, voter=True, gate="True", message="a caught-up voter", judged_at_s=1000.0)
    (label, gate), (outcome,) = await carried_out(action)
    assert outcome.done
    assert label.body is not None
    assert label.body["metadata"]["uid"] == POD.uid
    assert label.body["metadata"]["labels"] == {names.LABEL_VOTER: "true"}
    assert gate.body is not None
    assert gate.body["metadata"] == {"uid": POD.uid}
    assert (gate.option("subresource"), gate.option("strategic")) == ("status", True)


async def test_create_pods() -> None:
    """Formatter and Kafka pod are created under the names of the claim's generation, with the given config map."""
    formatter = act.CreateFormatter(
        node_id=IDS[0],
        revision=revision(),
        config_name="cfg",
        avoid_nodes=("w",),
        permit=permit(permits.NewcomerFormat),
    )
    call = await one_call(formatter, record=bound())
    assert (call.verb, call.name) == ("create", "alpha-3000-g1-format")
    kafka = act.CreatePod(node_id=IDS[1], revision=revision(), config_name="cfg", permit=permit(permits.Run))
    call = await one_call(kafka)
    assert (call.verb, call.name) == ("create", "alpha-3001-g1")
    assert call.body is not None
    assert call.body["metadata"]["annotations"][names.DIRECTORY_ID] == directory(3001)
    assert call.body["spec"]["containers"][0]["imagePullPolicy"] == "Never"


# Other actions


async def test_create_claim() -> None:
    """A claim is created under the name of its generation, with its copy of the identity."""
    call = await one_call(act.CreateClaim(node_id=IDS[1], generation=1))
    assert (call.verb, call.plural, call.name) == ("create", "persistentvolumeclaims", "alpha-3001-g1")
    assert call.body is not None
    assert call.body["metadata"]["annotations"][names.CLUSTER_ID] == CLUSTER


@pytest.mark.parametrize("size", [None, "20Gi"])
async def test_annotate_claim(size: str | None) -> None:
    """The copy on a claim is patched by its uid, and its size only if the claim grows."""
    old = claim(running(), node(running(), 3001))
    call = await one_call(act.AnnotateClaim(claim=old, directory_id=directory(3001), grow_to=size))
    assert call.body is not None
    metadata = call.body["metadata"]
    assert (metadata["uid"], metadata["resourceVersion"]) == (old.uid, old.resource_version)
    assert call.body["metadata"]["annotations"][names.PHASE] == "Started"
    assert call.body["metadata"]["ownerReferences"] == []
    assert call.body.get("spec") == (None if size is None else {"resources": {"requests": {"storage": size}}})


async def test_lost_disk_clears_the_annotation() -> None:
    """A claim whose disk was lost loses its directory id."""
    old = claim(running(), node(running(), 3001))
    call = await one_call(act.AnnotateClaim(claim=old, directory_id=None, grow_to=None))
    assert call.body is not None
    assert call.body["metadata"]["annotations"][names.DIRECTORY_ID] is None


@pytest.mark.parametrize(
    ("image", "resolved"), [("", "apache/kafka:4.4.0"), ("registry/kafka@sha256:1", "registry/kafka@sha256:1")]
)
async def test_create_revision(image: str, resolved: str) -> None:
    """A revision stores the resolved image, so that a change of the operator's image template restarts nothing."""
    made = runtime(image=image)
    action = act.CreateRevision(name="alpha-x", number=3, runtime=made, inputs_hash=inputs_hash(made))
    call = await one_call(action, wanted=desired(runtime=made))
    assert call.body is not None
    assert (call.body["revision"], call.body["data"]["image"]) == (3, resolved)
    assert call.body["data"]["spec"] == RESOURCE["spec"]


async def test_delete_revision() -> None:
    """Only the revision that was seen is deleted."""
    kube = RecordingKube()
    there = {"name": "alpha-x", "namespace": NAMESPACE, "uid": "u-9", "resourceVersion": "12"}
    kube.put(REVISIONS, {"metadata": there})
    call = await one_call(act.DeleteRevision(name="alpha-x", uid="u-9", resource_version="12"), kube=kube)
    assert (call.verb, call.plural, call.name) == ("delete", "controllerrevisions", "alpha-x")
    assert (call.option("uid"), call.option("resource_version")) == ("u-9", "12")


async def test_create_config() -> None:
    """A config map is created under its own name with the properties of all controllers."""
    call = await one_call(act.CreateConfig(name="alpha-config-1", revision=revision(), node_ids=IDS))
    assert (call.verb, call.name) == ("create", "alpha-config-1")
    assert call.body is not None
    assert len(call.body["data"]) == 6


async def test_delete_config() -> None:
    """A config map is deleted by its present uid; one that is gone already is no failure."""
    kube = RecordingKube()
    kube.put(CONFIG_MAPS, {"metadata": {"name": "old", "namespace": NAMESPACE, "uid": "u-9"}})
    call = await one_call(act.DeleteConfig(name="old"), kube=kube)
    assert (call.verb, call.option("uid")) == ("delete", "u-9")
    calls, (outcome,) = await carried_out(act.DeleteConfig(name="old"))
    assert calls == []
    assert outcome.done


@pytest.mark.parametrize(
    ("action", "resource", "name"),
    [
        (act.ApplyService(port=9093), SERVICES, "alpha-controllers"),
        (act.ApplyBudget(min_available=2, judged_at_s=1000.0), BUDGETS, "alpha-voters"),
    ],
)
async def test_apply(action: Action, resource: Any, name: str) -> None:  # noqa: ANN401 - a resource type
    """Service and budget are applied over our own object; another's object with that name is left alone and named."""
    assert (await one_call(action)).verb == "apply"
    own = RecordingKube()
    body = objects.service(desired(), 9093) if resource is SERVICES else objects.budget(desired(), 1)
    own.put(resource, body)
    assert (await one_call(action, kube=own)).name == name
    foreign = RecordingKube()
    foreign.put(resource, {"metadata": {"name": name, "namespace": NAMESPACE, "labels": {"app": "other"}}})
    calls, (outcome,) = await carried_out(action, kube=foreign)
    assert calls == []
    assert not outcome.done
    assert name in outcome.message


@pytest.mark.parametrize(
    "taken",
    [
        {"labels": {"app": "other"}},
        {
            "labels": {names.LABEL_QUORUM: NAME},
            "ownerReferences": [{"kind": "Release", "name": "r", "controller": True}],
        },
    ],
    ids=["not ours", "controlled"],
)
async def test_a_taken_name_is_reported(taken: dict[str, Any]) -> None:
    """If a name is taken, nothing is changed, and the message names the object."""
    foreign = RecordingKube()
    foreign.put(SERVICES, {"metadata": {"name": "alpha-controllers", "namespace": NAMESPACE, **taken}})
    _, (outcome,) = await carried_out(act.ApplyService(port=9093), kube=foreign)
    assert not outcome.done
    assert "alpha-controllers" in outcome.message


# Outcomes


@pytest.mark.parametrize(
    ("error", "unknown", "said"),
    [
        (KubeConflict("at another version"), False, "another version"),
        (KubeAlreadyExists("taken"), True, "taken"),
        (KubeNotFound("no such pod"), False, "no such pod"),
        (KubeRefused("quota exceeded"), False, "quota exceeded"),
        (KubeUnavailable("timed out"), True, "timed out"),
    ],
    ids=["conflict", "exists", "not found", "refused", "no answer"],
)
async def test_error_of_kubernetes(error: KubeError, said: str, *, unknown: bool) -> None:
    """Every error of the API server is an outcome; a conflict with another write is no failure, but held."""
    kube = RecordingKube(errors={("create", "pods"): error})
    action = act.CreatePod(node_id=IDS[1], revision=revision(), config_name="cfg", permit=permit(permits.Run))
    calls, (outcome,) = await carried_out(action, kube=kube)
    assert len(calls) == 1
    assert (outcome.action, outcome.done, outcome.unknown) == (action, False, unknown)
    assert said in outcome.message
    assert outcome.held is isinstance(error, KubeConflict | KubeNotFound)


@pytest.mark.parametrize(
    ("module", "builder", "action"),
    [
        (
            pods,
            "kafka",
            act.CreatePod(node_id=IDS[1], revision=revision(), config_name="cfg", permit=permit(permits.Run)),
        ),
        (
            pods,
            "formatter",
            act.CreateFormatter(
                node_id=IDS[1],
                revision=revision(),
                config_name="cfg",
                avoid_nodes=(),
                permit=permit(permits.InitialFormat),
            ),
        ),
        (objects, "config", act.CreateConfig(name="alpha-config-1", revision=revision(), node_ids=IDS)),
        (stored, "revision_object", act.CreateRevision(name="alpha-x", number=2, runtime=runtime(), inputs_hash="x")),
    ],
    ids=["pod", "formatter", "config map", "revision"],
)
async def test_what_cannot_be_built_is_a_failed_outcome(
    monkeypatch: pytest.MonkeyPatch, module: ModuleType, builder: str, action: Action
) -> None:
    """If a builder fails, nothing is sent, and the status shows the failure; the plan's other actions are done."""

    def breaks(*_: object, **__: object) -> None:
        raise TypeError("string indices must be integers")

    monkeypatch.setattr(module, builder, breaks)
    calls, outcomes = await carried_out(action, act.CreateClaim(node_id=IDS[1], generation=1))
    assert [call.plural for call in calls] == [CLAIMS.plural]
    assert [(outcome.done, outcome.unknown, outcome.held) for outcome in outcomes] == [
        (False, False, False),
        (True, False, False),
    ]
    shown = build(replace(passed(), outcomes=outcomes), {}, generation=1, now="2026-01-01T00:00:00Z")
    (condition,) = (row for row in shown["conditions"] if row["type"] == "Degraded")
    assert (condition["status"], condition["reason"]) == ("True", "ActionFailed")
    assert "string indices must be integers" in condition["message"]


async def test_one_failure_stops_no_other() -> None:
    """Independent actions are all carried out, each with its own outcome, in the plan's order."""
    kube = RecordingKube(errors={("create", "pods"): KubeRefused("quota exceeded")})
    todo: list[Action] = [
        act.CreatePod(node_id=IDS[0], revision=revision(), config_name="cfg", permit=permit(permits.Run)),
        act.CreateClaim(node_id=IDS[1], generation=1),
    ]
    calls, outcomes = await carried_out(*todo, kube=kube)
    assert len(calls) == 2
    assert [outcome.done for outcome in outcomes] == [False, True]
    assert [outcome.action for outcome in outcomes] == todo


async def test_half_a_mark() -> None:
    """If the patch of the gate fails after the label's, the whole action counts as not done."""
    kube = RecordingKube(errors={("patch", "pods"): KubeUnavailable("timed out")})
    _, (outcome,) = await carried_out(
        act.MarkPod(pod=POD, voter=True, gate="True", message="m", judged_at_s=1000.0), kube=kube
    )
    assert (outcome.done, outcome.unknown) == (False, True)


async def test_unknown_node_is_our_fault() -> None:
    """A plan for a controller outside the record is a fault of ours, and raises an error."""
    with pytest.raises(ValueError, match="3009"):
        await carried_out(act.CreateClaim(node_id=key(3009).node_id, generation=1))


# Rolls


RESTART = act.RestartPod(
    pod=POD, evict=True, message="restarts from revision 2", judged_at_s=1000.0, permit=permit(permits.Restart)
)


async def test_restart_by_eviction() -> None:
    """A restart evicts only the pod that was judged, so that the disruption budget decides."""
    call = await one_call(RESTART)
    assert (call.verb, call.plural, call.name) == ("evict", "pods", "alpha-3001-g1")
    assert (call.option("uid"), call.option("resource_version")) == (POD.uid, POD.resource_version)


async def test_restart_by_deletion() -> None:
    """A single voter, which no budget lets go, is deleted with its grace period."""
    call = await one_call(replace(RESTART, evict=False))
    assert (call.verb, call.plural, call.name) == ("delete", "pods", "alpha-3001-g1")
    assert (call.option("uid"), call.option("resource_version")) == (POD.uid, POD.resource_version)
    assert call.option("ended") is None


async def test_budget_holds_a_restart() -> None:
    """A refusal of a disruption budget is no failure: the outcome is held, in the budget's words."""
    kube = RecordingKube()
    kube.errors["evict", "pods"] = KubeHeld("The disruption budget alpha needs 2 healthy pods and has 2 currently")
    _, (outcome,) = await carried_out(RESTART, kube=kube)
    assert (outcome.done, outcome.unknown, outcome.held) == (False, False, True)
    assert facts(outcome.message) == facts(2, 2)


async def test_error_of_an_eviction() -> None:
    """Any other error of an eviction is a failure."""
    kube = RecordingKube()
    kube.errors["evict", "pods"] = KubeUnavailable("no answer")
    _, (outcome,) = await carried_out(RESTART, kube=kube)
    assert (outcome.done, outcome.unknown, outcome.held) == (False, True, False)


# Features


STEP = FeatureStep(name="metadata.version", level=28)
RAISE = act.StepFeature(leader=LEADER, step=STEP, judged_at_s=1000.0, permit=permit(permits.RaiseLevel))
RANGES = (FeatureRange(name="metadata.version", min_level=7, max_level=33),)
ANEW = act.CureGhost(
    leader=LEADER,
    node_id=NodeID(3003),
    listeners=(),
    supported=RANGES,
    message="again",
    judged_at_s=1000.0,
    permit=permit(permits.CureGhost),
)
FORGOTTEN = replace(ANEW, supported=(), message="gone")


def of_cluster(cluster_id: ClusterID = CLUSTER, refusal: Exception | None = None) -> AnsweringControllers:
    """Controllers whose leader reports this cluster id."""
    clusters: dict[int, ClusterAnswer | Exception] = {3000: ClusterAnswer(cluster_id=cluster_id, controller_ids=IDS)}
    return AnsweringControllers(clusters=clusters, refusal=refusal)


def sent_to(controllers: AnsweringControllers) -> int:
    """The number of requests that change something."""
    return len(controllers.updated) + len(controllers.registered) + len(controllers.unregistered)


@pytest.mark.parametrize(
    ("step", "type_", "target"),
    [
        (STEP, "RaiseFeature", "metadata.version=28"),
        (FeatureStep(name="group.version", level=0, downgrade=True), "LowerFeature", "group.version=0"),
    ],
)
async def test_intent_of_a_step(step: FeatureStep, type_: str, target: str) -> None:
    """The intent of a step is written to the status, at the planned version, and is read back as the same step."""
    call = await one_call(act.BeginFeatureStep(step=step, present=27, permit=permit(permits.RaiseLevel)))
    assert (call.verb, call.plural, call.option("subresource")) == ("patch", "kafkaquorums", "status")
    assert call.body is not None
    assert call.body["metadata"] == {"resourceVersion": "77"}
    operation = call.body["status"]["operation"]
    assert (operation["type"], operation["target"], operation["holder"]) == (type_, target, "operator-1")
    found = status_from(call.body).feature_operation
    assert found is not None
    assert found.step == step


async def test_step_is_sent() -> None:
    """A step is one request to the leader, after a request for the leader's cluster id."""
    controllers = of_cluster()
    _, (outcome,) = await carried_out(RAISE, controllers=controllers)
    assert (outcome.done, outcome.held) == (True, False)
    ((endpoint, request),) = controllers.updated
    assert (endpoint, request.step, request.validate_only) == (LEADER, STEP, False)
    assert controllers.asked == [("DescribeCluster", LEADER)]


async def test_ghost_is_forgotten() -> None:
    """A ghost without ranges is unregistered."""
    controllers = of_cluster()
    _, (outcome,) = await carried_out(FORGOTTEN, controllers=controllers)
    assert outcome.done
    assert (controllers.unregistered, controllers.registered) == ([(LEADER, 3003)], [])


async def test_ghost_is_registered_anew() -> None:
    """A ghost with ranges is registered with them, under a new incarnation id."""
    controllers = of_cluster()
    _, (outcome,) = await carried_out(ANEW, controllers=controllers)
    assert outcome.done
    ((endpoint, request),) = controllers.registered
    assert (endpoint, request.node_id, request.supported) == (LEADER, 3003, RANGES)
    assert request.incarnation_id == uuid_from_bytes(bytes([1] * 16))
    assert controllers.unregistered == []


@pytest.mark.parametrize("action", [RAISE, ANEW, FORGOTTEN], ids=["step", "anew", "forgotten"])
async def test_another_cluster_is_sent_nothing(action: Action) -> None:
    """A leader of another cluster gets none of these requests, because they have no cluster id. This is no failure."""
    controllers = of_cluster(ClusterID(uuid(8)))
    _, (outcome,) = await carried_out(action, controllers=controllers)
    assert sent_to(controllers) == 0
    assert (outcome.done, outcome.unknown, outcome.held) == (False, False, True)
    assert mentions(outcome.message, uuid(8), CLUSTER)


async def test_what_cannot_be_secured_is_not_sent() -> None:
    """Without what a secured connection needs, nothing is sent. This is no failure: the next look finds it."""

    def unsecured(at: Endpoint) -> Endpoint:
        raise KafkaUnsecured(f"not sent to {at}", fault=Fault.OURS, retry_safe=True, outcome_unknown=False)

    controllers = of_cluster()
    _, (outcome,) = await carried_out(RAISE, controllers=controllers, access=unsecured)
    assert (controllers.asked, sent_to(controllers)) == ([], 0)
    assert (outcome.done, outcome.unknown, outcome.held) == (False, False, True)


@pytest.mark.parametrize("action", [RAISE, ANEW, FORGOTTEN], ids=["step", "anew", "forgotten"])
@pytest.mark.parametrize(("age_s", "sent"), [(2.0, True), (2.1, False)])
async def test_stale_look_steps_nothing(action: Action, age_s: float, *, sent: bool) -> None:
    """A step or a new registration is sent only if its look is at most two seconds old."""
    controllers = of_cluster()
    _, (outcome,) = await carried_out(action, controllers=controllers, age_s=age_s)
    assert sent_to(controllers) == int(sent)
    assert (outcome.done, outcome.unknown, outcome.held) == (sent, False, not sent)
    assert bool(controllers.asked) is sent


async def test_leader_that_does_not_answer_is_sent_nothing() -> None:
    """If the leader does not report its cluster id, nothing is sent."""
    controllers = AnsweringControllers()
    _, (outcome,) = await carried_out(RAISE, controllers=controllers)
    assert sent_to(controllers) == 0
    assert (outcome.done, outcome.unknown, outcome.held) == (False, False, False)


async def test_step_that_timed_out() -> None:
    """The outcome of a step without an answer is unknown."""
    error = KafkaUnreachable("deadline", fault=Fault.PATH, retry_safe=False, outcome_unknown=True)
    _, (outcome,) = await carried_out(RAISE, controllers=of_cluster(refusal=error))
    assert (outcome.done, outcome.unknown, outcome.held) == (False, True, False)


async def test_mint_of_a_static_quorum() -> None:
    """For a static quorum only the cluster id is created, because Kafka's tool creates the directory ids."""
    action = act.MintIdentity(
        cluster_id=None,
        format=Format(mode=BootstrapMode.STATIC, release="4.1.2", features=()),
        initial=IDS,
        others=(),
        permit=permit(permits.Mint),
    )
    call = await one_call(action)
    assert call.body is not None
    record = record_from({**call.body, "metadata": {**call.body["metadata"], "resourceVersion": "1"}})
    assert record.static
    assert [of.directory_id for of in record.initial] == [None] * 3
    assert [of.directory_id for of in record.nodes] == [None] * 3


async def test_adopted_config() -> None:
    """An orphaned config map gets its owner by a patch at its version, and nothing else changes."""
    call = await one_call(act.AdoptConfig(name="cfg", resource_version="7"))
    assert (call.verb, call.name) == ("patch", "cfg")
    assert call.body is not None
    assert call.body["metadata"]["resourceVersion"] == "7"
    assert [row["uid"] for row in call.body["metadata"]["ownerReferences"]] == [UID]
    assert set(call.body) == {"metadata"}


async def test_another_controllers_service_is_left_alone() -> None:
    """An object with our name and labels that another controller owns is left alone."""
    kube = RecordingKube()
    body = objects.service(desired(), 9093)
    other = [{"kind": "Deployment", "name": "web", "uid": "d", "controller": True}]
    kube.put(SERVICES, {**body, "metadata": {**body["metadata"], "ownerReferences": other}})
    calls, (outcome,) = await carried_out(act.ApplyService(port=9093), kube=kube)
    assert not outcome.done
    assert "Deployment web" in outcome.message
    assert [call.verb for call in calls if call.verb != "get"] == []
