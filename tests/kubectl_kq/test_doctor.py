"""`doctor`: every failure is named with its cause, also while no operator runs."""

import copy
import json
from collections.abc import Callable
from typing import Any

import pytest
from tests.kubectl_kq.worlds import (
    IDS,
    NOW,
    ago,
    claim,
    event,
    listed,
    look,
    node,
    objects,
    pod,
    pool,
    quorum,
    record,
    saying,
    silent,
    wait,
)

from kubectl_kq.answers import Answer, Found, NotRead, Why
from kubectl_kq.doctor import CHECKS, doctor_page, nodes_to_read
from kubectl_kq.page import CRIT, DONE, UNKNOWN, WARN
from kubectl_kq.render import as_text, data
from kubectl_kq.sources import Look, Source

Json = dict[str, Any]

MISSING = NotRead(why=Why.MISSING, words="not found")
FORBIDDEN = NotRead(why=Why.FORBIDDEN, words="forbidden")


def rows(seen: Look, check: str = "") -> list[Json]:
    """The results, or those of one check."""
    found: list[Json] = data(doctor_page(seen, NOW))["checks"]
    return [row for row in found if check in ("", row["check"])]


def changed(source: Source, change: Callable[[Any], object]) -> Look:
    """The look at a quorum that is well, with one object changed in place."""
    item = objects()[source]
    change(item)
    return look({source: item})


def first(item: Json) -> Json:
    """The first object of a list."""
    found: Json = item["items"][0]
    return found


def deleted(looked: str | None) -> Json:
    """A quorum that is being deleted; `looked` is its status.lastLook."""
    item = saying({"lastLook": looked, "observedGeneration": 2})
    item["metadata"]["deletionTimestamp"] = ago(1800)
    return item


def test_a_quorum_that_is_well_is_ok_everywhere() -> None:
    """Every check is OK, in its order, and the exit code is 0."""
    page = doctor_page(look(), NOW)
    found = data(page)
    assert [row["check"] for row in found["checks"]] == ["api server", *(check.key for check in CHECKS)]
    assert {row["level"] for row in found["checks"]} == {"OK"}
    assert (found["worst"], page.code) == ("OK", DONE)


def test_an_old_stamp_that_still_stands_is_fine() -> None:
    """With many quorums the operator writes its stamps less often, and each one says how long it stands."""
    item = saying({"lastLook": ago(900), "nextLookBy": ago(-200)})
    assert [row["level"] for row in rows(look({Source.QUORUM: item}), "operator")] == ["OK"]


WAITING = {"waiting": {"reason": "CrashLoopBackOff", "message": "back-off 5m0s"}}
UNSCHEDULED = {"type": "PodScheduled", "status": "False", "message": "0/3 nodes are available"}
ENDED = {"terminated": {"reason": "OOMKilled", "exitCode": 137, "finishedAt": ago(600)}}
OTHER_RECORD = json.dumps(json.loads(record()["data"]["record.json"]) | {"cluster_id": "BBBB"})
FEWER_NODES = json.loads(record()["data"]["record.json"])
FEWER_NODES["nodes"].pop()
OTHER_DISK = json.loads(record()["data"]["record.json"])
OTHER_DISK["nodes"][0]["directory_id"] = "other"
SAYING = "in its own words"

