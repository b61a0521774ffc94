"""The tables about standing still: missing rights, a program that reverts a change, and config maps that are gone."""

from collections.abc import Iterator
from functools import partial
from typing import Final

from tests.simulation.model.kubernetes.kube_model import Written
from tests.simulation.model.place import NAME, NAMESPACE
from tests.simulation.model.world import World
from tests.simulation.rules.invariants import Checker
from tests.simulation.runs.accidents import happen
from tests.simulation.runs.faults import Accident, Loss
from tests.simulation.runs.scenarios.release_scenes import both
from tests.simulation.runs.scenarios.scenes import Scenario, Turn, When, after, applies, condition, is_ready, spec_of

from kafka_quorum.model.names import LABEL_QUORUM, LABEL_ROLE, is_config_name
from kafka_quorum.model.pods import PodRole
from kafka_quorum.status.cannot_look import REASON
from kit.kube.protocol import BUDGETS, CONFIG_MAPS, PODS, REVISIONS, SERVICES, Json

_UNDOES_STEPS: Final = 120
_WRITES_MAX: Final = 20
"""A minute of pauses that double up to half a minute has room for about ten writes."""


def _refuses(world: World, _: Checker) -> None:
    world.refused.add(BUDGETS.plural)


def _grants(world: World, _: Checker) -> None:
    world.refused.clear()


def says_cannot_look(world: World) -> bool:
    """The status claims nothing that needs a look."""
    ready, degraded = condition(world, "Ready"), condition(world, "Degraded")
    return ready.get("status") == "Unknown" and degraded.get("reason") == REASON


def _undoes(world: World, _: Checker) -> None:
    """A program changes the service back, half a second after each write of the operator."""
    until = world.steps + _UNDOES_STEPS

    def undo(name: str) -> None:
        if world.steps < until:
            world.kube.patch(SERVICES, NAMESPACE, name, {"spec": {"publishNotReadyAddresses": False}})

    def watch(written: Written) -> None:
        if written.key[0] == SERVICES.plural and written.by_operator:
            world.later(1, partial(undo, written.key[2]))

    world.kube.watchers.append(watch)
    for item in world.kube.list(SERVICES, NAMESPACE, {}):
        undo(item["metadata"]["name"])


def _few_writes(world: World) -> str:
    writes = sum(one.key[0] == SERVICES.plural and one.by_operator for one in world.kube.writes)
    return "" if writes <= _WRITES_MAX else f"the operator wrote the service {writes} times"


def _formatters(world: World) -> Iterator[Json]:
    pods = world.kube.all(PODS)
    return (pod for pod in pods if pod["metadata"]["labels"].get(LABEL_ROLE) == PodRole.FORMATTER.value)


def _has_formatter(world: World) -> bool:
    """Whether there is a formatter, which has not started yet."""
    return any(_formatters(world))


def _formats(node_id: int) -> When:
    """Whether the formatter of this controller has a Kubernetes node."""

    def when(world: World) -> bool:
        own = (pod for pod in _formatters(world) if f"-{node_id}-" in pod["metadata"]["name"])
        return any(pod["spec"].get("nodeName") for pod in own)

    return when


def _has_voters(count: int) -> When:
    """Once the quorum is Ready with so many voters."""

    def when(world: World) -> bool:
        leads = [len(one.voters) for one in world.kraft.processes if one.leads]
        return is_ready(world) and count in leads

    return when


def _deletes_configs(world: World, _: Checker) -> None:
    """Delete every config map that pods mount."""
    for item in list(world.kube.all(CONFIG_MAPS)):
        name = str(item["metadata"]["name"])
        if is_config_name(NAME, name):
            world.kube.remove(CONFIG_MAPS, NAMESPACE, name)


def _deletes_revisions(world: World, _: Checker) -> None:
    """Delete every revision, also the one that the record names."""
    for item in list(world.kube.all(REVISIONS)):
        world.kube.remove(REVISIONS, NAMESPACE, item["metadata"]["name"])


def _unlabels_revisions(world: World, _: Checker) -> None:
    """Take from every revision the label by which it is listed."""
    for item in list(world.kube.all(REVISIONS)):
        body = {"metadata": {"labels": {LABEL_QUORUM: None}}}
        world.kube.patch(REVISIONS, NAMESPACE, item["metadata"]["name"], body)


def _deletes_pod(world: World, _: Checker) -> None:
    """The pod of the second controller is deleted by a person."""
    happen(world, Accident(step=0, loss=Loss.POD_DELETED, node_id=3001))


def _turns_node_off(world: World, _: Checker) -> None:
    """The machine of the fourth controller has no power any more."""
    happen(world, Accident(step=0, loss=Loss.NODE_OFF, node_id=3003))


def _ends_sandbox(world: World, _: Checker) -> None:
    """End the sandbox of the second controller: its pod mounts everything again."""
    happen(world, Accident(step=0, loss=Loss.SANDBOX, node_id=3001))


_THREE: Final = spec_of("InitialControllers", 3)
_FIVE: Final = applies({"controllers": {"replicas": 5}})
STANDING: Final = (
    Scenario(
        name="rights-removed",
        spec=_THREE,
        turns=(
            Turn(what="a right is removed", when=is_ready, act=_refuses),
            Turn(what="it is granted again", when=says_cannot_look, act=_grants),
        ),
    ),
    *(
        Scenario(
            name=name,
            spec=_THREE,
            turns=(
                Turn(what=f"every revision is {word}", when=is_ready, act=act),
                Turn(what="a pod is deleted", when=after(60), act=_deletes_pod),
            ),
        )
        for name, word, act in (
            ("recorded-revision-deleted", "deleted", _deletes_revisions),
            ("recorded-revision-without-label", "without its label", _unlabels_revisions),
        )
    ),
    Scenario(
        name="undone-again-and-again",
        spec=_THREE,
        turns=(Turn(what="a program undoes the service", when=is_ready, act=_undoes),),
        holds=_few_writes,
    ),
    Scenario(
        name="config-map-of-a-formatter-gone",
        spec=spec_of("InitialControllers", 1),
        turns=(
            Turn(
                what="its config map is deleted before it starts, and five are requested",
                when=_has_formatter,
                act=both(_deletes_configs, _FIVE),
            ),
        ),
    ),
    Scenario(
        name="node-of-a-formatter-off",
        spec=_THREE,
        turns=(
            Turn(what="five are requested", when=is_ready, act=_FIVE),
            Turn(what="the node of a newcomer's formatter is off", when=_formats(3003), act=_turns_node_off),
        ),
    ),
    Scenario(
        name="config-map-of-a-pod-gone",
        spec=_THREE,
        turns=(
            Turn(what="five are requested", when=is_ready, act=_FIVE),
            Turn(
                what="the config maps are deleted, and the pod with the name of an earlier one starts again",
                when=_has_voters(5),
                act=both(_deletes_configs, _ends_sandbox),
            ),
        ),
    ),
)
