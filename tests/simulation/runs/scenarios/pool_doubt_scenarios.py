"""The table of scenarios of pools in which something is not certain: records that are rebuilt, two pools at once."""

from collections.abc import Callable
from typing import Final

from tests.simulation.model.place import NAMESPACE
from tests.simulation.model.world import World
from tests.simulation.rules.invariants import Checker
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

from kit.kube.protocol import CLAIMS, CONFIG_MAPS

_JBOD: Final = ((POOL, pool_spec(3, storage=[{"size": "1Gi"}, {"size": "1Gi"}])),)
_ORDERS: Final = Topic(name="orders", replicas=((0, 1, 2), (1, 2, 0), (2, 0, 1)))
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

DOUBTS: Final = (*REBUILT, *DRAINS)
