"""Whole changes of an application: the real planner, and a model of the group."""

import random
from collections.abc import Callable
from dataclasses import replace

import pytest
from tests.streams.world import World

from kafka_streams.model.application import Approve, Desired, Gates, Runtime
from kafka_streams.model.release import StreamsRelease, parse_release
from kafka_streams.model.way import Protocol

SEEDS = range(12)


def release(text: str) -> StreamsRelease:
    """A release that is one."""
    parsed = parse_release(text)
    assert parsed is not None
    return parsed


def runtime(text: str, *, image: str = "") -> Runtime:
    """What instances of a release are made from."""
    return Runtime(
        release=release(text),
        protocol=Protocol.CLASSIC,
        image=image or f"app:{text}",
        container="app",
        template_metadata="{}",
        template_spec="{}",
        upgrade_variable="UPGRADE_FROM",
        state_path="/state",
    )


def desired(text: str, *, replicas: int = 3) -> Desired:
    """An application of this release."""
    return Desired(
        namespace="ns",
        name="app",
        uid="uid",
        generation=1,
        paused=False,
        application_id="counts",
        replicas=replicas,
        runtime=runtime(text),
        gates=Gates(stable_s=2.0, threads=1),
    )


def world(text: str, seed: int, *, replicas: int = 3) -> World:
    """An application that runs this release, every instance in the group."""
    one = World(desired=desired(text, replicas=replicas), seed=seed, brokers=frozenset({release("3.9.2")}))
    until(one, lambda: settled(one))
    return one


def settled(one: World) -> bool:
    """Whether every instance runs what the spec says, and nothing is open."""
    record = one.record
    return (
        record is not None
        and record.change is None
        and record.release == one.desired.runtime.release
        and len(record.slots) == one.desired.replicas
        and not any(slot.away for slot in record.slots)
        and {live.revision.runtime for live in one.working()} == {one.desired.runtime}
        and len(one.working()) == one.desired.replicas
        and not any(live.revision.upgrade_from for live in one.working())
        and len(one.claims) == one.desired.replicas
    )


def until(one: World, holds: Callable[[], bool], *, most: int = 400, dies: float = 0.0) -> None:
    """Steps until it holds."""
    for _ in range(most):
        if holds():
            return
        one.step(operator_dies=one.dice.random() < dies)
    raise AssertionError(f"seed {one.seed}: not after {most} s: {one.told[-4:]}, {one.record}")


def ask(one: World, text: str, *, image: str = "") -> None:
    """A person changes release and image."""
    one.desired = replace(one.desired, runtime=runtime(text, image=image))


@pytest.mark.parametrize("dies", [0.0, 0.3])
@pytest.mark.parametrize(
    ("start", "target", "bounces"),
    [
        ("1.1.1", "2.0.1", 2),
        ("0.10.0.1", "1.1.1", 2),
        ("2.0.1", "2.1.1", 2),
        ("2.3.1", "3.9.1", 2),
        ("2.4.1", "2.8.2", 1),
        ("3.9.1", "4.3.1", 1),
        ("4.3.1", "3.9.1", 1),
        ("3.9.0", "3.9.1", 1),
    ],
)
@pytest.mark.parametrize("seed", SEEDS)
def test_a_change_restarts_every_instance_as_often_as_its_way_says(
    start: str, target: str, bounces: int, seed: int, dies: float
) -> None:
    """Also if the operator dies between any two acts; the rules of the model hold after each of them."""
    one = world(start, seed)
    one.stops.clear()
    ask(one, target)
    until(one, lambda: settled(one), dies=dies)
    assert sorted(index for index, _ in one.stops) == sorted([0, 1, 2] * bounces)


@pytest.mark.parametrize("seed", SEEDS)
def test_over_the_bridge_to_4(seed: int) -> None:
    """2.3 → 4.3 is refused and names the bridge; 2.3 → 3.9 → 4.3 takes two bounces and one."""
    one = world("2.3.1", seed)
    one.stops.clear()
    ask(one, "4.3.1")
    for _ in range(30):
        one.step()
    assert one.stops == []
    assert any("Go to a 3.9 release first" in text for text in one.told)
    ask(one, "3.9.1")
    until(one, lambda: settled(one))
    ask(one, "4.3.1")
    until(one, lambda: settled(one))
    assert len(one.stops) == 3 * 3


