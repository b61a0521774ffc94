"""The tables about time: slow starters, late calls, a leader that reports late, voters that lag for long.

An earlier version of the operator failed in each scenario; mutants in `mutations/` make it fail again.
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
from tests.simulation.runs.accidents import freeze_for
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
    rests,
    spec_of,
    turn,
)
from tests.simulation.runs.slow import Hitch

from kafka_quorum.kind import QUORUMS
from kafka_quorum.model.names import LABEL_NODE, LABEL_ROLE, REVISION, budget_name
from kit.kube.protocol import BUDGETS, CONFIG_MAPS, PODS, Json

_OLD_LOOK_STEPS: Final = 10
_LAG_STEPS: Final = 20
_REPORT_STEPS: Final = 20
_FEW: Final = 3
_MANY: Final = 5
_LATE_STEPS: Final = 120
"""The budget of three voters arrives so late: when there are five again."""


def kafka_at(level: int) -> Json:
    """The part of a spec that holds this metadata.version."""
    levels = [{"name": "metadata.version", "level": level}]
    return {"version": "4.4.0", "features": {"policy": "Hold", "soakSeconds": 2, "levels": levels}}


def _spec(timeout_ms: int = 2_000, *, level: int = 27) -> Json:
    settings = {"config": {FETCH_TIMEOUT: str(timeout_ms)}}
    return spec_of("InitialControllers", 3, controllers=settings, kafka=kafka_at(level))


_OLDER: Final = {**kafka_at(27), "version": "4.1.2"}
_STEP_STEPS: Final = 8
"""The step of a level has its effect so late: when a controller was restarted, if nothing waited for it."""


# The conditions and acts of these scenarios


def moved_not_stopped(world: World) -> set[int]:
    """The controllers that the record has moved to a revision that their running pods do not have."""
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


def is_moving(world: World) -> bool:
    """Once a controller is moved to another revision and runs its earlier pod."""
    return bool(moved_not_stopped(world))


def _is_stopping(world: World) -> bool:
    """Once the inputs for the pod of a moved controller are all there: the next pass stops the old pod."""
    configs = [item for item in world.kube.all(CONFIG_MAPS) if "-config-" in item["metadata"]["name"]]
    return len(configs) > 1 and is_moving(world)


def _another_follower(world: World) -> Process:
    """A voter that does not lead and is not about to be stopped."""
    moved = moved_not_stopped(world)
    return max(
        (one for one in world.kraft.processes if not one.leads and one.meta.node_id not in moved),
        key=lambda one: one.meta.node_id,
    )


def _freezes_another(world: World) -> None:
    """Another follower is frozen, long enough to be noticed, and continues later."""
    freeze_for(world, _another_follower(world), _OLD_LOOK_STEPS + _LAG_STEPS)


def _slows_another(world: World, _: Checker) -> None:
    """Another follower fetches almost nothing until it is restarted."""
    _another_follower(world).slow = True


def _leader_reports_late(world: World, _: Checker) -> None:
    """For a while the leader reports the levels of this moment: its image is published late."""
    leader = next(one for one in world.kraft.processes if one.leads)
    leader.told = leader.committed
    world.later(_REPORT_STEPS, lambda: setattr(leader, "told", None))


def _slows_a_follower(world: World, _: Checker) -> None:
    """The lowest follower lags for a long time."""
    process = min((one for one in world.kraft.processes if not one.leads), key=lambda one: one.meta.node_id)
    process.slow = True


def _nothing_lags(world: World, _: Checker) -> None:
    for process in world.kraft.processes:
        process.slow = False


def _voters(count: int) -> Callable[[World], str]:
    """The ending has this number of voters."""

    def why_not(world: World) -> str:
        leader = next((one for one in world.kraft.processes if one.leads), None)
        found = len(leader.voters) if leader else 0
        return "" if found == count else f"there are {found} voters, and not {count}"

    return why_not


def _count(world: World) -> int:
    """How many voters the leader has; none without a leader."""
    leader = next((one for one in world.kraft.processes if one.leads), None)
    return len(leader.voters) if leader else 0


def _few(world: World) -> bool:
    """Once the last controller that leaves is removed: the budget that is applied next is the loosest one."""
    return _count(world) == _FEW and not is_changing(world)


def _asks_for_more(world: World) -> None:
    world.kube.patch(QUORUMS, NAMESPACE, NAME, {"spec": {"controllers": {"replicas": _MANY}}})


def _is_loose(world: World) -> bool:
    """Whether the disruption budget lets a drain stop a majority."""
    budget = world.kube.view(BUDGETS, NAMESPACE, budget_name(NAME)) or {"spec": {"minAvailable": 0}}
    return 0 < _count(world) >= 2 * int(budget["spec"]["minAvailable"]) > 0


def _is_loose_or_at_rest(world: World) -> bool:
    return _is_loose(world) or (rests(world) and _count(world) == _MANY and not world.pending)


def _is_strict(world: World, checker: Checker) -> None:
    if _is_loose(world):
        checker.fail("3", f"the disruption budget lets a drain stop a majority of {_count(world)} voters")


def _asks_for_older(world: World) -> None:
    """The release that cannot read the next level."""
    world.kube.patch(QUORUMS, NAMESPACE, NAME, {"spec": {"kafka": _OLDER}})


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
    *(
        Scenario(
            name=name,
            spec=_spec(),
            turns=(turn("wants another heap", is_ready, applies({"controllers": {"jvm": {"heap": "1Gi"}}})),),
            hitches=(Hitch(verb=verb, when=_is_stopping, steps=_OLD_LOOK_STEPS, meanwhile=_freezes_another),),
            holds=ends_restarted("1024m"),
        )
        for name, verb in (("stopped-on-an-old-look", "DescribeCluster"), ("evicted-on-an-old-look", "ask-evict"))
    ),
    Scenario(
        name="moved-beside-one-that-lags",
        spec=_spec(),
        turns=(
            turn("wants another heap", is_ready, applies({"controllers": {"jvm": {"heap": "1Gi"}}})),
            turn("pauses; another one lags", is_moving, both(_slows_another, pauses_for(_LAG_STEPS))),
        ),
        holds=ends_restarted("1024m"),
    ),
    Scenario(
        name="leader-reports-late",
        spec=_spec(level=27),
        turns=(
            turn("names the next level", is_ready, applies({"kafka": kafka_at(28)})),
            turn("the leader reports late", is_changing, _leader_reports_late),
        ),
        holds=ends_on("4.4.0", metadata=28),
    ),
    Scenario(
        name="older-image-before-a-step-comes-late",
        spec=spec_of("InitialControllers", 3, kafka=_OLDER),
        turns=(
            turn("wants a newer release", is_ready, applies({"kafka": kafka_at(27)})),
            turn("names the next level", rests, applies({"kafka": kafka_at(28)})),
        ),
        hitches=(
            Hitch(verb="UpdateFeatures", when=is_changing, steps=0, meanwhile=lambda _: None),
            Hitch(
                verb="UpdateFeatures",
                when=is_changing,
                steps=_STEP_STEPS,
                meanwhile=_asks_for_older,
                unanswered=True,
            ),
        ),
        until_s=120,
        ends="OlderImage",
    ),
    Scenario(
        name="budget-applied-late",
        spec=spec_of("InitialControllers", _MANY),
        turns=(
            turn("asks for three", is_ready, applies({"controllers": {"replicas": _FEW}})),
            turn("the budget is too loose", _is_loose_or_at_rest, _is_strict),
        ),
        hitches=(
            Hitch(
                verb="apply",
                what=BUDGETS.plural,
                when=_few,
                steps=_LATE_STEPS,
                meanwhile=_asks_for_more,
                unanswered=True,
            ),
        ),
        bound=1500,
        holds=_voters(_MANY),
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
