"""Text of others in whole passes: logs, events and the status have only printable, bounded lines.

Each entry point gets the same hostile text, or numbers and JSON on which a parser could fail. A pass over it ends
normally: it raises nothing, and its output can be shown.
"""

import logging
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from tests.observe import kubernetes as k8s
from tests.observe.test_gather import api_server, healthy
from tests.test_reconcile import Bench

from kafka_quorum.errors import KafkaRefused, KafkaUnreachable
from kafka_quorum.kind import QUORUMS
from kafka_quorum.model import names
from kit.errors import Fault, KubeConflict, KubeRefused, KubeUnavailable
from kit.kube.protocol import CLAIMS, CONFIG_MAPS, PODS, REVISIONS, Json
from kit.logs import LINE_MAX_CHARS
from kit.text import MESSAGE_MAX_CHARS

HOSTILE = "evil\r\n2026-01-01 INFO all is well\x1b[2J\x1b]0;t\x07\x00\x9b31m\u202ednuob\u200b\u2028" + "A" * 60_000
DIGITS = "9" * 5000
DEEP = "[" * 50_000
STATUS_MAX_CHARS = 2000
OURS = ("kafka_quorum", "kit")
"""The packages whose logs are checked; other packages in the process are not."""

Change = Callable[[Bench], None]


def pod(bench: Bench) -> Json:
    """The pod of controller 3001."""
    return bench.kube.objects[PODS.plural, "alpha-3001-g1"]


def pod_status(**changes: Any) -> Change:  # noqa: ANN401 - any JSON
    """Changes the pod's status."""
    return lambda bench: pod(bench)["status"].update(changes)


def container(state: Json, last: Json | None = None) -> Change:
    """Changes the state of the pod's Kafka container."""
    return pod_status(containerStatuses=[k8s.container("kafka", state, last)])


def annotated(resource: Any, name: str, key: str, value: str = HOSTILE) -> Change:  # noqa: ANN401 - a resource type
    """Changes an annotation of an object."""
    return lambda bench: bench.kube.objects[resource.plural, name]["metadata"]["annotations"].update({key: value})


def labelled(resource: Any, name: str, key: str, value: str) -> Change:  # noqa: ANN401 - a resource type
    """Changes a label of an object."""
    return lambda bench: bench.kube.objects[resource.plural, name]["metadata"]["labels"].update({key: value})


def recorded(text: str) -> Change:
    """Replaces the text of the record."""
    return lambda bench: bench.kube.objects[CONFIG_MAPS.plural, "alpha-identity"]["data"].update({"record.json": text})


def record_with(old: str, new: str) -> Change:
    """Changes one part of the record's text."""

    def change(bench: Bench) -> None:
        data = bench.kube.objects[CONFIG_MAPS.plural, "alpha-identity"]["data"]
        assert old in data["record.json"]
        data["record.json"] = data["record.json"].replace(old, new, 1)

    return change


def status(**changes: Any) -> Change:  # noqa: ANN401 - any JSON
    """Changes the resource's status."""
    return lambda bench: bench.kube.objects[QUORUMS.plural, "alpha"].setdefault("status", {}).update(changes)


def spec(**changes: Any) -> Change:  # noqa: ANN401 - any JSON
    """Changes the resource's spec."""
    return lambda bench: bench.kube.objects[QUORUMS.plural, "alpha"]["spec"].update(changes)


def revision(*path: str, value: object) -> Change:
    """Changes a field of the revision's data."""

    def change(bench: Bench) -> None:
        holder = next(item for (plural, _), item in bench.kube.objects.items() if plural == REVISIONS.plural)
        for part in path[:-1]:
            holder = holder[part]
        holder[path[-1]] = value

    return change


def failing(verb: str, plural: str, error: Exception) -> Change:
    """Lets the API server answer a request with an error, while a pod is missing."""

    def change(bench: Bench) -> None:
        del bench.kube.objects[PODS.plural, "alpha-3001-g1"]
        bench.kube.errors[verb, plural] = error

    return change


def saying(**answers: dict[int, Any]) -> Change:
    """Changes the answers of controllers."""

    def change(bench: Bench) -> None:
        for name, answer in answers.items():
            getattr(bench.controllers, name).update(answer)

    return change


