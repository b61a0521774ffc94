"""The Kubernetes objects of a pool: what one round of requests finds, and what cannot be read or is not ours."""

import base64
import json
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from tests.brokers.edges import REACHED, RECORD, api_server, contract_of, pod_name
from tests.brokers.secured import SECRET, mutual
from tests.brokers.values import (
    CLUSTER,
    NAMESPACE,
    OTHER_CLUSTER,
    POOL,
    UID,
    desired,
    directory,
    resource,
    revision,
)
from tests.clocks import MovingClock
from tests.kit.kube.recording import RecordingKube
from tests.kit.pki.made import certificate, root
from tests.model.certificates import leaf

from kafka_brokers.kind import POOLS
from kafka_brokers.model import names
from kafka_brokers.model.disks import PoolRecord, changed, with_brokers, with_disk, without_data
from kafka_brokers.observe import snapshot as snapshot_
from kafka_brokers.observe.gather import accepted_losses, unasked
from kafka_brokers.observe.snapshot import Snapshot
from kafka_brokers.observe.unlisted import unlabelled
from kafka_brokers.resources.stored import record_object
from kafka_quorum.model.ids import NodeID
from kafka_quorum.model.known import Known, Unknown
from kafka_quorum.model.material import controller
from kafka_quorum.model.names import USED_BY
from kafka_quorum.model.pods import DiskFound, Running, Waiting
from kit.errors import KubeUnavailable
from kit.kube.protocol import BUDGETS, CLAIMS, CONFIG_MAPS, LEASES, PODS, REVISIONS, SERVICES, Json, ResourceType
from kit.kube.secrets import SECRETS
from kit.pki.material import keystore

CLAIM = (CLAIMS.plural, "payments-1-d0-g1")
REVISION = (REVISIONS.plural, revision().name)
LEASE = (LEASES.plural, "events-disruption")
MUTUAL = replace(REACHED, settings=mutual().settings, secrets=(SECRET,))


async def taken(kube: RecordingKube) -> Snapshot:
    """A snapshot of a pool that exists."""
    found = await snapshot_.snapshot(kube, NAMESPACE, POOL, MovingClock(100.0))
    assert found is not None
    return found


def lease(holder: str) -> Json:
    """The token."""
    return {"metadata": {"name": LEASE[1], "namespace": NAMESPACE}, "spec": {"holderIdentity": holder}}


async def test_a_pool_at_rest() -> None:
    """Everything is there, nothing is unreadable, and the spec is the accepted one."""
    found = await taken(api_server())
    assert (found.unreadable, found.record_fault, found.later, found.taken_at_s) == ((), "", (), 100.0)
    assert found.record is not None
    assert found.record.node_ids == (0, 1, 2)
    assert [(one.node_id, one.directory_id, one.uid) for one in found.claims] == [
        (node, directory(node), f"claim-{node}-0") for node in range(3)
    ]
    assert [(one.node_id, one.serves, one.ready, one.gate, one.ip) for one in found.pods] == [
        (node, True, True, "True", f"10.0.0.{node + 1}") for node in range(3)
    ]
    assert [one.claim_uids for one in found.pods] == [(f"claim-{node}-0",) for node in range(3)]
    assert [one.name for one in found.revisions] == [revision().name]
    assert isinstance(found.contract, Known)
    assert replace(found.contract.value, resource_version="") == REACHED
    assert isinstance(found.token, Known)
    assert (found.token.value.free, found.spec_kept, found.taken_ids, found.peers) == (True, True, (), ())


async def test_a_resource_that_is_gone() -> None:
    """There is no snapshot."""
    assert await snapshot_.snapshot(RecordingKube(), NAMESPACE, POOL, MovingClock()) is None


LISTED: list[tuple[str, ResourceType]] = [
    *(("list", kind) for kind in (CLAIMS, CONFIG_MAPS, SERVICES, BUDGETS, REVISIONS, PODS, POOLS)),
    ("get", POOLS),
    ("get", CONFIG_MAPS),
]