REPORTED: list[tuple[str, Json, str, str, str]] = [
    ("no operator", saying({"lastLook": ago(900)}), "operator", "CRIT", "No operator has looked for 15m"),
    ("operator late", saying({"lastLook": ago(240)}), "operator", "WARN", "wrote 4m ago that it looks"),
    (
        "late by its own stamp",
        saying({"lastLook": ago(900), "nextLookBy": ago(-100)}),
        *("operator", "WARN", "should have done so again 1m20s ago"),
    ),
    (
        "out of date by its own stamp",
        saying({"lastLook": ago(100), "nextLookBy": ago(1)}),
        *("operator", "CRIT", "No operator has looked for 1m40s"),
    ),
    (
        "nobody's stamp",
        saying({"nextLookBy": "soon"}),
        *("operator", "WARN", "none that an operator writes"),
    ),
    (
        "a promise for ever",
        saying({"lastLook": ago(90 * 86_400), "nextLookBy": "9999-12-31T23:59:59Z"}),
        *("operator", "WARN", "none that an operator writes"),
    ),
    (
        "a time beyond all years",
        saying({"nextLookBy": "9999-12-31T23:59:59-23:59"}),
        *("operator", "WARN", "none that an operator writes"),
    ),
    ("being deleted, with an old status", deleted(ago(3600)), "operator", "WARN", "changes nothing during a deletion"),
    ("being deleted", deleted(ago(10)), "spec", "WARN", "is being deleted"),
    ("being deleted, with a fresh status", deleted(ago(10)), "operator", "WARN", "changes nothing during a deletion"),
    (
        "being deleted, and never looked at",
        deleted(None),
        "operator",
        "CRIT",
        "No operator has looked at this quorum yet",
    ),
    ("being deleted, clock ahead", deleted(ago(-600)), "operator", "WARN", "correct the clocks"),
    ("never looked", saying({"lastLook": None}), "operator", "CRIT", "No operator has looked at this quorum yet"),
    ("clock ahead", saying({"lastLook": ago(-600)}), "operator", "WARN", "correct the clocks"),
    ("cannot look", saying({"doing": "CannotLook", "message": SAYING}), "operator", "CRIT", SAYING),
    ("bad spec", saying(SpecAccepted=("False", "InvalidSpec", SAYING)), "spec", "WARN", SAYING),
    ("spec not seen", saying({"observedGeneration": 2}), "spec", "WARN", "generation 3"),
    ("paused", saying(spec={"paused": True}), "paused", "WARN", "spec.paused is true"),
    ("not started", saying(Available=("False", "NotStarted", SAYING)), "available", "WARN", SAYING),
    ("majority lags", saying(Available=("False", "MajorityLags", SAYING)), "available", "CRIT", SAYING),
    ("no leader", saying(Available=("Unknown", "NoAnswer", SAYING)), "available", "CRIT", SAYING),
    ("blind", saying(Available=("Unknown", "CannotLook", SAYING)), "available", "UNKNOWN", "not known"),
    ("degraded", saying(Degraded=("True", "LostDisk", SAYING)), "degraded", "CRIT", f"LostDisk: {SAYING}"),
    ("at the edge", saying({"quorum": {"voters": 3, "failureTolerance": 0}}), "voters", "WARN", "No further voter"),
    (
        "stale voter",
        saying({"staleReplicas": [{"nodeID": 3002, "directoryID": "old", "kind": "Voter"}]}),
        *("voters", "WARN", "replica 3002-old"),
    ),
    ("held", saying({"waits": [wait("RollHeld", "Held", SAYING)]}), "waits", "WARN", f"RollHeld: {SAYING}"),
    ("lost", saying({"waits": [wait("LostNode", "Degraded", SAYING)]}), "waits", "CRIT", f"LostNode: {SAYING}"),
    (
        "long",
        saying({"waits": [wait("Rolling", "Progress", SAYING, seconds=4000)]}),
        "waits",
        "WARN",
        "Rolling for 1h6m",
    ),
    ("blocked", saying(FeaturesSettled=("False", "Blocked", SAYING)), "levels", "WARN", SAYING),
    ("ended", saying(CertificatesValid=("False", "Ended", SAYING)), "certificates", "CRIT", f"Ended: {SAYING}"),
    ("ends soon", saying(CertificatesValid=("False", "EndsSoon", SAYING)), "certificates", "WARN", SAYING),
    (
        "nobody renews",
        saying({"lastLook": ago(9000), "certificates": {"validUntil": ago(-86_400), "endsFirst": "demo-3000-tls"}}),
        *("certificates", "WARN", "demo-3000-tls ends in 1d, and no operator renews it"),
    ),
    (
        "all is over",
        saying({"lastLook": ago(9000), "certificates": {"validUntil": ago(60)}}),
        *("certificates", "CRIT", "a certificate ended 1m ago"),
    ),
    (
        "deaf broker",
        saying({"brokers": [{"nodeID": 4, "conforms": "False", "reason": SAYING}]}),
        *("brokers", "WARN", f"Broker 4 does not follow the broker contract: {SAYING}"),
    ),
]


@pytest.mark.parametrize(
    ("item", "check", "level", "words"), [case[1:] for case in REPORTED], ids=[c[0] for c in REPORTED]
)
def test_what_the_operator_reports_is_named(item: Json, check: str, level: str, words: str) -> None:
    """Each problem of a status is a result of its check, with its cause."""
    found = rows(look({Source.QUORUM: item}), check)
    assert [(row["level"], words in row["message"]) for row in found] == [(level, True)]


def fewer(item: Json) -> None:
    """Remove the first object of a list."""
    item["items"].pop(0)


def in_status(**fields: object) -> Callable[[Json], object]:
    """Change the status of the first object of a list."""
    return lambda item: first(item)["status"].update(fields)


