"""The tables about time: slow starters, calls that arrive late, a leader that reports late, voters that lag for long.

Each scenario is one that an earlier version of the operator got wrong; `mutations.py` has it go wrong again.
"""

import json
from collections.abc import Callable
from typing import Final

from tests.simulation.model.kafka.process import Process
from tests.simulation.model.kafka.startup import slow
from tests.simulation.model.kubernetes.pod_words import FETCH_TIMEOUT
from tests.simulation.model.place import NAME, NAMESPACE
from tests.simulation.model.world import World
from tests.simulation.rules.invariants import Checker
from tests.simulation.runs.faults import Loss
from tests.simulation.runs.scenarios.release_scenes import both, ends_on, ends_restarted, pauses_for
from tests.simulation.runs.scenarios.scenes import (
    Scenario,
    after,
    always,
    applies,
    is_changing,
    is_ready,
    loses,
    spec_of,
    turn,
)
from tests.simulation.runs.slow import Hitch

from kafka_quorum.model.names import LABEL_NODE, LABEL_ROLE, REVISION
from kit.kube.protocol import CONFIG_MAPS, PODS, Json

_OLD_LOOK_STEPS: Final = 10
_LAG_STEPS: Final = 20
_REPORT_STEPS: Final = 20


def _kafka(level: int) -> Json:
    levels = [{"name": "metadata.version", "level": level}]
    return {"version": "4.4.0", "features": {"policy": "Hold", "soakSeconds": 2, "levels": levels}}


def _spec(timeout_ms: int = 2_000, *, level: int = 27) -> Json:
    settings = {"config": {FETCH_TIMEOUT: str(timeout_ms)}}
    return spec_of("InitialControllers", 3, controllers=settings, kafka=_kafka(level))


# What somebody waits for, and does


def moved_not_stopped(world: World) -> set[int]:
    """The controllers that the record has moved to another revision than that of the pod that runs."""
    stored = world.kube.get(CONFIG_MAPS, NAMESPACE, f"{NAME}-identity")
    nodes = json.loads(stored["data"]["record.json"])["nodes"] if stored else ()
    wanted = {node["node_id"]: node.get("revision") for node in nodes}
    found = set()
    for pod in world.kube.all(PODS):
        metadata = pod["metadata"]
        node_id = int(metadata["labels"][LABEL_NODE])
        runs = metadata["labels"][LABEL_ROLE] == "controller" and "deletionTimestamp" not in metadata
        if runs and wanted.get(node_id) and metadata["annotations"].get(REVISION) != wanted[node_id]:
            found.add(node_id)
    return found


def _is_moving(world: World) -> bool:
    return bool(moved_not_stopped(world))


def _is_stopping(world: World) -> bool:
    """Once all is there that the pod of a moved controller is to be made of: the next pass stops it."""
    configs = [item for item in world.kube.all(CONFIG_MAPS) if "-config-" in item["metadata"]["name"]]
    return len(configs) > 1 and _is_moving(world)


def _another_follower(world: World) -> Process:
    """A voter that neither leads nor is about to be stopped."""
    moved = moved_not_stopped(world)
    return max(
        (one for one in world.kraft.processes if not one.leads and one.meta.node_id not in moved),
        key=lambda one: one.meta.node_id,
    )


def _freezes_another(world: World) -> None:
    """Another follower stands still, for long enough to be missed and not for ever."""
    process = _another_follower(world)
    process.frozen = True
    world.later(_OLD_LOOK_STEPS + _LAG_STEPS, lambda: setattr(process, "frozen", False))


def _slows_another(world: World, _: Checker) -> None:
    """Another follower fetches next to nothing, until it is restarted."""
    _another_follower(world).slow = True


def _leader_reports_late(world: World, _: Checker) -> None:
    """The leader goes on reporting the levels of this moment for a while, as one whose image is published late."""
    leader = next(one for one in world.kraft.processes if one.leads)
    leader.told = leader.committed
    world.later(_REPORT_STEPS, lambda: setattr(leader, "told", None))


def _slows_a_follower(world: World, _: Checker) -> None:
    """The lowest follower lags, for a long time."""
    process = min((one for one in world.kraft.processes if not one.leads), key=lambda one: one.meta.node_id)
    process.slow = True


def _nothing_lags(world: World, _: Checker) -> None:
    for process in world.kraft.processes:
        process.slow = False


def _voters(count: int) -> Callable[[World], str]:
    """Where it ends: with so many voters."""

    def why_not(world: World) -> str:
        leader = next((one for one in world.kraft.processes if one.leads), None)
        found = len(leader.voters) if leader else 0
        return "" if found == count else f"there are {found} voters, and not {count}"

    return why_not


TIMES: Final = (
    *(
        Scenario(
            name=f"slow-starters-at-{timeout_ms // 1000}s",
            spec=_spec(timeout_ms),
            turns=(turn("wants another heap", is_ready, applies({"controllers": {"jvm": {"heap": "1Gi"}}})),),
            pace=slow,
            holds=ends_restarted("1024m"),
        )
        for timeout_ms in (1_000, 5_000, 10_000, 30_000)
    ),
    *(
        Scenario(
            name=f"timeout-from-{before}s-to-{now}s",
            spec=_spec(before * 1000),
            turns=(
                turn(
                    "wants another timeout",
                    is_ready,
                    applies({"controllers": {"config": {FETCH_TIMEOUT: str(now * 1000)}}}),
                ),
            ),
            pace=slow,
        )
        for before, now in ((1, 30), (30, 1))
    ),
    Scenario(
        name="stopped-on-an-old-look",
        spec=_spec(),
        turns=(turn("wants another heap", is_ready, applies({"controllers": {"jvm": {"heap": "1Gi"}}})),),
        hitches=(Hitch(verb="DescribeCluster", when=_is_stopping, steps=_OLD_LOOK_STEPS, meanwhile=_freezes_another),),
        holds=ends_restarted("1024m"),
    ),
    Scenario(
        name="moved-beside-one-that-lags",
        spec=_spec(),
        turns=(
            turn("wants another heap", is_ready, applies({"controllers": {"jvm": {"heap": "1Gi"}}})),
            turn("pauses; another one lags", _is_moving, both(_slows_another, pauses_for(_LAG_STEPS))),
        ),
        holds=ends_restarted("1024m"),
    ),
    Scenario(
        name="leader-reports-late",
        spec=_spec(level=27),
        turns=(
            turn("names the next level", is_ready, applies({"kafka": _kafka(28)})),
            turn("the leader reports late", is_changing, _leader_reports_late),
        ),
        holds=ends_on("4.4.0", metadata=28),
    ),
    Scenario(
        name="lost-node-beside-observers",
        spec=_spec(),
        turns=(
            turn("a voter lags", is_ready, _slows_a_follower),
            turn("a node is lost", always, loses(Loss.NODE_KILLED, "follower")),
            turn("asks for five", always, applies({"controllers": {"replicas": 5}})),
            turn("nothing lags any more", after(90), _nothing_lags),
        ),
        holds=_voters(5),
    ),
)
