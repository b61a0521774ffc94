"""The tables about claims under running pods that are deleted or lose their volumes, and about stops of such pods.

Kubernetes keeps a deleted claim as long as a pod has it: the stop of that pod loses the disk.
"""

from collections.abc import Callable
from typing import Final

from tests.simulation.model.kafka.startup import slow
from tests.simulation.model.kubernetes.kubelet import BACK_OFF_S
from tests.simulation.model.place import NAME, NAMESPACE
from tests.simulation.model.world import World
from tests.simulation.rules.invariants import Checker
from tests.simulation.runs.accidents import sandbox_of
from tests.simulation.runs.faults import Loss
from tests.simulation.runs.scenarios.release_scenes import both, ends_restarted, keeps_only, later
from tests.simulation.runs.scenarios.scenes import (
    Act,
    Scenario,
    When,
    after,
    applies,
    does_nothing,
    first_disks,
    has_processes,
    is_ready,
    loses,
    one_of,
    says,
    spec_of,
    tells,
    turn,
)

from kit.kube.protocol import CLAIMS, PODS

_HEAP: Final = applies({"controllers": {"jvm": {"heap": "1Gi"}}})
_ONE: Final = applies({"controllers": {"replicas": 1}})
TYPO: Final = {"kafka": {"version": "4.4.0", "image": "apache/kafka:typo"}}
IMAGE_BACK: Final = {"kafka": {"version": "4.4.0", "image": ""}}
_RIGHT: Final = {"kafka": {"version": "4.4.0", "image": "apache/kafka:4.4.0"}}


def _deletes_claims(*whos: str) -> Act:
    """Delete the claims of these, or all of them; no pod is stopped."""

    def act(world: World, _: Checker) -> None:
        ids = {one_of(world, who) for who in whos}
        for claim in list(world.kube.all(CLAIMS)):
            name = str(claim["metadata"]["name"])
            if not ids or any(f"-{node_id}-g" in name for node_id in ids):
                world.kube.delete(CLAIMS, NAMESPACE, name)

    return act


def _deletes_claim_of(node_id: int) -> Act:
    """Delete the claim of this controller; its pod is not stopped."""

    def act(world: World, _: Checker) -> None:
        for claim in list(world.claims(NAMESPACE, NAME, node_id)):
            world.kube.delete(CLAIMS, NAMESPACE, str(claim["metadata"]["name"]))

    return act


def _stops(node_id: int) -> Act:
    """A person deletes the pods of this controller: if its claim is being deleted, its disk is lost."""

    def act(world: World, _: Checker) -> None:
        world.delete_pods(NAMESPACE, NAME, node_id, force=False)

    return act


def _loses_volumes(world: World, _: Checker) -> None:
    """The PersistentVolume objects of all claims are gone; what is mounted stays mounted."""
    for claim in list(world.kube.all(CLAIMS)):
        world.kube.put_status(CLAIMS, claim, {"phase": "Lost"})


def _keeps(count: int) -> Callable[[World], str]:
    """Every disk of the first generation is there."""

    def why_not(world: World) -> str:
        volumes = world.volumes.of_quorum(NAMESPACE, NAME)
        there = [volume.claim for volume in volumes if volume.disk.ran and volume.claim.endswith("-g1")]
        return "" if len(there) == count else f"only the disks {', '.join(there)} are left"

    return why_not


def _led_on(count: int) -> Callable[[World], str]:
    """There is a leader, and every disk is kept."""

    def why_not(world: World) -> str:
        return _keeps(count)(world) or ("" if any(one.leads for one in world.kraft.processes) else "nobody leads")

    return why_not


def _voters(count: int) -> Callable[[World], str]:
    """There is a leader with this number of voters."""

    def why_not(world: World) -> str:
        leads = [len(one.voters) for one in world.kraft.processes if one.leads]
        return "" if count in leads else f"leaders have {leads} voters"

    return why_not


def _crashes(world: World, _: Checker) -> None:
    """Kafka of one follower ends once; the kubelet starts it again after its back-off."""
    leader = one_of(world, "leader")
    follower = next(one.meta.node_id for one in world.kraft.processes if one.meta.node_id != leader)
    sandbox = sandbox_of(world, follower)
    if sandbox is not None:
        world.kubelet.kill_process(sandbox)
        sandbox.retry_s = world.clock.elapsed_s + BACK_OFF_S


