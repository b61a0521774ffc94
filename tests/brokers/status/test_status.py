"""The status of a pool: conditions, progress, columns, and text of others."""

from dataclasses import replace
from typing import Any

import pytest
from tests.brokers.looks import (
    CRASHES,
    ORDERS,
    changed_claim,
    changed_pod,
    edited,
    look,
    new_spec,
    partition,
    ran,
    reassignment,
    registered,
    revision_of,
    view,
    with_view,
    without_pod,
)
from tests.brokers.status.passes import (
    FALSE,
    FAULT,
    NOW,
    TRUE,
    UNKNOWN,
    done,
    outcome,
    status,
    truths,
    wait,
)
from tests.brokers.values import CLUSTER, broker, desired, directory, record

from kafka_brokers.act.narrate import notices
from kafka_brokers.api.status import KafkaBrokerPoolStatus
from kafka_brokers.model.disks import PoolRecord, with_brokers
from kafka_brokers.model.observed import ClusterView, Observed
from kafka_brokers.model.plan import Severity
from kafka_brokers.model.pool import PoolDesired
from kafka_brokers.status.cannot_look import blinded
from kafka_quorum.model.ids import NodeID
from kafka_quorum.model.known import Unknown
from kit.conditions.patch import patch_of
from kit.report.told import news

Json = dict[str, Any]
HOSTILE = "evil\r\n\x1b[2J\x00\u202e" + "A" * 60_000
RAN = ran(record(), desired())
REST = look(RAN)
DARK = replace(REST, cluster=Unknown(reason="no broker answers"))
NEW = new_spec()
FENCED = view([partition("t-0", [0, 1, 2], [0, 2])], [registered(0), registered(1, fenced=True), registered(2)])
PROGRESS, HELD, DEGRADED = Severity.PROGRESS, Severity.HELD, Severity.DEGRADED


def test_a_pool_at_rest() -> None:
    """Everything is as it shall be."""
    assert truths(done(REST)) == {
        "Ready": (TRUE, "AllBrokersBack"),
        "Available": (TRUE, "PartitionsAvailable"),
        "Progressing": (FALSE, "Done"),
        "Degraded": (FALSE, "Healthy"),
        "SpecAccepted": (TRUE, "Valid"),
    }
    found = status(done(REST))
    columns = (
        "observedGeneration",
        "replicas",
        "summary",
        "doing",
        "quorum",
        "release",
        "contractRevision",
        "clusterID",
    )
    assert tuple(found[key] for key in columns) == (4, 3, "3/3", "Done", "events", "4.4.0", 1, CLUSTER)
    assert found["selector"] == "kafkaquorum.io/pool=payments,kafkaquorum.io/role=broker"
    assert found["appliedRevision"] == revision_of(desired()).name
    assert not {"roll", "drains", "waits", "leftOut"} & found.keys()
    assert found["brokers"][1] == {
        "nodeID": 1,
        "state": "Unfenced",
        "back": True,
        "release": "4.4.0",
        "revision": revision_of(desired()).name,
        "podName": "payments-1-broker",
        "nodeName": "worker-1",
        "volumes": [{"index": 0, "claimName": "payments-1-d0-g1", "directoryID": directory(1)}],
    }


def test_numbers_that_change_with_every_look_stay_out_of_it() -> None:
    """A pool at rest costs no write: the same state has the same status."""
    later = replace(REST, looked_at_s=900.0)
    assert patch_of(status(done(REST)), status(done(later), status(done(REST)))) == {}


# Ready


READY: list[tuple[Observed, PoolDesired, tuple[str, str]]] = [
    (DARK, desired(), (UNKNOWN, "Unknown")),
    (with_view(REST, FENCED), desired(), (FALSE, "BrokerNotBack")),
    (without_pod(REST, 1), desired(), (FALSE, "BrokerNotBack")),
    (with_view(REST, view([partition("t-0", [0, 1, 2], [0, 2])])), desired(), (FALSE, "BrokerNotBack")),
    (REST, desired({"replicas": 4}), (FALSE, "Starting")),
    (REST, desired({"replicas": 2}), (FALSE, "RemovingBroker")),
    (REST, NEW, (FALSE, "Rolling")),
    (replace(REST, record=None, claims=(), pods=()), desired(), (FALSE, "Starting")),
    (replace(REST, record_fault="broken", record=None), desired(), (FALSE, "RecordUnreadable")),
    (replace(DARK, record=edited(RAN, 0, ran=False)), desired(), (FALSE, "BrokerNotBack")),
]


