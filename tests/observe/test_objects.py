"""Kubernetes objects, as the API server writes them, are reduced to the facts that decisions need."""

import json
from typing import Any

import pytest
from tests.model.values import CLUSTER, GIBIBYTE, NAME, UID, claim_uid, directory, key, revision
from tests.observe.kubernetes import EMPTY, GOOD, claim, container, metadata, owned, pod, running, terminated, waiting

from kafka_quorum.model import names
from kafka_quorum.model.identity import BootstrapPhase, FormatMode
from kafka_quorum.model.memory import Soak
from kafka_quorum.model.operation import FeatureOperation, UnknownOperation
from kafka_quorum.model.pods import DiskFound, Pod, PodRole, Running, Terminated, Waiting
from kafka_quorum.model.quorum import FeatureStep
from kafka_quorum.observe.objects import (
    claim_from,
    kube_node_from,
    owner_uid,
    pod_from,
    status_from,
    support_from,
)

Json = dict[str, Any]
VERIFIED = container("verify", terminated(0, json.dumps(GOOD), "Completed"))


def read(item: Json) -> Pod:
    """Parses a pod that must be one of ours."""
    found = pod_from(item)
    assert found is not None
    return found


# Pods


def test_restarted_container() -> None:
    """Kafka counts as restarted if it runs again in the pod in which it ended, and not while it waits."""
    assert not read(pod(main=container("kafka", running()), init=VERIFIED)).restarted
    assert read(pod(main=container("kafka", running(), terminated(137)), init=VERIFIED)).restarted
    assert not read(pod(main=container("kafka", waiting("CrashLoopBackOff"), terminated(1)), init=VERIFIED)).restarted


def test_running_pod() -> None:
    """A running Kafka pod has its purpose, its place, and the report that its disk is as expected."""
    found = read(pod(main=container("kafka", running()), init=VERIFIED))
    assert (found.name, found.uid, found.resource_version) == ("alpha-3000-g1", "uid-of-alpha-3000-g1", "41")
    assert (found.role, found.node_id, found.owner_uid) == (PodRole.KAFKA, 3000, UID)
    assert (found.claim_name, found.claim_uid, found.directory_id) == (
        "alpha-3000-g1",
        claim_uid(3000),
        directory(3000),
    )
    assert (found.mode, found.revision) == (FormatMode.INITIAL_CONTROLLERS, revision().name)
    assert (found.ip, found.node_name, found.scheduled) == ("10.244.1.7", "worker-1", True)
    assert (found.deleting, found.finished, found.gate) == (False, False, "True")
    assert found.running
    assert found.report is not None
    assert found.report.accepted


@pytest.mark.parametrize(
    "labels",
    [
        {},
        {names.LABEL_ROLE: "controller"},
        {names.LABEL_ROLE: "something", names.LABEL_NODE: "3000"},
        {names.LABEL_ROLE: "controller", names.LABEL_NODE: "first"},
        {names.LABEL_ROLE: "controller", names.LABEL_NODE: "-1"},
    ],
    ids=["none", "no node", "other role", "no number", "negative"],
)
def test_not_our_pod(labels: Json) -> None:
    """A pod that only has the quorum's label is not ours."""
    assert pod_from(pod(changes={"labels": {names.LABEL_QUORUM: NAME, **labels}})) is None


def test_bare_pod() -> None:
    """A pod that was just created, without status, Kubernetes node and annotations, can be read."""
    item = pod()
    found = read({"metadata": {**item["metadata"], "annotations": {}}, "spec": {}})
    assert found.container == Waiting(reason="", message="", last_exit=None)
    assert (found.scheduled, found.ip, found.report, found.directory_id) == (False, "", None, None)
    assert (found.claim_name, found.claim_uid, found.gate) == ("", "", "")


@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
def test_finished(phase: str) -> None:
    """A pod with a final phase is finished, whatever its containers reported last."""
    assert read(pod(main=container("kafka", running()), status={"phase": phase})).finished


