"""Scenarios of Kafka's own metrics: switched on and off, each by an ordinary roll."""

from collections.abc import Callable
from typing import Final

from tests.simulation.model.place import NAME, NAMESPACE
from tests.simulation.model.world import World
from tests.simulation.runs.scenarios.certificate_scenarios import secured
from tests.simulation.runs.scenarios.release_scenes import pauses_for, ready_and
from tests.simulation.runs.scenarios.scenes import Scenario, applies, is_ready, spec_of, turn

from kafka_quorum.model.names import LABEL_QUORUM
from kit.kube.protocol import PODS

_ON: Final = applies({"metrics": {"jmx": True}})
_OFF: Final = applies({"metrics": {"jmx": False}})
_WHILE_STEPS: Final = 20


def measured(world: World) -> tuple[str, ...]:
    """The pods whose Kafka shows metrics."""
    return tuple(
        pod["metadata"]["name"]
        for pod in world.kube.all(PODS)
        if pod["metadata"]["namespace"] == NAMESPACE
        and pod["metadata"]["labels"].get(LABEL_QUORUM) == NAME
        and any(port["name"] == "jmx" for port in pod["spec"]["containers"][0].get("ports", ()))
    )


def shown_by(at_least: int) -> Callable[[World], bool]:
    """Once this many controllers show metrics."""
    return lambda world: len(measured(world)) >= at_least


def ends_measured(count: int) -> Callable[[World], str]:
    """This many controllers show metrics in the end."""

    def why_not(world: World) -> str:
        found = measured(world)
        return "" if len(found) == count else f"the pods with metrics are {found}, not {count}"

    return why_not


METRICS: Final = (
    Scenario(
        name="metrics-on",
        spec=spec_of("InitialControllers", 3),
        turns=(turn("wants metrics", is_ready, _ON),),
        exhaustive=True,
        holds=ends_measured(3),
    ),
    Scenario(
        name="metrics-on-and-off",
        spec=spec_of("InitialControllers", 3),
        turns=(
            turn("wants metrics", is_ready, _ON),
            turn("wants none", ready_and(shown_by(3)), _OFF),
        ),
        holds=ends_measured(0),
    ),
    Scenario(
        name="metrics-on-half-way-off",
        spec=spec_of("InitialControllers", 3),
        turns=(
            turn("wants metrics", is_ready, _ON),
            turn("pauses, and resumes", shown_by(1), pauses_for(_WHILE_STEPS)),
            turn("wants none", shown_by(2), _OFF),
        ),
        holds=ends_measured(0),
    ),
    Scenario(
        name="metrics-on-static",
        spec=spec_of("Static", 3),
        turns=(turn("wants metrics", is_ready, _ON),),
        holds=ends_measured(3),
    ),
    Scenario(
        name="metrics-on-tls",
        spec=secured(),
        turns=(turn("wants metrics", is_ready, _ON),),
        holds=ends_measured(3),
    ),
    Scenario(
        name="metrics-from-the-beginning",
        spec=spec_of("Standalone", 3) | {"metrics": {"jmx": True}},
        turns=(),
        holds=ends_measured(3),
    ),
)
