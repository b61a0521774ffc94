"""Record and revisions are read back exactly as stored, and unreadable ones are reported."""

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from tests.model.values import (
    IDS,
    bound,
    desired,
    minted,
    revision,
    running,
    runtime,
    started,
    storage,
)
from tests.plan.recovery.lost import open_record

from kafka_quorum.model.desired import BootstrapMode, ControllerListener, FeatureLevel, VolumeFate
from kafka_quorum.model.formats import LaterFormat, Unreadable
from kafka_quorum.model.identity import IdentityRecord, with_disk_lost, with_migration, with_nodes, without_node
from kafka_quorum.model.journal import RecoveryStage
from kafka_quorum.model.migration import MigrationKind, Reached
from kafka_quorum.model.recovery import recovered, retired
from kafka_quorum.resources.stored import record_from, record_object, revision_from, revision_object

Json = dict[str, Any]
LOST = with_disk_lost(running(), IDS[1], new_claim=True)
SMALLER = without_node(LOST, IDS[1])
AGAIN = with_nodes(without_node(SMALLER, IDS[2]), [IDS[1]])
WITH_LEVELS = replace(
    minted(), format=replace(minted().format, features=(FeatureLevel(name="metadata.version", level=27),))
)

MIGRATING = with_migration(
    running(), Reached(kind=MigrationKind.STATIC_TO_DYNAMIC, stage="Controllers", release="4.1.2", image="")
)

RECOVERING = retired(open_record(RecoveryStage.COPY), 9)


def as_stored(record: IdentityRecord, version: str = "9") -> Json:
    """The ConfigMap as the API server returns it."""
    body = json.loads(json.dumps(record_object(desired(), record)))
    body["metadata"]["resourceVersion"] = version
    assert isinstance(body, dict)
    return body


@pytest.mark.parametrize(
    "record",
    [
        minted(),
        minted(mode=BootstrapMode.STANDALONE),
        bound(),
        started(),
        running(),
        LOST,
        WITH_LEVELS,
        SMALLER,
        AGAIN,
        MIGRATING,
        RECOVERING,
        recovered(RECOVERING),
    ],
    ids=[
        "minted",
        "standalone",
        "bound",
        "started",
        "running",
        "disk lost",
        "levels",
        "removed",
        "removed and back",
        "in a migration",
        "in a recovery",
        "recovered",
    ],
)
def test_round_trip(record: IdentityRecord) -> None:
    """Every record is read back as it was written, at the version that the API server gave it."""
    assert record_from(as_stored(record)) == replace(record, resource_version="9")


def test_an_earlier_version_reads_a_record_without_a_migration() -> None:
    """Outside a migration the record has no field that versions before migrations refuse."""
    assert "migration" not in json.loads(as_stored(running())["data"]["record.json"])


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"stage": "Later"}, LaterFormat),
        ({"kind": "PlaintextToTLS"}, LaterFormat),
        ({"kind": None}, LaterFormat),
        ({"later": 1}, LaterFormat),
        ({"stage": "RaiseLevel"}, Unreadable),
        ({"release": 4}, Unreadable),
    ],
    ids=["stage", "kind", "no kind", "field", "contradicts static", "type"],
)
def test_a_migration_of_a_later_version(changes: Json, error: type[Unreadable]) -> None:
    """A kind, a stage or a field that is not known stops the operator: what was done already is not known here."""
    item = as_stored(MIGRATING)
    body = json.loads(item["data"]["record.json"])
    body["migration"] |= changes
    item["data"]["record.json"] = json.dumps(body)
    with pytest.raises(error) as found:
        record_from(item)
    assert type(found.value) is error


def journalled(**changes: Any) -> Json:  # noqa: ANN401 - any JSON
    """A record whose journal has these values."""
    item = as_stored(RECOVERING)
    body = json.loads(item["data"]["record.json"])
    body["recovery"] |= changes
    item["data"]["record.json"] = json.dumps(body)
    return item


