"""The pools of a quorum, as its look at certificates finds them."""

import json
from typing import Any

import pytest
from tests.kit.kube.recording import RecordingKube

from kafka_quorum.kind import POOLS
from kafka_quorum.model.known import Known, Unknown
from kafka_quorum.model.pools import PoolSeen
from kafka_quorum.observe.pools import POOLS_MAX, pools_of
from kit.errors import KubeRefused
from kit.kube.protocol import CONFIG_MAPS, Json

NAMESPACE, QUORUM = "kafka", "alpha"


def pool(name: str = "events", quorum: object = QUORUM, **spec: Any) -> Json:  # noqa: ANN401 - any field
    """A resource as the API server has it."""
    return {
        "metadata": {"name": name, "namespace": NAMESPACE, "uid": f"{name}-uid"},
        "spec": {"quorum": quorum, **spec},
    }


async def seen(*items: Json, records: tuple[Json, ...] = ()) -> dict[str, PoolSeen]:
    """What is found of these resources."""
    kube = RecordingKube()
    for item in items:
        kube.put(POOLS, item)
    for record in records:
        kube.put(CONFIG_MAPS, record)
    found = await pools_of(kube, NAMESPACE, QUORUM)
    assert isinstance(found, Known), found
    return {each.name: each for each in found.value}


async def test_only_pools_of_this_quorum() -> None:
    """A pool of another quorum is none of this one."""
    assert list(await seen(pool(), pool("other", "beta"), pool("odd", 7))) == ["events"]


async def test_hosts_by_the_ids_of_spec_and_record() -> None:
    """Hosts of encrypted listeners count for every id that the spec asks for or the record has."""
    listeners = [
        {"name": "TLS", "protocol": "SSL", "host": "b-{id}.example.org"},
        {"name": "PLAIN", "protocol": "PLAINTEXT", "host": "p-{id}.example.org"},
    ]
    data = {"disks.json": json.dumps({"brokers": [{"node_id": 7}, {"node_id": "x"}]})}
    record = {"metadata": {"name": "events-broker-disks", "namespace": NAMESPACE}, "data": data}
    found = await seen(pool(listeners=listeners, replicas=2), records=(record,))
    outside = [each for each in found["events"].names if ".svc" not in each]
    assert outside == ["b-0.example.org", "b-1.example.org", "b-7.example.org"]
    assert found["events"].uid == "events-uid"


@pytest.mark.parametrize(
    "spec",
    [
        {"listeners": 1},
        {"listeners": [1, {"protocol": "SSL", "host": 2}]},
        {"listeners": [{"protocol": "SSL", "host": "b-{id}.x.org"}], "replicas": "3", "nodeIDs": [True, -1, "2"]},
    ],
)
async def test_text_that_is_no_spec(spec: dict[str, Any]) -> None:
    """What a person wrote wrongly gives no names, and no error; the wildcard is there."""
    found = await seen(pool(**spec))
    assert all(".kafka.svc" in name for name in found["events"].names)


async def test_pools_that_are_not_listed_are_unknown() -> None:
    """Without the right, or with too many, nobody knows the pools."""
    refusing = RecordingKube(errors={("list", "kafkabrokerpools"): KubeRefused("forbidden")})
    assert isinstance(await pools_of(refusing, NAMESPACE, QUORUM), Unknown)
    kube = RecordingKube()
    for number in range(POOLS_MAX + 1):
        kube.put(POOLS, pool(f"p{number}"))
    assert isinstance(await pools_of(kube, NAMESPACE, QUORUM), Unknown)
