"""The table of scenarios of pools: bootstrap, rolls, releases, lost disks and nodes, scaling, holds, old pictures."""

from collections.abc import Callable
from typing import Final

from tests.simulation.model.world import World
from tests.simulation.rules.invariants import Checker
from tests.simulation.runs.faults import Loss
from tests.simulation.runs.scenarios.pool_doubt_scenarios import DOUBTS
from tests.simulation.runs.scenarios.pool_scenes import (
    OTHER,
    POOL,
    PoolScenario,
    Topic,
    accepts_loss,
    applies_pool,
    budgets,
    budgets_no_more,
    cluster_of,
    creates,
    cut_machine,
    cut_off,
    deletes_claim,
    fetches_slowly,
    frees_broker,
    has_compared,
    has_formatter,
    has_retired_claim,
    hides_disk,
    holds_broker,
    holds_token,
    is_out_of_sync,
    is_rolled,
    is_stopping,
    is_unscheduled,
    kubelets_report,
    lags,
    loses_broker,
    loses_volume,
    may_accept,
    moves,
    pool_says,
    pool_spec,
    pools_are_ready,
    pools_rest,
    processes_connect,
    publishes,
    quorum_starts,
    quorum_stops,
    replaces_sandbox,
    several,
    stops_producing,
    with_topics,
    without_power,
)
from tests.simulation.runs.scenarios.pool_trust_scenarios import TRUST_OF_POOLS
from tests.simulation.runs.scenarios.scenes import after, does_nothing, spec_of, turn

from kit.kube.protocol import PODS, SERVICES

_THREE: Final = ((POOL, pool_spec(3)),)
_FOUR: Final = ((POOL, pool_spec(4)),)
_ORDERS: Final = Topic(name="orders", replicas=((0, 1, 2), (1, 2, 0), (2, 0, 1)))
_EVENTS: Final = Topic(name="events", replicas=((0, 1, 2),), min_isr=1)
_LAST_COPY: Final = (
    *with_topics(_ORDERS, Topic(name="alone", replicas=((1,),), min_isr=1)),
    turn("loses a disk", pools_rest, loses_broker(Loss.EMPTIED_AND_KILLED, 1)),
)
_ACCEPTED: Final = turn("accepts the loss", may_accept, accepts_loss)
_BY_HAND: Final = {"lostNodeAfterSeconds": 600, "lostDisk": "Manual"}
_EVERYWHERE: Final = Topic(name="moved", replicas=((0, 1, 2),))
_CONFIG: Final = applies_pool({"config": {"queued.max.requests": "100"}})
_JBOD: Final = {"storage": [{"size": "1Gi"}, {"size": "1Gi"}]}
_NODES: Final = {"name": "NODES", "port": 9094, "external": "NodePort"}
_BALANCED: Final = {"name": "LB", "port": 9095, "external": "LoadBalancer"}


def _balancers_stop(world: World, _: Checker) -> None:
    """The cloud does not answer: no load balancer is made or taken down any more."""
    world.services.balances = False


def _services_stay(world: World) -> str:
    """The services of load balancers are deleted, and there: one for each broker, and one to begin with."""
    ending = ["deletionTimestamp" in each["metadata"] for each in world.kube.all(SERVICES)]
    return "" if sum(ending) == 3 else f"{sum(ending)} services are being deleted"


def _scaled(replicas: int, drain: str = "Automatic") -> dict[str, object]:
    return {"replicas": replicas, "drain": drain}


def _has_left(world: World) -> bool:
    """Once the pod of the last broker is gone."""
    return all(pod["metadata"]["name"] != f"{POOL}-3-broker" for pod in world.kube.all(PODS))


def _has_moved(world: World) -> str:
    """Whether no partition lists a broker that left."""
    rows = cluster_of(world).controller.image.partitions.values()
    left = [f"{row.at} is on {row.replicas}" for row in rows if max(row.replicas) > 2]
    return ", ".join(left)