def test_deleting() -> None:
    """A pod with a deletion timestamp is being deleted."""
    assert read(pod(changes={**pod()["metadata"], "deletionTimestamp": "2026-01-01T00:01:00Z"})).deleting


def test_unschedulable() -> None:
    """The words of the scheduler are kept."""
    said = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/3 nodes are available"}
    item = pod(status={"phase": "Pending", "conditions": [said]})
    assert read(item).unschedulable == "0/3 nodes are available"
    assert read(pod()).unschedulable == ""


@pytest.mark.parametrize(("message", "said"), [("it waits for quota", "it waits for quota"), ("", "SchedulingGated")])
def test_a_pod_that_the_scheduler_must_not_look_at(message: str, said: str) -> None:
    """A tool that queues pods (Kueue) gives them scheduling gates: until it takes them away, no node takes the pod."""
    gated = {"type": "PodScheduled", "status": "False", "reason": "SchedulingGated", "message": message}
    assert read(pod(status={"phase": "Pending", "conditions": [gated]})).unschedulable == said


def test_voter_mark() -> None:
    """The voter label is the mark of a voter."""
    labels = {**pod()["metadata"]["labels"], names.LABEL_VOTER: "true"}
    assert read(pod(changes={"labels": labels})).marked_voter
    assert not read(pod()).marked_voter


FOREIGN = json.dumps({**GOOD, "accepted": False, "clusterID": "another", "message": "found another"})
CONTAINERS: dict[str, tuple[Json | None, Json | None, object]] = {
    "kafka runs": (container("kafka", running()), VERIFIED, Running),
    "init runs": (container("kafka", waiting("PodInitializing")), container("verify", running()), Waiting),
    "init refused": (container("kafka", waiting("PodInitializing")), container("verify", terminated(1)), Terminated),
    "init backs off": (
        container("kafka", waiting("PodInitializing")),
        container("verify", waiting("CrashLoopBackOff"), terminated(1)),
        Waiting,
    ),
    "sandbox restarted": (container("kafka", terminated(137)), container("verify", running(), terminated(0)), Waiting),
    "kafka crashed": (container("kafka", terminated(1)), VERIFIED, Terminated),
    "kafka backs off": (container("kafka", waiting("CrashLoopBackOff"), terminated(1)), VERIFIED, Waiting),
    "image missing": (container("kafka", waiting("ImagePullBackOff")), VERIFIED, Waiting),
    "nothing yet": (None, None, Waiting),
}


@pytest.mark.parametrize("case", CONTAINERS)
def test_effective_state(case: str) -> None:
    """While the init container runs or failed, its state is the pod's; then Kafka does not run."""
    main, init, kind = CONTAINERS[case]
    found = read(pod(main=main, init=init))
    assert isinstance(found.container, kind)  # type: ignore[arg-type]  # a column of types
    assert found.running is (case == "kafka runs")


WAITS = waiting("PodInitializing")
AGENT = container("istio-init", waiting("CrashLoopBackOff", "back-off 5m"), terminated(1, "not permitted"))
OTHERS: dict[str, tuple[list[Json], Json, tuple[str, str]]] = {
    "before ours": ([AGENT, container("verify", WAITS)], WAITS, ("CrashLoopBackOff", "istio-init")),
    "after ours": ([VERIFIED, AGENT], WAITS, ("CrashLoopBackOff", "istio-init")),
    "before ours, which ran": (
        [AGENT, container("verify", WAITS, terminated(0))],
        WAITS,
        ("CrashLoopBackOff", "istio-init"),
    ),
    "its image": (
        [container("istio-init", waiting("ErrImagePull")), container("verify", WAITS)],
        WAITS,
        ("ErrImagePull", "istio-init"),
    ),
    "it runs": ([container("istio-init", running()), container("verify", WAITS)], WAITS, ("PodInitializing", "")),
    "its turn": ([container("istio-init", waiting("PodInitializing")), VERIFIED], WAITS, ("PodInitializing", "")),
    "ours says more": ([AGENT, VERIFIED], waiting("ErrImagePull"), ("ErrImagePull", "")),
}


