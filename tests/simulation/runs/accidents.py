"""Accidents in the world. A temporary one ends after a while; `heal` ends all that are left."""

from functools import partial

from tests.simulation.model.kafka.disk import Disk
from tests.simulation.model.kafka.process import Process
from tests.simulation.model.kubernetes.pool_pods import LABEL_NODE, LABEL_POOL
from tests.simulation.model.kubernetes.sandbox import Sandbox
from tests.simulation.model.place import NAME, NAMESPACE
from tests.simulation.model.world import World
from tests.simulation.runs.faults import DISK_LOSSES, MACHINE_LOSSES, Accident, Loss

from kafka_quorum.model.ids import NodeID
from kit.kube.protocol import CLAIMS, PODS

_FROZEN_STEPS = 10
_SHORT_STEPS = 20
_BLANK_STEPS = 20
_OFF_STEPS = 40
_CUT_STEPS = 60
_FLAP_STEPS = 6
_HOUR_MS = 3_600_000
_FIRST_CONTROLLER = 3000

_POD_LOSSES = frozenset({Loss.POD_DELETED, Loss.POD_FORGOTTEN})
_SANDBOX_LOSSES = frozenset({Loss.POD_EVICTED, Loss.SANDBOX})
_PROCESS_LOSSES = frozenset(Loss) - DISK_LOSSES - MACHINE_LOSSES - _POD_LOSSES - _SANDBOX_LOSSES


def owner_of(world: World, node_id: int) -> str:
    """The quorum of a controller, or the pool of a broker; of an unknown broker an empty text."""
    if node_id >= _FIRST_CONTROLLER:
        return NAME
    for kind in (PODS, CLAIMS):
        for item in world.kube.all(kind):
            labels = item["metadata"].get("labels") or {}
            if LABEL_POOL in labels and labels.get(LABEL_NODE) == str(node_id):
                return str(labels[LABEL_POOL])
    return ""


def losable(world: World, node_id: int) -> frozenset[Loss]:
    """What this controller or broker has that could be lost now."""
    owner = owner_of(world, node_id)
    machine, sandbox = world.machine_of(NAMESPACE, owner, node_id), sandbox_of(world, node_id)
    parts: list[tuple[frozenset[Loss], bool]] = [
        (DISK_LOSSES, any(True for _ in world.claims(NAMESPACE, owner, node_id))),
        (_POD_LOSSES, world.has_pods(NAMESPACE, owner, node_id)),
        (MACHINE_LOSSES, bool(machine) and world.machines.by_name[machine].heard),
        (_SANDBOX_LOSSES, sandbox is not None),
        (_PROCESS_LOSSES, sandbox is not None and sandbox.process is not None),
    ]
    return frozenset(loss for losses, there in parts if there for loss in losses)


def can_lose(world: World, loss: Loss, node_id: int) -> bool:
    """Whether this controller or broker has something that could be lost now."""
    return loss in losable(world, node_id)


def happen(world: World, accident: Accident) -> bool:
    """Let the accident happen; False if nothing could be lost."""
    node_id = accident.node_id
    if not can_lose(world, accident.loss, node_id):
        return False
    if accident.loss in MACHINE_LOSSES:
        _lose_machine(world, accident.loss, world.machine_of(NAMESPACE, owner_of(world, node_id), node_id))
        return True
    sandbox = sandbox_of(world, node_id)
    match accident.loss:
        case Loss.POD_DELETED | Loss.POD_FORGOTTEN:
            world.delete_pods(NAMESPACE, owner_of(world, node_id), node_id, force=accident.loss is Loss.POD_FORGOTTEN)
        case Loss.POD_EVICTED:
            world.evict_pods(NAMESPACE, owner_of(world, node_id), node_id)
        case Loss.SANDBOX if sandbox is not None:
            world.kubelet.restart_sandbox(sandbox)
        case Loss.PROCESS if sandbox is not None:
            world.kubelet.kill_process(sandbox)
        case Loss.FROZEN | Loss.SLOW | Loss.PEERS_CUT | Loss.UNSEEN if sandbox is not None:
            _hamper(world, accident.loss, sandbox)
        case Loss.DISK_UNREADABLE | Loss.DISK_BLANK | Loss.DISK_ABSENT if sandbox is not None:
            hide(
                world,
                accident.loss,
                sandbox.claim_uid,
                _BLANK_STEPS if accident.loss is Loss.DISK_BLANK else _OFF_STEPS,
            )
        case Loss.CLOCK_BACK | Loss.CLOCK_AHEAD:
            jumped = world.kraft.jumped_ms
            jump_ms = _HOUR_MS if accident.loss is Loss.CLOCK_AHEAD else -_HOUR_MS
            jumped[NodeID(node_id)] = jumped.get(NodeID(node_id), 0) + jump_ms
        case _:
            claims = [claim["metadata"] for claim in world.claims(NAMESPACE, owner_of(world, node_id), node_id)]
            _lose_disk(world, accident, [str(claim["uid"]) for claim in claims], [str(c["name"]) for c in claims])
    return True


