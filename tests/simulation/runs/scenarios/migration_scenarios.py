"""The table of migrations: static to dynamic with brokers, and what may happen at each of its stages."""

import json
from collections.abc import Callable
from typing import Any, Final

from tests.simulation.model.kafka.releases import KRAFT
from tests.simulation.model.place import NAME, NAMESPACE
from tests.simulation.model.world import World
from tests.simulation.runs.faults import Loss
from tests.simulation.runs.scenarios.pool_scenes import (
    POOL,
    PoolScenario,
    Topic,
    cluster_of,
    frees_broker,
    holds_broker,
    loses_broker,
    pool_spec,
    pools_rest,
    with_topics,
)
from tests.simulation.runs.scenarios.release_scenes import (
    all_hold,
    both,
    ends_dynamic,
    ends_on,
    finalized,
    half_way,
    later,
    loses_record,
    pauses_for,
)
from tests.simulation.runs.scenarios.scenes import (
    Act,
    Scenario,
    applies,
    does_nothing,
    erases_status,
    is_ready,
    loses,
    spec_of,
    tells,
    turn,
)

from kafka_quorum.model.migration import STATIC_TO_DYNAMIC
from kit.kube.protocol import CONFIG_MAPS, Json

OLDER: Final = "3.9.2"
OLD: Final = "4.1.2"
NEW: Final = "4.4.0"
VOTERS: Final = "controller.quorum.voters"
_ORDERS: Final = Topic(name="orders", replicas=((0, 1, 2), (1, 2, 0), (2, 0, 1)))
_POOL: Final = ((POOL, pool_spec(3)),)


def kafka(version: str = OLD, *, dynamic: bool) -> Json:
    """The part of a spec that requests a release, and kraft.version 1 or nothing."""
    levels = [{"name": KRAFT, "level": 1}] if dynamic else []
    return {"kafka": {"version": version, "features": {"soakSeconds": 2, "levels": levels}}}


_STATIC: Final = spec_of("Static", 3, **kafka(dynamic=False))
ASKS: Final = applies(kafka(dynamic=True))


def record_of(world: World) -> dict[str, Any]:
    """The identity record, as it is stored; empty if there is none that can be read."""
    body = world.kube.view(CONFIG_MAPS, NAMESPACE, f"{NAME}-identity") or {}
    try:
        found: dict[str, Any] = json.loads((body.get("data") or {})["record.json"])
    except (KeyError, ValueError):
        return {}
    return found


def at_stage(name: str) -> Callable[[World], bool]:
    """Once the record is at this stage."""
    return lambda world: (record_of(world).get("migration") or {}).get("stage") == name


def has_ended(world: World) -> str:
    """A migration is still in the record; empty if none is."""
    reached = record_of(world).get("migration")
    return f"the migration is still at {reached['stage']}" if reached else ""


def brokers_without_voters(world: World) -> str:
    """Brokers that still run with the voters; empty if none does."""
    left = [one.node_id for one in cluster_of(world).brokers if one.serves and one.properties.get(VOTERS)]
    return f"brokers {left} still run with {VOTERS}" if left else ""


def stays_static(world: World) -> str:
    """Whether the quorum is as it was before the migration."""
    return ends_on(OLD, kraft=0)(world) or has_ended(world)


def is_over(world: World) -> bool:
    """Once the migration has ended, as the record and the level say."""
    return finalized(world, KRAFT) == 1 and not has_ended(world) and not record_of(world).get("static", True)


_ENDS: Final = turn("it ends", is_over, does_nothing)
_DONE: Final = all_hold(ends_dynamic(OLD), has_ended)
_ALL_DONE: Final = all_hold(ends_dynamic(OLD), has_ended, brokers_without_voters)
STAGES: Final = tuple(stage.name for stage in STATIC_TO_DYNAMIC.stages)
_BEYOND: Final = {
    "the-record-lost": (loses_record, _DONE),
    "the-status-lost": (erases_status, _DONE),
    "the-record-and-the-status-lost": (
        both(both(erases_status, loses_record), later(30, loses(Loss.SANDBOX, "leader"))),
        _DONE,
    ),
    "an-older-release-and-the-record-lost": (
        both(
            both(applies(kafka(OLDER, dynamic=True)), later(5, loses_record)),
            later(60, applies(kafka(dynamic=True))),
        ),
        _DONE,
    ),
    "a-pause": (pauses_for(60), _DONE),
    "a-lost-disk": (loses(Loss.EMPTIED_AND_KILLED, "follower"), _DONE),
    "a-lost-claim": (loses(Loss.CLAIM_DELETED, "follower"), _DONE),
    "the-leader-killed": (loses(Loss.SANDBOX, "leader"), _DONE),
    "another-release": (applies(kafka(NEW, dynamic=True)), all_hold(ends_dynamic(NEW), has_ended)),
    "other-voters": (applies({"controllers": {"replicas": 5}}), _DONE),
    "another-heap": (applies({"controllers": {"jvm": {"heap": "1Gi"}}}), _DONE),
    "a-faulty-spec": (
        both(applies({"controllers": {"replicas": -1}}), later(40, applies({"controllers": {"replicas": 3}}))),
        _DONE,
    ),
    "the-request-taken-back": (applies(kafka(dynamic=False)), _DONE),
}
"""What happens at a stage, and what the end must be."""