@pytest.mark.parametrize("case", OTHERS)
def test_an_init_container_of_others(case: str) -> None:
    """While an init container that a person or a service mesh added keeps a pod from starting, its reason is told."""
    rows, main, told = OTHERS[case]
    found = read(pod(main=container("kafka", main), status={"initContainerStatuses": rows}))
    assert isinstance(found.container, Waiting)
    assert (found.container.reason, found.container.init) == told
    assert (found.container.message == "back-off 5m") is (told[0] == "CrashLoopBackOff")


def test_waiting_words() -> None:
    """The state of a waiting container has its reason, and how it ended before."""
    last = terminated(1, "ConfigException: no such key")
    found = read(pod(main=container("kafka", waiting("CrashLoopBackOff", "back-off 10s"), last), init=VERIFIED))
    assert isinstance(found.container, Waiting)
    assert (found.container.reason, found.container.message) == ("CrashLoopBackOff", "back-off 10s")
    assert found.container.last_exit is not None
    assert found.container.last_exit.message == "ConfigException: no such key"


def test_words_of_a_container_are_cleaned() -> None:
    """A text from an image becomes one printable line of bounded length."""
    said = "a\r\nb\x1b[2J\u202ec\x00" + "d" * 9000
    found = read(pod(main=container("kafka", waiting("CrashLoopBackOff", said), terminated(1, said)), init=VERIFIED))
    assert isinstance(found.container, Waiting)
    assert found.container.last_exit is not None
    for text in (found.container.message, found.container.last_exit.message):
        assert text.startswith("a bcd")
        assert len(text) == 4096
        assert text.isprintable()


def test_when_it_ended() -> None:
    """The kubelet's stamp of a container's end becomes seconds since 1970; an invalid one becomes zero."""
    found = read(pod("formatter", main=container("format", terminated(1))))
    assert found.finished_at_s == 1_767_225_610.0
    broken = terminated(1)
    broken["terminated"]["finishedAt"] = "no time"
    assert read(pod("formatter", main=container("format", broken))).finished_at_s == 0.0


# Reports


REPORTS: dict[str, tuple[Json, Json | None, str | None]] = {
    "init accepted": (container("kafka", running()), VERIFIED, "as expected"),
    "init found it empty": (
        container("kafka", waiting("PodInitializing")),
        container("verify", terminated(1, json.dumps(EMPTY))),
        "the disk is empty",
    ),
    "init found it empty, backs off": (
        container("kafka", waiting("PodInitializing")),
        container("verify", waiting("CrashLoopBackOff"), terminated(1, json.dumps(EMPTY))),
        "the disk is empty",
    ),
    "init looks again": (
        container("kafka", terminated(137)),
        container("verify", running(), terminated(1, json.dumps(EMPTY))),
        None,
    ),
    "kafka's container refused": (container("kafka", terminated(1, FOREIGN)), VERIFIED, "found another"),
    "kafka's container refused, backs off": (
        container("kafka", waiting("CrashLoopBackOff"), terminated(1, FOREIGN)),
        VERIFIED,
        "found another",
    ),
    "kafka crashed with a log line": (
        container("kafka", terminated(1, "[2026-01-01] ERROR Exiting Kafka")),
        VERIFIED,
        "as expected",
    ),
    "kafka runs again after a refusal": (
        container("kafka", running(), terminated(1, FOREIGN)),
        VERIFIED,
        "as expected",
    ),
    "kafka ran after a refusal": (
        container("kafka", terminated(137, "killed"), terminated(1, FOREIGN)),
        VERIFIED,
        "as expected",
    ),
    "kafka's container refused before, in another sandbox": (
        container("kafka", waiting("PodInitializing"), terminated(1, FOREIGN)),
        container("verify", terminated(1, json.dumps(EMPTY), finished_at="2026-01-01T00:00:11Z")),
        "the disk is empty",
    ),
    "no word": (container("kafka", terminated(1)), container("verify", terminated(0)), None),
}


