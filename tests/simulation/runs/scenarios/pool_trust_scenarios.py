"""Scenarios of pools whose controllers have TLS: the Secret comes late, and certificates are renewed.

The bare quorum of these runs speaks without TLS. What counts is which files a broker is given, and when it restarts.
"""

from typing import Final

from tests.simulation.model.place import NAMESPACE
from tests.simulation.model.world import World
from tests.simulation.runs.faults import Loss
from tests.simulation.runs.scenarios.pool_scenes import (
    KEYSTORE,
    POOL,
    PoolScenario,
    Topic,
    loses_broker,
    pool_says,
    pool_spec,
    pools_rest,
    publishes,
    with_topics,
    writes_secret,
)
from tests.simulation.runs.scenarios.scenes import When, turn

from kafka_quorum.model.contract import SECRET_PATH
from kit.kube.protocol import PODS

_ORDERS: Final = Topic(name="orders", replicas=((0, 1, 2), (1, 2, 0), (2, 0, 1)))
_RELEASE: Final = "4.4.0"
_BROKERS: Final = 3


def load(certificates: int) -> When:
    """Once every broker runs with the certificate of this generation."""
    return lambda world: not _others(world, certificates)


def _others(world: World, certificates: int) -> str:
    wanted = f"{SECRET_PATH}/keystore-{certificates}.pem"
    found = [broker.properties.get(KEYSTORE, "nothing") for broker in world.pools.every()]
    others = [path for path in found if path != wanted]
    return f"{len(found)} brokers run, and have loaded {', '.join(others)}" if others or len(found) != _BROKERS else ""


def is_replaced(world: World) -> bool:
    """Once the broker whose pod was deleted runs again, with the certificate that there is."""
    pod = world.kube.view(PODS, NAMESPACE, f"{POOL}-1-broker")
    return pod is not None and "deletionTimestamp" not in pod["metadata"] and load(1)(world)


TRUST_OF_POOLS: Final = (
    PoolScenario(
        name="pool-tls-renewed",
        pools=((POOL, pool_spec(_BROKERS)),),
        turns=(
            *with_topics(_ORDERS),
            turn("the controllers get TLS", pools_rest, publishes(_RELEASE, 2, certificates=1)),
            turn("the Secret comes late", pool_says("WaitingForSecret"), writes_secret(1)),
            turn("certificates are renewed", load(1), publishes(_RELEASE, 3, certificates=2)),
            turn("a pod is deleted meanwhile", pool_says("WaitingForSecret"), loses_broker(Loss.POD_DELETED, 1)),
            turn("the Secret has both", is_replaced, writes_secret(1, 2)),
        ),
        holds=lambda world: _others(world, 2),
        exhaustive=True,
    ),
)
