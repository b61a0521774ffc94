"""The table of scenarios of pools in which something is not certain: rebuilt records, two pools, an unheard end."""

from collections.abc import Callable
from typing import Final

from tests.simulation.model.place import NAMESPACE
from tests.simulation.model.world import World
from tests.simulation.rules.invariants import Checker
from tests.simulation.rules.pool_rules import TOGETHER
from tests.simulation.runs.scenarios.pool_scenes import (
    OTHER,
    POOL,
    PoolScenario,
    Topic,
    accepts_loss,
    applies_pool,
    cluster_of,
    lags,
    may_accept,
    pool_spec,
    pools_rest,
    several,
    with_topics,
)
from tests.simulation.runs.scenarios.scenes import after, turn
from tests.simulation.runs.scenarios.token_scenarios import holder, unheard

from kafka_brokers.kind import POOLS
from kit.kube.protocol import CLAIMS, CONFIG_MAPS

_JBOD: Final = ((POOL, pool_spec(3, storage=[{"size": "1Gi"}, {"size": "1Gi"}])),)
_ORDERS: Final = Topic(name="orders", replicas=((0, 1, 2), (1, 2, 0), (2, 0, 1)))
_BROKERS: Final = 3
_LATE_STEPS: Final = 8
"""A request to give the token back has its effect so late: while a broker of the next roll is away."""
_ALONE: Final = Topic(name="alone", replicas=((1,), (1,), (1,), (1,)), min_isr=1)


def loses_record(node_id: int, index: int) -> Callable[[World, Checker], None]:
    """The record of the pool is gone, with the claim of one volume, and the pods of its broker."""

    def act(world: World, _: Checker) -> None:
        world.delete_pods(NAMESPACE, POOL, node_id, force=True)
        for claim in list(world.claims(NAMESPACE, POOL, node_id)):
            if f"-{node_id}-d{index}-" in claim["metadata"]["name"]:
                world.kube.delete(CLAIMS, NAMESPACE, claim["metadata"]["name"])
        world.kube.delete(CONFIG_MAPS, NAMESPACE, f"{POOL}-broker-disks")

    return act


REBUILT: Final = tuple(
    scenario
    for index in (0, 1)
    for scenario in (
        PoolScenario(
            name=f"pool-record-and-claim-{index}",
            pools=_JBOD,
            turns=(*with_topics(_ORDERS), turn("loses record and claim", pools_rest, loses_record(1, index))),
        ),
        PoolScenario(
            name=f"pool-record-and-claim-{index}-of-last-copy",
            pools=_JBOD,
            turns=(*with_topics(_ORDERS, _ALONE), turn("loses record and claim", pools_rest, loses_record(1, index))),
            ends="LostDisk",
        ),
        PoolScenario(
            name=f"pool-record-and-claim-{index}-accepted",
            pools=_JBOD,
            turns=(
                *with_topics(_ORDERS, _ALONE),
                turn("loses record and claim", pools_rest, loses_record(1, index)),
                turn("accepts the loss", may_accept, accepts_loss),
            ),
        ),
    )
)


def _shrinks_both(world: World, checker: Checker) -> None:
    for name, replicas in ((POOL, 3), (OTHER, 1)):
        applies_pool({"replicas": replicas, "drain": "Automatic"}, name)(world, checker)


def _moves(world: World) -> bool:
    """Whether a reassignment runs."""
    return any(row.adding or row.removing for row in cluster_of(world).controller.image.partitions.values())


def _left(world: World) -> str:
    """Which partitions are on a broker that was to leave."""
    rows = cluster_of(world).controller.image.partitions.values()
    return ", ".join(f"{row.at} is on {row.replicas}" for row in rows if {3, 5} & set(row.replicas))


def _stayed(world: World) -> str:
    """Which partitions were moved away from broker 3, although it stays."""
    rows = cluster_of(world).controller.image.partitions.values()
    return ", ".join(f"{row.at} is on {row.replicas}" for row in rows if 3 not in row.replicas)


DRAINS: Final = (
    PoolScenario(
        name="two-pools-shrink",
        pools=((POOL, pool_spec(4)), (OTHER, pool_spec(2, firstNodeID=4))),
        release="4.1.2",
        turns=(
            *with_topics(
                Topic(name="first", replicas=((3, 0, 1), (3, 1, 2), (3, 2, 0))),
                Topic(name="second", replicas=((5, 0, 1), (5, 1, 2), (5, 2, 4))),
            ),
            turn("both shrink", pools_rest, _shrinks_both),
        ),
        holds=_left,
        exhaustive=True,
    ),
    PoolScenario(
        name="pool-stays-without-a-cordon",
        pools=((POOL, pool_spec(4)),),
        release="4.1.2",
        turns=(
            *with_topics(Topic(name="orders", replicas=((0, 1, 3), (3, 2, 0)))),
            turn("brokers 1 and 2 get nothing", pools_rest, several(lags(1, 60), lags(2, 60))),
            turn("asks for three", after(0), applies_pool({"replicas": 3, "drain": "Automatic"})),
            turn("asks for four", _moves, applies_pool({"replicas": 4})),
        ),
        holds=_stayed,
    ),
)


def _wants_more(world: World) -> None:
    world.kube.patch(POOLS, NAMESPACE, POOL, {"spec": {"config": {"queued.max.requests": "200"}}})


def _is_away(world: World) -> bool:
    """Whether fewer brokers run than the pool has."""
    return len(list(world.pools.every())) < _BROKERS


def _is_free_or_at_rest(world: World) -> bool:
    """Once nobody has the token while a broker is away; or the second roll has ended."""
    return not holder(world) and (_is_away(world) or (pools_rest(world) and not world.pending))


def _keeps_token(world: World, checker: Checker) -> None:
    if _is_away(world):
        checker.fail(TOGETHER, "the disruption token is free, and a broker that was stopped with it is not back")


def _given_back_late(name: str, *, second: bool) -> PoolScenario:
    """Another roll begins while the pool gives the token back, and this comes while a broker is away."""
    return PoolScenario(
        name=name,
        pools=((POOL, pool_spec(_BROKERS)),),
        turns=(
            *with_topics(_ORDERS),
            turn("changes the configuration", pools_rest, applies_pool({"config": {"queued.max.requests": "100"}})),
            turn("the token is free", _is_free_or_at_rest, _keeps_token),
        ),
        hitches=(unheard(f"pool/{POOL}", _LATE_STEPS, _wants_more, second=second),),
        bound=1500,
    )


TOKENS: Final = (
    _given_back_late("pool-token-given-back-late", second=False),
    _given_back_late("pool-token-freed-late", second=True),
)
DOUBTS: Final = (*REBUILT, *DRAINS, *TOKENS)