@pytest.mark.parametrize(("of", "by", "ready"), READY)
def test_when_a_pool_is_not_ready(of: Observed, by: PoolDesired, ready: tuple[str, str]) -> None:
    """Every requested broker runs from the present spec, and is in every ISR; what is not known is not ready."""
    assert truths(done(of, by))["Ready"] == ready


def test_waits_of_a_person_keep_a_pool_from_ready_except_a_pause() -> None:
    """What is held or degraded does; what only needs time does not by itself."""
    assert truths(done(REST, waits=[wait(HELD, "RollHeld")]))["Ready"] == (FALSE, "RollHeld")
    assert truths(done(REST, waits=[wait(DEGRADED, "NodeDown")]))["Ready"] == (FALSE, "NodeDown")
    assert truths(done(REST, waits=[wait(PROGRESS, "Rolling")]))["Ready"] == (TRUE, "AllBrokersBack")
    assert truths(done(REST, waits=[wait(HELD, "Paused")]))["Ready"] == (TRUE, "AllBrokersBack")


# Available


AVAILABLE: list[tuple[Observed, tuple[str, str]]] = [
    (DARK, (UNKNOWN, "PartitionsUnknown")),
    (with_view(REST, view([*ORDERS, partition("t-0", [1], [], leader=None)])), (FALSE, "PartitionsOffline")),
    (with_view(REST, view([*ORDERS, partition("t-0", [7], [], leader=None)])), (TRUE, "PartitionsAvailable")),
    (with_view(REST, view((), [])), (FALSE, "NoBroker")),
    (with_view(REST, view((), [registered(7)])), (FALSE, "NoBroker")),
    (with_view(REST, view([*ORDERS, partition("t-0", [0, 1, 2], [0])])), (FALSE, "PartitionsUnderMinISR")),
    (with_view(REST, view([*ORDERS, partition("t-0", [7, 8], [7])])), (TRUE, "PartitionsAvailable")),
    (with_view(REST, view([*ORDERS, partition("t-0", [0, 1, 2], [0, 1])])), (TRUE, "PartitionsAvailable")),
    (with_view(REST, view([partition("t-0", [0, 1], [0])], min_isr={})), (TRUE, "PartitionsAvailable")),
]


@pytest.mark.parametrize(("of", "available"), AVAILABLE)
def test_when_partitions_are_available(of: Observed, available: tuple[str, str]) -> None:
    """Those with a replica here: a leader, and enough members for acks=all."""
    assert truths(done(of))["Available"] == available


# Progressing, Degraded, doing


def test_what_is_told_first() -> None:
    """A refusal, then what a person must decide, then work, then what is broken."""
    waits = [wait(PROGRESS, "Starting"), wait(DEGRADED, "LostDisk"), wait(HELD, "RollHeld")]
    failed = (outcome(is_done=True), outcome("lost", unknown=True), outcome("refused"), outcome("later", held=True))
    every = done(REST, waits=waits, outcomes=failed)
    assert (truths(every)["Progressing"], every.failed) == ((FALSE, "ActionFailed"), outcome("refused"))
    assert truths(done(REST, waits=waits, outcomes=failed[1:2]))["Progressing"] == (FALSE, "ActionFailed")
    assert truths(every)["Degraded"] == (TRUE, "LostDisk")
    assert truths(done(REST, waits=waits, outcomes=failed[3:]))["Progressing"] == (FALSE, "RollHeld")
    assert truths(done(REST, waits=waits[:2]))["Progressing"] == (TRUE, "Starting")
    assert truths(done(REST, waits=waits[1:2]))["Progressing"] == (FALSE, "LostDisk")
    assert {truths(done(REST, waits=rows))["Degraded"] for rows in (waits, waits[:2])} == {(TRUE, "LostDisk")}


def test_without_a_leader_it_is_unknown_whether_something_is_broken() -> None:
    """Only once a broker has run: before, a quorum may have none yet."""
    of = replace(REST, leader=Unknown(reason="no controller answers"))
    assert truths(done(of))["Degraded"] == (UNKNOWN, "NoLeader")
    young = replace(of, record=PoolRecord(cluster_id=CLUSTER), pods=(), claims=())
    assert truths(done(young, waits=()))["Degraded"] == (FALSE, "Healthy")