def _crashes_and_loses_another(world: World, checker: Checker) -> None:
    """One controller cannot start; another one crashes, and the claim and the pod of the leader are deleted."""
    _crashes(world, checker)
    leader = one_of(world, "leader")
    for claim in list(world.claims(NAMESPACE, NAME, leader)):
        world.kube.delete(CLAIMS, NAMESPACE, claim["metadata"]["name"])
    world.delete_pods(NAMESPACE, NAME, leader, force=True)


def _one_with_typo(world: World) -> str:
    images = [str(pod["spec"]["containers"][0]["image"]) for pod in world.kube.all(PODS)]
    bad = sum("typo" in image for image in images)
    led = any(process.leads for process in world.kraft.processes)
    return "" if bad <= 1 and led else f"{bad} controllers have the image that is not there, and a leader: {led}"


def _rolled(name: str, replicas: int, act: Act, reason: str) -> Scenario:
    return Scenario(
        name=name,
        spec=spec_of("InitialControllers", replicas),
        turns=(
            turn("takes every claim, or its volume, away", is_ready, act),
            turn("wants another heap", says("Degraded", reason), later(12, _HEAP)),
            turn("waits", after(60), does_nothing),
        ),
        ends=reason,
        holds=_led_on(replicas),
    )


def _room_for(count: int) -> Act:
    """From now on a quota of the namespace allows this number of claims."""

    def refuse(world: World) -> str:
        used = len(list(world.kube.all(CLAIMS)))
        words = f"exceeded quota: disks, requested: persistentvolumeclaims=1, used: persistentvolumeclaims={used}"
        return "" if used < count else f"{words}, limited: persistentvolumeclaims={count}"

    def act(world: World, _: Checker) -> None:
        world.kube.admission.quota = lambda _: refuse(world)

    return act


def _keeps_claims(why: str) -> Act:
    """From now on no claim may be deleted; with an empty text all may be deleted again."""

    def act(world: World, _: Checker) -> None:
        world.kube.admission.keeper = lambda _: why

    return act


def _votes_again(world: World) -> bool:
    """Once a disk that was formatted later has the vote of a lost one, and every voter has its disk."""
    running = {one.key for one in world.kraft.processes}
    first = first_disks(world)
    new = {key for key in running if str(key.directory_id) not in first}
    return any(one.leads and one.voters <= running and one.voters & new for one in world.kraft.processes)


def _four_vote(world: World) -> bool:
    """Once there are four voters."""
    return any(one.leads and len(one.voters) == 4 for one in world.kraft.processes)


def _has_heap(heap: str) -> When:
    """Once every running controller has this heap."""
    return lambda world: not ends_restarted(heap)(world)