@pytest.mark.parametrize("dies", [0.0, 0.3])
@pytest.mark.parametrize("seed", SEEDS)
def test_offline_only_when_a_person_says_so_for_this_release(seed: int, dies: float) -> None:
    """2.3 → 4.3 with spec.offlineTo: all stop, the group becomes empty, all start with empty state."""
    one = world("2.3.1", seed)
    one.stops.clear()
    one.desired = replace(one.desired, runtime=runtime("4.3.1"), offline_to="4.2.0")
    for _ in range(20):
        one.step()
    assert one.stops == []
    one.desired = replace(one.desired, offline_to="4.3.1")
    until(one, lambda: settled(one), dies=dies)
    assert {key[1] for key in one.claims} == {2}


@pytest.mark.parametrize("seed", SEEDS)
def test_a_broken_image_costs_one_instance(seed: int) -> None:
    """The first instance that gets it never comes back; no other one is stopped, and the way back is told."""
    one = world("3.9.1", seed)
    one.stops.clear()
    one.broken.add("app:bad")
    ask(one, "4.3.1", image="app:bad")
    for _ in range(120):
        one.step()
    assert len(one.stops) == 1
    assert len(one.working()) == 2
    assert any("To go back" in text for text in one.told)
    ask(one, "3.9.1")
    until(one, lambda: settled(one))
    assert len(one.stops) == 1, "the others were never touched"


@pytest.mark.parametrize("seed", SEEDS)
def test_a_corrected_image_goes_on(seed: int) -> None:
    """The instance with the broken image gets the corrected one first, then the others follow."""
    one = world("3.9.1", seed)
    one.broken.add("app:bad")
    ask(one, "4.3.1", image="app:bad")
    for _ in range(40):
        one.step()
    ask(one, "4.3.1")
    until(one, lambda: settled(one))


@pytest.mark.parametrize("seed", SEEDS)
def test_an_instance_that_processes_nothing_stops_the_change(seed: int) -> None:
    """STABLE alone proves nothing: if the offsets do not advance, no second instance stops, and it can go back."""
    one = world("3.9.1", seed)
    one.stops.clear()
    one.mute.update({"app:mute", "app:3.9.1"})
    ask(one, "4.3.1", image="app:mute")
    for _ in range(100):
        one.step()
    assert len(one.stops) <= 1
    one.mute.clear()
    ask(one, "3.9.1")
    until(one, lambda: settled(one))


@pytest.mark.parametrize("dies", [0.0, 0.3])
@pytest.mark.parametrize(("start", "target"), [("2.3.1", "3.9.1"), ("1.1.1", "2.0.1"), ("3.9.1", "4.3.1")])
@pytest.mark.parametrize("seed", SEEDS)
def test_turned_round_at_any_moment_and_again(start: str, target: str, seed: int, dies: float) -> None:
    """A change goes back from wherever it is, and forward again, and no two instances misunderstand each other."""
    one = world(start, seed)
    dice = random.Random(seed)
    ask(one, target)
    for _ in range(dice.randint(1, 90)):
        one.step(operator_dies=one.dice.random() < dies)
    ask(one, start)
    for _ in range(dice.randint(1, 60)):
        one.step(operator_dies=one.dice.random() < dies)
    if one.record is not None and one.record.change is not None:
        ask(one, target)
    until(one, lambda: settled(one) or (one.record is not None and one.record.change is None), dies=dies)


@pytest.mark.parametrize("seed", SEEDS)
def test_lost_pods_come_back_as_the_record_says(seed: int) -> None:
    """Pods that go with their Kubernetes nodes during a change are created again from what each instance runs."""
    one = world("1.1.1", seed)
    dice = random.Random(seed)
    ask(one, "2.0.1")
    for _ in range(60):
        if dice.random() < 0.1:
            one.kill(dice.randint(0, 2))
        one.step(operator_dies=dice.random() < 0.1)
    until(one, lambda: settled(one))


@pytest.mark.parametrize("seed", SEEDS)
def test_a_silent_coordinator_stops_nothing(seed: int) -> None:
    """Unknown is not stable: while nobody answers, no instance is stopped."""
    one = world("1.1.1", seed)
    one.stops.clear()
    one.silent = True
    ask(one, "2.0.1")
    for _ in range(60):
        one.step()
    assert one.stops == []
    one.silent = False
    until(one, lambda: settled(one))


def test_a_third_release_waits_while_a_change_is_open() -> None:
    """Only the two ends of the open change can be asked for."""
    one = world("2.3.1", 1)
    ask(one, "3.9.1")
    until(one, lambda: one.record is not None and one.record.change is not None)
    ask(one, "3.8.1")
    for _ in range(30):
        one.step()
    assert any("only these two can be asked for" in text for text in one.told)


