"""What users and the cluster do on purpose, beside which one fault at a time is tried.

A scenario is a resource and a list of turns: when its condition holds, a turn acts, and the next one waits for its own.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from tests.simulation.invariants import Checker
from tests.simulation.world import World

from kafka_quorum.kube.protocol import CLAIMS, CONFIG_MAPS, PODS, QUORUMS, SERVICES, Json

NAMESPACE: Final = "kafka"
NAME: Final = "demo"


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """Something somebody does once `when` holds."""

    what: str
    when: Callable[[World], bool]
    act: Callable[[World, Checker], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """A quorum's spec, what happens to it, and where it ends without faults: Ready, or `ends` as the reason."""

    name: str
    spec: Json
    turns: tuple[Turn, ...] = ()
    ends: str = "Ready"
    exhaustive: bool = False
    """Whether every call of it is struck by every fault; the others only reach what the exhaustive ones cannot."""

    @property
    def replicas(self) -> int:
        """How many controllers it begins with."""
        return int(self.spec["controllers"]["replicas"])


def spec_of(mode: str, replicas: int, **more: Any) -> Json:  # noqa: ANN401 - JSON
    """A spec with everything that has no default."""
    controllers = {"replicas": replicas, **more.pop("controllers", {})}
    return {"bootstrap": {"mode": mode}, "kafka": {"version": "4.4.0"}, "controllers": controllers, **more}


# Conditions


def resource(world: World) -> Json | None:
    """The resource as it is."""
    return world.kube.get(QUORUMS, NAMESPACE, NAME)


def condition(world: World, kind: str) -> Json:
    """A condition of the resource, empty if it is not there."""
    body = resource(world) or {}
    rows = (body.get("status") or {}).get("conditions") or []
    return next((row for row in rows if row["type"] == kind), {})


def is_ready(world: World) -> bool:
    """Whether the resource says Ready at its present generation."""
    body, row = resource(world), condition(world, "Ready")
    if body is None or row.get("status") != "True":
        return False
    return bool(row.get("observedGeneration") == body["metadata"]["generation"])


def after(seconds: float) -> Callable[[World], bool]:
    """Once so much time has passed since the beginning."""
    return lambda world: world.clock.elapsed_s >= seconds


def says(kind: str, reason: str) -> Callable[[World], bool]:
    """Once a condition has this reason."""
    return lambda world: condition(world, kind).get("reason") == reason


def tells(kind: str, text: str) -> Callable[[World], bool]:
    """Once the message of a condition contains this."""
    return lambda world: text in condition(world, kind).get("message", "")


def is_gone(world: World) -> bool:
    """Once the resource, its pods and its services are gone; claims may stay."""
    kinds = (QUORUMS, PODS, SERVICES)
    return not any(list(world.kube.all(kind)) for kind in kinds)


# What somebody does


def applies(spec: Json) -> Callable[[World, Checker], None]:
    """Create the resource, or change its spec."""

    def act(world: World, _: Checker) -> None:
        body = {"metadata": {"name": NAME}, "spec": spec}
        if resource(world) is None:
            world.kube.create(QUORUMS, NAMESPACE, body)
        else:
            world.kube.patch(QUORUMS, NAMESPACE, NAME, {"spec": spec})

    return act


def deletes(*, with_volumes: bool) -> Callable[[World, Checker], None]:
    """Delete the resource; with its volumes it is the end of this quorum."""

    def act(world: World, checker: Checker) -> None:
        world.kube.delete(QUORUMS, NAMESPACE, NAME)
        if with_volumes:
            checker.end(NAMESPACE, NAME)

    return act


def erases_status(world: World, _: Checker) -> None:
    """Wipe the whole status."""
    body = resource(world)
    if body is not None:
        gone = dict.fromkeys(body.get("status") or {})
        world.kube.patch(QUORUMS, NAMESPACE, NAME, {"status": gone}, subresource="status")


def deletes_record(world: World, _: Checker) -> None:
    """Delete the ConfigMap that holds the identity."""
    world.kube.remove(CONFIG_MAPS, NAMESPACE, f"{NAME}-identity")


def deletes_record_and_status(world: World, checker: Checker) -> None:
    """Both at once: only the claims and the pods remember."""
    deletes_record(world, checker)
    erases_status(world, checker)


def edits_record(text: str) -> Callable[[World, Checker], None]:
    """Replace what the record says, as a person with an editor does."""

    def act(world: World, _: Checker) -> None:
        world.kube.patch(CONFIG_MAPS, NAMESPACE, f"{NAME}-identity", {"data": {"record.json": text}})

    return act


def deletes_service(world: World, _: Checker) -> None:
    """Delete the headless service."""
    world.kube.remove(SERVICES, NAMESPACE, f"{NAME}-controllers")


def image_vanishes(world: World, _: Checker) -> None:
    """The registry loses the image, and every pod is deleted."""
    world.kubelet.bad_images = ("apache/kafka:4.4.0",)
    for pod in list(world.kube.all(PODS)):
        world.kube.delete(PODS, NAMESPACE, pod["metadata"]["name"])


def foreign_disk(world: World, _: Checker) -> None:
    """Files of somebody else lie on the first volume."""
    for volume in world.volumes.of_quorum(NAMESPACE, NAME)[:1]:
        volume.disk.files = True


def annotates_claim_wrongly(world: World, _: Checker) -> None:
    """Somebody writes another cluster id on a claim."""
    claim = next(world.kube.all(CLAIMS))
    wrong = {"metadata": {"annotations": {"kafkaquorum.io/cluster-id": "AAAAAAAAQACAAAAAAAAAAQ"}}}
    world.kube.patch(CLAIMS, NAMESPACE, claim["metadata"]["name"], wrong)