@pytest.mark.parametrize(("verb", "kind"), LISTED, ids=[f"{verb} {kind.plural}" for verb, kind in LISTED])
async def test_what_cannot_be_listed_ends_the_look(verb: str, kind: ResourceType) -> None:
    """An error is no empty list: the pass ends there."""
    kube = api_server()
    kube.errors[verb, kind.plural] = KubeUnavailable("no answer")
    with pytest.raises(KubeUnavailable):
        await taken(kube)


async def test_a_token_that_cannot_be_read_is_not_free() -> None:
    """It is unknown; the look goes on, because repairs need no token."""
    kube = api_server()
    kube.errors["get", LEASES.plural] = KubeUnavailable("no answer")
    assert isinstance((await taken(kube)).token, Unknown)


HOLDERS = (("quorum/events", "quorum/events"), ("pool/payments", "pool/payments"), ("pool/gone", ""), ("", ""))


@pytest.mark.parametrize(("holder", "found"), HOLDERS)
async def test_the_token_of_a_pool_that_is_gone_is_free(holder: str, found: str) -> None:
    """Nobody else would give it back; a quorum's token is the quorum's."""
    kube = api_server()
    kube.put(LEASES, lease(holder))
    token = (await taken(kube)).token
    assert isinstance(token, Known)
    assert token.value.holder == found
    assert token.value.resource_version


async def test_the_token_of_another_pool_that_exists() -> None:
    """It is held."""
    kube = api_server()
    kube.put(POOLS, resource(name="other", uid="other"))
    kube.put(LEASES, lease("pool/other"))
    token = (await taken(kube)).token
    assert isinstance(token, Known)
    assert token.value.holder == "pool/other"


# The contract


async def test_a_contract_that_is_not_there_or_cannot_be_read() -> None:
    """It is unknown, and never an empty one."""
    kube = api_server()
    item = contract_of()
    item["data"] = {}
    kube.put(CONFIG_MAPS, item)
    assert isinstance((await taken(kube)).contract, Unknown)
    del kube.objects[CONFIG_MAPS.plural, "events-brokers"]
    assert isinstance((await taken(kube)).contract, Unknown)
    kube.put(POOLS, resource({"quorum": 7}))
    found = await taken(kube)
    assert isinstance(found.contract, Unknown)
    assert found.quorum == ""


OWN = "events-brokers-tls.payments"


async def test_which_keys_a_secret_has() -> None:
    """The keys of the contract's Secret and the pool's are known, no value is kept; without a Secret none is asked."""
    kube = api_server(contract=MUTUAL)
    assert (await taken(kube)).secrets.keys == ((SECRET, Known(value=None)), (OWN, Known(value=None)))
    kube.put(SECRETS, {"metadata": {"name": SECRET, "namespace": NAMESPACE}, "data": {"tls.key": "aGlkZGVu"}})
    found = await taken(kube)
    assert found.secrets.keys == ((SECRET, Known(value=frozenset({"tls.key"}))), (OWN, Known(value=None)))
    assert "aGlkZGVu" not in repr(found)
    kube.errors["get", SECRETS.plural] = KubeUnavailable("forbidden")
    (_, keys), _ = (await taken(kube)).secrets.keys
    assert isinstance(keys, Unknown)
    assert (await taken(api_server())).secrets.keys == ()


@pytest.mark.parametrize(
    ("readers", "known"), [("", False), ("KafkaQuorum/other", False), ("KafkaQuorum/events", True)]
)
async def test_a_contract_names_only_a_secret_that_allows_its_quorum(readers: str, known: bool) -> None:  # noqa: FBT001
    """A person who may write config maps can write a contract: brokers mount no Secret that is not meant for it."""
    kube = api_server()
    item = contract_of()
    body = json.loads(item["data"]["contract.json"])
    body["zookeeper"] = {"connect": "zk:2181", "secret_name": "somebody"}
    item["data"]["contract.json"] = json.dumps(body)
    kube.put(CONFIG_MAPS, item)
    metadata = {"name": "somebody", "namespace": NAMESPACE, "annotations": {USED_BY: readers}}
    kube.put(SECRETS, {"metadata": metadata, "data": {}})
    found = (await taken(kube)).contract
    assert isinstance(found, Known) == known, found
    if isinstance(found, Unknown):
        assert "Secret somebody of ConfigMap events-brokers does not exist, or its annotation" in found.reason


