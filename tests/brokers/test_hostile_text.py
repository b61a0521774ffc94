"""Text of others in whole passes over a pool: logs, events and the status have only printable, bounded lines.

Each entry point gets the same hostile text, or numbers and JSON on which a parser could fail. A pass over it ends
normally: it raises nothing, and its output can be shown.
"""

import json
import logging
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest
from tests.brokers.edges import RECORD, pod_name, refused, unreachable
from tests.brokers.test_reconcile import KEY, Bench, at_rest
from tests.brokers.values import POOL, revision
from tests.test_hostile_text import DEEP, DIGITS, HOSTILE, STATUS_MAX_CHARS

from kafka_brokers.kind import POOLS
from kafka_brokers.model import names
from kafka_quorum.model.brokers import BrokersAnswer, ConfigEntry
from kafka_quorum.model.names import CLUSTER_ID, CONFIG, DIRECTORY_ID, PHASE, REVISION
from kit.errors import KubeConflict, KubeRefused, KubeUnavailable
from kit.kube.protocol import CLAIMS, CONFIG_MAPS, LEASES, REVISIONS, SERVICES
from kit.logs import LINE_MAX_CHARS
from kit.text import MESSAGE_MAX_CHARS

Change = Callable[[Bench], None]
CLAIM = (CLAIMS.plural, "payments-1-d0-g1")
POD = pod_name(1)
OURS = ("kafka_brokers", "kafka_quorum", "kit")
"""The packages whose logs are checked."""


def annotated(place: tuple[str, str], key: str, value: str = HOSTILE) -> Change:
    """Changes an annotation of an object."""
    return lambda bench: bench.kube.objects[place]["metadata"].setdefault("annotations", {}).update({key: value})


def pod_status(**changes: Any) -> Change:  # noqa: ANN401 - any JSON
    """Changes the pod's status."""
    return lambda bench: bench.kube.objects[POD]["status"].update(changes)


def container(**state: Any) -> Change:  # noqa: ANN401 - any JSON
    """Changes the state of the pod's Kafka container."""
    return pod_status(containerStatuses=[{"name": "kafka", "state": state}])


def recorded(text: str) -> Change:
    """Replaces the text of the record."""
    return lambda bench: bench.kube.objects[RECORD]["data"].update({"disks.json": text})


def in_record(old: str, new: str) -> Change:
    """Changes one part of the record's text."""

    def change(bench: Bench) -> None:
        data = bench.kube.objects[RECORD]["data"]
        assert old in data["disks.json"]
        data["disks.json"] = data["disks.json"].replace(old, new, 1)

    return change


def status(**changes: Any) -> Change:  # noqa: ANN401 - any JSON
    """Changes the resource's status."""
    return lambda bench: bench.kube.objects[POOLS.plural, POOL].setdefault("status", {}).update(changes)


def spec(**changes: Any) -> Change:  # noqa: ANN401 - any JSON
    """Changes the resource's spec."""
    return lambda bench: bench.kube.objects[POOLS.plural, POOL]["spec"].update(changes)


def failing(verb: str, plural: str, error: Exception) -> Change:
    """Lets the API server answer a request with an error, while a pod is missing."""

    def change(bench: Bench) -> None:
        del bench.kube.objects[POD]
        bench.kube.errors[verb, plural] = error

    return change


def brokers_say(**changes: Any) -> Change:  # noqa: ANN401 - fields of the answering brokers
    """Changes the answers of brokers and controllers."""

    def change(bench: Bench) -> None:
        for name, value in changes.items():
            setattr(bench.brokers, name, value)

    return change


def registered_as(**changes: Any) -> Change:  # noqa: ANN401 - any field
    """Changes the registration of broker 1."""

    def change(bench: Bench) -> None:
        first, second, third = bench.brokers.cluster.brokers
        rows = (first, replace(second, **changes), third)
        bench.brokers.cluster = BrokersAnswer(cluster_id=bench.brokers.cluster.cluster_id, brokers=rows)

    return change


def topic_named(bench: Bench) -> None:
    """A partition of a topic with such a name, which is under min ISR."""
    first = bench.brokers.partitions[0]
    named = replace(first, at=replace(first.at, topic=HOSTILE), isr=first.isr[1:])
    bench.brokers.partitions = (*bench.brokers.partitions, named)
    bench.brokers.least = {**bench.brokers.least, HOSTILE: 3}


def lease_of(bench: Bench) -> None:
    """The token has such a holder, and a roll waits for it."""
    lease = {"metadata": {"name": "events-disruption", "namespace": "kafka"}, "spec": {"holderIdentity": HOSTILE}}
    bench.kube.put(LEASES, lease)
    bench.resource({"config": {"auto.create.topics.enable": "false"}})


def foreign_service(bench: Bench) -> None:
    """Something else controls a service."""
    owner = {"apiVersion": "v1", "kind": HOSTILE, "name": HOSTILE, "uid": HOSTILE, "controller": True}
    bench.kube.objects[SERVICES.plural, "payments-bootstrap"]["metadata"]["ownerReferences"] = [owner]


def in_contract(bench: Bench) -> None:
    """The text of the contract."""
    bench.kube.objects[CONFIG_MAPS.plural, "events-brokers"]["data"]["contract.json"] = HOSTILE


def in_revision(bench: Bench) -> None:
    """The data of the revision."""
    bench.kube.objects[REVISIONS.plural, revision().name]["data"] |= {"image": HOSTILE, "spec": [HOSTILE]}


