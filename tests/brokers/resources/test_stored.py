"""Record and revisions of a pool are read back exactly as stored, and unreadable ones are reported."""

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from tests.brokers.values import CLUSTER, IDS, broker, desired, directory, record, revision

from kafka_brokers.model.disks import PoolRecord, changed, with_disk, without_broker, without_data
from kafka_brokers.resources.stored import record_from, record_object, revision_from, revision_object
from kafka_quorum.model.brokers import TopicPartition
from kafka_quorum.model.formats import LaterFormat, Unreadable
from kafka_quorum.model.zookeeper import ZooKeeperAccess

Json = dict[str, Any]
WHOLE = record(volumes=2)
LOST = changed(WHOLE, with_disk(broker(WHOLE, 1), without_data(broker(WHOLE, 1).disks[1], new_claim=True)))
STOPPED = changed(
    WHOLE,
    replace(
        broker(WHOLE, 2),
        ran=True,
        stopped=True,
        leaving=True,
        revision="payments-broker-0123456789",
        outside=(TopicPartition(topic="orders", index=7),),
    ),
)
SMALLER = without_broker(STOPPED, IDS[0])
TLS = replace(WHOLE, replication_tls=True)
BLIND = changed(WHOLE, replace(broker(WHOLE, 2), ran=True, stopped=True, outside_unknown=True))


def as_stored(of: PoolRecord, version: str = "9") -> Json:
    """The ConfigMap as the API server returns it."""
    body: Json = json.loads(json.dumps(record_object(desired(), of)))
    body["metadata"]["resourceVersion"] = version
    return body


def text_of(**changes: Any) -> str:  # noqa: ANN401 - any JSON
    """A record's text with some fields changed."""
    return json.dumps({**json.loads(as_stored(WHOLE)["data"]["disks.json"]), **changes})


def with_broker(**changes: Any) -> str:  # noqa: ANN401 - any JSON
    """A record's text with changed fields of its first broker."""
    first, *others = json.loads(text_of())["brokers"]
    return text_of(brokers=[{**first, **changes}, *others])


def with_volume(**changes: Any) -> str:  # noqa: ANN401 - any JSON
    """A record's text with changed fields of the first volume of its first broker."""
    first, *others = json.loads(text_of())["brokers"][0]["disks"]
    return with_broker(disks=[{**first, **changes}, *others])


def damaged(text: str | None) -> Json:
    """The ConfigMap with another text."""
    return {**as_stored(WHOLE), "data": {} if text is None else {"disks.json": text}}


@pytest.mark.parametrize(
    "of",
    [PoolRecord(cluster_id=CLUSTER), record(formatted=False), WHOLE, LOST, STOPPED, SMALLER, TLS, BLIND],
    ids=["new", "not formatted", "whole", "a lost disk", "stopped", "a former broker", "TLS", "partitions unknown"],
)
def test_round_trip(of: PoolRecord) -> None:
    """Every record is read back as it was written, at the version that the API server gave it."""
    assert record_from(as_stored(of)) == replace(of, resource_version="9")


def test_compare_and_swap() -> None:
    """A record that was read replaces only that version; a new one has no version."""
    assert record_object(desired(), replace(WHOLE, resource_version="5"))["metadata"]["resourceVersion"] == "5"
    fresh = record_object(desired(), WHOLE)
    assert "resourceVersion" not in fresh["metadata"]
    assert "resource_version" not in fresh["data"]["disks.json"]


@pytest.mark.parametrize("fate", ["Retain", "Delete"])
def test_the_record_outlives_the_resource_or_not(fate: str) -> None:
    """A retained record has no owner; with whenDeleted Delete the resource owns it."""
    of = desired({"retentionPolicy": {"whenDeleted": fate}})
    assert bool(record_object(of, WHOLE)["metadata"]["ownerReferences"]) is (fate == "Delete")