# The record


async def test_a_record_that_lost_its_labels_is_found_by_its_name() -> None:
    """A restore may lose labels; a record that is not seen would be made again."""
    kube = api_server()
    kube.objects[RECORD]["metadata"]["labels"] = {}
    found = await taken(kube)
    assert found.record is not None
    assert found.record.node_ids == (0, 1, 2)


DAMAGED: list[tuple[dict[str, str], bool]] = [
    ({}, False),
    ({"disks.json": "{"}, False),
    ({"disks.json": '{"schemaVersion": 1}'}, False),
    ({"disks.json": '{"schemaVersion": 2}'}, True),
]


@pytest.mark.parametrize(("data", "later"), DAMAGED)
async def test_a_record_that_cannot_be_read_is_not_absent(data: dict[str, str], later: bool) -> None:  # noqa: FBT001
    """Its fault is told, a later version's as such."""
    kube = api_server()
    kube.objects[RECORD]["data"] = data
    found = await taken(kube)
    assert found.record is None
    assert RECORD[1] in found.record_fault
    assert bool(found.later) is later


async def test_a_record_that_something_else_controls_is_not_ours() -> None:
    """It is told, and not used."""
    kube = api_server()
    owner = {"apiVersion": "v1", "kind": "Other", "name": "x", "uid": "x", "controller": True}
    kube.objects[RECORD]["metadata"]["ownerReferences"] = [owner]
    found = await taken(kube)
    assert found.record is None
    assert "controls it" in found.record_fault


async def test_without_a_record_there_is_no_fault() -> None:
    """A new pool has none yet."""
    kube = api_server()
    del kube.objects[RECORD]
    found = await taken(kube)
    assert (found.record, found.record_fault, found.later, found.accepted_spec) == (None, "", (), None)


# Claims


async def test_a_claim_that_lost_its_labels_is_found_by_its_name() -> None:
    """One list without it is not enough to give up a volume."""
    kube = api_server()
    kube.objects[CLAIM]["metadata"]["labels"] = {}
    assert [one.node_id for one in (await taken(kube)).claims] == [0, 1, 2]
    del kube.objects[CLAIM]
    assert [one.node_id for one in (await taken(kube)).claims] == [0, 2]


async def test_a_claim_that_cannot_be_asked_for_ends_the_look() -> None:
    """It is neither there nor gone."""
    kube = api_server()
    kube.objects[CLAIM]["metadata"]["labels"] = {}
    kube.errors["get", CLAIMS.plural] = KubeUnavailable("no answer")
    with pytest.raises(KubeUnavailable):
        await taken(kube)


async def test_a_claim_that_cannot_be_read_is_neither_there_nor_gone() -> None:
    """It is unreadable, by its name."""
    kube = api_server()
    kube.objects[CLAIM]["spec"]["resources"]["requests"]["storage"] = "many"
    (bad,) = (await taken(kube)).unreadable
    assert (bad.kind, bad.name, bad.later) == ("PersistentVolumeClaim", CLAIM[1], False)


async def test_claims_of_others_are_not_ours() -> None:
    """By name, or by what controls them."""
    kube = api_server()
    body = json.loads(json.dumps(kube.objects[CLAIM]))
    for name in ("other-1-d0-g1", "payments-1-d0", "payments-01-d0-g1"):
        kube.put(CLAIMS, {**body, "metadata": {**body["metadata"], "name": name, "uid": name}})
    stateful = {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "x", "uid": "x", "controller": True}
    foreign = {**body["metadata"], "name": "payments-7-d0-g1", "uid": "x", "ownerReferences": [stateful]}
    kube.put(CLAIMS, {**body, "metadata": foreign})
    assert [one.name for one in (await taken(kube)).claims] == [f"payments-{node}-d0-g1" for node in range(3)]