def _at(stage: str, name: str, act: Act, holds: Callable[[World], str]) -> Scenario:
    taken_back = name == "the-request-taken-back" and stage == STAGES[0]
    return Scenario(
        name=f"migration-{stage}-{name}".lower(),
        spec=_STATIC,
        turns=(turn("asks for kraft.version 1", is_ready, ASKS), turn(name, at_stage(stage), act)),
        holds=stays_static if taken_back else holds,
    )


def _either(world: World) -> str:
    """Static as before, or dynamic: what a request that is taken back somewhere may end in. Nothing in between."""
    return _DONE(world) and stays_static(world)


_LOWER: Final = {"name": "streams.version", "level": 0}


def _of_new(*levels: Json, dynamic: bool) -> Json:
    found = kafka(NEW, dynamic=dynamic)
    found["kafka"]["features"] |= {"downgrade": "Safe", "levels": [*found["kafka"]["features"]["levels"], *levels]}
    return found


MIGRATIONS: Final = (
    Scenario(
        name="static-record-and-status-gone",
        spec=_STATIC,
        turns=(
            turn(
                "loses both, then a pod",
                is_ready,
                both(both(erases_status, loses_record), later(30, loses(Loss.POD_DELETED, "leader"))),
            ),
        ),
        holds=stays_static,
    ),
    Scenario(
        name="migration-taken-back",
        spec=_STATIC,
        turns=(
            turn("asks for kraft.version 1", is_ready, ASKS),
            turn("takes it back", at_stage(STAGES[0]), applies(kafka(dynamic=False))),
        ),
        holds=_either,
    ),
    Scenario(
        name="migration-taken-back-without-a-leader",
        spec=_STATIC,
        turns=(
            turn("asks for kraft.version 1", is_ready, ASKS),
            turn(
                "takes it back as the leader ends",
                at_stage(STAGES[0]),
                both(loses(Loss.SANDBOX, "leader"), applies(kafka(dynamic=False))),
            ),
        ),
        holds=_either,
    ),
    Scenario(
        name="migration-asked-in-a-roll",
        spec=_STATIC,
        turns=(
            turn("asks for 4.4.0", is_ready, applies(kafka(NEW, dynamic=False))),
            turn("asks for kraft.version 1", half_way(NEW), applies(kafka(NEW, dynamic=True))),
        ),
        holds=all_hold(ends_dynamic(NEW), has_ended),
    ),
    Scenario(
        name="migration-beside-another-level",
        spec=spec_of("Static", 3, **_of_new(dynamic=False)),
        turns=(
            turn("asks for kraft.version 1", is_ready, applies(_of_new(dynamic=True))),
            turn("asks for a lower level", at_stage(STAGES[0]), applies(_of_new(_LOWER, dynamic=True))),
        ),
        holds=all_hold(ends_dynamic(NEW), ends_on(NEW, streams=0), has_ended),
    ),
    *(
        _at(stage, name, act, holds)
        for stage in STAGES
        for name, (act, holds) in _BEYOND.items()
        # At kraft.version 0 a lost disk waits for a person: static-lost-disk and static-emptied-disk.
        if stage != STAGES[0] or name not in {"a-lost-disk", "a-lost-claim"}
    ),
)

WITH_POOLS: Final = (
    PoolScenario(
        name="migration-with-a-pool",
        spec=_STATIC,
        controllers=0,
        pools=_POOL,
        turns=(*with_topics(_ORDERS), turn("asks for kraft.version 1", pools_rest, ASKS)),
        exhaustive=True,
        holds=_ALL_DONE,
    ),
    *(
        PoolScenario(
            name=f"migration-{stage}-with-a-lost-broker".lower(),
            spec=_STATIC,
            controllers=0,
            pools=_POOL,
            turns=(
                *with_topics(_ORDERS),
                turn("asks for kraft.version 1", pools_rest, ASKS),
                turn("loses a broker's disks", at_stage(stage), loses_broker(Loss.EMPTIED_AND_KILLED, 1)),
                _ENDS,
            ),
            holds=_ALL_DONE,
        )
        for stage in STAGES
    ),
    PoolScenario(
        name="migration-waits-for-a-held-broker",
        spec=_STATIC,
        controllers=0,
        pools=_POOL,
        turns=(
            *with_topics(_ORDERS),
            turn("asks for kraft.version 1", pools_rest, ASKS),
            turn("holds a broker", at_stage(STAGES[1]), holds_broker(1)),
            turn("lets it go", tells("FeaturesSettled", "broker 1: "), frees_broker(1)),
            _ENDS,
        ),
        holds=_ALL_DONE,
    ),
)
