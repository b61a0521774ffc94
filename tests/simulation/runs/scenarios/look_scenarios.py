"""Scenarios of rolls in which a look proves less than it seems to, or the roll would wait for its own repair."""

import json
from typing import Final

from tests.simulation.model.kafka.releases import METADATA, with_level
from tests.simulation.model.kafka.startup import slow
from tests.simulation.model.kubernetes.pod_words import FETCH_TIMEOUT
from tests.simulation.model.place import NAME, NAMESPACE
from tests.simulation.model.world import STEP_S, World
from tests.simulation.rules.invariants import Checker
from tests.simulation.runs.scenarios.release_scenes import all_run, both, controllers, finalized
from tests.simulation.runs.scenarios.scenes import (
    Scenario,
    Turn,
    When,
    after,
    applies,
    image_vanishes,
    is_ready,
    rests,
    says,
    spec_of,
    turn,
)
from tests.simulation.runs.slow import Hitch

from kafka_quorum.inventories import EVERY_S
from kafka_quorum.model.names import LABEL_NODE, LABEL_ROLE, REVISION, record_name
from kafka_quorum.observe.glance import LEVELS_EVERY_S
from kafka_quorum.settings import Settings
from kit.kube.protocol import CONFIG_MAPS, PODS, SERVICES

_BEFORE, _RAISED = "4.1.2", 33
_LONG_S: Final = 300.0
"""Long after a roll has ended."""
_HEAP: Final = {"controllers": {"jvm": {"heap": "1Gi"}}}


def moved(world: World) -> int | None:
    """The controller that the record has moved, while its pod still has the old revision; None if there is none."""
    stored = world.kube.get(CONFIG_MAPS, NAMESPACE, record_name(NAME))
    nodes = json.loads(stored["data"]["record.json"])["nodes"] if stored else ()
    wanted = {node["node_id"]: node["revision"] for node in nodes if node["revision"]}
    for pod in world.kube.all(PODS):
        labels, annotations = pod["metadata"]["labels"], pod["metadata"].get("annotations") or {}
        node_id = int(labels.get(LABEL_NODE, -1))
        if labels.get(LABEL_ROLE) == "controller" and annotations.get(REVISION) != wanted.get(
            node_id, annotations.get(REVISION)
        ):
            return node_id
    return None


def is_moved(world: World) -> bool:
    """Whether a controller is moved and not stopped."""
    return moved(world) is not None


def other(world: World) -> int:
    """A follower that is not the moved one."""
    return next(one.meta.node_id for one in controllers(world) if not one.leads and one.meta.node_id != moved(world))


def other_lags(world: World) -> None:
    """Another follower gets no record until it is restarted."""
    stuck = other(world)
    for one in controllers(world):
        one.slow = one.slow or one.meta.node_id == stuck


def starts_slowly(world: World, _: Checker) -> None:
    """From now on every server starts slowly."""
    world.kubelet.pace = slow


def _long_at_rest(world: World) -> bool:
    """Some inventories have confirmed what was read when the quorum became ready."""
    return is_ready(world) and after(3.5 * EVERY_S)(world)


def _goes_unseen(world: World, _: Checker) -> None:
    """The service is deleted, and no watch reports it."""
    world.unwatched = True
    for item in world.kube.list(SERVICES, NAMESPACE, {}):
        world.kube.delete(SERVICES, NAMESPACE, item["metadata"]["name"])
    world.unwatched = False


def _has_its_service(world: World) -> bool:
    return bool(world.kube.list(SERVICES, NAMESPACE, {}))


def _rests_on(release: str, seconds: float) -> When:
    """Once it rests with every controller on this release, this long after the beginning at the earliest."""
    return lambda world: rests(world) and all_run(release)(world) and after(seconds)(world)


def _others_raise(world: World, _: Checker) -> None:
    """A person raises metadata.version with Kafka's own tool."""
    leader = next(one for one in controllers(world) if one.leads)
    world.kraft.append_levels(leader, with_level(leader.disk.image.levels, METADATA, _RAISED))


def _image_comes_back(world: World, _: Checker) -> None:
    world.kubelet.bad_images = ()


def _was_raised(world: World) -> str:
    return "" if finalized(world, METADATA) == _RAISED else f"metadata.version is {finalized(world, METADATA)}"


LOOKS: Final = (
    Scenario(
        name="levels-that-others-raise-at-rest",
        spec=spec_of("InitialControllers", 3, kafka={"version": _BEFORE, "features": {"policy": "Hold"}}),
        turns=(
            turn("asks for 4.4.0", rests, applies({"kafka": {"version": "4.4.0"}})),
            turn("others raise metadata.version", _rests_on("4.4.0", _LONG_S), _others_raise),
            turn(
                "all end, their image is gone, and the release of before is named",
                after(_LONG_S + 2 * LEVELS_EVERY_S),
                both(image_vanishes, applies({"kafka": {"version": _BEFORE}})),
            ),
            turn("the image is back", says("Degraded", "PodStuck"), _image_comes_back),
        ),
        ends="OlderImage",
        holds=_was_raised,
        bound=1500,
    ),
    Scenario(
        name="deletion-that-no-watch-reports",
        spec=spec_of("InitialControllers", 3),
        turns=(Turn(what="loses its service", when=_long_at_rest, act=_goes_unseen),),
        until=_has_its_service,
        bound=int((4.5 * EVERY_S + Settings(holder="").resync_s) / STEP_S) + 60,
    ),
    Scenario(
        name="roll-of-slow-starters",
        spec=spec_of("InitialControllers", 3, controllers={"config": {FETCH_TIMEOUT: "10000"}}),
        turns=(Turn(what="wants another heap", when=is_ready, act=both(starts_slowly, applies(_HEAP))),),
    ),
    Scenario(
        name="roll-with-one-that-lags-for-good",
        spec=spec_of("InitialControllers", 3),
        turns=(Turn(what="wants another heap", when=is_ready, act=applies(_HEAP)),),
        hitches=(Hitch(verb="list", when=is_moved, steps=10, meanwhile=other_lags),),
    ),
)
"""The cases behind the corrections of looks and rolls."""