ROLLS: Final = (
    PoolScenario(name="pool-3", pools=_THREE, exhaustive=True),
    PoolScenario(
        name="pool-roll",
        pools=_THREE,
        turns=(*with_topics(_ORDERS, _EVENTS), turn("changes the configuration", pools_rest, _CONFIG)),
        exhaustive=True,
    ),
    PoolScenario(
        name="pool-roll-without-elr",
        pools=_THREE,
        elr=False,
        turns=(*with_topics(_ORDERS, _EVENTS), turn("changes the configuration", pools_rest, _CONFIG)),
        exhaustive=True,
    ),
    PoolScenario(
        name="pool-release",
        pools=_THREE,
        release="4.1.2",
        turns=(*with_topics(_ORDERS), turn("publishes 4.4.0", pools_rest, publishes("4.4.0"))),
        exhaustive=True,
    ),
    PoolScenario(
        name="pool-dynamic",
        pools=_THREE,
        turns=(
            *with_topics(_ORDERS),
            turn("changes a dynamic setting", pools_rest, applies_pool({"config": {"num.network.threads": "5"}})),
        ),
    ),
    PoolScenario(
        name="pool-roll-held",
        pools=_THREE,
        turns=(
            *with_topics(Topic(name="alone", replicas=((0,), (1,)), min_isr=1)),
            turn("changes the configuration", pools_rest, _CONFIG),
        ),
        ends="RollHeld",
    ),
    PoolScenario(
        name="pool-roll-min-isr-is-rf",
        pools=_THREE,
        turns=(
            *with_topics(Topic(name="strict", replicas=((0, 1, 2),), min_isr=3)),
            turn("changes the configuration", pools_rest, _CONFIG),
        ),
        ends="RollHeld",
    ),
    PoolScenario(
        name="pool-roll-allowed",
        pools=_THREE,
        turns=(
            *with_topics(Topic(name="alone", replicas=((0,), (1,)), min_isr=1)),
            turn(
                "allows it",
                pools_rest,
                applies_pool(
                    {"config": {"queued.max.requests": "100"}, "roll": {"unavailablePartitions": "Allow"}},
                ),
            ),
        ),
    ),
    PoolScenario(
        name="pool-roll-together",
        pools=((POOL, pool_spec(6, roll={"maxUnavailable": 2})),),
        turns=(
            *with_topics(Topic(name="one", replicas=((0, 1, 2),)), Topic(name="two", replicas=((3, 4, 5),))),
            turn("changes the configuration", pools_rest, _CONFIG),
        ),
        exhaustive=True,
    ),
    PoolScenario(
        name="pool-roll-pairs",
        pools=((POOL, pool_spec(6, roll={"maxUnavailable": 2})),),
        turns=(
            *with_topics(Topic(name="pairs", replicas=((0, 1), (2, 3), (4, 5)), min_isr=1)),
            turn("changes the configuration", pools_rest, _CONFIG),
        ),
    ),
    PoolScenario(
        name="pool-roll-together-sharing",
        pools=((POOL, pool_spec(4, roll={"maxUnavailable": 3})),),
        turns=(
            *with_topics(Topic(name="one", replicas=((0, 1, 2, 3),), min_isr=1)),
            turn("changes the configuration", pools_rest, _CONFIG),
        ),
    ),
    PoolScenario(
        name="pool-roll-during-moves",
        pools=_FOUR,
        turns=(
            *with_topics(_EVERYWHERE),
            turn("broker 3 gets nothing", pools_rest, lags(3, 150)),
            turn("a move to it begins", after(0), moves("moved", 0, 1, 3)),
            turn("changes the configuration", after(0), _CONFIG),
        ),
    ),
    PoolScenario(
        name="pool-roll-with-one-that-lags",
        pools=_THREE,
        turns=(
            *with_topics(_ORDERS),
            turn("broker 2 gets nothing", pools_rest, lags(2, 150)),
            turn("changes the configuration", is_out_of_sync(2, "orders"), _CONFIG),
        ),
    ),
    PoolScenario(
        name="pool-roll-of-slow-replicas-of-one",
        pools=_THREE,
        turns=(
            *with_topics(_EVENTS),
            turn("replicas fetch slowly", pools_rest, fetches_slowly),
            turn("changes the configuration", after(0), _CONFIG),
        ),
    ),
    PoolScenario(
        name="pool-roll-of-slow-replicas",
        pools=_THREE,
        turns=(
            *with_topics(_ORDERS, _EVENTS),
            turn("replicas fetch slowly", pools_rest, fetches_slowly),
            turn("changes the configuration", after(0), _CONFIG),
        ),
    ),
)