CLAIM_FACTS: list[tuple[dict[str, Any], str, object]] = [
    ({"status": {"phase": "Lost"}}, "volume_gone", True),
    ({"status": {"phase": "Pending"}}, "volume_gone", False),
    ({}, "deleting", False),
]


@pytest.mark.parametrize(("changes", "field", "value"), CLAIM_FACTS)
async def test_what_a_claim_says_of_its_volume(changes: dict[str, Any], field: str, value: object) -> None:
    """Only the phase Lost says that the volume does not exist."""
    kube = api_server()
    kube.objects[CLAIM].update(changes)
    (claim,) = (one for one in (await taken(kube)).claims if one.node_id == 1)
    assert getattr(claim, field) == value


# Pods


async def test_pods_of_others_are_not_ours() -> None:
    """By name, by label, or by what controls them; those of other pools are peers, except formatters."""
    kube = api_server()
    body = json.loads(json.dumps(kube.objects[pod_name(1)]))
    metadata = body["metadata"]

    def put(name: str, labels: dict[str, str] | None = None, owners: list[Json] | None = None) -> None:
        more = {"name": name, "uid": name, "labels": {**metadata["labels"], **(labels or {})}}
        kube.put(PODS, {**body, "metadata": {**metadata, **more, "ownerReferences": owners or []}})

    put("strange")
    replica_set = {"kind": "ReplicaSet", "uid": "x", "name": "x", "controller": True}
    put("payments-7-broker", {names.LABEL_NODE: "7"}, [replica_set])
    put("payments-8-broker", {names.LABEL_NODE: "-8"})
    put("other-9-broker", {names.LABEL_NODE: "9", names.LABEL_POOL: "other"})
    put("other-9-broker-format-1", {names.LABEL_POOL: "other", names.LABEL_ROLE: names.FORMATTER_ROLE})
    found = await taken(kube)
    assert [one.name for one in found.pods] == [f"payments-{node}-broker" for node in range(3)]
    assert [one.name for one in found.peers] == ["other-9-broker"]


async def test_a_pod_of_another_pool_that_cannot_be_read_is_there() -> None:
    """It holds stops up, and nothing else: this pool can be repaired. A formatter of another pool holds nothing up."""
    kube = api_server()
    body = json.loads(json.dumps(kube.objects[pod_name(1)]))
    body["status"] = {"containerStatuses": ["no object"]}
    for name, role in (("other-9-broker", names.BROKER_ROLE), ("other-9-broker-format-1", names.FORMATTER_ROLE)):
        labels = {**body["metadata"]["labels"], names.LABEL_POOL: "other", names.LABEL_ROLE: role}
        kube.put(PODS, {**body, "metadata": {**body["metadata"], "name": name, "uid": name, "labels": labels}})
    found = await taken(kube)
    assert [one.name for one in found.peers_unreadable] == ["other-9-broker"]
    assert (found.peers, found.unreadable) == ((), ())
    assert [one.name for one in unasked(found).peers_unreadable] == ["other-9-broker"]


async def test_a_pod_that_cannot_be_read_is_neither_there_nor_gone() -> None:
    """Nothing is done while it is so."""
    kube = api_server()
    text = json.dumps({"script": 99, "volumes": [], "accepted": True, "message": ""})
    ended = {"terminated": {"exitCode": 1, "message": text, "finishedAt": "2026-01-01T00:00:00Z"}}
    kube.objects[pod_name(1)]["status"]["containerStatuses"] = [{"name": "kafka", "state": ended}]
    found = await taken(kube)
    assert [(one.kind, one.name, one.later) for one in found.unreadable] == [("Pod", "payments-1-broker", True)]
    assert unasked(found).unreadable == found.unreadable