@pytest.mark.parametrize("case", REPORTS)
def test_report(case: str) -> None:
    """The newest report of one of our scripts counts; Kafka's log lines are no reports."""
    main, init, said = REPORTS[case]
    report = read(pod(main=main, init=init)).report
    assert (report.message if report else None) == said


@pytest.mark.parametrize(
    ("status", "why"),
    [
        ({"phase": "Failed", "reason": "Evicted", "message": "low on\nmemory"}, " (Evicted: low on memory)"),
        ({"phase": "Failed", "reason": "NodeAffinity"}, " (NodeAffinity)"),
        ({"phase": "Failed"}, ""),
        ({"phase": "Running", "reason": "NodeLost"}, ""),
    ],
)
def test_why_a_pod_has_ended(status: Json, why: str) -> None:
    """An eviction, and a machine that refuses a pod, are told in Kubernetes' own words."""
    assert read(pod(status=status)).why_ended == why


LOST: Json = {
    "terminated": {"exitCode": 137, "reason": "ContainerStatusUnknown", "startedAt": None, "finishedAt": None}
}


@pytest.mark.parametrize(
    ("state", "last"), [(LOST, None), (waiting("ContainerCreating"), LOST), (LOST, LOST)], ids=["now", "before", "both"]
)
@pytest.mark.parametrize(("role", "name"), [("controller", "kafka"), ("formatter", "format")])
def test_a_container_that_its_kubelet_lost(role: str, name: str, state: Json, last: Json | None) -> None:
    """An evicted pod has such containers: Kubernetes writes times that it does not have as null."""
    found = read(pod(role, main=container(name, state, last)))
    assert (found.running, found.finished_at_s) == (False, 0.0)
    assert not isinstance(found.container, Terminated) or found.container.finished_at == ""


def test_report_of_a_formatter() -> None:
    """A formatter's report comes from its only container."""
    report = read(pod("formatter", main=container("format", terminated(0, json.dumps(GOOD))))).report
    assert report is not None
    assert (report.found, report.accepted, report.cluster_id, report.node_id, report.directory_id) == (
        DiskFound.FORMATTED,
        True,
        CLUSTER,
        3000,
        directory(3000),
    )


def test_report_of_an_empty_disk() -> None:
    """A field that is not on the disk is None, not an empty text."""
    report = read(pod("formatter", main=container("format", terminated(1, json.dumps(EMPTY))))).report
    assert report is not None
    assert (report.found, report.cluster_id, report.node_id, report.directory_id) == (DiskFound.EMPTY, None, None, None)


@pytest.mark.parametrize(
    ("place", "read_as"),
    [
        ("12:17:cd2247dcce169f12", "12:17:cd2247dcce169f12"),
        ("12:17:0f", "12:17:0f"),
        ("12:17:0", ""),
        ("12:17:", ""),
        ("12:17", ""),
        ("12:0:f5", ""),
        ("0:17:f5", ""),
        ("12", ""),
        (12, ""),
        (None, ""),
        ("12:17:f5 ", ""),
        ("1" * 21 + ":1:f5", ""),
        ("12:17:" + "1" * 17, ""),
    ],
)
def test_place_and_run_of_a_report(place: object, read_as: str) -> None:
    """A report has the place that its script saw, if it is one, and the container that ran the script."""
    text = json.dumps(EMPTY | {"place": place})
    report = read(pod("formatter", main=container("format", terminated(1, text)))).report
    assert report is not None
    assert (report.place, report.run) == (read_as, "containerd://x")