def _changes_both(world: World, checker: Checker) -> None:
    for name in (POOL, OTHER):
        applies_pool({"config": {"queued.max.requests": "100"}}, name)(world, checker)


TWO_POOLS: Final = (
    PoolScenario(
        name="two-pools",
        pools=((POOL, pool_spec(3)), (OTHER, pool_spec(2, firstNodeID=3))),
        turns=(
            *with_topics(_ORDERS, Topic(name="both", replicas=((0, 3, 4), (4, 1, 2)))),
            turn("changes both", pools_rest, _changes_both),
        ),
        exhaustive=True,
    ),
    PoolScenario(
        name="pool-waits-for-the-token",
        pools=_THREE,
        turns=(
            *with_topics(_ORDERS),
            turn("the quorum has the token", pools_rest, holds_token(f"quorum/{'demo'}")),
            turn("changes the configuration", after(0), _CONFIG),
        ),
        ends="RollHeld",
    ),
    PoolScenario(
        name="pool-beside-a-managed-quorum",
        spec=spec_of("InitialControllers", 3),
        controllers=0,
        pools=_THREE,
        turns=(*with_topics(_ORDERS), turn("changes the configuration", pools_rest, _CONFIG)),
    ),
)


LEADERLESS: Final = (
    PoolScenario(
        name="pool-roll-leaderless",
        pools=_THREE,
        controllers=3,
        turns=(
            *with_topics(_ORDERS),
            turn("the quorum stops", pools_rest, quorum_stops(2)),
            turn("changes the configuration", after(0), _CONFIG),
        ),
        ends="RollHeld",
    ),
    PoolScenario(
        name="pool-roll-loses-its-leader",
        pools=_THREE,
        controllers=3,
        turns=(
            *with_topics(_ORDERS),
            turn("changes the configuration", pools_rest, _CONFIG),
            turn("the quorum stops", is_stopping, quorum_stops(2)),
            turn("the quorum starts", after(120), quorum_starts),
        ),
    ),
    PoolScenario(
        name="pool-old-picture-hides-a-loss",
        pools=_FOUR,
        turns=(
            *with_topics(Topic(name="orders", replicas=((1, 2, 3),))),
            turn(
                "broker 0 is cut off and held, and broker 3 gets nothing",
                pools_rest,
                several(holds_broker(0), cut_off(0, 240), lags(3, 240)),
            ),
            turn("changes the configuration", is_out_of_sync(3, "orders"), _CONFIG),
        ),
        ends="RollHeld",
    ),
    PoolScenario(
        name="pool-old-picture",
        pools=_THREE,
        turns=(
            *with_topics(_ORDERS),
            turn("broker 0 is cut off", pools_rest, cut_off(0, 120)),
            turn("changes the configuration", after(0), _CONFIG),
        ),
    ),
)


def _is_in_sync(node_id: int, topic: str) -> Callable[[World], bool]:
    """Once a broker is in the ISR of the first partition of a topic."""
    out = is_out_of_sync(node_id, topic)
    return lambda world: not out(world)


def _is_elsewhere(world: World) -> bool:
    """Once a broker is back on another machine, and the first one is back, too."""
    return (
        has_retired_claim(1)(world) and pools_rest(world) and all(one.heard for one in world.machines.by_name.values())
    )