@pytest.mark.parametrize("label", [names.LABEL_POOL, names.LABEL_OF_QUORUM, names.LABEL_NODE, names.LABEL_ROLE])
@pytest.mark.parametrize("value", [None, "another"])
async def test_a_pod_that_lost_a_label_is_neither_there_nor_gone(label: str, value: str | None) -> None:
    """Its Kafka runs on. The status has the command that gives exactly this label back."""
    kube = api_server()
    labels = kube.objects[pod_name(1)]["metadata"]["labels"]
    before = labels.pop(label)
    if value is not None:
        labels[label] = value
    found = await taken(kube)
    assert [one.node_id for one in found.pods] == [0, 2]
    assert found.peers == ()
    (told,) = found.unreadable
    assert told.name == "payments-1-broker"
    assert told.why.endswith(f": kubectl -n {NAMESPACE} label pod payments-1-broker --overwrite {label}={before}")
    kube.objects[pod_name(1)]["metadata"]["labels"][label] = before
    assert (await taken(kube)).unreadable == ()


@pytest.mark.parametrize("labelled", [False, True])
async def test_a_pod_that_something_else_controls_is_there(labelled: bool) -> None:  # noqa: FBT001 - one of two
    """No edit hides a broker, with its labels or without."""
    kube = api_server()
    metadata = kube.objects[pod_name(1)]["metadata"]
    if not labelled:
        metadata["labels"] = {}
    metadata["ownerReferences"] = [{"kind": "Other", "name": "x", "uid": "x", "controller": True}]
    (told,) = (await taken(kube)).unreadable
    assert "not a KafkaBrokerPool" in told.why


async def test_no_pod_is_asked_for_while_all_are_listed() -> None:
    """So a pool costs no request more; a pod that is gone costs two, and one that cannot be asked for ends the look."""
    kube = api_server()
    await taken(kube)
    assert [call.name for call in kube.calls if (call.verb, call.plural) == ("get", PODS.plural)] == []
    del kube.objects[pod_name(1)]
    assert (await taken(kube)).unreadable == ()
    asked = [call.name for call in kube.calls if (call.verb, call.plural) == ("get", PODS.plural)]
    assert asked == ["payments-1-broker", "payments-1-broker-format-1"]
    kube.errors["get", PODS.plural] = KubeUnavailable("no answer")
    with pytest.raises(KubeUnavailable):
        await taken(kube)


async def test_a_label_that_comes_back_during_a_look_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """Between the list and the question for the pod: it is there."""
    kube = api_server()
    before, get = kube.objects[pod_name(1)]["metadata"]["labels"], kube.get

    async def late(resource: ResourceType, namespace: str, name: str) -> Json | None:
        if name == pod_name(1)[1]:
            kube.objects[pod_name(1)]["metadata"]["labels"] = before
        return await get(resource, namespace, name)

    monkeypatch.setattr(kube, "get", late)
    kube.objects[pod_name(1)]["metadata"]["labels"] = {}
    found = await taken(kube)
    assert [one.node_id for one in found.pods] == [0, 1, 2]
    assert found.unreadable == ()


async def test_the_pod_of_a_broker_whose_volume_was_given_up_is_there_without_labels() -> None:
    """It ran, and has the name of the pod that is to follow: no formatter begins beside it."""
    record = (await taken(api_server())).record
    assert record is not None
    (broker,) = (one for one in record.brokers if one.node_id == 1)
    after = with_disk(broker, without_data(broker.disks[0], new_claim=True))
    kube = api_server(of=changed(record, after))
    kube.objects[pod_name(1)]["metadata"]["labels"] = {}
    assert [one.name for one in (await taken(kube)).unreadable] == ["payments-1-broker"]


async def test_a_stranger_hides_no_pod_without_labels() -> None:
    """It has the name of the formatter, and our labels, but another controller."""
    kube = api_server()
    stranger = kube.objects[pod_name(1)]
    owner = {"kind": "Other", "name": "x", "uid": "x", "controller": True}
    changes = {"name": "payments-1-broker-format-1", "uid": "other", "ownerReferences": [owner]}
    kube.put(PODS, {**stranger, "metadata": {**stranger["metadata"], **changes}})
    kube.objects[pod_name(1)]["metadata"]["labels"] = {}
    found = await taken(kube)
    assert [one.name for one in found.unreadable] == ["payments-1-broker"]
    assert [one.node_id for one in found.pods] == [0, 2]


