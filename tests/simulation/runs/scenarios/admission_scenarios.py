"""The tables about pods that the API server refuses: before a roll, during a roll, at the bootstrap, while scaling."""

from typing import Any, Final

from tests.simulation.model.world import World
from tests.simulation.runs.scenarios.release_scenes import both, controllers, ends_restarted, later
from tests.simulation.runs.scenarios.scenes import (
    Act,
    Scenario,
    When,
    after,
    applies,
    does_nothing,
    is_ready,
    says,
    spec_of,
    turn,
)

from kit.kube.protocol import Json

_NULLS: Final[Json] = {
    "securityContext": {"runAsNonRoot": None, "runAsUser": None},
    "containers": [{"name": "kafka", "env": None, "resources": None}],
}
_PLUGIN: Final = "Priority"
_GONE: Final = "late"
_SHOWN_STEPS: Final = 60
"""Long enough for a faulty operator to stop a controller."""


def _classes(*known: str) -> Act:
    """From now on the API server refuses every pod with a priority class that is not one of these."""

    def refuse(pod: Json) -> str:
        name = pod["spec"].get("priorityClassName", "")
        return "" if name in ("", *known) else f"no PriorityClass with name {name} was found"

    return lambda world, _: world.kube.admission.refuse(_PLUGIN, refuse)


def _restricted(world: World, _: object) -> None:
    """From now on the namespace refuses every pod that could run as root."""

    def refuse(pod: Json) -> str:
        security = pod["spec"]["securityContext"]
        non_root = security.get("runAsNonRoot") is True and security.get("runAsUser") != 0
        return "" if non_root else 'violates PodSecurity "restricted:latest": runAsNonRoot != true'

    world.kube.admission.refuse("PodSecurity", refuse)


def _all_pods(why: str) -> Act:
    """From now on the API server refuses every pod; with an empty text it refuses none."""
    return lambda world, _: world.kube.admission.refuse("Namespace", lambda _: why)


def _asks(name: str | None, heap: str = "1Gi", **pod: Any) -> Act:  # noqa: ANN401 - JSON
    template = {"spec": {"priorityClassName": name, **pod}}
    return applies({"controllers": {"jvm": {"heap": heap}, "template": template}})


_older: Final = applies({"kafka": {"version": "4.1.2", "image": ""}})


def _is_short(count: int) -> When:
    """Once a controller has been stopped."""
    return lambda world: is_ready(world) is False and len(controllers(world)) < count


def _named(world: World) -> bool:
    """Once the status shows the refusal of the API server."""
    return says("Progressing", "RollHeld")(world)


def _all_run(world: World) -> str:
    """Every controller runs."""
    return "" if len(controllers(world)) == 3 else f"{len(controllers(world))} controllers run"


def _set_back(replicas: int) -> Scenario:
    return Scenario(
        name=f"refused-pod-set-back-{replicas}",
        spec=spec_of("InitialControllers", replicas),
        turns=(
            turn("there are no classes", is_ready, _classes()),
            turn("names one", after(0), _asks("missing")),
            turn("sets it back", _named, later(_SHOWN_STEPS, _asks(None, "512Mi"))),
        ),
        exhaustive=replicas == 1,
        holds=ends_restarted("512m"),
    )


def _refused_late(replicas: int) -> Scenario:
    """The dry run is accepted, and the pod is still refused: the controller returns to its earlier revision."""
    return Scenario(
        name=f"refused-after-the-dry-run-{replicas}",
        spec=spec_of("InitialControllers", replicas),
        turns=(
            turn("there is one class", is_ready, _classes(_GONE)),
            turn("names it", after(0), _asks(_GONE)),
            turn("the class is deleted", _is_short(replicas), _classes()),
            turn("sets it back", _named, later(_SHOWN_STEPS, _asks(None, "512Mi"))),
        ),
        exhaustive=replicas == 1,
        holds=ends_restarted("512m"),
    )


REFUSED: Final = (
    *map(_set_back, (1, 3)),
    *map(_refused_late, (1, 3)),
    Scenario(
        name="refused-pod-cause-removed",
        spec=spec_of("InitialControllers", 3),
        turns=(
            turn("there are no classes", is_ready, _classes()),
            turn("names one", after(0), _asks("missing")),
            turn("the class is created", _named, later(_SHOWN_STEPS, _classes("missing"))),
        ),
        holds=ends_restarted("1024m"),
    ),
    Scenario(
        name="refused-pod-behind-an-older-image",
        spec=spec_of("InitialControllers", 3),
        turns=(
            turn("there is one class", is_ready, _classes(_GONE)),
            turn("names it", after(0), _asks(_GONE)),
            turn("the class is deleted, and an older release named", _is_short(3), both(_classes(), _older)),
            turn("waits", after(60), does_nothing),
        ),
        ends="OlderImage",
        holds=_all_run,
    ),
    Scenario(
        name="every-pod-refused-in-a-roll",
        spec=spec_of("InitialControllers", 3),
        turns=(
            turn("wants another heap", is_ready, _asks(None)),
            turn("the namespace refuses pods", _is_short(3), _all_pods("violates PodSecurity")),
            turn("sets the spec back", says("Degraded", "PodRefused"), _asks(None, "512Mi")),
            turn("the namespace is corrected", after(60), _all_pods("")),
        ),
        holds=ends_restarted("512m"),
    ),
    Scenario(
        name="nulls-in-the-template",
        spec=spec_of("InitialControllers", 3),
        turns=(
            turn("the namespace is restricted", is_ready, _restricted),
            turn("writes nulls", after(0), _asks(None, **_NULLS)),
        ),
        holds=ends_restarted("1024m"),
    ),
    Scenario(
        name="refused-at-the-bootstrap",
        spec=spec_of("InitialControllers", 3, controllers={"template": {"spec": {"priorityClassName": "missing"}}}),
        turns=(
            turn("there are no classes", after(0), _classes()),
            turn("corrects the spec", says("Degraded", "PodRefused"), _asks(None, "512Mi")),
        ),
        exhaustive=True,
        holds=ends_restarted("512m"),
    ),
    Scenario(
        name="scaled-with-a-refused-revision",
        spec=spec_of("InitialControllers", 1, controllers={"template": {"spec": {"priorityClassName": _GONE}}}),
        turns=(
            turn("the class is deleted", is_ready, _classes()),
            turn("asks for three", after(0), applies({"controllers": {"replicas": 3}})),
            turn("corrects the spec", says("Degraded", "PodRefused"), _asks(None)),
        ),
        holds=ends_restarted("1024m"),
    ),
)