LOSSES: Final = (
    PoolScenario(
        name="pool-lost-disk",
        pools=_THREE,
        turns=(
            *with_topics(_ORDERS, _EVENTS),
            turn("loses a disk", pools_rest, loses_broker(Loss.EMPTIED_AND_KILLED, 1)),
        ),
        exhaustive=True,
    ),
    PoolScenario(
        name="pool-lost-disk-and-operators-that-end",
        pools=_THREE,
        backs_off=True,
        lives_s=12.0,
        turns=(
            *with_topics(_ORDERS),
            turn("loses a disk", pools_rest, loses_broker(Loss.EMPTIED_AND_KILLED, 1)),
        ),
        until_s=200,
    ),
    PoolScenario(
        name="pool-disk-that-hides-twice",
        pools=_THREE,
        turns=(
            *with_topics(_ORDERS),
            turn("hides a disk", pools_rest, loses_broker(Loss.DISK_BLANK, 1)),
            turn("looks empty", pool_says("LostDisk"), does_nothing),
            turn("hides it again", pools_rest, loses_broker(Loss.DISK_BLANK, 1)),
        ),
    ),
    PoolScenario(
        name="pool-disk-that-hid-before-a-boot",
        pools=((POOL, pool_spec(3, replacement=_BY_HAND)),),
        turns=(
            *with_topics(_ORDERS),
            turn("hides a disk for several runs", pools_rest, hides_disk(1, 60)),
            turn("looks empty", pool_says("LostDisk"), does_nothing),
            turn("replaces lost disks", pools_rest, applies_pool({"replacement": {"lostDisk": "Automatic"}})),
            turn("a machine starts again", pools_rest, without_power(1, 14)),
        ),
    ),
    PoolScenario(
        name="pool-disk-that-hides-in-two-sandboxes",
        pools=_THREE,
        backs_off=True,
        turns=(
            *with_topics(_ORDERS),
            turn("hides a disk", pools_rest, several(hides_disk(1, 26), replaces_sandbox(1, 34))),
            turn("hides it again", has_compared(1), hides_disk(1, 6)),
        ),
        until_s=150,
    ),
    PoolScenario(
        name="pool-roll-beside-a-lost-disk-without-replicas",
        pools=((POOL, pool_spec(4, replacement=_BY_HAND)),),
        turns=(
            *with_topics(_ORDERS),
            turn("the broker without replicas loses its disk", pools_rest, loses_broker(Loss.EMPTIED_AND_KILLED, 3)),
            turn("changes the configuration", pool_says("LostDisk"), _CONFIG),
            turn(
                "replaces lost disks",
                is_rolled("queued.max.requests", 3),
                applies_pool({"replacement": {"lostDisk": "Automatic"}}),
            ),
        ),
    ),
    PoolScenario(
        name="pool-lost-claim",
        pools=_THREE,
        turns=(*with_topics(_ORDERS), turn("loses a claim", pools_rest, loses_broker(Loss.CLAIM_DELETED, 1))),
        exhaustive=True,
    ),
    PoolScenario(
        name="pool-lost-last-copy",
        pools=_THREE,
        backs_off=True,
        turns=_LAST_COPY,
        ends="LostDisk",
    ),
    PoolScenario(
        name="pool-lost-last-copy-accepted",
        pools=_THREE,
        turns=(*_LAST_COPY, _ACCEPTED),
    ),
    PoolScenario(
        name="pool-lost-last-copy-twice",
        pools=_THREE,
        backs_off=True,
        turns=(
            *_LAST_COPY,
            _ACCEPTED,
            turn("loses the next one", pools_rest, loses_broker(Loss.EMPTIED_AND_KILLED, 1)),
        ),
        ends="LostDisk",
    ),
    PoolScenario(
        name="pool-lost-disk-of-the-only-broker",
        pools=((POOL, pool_spec(1)),),
        backs_off=True,
        turns=(
            *with_topics(Topic(name="alone", replicas=((0,),), min_isr=1)),
            turn("loses the disk", pools_rest, loses_broker(Loss.EMPTIED_AND_KILLED, 0)),
            _ACCEPTED,
        ),
        until_s=330,
        long=True,
    ),
    PoolScenario(
        name="pool-lost-node",
        pools=_THREE,
        turns=(*with_topics(_ORDERS), turn("loses a node", pools_rest, loses_broker(Loss.NODE_DELETED, 1))),
        exhaustive=True,
    ),
    PoolScenario(
        name="pool-lost-node-and-then-the-last-copy",
        pools=((POOL, pool_spec(3, retentionPolicy={"whenScaled": "Delete", "whenDeleted": "Delete"})),),
        backs_off=True,
        turns=(
            *with_topics(_ORDERS, Topic(name="pair", replicas=((1, 2),), min_isr=1)),
            turn("nobody writes", pools_rest, stops_producing),
            turn("loses a node", after(4), loses_broker(Loss.NODE_KILLED, 1)),
            turn("loses the other copy", has_retired_claim(1), loses_broker(Loss.EMPTIED_AND_KILLED, 2)),
        ),
        ends="LostDisk",
    ),
    PoolScenario(
        name="pool-lost-node-that-comes-back",
        pools=((POOL, pool_spec(3, retentionPolicy={"whenScaled": "Delete", "whenDeleted": "Delete"})),),
        turns=(
            *with_topics(_ORDERS),
            turn("a machine is cut off", pools_rest, cut_machine(1)),
            turn("its broker is back, and its kubelet is not", has_formatter(1), processes_connect),
            turn("its kubelet is back", pool_says("LostDisk"), kubelets_report),
        ),
    ),
    PoolScenario(
        name="pool-lost-node-that-comes-back-with-the-last-copy",
        pools=((POOL, pool_spec(3, retentionPolicy={"whenScaled": "Delete", "whenDeleted": "Delete"})),),
        turns=(
            *with_topics(_ORDERS, Topic(name="pair", replicas=((1, 2),), min_isr=1)),
            turn("nobody writes", pools_rest, stops_producing),
            turn("a machine is cut off", after(4), cut_machine(1)),
            turn("its broker is back, and its kubelet is not", has_retired_claim(1), processes_connect),
            turn("loses the other copy", _is_in_sync(1, "pair"), loses_broker(Loss.EMPTIED_AND_KILLED, 2)),
            turn("its kubelet is back", pool_says("ClaimKept"), kubelets_report),
        ),
        ends="LostDisk",
    ),
    PoolScenario(
        name="pool-lost-node-again",
        pools=((POOL, pool_spec(3, retentionPolicy={"whenScaled": "Retain", "whenDeleted": "Delete"})),),
        turns=(
            *with_topics(_ORDERS),
            turn("a machine is off", pools_rest, without_power(1, 80)),
            turn("the next machine is lost", _is_elsewhere, loses_broker(Loss.NODE_KILLED, 1)),
            turn("its pod is forgotten", pool_says("NodeDown"), loses_broker(Loss.POD_FORGOTTEN, 1)),
        ),
    ),
    PoolScenario(
        name="pool-lost-node-of-a-formatter",
        pools=_THREE,
        turns=(turn("loses a node", has_formatter(1), loses_broker(Loss.NODE_KILLED, 1)),),
    ),
    PoolScenario(
        name="pool-jbod",
        pools=((POOL, pool_spec(3, **_JBOD)),),
        turns=(*with_topics(_ORDERS, _EVENTS), turn("loses a volume", pools_rest, loses_volume(1, 1))),
        exhaustive=True,
    ),
    PoolScenario(
        name="pool-jbod-first",
        pools=((POOL, pool_spec(3, **_JBOD)),),
        turns=(*with_topics(_ORDERS, _EVENTS), turn("loses the first volume", pools_rest, loses_volume(1, 0))),
    ),
    PoolScenario(
        name="pool-claim-goes-with-its-pod",
        pools=_THREE,
        turns=(
            *with_topics(_ORDERS),
            turn("deletes a claim", pools_rest, deletes_claim(1, 0)),
            turn("changes the configuration", after(0), _CONFIG),
        ),
    ),
)