async def test_the_command_is_never_cut() -> None:
    """The longest names that a pool and its quorum may have, and the highest id."""
    pool, quorum, last = "a" * 51, "b" * 51, NodeID(2**31 - 1)
    record = (await taken(api_server())).record
    assert record is not None
    record = replace(record, brokers=(replace(record.brokers[0], node_id=last),))
    kube = RecordingKube()
    kube.put(PODS, {"metadata": {"name": f"{pool}-{last}-broker", "namespace": NAMESPACE, "uid": "u"}})
    _, (told,) = await unlabelled(kube, NAMESPACE, pool, quorum, record, [])
    assert told.why.endswith(f"{names.LABEL_NODE}={last} {names.LABEL_ROLE}=broker")


async def test_a_revision_that_lost_its_labels_is_found_by_its_name() -> None:
    """Pods are made from it, as before."""
    kube = api_server()
    kube.objects[REVISION]["metadata"]["labels"] = {}
    assert [one.name for one in (await taken(kube)).revisions] == [revision().name]


async def test_too_many_pods_end_the_look(monkeypatch: pytest.MonkeyPatch) -> None:
    """Anybody can create pods with such labels: the operator does not read them all."""
    monkeypatch.setattr(snapshot_, "PODS_MAX", 2)
    with pytest.raises(Exception, match="at most 2"):
        await taken(api_server())
    monkeypatch.setattr(snapshot_, "PODS_MAX", 3)
    assert len((await taken(api_server())).pods) == 3


async def test_what_a_pod_says() -> None:
    """Its report, the hold of a person, and its late properties; while its script looks, no Kafka runs."""
    kube = api_server()
    row = {"index": 0, "found": "empty", "clusterID": "", "nodeID": "", "directoryID": ""}
    text = json.dumps({"script": 1, "volumes": [row], "accepted": False, "message": "the volume is empty"})
    ended = {"terminated": {"exitCode": 1, "message": text, "finishedAt": "2026-01-01T00:00:10Z", "containerID": "c1"}}
    item = kube.objects[pod_name(1)]
    item["metadata"]["annotations"] |= {names.HOLD: "true", names.LATE: "broker.rack=a\n"}
    item["status"]["initContainerStatuses"] = [
        {
            "name": "verify",
            "state": {"waiting": {"reason": "CrashLoopBackOff"}},
            "lastState": ended,
            "containerID": "c1",
        }
    ]
    item["status"]["containerStatuses"] = [{"name": "kafka", "state": {"waiting": {"reason": "PodInitializing"}}}]
    other = kube.objects[pod_name(2)]
    other["metadata"]["annotations"] |= {names.HOLD: "yes", names.LATE: ""}
    other["status"]["initContainerStatuses"] = [{"name": "verify", "state": {"running": {}}, "lastState": ended}]
    other["status"]["podIP"] = "evil\n"
    first, one, two = (await taken(kube)).pods
    assert isinstance(first.container, Running)
    assert (first.held, first.late, first.needs_late, first.report) == (False, None, False, None)
    assert isinstance(one.container, Waiting)
    assert one.report is not None
    assert ([each.found for each in one.report.disks], one.report.accepted) == ([DiskFound.EMPTY], False)
    assert (one.held, one.late, one.needs_late, one.running) == (True, "broker.rack=a\n", True, False)
    assert (two.held, two.late, two.needs_late, two.running, two.report) == (False, None, True, False, None)
    assert two.ip == ""


async def test_a_pod_whose_container_the_kubelet_lost() -> None:
    """An evicted pod has ended: Kubernetes writes times that it does not have as null, and the pod can be read."""
    lost = {"exitCode": 137, "reason": "ContainerStatusUnknown", "startedAt": None, "finishedAt": None}
    kube = api_server()
    status = kube.objects[pod_name(1)]["status"]
    row = {"name": "kafka", "state": {"terminated": lost}, "lastState": {"terminated": lost}, "restartCount": 1}
    status |= {"phase": "Failed", "containerStatuses": [row]}
    found = await taken(kube)
    assert found.unreadable == ()
    assert (found.pods[1].finished, found.pods[1].running, found.pods[1].report) == (True, False, None)