def test_an_invalid_spec_is_told_by_field() -> None:
    """It is neither accepted nor ready, whatever the brokers are."""
    found = truths(done(REST, faults=(FAULT,)))
    assert found["SpecAccepted"] == found["Ready"] == (FALSE, "InvalidSpec")
    rows = {row["type"]: row for row in status(done(REST, faults=(FAULT,)))["conditions"]}
    assert "spec.replicas: replicas must be a number" in rows["SpecAccepted"]["message"]
    assert truths(done(REST, judged=False))["SpecAccepted"] == (UNKNOWN, "WaitingForQuorum")


DOING: list[tuple[Any, str]] = [
    (done(REST), "Done"),
    (done(REST, faults=(FAULT,), waits=[wait(DEGRADED, "LostDisk")]), "InvalidSpec"),
    (done(REST, waits=[wait(DEGRADED, "LostDisk"), wait(PROGRESS, "Starting")]), "LostDisk"),
    (done(REST, waits=[wait(PROGRESS, "Starting")]), "Starting"),
    (done(with_view(REST, view([partition("t-0", [0, 1, 2], [0, 2])])), waits=()), "BrokerNotBack"),
    (done(DARK, waits=()), "Unknown"),
]


@pytest.mark.parametrize(("of", "reason"), DOING)
def test_what_a_person_reads_first(of: Any, reason: str) -> None:  # noqa: ANN401 - a pass
    """An invalid spec, something lost, a decision, work; Done only if the pool is Ready."""
    assert status(of)["doing"] == reason


# Brokers, volumes, progress


STATES: list[tuple[Observed, str, bool | None]] = [
    (REST, "Unfenced", True),
    (DARK, "Unknown", None),
    (with_view(REST, FENCED), "Fenced", False),
    (with_view(REST, view(ORDERS, [registered(0), registered(2)])), "Unregistered", False),
    (changed_pod(REST, 1, deleting=True), "Stopping", False),
    (changed_pod(DARK, 1, deleting=True), "Stopping", None),
    (replace(REST, record=edited(RAN, 1, leaving=True)), "Leaving", True),
]


@pytest.mark.parametrize(("of", "state", "back"), STATES)
def test_the_state_of_a_broker(of: Observed, state: str, back: bool | None) -> None:  # noqa: FBT001
    """What is not known is not claimed, and a broker that is not back has a reason."""
    row = status(done(of))["brokers"][1]
    assert (row["state"], row.get("back")) == (state, back)
    assert ("reason" in row) is (back is not True)


VOLUMES: list[tuple[Observed, str | None]] = [
    (REST, None),
    (replace(REST, claims=REST.claims[:1]), "ClaimGone"),
    (changed_claim(REST, 1, deleting=True), "ClaimDeleting"),
    (changed_claim(REST, 1, volume_gone=True), "VolumeGone"),
    (replace(REST, record=edited(RAN, 1, disks=broker(record(formatted=False), 1).disks)), "NotFormatted"),
]


@pytest.mark.parametrize(("of", "state"), VOLUMES)
def test_the_state_of_a_volume(of: Observed, state: str | None) -> None:
    """What is wrong with it."""
    assert status(done(of))["brokers"][1]["volumes"][0].get("state") == state


def test_the_progress_of_a_roll() -> None:
    """How many run from the present revision, and which are stopped now."""
    old = revision_of(desired())
    of = look(edited(ran(RAN, NEW), 0, stopped=True), NEW, old=(old,), least=2)
    of = replace(of, pods=tuple(replace(one, revision=old.name) if one.node_id == 2 else one for one in of.pods))
    found = status(done(of, NEW))
    assert found["roll"] == {"target": revision_of(NEW).name, "done": 1, "total": 3, "stopped": [0]}
    young = replace(REST, record=edited(RAN, 1, ran=False), pods=())
    assert "roll" not in status(done(young))
    assert found["release"] == "4.4.0"


def drained(seen: ClusterView, spec: Json | None = None, **changes: Any) -> Json:  # noqa: ANN401 - any field
    """The row of broker 2, which leaves."""
    by = desired({"replicas": 2, "drain": "Automatic", **(spec or {})})
    of = with_view(look(edited(ran(record(), by), 2, leaving=True, **changes), by), seen)
    (row,) = status(done(of, by))["drains"]
    found: Json = row
    return found