def test_an_earlier_version_reads_a_record_without_a_recovery() -> None:
    """A quorum that was never recovered has no field of a recovery: versions before would refuse it."""
    body = json.loads(as_stored(running())["data"]["record.json"])
    assert not {"recovery", "recovery_epoch"} & body.keys()


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"schema": 2}, LaterFormat),
        ({"stage": "Celebrate"}, LaterFormat),
        ({"epoch": 7}, Unreadable),
        ({"cluster_id": "x"}, Unreadable),
        ({"node_id": 4000}, Unreadable),
        ({"leader_epoch": -1}, Unreadable),
        ({"survivor": None}, Unreadable),
    ],
)
def test_a_journal_that_cannot_be_continued(changes: Json, error: type[Unreadable]) -> None:
    """A journal of a later version stops the operator, and so does one that contradicts its record."""
    with pytest.raises(error):
        record_from(journalled(**changes))


def test_record_of_an_earlier_version() -> None:
    """A record from before controllers could be removed has no former ones."""
    item = as_stored(running())
    body = json.loads(item["data"]["record.json"])
    del body["former"]
    item["data"]["record.json"] = json.dumps(body)
    assert record_from(item) == replace(running(), resource_version="9")


def test_compare_and_swap() -> None:
    """A record that was read replaces only that version; a new one has no version."""
    assert record_object(desired(), replace(minted(), resource_version="5"))["metadata"]["resourceVersion"] == "5"
    fresh = record_object(desired(), replace(minted(), resource_version=""))
    assert "resourceVersion" not in fresh["metadata"]
    assert "resource_version" not in fresh["data"]["record.json"]


def test_record_outlives_the_resource() -> None:
    """A retained record has no owner; with whenDeleted Delete the resource owns it."""
    assert record_object(desired(), minted())["metadata"]["ownerReferences"] == []
    delete = desired(storage=storage(when_deleted=VolumeFate.DELETE))
    assert len(record_object(delete, minted())["metadata"]["ownerReferences"]) == 1


def damaged(text: str | None) -> Json:
    """The ConfigMap with another text."""
    return {**as_stored(minted()), "data": {} if text is None else {"record.json": text}}


def changed(**changes: Any) -> str:  # noqa: ANN401 - any JSON
    """A record's text with some fields changed."""
    return json.dumps({**json.loads(as_stored(minted())["data"]["record.json"]), **changes})


@pytest.mark.parametrize(
    "text",
    [
        None,
        "",
        "{",
        "null",
        "[]",
        '"text"',
        "{}",
        changed(schemaVersion=2),
        changed(phase="Begun"),
        changed(nodes=[{"node_id": 3000}]),
        changed(nodes=None),
        changed(cluster_id=None),
    ],
    ids=["no data", "empty", "cut", "null", "list", "text", "no schema", "later", "phase", "node", "nodes", "cluster"],
)
def test_unreadable_record(text: str | None, request: pytest.FixtureRequest) -> None:
    """An unreadable record is reported with its name, a later one as such, and is never an empty one."""
    with pytest.raises(Unreadable, match="alpha-identity") as error:
        record_from(damaged(text))
    assert isinstance(error.value, LaterFormat) is (request.node.callspec.id == "later")


def with_node(**changes: Any) -> str:  # noqa: ANN401 - any JSON
    """A record's text with changed fields of its first controller."""
    first, *others = json.loads(changed())["nodes"]
    return changed(nodes=[{**first, **changes}, *others])


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (lambda: changed(cluster_id="no UUID"), "UUID"),
        (lambda: changed(cluster_id="A" * 5000), "UUID"),
        (lambda: with_node(directory_id="../x"), "UUID"),
        (lambda: with_node(lost=["x"]), "UUID"),
        (lambda: with_node(node_id=-1), "-1"),
        (lambda: with_node(node_id=2**31), str(2**31)),
        (lambda: with_node(node_id=3001), "alpha-identity"),
        (lambda: changed(nodes=json.loads(changed())["nodes"] * 100), "256"),
        (lambda: with_node(lost=["x"] * 5000), "4096"),
    ],
    ids=["cluster", "long", "directory", "retired", "negative", "large", "twice", "many", "many retired"],
)
def test_impossible_record(text: Callable[[], str], said: str) -> None:
    """A record with impossible ids, or too many, is unreadable, because people can edit the text."""
    with pytest.raises(Unreadable, match=said) as error:
        record_from(damaged(text()))
    assert len(str(error.value)) < 400