def does_nothing(_: World, __: Checker) -> None:
    """Wait."""


_THREE = spec_of("InitialControllers", 3)
_ALONE = spec_of("Standalone", 1)
_DELETE = {"storage": {"retentionPolicy": {"whenDeleted": "Delete"}}}


def _turn(what: str, when: Callable[[World], bool], act: Callable[[World, Checker], None]) -> Turn:
    return Turn(what=what, when=when, act=act)


EXHAUSTIVE: Final = (
    Scenario(name="initial-1", spec=spec_of("InitialControllers", 1), exhaustive=True),
    Scenario(name="initial-3", spec=_THREE, exhaustive=True),
    Scenario(name="standalone-1", spec=_ALONE, exhaustive=True),
    Scenario(name="standalone-3", spec=spec_of("Standalone", 3), exhaustive=True),
    Scenario(
        name="standalone-1-to-3",
        spec=_ALONE,
        turns=(_turn("asks for three", is_ready, applies(spec_of("Standalone", 3))),),
        exhaustive=True,
    ),
)

_TYPO = {"kafka": {"version": "4.4.0", "image": "apache/kafka:typo"}}
_OLDER = {"kafka": {"version": "4.1.2", "image": ""}}
_MIRROR = {"kafka": {"version": "4.4.0", "image": "mirror/kafka:4.4.0"}}
_RIGHT = {"kafka": {"version": "4.4.0", "image": "apache/kafka:4.4.0"}}

FURTHER: Final = (
    Scenario(
        name="paused",
        spec={**_THREE, "paused": True},
        turns=(_turn("resumes", says("Progressing", "Paused"), applies({"paused": False})),),
    ),
    Scenario(
        name="typo-before-the-barrier",
        spec={**_THREE, **_TYPO},
        turns=(_turn("corrects the image", says("Degraded", "PodStuck"), applies(_RIGHT)),),
    ),
    Scenario(
        name="status-erased",
        spec=_THREE,
        turns=(_turn("erases the status", is_ready, erases_status),),
    ),
    Scenario(
        name="record-deleted",
        spec=_THREE,
        turns=(_turn("deletes the record", is_ready, deletes_record),),
    ),
    Scenario(
        name="record-and-status-gone",
        spec=_THREE,
        turns=(_turn("deletes the record and the status", is_ready, deletes_record_and_status),),
    ),
    Scenario(
        name="service-deleted",
        spec=_THREE,
        turns=(_turn("deletes the service", is_ready, deletes_service),),
    ),
    Scenario(
        name="retained-and-applied-again",
        spec=_THREE,
        turns=(
            _turn("deletes the resource", is_ready, deletes(with_volumes=False)),
            _turn("applies it again", is_gone, applies(_THREE)),
        ),
    ),
    Scenario(
        name="deleted-and-applied-at-once",
        spec=spec_of("InitialControllers", 3, controllers=_DELETE),
        turns=(
            _turn("deletes the resource", is_ready, deletes(with_volumes=True)),
            _turn("applies it again", lambda _: True, applies(spec_of("InitialControllers", 3, controllers=_DELETE))),
        ),
    ),
    Scenario(
        name="retention-changed",
        spec=_THREE,
        turns=(
            _turn("wants Delete", is_ready, applies({"controllers": _DELETE})),
            _turn("waits", after(60), does_nothing),
        ),
    ),
    Scenario(
        name="storage-grown",
        spec=_THREE,
        turns=(
            _turn("asks for more", is_ready, applies({"controllers": {"storage": {"size": "20Gi"}}})),
            _turn("waits", after(60), does_nothing),
        ),
    ),
    Scenario(
        name="foreign-files",
        spec=spec_of("InitialControllers", 1),
        turns=(_turn("puts files on the volume", lambda world: bool(world.volumes.by_claim), foreign_disk),),
        ends="ForeignDisk",
    ),
    Scenario(
        name="another-claim",
        spec=_THREE,
        turns=(_turn("annotates a claim wrongly", is_ready, annotates_claim_wrongly),),
        ends="IdentityConflict",
    ),
    Scenario(
        name="record-unreadable",
        spec=_THREE,
        turns=(_turn("breaks the record", is_ready, edits_record("{")),),
        ends="IdentityUnreadable",
    ),
    Scenario(
        name="version-changed-while-running",
        spec=_THREE,
        turns=(_turn("wants another heap", is_ready, applies({"controllers": {"jvm": {"heap": "1Gi"}}})),),
        ends="NotSupportedYet",
    ),
    Scenario(
        name="fewer-replicas",
        spec=_THREE,
        turns=(_turn("asks for one", is_ready, applies({"controllers": {"replicas": 1}})),),
        ends="NotSupportedYet",
    ),
    Scenario(
        name="older-image",
        spec={**_THREE, **_TYPO},
        turns=(
            _turn("asks for less", says("Degraded", "PodStuck"), applies({"kafka": {"version": "4.1.2", "image": ""}})),
        ),
    ),
    Scenario(
        name="image-gone",
        spec=_THREE,
        turns=(
            _turn("the image vanishes", is_ready, image_vanishes),
            _turn("asks for less", says("Degraded", "PodStuck"), applies(_OLDER)),
            _turn("names a mirror", tells("Ready", "is older than"), applies(_MIRROR)),
        ),
    ),
)
