"""The pools of a quorum, as its look at certificates finds them."""

import json
from collections.abc import Iterable
from typing import Any

import pytest
from tests.kit.kube.recording import RecordingKube

from kafka_quorum.kind import POOLS
from kafka_quorum.model.known import Known, Unknown
from kafka_quorum.model.pools import PoolSeen
from kafka_quorum.observe.pools import POOLS_MAX, pools_of
from kit.errors import KubeRefused
from kit.kube.protocol import CONFIG_MAPS, Json
from kit.pki.certificate import NAMES_MAX

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


def recorded(brokers: Iterable[object], accepted: Json | None = None, name: str = "events") -> Json:
    """The ConfigMap of a pool's record."""
    data = {"disks.json": json.dumps({"brokers": [{"node_id": one} for one in brokers]})}
    if accepted is not None:
        data["accepted-spec.json"] = json.dumps({"schemaVersion": 1, "spec": accepted})
    return {"metadata": {"name": f"{name}-broker-disks", "namespace": NAMESPACE}, "data": data}


def outside(*places: str) -> list[Json]:
    """External listeners with TLS."""
    return [{"name": each.upper(), "protocol": "SSL", "host": f"b-{{id}}.{each}.example.org"} for each in places]


def hosts(places: Iterable[str], ids: Iterable[int]) -> set[str]:
    """The hosts of these brokers there."""
    listed = tuple(ids)
    return {f"b-{node_id}.{each}.example.org" for each in places for node_id in listed}


def outer(found: PoolSeen) -> set[str]:
    """The names outside the cluster."""
    return {each for each in found.names if ".svc" not in each}


@pytest.mark.parametrize(
    ("spec", "ids"),
    [
        ({"replicas": 2}, {7, 0}),
        ({"replicas": 3, "firstNodeID": 6}, {7, 6, 8}),
        ({"replicas": 1}, {7}),
        ({"replicas": 0}, {7}),
        ({"nodeIDs": [3, 7, 5]}, {7, 3, 5}),
        ({"nodeIDs": [3]}, {7, 3}),
    ],
)
async def test_hosts_by_the_ids_of_record_and_spec(spec: dict[str, Any], ids: set[int]) -> None:
    """Hosts of encrypted listeners count for every id that the record has, and for those that it lacks."""
    listeners = [*outside("x"), {"name": "PLAIN", "protocol": "PLAINTEXT", "host": "p-{id}.example.org"}]
    found = await seen(pool(listeners=listeners, **spec), records=(recorded([7, "x"]),))
    assert outer(found["events"]) == hosts("x", ids)
    assert (found["events"].uid, found["events"].left_out) == ("events-uid", ())


@pytest.mark.parametrize("count", [55, 70, 100])
async def test_a_pool_whose_ids_are_others_than_the_spec_begins_with(count: int) -> None:
    """The second pool with the default `firstNodeID`: its certificate has each broker, however many it gets."""
    ids = range(70, 70 + count)
    found = await seen(pool(listeners=outside(*"xyz"), replicas=count), records=(recorded(ids),))
    assert outer(found["events"]) == hosts("xyz", ids)


async def test_brokers_of_the_record_come_before_those_of_the_spec() -> None:
    """Growth for which one certificate has no room takes no name away from a broker that runs."""
    found = await seen(pool(listeners=outside(*"vwxyz"), replicas=100), records=(recorded(range(70, 140)),))
    assert hosts("vwxyz", range(70, 140)) <= outer(found["events"])
    assert len(found["events"].names) == NAMES_MAX
    assert found["events"].left_out == ()


async def test_brokers_run_on_with_the_spec_that_was_accepted() -> None:
    """Listeners of a spec that the pool refuses take no name away: also not one that has lost its hosts."""
    ids = range(70, 140)
    accepted = recorded(ids, {"listeners": outside(*"xyz")})
    for listeners in (outside(*"abcdefg"), [], 7):
        found = await seen(pool(listeners=listeners, replicas=70), records=(accepted,))
        assert hosts("xyz", ids) <= outer(found["events"])
        assert found["events"].left_out == ()
    broken = {**accepted, "data": {**accepted["data"], "accepted-spec.json": "{"}}
    found = await seen(pool(listeners=outside("x"), replicas=70), records=(broken,))
    assert outer(found["events"]) == hosts("x", ids)


async def test_more_brokers_than_have_room() -> None:
    """Names of recorded brokers that are cut off are named, those that leave first."""
    record = recorded(())
    rows = [{"node_id": each, "leaving": each < 30} for each in range(150)]
    record["data"]["disks.json"] = json.dumps({"brokers": rows})
    found = (await seen(pool(listeners=outside(*"xyz"), replicas=100), records=(record,)))["events"]
    assert outer(found) == hosts("xyz", (*range(30, 150), *range(12)))
    assert set(found.left_out) == hosts("xyz", range(12, 30))


async def test_more_than_a_hundred_recorded_brokers() -> None:
    """A pool whose brokers all leave for others has twice as many for a time."""
    spec: Json = {"listeners": outside("x"), "nodeIDs": list(range(100))}
    found = await seen(pool(**spec), records=(recorded(range(200)),))
    assert outer(found["events"]) == hosts("x", range(200))


async def test_a_spec_in_a_record_has_as_many_hosts_as_one_that_is_accepted() -> None:
    """Who may write the ConfigMap of a pool cannot make each look work out names without a limit."""
    hosts_ = (f"h{number}-{{id}}.example.org" for number in range(100))
    accepted = {"listeners": [{"protocol": "SSL", "host": host} for host in hosts_]}
    found = await seen(pool(listeners=outside("x"), replicas=2), records=(recorded(range(2), accepted),))
    assert sum(name.startswith("h") for name in found["events"].names) == 2 * 8


async def test_another_issuer_is_not_asked_for_what_has_no_room() -> None:
    """What must be covered is what is asked for, and the brokers' own hosts."""
    kube = RecordingKube()
    kube.put(POOLS, pool(listeners=outside(*"vwxyz"), replicas=100))
    kube.put(CONFIG_MAPS, recorded(range(70, 140), {"listeners": outside(*"vwxyz")}))
    found = await pools_of(kube, NAMESPACE, QUORUM, own=False)
    assert isinstance(found, Known)
    (one,) = found.value
    own = {each for each in one.hosts if ".events-brokers." in each}
    assert len(own) == 100
    assert set(one.hosts) - own <= set(one.names)


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