def test_retired_directory_ids_are_stored_as_lost() -> None:
    """The retired directory ids of a node are stored as `lost`; a field `retired` is one of a later version."""
    item = as_stored(LOST)
    body = json.loads(item["data"]["record.json"])
    assert [node["lost"] for node in body["nodes"]] == [list(node.retired) for node in LOST.nodes]
    assert not any("retired" in node for node in body["nodes"])
    with pytest.raises(LaterFormat, match="retired"):
        record_from(damaged(with_node(retired=[])))


def test_config_map_without_data() -> None:
    """A ConfigMap without data has no record."""
    item = as_stored(minted())
    del item["data"]
    with pytest.raises(Unreadable, match="alpha-identity"):
        record_from(item)


def revision_stored(**changes: Any) -> Json:  # noqa: ANN401 - any JSON
    """A ControllerRevision as the API server returns it, with some of its data changed."""
    of = revision(FULL, number=4)
    body = revision_object(
        desired(runtime=FULL),
        of.name,
        4,
        runtime=FULL,
        image=of.image,
        inputs_hash=of.inputs_hash,
        spec={"paused": False},
    )
    read: Json = json.loads(json.dumps(body))
    read["data"] |= changes
    return read


FULL = runtime(
    config=(("a", "b"), ("c", "ü")),
    listener=ControllerListener(name="QUORUM", port=19093),
    jvm_options=("-Da=b",),
    template_spec='{"affinity":{}}',
)


def test_revision_round_trip() -> None:
    """A revision is read back as it was written, with the valid spec that it came from."""
    read, spec = revision_from(revision_stored())
    assert read == revision(FULL, number=4)
    assert spec == {"paused": False}


def test_metrics_are_stored_only_where_they_are() -> None:
    """A revision with metrics is read back; one without them has no field that an earlier version does not know."""
    for jmx in (False, True):
        of = revision(runtime(jmx=jmx))
        item = revision_object(
            desired(), of.name, of.number, runtime=of.runtime, image=of.image, inputs_hash=of.inputs_hash, spec={}
        )
        assert ("jmx" in item["data"]["runtime"]) is jmx
        assert revision_from(json.loads(json.dumps(item))) == (of, {})


@pytest.mark.parametrize(
    "changes",
    [{"schemaVersion": 2}, {"runtime": {}}, {"runtime": None}, {"image": ...}, {"spec": ...}, {"spec": None}],
    ids=["later", "empty runtime", "no runtime", "no image", "no spec", "null spec"],
)
def test_unreadable_revision(changes: Json) -> None:
    """An unreadable revision is reported by name."""
    item = revision_stored()
    for key, value in changes.items():
        if value is ...:
            del item["data"][key]
        else:
            item["data"][key] = value
    with pytest.raises(Unreadable, match=item["metadata"]["name"]):
        revision_from(item)


@pytest.mark.parametrize("data", [None, "text", []])
def test_foreign_revision(data: object) -> None:
    """A ControllerRevision of others with our label is unreadable, and raises no other error."""
    with pytest.raises(Unreadable):
        revision_from({**revision_stored(), "data": data})


def test_revision_outlives_the_resource_where_volumes_do() -> None:
    """A revision is retained like the volumes, so that a recreated resource runs on from it."""
    assert revision_stored()["metadata"]["ownerReferences"] == []