_THREE: Final = applies({"controllers": {"replicas": 3}})
_FIVE: Final = applies({"controllers": {"replicas": 5}})
_REFUSED_CLAIMS: Final = (
    Scenario(
        name="claims-refused-and-a-disk-lost",
        spec=spec_of("InitialControllers", 3),
        turns=(
            turn("asks for five, and there is no room", is_ready, both(_room_for(3), _FIVE)),
            turn("loses a disk", says("Degraded", "ActionFailed"), loses(Loss.EMPTIED_AND_KILLED, "follower")),
            turn("makes room", _votes_again, _room_for(5)),
        ),
    ),
    Scenario(
        name="claims-refused-and-rolled",
        spec=spec_of("InitialControllers", 3),
        turns=(
            turn("asks for five, and there is no room", is_ready, both(_room_for(3), _FIVE)),
            turn("wants another heap", says("Degraded", "ActionFailed"), _HEAP),
            turn("makes room", _has_heap("1024m"), _room_for(5)),
        ),
        holds=ends_restarted("1024m"),
    ),
    Scenario(
        name="claims-refused-for-one-of-two",
        spec=spec_of("InitialControllers", 3),
        turns=(
            turn("asks for five, and there is room for one more", is_ready, both(_room_for(4), _FIVE)),
            turn("makes room", _four_vote, _room_for(5)),
        ),
    ),
)
_KEPT_CLAIMS: Final = (
    Scenario(
        name="claims-kept-and-a-disk-lost",
        spec=spec_of("InitialControllers", 4),
        turns=(
            turn("no claim may be deleted", is_ready, both(_keeps_claims("disks are kept"), _THREE)),
            turn("loses a disk", says("Degraded", "ActionFailed"), loses(Loss.EMPTIED_AND_KILLED, "follower")),
            turn("claims may be deleted", _votes_again, _keeps_claims("")),
        ),
    ),
)
CLAIM_SCENARIOS: Final = (
    *_KEPT_CLAIMS,
    *_REFUSED_CLAIMS,
    *(_rolled(f"claims-deleted-and-rolled-{count}", count, _deletes_claims(), "ClaimDeleting") for count in (1, 3)),
    _rolled("volumes-lost-and-rolled", 1, _loses_volumes, "LostDisk"),
    Scenario(
        name="claim-deleted-and-rolled",
        spec=spec_of("InitialControllers", 3),
        turns=(
            turn("deletes a claim", is_ready, _deletes_claims("follower")),
            turn("wants another heap", says("Degraded", "ClaimDeleting"), later(12, _HEAP)),
        ),
        holds=ends_restarted("1024m"),
    ),
    Scenario(
        name="only-claim-deleted-way-out",
        spec=spec_of("InitialControllers", 1),
        turns=(
            turn("deletes the claim", is_ready, _deletes_claims()),
            turn(
                "asks for three and another heap",
                tells("Degraded", "spec.controllers.replicas to 3"),
                both(applies({"controllers": {"replicas": 3}}), _HEAP),
            ),
        ),
        holds=ends_restarted("1024m"),
    ),
    Scenario(
        name="pair-shrinks-without-its-claim",
        spec=spec_of("InitialControllers", 2, controllers={"allowInterruption": True}),
        turns=(
            turn("deletes the leader's claim", is_ready, _deletes_claims("leader")),
            turn("the leader is to go", says("Degraded", "ClaimDeleting"), later(12, keeps_only("follower"))),
            turn("waits", after(60), does_nothing),
        ),
        ends="ClaimDeleting",
        holds=_led_on(2),
    ),
    Scenario(
        name="pair-is-made-without-a-claim",
        spec=spec_of("InitialControllers", 1),
        pace=slow,
        turns=(
            turn("asks for two", is_ready, applies({"controllers": {"replicas": 2}})),
            turn("deletes the claim of the new one", has_processes(2), _deletes_claim_of(3001)),
            turn("stops its pod", says("Degraded", "ClaimDeleting"), later(40, _stops(3001))),
        ),
        holds=_voters(2),
    ),
    Scenario(
        name="shrinks-to-one-without-its-claim",
        spec=spec_of("InitialControllers", 3),
        turns=(
            turn("deletes the claim of the one that is to stay", is_ready, _deletes_claim_of(3000)),
            turn(
                "asks for one", says("Degraded", "ClaimDeleting"), later(12, applies({"controllers": {"replicas": 1}}))
            ),
            turn("stops its pod", after(60), _stops(3000)),
        ),
        holds=_voters(1),
    ),
    Scenario(
        name="stuck-pod-without-its-claim",
        spec=spec_of("InitialControllers", 1),
        turns=(
            turn("asks for a typo", is_ready, applies(TYPO)),
            turn("deletes the claim", says("Degraded", "PodStuck"), _deletes_claims()),
            turn("corrects the image", says("Degraded", "ClaimDeleting"), later(12, applies(_RIGHT))),
            turn("waits", after(60), does_nothing),
        ),
        ends="ClaimDeleting",
        holds=_keeps(1),
    ),
    Scenario(
        name="crash-beside-an-image-that-cannot-start",
        spec=spec_of("InitialControllers", 3),
        turns=(
            turn("asks for a typo", is_ready, applies(TYPO)),
            turn("another controller crashes", says("Degraded", "PodStuck"), later(12, _crashes)),
            turn("waits", after(60), does_nothing),
        ),
        ends="PodStuck",
        holds=_one_with_typo,
    ),
    Scenario(
        name="image-taken-back-without-a-leader",
        spec=spec_of("InitialControllers", 3),
        turns=(
            turn("asks for a typo", is_ready, applies(TYPO)),
            turn(
                "the others crash, and one loses its claim",
                says("Degraded", "PodStuck"),
                later(12, _crashes_and_loses_another),
            ),
            turn("takes the image back", after(30), applies(IMAGE_BACK)),
        ),
    ),
)