REPORT = json.dumps(
    {
        "script": 1,
        "volumes": [{"index": 0, "found": "empty", "clusterID": HOSTILE, "nodeID": DIGITS, "directoryID": HOSTILE}],
        "accepted": False,
        "message": HOSTILE[:1000],
    }
)
ENTRY_POINTS: dict[str, Change] = {
    "a container's reason": container(waiting={"reason": HOSTILE, "message": HOSTILE}),
    "a crash": container(waiting={"reason": "CrashLoopBackOff", "message": HOSTILE}),
    "a termination message": container(terminated={"exitCode": 1, "message": HOSTILE, "finishedAt": HOSTILE}),
    "a report": container(terminated={"exitCode": 1, "message": REPORT}),
    "a report of deep JSON": container(terminated={"exitCode": 1, "message": DEEP}),
    "a report's script number": container(terminated={"exitCode": 1, "message": f'{{"script": {DIGITS[:4000]}}}'}),
    "a scheduler's message": pod_status(
        containerStatuses=[{"name": "kafka", "state": {"waiting": {}}}],
        conditions=[{"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": HOSTILE}],
    ),
    "a pod's address": pod_status(podIP=f"10.0.0.1{HOSTILE}", hostIP=HOSTILE),
    "a pod's claim uids": annotated(POD, names.CLAIM_UIDS),
    "a pod's directory ids": annotated(POD, names.DIRECTORY_IDS),
    "a pod's revision": annotated(POD, REVISION),
    "a pod's config": annotated(POD, CONFIG),
    "a pod's hold": annotated(POD, names.HOLD),
    "a pod's late properties": annotated(POD, names.LATE),
    "a claim's cluster id": annotated(CLAIM, CLUSTER_ID),
    "a claim's directory id": annotated(CLAIM, DIRECTORY_ID),
    "a claim's phase": annotated(CLAIM, PHASE),
    "a claim's node": annotated(CLAIM, "volume.kubernetes.io/selected-node"),
    "a claim's size": lambda bench: bench.kube.objects[CLAIM]["spec"].update(
        {"resources": {"requests": {"storage": HOSTILE}}}
    ),
    "the record": recorded(HOSTILE),
    "the record in 50,000 levels": recorded(DEEP),
    "the record with a number of 4,000 digits": in_record('"generation": 1', f'"generation": {DIGITS[:4000]}'),
    "the record's schema version": in_record('"schemaVersion": 1', f'"schemaVersion": {DIGITS[:4000]}'),
    "the record's cluster id": in_record('"cluster_id": "', '"cluster_id": "\\u202e\\n'),
    "the record's revision": in_record('"revision": "', '"revision": "\\u001b[2J'),
    "a field of the record": in_record('"brokers"', f'"{DIGITS[:100]}\\n": 1, "brokers"'),
    "the status": status(
        conditions=[{"type": "Ready", "status": "True", "message": HOSTILE}],
        waits=[{"reason": HOSTILE, "since": HOSTILE}, HOSTILE],
        brokers=[HOSTILE],
        lastLook=HOSTILE,
        clusterID=7,
    ),
    "a key of the spec": spec(**{HOSTILE: HOSTILE}),
    "a value of the spec": spec(replicas=[HOSTILE]),
    "the name of the quorum": spec(quorum=HOSTILE),
    "an annotation of the resource": annotated((POOLS.plural, POOL), names.ACCEPT_LOSS),
    "the contract": in_contract,
    "the revision": in_revision,
    "a service's owner": foreign_service,
    "the token's holder": lease_of,
    "a refusal of the API server": failing("create", "pods", KubeRefused(HOSTILE)),
    "an API server that is away": failing("create", "pods", KubeUnavailable(HOSTILE)),
    "a conflict": failing("patch", POOLS.plural, KubeConflict(HOSTILE)),
    "a controller's refusal": brokers_say(errors={("describe_quorum", 3000): refused(HOSTILE, HOSTILE)}),
    "a controller that is not reached": brokers_say(errors={("describe_quorum", 3000): unreachable(HOSTILE)}),
    "a broker's refusal": brokers_say(
        errors={("describe_partitions", node): refused("X", HOSTILE) for node in range(3)}
    ),
    "a broker's rack and host": registered_as(rack=HOSTILE, host=HOSTILE, fenced=True),
    "a topic's name": topic_named,
    "a broker's settings": brokers_say(
        configs={1: (ConfigEntry(name=HOSTILE, value=HOSTILE, source=2, read_only=False),)}
    ),
}


@pytest.mark.parametrize("name", ENTRY_POINTS)
async def test_a_pass_ends_normally_and_its_output_can_be_shown(name: str, caplog: pytest.LogCaptureFixture) -> None:
    """Three passes over each entry point raise nothing; statuses and events have printable, bounded lines only."""
    bench = await at_rest()
    ENTRY_POINTS[name](bench)
    bench.reconciler.changed(KEY)
    with caplog.at_level(logging.INFO):
        for _ in range(3):
            await bench.run()
    for record in caplog.records:
        if record.name.split(".")[0] in OURS:
            assert record.exc_info is None, record.getMessage()
            assert len(record.getMessage()) <= LINE_MAX_CHARS
            assert record.getMessage().isprintable()
    written = [call.body for call in bench.kube.writes() if call.option("subresource") == "status" and call.body]
    events = [call.body for call in bench.kube.writes() if call.plural == "events" and call.body]
    for body in written:
        for text in texts((body.get("status") or {}).get("conditions")):
            assert text.isprintable()
            assert len(text) <= STATUS_MAX_CHARS
    if name != "the status":
        assert all(text.isprintable() for text in texts(bench.status))
    for event in events:
        assert event["message"].isprintable()
        assert len(event["message"].encode()) <= 1024
        assert len(event["message"]) <= MESSAGE_MAX_CHARS


def texts(value: Any) -> Iterator[str]:  # noqa: ANN401 - any JSON
    """Every text in it."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield str(key)
            yield from texts(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from texts(inner)
    elif isinstance(value, str):
        yield value
