"""Objects that 0.1.0 stored, written by its own code (`produce.py`): today's code reads each without a loss."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.kit.kube.recording import RecordingKube
from tests.model.values import answer, at_rest, running, saying
from tests.observe import kubernetes as k8s
from tests.test_reconcile import Bench
from tests.wire.answering import AnsweringControllers

from kafka_quorum.api.validation import validate
from kafka_quorum.judge import judge
from kafka_quorum.kind import QUORUMS
from kafka_quorum.model import names
from kafka_quorum.model.certified import needs_certificates
from kafka_quorum.model.desired import Desired, Protocol
from kafka_quorum.model.ids import ClusterID, DirectoryID, NodeID, ReplicaKey
from kafka_quorum.model.nodes import target_runtime
from kafka_quorum.model.observed import RecordedStatus
from kafka_quorum.model.operation import (
    FeatureOperation,
    Operation,
    VoterAddition,
    VoterOperation,
    VoterRemoval,
    VoterReplacement,
)
from kafka_quorum.model.pods import DiskFound
from kafka_quorum.model.quorum import ClusterAnswer
from kafka_quorum.observe import snapshot as snapshot_
from kafka_quorum.observe.objects import pod_from, status_from
from kafka_quorum.observe.snapshot import Snapshot
from kafka_quorum.resources.intent import operation_row
from kit.key import ObjectKey
from kit.kube.protocol import BUDGETS, CLAIMS, CONFIG_MAPS, PODS, REVISIONS, SERVICES, ResourceType

Json = dict[str, Any]
SAMPLES = Path(__file__).parent / "0.1.0"
WORLDS = sorted(path.stem for path in (SAMPLES / "worlds").iterdir())
OPERATIONS = sorted(path.stem for path in (SAMPLES / "operations").iterdir())
NAMESPACE, NAME = "kafka", "demo"
TYPES: dict[str, ResourceType] = {
    "KafkaQuorum": QUORUMS,
    "Pod": PODS,
    "PersistentVolumeClaim": CLAIMS,
    "ConfigMap": CONFIG_MAPS,
    "Service": SERVICES,
    "PodDisruptionBudget": BUDGETS,
    "ControllerRevision": REVISIONS,
}


def sample(*path: str) -> Any:  # noqa: ANN401 - any JSON
    """A sample, read from its file."""
    return json.loads(SAMPLES.joinpath(*path).read_text(encoding="utf-8"))


def world(name: str) -> list[Json]:
    """Every object of a quorum at one moment."""
    items: list[Json] = sample("worlds", f"{name}.json")
    return items


def of_kind(items: list[Json], kind: str) -> list[Json]:
    """The objects of one kind."""
    return [item for item in items if item["kind"] == kind]


def api_server(items: list[Json]) -> RecordingKube:
    """An API server with these objects."""
    kube = RecordingKube()
    for item in items:
        kube.put(TYPES[item["kind"]], item)
    return kube


class StillClock:
    """A clock that does not move."""

    def now(self) -> Any:  # noqa: ANN401 - never asked
        """Not used."""
        raise NotImplementedError

    def monotonic(self) -> float:
        """Always the same second."""
        return 77.0


async def snapshot(items: list[Json]) -> Snapshot:
    """What today's code reads from these objects."""
    taken = await snapshot_.snapshot(api_server(items), NAMESPACE, NAME, StillClock())
    assert taken is not None
    return taken


def stored_record(items: list[Json]) -> Json:
    """The record's own JSON."""
    (config_map,) = (item for item in of_kind(items, "ConfigMap") if item["metadata"]["name"].endswith("-identity"))
    record: Json = json.loads(config_map["data"]["record.json"])
    return record


def test_there_are_samples() -> None:
    """There is a sample of every kind of object, every kind of operation, and both bootstrap phases."""
    assert {item["kind"] for name in WORLDS for item in world(name)} == set(TYPES)
    assert OPERATIONS == ["AddVoter", "LowerFeature", "RaiseFeature", "RemoveVoter", "ReplaceVoter"]
    assert {stored_record(world(name))["phase"] for name in WORLDS} == {"Formatting", "Started"}
    phases = {item["metadata"]["annotations"][names.PHASE] for name in WORLDS for item in claims(name)}
    assert phases == {"Formatting", "Started", "Retired"}


def claims(name: str) -> list[Json]:
    """The claims that 0.1.0 created."""
    return of_kind(world(name), "PersistentVolumeClaim")


@pytest.mark.parametrize("name", WORLDS)
async def test_everything_is_read(name: str) -> None:
    """No object is unreadable, of a later version, or not ours any more."""
    items = world(name)
    taken = await snapshot(items)
    assert (taken.record_fault, taken.unreadable, taken.later, taken.strangers) == ("", (), (), ())
    assert len(taken.claims) == len(of_kind(items, "PersistentVolumeClaim"))
    assert len(taken.pods) == len(of_kind(items, "Pod"))
    assert len(taken.revisions) == len(of_kind(items, "ControllerRevision"))
    assert (taken.accepted, taken.accepted_spec) == ("", None)


