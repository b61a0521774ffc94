"""Whole passes over a pool with one stored object of a later version: it is reported, and nothing is changed."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from tests.brokers.edges import RECORD, pod_name
from tests.brokers.test_reconcile import Bench, at_rest
from tests.brokers.values import revision

from kafka_brokers.kind import POOLS
from kit.kube.protocol import REVISIONS

Change = Callable[[Bench], None]


def recorded(key: str, **changes: Any) -> Change:  # noqa: ANN401 - any JSON
    """Changes fields of one of the texts beside the record."""

    def change(bench: Bench) -> None:
        data = bench.kube.objects[RECORD]["data"]
        data[key] = json.dumps(json.loads(data[key]) | changes)

    return change


def broker_with(**changes: Any) -> Change:  # noqa: ANN401 - any JSON
    """Changes fields of the first broker of the record."""

    def change(bench: Bench) -> None:
        data = bench.kube.objects[RECORD]["data"]
        body = json.loads(data["disks.json"])
        body["brokers"][0] |= changes
        data["disks.json"] = json.dumps(body)

    return change


def revised(*path: str, value: object) -> Change:
    """Changes a field of the revision's data."""

    def change(bench: Bench) -> None:
        holder = bench.kube.objects[REVISIONS.plural, revision().name]["data"]
        for part in path[:-1]:
            holder = holder[part]
        holder[path[-1]] = value

    return change


def reported(bench: Bench) -> None:
    """Sets the report of a script with a later number."""
    text = json.dumps({"script": 99, "volumes": {"moved": True}})
    ended = {"terminated": {"exitCode": 1, "message": text, "finishedAt": "2026-01-01T00:00:00Z"}}
    bench.kube.objects[pod_name(0)]["status"]["containerStatuses"] = [{"name": "kafka", "state": ended}]


def stored(bench: Bench) -> str:
    """All stored objects except the resource itself and events."""
    left_out = {POOLS.plural, "events"}
    return json.dumps([item for (plural, _), item in bench.kube.objects.items() if plural not in left_out])


LATER: dict[str, Change] = {
    "the record": recorded("disks.json", schemaVersion=2),
    "a field of the record": recorded("disks.json", migration={"stage": 3}),
    "a field of a broker": broker_with(tiered=True),
    "the accepted spec": recorded("accepted-spec.json", schemaVersion=2),
    "a revision": revised("schemaVersion", value=2),
    "a field of a revision": revised("runtime", "tiered", value=True),
    "a report": reported,
}


@pytest.mark.parametrize("name", LATER)
async def test_nothing_is_changed(name: str) -> None:
    """A pod is missing and more brokers are requested, but only the report of the later object is written."""
    bench = await at_rest()
    bench.resource({"replicas": 5})
    del bench.kube.objects[pod_name(2)]
    LATER[name](bench)
    before = stored(bench)
    await bench.run(4)
    assert bench.acts() == []
    assert stored(bench) == before
    assert bench.condition("Degraded") == ("True", "LaterFormat")
    assert bench.condition("Ready")[0] == "False"
    assert bench.events().count(("Warning", "LaterFormat")) == 1


async def test_without_it_there_is_work() -> None:
    """Without the later object, the same pool is repaired, and grows."""
    bench = await at_rest()
    bench.resource({"replicas": 5})
    del bench.kube.objects[pod_name(2)]
    await bench.run(8)
    assert {call.plural for call in bench.acts()} >= {"configmaps", "pods"}


async def test_the_contract_of_a_later_version() -> None:
    """What it asks of brokers is not known: nothing is changed, and the pool waits for an operator that reads it."""
    bench = await at_rest()
    data = bench.kube.objects["configmaps", "events-brokers"]["data"]
    data["contract.json"] = data["contract.json"].replace('"schemaVersion": 1', '"schemaVersion": 3')
    bench.resource({"replicas": 5})
    del bench.kube.objects[pod_name(2)]
    await bench.run(4)
    assert bench.acts() == []
    assert bench.condition("Progressing") == ("True", "WaitingForQuorum")
    assert "Run the operator version that wrote it" in bench.status["message"]