# Revisions


async def test_a_revision_in_use_that_cannot_be_read_is_told() -> None:
    """A pod cannot be made from it; one that nothing uses matters to nobody."""
    kube = api_server()
    kube.objects[REVISION]["data"] = {"schemaVersion": 2}
    (bad,) = (await taken(kube)).unreadable
    assert (bad.kind, bad.name, bad.later) == ("ControllerRevision", REVISION[1], True)
    idle = api_server()
    body = json.loads(json.dumps(idle.objects[REVISION]))
    body["metadata"] |= {"name": "payments-broker-0123456789", "uid": "x"}
    idle.put(REVISIONS, {**body, "data": {}})
    idle.put(REVISIONS, {**body, "metadata": {**body["metadata"], "name": "payments-broker-x"}})
    found = await taken(idle)
    assert (found.unreadable, [one.name for one in found.revisions]) == ((), [REVISION[1]])


async def test_the_revision_of_one_broker_counts() -> None:
    """A revision that only one broker of the record names is in use."""
    kube = api_server()
    body = json.loads(json.dumps(kube.objects[REVISION]))
    body["metadata"] |= {"name": "payments-broker-0123456789", "uid": "x"}
    kube.put(REVISIONS, {**body, "data": {}})
    data = kube.objects[RECORD]["data"]
    data["disks.json"] = data["disks.json"].replace(REVISION[1], "payments-broker-0123456789", 1)
    (bad,) = (await taken(kube)).unreadable
    assert bad.name == "payments-broker-0123456789"


# Other pools of the quorum


def other_pool(created: str, spec: Json | None = None) -> Json:
    """Another pool of the same quorum."""
    return resource(spec, name="other", uid="other", creationTimestamp=created)


def other_record(cluster_id: Any = CLUSTER) -> Json:  # noqa: ANN401 - an id
    """The record of a pool with the ids 7 and 8."""
    known = with_brokers(PoolRecord(cluster_id=cluster_id), [NodeID(7), NodeID(8)], 1)
    return record_object(replace(desired(), name="other", uid="other"), known)


async def test_ids_in_the_records_of_other_pools_are_taken() -> None:
    """Also of one that was deleted and keeps its volumes; not those of another cluster, nor unreadable ones."""
    kube = api_server()
    kube.put(CONFIG_MAPS, other_record())
    assert (await taken(kube)).taken_ids == ((7, "other"), (8, "other"))
    kube.put(CONFIG_MAPS, other_record(OTHER_CLUSTER))
    assert (await taken(kube)).taken_ids == ()
    kube.put(CONFIG_MAPS, {**other_record(), "data": {}})
    assert (await taken(kube)).taken_ids == ()


async def test_ids_that_an_older_pool_asks_for_are_taken() -> None:
    """Of two pools that begin at the same time, the older one has them; by name if they are of one second."""
    kube = api_server()
    kube.put(POOLS, resource(creationTimestamp="2026-01-02T00:00:00Z"))
    kube.put(POOLS, other_pool("2026-01-01T00:00:00Z", {"firstNodeID": 5, "replicas": 2}))
    assert (await taken(kube)).taken_ids == ((5, "other"), (6, "other"))
    kube.put(POOLS, other_pool("2026-01-01T00:00:00Z", {"nodeIDs": [4, True, "x"], "replicas": 1}))
    assert (await taken(kube)).taken_ids == ((4, "other"),)
    kube.put(POOLS, other_pool("2026-01-02T00:00:00Z"))
    assert (await taken(kube)).taken_ids == ((0, "other"), (1, "other"), (2, "other"))
    for odd in (
        other_pool("2026-01-03T00:00:00Z"),
        other_pool("2026-01-01T00:00:00Z", {"quorum": "another"}),
        other_pool("2026-01-01T00:00:00Z", {"firstNodeID": "x"}),
    ):
        kube.put(POOLS, odd)
        assert (await taken(kube)).taken_ids == ()


# The resource