def in_metadata(**fields: object) -> Callable[[Json], object]:
    """Change the metadata of the first object of a list."""
    return lambda item: first(item)["metadata"].update(fields)


def in_spec(**fields: object) -> Callable[[Json], object]:
    """Change the spec of an object."""
    return lambda item: item["spec"].update(fields)


def in_record(text: str) -> Callable[[Json], object]:
    """Replace the record in its ConfigMap."""
    return lambda item: item["data"].update({"record.json": text})


SEEN: list[tuple[str, Source, Callable[[Json], object], str, str, str]] = [
    (
        "no operator pod",
        Source.OPERATOR,
        in_status(conditions=[]),
        "operator pods",
        "CRIT",
        "No pod of the operator is ready",
    ),
    ("pod gone", Source.PODS, fewer, "pods", "CRIT", "Controller 3000 has no pod"),
    (
        "crash loop",
        Source.PODS,
        in_status(containerStatuses=[{"name": "kafka", "state": WAITING}]),
        "pods",
        "CRIT",
        "CrashLoopBackOff: back-off 5m0s",
    ),
    ("no place", Source.PODS, in_status(conditions=[UNSCHEDULED]), "pods", "CRIT", "0/3 nodes are available"),
    ("failed", Source.PODS, in_status(phase="Failed", message="evicted"), "pods", "CRIT", "it has failed: evicted"),
    ("node silent", Source.PODS, in_status(phase="Unknown"), "pods", "CRIT", "does not report"),
    ("ending", Source.PODS, in_metadata(deletionTimestamp=ago(5)), "pods", "WARN", "being deleted"),
    (
        "not ready",
        Source.PODS,
        in_status(conditions=[{"type": "Ready", "status": "False", "message": "gate"}]),
        "pods",
        "WARN",
        "not ready: gate",
    ),
    (
        "killed",
        Source.PODS,
        in_status(containerStatuses=[{"name": "kafka", "restartCount": 4, "lastState": ENDED}]),
        "pods",
        "WARN",
        "ended 10m ago (OOMKilled, exit code 137); 4 restarts",
    ),
    ("claim gone", Source.CLAIMS, fewer, "disks", "CRIT", "demo-3000-g1 of controller 3000 is gone"),
    ("claim lost", Source.CLAIMS, in_status(phase="Lost"), "disks", "CRIT", "has lost its volume"),
    ("claim pending", Source.CLAIMS, in_status(phase="Pending"), "disks", "WARN", "no volume yet (Pending, no"),
    (
        "claim ending",
        Source.CLAIMS,
        in_metadata(deletionTimestamp=ago(5)),
        "disks",
        "CRIT",
        "its disk goes with its pod",
    ),
    ("another claim", Source.CLAIMS, in_metadata(uid="other"), "disks", "CRIT", "another object"),
    ("bad record", Source.RECORD, in_record("{"), "identity", "CRIT", "no record that can be read"),
    ("other cluster", Source.RECORD, in_record(OTHER_RECORD), "identity", "CRIT", "has cluster id BBBB"),
    (
        "less record",
        Source.RECORD,
        in_record(json.dumps(FEWER_NODES)),
        "identity",
        "CRIT",
        "does not have controller 3002",
    ),
    ("other disk", Source.RECORD, in_record(json.dumps(OTHER_DISK)), "identity", "WARN", "directory id other"),
    (
        "one machine",
        Source.PODS,
        lambda o: [each["spec"].update(nodeName="worker-1") for each in o["items"]],
        "spread",
        "WARN",
        "3 of 3 controllers are on Kubernetes node worker-1",
    ),
    (
        "foreign token",
        Source.TOKEN,
        in_spec(holderIdentity="pool/gone"),
        "token",
        "WARN",
        "pool/gone, which does not exist",
    ),
    (
        "token kept",
        Source.TOKEN,
        in_spec(holderIdentity="pool/brokers", acquireTime=ago(7200)),
        "token",
        "WARN",
        "pool/brokers has had Lease demo-disruption for 2h",
    ),
    (
        "pool broken",
        Source.POOLS,
        in_status(conditions=[{"type": "Degraded", "status": "True", "reason": "LostDisk", "message": SAYING}]),
        "pools",
        "CRIT",
        f"Pool brokers: LostDisk: {SAYING}",
    ),
    (
        "pool held",
        Source.POOLS,
        in_status(waits=[wait("RollHeld", "Held", SAYING)]),
        "pools",
        "WARN",
        f"RollHeld: {SAYING}",
    ),
    (
        "warning",
        Source.EVENTS,
        lambda o: o["items"].append(event("ActionFailed", SAYING, kind="Warning")),
        "events",
        "WARN",
        f"1m ago: ActionFailed: {SAYING}",
    ),
]