def heal(world: World) -> None:
    """All temporary accidents end: only permanent losses stay."""
    for process in world.kraft.processes:
        process.frozen = process.slow = False
    for volume in world.volumes.by_claim.values():
        if volume.hidden:
            volume.shown(world.clock.elapsed_s)
    world.kraft.cut.clear()
    world.kraft.unseen.clear()
    for machine in world.machines.by_name.values():
        machine.cut_off = False
        world.switch_on(machine.name)


def hide(world: World, loss: Loss, claim_uid: str, steps: int) -> None:
    """For this number of steps pods do not find the disk on the volume; Kafka, which had it open, ends."""
    volume = world.volumes.by_claim[claim_uid]
    volume.absent = loss is Loss.DISK_ABSENT
    if not volume.absent:
        volume.stand_in = Disk(serial=0, unreadable=loss is Loss.DISK_UNREADABLE)
    for sandbox in world.kubelet.sandboxes.values():
        if claim_uid in sandbox.claim_uids and not sandbox.done:
            world.kubelet.kill_process(sandbox)
    world.later(steps, lambda: volume.shown(world.clock.elapsed_s))


def freeze_for(world: World, process: Process, steps: int) -> None:
    """For this number of steps a process is frozen."""
    process.frozen = True
    world.later(steps, lambda: setattr(process, "frozen", False))


def slow_for(world: World, process: Process, steps: int) -> None:
    """For this number of steps a process fetches almost nothing."""
    process.slow = True
    world.later(steps, lambda: setattr(process, "slow", False))


def _lose_disk(world: World, accident: Accident, uids: list[str], names: list[str]) -> None:
    sandbox = sandbox_of(world, accident.node_id)
    match accident.loss:
        case Loss.CLAIM_DELETED:
            world.delete_pods(NAMESPACE, owner_of(world, accident.node_id), accident.node_id, force=True)
            for name in names:
                world.kube.delete(CLAIMS, NAMESPACE, name)
        case Loss.VOLUME_LOST:
            world.delete_pods(NAMESPACE, owner_of(world, accident.node_id), accident.node_id, force=True)
            for uid in uids:
                world.volumes.lose(uid)
        case _:
            for uid in uids:
                world.volumes.empty(uid)
            if accident.loss is Loss.EMPTIED_AND_KILLED and sandbox is not None:
                world.kubelet.restart_sandbox(sandbox)
            if accident.loss is Loss.EMPTIED_AND_DELETED:
                world.delete_pods(NAMESPACE, owner_of(world, accident.node_id), accident.node_id, force=False)


def sandbox_of(world: World, node_id: int) -> Sandbox | None:
    """The sandbox of the present pod of this controller."""
    for role in ("controller", "broker", "formatter", "broker-formatter"):
        sandbox = world.sandbox(NAMESPACE, owner_of(world, node_id), node_id, role)
        if sandbox is not None and not sandbox.done:
            return sandbox
    return None


def _hamper(world: World, loss: Loss, sandbox: Sandbox) -> None:
    """A temporary disturbance of a process."""
    process, kraft, node = sandbox.process, world.kraft, sandbox.node
    if process is None:
        return
    match loss:
        case Loss.FROZEN:
            freeze_for(world, process, _FROZEN_STEPS)
        case Loss.SLOW:
            slow_for(world, process, _SHORT_STEPS)
        case Loss.PEERS_CUT:
            kraft.cut.add(node)
            world.later(_SHORT_STEPS, partial(kraft.cut.discard, node))
        case _:
            kraft.unseen.add(node)
            world.later(_SHORT_STEPS, partial(kraft.unseen.discard, node))


def _lose_machine(world: World, loss: Loss, name: str) -> None:
    machine, kraft = world.machines.by_name[name], world.kraft
    match loss:
        case Loss.NODE_KILLED | Loss.NODE_DELETED:
            world.lose_machine(name)
            if loss is Loss.NODE_DELETED:
                world.machines.delete(name)
        case Loss.NODE_OFF:
            world.switch_off(name)
            world.later(_OFF_STEPS, partial(world.switch_on, name))
        case Loss.NODE_FLAPS:
            for round_ in range(3):
                world.later(4 * _FLAP_STEPS * round_ + 1, partial(world.switch_off, name))
                world.later(4 * _FLAP_STEPS * round_ + 1 + _FLAP_STEPS, partial(world.switch_on, name))
        case _:
            machine.cut_off = True
            world.later(_CUT_STEPS, lambda: setattr(machine, "cut_off", False))
            if loss is Loss.NODE_CUT:
                for places in (kraft.cut, kraft.unseen):
                    places.add(name)
                    world.later(_CUT_STEPS, partial(places.discard, name))
