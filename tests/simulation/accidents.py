"""Accidents, as the world has them."""

from tests.simulation.faults import DISK_LOSSES, Accident, Loss
from tests.simulation.kubelet import Sandbox
from tests.simulation.scenarios import NAME, NAMESPACE
from tests.simulation.world import World

from kafka_quorum.kube.protocol import CLAIMS

_FROZEN_STEPS = 10


def can_lose(world: World, loss: Loss, node_id: int) -> bool:
    """Whether there is something of this controller that could be lost now."""
    if loss in DISK_LOSSES:
        return any(True for _ in world.claims(NAMESPACE, NAME, node_id))
    if loss in (Loss.POD_DELETED, Loss.POD_FORGOTTEN):
        return world.has_pods(NAMESPACE, NAME, node_id)
    sandbox = _sandbox(world, node_id)
    if loss in (Loss.PROCESS, Loss.FROZEN):
        return sandbox is not None and sandbox.process is not None
    return sandbox is not None


def happen(world: World, accident: Accident) -> bool:
    """Let it happen; False where there is nothing that could be lost."""
    node_id = accident.node_id
    if not can_lose(world, accident.loss, node_id):
        return False
    sandbox = _sandbox(world, node_id)
    match accident.loss:
        case Loss.POD_DELETED | Loss.POD_FORGOTTEN:
            world.delete_pods(NAMESPACE, NAME, node_id, force=accident.loss is Loss.POD_FORGOTTEN)
        case Loss.POD_EVICTED:
            world.evict_pods(NAMESPACE, NAME, node_id)
        case Loss.SANDBOX if sandbox is not None:
            world.kubelet.restart_sandbox(sandbox)
        case Loss.PROCESS if sandbox is not None:
            world.kubelet.kill_process(sandbox)
        case Loss.FROZEN if sandbox is not None:
            _freeze(world, sandbox)
        case _:
            claims = [claim["metadata"] for claim in world.claims(NAMESPACE, NAME, node_id)]
            _lose_disk(world, accident, [str(claim["uid"]) for claim in claims], [str(c["name"]) for c in claims])
    return True


def _lose_disk(world: World, accident: Accident, uids: list[str], names: list[str]) -> None:
    sandbox = _sandbox(world, accident.node_id)
    match accident.loss:
        case Loss.CLAIM_DELETED:
            world.delete_pods(NAMESPACE, NAME, accident.node_id, force=True)
            for name in names:
                world.kube.delete(CLAIMS, NAMESPACE, name)
        case Loss.VOLUME_LOST:
            world.delete_pods(NAMESPACE, NAME, accident.node_id, force=True)
            for uid in uids:
                world.volumes.lose(uid)
        case _:
            for uid in uids:
                world.volumes.empty(uid)
            if accident.loss is Loss.EMPTIED_AND_KILLED and sandbox is not None:
                world.kubelet.restart_sandbox(sandbox)
            if accident.loss is Loss.EMPTIED_AND_DELETED:
                world.delete_pods(NAMESPACE, NAME, accident.node_id, force=False)


def _sandbox(world: World, node_id: int) -> Sandbox | None:
    """The sandbox of the pod that is at work for this controller."""
    for role in ("controller", "formatter"):
        sandbox = world.sandbox(NAMESPACE, NAME, node_id, role)
        if sandbox is not None and not sandbox.done:
            return sandbox
    return None


def _freeze(world: World, sandbox: Sandbox) -> None:
    process = sandbox.process
    if process is not None:
        process.frozen = True
        world.later(_FROZEN_STEPS, lambda: setattr(process, "frozen", False))
