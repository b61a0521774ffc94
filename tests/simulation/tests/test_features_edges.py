"""Requests about features, registrations and evictions get faults like all others, and are reported to the rules."""

import asyncio
from collections.abc import Awaitable

import pytest
from tests.simulation.model.happened import GhostCured, Happened, PodDeleted, StepAllowed, StopSent, UpdateSent
from tests.simulation.model.kafka.releases import level_of, levels_of, supported
from tests.simulation.model.world import World
from tests.simulation.runs.edges import CrashedError, Life, Wire
from tests.simulation.runs.faults import Call, Injection, Strike
from tests.simulation.runs.kafka_edge import KafkaEdge
from tests.simulation.runs.kube_edge import KubeEdge
from tests.simulation.tests.quorums import CLUSTER, disk, key

from kafka_quorum.errors import KafkaError
from kafka_quorum.model.ids import NodeID
from kafka_quorum.model.names import INPUTS_HASH
from kafka_quorum.model.quorum import Endpoint, FeatureStep, RegisterController, UpdateFeature
from kit.errors import KubeConflict, KubeHeld, KubeUnavailable
from kit.kube.protocol import BUDGETS, PODS, Json

METADATA = "metadata.version"
STEP = FeatureStep(name=METADATA, level=28)


def quorum() -> World:
    """Three voters at metadata.version 27."""
    world = World()
    keys = frozenset(key(node_id) for node_id in (1, 2, 3))
    for replica in sorted(keys, key=str):
        formatted = disk(replica, keys)
        formatted.levels = levels_of({METADATA: 27, "kraft.version": 1})
        node_id, address = replica.node_id, f"10.0.0.{replica.node_id}"
        world.kraft.start(formatted, node_id=node_id, address=address, host=address, port=9093, listener="CONTROLLER")
    for _ in range(10):
        world.step()
    return world


def at(world: World) -> Endpoint:
    """Where the leader listens."""
    leader = world.kraft.leader_of(CLUSTER)
    assert leader is not None
    return Endpoint(node_id=leader.meta.node_id, host=leader.address, port=leader.port)


def level(world: World) -> int:
    """The committed level."""
    return level_of(world.kraft.levels_of(CLUSTER), METADATA)


def wire(world: World, strike: Strike | None) -> Wire:
    """A wire that injects a fault into the first call."""
    return Wire(world=world, injection=strike and Injection(call=0, strike=strike))


def failed(call: Awaitable[None]) -> bool:
    """Whether the operator sees a failure."""

    async def made() -> None:
        await call

    try:
        asyncio.run(made())
    except (KafkaError, CrashedError):
        return True
    return False


@pytest.mark.parametrize(
    ("strike", "fails", "at_once", "in_the_end"),
    [
        (None, False, 28, 28),
        (Strike.ERROR, True, 27, 27),
        (Strike.LOST_ANSWER, True, 28, 28),
        (Strike.CRASH_AFTER, True, 28, 28),
        (Strike.LATE_EFFECT, True, 27, 28),
        (Strike.DOUBLED, False, 28, 28),
        (Strike.APPENDED, True, 27, 28),
    ],
)
def test_a_step_is_struck_like_any_write(strike: Strike | None, *, fails: bool, at_once: int, in_the_end: int) -> None:
    """A step with a fault takes effect now, later or never, whatever the operator observes."""
    world = quorum()
    edge = KafkaEdge(wire(world, strike), Life())
    request = UpdateFeature(step=STEP, validate_only=False, timeout_ms=1000)
    assert failed(edge.update_feature(at(world), request)) is fails
    assert level(world) == at_once
    for _ in range(30):
        world.step()
    assert level(world) == in_the_end


@pytest.mark.parametrize(("strike", "allowed"), [(None, True), (Strike.SLOW, True), (Strike.ERROR, False)])
def test_validating_is_a_read_and_its_yes_is_told(strike: Strike | None, *, allowed: bool) -> None:
    """The rules get the server's consent to a validated step; no level changes."""
    world = quorum()
    heard: list[Happened] = []
    world.listeners.append(heard.append)
    struck = wire(world, strike)
    request = UpdateFeature(step=STEP, validate_only=True, timeout_ms=1000)
    failed(KafkaEdge(struck, Life()).update_feature(at(world), request))
    assert [type(event) for event in heard] == [UpdateSent, *([StepAllowed] if allowed else [])]
    assert (level(world), struck.calls[0].writes) == (27, False)
    assert Strike.APPENDED not in struck.calls[0].strikes()