@pytest.mark.parametrize("name", WORLDS)
async def test_the_record_is_read_whole(name: str) -> None:
    """Each field that 0.1.0 stored is read as it was written."""
    items = world(name)
    body, taken = stored_record(items), await snapshot(items)
    record = taken.record
    assert record is not None
    assert body.pop("schemaVersion") == 1
    assert (record.cluster_id, record.phase.value) == (body["cluster_id"], body["phase"])
    assert (record.applied_revision, record.had_leader) == (body["applied_revision"], body["had_leader"])
    assert (record.static, len(record.levels)) == (body["static"], len(body["levels"]))
    assert record.format.mode.value == body["format"]["mode"]
    for node, stored in zip(record.nodes, body["nodes"], strict=True):
        assert (node.node_id, node.generation, node.claim_uid) == (
            stored["node_id"],
            stored["generation"],
            stored["claim_uid"],
        )
        assert (node.directory_id, list(node.retired)) == (stored["directory_id"], stored["lost"])
        assert (node.mode.value, node.formatted, node.revision) == (
            stored["mode"],
            stored["formatted"],
            stored["revision"],
        )
    assert [(each.node_id, each.generation, list(each.retired)) for each in record.former] == [
        (each["node_id"], each["generation"], each["lost"]) for each in body["former"]
    ]


@pytest.mark.parametrize("name", WORLDS)
async def test_revisions_keep_their_hash(name: str) -> None:
    """The inputs of each revision have the hash in its name, so no pod restarts."""
    taken = await snapshot(world(name))
    assert taken.revisions
    for revision in taken.revisions:
        assert names.inputs_hash(revision.runtime) == revision.inputs_hash
        assert revision.name == names.revision_name(NAME, revision.inputs_hash)
        assert taken.spec_of(revision.name)


@pytest.mark.parametrize("name", WORLDS)
async def test_claims_and_pods_carry_the_identity(name: str) -> None:
    """The annotations of claims and pods are read as 0.1.0 wrote them."""
    items = world(name)
    taken = await snapshot(items)
    for claim, stored in zip(taken.claims, of_kind(items, "PersistentVolumeClaim"), strict=True):
        annotations = stored["metadata"]["annotations"]
        assert claim.name == stored["metadata"]["name"]
        assert (claim.cluster_id, claim.directory_id, claim.phase) == (
            annotations.get(names.CLUSTER_ID),
            annotations.get(names.DIRECTORY_ID),
            annotations[names.PHASE],
        )
        assert str(claim.generation) == annotations.get(names.GENERATION, "1")
    for pod, stored in zip(taken.pods, of_kind(items, "Pod"), strict=True):
        annotations = stored["metadata"]["annotations"]
        assert (pod.claim_uid, pod.revision, pod.mode.value) == (
            annotations[names.CLAIM_UID],
            annotations[names.REVISION],
            annotations[names.MODE],
        )


@pytest.mark.parametrize("name", WORLDS)
def test_the_status_copies_the_identity(name: str) -> None:
    """The copy of the identity in the status is read."""
    (resource,) = of_kind(world(name), "KafkaQuorum")
    status, read = resource["status"], status_from(resource)
    assert read.cluster_id == status["clusterID"]
    assert read.phase is not None
    assert read.phase.value == status["bootstrap"]["phase"]
    assert [row.node_id for row in read.controllers] == [row["nodeID"] for row in status["controllers"]]
    assert [row.directory_id for row in read.controllers] == [row.get("directoryID") for row in status["controllers"]]


def read_operation(type_: str) -> tuple[Json, RecordedStatus]:
    """A stored operation, and what is read from it."""
    status = sample("operations", f"{type_}.json")
    return status["operation"], status_from({"status": status})


def kind_of(operation: Operation | None) -> object:
    """Which type of the union it is."""
    match operation:
        case VoterOperation(change=change):
            return type(change)
        case FeatureOperation(step=step):
            return "down" if step.downgrade else "up"
        case _:
            return None


@pytest.mark.parametrize(
    ("type_", "kind"),
    [
        ("AddVoter", VoterAddition),
        ("RemoveVoter", VoterRemoval),
        ("ReplaceVoter", VoterReplacement),
        ("RaiseFeature", "up"),
        ("LowerFeature", "down"),
    ],
)
def test_operations_are_read_and_written_as_they_were(type_: str, kind: object) -> None:
    """Each type is read as its own kind, and written as 0.1.0 wrote it, so that a downgraded operator continues it."""
    row, read = read_operation(type_)
    assert kind_of(read.open) == kind
    match read.open:
        case VoterOperation(change=intent) | FeatureOperation(step=intent):
            written = operation_row(intent, id_=row["id"], holder=row["holder"], started_at=row["startedAt"])
        case other:
            pytest.fail(f"{other} is no operation of 0.1.0")
    del row["waitingFor"]
    assert written == row


