"""Whole passes over a quorum with one stored object of a later version: it is reported, and nothing is changed."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from tests.model.values import IDS, NAME
from tests.observe import kubernetes as k8s
from tests.observe.test_gather import snapshot
from tests.test_reconcile import Bench, at_work, passes

from kafka_quorum.kind import QUORUMS
from kafka_quorum.model import names
from kit.kube.protocol import CLAIMS, CONFIG_MAPS, PODS, REVISIONS, Json

Change = Callable[[Bench], None]
_IDENTITY = (CONFIG_MAPS.plural, f"{NAME}-identity")


def annotated(plural: str) -> Change:
    """Sets a later schema number in the annotations of an object."""
    return lambda bench: bench.kube.objects[plural, f"{NAME}-3000-g1"]["metadata"]["annotations"].update(
        {names.SCHEMA: "2"}
    )


def recorded(key: str, **changes: Any) -> Change:  # noqa: ANN401 - any JSON
    """Changes fields of one of the identity's texts."""

    def change(bench: Bench) -> None:
        data = bench.kube.objects[_IDENTITY]["data"]
        data[key] = json.dumps(json.loads(data.get(key, '{"spec": {}}')) | changes)

    return change


def revised(*path: str, value: object) -> Change:
    """Changes a field of the revision's data."""

    def change(bench: Bench) -> None:
        holder = next(item for (plural, _), item in bench.kube.objects.items() if plural == REVISIONS.plural)["data"]
        for part in path[:-1]:
            holder = holder[part]
        holder[path[-1]] = value

    return change


def in_status(**changes: Any) -> Change:  # noqa: ANN401 - any JSON
    """Changes fields of the status."""
    return lambda bench: bench.kube.objects[QUORUMS.plural, NAME].setdefault("status", {}).update(changes)


def reported(bench: Bench) -> None:
    """Sets the report of a script with a later number."""
    text = json.dumps({"script": 3, "found": "moved", "clusterID": "", "nodeID": "", "directoryID": ""})
    pod = bench.kube.objects[PODS.plural, f"{NAME}-3000-g1"]
    pod["status"]["containerStatuses"] = [k8s.container("kafka", k8s.terminated(1, text))]


def stored(bench: Bench) -> str:
    """All stored objects except the resource itself and events."""
    left_out = {QUORUMS.plural, "events"}
    return json.dumps([item for (plural, _), item in bench.kube.objects.items() if plural not in left_out])


LATER: dict[str, tuple[Change, str]] = {
    "the record": (recorded("record.json", schemaVersion=2), "IdentityUnreadable"),
    "a field of the record": (recorded("record.json", recovery={"epoch": 1000}), "IdentityUnreadable"),
    "the accepted spec": (recorded("accepted-spec.json", schemaVersion=2), "LaterFormat"),
    "a claim": (annotated(CLAIMS.plural), "LaterFormat"),
    "a pod": (annotated(PODS.plural), "LaterFormat"),
    "a report": (reported, "LaterFormat"),
    "a revision": (revised("schemaVersion", value=2), "LaterFormat"),
    "a field of a revision": (revised("runtime", "listener", "alpn", value="h2"), "LaterFormat"),
    "the status": (in_status(schemaVersion=2, migration={"stage": 3}), "LaterFormat"),
    "the operation": (
        in_status(operation={"id": "x", "type": "AddVoter", "target": "3003-x", "schemaVersion": 2}),
        "UnknownOperation",
    ),
    "the type of the operation": (
        in_status(operation={"id": "x", "type": "RecoverMajority", "target": "3003-x", "journal": {"step": 3}}),
        "UnknownOperation",
    ),
}


@pytest.mark.parametrize("name", LATER)
async def test_nothing_is_changed(name: str) -> None:
    """A pod is missing and more controllers are requested, but only the report of the later object is written."""
    change, reason = LATER[name]
    bench = at_work()
    bench.resource({"kafka": {"version": "4.4.0"}, "controllers": {"replicas": 5}})
    del bench.kube.objects[PODS.plural, f"{NAME}-3002-g1"]
    change(bench)
    before = stored(bench)
    status = json.loads(json.dumps(bench.kube.objects[QUORUMS.plural, NAME].get("status") or {}))
    await passes(bench, 4)
    assert bench.acts() == []
    assert stored(bench) == before
    assert bench.condition("Degraded") == ("True", reason)
    after = bench.kube.objects[QUORUMS.plural, NAME]["status"]
    assert {field: after[field] for field in status} == status


async def test_without_it_there_is_work() -> None:
    """Without the later object, the same quorum is repaired."""
    bench = at_work()
    bench.resource({"kafka": {"version": "4.4.0"}, "controllers": {"replicas": 5}})
    del bench.kube.objects[PODS.plural, f"{NAME}-3002-g1"]
    await passes(bench, 4)
    assert {call.plural for call in bench.acts()} >= {"configmaps", "pods"}


async def test_the_revision_of_one_controller_counts() -> None:
    """A revision that only one controller of the record names is in use, so it is reported as unreadable."""
    bench = at_work()
    revision: Json = next(item for (plural, _), item in bench.kube.objects.items() if plural == REVISIONS.plural)
    newer = json.loads(json.dumps(revision)) | {"data": {"schemaVersion": 2}}
    newer["metadata"]["name"] = f"{NAME}-0123456789"
    bench.kube.put(REVISIONS, newer)
    assert (await snapshot(bench.kube)).unreadable == ()
    data = bench.kube.objects[_IDENTITY]["data"]
    record = json.loads(data["record.json"])
    next(node for node in record["nodes"] if node["node_id"] == IDS[1])["revision"] = f"{NAME}-0123456789"
    data["record.json"] = json.dumps(record)
    (one,) = (await snapshot(bench.kube)).unreadable
    assert (one.kind, one.name, one.later) == ("ControllerRevision", f"{NAME}-0123456789", True)