SCALES: Final = (
    PoolScenario(
        name="pool-grows",
        pools=_THREE,
        turns=(*with_topics(_ORDERS), turn("asks for five", pools_rest, applies_pool({"replicas": 5}))),
        exhaustive=True,
    ),
    PoolScenario(
        name="pool-shrinks",
        pools=_FOUR,
        turns=(
            *with_topics(Topic(name="orders", replicas=((0, 1, 3), (3, 2, 0), (1, 2, 0)))),
            turn("asks for three", pools_rest, applies_pool(_scaled(3))),
        ),
        holds=_has_moved,
        exhaustive=True,
    ),
    PoolScenario(
        name="pool-shrinks-while-a-budget-holds-its-roll",
        pools=_FOUR,
        turns=(
            *with_topics(_ORDERS),
            turn("a person's budget lets no broker stop", pools_rest, budgets(4)),
            turn("asks for another configuration", pools_rest, _CONFIG),
            turn("asks for three", pool_says("Rolling"), applies_pool(_scaled(3))),
            turn("the person takes the budget back", _has_left, budgets_no_more),
        ),
    ),
    PoolScenario(
        name="pool-shrinks-and-loses-a-disk",
        pools=_FOUR,
        turns=(
            *with_topics(Topic(name="orders", replicas=((0, 1, 3), (3, 2, 0), (1, 2, 0)))),
            turn("asks for three", pools_rest, applies_pool(_scaled(3))),
            turn("the broker that leaves loses its disk", after(0), loses_broker(Loss.EMPTIED_AND_KILLED, 3)),
        ),
        holds=_has_moved,
    ),
    PoolScenario(
        name="pool-roll-held-by-one-that-leaves-and-is-lost",
        pools=_FOUR,
        turns=(
            *with_topics(_ORDERS),
            turn("loses the disk of the last one", pools_rest, loses_broker(Loss.EMPTIED_AND_KILLED, 3)),
            turn("asks for three, of another configuration", after(0), several(_CONFIG, applies_pool(_scaled(3)))),
        ),
    ),
    PoolScenario(
        name="pool-shrinks-and-loses-a-node",
        pools=_FOUR,
        turns=(
            *with_topics(_ORDERS),
            turn("asks for three", pools_rest, applies_pool(_scaled(3))),
            turn("the machine of the broker that stops is lost", is_stopping, loses_broker(Loss.NODE_KILLED, 3)),
        ),
    ),
    PoolScenario(
        name="pool-shrinks-without-a-place",
        pools=((POOL, pool_spec(4, replacement={"lostNode": "Manual"})),),
        turns=(
            *with_topics(_ORDERS),
            turn("loses a machine", pools_rest, loses_broker(Loss.NODE_KILLED, 3)),
            turn("its pod is forgotten", pool_says("NodeDown"), loses_broker(Loss.POD_FORGOTTEN, 3)),
            turn("asks for three", is_unscheduled(3), applies_pool(_scaled(3))),
        ),
    ),
    PoolScenario(
        name="pool-shrinks-empty",
        pools=_FOUR,
        turns=(*with_topics(_ORDERS), turn("asks for three", pools_rest, applies_pool(_scaled(3)))),
    ),
    PoolScenario(
        name="pool-shrinks-without-one-that-a-person-holds",
        pools=_FOUR,
        turns=(
            *with_topics(_ORDERS),
            turn("holds a broker", pools_rest, holds_broker(3)),
            turn("asks for three", after(0), applies_pool(_scaled(3))),
            turn("no longer holds it", pool_says("RollHeld"), frees_broker(3)),
        ),
    ),
    PoolScenario(
        name="pool-shrink-held",
        pools=_FOUR,
        turns=(
            *with_topics(Topic(name="orders", replicas=((0, 1, 3),))),
            turn("asks for three", pools_rest, applies_pool(_scaled(3, "Hold"))),
        ),
        ends="BrokerNotEmpty",
    ),
    PoolScenario(
        name="pool-shrinks-and-stays",
        pools=_FOUR,
        turns=(
            *with_topics(Topic(name="orders", replicas=((0, 1, 3), (3, 2, 0)))),
            turn("asks for three", pools_rest, applies_pool(_scaled(3))),
            turn("asks for four", pool_says("Draining"), applies_pool(_scaled(4))),
        ),
    ),
    PoolScenario(
        name="pool-stays-while-one-stops-for-good",
        pools=_FOUR,
        turns=(
            *with_topics(_ORDERS),
            turn("asks for three", pools_rest, applies_pool(_scaled(3))),
            turn("asks for four", is_stopping, applies_pool(_scaled(4))),
        ),
    ),
    PoolScenario(
        name="pool-racks",
        pools=((POOL, pool_spec(3, rack={"topologyKey": "topology.kubernetes.io/zone"})),),
        turns=with_topics(_ORDERS),
        exhaustive=True,
    ),
    PoolScenario(name="pool-outside", pools=((POOL, pool_spec(2, listeners=[_NODES, _BALANCED])),)),
    PoolScenario(
        name="pool-outside-no-more",
        pools=((POOL, pool_spec(2, listeners=[_NODES, _BALANCED])),),
        turns=(
            turn(
                "the load balancers are not needed, and nothing takes them down",
                pools_rest,
                several(_balancers_stop, applies_pool({"listeners": [_NODES]})),
            ),
        ),
        holds=_services_stay,
    ),
    PoolScenario(
        name="pool-topic-later",
        pools=_THREE,
        turns=(
            turn("rests", pools_are_ready, does_nothing),
            turn("changes the configuration", pools_rest, _CONFIG),
            turn("a topic is created meanwhile", is_stopping, creates(_ORDERS)),
        ),
    ),
)

POOL_SCENARIOS: Final = (*ROLLS, *TWO_POOLS, *LEADERLESS, *LOSSES, *SCALES, *DOUBTS, *TRUST_OF_POOLS)