def refusal(message: str = HOSTILE) -> KafkaRefused:
    """An error code with this text of the server."""
    return KafkaRefused(
        f"DescribeQuorum was refused: {message}",
        code=42,
        name="INVALID_REQUEST",
        server_message=message,
        fault=Fault.THEIRS,
        retry_safe=True,
        outcome_unknown=False,
    )


UNREACHABLE = KafkaUnreachable(HOSTILE, fault=Fault.PATH, retry_safe=True, outcome_unknown=False)
CLAIM = "alpha-3001-g1"

ENTRY_POINTS: dict[str, Change] = {
    "a container's reason": container(k8s.waiting(HOSTILE)),
    "a container's message": container(k8s.waiting("CrashLoopBackOff", HOSTILE), k8s.terminated(1, HOSTILE, HOSTILE)),
    "a termination message": container(k8s.terminated(1, HOSTILE, HOSTILE)),
    "a termination message of deep JSON": container(k8s.terminated(1, DEEP)),
    "a report with 5,000 digits": container(
        k8s.terminated(
            1,
            f'{{"found": "formatted", "nodeID": "{DIGITS}", "clusterID": {DIGITS[:4000]}, "directoryID": [[]],'
            ' "accepted": true, "message": {}}',
        )
    ),
    "a scheduler's message": pod_status(
        phase="Pending",
        containerStatuses=[],
        conditions=[{"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": HOSTILE}],
    ),
    "a pod's address": pod_status(podIP=f"10.0.0.1{HOSTILE}"),
    "a pod's status": pod_status(phase=HOSTILE, conditions=[{"type": HOSTILE, "status": HOSTILE}]),
    "a pod's claim uid": annotated(PODS, CLAIM, names.CLAIM_UID),
    "a pod's directory id": annotated(PODS, CLAIM, names.DIRECTORY_ID),
    "a pod's revision": annotated(PODS, CLAIM, names.REVISION),
    "a pod's config": annotated(PODS, CLAIM, names.CONFIG),
    "a pod's mode": annotated(PODS, CLAIM, names.MODE),
    "a pod's node id of 5,000 digits": labelled(PODS, CLAIM, names.LABEL_NODE, DIGITS),
    "a pod's node id in other digits": labelled(PODS, CLAIM, names.LABEL_NODE, "²"),
    "a claim's cluster id": annotated(CLAIMS, CLAIM, names.CLUSTER_ID),
    "a claim's directory id": annotated(CLAIMS, CLAIM, names.DIRECTORY_ID),
    "a claim's phase": annotated(CLAIMS, CLAIM, names.PHASE),
    "a claim's generation of 5,000 digits": annotated(CLAIMS, CLAIM, names.GENERATION, DIGITS),
    "a claim's node": annotated(CLAIMS, CLAIM, "volume.kubernetes.io/selected-node"),
    "a claim's node id of 5,000 digits": labelled(CLAIMS, CLAIM, names.LABEL_NODE, DIGITS),
    "the record": recorded(HOSTILE),
    "the record in 50,000 levels": recorded(DEEP),
    "the record in 900 levels": recorded('{"a":' * 900 + "1" + "}" * 900),
    "the record as a list": recorded("[]"),
    "the record with NaN": record_with('"generation": 1', '"generation": NaN'),
    "the record with 4,000 digits": record_with('"generation": 1', f'"generation": {DIGITS[:4000]}'),
    "the record's schema version": record_with('"schemaVersion": 1', f'"schemaVersion": {DIGITS[:4000]}'),
    "the record's cluster id": record_with('"cluster_id": "', '"cluster_id": "\\u202e\\n'),
    "the record's directory id": record_with('"directory_id": "', '"directory_id": "\\u001b[2J'),
    "the status": status(
        clusterID=HOSTILE,
        bootstrap={"phase": HOSTILE, "initialControllers": [{"nodeID": 10**400, "directoryID": HOSTILE}]},
        controllers=[{"nodeID": 3001, "directoryID": HOSTILE, "claimUID": HOSTILE}, HOSTILE],
        operation={"id": HOSTILE, "type": HOSTILE, "target": f"{DIGITS}-x", "step": HOSTILE},
        conditions=[{"type": "Ready", "status": "True", "message": HOSTILE}],
        features=[{"name": HOSTILE}],
        waits=[{"reason": HOSTILE, "message": HOSTILE, "since": HOSTILE}],
    ),
    "the status's operation": status(
        operation={
            "id": HOSTILE,
            "type": "AddVoter",
            "target": f"3001-{HOSTILE}",
            "step": HOSTILE,
            "holder": HOSTILE,
            "startedAt": HOSTILE,
            "waitingFor": HOSTILE,
        }
    ),
    "the status's feature step": status(
        operation={"id": HOSTILE, "type": "RaiseFeature", "target": f"{HOSTILE}=3", "holder": HOSTILE}
    ),
    "the status's level of 5,000 digits": status(
        operation={"id": "1", "type": "RaiseFeature", "target": f"metadata.version={DIGITS}"}
    ),
    "the status's soak": status(soak={"finalizedEpoch": 10**400, "seconds": 10**400}),
    "a status of other types": status(bootstrap=[], controllers={}, operation=[], soak=3, clusterID=7),
    "the spec's release": spec(kafka={"version": HOSTILE}),
    "the spec's image": spec(kafka={"version": "4.4.0", "image": HOSTILE}),
    "a key of the spec": spec(kafka={"version": "4.4.0", HOSTILE: HOSTILE}),
    "a value of the spec": spec(kafka={"version": "4.4.0"}, controllers={"replicas": [HOSTILE]}),
    "a revision's schema version": revision("data", "schemaVersion", value=10**5000),
    "a revision's template": revision("data", "runtime", "template_spec", value=DEEP),
    "a revision's release": revision("data", "runtime", "release", value=HOSTILE),
    "a revision's image": revision("data", "image", value=HOSTILE),
    "a revision's spec": revision("data", "spec", value=[HOSTILE]),
    "a revision's hash": revision("metadata", "annotations", names.INPUTS_HASH, value=HOSTILE),
    "a refusal of the API server": failing("create", "pods", KubeRefused(HOSTILE)),
    "an API server that is away": failing("create", "pods", KubeUnavailable(HOSTILE)),
    "a conflict": failing("patch", "kafkaquorums", KubeConflict(HOSTILE)),
    "a controller that is not reached": saying(quorums={3000: UNREACHABLE}, versions={3001: UNREACHABLE}),
    "a controller's error message": saying(quorums={3000: refusal()}, versions={3000: refusal()}),
    "a cluster's error message": saying(clusters={3000: refusal()}),
}