def test_manual_approval_names_the_plan() -> None:
    """Nothing moves until a person repeats the hash of just this way."""
    one = world("2.3.1", 1)
    one.stops.clear()
    one.desired = replace(one.desired, approve=Approve.MANUAL, runtime=runtime("3.9.1"))
    planned = [one.step() for _ in range(20)][-1]
    assert one.stops == []
    assert planned.hash
    assert f"set spec.approved to {planned.hash}" in one.told[-1]
    one.desired = replace(one.desired, approved=planned.hash)
    until(one, lambda: settled(one))


@pytest.mark.parametrize("seed", SEEDS)
def test_more_and_fewer_instances(seed: int) -> None:
    """They come at once and go one by one; a new one never begins on the state of one that left."""
    one = world("3.9.1", seed, replicas=2)
    one.desired = replace(one.desired, replicas=5)
    until(one, lambda: settled(one))
    one.desired = replace(one.desired, replicas=1)
    until(one, lambda: settled(one))
    one.desired = replace(one.desired, replicas=3)
    until(one, lambda: settled(one))


@pytest.mark.parametrize("seed", SEEDS)
def test_an_image_that_never_worked_is_corrected(seed: int) -> None:
    """Nobody is in the group, so nothing is mixed: all instances start from the corrected spec."""
    one = World(desired=desired("3.9.1"), seed=seed, brokers=frozenset({release("3.9.2")}), broken={"app:3.9.1"})
    for _ in range(30):
        one.step()
    ask(one, "4.3.1")
    until(one, lambda: settled(one))


@pytest.mark.parametrize("seed", SEEDS)
def test_a_held_pod_is_not_stopped(seed: int) -> None:
    """A change waits for a pod that a person holds, and goes on when it is released."""
    one = world("3.9.1", seed)
    one.working()[0].held = True
    ask(one, "4.3.1")
    for _ in range(150):
        one.step()
    assert any("kafkaquorum.io/hold: remove it" in text for text in one.told)
    for live in one.pods.values():
        live.held = False
    until(one, lambda: settled(one))


@pytest.mark.parametrize("seed", SEEDS)
def test_fewer_instances_go_one_by_one(seed: int) -> None:
    """While one that stays does not work, none leaves."""
    one = world("3.9.1", seed)
    one.broken.add("app:3.9.1")
    one.kill(0)
    one.desired = replace(one.desired, replicas=2)
    for _ in range(40):
        one.step()
    assert sorted(live.index for live in one.working()) == [1, 2]
    one.broken.clear()
    until(one, lambda: settled(one))


@pytest.mark.parametrize("seed", SEEDS)
def test_a_broken_release_keeps_the_state_of_before(seed: int) -> None:
    """The claim of the earlier state stays until the instance works with its new one."""
    one = world("2.3.1", seed)
    one.broken.add("app:bad")
    ask(one, "3.9.1", image="app:bad")
    for _ in range(60):
        one.step()
    assert sorted(one.claims) == [(0, 1), (1, 1), (2, 1), (2, 2)]


@pytest.mark.parametrize("seed", SEEDS)
def test_a_group_of_others_stops_nothing(seed: int) -> None:
    """A member that is no pod of ours may be anything: no change begins, and none goes on."""
    one = world("3.9.1", seed)
    one.stops.clear()
    one.strangers = ("10.9.9.9",)
    ask(one, "4.3.1")
    for _ in range(60):
        one.step()
    assert one.stops == []
    one.strangers = ()
    until(one, lambda: settled(one))


@pytest.mark.parametrize("seed", SEEDS)
def test_a_coordinator_that_falls_silent_stops_nothing_more(seed: int) -> None:
    """In the middle of a change, too: what is not known allows nothing."""
    one = world("1.1.1", seed)
    ask(one, "2.0.1")
    until(one, lambda: one.record is not None and one.record.change is not None)
    one.stops.clear()
    one.silent = True
    for _ in range(60):
        one.step()
    assert one.stops == []
    one.silent = False
    until(one, lambda: settled(one))


@pytest.mark.parametrize("seed", SEEDS)
def test_a_change_is_not_done_while_versions_are_not_shown(seed: int) -> None:
    """Every instance runs the new release, and still it is open: not every member is seen to use what it supports."""
    one = world("1.1.1", seed)
    one.hidden = True
    ask(one, "2.0.1")
    for _ in range(200):
        one.step()
    assert {live.revision.runtime.release for live in one.working()} == {release("2.0.1")}
    assert one.record is not None
    assert one.record.change is not None
    one.hidden = False
    until(one, lambda: settled(one))