@pytest.mark.parametrize(
    ("source", "change", "check", "level", "words"), [case[1:] for case in SEEN], ids=[case[0] for case in SEEN]
)
def test_what_objects_show_is_named(
    source: Source, change: Callable[[Json], object], check: str, level: str, words: str
) -> None:
    """Each problem that Kubernetes' objects show is a result of its check, with its cause."""
    found = rows(changed(source, change), check)
    assert [(row["level"], words in row["message"]) for row in found] == [(level, True)], found


def test_objects_are_examined_without_an_operator() -> None:
    """With the operator down for an hour, a lost pod and a lost disk are found all the same."""
    old = saying({"lastLook": ago(3600)})
    seen = look({Source.QUORUM: old, Source.PODS: listed(*map(pod, IDS[1:])), Source.OPERATOR: listed()})
    found = {(row["check"], row["level"]) for row in rows(seen)}
    assert {("operator", "CRIT"), ("operator pods", "CRIT"), ("pods", "CRIT"), ("disks", "OK")} <= found


def test_an_old_status_is_no_ok() -> None:
    """If no operator looks any more, what it reported last is UNKNOWN where it says nothing bad, and never OK."""
    found = {row["check"]: row for row in rows(look({Source.QUORUM: saying({"lastLook": ago(3600)})}))}
    assert {found[check.key]["level"] for check in CHECKS if check.reported} == {"UNKNOWN"}
    assert "At the last look: A leader with a caught-up majority" in found["available"]["message"]
    assert found["disks"]["level"] == "OK"


NODES: list[tuple[str, Answer | Json, str, str]] = [
    (
        "down",
        {"type": "Ready", "status": "Unknown", "message": "Kubelet stopped"},
        "CRIT",
        "is not ready: Kubelet stopped",
    ),
    ("gone", MISSING, "CRIT", "does not exist any more"),
    ("silent", silent("no answer"), "UNKNOWN", "was not read: no answer"),
    ("no rights", FORBIDDEN, "SKIP", "may not read Kubernetes nodes"),
]


@pytest.mark.parametrize(("answer", "level", "words"), [case[1:] for case in NODES], ids=[case[0] for case in NODES])
def test_kubernetes_nodes(answer: Answer | Json, level: str, words: str) -> None:
    """A node that is down or gone is critical; one that is silent or may not be read is not taken for a lost one."""
    if isinstance(answer, dict):
        answer = Found(value={"status": {"conditions": [answer]}})
    found = rows(look(nodes={"worker-2": answer}), "nodes")
    assert [(row["level"], words in row["message"]) for row in found] == [(level, True)]


def test_a_cordoned_node_is_a_warning() -> None:
    """A cordoned node, and pressure on one, are warnings."""
    item = node("worker-1")
    item["spec"] = {"unschedulable": True}
    item["status"]["conditions"].append({"type": "DiskPressure", "status": "True", "message": "full"})
    found = rows(look(nodes={"worker-1": Found(value=item)}), "nodes")
    assert [row["level"] for row in found] == ["WARN", "WARN"]


def test_the_nodes_of_lost_pods_are_asked_for() -> None:
    """The nodes to read are those of the pods, and those that the status names for pods that are gone."""
    assert nodes_to_read(look({Source.PODS: listed()})) == ("worker-1", "worker-2", "worker-3")
    assert nodes_to_read(look({Source.QUORUM: silent(), Source.PODS: listed(pod(3001))})) == ("worker-2",)


@pytest.mark.parametrize(
    ("answer", "level", "words", "code"),
    [
        (silent("refused"), "CRIT", "The API server does not answer: refused", CRIT),
        (MISSING, "CRIT", "There is no KafkaQuorum demo in namespace kafka", CRIT),
        (NotRead(why=Why.NO_KIND, words="no kind"), "CRIT", "no kind KafkaQuorum", CRIT),
        (FORBIDDEN, "UNKNOWN", "may not read the quorum", UNKNOWN),
        (NotRead(why=Why.FAILED, words="no JSON"), "UNKNOWN", "was not read: no JSON", UNKNOWN),
    ],
    ids=["silent", "missing", "no kind", "forbidden", "failed"],
)
def test_without_the_quorum_the_reason_is_named(answer: NotRead, level: str, words: str, code: int) -> None:
    """If the quorum itself is not read, there is one result with the reason: a missing right is no missing quorum."""
    page = doctor_page(look({Source.QUORUM: answer}), NOW)
    (row,) = data(page)["checks"]
    assert row["level"] == level
    assert words in row["message"]
    assert page.code == code