def test_only_what_leaders_append_can_be_appended_and_not_committed() -> None:
    """Only changes of voters and levels can be appended without being committed."""
    verbs = ("AddRaftVoter", "RemoveRaftVoter", "UpdateFeatures", "ControllerRegistration", "patch")
    calls = [Call(verb=verb, what="controller", name="1", writes=True) for verb in verbs]
    assert [Strike.APPENDED in call.strikes() for call in calls] == [True, True, True, False, False]


def test_cures_are_told_and_struck() -> None:
    """Registering for another controller and unregistering are reported when sent; an answer can be lost."""
    world = quorum()
    heard: list[Happened] = []
    world.listeners.append(heard.append)
    request = RegisterController(node_id=NodeID(9), incarnation_id="g", supported=supported("4.4.0"), listeners=())
    assert failed(KafkaEdge(wire(world, Strike.LOST_ANSWER), Life()).register_controller(at(world), request))
    leader = world.kraft.leader_of(CLUSTER)
    assert leader is not None
    assert 9 in {one.node_id for one in leader.committed.registered}
    assert failed(KafkaEdge(wire(world, None), Life()).unregister_controller(at(world), NodeID(9)))  # 27 is too old
    world.kraft.append_levels(leader, levels_of({METADATA: 33, "kraft.version": 1}))
    assert not failed(KafkaEdge(wire(world, None), Life()).unregister_controller(at(world), NodeID(9)))
    assert 9 not in {one.node_id for one in leader.committed.registered}
    assert [event.node_id for event in heard if isinstance(event, GhostCured)] == [9, 9, 9]


def pods(*, least: int) -> tuple[World, Json]:
    """A pod that runs, under a budget."""
    world = World()
    spec = {"minAvailable": least, "selector": {"matchLabels": {"v": "1"}}}
    world.kube.create(BUDGETS, "kafka", {"metadata": {"name": "b"}, "spec": spec})
    metadata = {"name": "p", "labels": {"v": "1"}, "annotations": {INPUTS_HASH: "h"}}
    body = world.kube.create(PODS, "kafka", {"metadata": metadata, "spec": {"nodeName": "node-x", "containers": []}})
    row = {"name": "kafka", "state": {"running": {}}}
    return world, world.kube.put_status(PODS, body, {"containerStatuses": [row]})


def evict(world: World, body: Json, strike: Strike | None) -> list[Happened]:
    """Evict the pod through the edge; returns what the rules get."""
    heard: list[Happened] = []
    world.listeners.append(heard.append)
    metadata = body["metadata"]
    edge = KubeEdge(wire(world, strike), Life())
    asyncio.run(edge.evict("kafka", "p", uid=metadata["uid"], resource_version=metadata["resourceVersion"]))
    return heard


def test_an_eviction_is_told_as_one_and_a_held_one_is_not() -> None:
    """An eviction is reported with the pod's inputs; if the budget holds it, no pod is reported as deleted."""
    world, body = pods(least=0)
    sent, event = evict(world, body, None)
    assert isinstance(sent, StopSent)
    assert isinstance(event, PodDeleted)
    assert (sent.stop.name, event.late) == ("p", False)
    assert (event.evicted, event.inputs, event.name) == (True, "h", "p")
    world, body = pods(least=1)
    with pytest.raises(KubeHeld):
        evict(world, body, None)
    assert "deletionTimestamp" not in (world.kube.get(PODS, "kafka", "p") or body)["metadata"]


@pytest.mark.parametrize(("strike", "error"), [(Strike.CONFLICT, KubeConflict), (Strike.ERROR, KubeUnavailable)])
def test_an_eviction_is_struck_like_any_conditional_write(strike: Strike, error: type[Exception]) -> None:
    """An eviction fails without effect if another writer changes the pod just before, or the connection breaks."""
    world, body = pods(least=0)
    with pytest.raises(error):
        evict(world, body, strike)
    assert "deletionTimestamp" not in (world.kube.get(PODS, "kafka", "p") or body)["metadata"]
