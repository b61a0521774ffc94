"""Every act on a held controller is noticed, and so is a disk that is given up without a person's word."""

import json

import pytest
from tests.simulation.model.happened import ClaimDeleted, Created, PodDeleted, RemoveSent, StopSent
from tests.simulation.rules.glances import RECENT_S
from tests.simulation.rules.word_rules import HELD
from tests.simulation.tests.quorums import key
from tests.simulation.tests.test_roll_rules import Scene

from kafka_quorum.kind import QUORUMS
from kafka_quorum.model.ids import ClusterID, NodeID
from kafka_quorum.model.names import HOLD, REPLACE
from kafka_quorum.model.quorum import RemoveVoter
from kit.kube.protocol import CONFIG_MAPS, LEASES, Json

STEPS = int(2 * RECENT_S) + 2
"""Longer than the age of a look, in steps of half a second."""


def says(scene: Scene, name: str, value: str | None, steps: int = STEPS) -> Scene:
    """The scene, some time after a person annotated the resource."""
    scene.world.kube.patch(QUORUMS, "kafka", "demo", {"metadata": {"annotations": {name: value}}})
    scene.steps(steps)
    return scene


def created(plural: str, name: str, *, late: bool = False) -> Created:
    """The operator creates an object of controller 3001."""
    labels = {"kafkaquorum.io/quorum": "demo", "kafkaquorum.io/node-id": "3001", "kafkaquorum.io/role": "formatter"}
    spec: Json = {"containers": [{"env": [], "command": []}], "hostname": "demo-3001"}
    return Created(
        plural=plural,
        body={"metadata": {"name": name, "namespace": "kafka", "labels": labels}, "spec": spec},
        late=late,
    )


def stop() -> StopSent:
    """The operator deletes a pod of controller 3001 in which nothing runs."""
    return StopSent(stop=PodDeleted(namespace="kafka", quorum="demo", name="demo-3001-g1", process=None))


@pytest.mark.parametrize("text", ["3001", "3000, 3001", "all of them"])
def test_acts_on_a_held_controller_are_noticed(text: str) -> None:
    """Its pod is neither stopped nor created, and its claim neither created nor deleted; an unread hold holds all."""
    for event in (
        stop(),
        created("pods", "demo-3001-g2-format"),
        created("persistentvolumeclaims", "demo-3001-g2"),
        ClaimDeleted(name="demo-3001-g1", disk=None),
    ):
        scene = says(Scene(), HOLD, text)
        scene.world.tell(event)
        assert HELD in scene.broken(), event


def test_a_vote_of_a_held_controller_is_kept() -> None:
    """The removal of its vote is noticed."""
    scene = says(Scene(), HOLD, "3001")
    request = RemoveVoter(cluster_id=ClusterID(scene.leader.cluster_id), voter=key(3001))
    scene.world.tell(RemoveSent(endpoint=scene.endpoint, request=request))
    assert HELD in scene.broken()


@pytest.mark.parametrize(("text", "steps"), [(None, STEPS), ("3002", STEPS), ("3001", 1)])
def test_acts_on_other_controllers_are_allowed(text: str | None, steps: int) -> None:
    """Nothing is broken without a hold, for another controller, or right after the hold began."""
    scene = says(Scene(), HOLD, text, steps)
    scene.world.tell(stop())
    scene.world.tell(created("persistentvolumeclaims", "demo-3001-g2"))
    assert HELD not in scene.broken()


def gives_up(scene: Scene, node_id: int) -> Scene:
    """The operator's record retires the disk of a controller, which keeps running."""
    replicas = [key(one) for one in scene.node_ids]
    nodes = [
        {
            "node_id": one.node_id,
            "directory_id": one.directory_id,
            "revision": None,
            "lost": [one.directory_id] if one.node_id == node_id else [],
        }
        for one in replicas
    ]
    record = {"cluster_id": scene.leader.cluster_id, "phase": "Started", "initial": [], "nodes": nodes, "former": []}
    body = {"metadata": {"name": "demo-identity"}, "data": {"record.json": json.dumps(record)}}
    scene.world.kube.operator_writes = True
    scene.world.kube.create(CONFIG_MAPS, "kafka", body)
    return scene


def test_a_disk_is_given_up_by_its_name_only() -> None:
    """A disk that runs is given up if a person names it, and for no other word; without the token that is noticed."""
    node_id = NodeID(Scene().followers[0])
    named = f"{node_id}-{key(node_id).directory_id}"
    assert "given up" in gives_up(Scene(), node_id).broken()
    assert "given up" in gives_up(says(Scene(), REPLACE, str(node_id)), node_id).broken()
    assert not gives_up(says(Scene(), REPLACE, named), node_id).broken() & {"given up", "5, token"}
    scene = says(Scene(), REPLACE, named)
    lease = scene.world.kube.get(LEASES, "kafka", "demo-disruption")
    assert lease is not None
    scene.world.kube.replace(LEASES, "kafka", {**lease, "spec": {"holderIdentity": "pool/hot"}})
    scene.steps(STEPS)
    assert "5, token" in gives_up(scene, node_id).broken()