def test_the_progress_of_a_drain() -> None:
    """How many partitions are left and are moving, with examples: those of users before Kafka's own."""
    four = [registered(node) for node in range(4)]
    rows = [partition(f"t-{index}", [2, 0]) for index in range(5)]
    running = reassignment("t-0", [2, 0, 3], adding=[3], removing=[2])
    seen = view([partition("__offsets-0", [2]), *rows], four, min_isr=1, reassignments=[running])
    assert drained(seen) == {
        "nodeID": 2,
        "step": "Moving",
        "partitionsLeft": 6,
        "partitionsMoving": 1,
        "examples": [f"t-{index}" for index in range(5)],
    }
    assert drained(seen, {"drain": "Hold"})["step"] == "Held"
    assert drained(view([partition("t-0", [0, 1])], four))["step"] == "Empty"
    assert drained(view([partition("t-0", [0, 1])], four), empty=True)["step"] == "Stopping"
    dark = look(edited(RAN, 2, leaving=True), cluster=Unknown(reason="x"))
    assert status(done(dark, desired({"replicas": 2})))["drains"] == [{"nodeID": 2, "step": "Moving"}]


def test_brokers_that_leave_or_are_not_known_are_not_counted() -> None:
    """The column shows how many of the requested ones are back."""
    two = desired({"replicas": 2})
    assert status(done(look(edited(RAN, 2, leaving=True), two), two))["summary"] == "2/2"
    assert status(done(DARK))["summary"] == "?/3"
    assert status(done(with_view(REST, FENCED)))["summary"] == "2/3"
    assert status(done(replace(REST, record=None, claims=(), pods=())))["summary"] == "0/3"


LISTENERS: Json = {
    "listeners": [
        {"name": "PLAIN", "port": 9092},
        {"name": "NP", "port": 9094, "external": "NodePort"},
        {"name": "LB", "port": 9095, "external": "LoadBalancer"},
    ]
}


def test_where_clients_begin() -> None:
    """Inside, by the service of the pool; outside, as soon as it is known."""
    by = desired(LISTENERS)
    of = look(ran(record(), by), by)
    inside = {"name": "PLAIN", "bootstrap": "payments-bootstrap.kafka.svc:9092"}
    rows = status(done(of, by))["listeners"]
    assert rows[0] == inside
    assert ["external" in row for row in rows] == [False, False, False]
    support = tuple(
        replace(one, node_ports=(("np", 31000),), ingress="lb.example.org") if "bootstrap" in one.name else one
        for one in of.support
    )
    pods = tuple(replace(one, host_ip=f"192.168.0.{one.node_id}") for one in of.pods)
    known = replace(of, support=support, pods=pods)
    found = {row["name"]: row.get("external") for row in status(done(known, by))["listeners"]}
    assert found == {
        "PLAIN": None,
        "NP": "192.168.0.0:31000,192.168.0.1:31000,192.168.0.2:31000",
        "LB": "lb.example.org:9095",
    }


# Waits, news, transitions


def test_waits_have_one_row_for_each_reason_since_it_is_waited_for() -> None:
    """With the gravest severity, every broker, and each sentence once."""
    waits = [
        wait(PROGRESS, "Starting", "a", 2),
        wait(DEGRADED, "Starting", "b", 1),
        wait(PROGRESS, "Starting", "a", 1),
        wait(HELD, "RollHeld", "c"),
    ]
    rows = status(done(REST, waits=waits), {"waits": [{"reason": "RollHeld", "since": "before"}, "odd"]})["waits"]
    assert rows == [
        {"reason": "Starting", "severity": "Degraded", "nodeIDs": [1, 2], "message": "a; b", "since": NOW},
        {"reason": "RollHeld", "severity": "Held", "message": "c", "since": "before"},
    ]


def test_a_transition_time_changes_only_with_the_status() -> None:
    """And the conditions keep the generation that they are about."""
    first = status(done(REST))
    later = build_later(first)
    assert all(row["lastTransitionTime"] == NOW for row in later["conditions"] if row["type"] == "SpecAccepted")
    assert [row["lastTransitionTime"] for row in later["conditions"] if row["type"] == "Ready"] == ["later"]


def build_later(first: Json) -> Json:
    """The status of a later pass, in which broker 1 is fenced."""
    from kafka_brokers.status.build import build  # noqa: PLC0415 - with another time than all other tests

    return build(done(with_view(REST, FENCED)), first, generation=5, now="later")


