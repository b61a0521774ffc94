"""The parts of a scenario of pools: specs, topics, conditions, and what people and accidents do to brokers.

Pools run beside a quorum that nobody manages (`bare_quorum.py`), with its contract written by hand: that is a fraction
of the cost. With a `spec` the operator manages the quorum, too, and publishes the contract itself.
"""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

from pydantic import TypeAdapter
from tests.simulation.model.kafka.bare_quorum import CLUSTER, BareQuorum
from tests.simulation.model.kafka.broker import Broker
from tests.simulation.model.kafka.broker_model import Cluster
from tests.simulation.model.kafka.cluster_image import MIN_ISR
from tests.simulation.model.kafka.releases import defaults, with_level
from tests.simulation.model.place import NAME, NAMESPACE
from tests.simulation.model.world import World
from tests.simulation.rules.invariants import Checker
from tests.simulation.runs.accidents import happen, hide
from tests.simulation.runs.faults import Accident, Loss
from tests.simulation.runs.scenarios.scenes import Scenario, Turn, turn

from kafka_brokers.kind import POOLS
from kafka_brokers.model.names import LABEL_POOL, pod_name
from kafka_quorum.model import formats
from kafka_quorum.model.brokers import TopicPartition
from kafka_quorum.model.contract import Contract, Match, Setting
from kafka_quorum.model.ids import NodeID
from kafka_quorum.model.names import PHASE, RETIRED
from kit.kube.protocol import BUDGETS, CLAIMS, CONFIG_MAPS, LEASES, PODS, Json
from kit.kube.secrets import SECRETS