@pytest.mark.parametrize("script", [None, 1, "2"])
def test_empty_in_the_words_of_an_earlier_script(script: object) -> None:
    """An `empty` of the scripts of 0.1.0 is no evidence, because they also used it for an unreadable disk."""
    text = json.dumps({key_: value for key_, value in {**EMPTY, "script": script}.items() if value is not None})
    report = read(pod("controller", main=container("kafka", terminated(1, text)))).report
    assert report is not None
    assert (report.found, report.outdated) == (DiskFound.UNREADABLE, True)


def test_what_an_earlier_script_read() -> None:
    """A disk that an earlier script found formatted counts as formatted."""
    text = json.dumps({key_: value for key_, value in GOOD.items() if key_ != "script"})
    report = read(pod("controller", main=container("kafka", terminated(1, text)))).report
    assert report is not None
    assert (report.found, report.outdated) == (DiskFound.FORMATTED, False)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "no JSON",
        "{",
        "null",
        "[]",
        '"formatted"',
        "{}",
        json.dumps({**GOOD, "found": "something"}),
        json.dumps({key_: value for key_, value in GOOD.items() if key_ != "accepted"}),
        json.dumps({**GOOD, "nodeID": None})[:40],
    ],
)
def test_no_report(text: str) -> None:
    """A text that is not a complete report is no report."""
    assert read(pod("formatter", main=container("format", terminated(1, text)))).report is None


@pytest.mark.parametrize("accepted", ["true", 1, None, "yes"])
def test_only_true_is_accepted(accepted: object) -> None:
    """Only the JSON value true is an acceptance."""
    text = json.dumps({**GOOD, "accepted": accepted})
    report = read(pod("formatter", main=container("format", terminated(0, text)))).report
    assert report is not None
    assert report.accepted is False


# Claims


def test_claim() -> None:
    """A bound claim has its copy of the identity and its volume, but not the first scheduling's Kubernetes node."""
    found = claim_from(claim())
    assert (found.name, found.uid, found.node_id, found.generation) == ("alpha-3000-g1", claim_uid(3000), 3000, 1)
    assert (found.cluster_id, found.directory_id, found.phase) == (CLUSTER, directory(3000), "Started")
    assert (found.requested_bytes, found.volume, found.selected_node) == (10 * GIBIBYTE, "pvc-1", "worker-1")
    assert found.bound_to == "", "the node of the first scheduling is no place"
    assert (found.owner_uid, found.deleting, found.volume_gone) == (None, False, False)


def test_claim_on_its_way() -> None:
    """A claim shows that it is being deleted, that its volume is lost, or that the resource owns it."""
    assert claim_from(claim({"deletionTimestamp": "2026-01-01T00:01:00Z"})).deleting
    assert claim_from(claim(status={"phase": "Lost"})).volume_gone
    assert claim_from(claim({"ownerReferences": owned()})).owner_uid == UID


def test_claim_that_is_kept() -> None:
    """A claim shows that data was found on it after it was retired."""
    assert claim_from(claim({"annotations": {names.KEPT: "true"}})).kept
    assert not claim_from(claim()).kept


def test_node_that_is_cordoned() -> None:
    """A Kubernetes node that takes no new pods is marked as cordoned."""
    item = {"metadata": {"name": "worker-1"}, "spec": {"unschedulable": True}}
    assert kube_node_from(item).cordoned
    assert not kube_node_from({"metadata": {"name": "worker-1"}}).cordoned


