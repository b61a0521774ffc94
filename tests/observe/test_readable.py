"""An object that cannot be read is Unknown by name: it does not end the look, and is never absent."""

import copy
from typing import Any

import pytest
from tests.kit.kube.recording import RecordingKube
from tests.model.values import IDS, NAME
from tests.observe import kubernetes as k8s
from tests.observe.test_gather import api_server, snapshot

from kafka_quorum.model import names
from kafka_quorum.observe.objects import claim_from, pod_from
from kafka_quorum.observe.readable import parsed, unreadable_from
from kafka_quorum.observe.snapshot import Snapshot
from kafka_quorum.resources.stored import revision_from
from kit.kube.protocol import CLAIMS, CONFIG_MAPS, PODS, REVISIONS, Json

CLAIM = "alpha-3001-g1"


def damaged(kube: RecordingKube, plural: str, name: str, **fields: Any) -> None:  # noqa: ANN401 - any JSON
    """Replaces fields of an object by unexpected ones."""
    kube.objects[plural, name] = copy.deepcopy(kube.objects[plural, name]) | fields


def found(taken: Snapshot) -> list[tuple[str, str, int | None]]:
    """Kind, name and controller of what cannot be read."""
    return [(item.kind, item.name, item.node_id) for item in taken.unreadable]


async def test_everything_can_be_read() -> None:
    """Every object of a healthy quorum can be read."""
    assert found(await snapshot(api_server())) == []


async def test_a_claim_that_cannot_be_read() -> None:
    """A claim that cannot be read is named with its controller, and the other claims are read."""
    kube = api_server()
    damaged(kube, CLAIMS.plural, CLAIM, spec={"resources": {"requests": {"storage": "many"}}})
    taken = await snapshot(kube)
    assert found(taken) == [("PersistentVolumeClaim", CLAIM, 3001)]
    assert "many" in taken.unreadable[0].why
    assert [claim.node_id for claim in taken.claims] == [node for node in IDS if node != 3001]


async def test_a_pod_that_cannot_be_read() -> None:
    """A pod whose status has another shape is Unknown, and the other pods are read."""
    kube = api_server()
    damaged(kube, PODS.plural, CLAIM, status={"containerStatuses": ["no object"]})
    taken = await snapshot(kube)
    assert found(taken) == [("Pod", CLAIM, 3001)]
    assert len(taken.pods) == 2


async def test_a_revision_in_use_that_cannot_be_read() -> None:
    """A revision in use that cannot be read is Unknown for the whole quorum; an unused one does not matter."""
    kube = api_server()
    ((_, name),) = (key for key in kube.objects if key[0] == REVISIONS.plural)
    kube.objects[REVISIONS.plural, "unused"] = copy.deepcopy(kube.objects[REVISIONS.plural, name])
    kube.objects[REVISIONS.plural, "unused"]["metadata"]["name"] = "unused"
    for one in (name, "unused"):
        damaged(kube, REVISIONS.plural, one, data={"schemaVersion": 99})
    assert found(await snapshot(kube)) == [("ControllerRevision", name, None)]


@pytest.mark.parametrize("text", ["[" * 100_000, "[]", '{"schemaVersion": 1, "nodes": 7}', "\ud800", ""])
async def test_a_record_that_cannot_be_read_is_there(text: str) -> None:
    """A record that cannot be read is a fault, and not absent, whatever it contains."""
    kube = api_server()
    damaged(kube, CONFIG_MAPS.plural, f"{NAME}-identity", data={"record.json": text})
    taken = await snapshot(kube)
    assert taken.record is None
    assert taken.record_fault


@pytest.mark.parametrize("parse", [pod_from, claim_from, revision_from])
@pytest.mark.parametrize(
    "item",
    [
        {"metadata": {"name": "alpha-3001-g1"}},
        {"metadata": {"name": "alpha-3001-g1", "labels": None, "annotations": None}, "spec": None, "status": None},
        {"metadata": {"name": "alpha-3001-g1", "labels": [], "annotations": "x"}, "spec": 7, "data": "x"},
    ],
)
def test_no_object_raises(parse: Any, item: Json) -> None:  # noqa: ANN401 - one of several functions
    """Parsing an object never raises: the object is read, is not ours, or is Unknown."""
    values, unreadable = parsed("Thing", [copy.deepcopy(item)], parse)
    assert len(values) + len(unreadable) <= 1
    assert all(one.node_id == 3001 for one in unreadable)


@pytest.mark.parametrize("node_id", [0, 1, 22, 333, 3000, 2**31 - 1])
@pytest.mark.parametrize("name", ["demo-{}-g1", "demo-{}-g12-format", "demo-7-g1-{}-g2"])
def test_the_name_says_whose_an_unreadable_object_is(name: str, node_id: int) -> None:
    """An object belongs to the controller in its name, and not to the one in its label, which people can change."""
    item = {"metadata": {"name": name.format(node_id), "labels": {names.LABEL_NODE: "2"}}}
    assert unreadable_from("PersistentVolumeClaim", item, ValueError("x")).node_id == node_id


def test_names_of_objects_are_shown_safely() -> None:
    """Names and errors of an object become one printable line for logs and conditions."""
    item = k8s.claim({"name": "x\n\x1b[31my"})
    del item["metadata"]["uid"]
    _, (one,) = parsed("PersistentVolumeClaim", [item], claim_from)
    assert one.name.isprintable()
    assert one.why.isprintable()
