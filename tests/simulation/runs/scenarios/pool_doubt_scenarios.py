"""The table of scenarios of pools in which something is not certain: records that are rebuilt, two pools at once."""

from collections.abc import Callable
from typing import Final

from tests.simulation.model.place import NAMESPACE
from tests.simulation.model.world import World
from tests.simulation.rules.invariants import Checker
from tests.simulation.runs.scenarios.pool_scenes import (
    POOL,
    PoolScenario,
    Topic,
    annotates_pool,
    pool_says,
    pool_spec,
    pools_rest,
    with_topics,
)
from tests.simulation.runs.scenarios.scenes import turn

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
                turn("accepts the loss", pool_says("LostDisk"), annotates_pool(accept_loss="1")),
            ),
        ),
    )
)

DOUBTS: Final = REBUILT