@pytest.mark.parametrize(
    ("name", "found", "accepted"),
    [
        ("formatted", DiskFound.FORMATTED, True),
        ("formatted-already", DiskFound.FORMATTED, True),
        ("another-disk", DiskFound.FORMATTED, False),
        ("partial", DiskFound.PARTIAL, False),
        ("empty", DiskFound.UNREADABLE, False),
    ],
)
def test_reports_are_read(name: str, found: DiskFound, *, accepted: bool) -> None:
    """Reports have no script number: *empty* counts as unreadable, and the rest as reported."""
    stored = sample("reports", f"{name}.json")
    ended = k8s.terminated(0 if accepted else 1, json.dumps(stored))
    pod = pod_from(k8s.pod(main=k8s.container("kafka", ended)))
    assert pod is not None
    assert pod.report is not None
    assert (pod.report.found, pod.report.accepted) == (found, accepted)
    assert pod.report.outdated is (stored["found"] == "empty")
    assert pod.report.directory_id == (stored["directoryID"] or None)


@pytest.mark.parametrize("row", sample("hashes.json"), ids=lambda row: str(row["name"]))
def test_specs_keep_their_hash(row: Json) -> None:
    """A spec that 0.1.0 applied has the same restart hash today, for a quorum that started under 0.1.0."""
    metadata = {"name": "alpha", "namespace": "kafka", "uid": "u", "generation": 1}
    found = validate({"metadata": metadata, "spec": row["spec"]})
    assert isinstance(found, Desired)
    made = target_runtime(found, at_rest(revisions=()), running())
    assert names.inputs_hash(made) == row["hash"]


@pytest.mark.parametrize("name", WORLDS)
async def test_no_quorum_of_0_1_0_gets_tls(name: str) -> None:
    """A quorum that 0.1.0 began keeps PLAINTEXT under a spec that says nothing, also one that has not started yet."""
    taken = await snapshot(world(name))
    assert taken.record is not None
    spec = judge(taken, frozenset()).desired
    assert spec is not None
    made = target_runtime(spec, at_rest(taken.record, revisions=taken.revisions), taken.record)
    assert made.listener.protocol is Protocol.PLAINTEXT
    assert not needs_certificates(spec, taken.record)


@pytest.mark.parametrize("name", ["rested", "rolled", "disk-replaced", "shrunk"])
async def test_a_quorum_of_0_1_0_is_left_as_it_is(name: str) -> None:
    """Pods, claims and revisions are not written; the record keeps every field, and gets the accepted spec."""
    items = world(name)
    record = stored_record(items)
    keys = [(node["node_id"], node["directory_id"]) for node in record["nodes"]]
    bench = Bench(api_server(items), controllers(record))
    key = ObjectKey(namespace=NAMESPACE, name=NAME)
    for _ in range(8):
        await bench.reconciler.run_pass(key)
        bench.clock.seconds += 1
    touched = {(call.verb, call.plural) for call in bench.kube.writes() if call.plural != "events"}
    assert not {plural for _, plural in touched} & {"persistentvolumeclaims", "controllerrevisions"}
    assert not {verb for verb, plural in touched if plural == "pods"} & {"create", "delete", "evict"}
    config_map = bench.kube.objects[CONFIG_MAPS.plural, f"{NAME}-identity"]
    after = json.loads(config_map["data"]["record.json"])
    assert {key: value for key, value in after.items() if key != "levels"} == {
        key: value for key, value in record.items() if key != "levels"
    }
    (resource,) = of_kind(items, "KafkaQuorum")
    assert json.loads(config_map["data"]["accepted-spec.json"])["spec"] == resource["spec"]
    assert keys == [(node["node_id"], node["directory_id"]) for node in after["nodes"]]


def controllers(record: Json) -> AnsweringControllers:
    """Controllers with the first as leader, all caught up."""
    keys = [
        ReplicaKey(node_id=NodeID(node["node_id"]), directory_id=DirectoryID(node["directory_id"]))
        for node in record["nodes"]
    ]
    cluster = ClusterAnswer(cluster_id=ClusterID(record["cluster_id"]), controller_ids=tuple(k.node_id for k in keys))
    return AnsweringControllers(
        moves_ms=400,
        quorums={keys[0].node_id: answer(keys)},
        versions={key.node_id: saying() for key in keys},
        clusters={keys[0].node_id: cluster},
    )