def texts(value: Any) -> Iterator[str]:  # noqa: ANN401 - any JSON
    """Every text in a value, keys included."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield key
            yield from texts(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from texts(inner)


def at_work() -> Bench:
    """A running quorum of three, with a spec."""
    bench = Bench(api_server(), healthy())
    bench.resource()
    return bench


@pytest.mark.parametrize("name", ENTRY_POINTS)
async def test_hostile_text_is_never_shown(name: str, caplog: pytest.LogCaptureFixture) -> None:
    """Three passes raise nothing, and every log record, event and text of the status is one printable, bounded line."""
    caplog.set_level(logging.DEBUG)
    bench = at_work()
    ENTRY_POINTS[name](bench)
    for _ in range(3):
        await bench.run()
        bench.clock.seconds += 10
    for record in (one for one in caplog.records if one.name.partition(".")[0] in OURS):
        assert record.exc_info is None, record.getMessage()
        assert record.getMessage().isprintable(), record.getMessage()[:300]
        assert len(record.getMessage()) <= LINE_MAX_CHARS
    for call in bench.kube.writes():
        if call.plural == "events" and call.body is not None:
            assert all(text.isprintable() for text in texts(call.body))
            assert len(call.body["message"]) <= MESSAGE_MAX_CHARS
        if call.option("subresource") == "status" and call.body is not None:
            shown = list(texts(call.body["status"]))
            assert all(text.isprintable() for text in shown), [text[:200] for text in shown if not text.isprintable()]
            assert max(map(len, shown), default=0) <= STATUS_MAX_CHARS


async def test_hostile_text_of_a_quorum_that_was_never_valid() -> None:
    """The faults of an invalid spec quote it in printable, bounded text."""
    bench = Bench()
    bench.resource({"kafka": {"version": HOSTILE, HOSTILE: 1}, "controllers": {"replicas": HOSTILE}})
    await bench.run()
    stored = bench.kube.objects[QUORUMS.plural, "alpha"]["status"]
    assert all(text.isprintable() and len(text) <= STATUS_MAX_CHARS for text in texts(stored))