ACCEPTED: tuple[tuple[Any, set[str]], ...] = (
    ("AgAAAAAAAAAAAAAAAAAAAQ", {"AgAAAAAAAAAAAAAAAAAAAQ"}),
    ("payments-1-d0-g1, x,", {"payments-1-d0-g1", "x"}),
    (" , ", set()),
    ("", set()),
    (7, set()),
)


@pytest.mark.parametrize(("text", "found"), ACCEPTED)
async def test_which_losses_a_person_accepted(text: Any, found: set[str]) -> None:  # noqa: ANN401 - any JSON
    """Names with commas between them; what is no text accepts nothing."""
    known = await taken(api_server())
    annotated = {**known.resource, "metadata": {**known.resource["metadata"], "annotations": {names.ACCEPT_LOSS: text}}}
    assert accepted_losses(replace(known, resource=annotated)) == frozenset(found)
    assert accepted_losses(known) == frozenset()


async def test_a_spec_that_is_not_stored_yet_is_not_kept() -> None:
    """It is stored before it is followed."""
    kube = api_server()
    kube.put(POOLS, resource({"replicas": 5}))
    found = await taken(kube)
    assert not found.spec_kept
    assert found.accepted_spec == {"quorum": "events"}
    assert unasked(found).uid == UID


async def test_for_which_names_the_certificates_are() -> None:
    """Of the pool's own Secret the names of each file are known, and no key; what is no certificate has none."""
    kube = api_server(contract=MUTUAL)
    store = keystore(leaf(controller(NodeID(3000))))
    name = "alpha-3000.alpha-controllers.kafka.svc"
    texts = {"keystore-1.pem": store, "keystore-2.pem": "no certificate", "trust.pem": "x"}
    data = {key: base64.b64encode(text.encode()).decode() for key, text in texts.items()} | {"keystore-3.pem": "%"}
    kube.put(SECRETS, {"metadata": {"name": OWN, "namespace": NAMESPACE}, "data": data})
    found = (await taken(kube)).secrets
    assert dict(found.certified) == {
        "keystore-1.pem": frozenset({name, f"{name}.cluster.local"}),
        "keystore-2.pem": frozenset(),
        "keystore-3.pem": frozenset(),
    }
    assert store.splitlines()[1] not in repr(found)
    assert [file for file, _ in found.ends] == ["keystore-1.pem"]


@pytest.mark.parametrize("issuer", [{}, {"issuer": "Secret"}])
async def test_when_certificates_of_a_pool_end(issuer: dict[str, str]) -> None:
    """Each pool has its own end, whoever gives them, which the contract does not have: it is that of each file."""
    kube = api_server(contract=MUTUAL)
    own = leaf(controller(NodeID(3000)))
    texts = {"keystore-1.pem": keystore(own), "keystore-2.pem": "no certificate", **issuer}
    data = {key: base64.b64encode(text.encode()).decode() for key, text in texts.items()}
    kube.put(SECRETS, {"metadata": {"name": OWN, "namespace": NAMESPACE}, "data": data})
    found = (await taken(kube)).secrets
    assert found.ends == (("keystore-1.pem", int(own.certificate.not_after.timestamp())),)


@pytest.mark.parametrize("trusts_it", [False, True])
async def test_an_intermediate_authority_may_end_first(trusts_it: bool) -> None:  # noqa: FBT001 - one of two
    """Its end is that of the chain, if servers do not trust it themselves."""
    above = certificate("above", by=root(), ca=True, names=(), ends=timedelta(days=2))
    own = certificate(by=above)
    texts = {"keystore-1.pem": own.key_pem + own.pem + above.pem, "issuer": "Secret"}
    texts["ca.crt"] = above.pem if trusts_it else root().pem
    data = {key: base64.b64encode(text.encode()).decode() for key, text in texts.items()}
    kube = api_server(contract=MUTUAL)
    kube.put(SECRETS, {"metadata": {"name": OWN, "namespace": NAMESPACE}, "data": data})
    found = (await taken(kube)).secrets
    ends = (own if trusts_it else above).crt.not_valid_after_utc
    assert found.ends == (("keystore-1.pem", int(ends.timestamp())),)