@pytest.mark.parametrize("labels", [None, {}, {names.LABEL_QUORUM: NAME}, {names.LABEL_NODE: "3001"}])
def test_claim_without_its_labels(labels: Json | None) -> None:
    """A claim belongs to the controller in its name, even if its labels are missing or changed."""
    bare = claim({"annotations": None, "labels": labels})
    found = claim_from(bare)
    assert (found.cluster_id, found.directory_id, found.phase) == (None, None, None)
    assert (found.node_id, found.generation, found.labelled) == (3000, 1, False)
    assert claim_from(claim()).labelled


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("0", 0),
        ("1073741824", GIBIBYTE),
        ("1Gi", GIBIBYTE),
        ("1.5Gi", GIBIBYTE * 3 // 2),
        ("10G", 10**10),
        ("5Ti", 5 * 1024**4),
        ("100k", 100_000),
        ("1e9", 10**9),
        ("1181116006400m", 1181116007),  # the form in which the API server stores 1.1Gi
        ("9223372036854775807", 2**63 - 1),  # and 1000Ei
        (".5Gi", GIBIBYTE // 2),
        ("2e3", 2000),
        ("1500000u", 2),
    ],
)
def test_sizes_of_claims(text: str, size: int) -> None:
    """Quantities that the API server accepts are read in whole bytes."""
    item = claim()
    item["spec"]["resources"]["requests"]["storage"] = text
    assert claim_from(item).requested_bytes == size


# Other objects


def test_owner() -> None:
    """Only a KafkaQuorum counts as owner."""
    assert owner_uid({"metadata": metadata("x", ownerReferences=owned("u"))}) == "u"
    other = [{"kind": "ReplicaSet", "uid": "r", "apiVersion": "apps/v1", "name": "r"}]
    assert owner_uid({"metadata": metadata("x", ownerReferences=other)}) is None
    assert owner_uid({"metadata": metadata("x")}) is None
    assert owner_uid({"metadata": metadata("x", ownerReferences=None)}) is None


def test_support() -> None:
    """A service has its facts; a config map only its name and owner."""
    items = [
        {"kind": "Service", "metadata": metadata("alpha-controllers"), "spec": {"clusterIP": "None"}},
        {
            "kind": "ConfigMap",
            "metadata": metadata("alpha-config-0123456789", ownerReferences=owned()),
            "data": {"a": "b"},
        },
    ]
    service, config = support_from(items)
    assert "None" in service.facts
    assert (config.kind, config.name, config.owner_uid, config.facts) == (
        "ConfigMap",
        "alpha-config-0123456789",
        UID,
        "",
    )


STATUS: Json = {
    "clusterID": CLUSTER,
    "bootstrap": {
        "phase": "Started",
        "initialControllers": [{"nodeID": 3000, "directoryID": directory(3000), "claimUID": "c"}],
    },
    "controllers": [{"nodeID": 3000, "directoryID": directory(3000), "claimUID": "c", "role": "Leader"}],
    "operation": {
        "id": "op-1",
        "type": "AddVoter",
        "target": str(key(3003)),
        "step": "Begun",
        "holder": "h",
        "startedAt": "s",
        "waitingFor": "w",
    },
}


def test_status() -> None:
    """The identity and the open operation are read from the status."""
    found = status_from({"status": STATUS})
    assert (found.cluster_id, found.phase) == (CLUSTER, BootstrapPhase.STARTED)
    assert [(one.node_id, one.directory_id, one.claim_uid) for one in found.initial] == [(3000, directory(3000), "c")]
    assert found.controllers == found.initial
    assert found.operation is not None
    assert (found.operation.id, found.operation.target) == ("op-1", key(3003))


def test_target_with_dashes() -> None:
    """A directory id may contain dashes: only the first dash of a target is the separator."""
    target = "3003-ab-cd-efghijklmnopqrstu"
    found = status_from({"status": {"operation": {"id": "x", "type": "AddVoter", "target": target}}}).operation
    assert found is not None
    assert str(found.target) == target


@pytest.mark.parametrize(
    ("type_", "downgrade"), [("RaiseFeature", False), ("LowerFeature", True)], ids=["raised", "lowered"]
)
def test_feature_operation(type_: str, *, downgrade: bool) -> None:
    """The open step of a feature is read as it was begun, and is no change of a voter."""
    row = {"id": "op-2", "type": type_, "target": "metadata.version=28", "holder": "h", "startedAt": "s"}
    found = status_from({"status": {"operation": row}})
    assert found.operation is None
    step = FeatureStep(name="metadata.version", level=28, downgrade=downgrade)
    assert found.feature_operation == FeatureOperation(id="op-2", step=step, holder="h", started_at="s")