POOL: Final = "brokers"
OTHER: Final = "more"
SECRET: Final = f"{NAME}-brokers-tls"
"""The quorum's Secret for brokers."""
KEYSTORE: Final = "listener.name.controller.ssl.keystore.location"
ELR: Final = "eligible.leader.replicas.version"
_CONTRACT: Final = TypeAdapter(Contract)
_ACCEPTANCE: Final = re.compile(r"annotate the KafkaBrokerPool with kafkaquorum.io/accept-loss=(\S+)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Topic:
    """A topic: the replicas of each partition, and its min ISR."""

    name: str
    replicas: tuple[tuple[int, ...], ...]
    min_isr: int = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolScenario(Scenario):
    """Pools by name with their specs. `controllers` of a bare quorum; none if the operator manages the quorum.

    `later` are the names of pools that a turn creates.
    """

    spec: Json = field(default_factory=dict)
    pools: tuple[tuple[str, Json], ...]
    later: tuple[str, ...] = ()
    controllers: int = 1
    release: str = "4.4.0"
    elr: bool = True
    operators: int = 1

    def begin(self, world: World, checker: Checker) -> None:
        """Start the quorum, and create the pools."""
        if self.controllers:
            levels = with_level(defaults(self.release, static=False), ELR, int(self.elr))
            world.bare = BareQuorum(world.kraft, self.controllers, release=self.release, levels=levels)
            publishes(self.release)(world, checker)
        for name, spec in self.pools:
            applies_pool(spec, name)(world, checker)


def pool_spec(replicas: int = 3, **more: Any) -> Json:  # noqa: ANN401 - JSON
    """A spec with what differs from the defaults."""
    given = {"replacement": {"lostNodeAfterSeconds": 10}, "retentionPolicy": {"whenDeleted": "Delete"}}
    return {"quorum": NAME, "replicas": replicas, **given, **more}


# Conditions


def pool(world: World, name: str = POOL) -> Json:
    """The resource as it is, to be read only; empty if it is gone."""
    return world.kube.view(POOLS, NAMESPACE, name) or {}


def pool_condition(world: World, kind: str, name: str = POOL) -> Json:
    """A condition of a pool, empty if it is not there."""
    rows = (pool(world, name).get("status") or {}).get("conditions") or []
    return next((row for row in rows if row["type"] == kind), {})


def pool_is_ready(world: World, name: str = POOL) -> bool:
    """Whether a pool is Ready at its present generation."""
    body, row = pool(world, name), pool_condition(world, "Ready", name)
    fresh = body and row.get("observedGeneration") == body["metadata"]["generation"]
    return bool(fresh and row.get("status") == "True")


def pools_are_ready(world: World) -> bool:
    """Whether every pool is Ready."""
    return all(pool_is_ready(world, body["metadata"]["name"]) for body in world.kube.all(POOLS))


def pools_rest(world: World) -> bool:
    """Whether every pool is Ready, nothing is degraded, and nothing is in progress."""
    names = [body["metadata"]["name"] for body in world.kube.all(POOLS)]
    kinds = ("Progressing", "Degraded")
    return pools_are_ready(world) and not any(
        pool_condition(world, kind, name).get("status") != "False" for name in names for kind in kinds
    )


def pool_says(reason: str, name: str = POOL) -> Callable[[World], bool]:
    """Once a condition of a pool has this reason."""
    kinds = ("Ready", "Progressing", "Degraded", "Available")
    return lambda world: reason in [pool_condition(world, kind, name).get("reason") for kind in kinds]


def cluster_of(world: World) -> Cluster:
    """The only cluster of the run."""
    return next(iter(world.pools.clusters.values())) if world.pools.clusters else world.pools.cluster(CLUSTER)


def is_rolled(setting: str, brokers: int) -> Callable[[World], bool]:
    """Once so many brokers run with this setting in their properties."""
    return lambda world: sum(setting in one.properties for one in world.pools.every() if not one.ended) == brokers


def is_stopping(world: World) -> bool:
    """Once a broker is being stopped by the operator."""
    return any(broker.stage.value == "stopping" for broker in world.pools.every())


def has_formatter(node_id: int) -> Callable[[World], bool]:
    """Once the formatter of a broker has a place."""

    def whether(world: World) -> bool:
        pods = [pod for pod in world.kube.all(PODS) if f"{POOL}-{node_id}-broker-format" in pod["metadata"]["name"]]
        return any(pod["spec"].get("nodeName") for pod in pods)

    return whether


def has_retired_claim(node_id: int) -> Callable[[World], bool]:
    """Once a claim of a broker is marked as given up."""

    def whether(world: World) -> bool:
        rows = [one["metadata"].get("annotations") or {} for one in world.claims(NAMESPACE, POOL, node_id)]
        return any(row.get(PHASE) == RETIRED for row in rows)

    return whether


def is_unscheduled(node_id: int) -> Callable[[World], bool]:
    """Once no machine takes the pod of a broker."""

    def whether(world: World) -> bool:
        pod = world.kube.view(PODS, NAMESPACE, f"{POOL}-{node_id}-broker") or {}
        rows = (pod.get("status") or {}).get("conditions") or []
        return any(row.get("reason") == "Unschedulable" for row in rows)

    return whether


def has_records(count: int) -> Callable[[World], bool]:
    """Once every partition has so many acknowledged records."""

    def whether(world: World) -> bool:
        acked = cluster_of(world).acked
        return bool(acked) and all(sum(one.end - one.start for one in spans) >= count for spans in acked.values())

    return whether


def broker_of(world: World, node_id: int) -> Broker | None:
    """The running broker of this id."""
    return cluster_of(world).broker(NodeID(node_id))


# What people do


def applies_pool(spec: Json, name: str = POOL) -> Callable[[World, Checker], None]:
    """Create a pool, or change its spec."""

    def act(world: World, _: Checker) -> None:
        if world.kube.view(POOLS, NAMESPACE, name) is None:
            world.kube.create(POOLS, NAMESPACE, {"metadata": {"name": name}, "spec": spec})
        else:
            world.kube.patch(POOLS, NAMESPACE, name, {"spec": spec})

    return act


def annotates_pool(name: str = POOL, **annotations: str) -> Callable[[World, Checker], None]:
    """A person annotates a pool."""
    marks = {f"kafkaquorum.io/{key.replace('_', '-')}": value for key, value in annotations.items()}
    return lambda world, _: _done(world.kube.patch(POOLS, NAMESPACE, name, {"metadata": {"annotations": marks}}))


def may_accept(world: World) -> bool:
    """Once the pool reports a loss that a person may accept."""
    return pool_says("LostDisk")(world) and _ACCEPTANCE.search(pool_condition(world, "Degraded")["message"]) is not None


def accepts_loss(world: World, _: Checker) -> None:
    """A person accepts the loss that the pool reports, with the words of its message."""
    found = _ACCEPTANCE.search(pool_condition(world, "Degraded")["message"])
    annotates_pool(accept_loss=found[1] if found else "")(world, _)


def creates(*topics: Topic) -> Callable[[World, Checker], None]:
    """Create topics; their producers begin at once."""

    def act(world: World, _: Checker) -> None:
        for topic in topics:
            assignment = [tuple(map(NodeID, nodes)) for nodes in topic.replicas]
            cluster_of(world).controller.create(topic.name, assignment, {MIN_ISR: str(topic.min_isr)})

    return act


def with_topics(*topics: Topic, records: int = 4) -> tuple[Turn, ...]:
    """Two turns: topics are created when the pools are ready, and get some records."""
    return (
        turn("topics are created", pools_are_ready, creates(*topics)),
        turn("they have records", has_records(records), _nothing),
    )


def publishes(release: str, revision: int = 1, certificates: int = 0) -> Callable[[World, Checker], None]:
    """The quorum's contract names this release; with certificates, the files of that generation."""

    def act(world: World, _: Checker) -> None:
        assert world.bare is not None
        addresses = world.bare.addresses
        file = Setting(key=KEYSTORE, value=f"keystore-{certificates}.pem", match=Match.FILE)
        contract = Contract(
            cluster_id=CLUSTER,
            release=release,
            image="",
            revision=revision,
            settings=(
                Setting(key="controller.quorum.bootstrap.servers", value=",".join(addresses), match=Match.SOME),
                Setting(key="controller.quorum.voters", value="", match=Match.UNSET),
                Setting(key="controller.listener.names", value="CONTROLLER", match=Match.HAS),
                Setting(key="listener.security.protocol.map", value="CONTROLLER:PLAINTEXT", match=Match.HAS),
                *((file,) if certificates else ()),
            ),
            secrets=(SECRET,) if certificates else (),
            controllers=addresses,
            controller_ids=world.bare.node_ids,
        )
        text = _CONTRACT.dump_python(contract, mode="json")
        del text["resource_version"]
        data = {"contract.json": json.dumps({"schemaVersion": formats.CONTRACT, **text})}
        labels = {"kafkaquorum.io/quorum": NAME}
        body = {"metadata": {"name": f"{NAME}-brokers", "labels": labels}, "data": data}
        world.kube.apply(CONFIG_MAPS, NAMESPACE, body)

    return act


def writes_secret(*generations: int) -> Callable[[World, Checker], None]:
    """The quorum's Secret for brokers has the files of these generations, and no others."""

    def act(world: World, _: Checker) -> None:
        data = {f"keystore-{each}.pem": "a2V5" for each in generations}
        world.kube.apply(SECRETS, NAMESPACE, {"metadata": {"name": SECRET}, "data": data})

    return act


def holds_token(holder: str) -> Callable[[World, Checker], None]:
    """Something else holds the disruption token; an empty text gives it back."""

    def act(world: World, _: Checker) -> None:
        body = {"metadata": {"name": f"{NAME}-disruption"}, "spec": {"holderIdentity": holder}}
        world.kube.apply(LEASES, NAMESPACE, body)

    return act


# Accidents


def loses_broker(loss: Loss, node_id: int) -> Callable[[World, Checker], None]:
    """A broker suffers a loss."""
    return lambda world, _: _done(happen(world, Accident(step=0, loss=loss, node_id=node_id)))


def hides_disk(node_id: int, steps: int) -> Callable[[World, Checker], None]:
    """For this number of steps an empty directory is mounted in place of a broker's volumes."""

    def act(world: World, _: Checker) -> None:
        for claim in list(world.claims(NAMESPACE, POOL, node_id)):
            hide(world, Loss.DISK_BLANK, str(claim["metadata"]["uid"]), steps)

    return act


def replaces_sandbox(node_id: int, steps: int) -> Callable[[World, Checker], None]:
    """So many steps later the sandbox of a broker is replaced: its init containers run again."""

    def act(world: World, _: Checker) -> None:
        accident = Accident(step=0, loss=Loss.SANDBOX, node_id=node_id)
        world.later(steps, lambda: _done(happen(world, accident)))

    return act


def has_compared(node_id: int) -> Callable[[World], bool]:
    """Once an init container of a broker has found its volumes as expected, and Kafka has not started yet."""

    def when(world: World) -> bool:
        sandbox = world.kubelet.of_pod(NAMESPACE, pod_name(POOL, NodeID(node_id)))
        return sandbox is not None and sandbox.passed > 0 and (sandbox.broker, sandbox.said) == (None, None)

    return when


def without_power(node_id: int, steps: int) -> Callable[[World, Checker], None]:
    """The machine of a broker has no power for so many steps; the disks on it wait."""

    def act(world: World, _: Checker) -> None:
        machine = world.machine_of(NAMESPACE, POOL, node_id)
        world.switch_off(machine)
        world.later(steps, lambda: world.switch_on(machine))

    return act


def cut_machine(node_id: int) -> Callable[[World, Checker], None]:
    """The machine of a broker has no connection to any other; its processes run on."""

    def act(world: World, _: Checker) -> None:
        machine = world.machine_of(NAMESPACE, POOL, node_id)
        world.machines.by_name[machine].cut_off = True
        world.kraft.cut.add(machine)

    return act


def processes_connect(world: World, _: Checker) -> None:
    """The processes of every machine reach the others again; a kubelet that is silent stays so."""
    world.kraft.cut.clear()


def kubelets_report(world: World, _: Checker) -> None:
    """The kubelet of every machine reaches the API server again."""
    for machine in world.machines.by_name.values():
        machine.cut_off = False


def loses_volume(node_id: int, index: int) -> Callable[[World, Checker], None]:
    """One of several volumes of a broker is emptied, and its pod ends."""

    def act(world: World, _: Checker) -> None:
        for claim in list(world.claims(NAMESPACE, POOL, node_id)):
            if f"-{node_id}-d{index}-" in claim["metadata"]["name"]:
                world.volumes.empty(claim["metadata"]["uid"])
        sandbox = world.sandbox(NAMESPACE, POOL, node_id, "broker")
        if sandbox is not None:
            world.kubelet.restart_sandbox(sandbox)

    return act


def deletes_claim(node_id: int, index: int) -> Callable[[World, Checker], None]:
    """A person deletes a claim under its running broker: the volume goes with the pod."""

    def act(world: World, _: Checker) -> None:
        for claim in list(world.claims(NAMESPACE, POOL, node_id)):
            if f"-{node_id}-d{index}-" in claim["metadata"]["name"]:
                world.kube.delete(CLAIMS, NAMESPACE, claim["metadata"]["name"])

    return act


def quorum_stops(count: int) -> Callable[[World, Checker], None]:
    """So many controllers of the bare quorum are killed."""
    return lambda world, _: world.bare.stop(count) if world.bare is not None else None


def quorum_starts(world: World, _: Checker) -> None:
    """The controllers of the bare quorum run again."""
    if world.bare is not None:
        world.bare.start()


def stops_producing(world: World, _: Checker) -> None:
    """From now on no client writes."""
    world.pools.producing = False


def cut_off(node_id: int, steps: int) -> Callable[[World, Checker], None]:
    """A broker has no connection to the others for so many steps, and the operator still reaches it."""

    def act(world: World, _: Checker) -> None:
        broker = broker_of(world, node_id)
        if broker is not None:
            node = broker.process.node
            world.kraft.cut.add(node)
            world.later(steps, lambda: world.kraft.cut.discard(node))

    return act


def lags(node_id: int, steps: int) -> Callable[[World, Checker], None]:
    """A broker's replicas get nothing for so many steps, although the broker lives."""

    def act(world: World, _: Checker) -> None:
        broker = broker_of(world, node_id)
        if broker is not None:
            broker.fetches = 0
            world.later(steps, lambda: setattr(broker, "fetches", 40))

    return act


def is_out_of_sync(node_id: int, topic: str) -> Callable[[World], bool]:
    """Once a broker is out of the ISR of the first partition of a topic."""
    at = TopicPartition(topic=topic, index=0)
    return lambda world: NodeID(node_id) not in cluster_of(world).controller.image.partitions[at].isr


def fetches_slowly(world: World, _: Checker) -> None:
    """From now on a broker that starts gets its replicas up to date record by record."""
    world.pools.fetches = 1


def holds_broker(node_id: int) -> Callable[[World, Checker], None]:
    """A person asks that this broker is not stopped."""
    marks = {"metadata": {"annotations": {"kafkaquorum.io/hold": "true"}}}
    return lambda world, _: _done(world.kube.patch(PODS, NAMESPACE, f"{POOL}-{node_id}-broker", marks))


def frees_broker(node_id: int) -> Callable[[World, Checker], None]:
    """A person takes that back."""
    marks = {"metadata": {"annotations": {"kafkaquorum.io/hold": None}}}
    return lambda world, _: _done(world.kube.patch(PODS, NAMESPACE, f"{POOL}-{node_id}-broker", marks))


def budgets(least: int) -> Callable[[World, Checker], None]:
    """A person's own budget: so many pods of the pool must stay."""
    spec = {"minAvailable": least, "selector": {"matchLabels": {LABEL_POOL: POOL}}}
    return lambda world, _: _done(world.kube.create(BUDGETS, NAMESPACE, {"metadata": {"name": "theirs"}, "spec": spec}))


def budgets_no_more(world: World, _: Checker) -> None:
    """The person takes the budget back."""
    world.kube.delete(BUDGETS, NAMESPACE, "theirs")


def moves(topic: str, *target: int) -> Callable[[World, Checker], None]:
    """A person reassigns the first partition of a topic."""
    at = TopicPartition(topic=topic, index=0)
    return lambda world, _: cluster_of(world).controller.reassign(at, tuple(map(NodeID, target)))


def several(*acts: Callable[[World, Checker], None]) -> Callable[[World, Checker], None]:
    """These acts in the same step."""

    def act(world: World, checker: Checker) -> None:
        for one in acts:
            one(world, checker)

    return act


def _nothing(_: World, __: Checker) -> None:
    """Nothing is done: the turn only waits."""


def _done(_: object) -> None:
    """An act of a turn returns nothing."""