@pytest.mark.parametrize("source", [source for source in Source if source not in (Source.QUORUM, Source.NODES)])
def test_what_does_not_answer_is_a_row(source: Source) -> None:
    """A source that does not answer makes its checks UNKNOWN with the reason, and every other check runs."""
    page = doctor_page(look({source: silent("no answer within 6 s")}), NOW)
    found = data(page)["checks"]
    unknown = [row for row in found if row["level"] == "UNKNOWN"]
    if source in (Source.CONTRACT, Source.REVISIONS):  # no check reads them
        assert page.code == DONE
        return
    assert unknown
    assert all("no answer within 6 s" in row["message"] for row in unknown)
    assert len({row["check"] for row in found}) == len(CHECKS) + 1
    assert page.code == UNKNOWN


def test_a_namespace_viewer_gets_skips_and_no_failure() -> None:
    """What the rights of a namespace do not cover is SKIP: the exit code stays 0."""
    seen = look(
        {Source.TOKEN: FORBIDDEN, Source.OPERATOR: FORBIDDEN},
        nodes=dict.fromkeys(("worker-1", "worker-2", "worker-3"), FORBIDDEN),
    )
    page = doctor_page(seen, NOW)
    skipped = {row["check"] for row in data(page)["checks"] if row["level"] == "SKIP"}
    assert skipped == {"operator pods", "token", "nodes"}
    assert page.code == DONE


def test_the_worst_result_decides() -> None:
    """CRIT comes before WARN, WARN before UNKNOWN."""
    paused, broken = saying(spec={"paused": True}), saying(Degraded=("True", "LostDisk", "gone"))
    assert doctor_page(look({Source.QUORUM: paused, Source.EVENTS: silent()}), NOW).code == WARN
    broken["spec"]["paused"] = True
    assert doctor_page(look({Source.QUORUM: broken}), NOW).code == CRIT


def test_a_formatter_is_no_missing_pod() -> None:
    """A controller whose disk is being formatted has a pod that formats it, which may have a problem of its own."""
    formatter = copy.deepcopy(pod(3000))
    formatter["metadata"]["labels"]["kafkaquorum.io/role"] = "formatter"
    pods = [formatter, pod(3001), pod(3002)]
    assert [row["level"] for row in rows(look({Source.PODS: listed(*pods)}), "pods")] == ["OK"]
    formatter["status"]["containerStatuses"] = [{"name": "format", "state": WAITING}]
    (row,) = rows(look({Source.PODS: listed(*pods)}), "pods")
    assert row["message"].startswith("Controller 3000 is being formatted")


def test_missing_objects_that_are_made_later() -> None:
    """No budget is a warning; no Lease before the first stop, and no record before the first look, are not."""
    assert [row["level"] for row in rows(look({Source.BUDGET: MISSING}), "budget")] == ["WARN"]
    assert [row["level"] for row in rows(look({Source.TOKEN: MISSING}), "token")] == ["OK"]
    assert [row["level"] for row in rows(look({Source.RECORD: MISSING}), "identity")] == ["CRIT"]
    young = quorum()
    young["status"] = {}
    assert [row["level"] for row in rows(look({Source.QUORUM: young, Source.RECORD: MISSING}), "identity")] == ["OK"]


def test_only_the_newest_warnings_are_shown() -> None:
    """Of many warnings five are shown, the newest first, and the number of the others; old ones are left out."""
    many = [event(f"R{n}", "m", kind="Warning", seconds=60 * n) for n in range(1, 9)]
    found = rows(
        look({Source.EVENTS: listed(*reversed(many), event("Old", "m", kind="Warning", seconds=7200))}), "events"
    )
    assert ["R1" in found[0]["message"], "R5" in found[4]["message"], found[5]["message"]] == [True, True, "3 more"]
    assert len(found) == 6


def test_each_problem_says_what_to_do() -> None:
    """The text has the sentence, and below it what to do."""
    text = as_text(doctor_page(look({Source.QUORUM: saying(spec={"paused": True})}), NOW))
    assert "What to do: kubectl kq resume demo" in text
    assert claim(3000)["status"]["phase"] == "Bound"
    assert pool()["spec"]["quorum"] == "demo"