def test_change_of_a_voter_is_no_feature_operation() -> None:
    """The open change of a voter is no step of a feature."""
    assert status_from({"status": STATUS}).feature_operation is None


def test_soak() -> None:
    """The soak is read from the status, without the time at which it was last seen."""
    found = status_from({"status": {"soak": {"finalizedEpoch": 7, "seconds": 45}}}).soak
    assert found == Soak(epoch=7, healthy_s=45.0, seen_at_s=None)


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ({"id": "x", "target": "first"}, ""),
        ({"id": "x", "type": None, "target": str(key(3003))}, ""),
        ({"id": "x", "type": "RecoverMajority", "target": str(key(3003))}, "'RecoverMajority'"),
        ({"type": "RecoverMajority"}, "'RecoverMajority'"),
        ({"id": "x", "type": ["AddVoter"], "target": str(key(3003))}, ""),
        ({"id": "x", "type": "ChangeFeature", "target": "metadata.version=28"}, "'ChangeFeature'"),
        ({"id": "x", "type": "AddVoter", "target": str(key(3003)), "schemaVersion": 2}, "'2'"),
        ({"id": "x", "type": "AddVoter", "target": str(key(3003)), "schemaVersion": "new"}, "'new'"),
        ({"id": "x", "type": "RaiseFeature", "target": "metadata.version"}, "'metadata.version'"),
        ({"id": "x", "type": "RaiseFeature", "target": "=28"}, "RaiseFeature"),
        ({"id": "x", "type": "RaiseFeature", "target": "metadata.version=4.4"}, "'metadata.version=4.4'"),
        ({"id": "x", "type": "RaiseFeature", "target": "metadata.version=\u00b2"}, ""),
        ({"id": "x", "type": "AddVoter", "target": "\u00b2-x"}, ""),
        ({"id": "x", "type": "AddVoter"}, "''"),
    ],
)
def test_operation_that_is_not_understood(row: Json, said: str) -> None:
    """An operation of an unknown type, schema version or form is kept as unknown, not as a known operation."""
    found = status_from({"status": {"operation": {"holder": "operator-9", **row}}})
    assert isinstance(found.open, UnknownOperation)
    assert said in found.open.why
    assert found.open.holder == "operator-9"
    assert (found.operation, found.feature_operation) == (None, None)


def test_operation_of_the_first_schema() -> None:
    """Schema version 1 means the same as no schema version."""
    row = {"id": "op-1", "type": "AddVoter", "target": str(key(3003))}
    assert status_from({"status": {"operation": row | {"schemaVersion": 1}}}) == status_from(
        {"status": {"operation": row}}
    )


@pytest.mark.parametrize(
    "status",
    [
        None,
        {},
        {"clusterID": ""},
        {"bootstrap": None, "controllers": None, "operation": None},
        {"bootstrap": {"phase": "Begun", "initialControllers": "three"}},
        {"controllers": [None, 3, {"nodeID": "3000"}, {}]},
        {"operation": "add"},
        {"operation": {"target": "3003-x"}},
        {"operation": {"id": "", "type": "RaiseFeature", "target": "metadata.version=28"}},
        {"soak": "long"},
        {"soak": {"finalizedEpoch": "7", "seconds": 45}},
        {"soak": {"finalizedEpoch": 7}},
        {"soak": {"finalizedEpoch": 7, "seconds": 4.5}},
        {"soak": {"finalizedEpoch": 7, "seconds": -1}},
    ],
)
def test_malformed_status(status: Any) -> None:  # noqa: ANN401 - anything
    """A malformed part of the status counts as absent, because the status is output and people edit it."""
    found = status_from({"status": status})
    assert found == status_from({})
