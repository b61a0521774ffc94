"""Each guard and each gate is taken out once, and the model notices: a rule breaks, or a goal is missed."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from tests.streams import test_changes as cases
from tests.streams.world import Broken

from kafka_quorum.model.permit import Permit
from kafka_streams.model.permit import (
    DropState,
    NextStep,
    RemoveInstance,
    StartOver,
    StartTogether,
    StopAll,
    StopInstance,
    TurnRound,
)
from kafka_streams.plan import bounces, changes, gates, instances, upkeep
from kafka_streams.plan.guards import rule12_instances


def always(guard: Any) -> Callable[..., Permit[Any]]:  # noqa: ANN401 - a class of guards
    """A guard that allows everything."""
    return lambda *_: Permit(rule=guard.id, reason="taken out")


def nothing(*_: object, **__: object) -> Iterator[str]:
    """A gate without objections."""
    return iter(())


MUTANTS: dict[str, tuple[list[tuple[Any, str]], Any, Callable[[int], None]]] = {
    "12-stop-instance": (
        [(bounces, "may_stop")],
        always(StopInstance),
        cases.test_a_coordinator_that_falls_silent_stops_nothing_more,
    ),
    "12-next-step": (
        [(bounces, "may_step")],
        always(NextStep),
        cases.test_a_change_is_not_done_while_versions_are_not_shown,
    ),
    "12-stop-all": (
        [(changes, "may_stop_all")],
        always(StopAll),
        lambda seed: cases.test_offline_only_when_a_person_says_so_for_this_release(seed, 0.0),
    ),
    "12-start-together": (
        [(changes, "may_start_together")],
        always(StartTogether),
        lambda seed: cases.test_offline_only_when_a_person_says_so_for_this_release(seed, 0.0),
    ),
    "12-start-over": (
        [(changes, "may_start_over")],
        always(StartOver),
        lambda seed: cases.test_a_change_restarts_every_instance_as_often_as_its_way_says(
            "1.1.1", "2.0.1", 2, seed, 0.0
        ),
    ),
    "12-turn-round": (
        [(changes, "may_turn_round")],
        always(TurnRound),
        lambda _: cases.test_a_third_release_waits_while_a_change_is_open(),
    ),
    "12-remove-instance": (
        [(instances, "may_remove")],
        always(RemoveInstance),
        cases.test_fewer_instances_go_one_by_one,
    ),
    "12-drop-state": (
        [(upkeep, "may_drop")],
        always(DropState),
        cases.test_a_broken_release_keeps_the_state_of_before,
    ),
    "the gate of offsets": (
        [(gates, "processes")],
        nothing,
        cases.test_an_instance_that_processes_nothing_stops_the_change,
    ),
    "the gate of members": (
        [(gates, "works"), (rule12_instances, "works")],
        nothing,
        cases.test_a_broken_image_costs_one_instance,
    ),
    "the gate of a settled group": (
        [(gates, "group_settled"), (rule12_instances, "group_settled")],
        nothing,
        cases.test_a_group_of_others_stops_nothing,
    ),
    "the wipe of state": (
        [(bounces, "wiped"), (changes, "wiped")],
        lambda *_: False,
        lambda seed: cases.test_a_change_restarts_every_instance_as_often_as_its_way_says(
            "2.3.1", "3.9.1", 2, seed, 0.0
        ),
    ),
}


@pytest.mark.parametrize("name", MUTANTS)
def test_the_model_notices_that_it_is_missing(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """In one of twelve runs that the unchanged source passes, something goes wrong without it."""
    places, instead, case = MUTANTS[name]
    for module, attribute in places:
        monkeypatch.setattr(module, attribute, instead)
    noticed = 0
    for seed in range(12):
        try:
            case(seed)
        except (Broken, AssertionError, KeyError, ValueError):
            noticed += 1
            break
    assert noticed, f"{name} was taken out, and nothing noticed"