@pytest.mark.parametrize(
    "text",
    [None, "", "{", "[]", "{}", text_of(schemaVersion=2), text_of(brokers=None), text_of(brokers=[{"node_id": 1}])],
    ids=["no data", "empty", "cut", "list", "no schema", "later", "no brokers", "half a broker"],
)
def test_unreadable_record(text: str | None, request: pytest.FixtureRequest) -> None:
    """An unreadable record is reported with its name, a later one as such, and is never an empty one."""
    with pytest.raises(Unreadable, match="payments-broker-disks") as error:
        record_from(damaged(text))
    assert isinstance(error.value, LaterFormat) is (request.node.callspec.id == "later")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (lambda: text_of(cluster_id="no UUID"), "UUID"),
        (lambda: with_volume(directory_id="../x"), "UUID"),
        (lambda: with_volume(retired=["x"]), "UUID"),
        (lambda: with_volume(generation=0), "generation"),
        (lambda: with_volume(index=5), "must count from 0"),
        (lambda: with_volume(directory_id=directory(1, 0)), "same directory id"),
        (lambda: with_broker(disks=[]), "must count from 0"),
        (lambda: with_broker(node_id=-1), "-1"),
        (lambda: with_broker(node_id=1), "twice"),
        (lambda: with_broker(outside=[{"topic": "a\nb", "index": 0}]), "partition"),
        (lambda: with_volume(retired=["x"] * 5000), "4096"),
        (lambda: text_of(former=[{"node_id": 2**31, "generations": [1], "retired": []}]), str(2**31)),
    ],
    ids=[
        "cluster",
        "directory",
        "retired",
        "generation",
        "index",
        "shared",
        "none",
        "id",
        "twice",
        "topic",
        "many",
        "former",
    ],
)
def test_impossible_record(text: Callable[[], str], said: str) -> None:
    """A record with impossible ids, or too many, is unreadable, because people can edit the text."""
    with pytest.raises(Unreadable, match=said) as error:
        record_from(damaged(text()))
    assert len(str(error.value)) < 400


@pytest.mark.parametrize("text", [text_of(flavour=1), with_broker(flavour=1), with_volume(flavour=1)])
def test_a_field_of_a_later_version(text: str) -> None:
    """A field that this version would lose when it writes the record again is a later version's."""
    with pytest.raises(LaterFormat, match="flavour"):
        record_from(damaged(text))


def test_revisions() -> None:
    """A revision is read back with the spec that it came from; its bytes decide nothing but what they say."""
    item = json.loads(json.dumps(revision_object(desired(), revision(), {"quorum": "events"})))
    assert revision_from(item) == (revision(), {"quorum": "events"})
    assert item["metadata"]["name"] == revision().name


@pytest.mark.parametrize(
    ("change", "later"),
    [
        ({"schemaVersion": 2}, True),
        ({"runtime": None}, False),
        ({"runtime": {}}, False),
        ({"image": None}, False),
        ({"spec": None}, False),
    ],
)
def test_unreadable_revision(change: Json, *, later: bool) -> None:
    """A revision that cannot be understood is reported with its name."""
    item = json.loads(json.dumps(revision_object(desired(), revision(), {})))
    item["data"] |= change
    with pytest.raises(Unreadable, match="payments-broker-") as error:
        revision_from(item)
    assert isinstance(error.value, LaterFormat) is later


def test_a_field_of_a_later_runtime() -> None:
    """A field of the runtime that this version does not know is a later version's: pods are not made without it."""
    item = json.loads(json.dumps(revision_object(desired(), revision(), {})))
    item["data"]["runtime"]["flavour"] = 1
    with pytest.raises(LaterFormat, match="flavour"):
        revision_from(item)


def test_a_revision_of_today_is_stored_as_before() -> None:
    """What earlier versions of the operator do not know is only written if it is set; then it is read back."""
    of = desired()
    plain = revision(of.runtime)
    stored = revision_object(of, plain, {})["data"]["runtime"]
    assert {"zookeeper", "directories", "replication_tls", "certificates"}.isdisjoint(stored)
    assert all("client_auth" not in each for each in stored["listeners"])
    access = ZooKeeperAccess(connect="zoo:2181", secret_name="zoo")  # noqa: S106 - a name
    more = replace(of.runtime, zookeeper=access, directories=("log{id}",), replication_tls=True, certificates=2)
    changed_ = revision(replace(more, listeners=tuple(replace(each, client_auth=True) for each in more.listeners)))
    assert changed_.inputs_hash != plain.inputs_hash
    body = revision_object(of, changed_, {})
    assert revision_from(body)[0].runtime == changed_.runtime


def test_a_record_without_tls_is_stored_as_before() -> None:
    """Earlier versions read the record of every pool whose brokers replicate without TLS, and it means no TLS."""
    assert "replication_tls" not in record_object(desired(), WHOLE)["data"]["disks.json"]
    assert not record_from(as_stored(WHOLE)).replication_tls


def test_a_stop_with_known_partitions_is_stored_as_before() -> None:
    """Only a stop without any answer has the field that earlier versions do not know."""
    assert "outside_unknown" not in record_object(desired(), STOPPED)["data"]["disks.json"]
    assert "outside_unknown" in record_object(desired(), BLIND)["data"]["disks.json"]