def test_what_needs_an_event() -> None:
    """What begins to be degraded or held; a pause is no warning; a refusal of the spec that says something new."""
    old = status(done(REST))
    new = status(done(REST, waits=[wait(HELD, "Paused"), wait(DEGRADED, "LostDisk"), wait(PROGRESS, "Starting")]))
    assert [(one.reason, one.warning) for one in news(old, new)] == [("Paused", False), ("LostDisk", True)]
    assert news(new, new) == ()
    assert [one.reason for one in news({"waits": ["odd", {}], "conditions": ["odd"]}, new)] == ["Paused", "LostDisk"]
    refused = status(done(REST, faults=(FAULT,), waits=()))
    assert [(one.reason, one.warning) for one in news(old, refused)] == [("InvalidSpec", True)]
    assert news(refused, refused) == ()
    other = status(done(REST, faults=(replace(FAULT, message="another"),), waits=()))
    assert [one.reason for one in news(refused, other)] == ["InvalidSpec"]


def test_which_outcomes_are_events() -> None:
    """What was done, and what failed, with numbers left out of what makes it a repetition; not what is postponed."""
    rows = notices((outcome("d", is_done=True), outcome("after 1.5 s"), outcome("after 20 s"), outcome(held=True)))
    assert [(one.reason, one.warning) for one in rows] == [
        ("TokenGivenBack", False),
        ("ActionFailed", True),
        ("ActionFailed", True),
    ]
    assert rows[1].series == rows[2].series


# Text of others, and long lists


def test_hostile_text_is_shown_as_one_bounded_line() -> None:
    """Wherever it comes from: messages, names, reasons of pods and of the cluster."""
    of = replace(DARK, cluster=Unknown(reason=HOSTILE))
    of = changed_pod(of, 1, node_name=HOSTILE, name=HOSTILE, revision=HOSTILE)
    waits = [wait(DEGRADED, "LostDisk", HOSTILE, 1)]
    found = status(done(of, waits=waits, outcomes=(outcome(HOSTILE),), faults=(replace(FAULT, message=HOSTILE),)))
    texts = list(every_text(found))
    assert max(map(len, texts)) <= 4096
    assert all(text.isprintable() for text in texts)
    assert any("evil" in text for text in texts)
    lost = blinded(found, HOSTILE.replace("\n", ""), generation=4, now=NOW)
    assert all(text.isprintable() for text in every_text(lost))


def every_text(value: Any) -> list[str]:  # noqa: ANN401 - any JSON
    """Every text in it, keys included."""
    if isinstance(value, dict):
        return [text for key, inner in value.items() for text in (str(key), *every_text(inner))]
    if isinstance(value, list):
        return [text for inner in value for text in every_text(inner)]
    return [value] if isinstance(value, str) else []


def test_long_lists_are_cut_and_counted() -> None:
    """A hundred rows are shown; how many are left out stands beside them, and the count of brokers is whole."""
    many = with_brokers(record(), [NodeID(node) for node in range(3, 130)], 1)
    of = replace(look(RAN), record=many)
    found = status(done(of, waits=()))
    assert (len(found["brokers"]), found["leftOut"], found["replicas"]) == (100, {"brokers": 30}, 130)
    assert "leftOut" not in status(done(REST))


def test_an_earlier_status_that_is_not_ours_is_no_matter() -> None:
    """Its rows are replaced; nothing of it is repeated."""
    found = status(done(REST), {"conditions": [], "waits": None, "brokers": "odd", "leftOut": 3})
    KafkaBrokerPoolStatus.model_validate(found, by_alias=True, by_name=False, extra="forbid")
    assert "leftOut" not in found


def test_a_status_without_a_judged_spec_claims_nothing_of_it() -> None:
    """Before the quorum has published its contract."""
    found = status(done(replace(REST, record=None), judged=False, waits=[wait(PROGRESS, "WaitingForQuorum")]))
    assert not {"quorum", "release", "appliedRevision", "listeners", "brokers", "clusterID"} & found.keys()
    assert found["doing"] == "WaitingForQuorum"


def test_a_crash_is_told_with_the_words_of_its_script() -> None:
    """In the condition, in the row of what is waited for, and by its broker."""
    found = status(done(changed_pod(REST, 1, container=CRASHES)))
    (row,) = (row for row in found["waits"] if row["reason"] == "BrokerCrashes")
    assert (row["severity"], row["nodeIDs"], found["doing"]) == ("Degraded", [1], "BrokerCrashes")
