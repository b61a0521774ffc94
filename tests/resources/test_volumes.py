"""The place of a volume comes from its own affinity, and not from where it was first scheduled."""

from dataclasses import replace
from typing import Any

import pytest
from tests.kit.kube.recording import RecordingKube
from tests.model.values import at_rest, bound, key, running, view, with_pod, with_the_claim, without_pod

from kafka_quorum.model.identity import with_disk_lost
from kafka_quorum.model.ids import NodeID
from kafka_quorum.model.known import Known, Unknown
from kafka_quorum.observe import gather
from kafka_quorum.observe.nodes import unplaced
from kafka_quorum.resources.volumes import ANYWHERE, Place, place_of
from kit.errors import KubeRefused, KubeUnavailable
from kit.kube.protocol import NODES, VOLUMES, Json

HOST = "kubernetes.io/hostname"


def row(label: str, *values: str, operator: str = "In") -> dict[str, Any]:
    """One requirement."""
    return {"key": label, "operator": operator, "values": list(values)}


def volume(*terms: dict[str, Any]) -> dict[str, Any]:
    """A PersistentVolume with these alternative terms."""
    return {"spec": {"nodeAffinity": {"required": {"nodeSelectorTerms": list(terms)}}}}


def expressions(*rows: dict[str, Any]) -> dict[str, Any]:
    """A PersistentVolume with these requirements."""
    return volume({"matchExpressions": list(rows)})


@pytest.mark.parametrize(
    ("item", "place"),
    [
        ({}, ANYWHERE),
        ({"spec": {"csi": {}}}, ANYWHERE),
        ({"spec": {"nodeAffinity": {"required": None}}}, ANYWHERE),
        (volume(), ANYWHERE),
        (expressions(row(HOST, "worker-1")), Place(node="worker-1", certain=True)),
        (expressions(row(HOST, "other")), Place(node="other", certain=False)),
        (expressions(row("topology.example.org/node", "worker-1")), Place(node="worker-1", certain=True)),
        (expressions(row("topology.kubernetes.io/zone", "eu-1a")), ANYWHERE),
        (
            expressions(row("topology.kubernetes.io/zone", "eu-1a"), row(HOST, "other")),
            Place(node="other", certain=False),
        ),
        (expressions(row(HOST, "worker-1", "worker-2")), ANYWHERE),
        (expressions(row(HOST, "worker-1", operator="NotIn")), ANYWHERE),
        (volume({"matchFields": [row("metadata.name", "worker-9")]}), Place(node="worker-9", certain=True)),
        (
            volume({"matchExpressions": [row(HOST, "worker-1")]}, {"matchExpressions": [row(HOST, "worker-2")]}),
            ANYWHERE,
        ),
    ],
)
def test_place(item: dict[str, Any], place: Place) -> None:
    """A volume has a place if its affinity leaves one Kubernetes node; zones and alternatives leave more."""
    assert place_of(item, "worker-1") == place


def test_without_a_first_node() -> None:
    """A volume without a first node has its host name as its place, which may not be the name of a Kubernetes node."""
    assert place_of(expressions(row(HOST, "worker-1")), "") == Place(node="worker-1", certain=False)
    assert place_of(expressions(row("topology.example.org/node", "worker-1")), "") == ANYWHERE


def test_only_volumes_of_silent_replicas_without_a_place_are_asked_for() -> None:
    """Only volumes of replicas that do not fetch, and whose pod is on no Kubernetes node, are looked up."""
    seen = view([key(3000), key(3001), key(3002)], behind=[key(3001)])
    look = at_rest(quorum=Known(value=seen))
    look = replace(look, claims=tuple(replace(one, bound_to="") for one in look.claims))
    assert unplaced(look) == ()
    assert [one.node_id for one in unplaced(without_pod(look, 3001))] == [3001]
    assert [one.node_id for one in unplaced(with_pod(look, 3001, scheduled=False))] == [3001]
    assert [one.node_id for one in unplaced(with_pod(look, 3001, finished=True))] == [3001]
    lost = replace(look, record=with_disk_lost(running(), NodeID(3001), new_claim=False))
    assert [one.node_id for one in unplaced(with_pod(lost, 3001, deleting=True))] == [3001]
    assert unplaced(with_pod(lost, 3001)) == ()
    assert unplaced(with_the_claim(without_pod(look, 3001), 3001, volume="")) == ()
    assert unplaced(replace(without_pod(look, 3001), quorum=Unknown(reason="nobody leads"))) == ()
    assert unplaced(replace(without_pod(look, 3001), record=bound())) == ()


WANTED = replace(at_rest().claims[1], bound_to="", volume="pvc-3001", selected_node="worker-1")
CLAIMS = (at_rest().claims[0], WANTED, at_rest().claims[2])
PINNED = expressions(row(HOST, "worker-1"))
ELSEWHERE = expressions(row(HOST, "host-1"))


@pytest.mark.parametrize(
    ("item", "node", "place"),
    [
        (PINNED, None, "worker-1"),
        (ELSEWHERE, "host-1", "host-1"),
        (ELSEWHERE, None, ""),
        (None, None, ""),
        ({"spec": {"csi": {}}}, "worker-1", ""),
    ],
    ids=["pinned", "by host name", "host name of no node", "no volume", "attachable"],
)
async def test_place_of_a_claim(item: Json | None, node: str | None, place: str) -> None:
    """A volume's only Kubernetes node is the place of its claim; the host name of no known node gives no place."""
    kube = RecordingKube()
    if item is not None:
        kube.put(VOLUMES, {**item, "metadata": {"name": "pvc-3001"}})
    if node is not None:
        kube.put(NODES, {"metadata": {"name": node}})
    claims = await gather.placed(kube, CLAIMS, (WANTED,))
    assert [one.bound_to for one in claims] == ["worker-3000", place, "worker-3002"]


@pytest.mark.parametrize("what", ["persistentvolumes", "nodes"])
@pytest.mark.parametrize("error", [KubeRefused("403: forbidden"), KubeUnavailable("no answer")])
async def test_what_cannot_be_read_is_no_place(what: str, error: Exception) -> None:
    """A volume, or a Kubernetes node, that cannot be read gives no place."""
    kube = RecordingKube(errors={("get", what): error})
    kube.put(VOLUMES, {**ELSEWHERE, "metadata": {"name": "pvc-3001"}})
    assert (await gather.placed(kube, CLAIMS, (WANTED,)))[1].bound_to == ""


async def test_others_are_not_asked_for() -> None:
    """Claims that are not asked about stay unchanged, in their order, without a request."""
    kube = RecordingKube()
    assert await gather.placed(kube, CLAIMS, ()) == CLAIMS
    assert kube.calls == []
