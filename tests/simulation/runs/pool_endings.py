"""The accepted endings of a run with pools, compared with ground truth: Ready must be true, or a hold must be named."""

from collections.abc import Iterator

from tests.simulation.model.kafka.cluster_image import ClusterImage
from tests.simulation.model.place import NAME, NAMESPACE
from tests.simulation.model.world import World
from tests.simulation.rules.pool_data import PoolData
from tests.simulation.runs.endings import Ending
from tests.simulation.runs.scenarios.pool_scenes import PoolScenario, cluster_of, pool, pool_condition, pool_is_ready

from kafka_brokers.kind import POOLS
from kafka_quorum.model.ids import NodeID
from kafka_quorum.model.names import PHASE, RETIRED
from kit.kube.protocol import CLAIMS, LEASES, PODS, Json

_POOL = "kafkaquorum.io/pool"
_ACCEPTED = "kafkaquorum.io/accept-loss"
_A_PERSON_DECIDES = frozenset({"LostDisk", "NodeDown"})
"""How a pool says that acknowledged records are lost, unless a volume comes back."""


def judge_pools(world: World, scenario: PoolScenario, *, settled: bool) -> Ending:
    """Compare the reports of all pools with the truth."""
    names = sorted(str(body["metadata"]["name"]) for body in world.kube.all(POOLS))
    said = _said(world, names)
    if not settled:
        return Ending(says=said, honest=False, why=f"not settled: {_story(world, names)}")
    if scenario.ends != "Ready":
        honest = scenario.ends in _reasons(world, names)
        why = "" if honest else f"{scenario.ends} is not reported: {_story(world, names)}"
        why = why or scenario.holds(world)
        return Ending(says=scenario.ends if honest else said, honest=not why, why=why)
    if lost := _lost(world):
        held = _A_PERSON_DECIDES & set(_reasons(world, names))
        why = "" if held else f"every complete copy of {', '.join(lost)} is lost, and nobody says so: "
        return Ending(says=min(held, default=said), honest=bool(held), why=why and why + _story(world, names))
    if _is_of_nobody(world) and "FormatRefused" in _reasons(world, names):
        return Ending(says="FormatRefused", honest=True, why="")
    why = next((text for name in names for text in _not_ready(world, name)), "") or scenario.holds(world)
    if not why and not all(pool_is_ready(world, name) for name in names):
        why = f"not Ready: {_story(world, names)}"
    if not why and _token(world):
        why = f"{_token(world)} still holds the disruption token"
    return Ending(says=said, honest=not why, why=why)


def _lost(world: World) -> list[str]:
    """The partitions of which accidents took every complete copy; rule 10 judges whether it was accidents.

    None once a person has accepted a loss.
    """
    data, cluster = PoolData(world), cluster_of(world)
    if any(_ACCEPTED in (body["metadata"].get("annotations") or {}) for body in world.kube.all(POOLS)):
        return []
    return [str(at) for at, acked in cluster.acked.items() if acked and not data.is_kept(cluster, at)]


def _is_of_nobody(world: World) -> bool:
    """Whether a volume was emptied while it was formatted: nothing on it says who wrote the rest, so a person looks."""
    disks = (volume.disk for volume in world.volumes.by_claim.values())
    return any(disk.files and not disk.intent and not disk.reported for disk in disks)


def _said(world: World, names: list[str]) -> str:
    if all(pool_is_ready(world, name) for name in names):
        return "Ready"
    bad = (pool_condition(world, kind, name) for name in names for kind in ("Degraded", "Progressing"))
    return next((str(row["reason"]) for row in bad if row.get("status") == "True"), "nothing")


def _reasons(world: World, names: list[str]) -> list[str]:
    """Every reason that a pool reports, in its conditions and in its list of what it waits for."""
    rows = [row for name in names for row in (pool(world, name).get("status") or {}).get("conditions") or []]
    waits = [row for name in names for row in (pool(world, name).get("status") or {}).get("waits") or []]
    return [str(row.get("reason")) for row in (*rows, *waits)]


def _token(world: World) -> str:
    lease = world.kube.view(LEASES, NAMESPACE, f"{NAME}-disruption") or {}
    return str((lease.get("spec") or {}).get("holderIdentity") or "")


def _not_ready(world: World, name: str) -> Iterator[str]:
    """Why Ready of a pool would be false, by ground truth."""
    spec, cluster = pool(world, name)["spec"], cluster_of(world)
    image = cluster.controller.image
    pods = [pod for pod in world.kube.all(PODS) if (pod["metadata"].get("labels") or {}).get(_POOL) == name]
    running = [sandbox.broker for sandbox in world.kubelet.sandboxes.values() if sandbox.pool == name]
    brokers = {broker.node_id for broker in running if broker is not None and broker.serves}
    if len(brokers) != int(spec["replicas"]):
        yield f"brokers {sorted(brokers)} of pool {name} run, {spec['replicas']} are requested: {_story(world, [name])}"
    if len(pods) != len(brokers):
        yield f"there are pods {', '.join(pod['metadata']['name'] for pod in pods)} for {len(brokers)} brokers"
    fenced = [node for node in brokers if (row := image.brokers.get(node)) is None or not row.active]
    if fenced:
        yield f"brokers {fenced} are fenced"
    claims = [one["metadata"]["name"] for one in world.kube.all(CLAIMS) if _is_claim(one, name)]
    if len(claims) != len(brokers) * len(spec.get("storage") or [None]):
        yield f"there are claims {', '.join(claims)} for {len(brokers)} brokers"
    yield from _out_of_sync(image, brokers)


def _is_claim(claim: Json, name: str) -> bool:
    metadata = claim["metadata"]
    kept = (metadata.get("annotations") or {}).get(PHASE) == RETIRED
    return (metadata.get("labels") or {}).get(_POOL) == name and not kept


def _out_of_sync(image: ClusterImage, brokers: set[NodeID]) -> Iterator[str]:
    for row in image.partitions.values():
        out = brokers & set(row.replicas) - set(row.isr)
        if out:
            yield f"brokers {sorted(out)} are not in the ISR of {row.at}"
    gone = set(image.brokers) - {node for row in image.partitions.values() for node in row.replicas}
    dead = [node for node in gone if image.brokers[node].fenced and node not in brokers]
    if dead:
        yield f"brokers {dead} are still registered"


def _story(world: World, names: list[str]) -> str:
    """The conditions of all pools, in one line."""
    told = []
    for name in names:
        rows = (pool(world, name).get("status") or {}).get("conditions") or []
        told += [f"{name} {row['type']}={row['status']}({row['reason']}: {row['message']})" for row in rows]
    return " | ".join(told) or "no condition at all"
