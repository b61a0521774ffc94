"""Faults that a hostile reader found: releases that met, and a record that forgot what runs."""

from collections.abc import Callable
from dataclasses import replace

import pytest
from tests.streams.test_changes import SEEDS, ask, release, settled, until, world
from tests.streams.world import World

from kafka_streams.model.application import Approve
from kafka_streams.model.record import Record, Stage


def record_of(one: World) -> Record:
    """The record, which exists."""
    assert one.record is not None
    return one.record


def running(one: World) -> set[str]:
    """The releases that have a member."""
    return {str(live.revision.runtime.release) for live in one.working()}


def text_of(one: World, revision: str) -> str:
    """The release of a revision."""
    return next(str(made.runtime.release) for made in one.revisions if made.name == revision)


def stage(one: World) -> Stage | None:
    """Where the open change is."""
    change = record_of(one).change
    return None if change is None else change.stage


def plain(one: World) -> bool:
    """Whether an instance is in its second bounce: it runs 3.9.1 without `upgrade.from`."""
    made = {(str(live.revision.runtime.release), live.revision.upgrade_from) for live in one.working()}
    return ("3.9.1", "") in made


@pytest.mark.parametrize("seed", range(40))
def test_a_change_that_turns_round_three_times_leads_back_over_upgrade_from(seed: int) -> None:
    """In its second bounce a person reverts, applies again, and reverts: 2.3 never meets an instance without it."""
    one = world("2.3.1", seed)
    ask(one, "3.9.1")
    until(one, lambda: plain(one))
    for text in ("2.3.1", "3.9.1", "2.3.1"):
        ask(one, text)
        one.step()
    until(one, lambda: settled(one))


@pytest.mark.parametrize("seed", SEEDS)
def test_an_offline_change_that_turns_round_twice_knows_what_runs(seed: int) -> None:
    """Called off while it starts, and asked for again while all stop: the record has the release that then runs."""
    one = world("2.3.1", seed)
    ask(one, "4.3.1")
    one.desired = replace(one.desired, offline_to="4.3.1")
    until(one, lambda: stage(one) is Stage.STARTING)
    ask(one, "2.3.1")
    until(one, lambda: stage(one) is Stage.STOPPING)
    ask(one, "4.3.1")
    until(one, lambda: settled(one))
    one.desired = replace(one.desired, offline_to="")
    ask(one, "2.3.1")
    for _ in range(30):
        one.step()
    assert running(one) == {"4.3.1"}
    assert any("set spec.offlineTo to 2.3.1" in text for text in one.told)


@pytest.mark.parametrize("seed", SEEDS)
def test_instances_that_come_after_none_are_of_the_release_that_the_record_then_has(seed: int) -> None:
    """The way back from it is that of any change: it needs the consent to a stop."""
    one = world("2.3.1", seed)
    one.desired = replace(one.desired, replicas=0)
    until(one, lambda: not one.pods)
    ask(one, "3.9.1")
    one.desired = replace(one.desired, replicas=3)
    until(one, lambda: settled(one))
    ask(one, "2.3.1")
    for _ in range(30):
        one.step()
    assert running(one) == {"3.9.1"}
    assert any("set spec.offlineTo to 2.3.1" in text for text in one.told)


@pytest.mark.parametrize("seed", SEEDS)
def test_instances_that_come_after_none_wait_for_those_of_before(seed: int) -> None:
    """No pod of another release is left, and the group is empty."""
    one = world("2.3.1", seed)
    one.desired = replace(one.desired, replicas=0)
    until(one, lambda: not record_of(one).slots)
    ask(one, "3.9.1")
    one.desired = replace(one.desired, replicas=3)
    until(one, lambda: settled(one))
    assert any("Did not make instances of 3.9.1 yet" in text for text in one.told)


@pytest.mark.parametrize(
    ("target", "changes", "told"),
    [("3.9.1", {"approve": Approve.MANUAL}, "waits for approval"), ("2.0.1", {}, "do not support clients before 2.1")],
)
def test_instances_that_come_after_none_need_what_a_change_needs(
    target: str, changes: dict[str, Approve], told: str
) -> None:
    """An approval if a person wants to give it, and brokers that serve the release."""
    one = world("2.3.1", 1)
    one.brokers = frozenset({release("4.0.0")}) if not changes else one.brokers
    one.desired = replace(one.desired, replicas=0)
    until(one, lambda: not one.pods)
    ask(one, target)
    one.desired = replace(one.desired, replicas=3, approve=changes.get("approve", one.desired.approve))
    for _ in range(30):
        one.step()
    assert not one.pods
    assert any(told in text for text in one.told)


def _more(one: World) -> None:
    one.desired = replace(one.desired, replicas=4)


def _lost(one: World) -> None:
    one.kill(1)


def _ended(one: World) -> None:
    live = one.working()[0]
    live.member, live.starts_s = None, one.now_s + 20


@pytest.mark.parametrize("happens", [_more, _lost, _ended], ids=["more", "lost", "ended"])
@pytest.mark.parametrize("seed", SEEDS)
def test_nothing_is_made_from_an_old_record_beside_what_runs(seed: int, happens: Callable[[World], None]) -> None:
    """A copy from before the upgrade was restored, and then a pod is lost, ends, or more are requested."""
    one = world("2.3.1", seed)
    old = record_of(one)
    ask(one, "3.9.1")
    until(one, lambda: settled(one))
    new = record_of(one)
    one.record = replace(old, resource_version=new.resource_version)
    one.step()
    happens(one)
    for _ in range(30):
        one.step()
    assert running(one) == {"3.9.1"}
    assert any("the record says 2.3.1. Restore the latest record" in text for text in one.told)
    one.record = replace(new, resource_version=record_of(one).resource_version)
    until(one, lambda: settled(one))


@pytest.mark.parametrize("way", ["one by one", "offline"])
@pytest.mark.parametrize("seed", SEEDS)
def test_an_empty_state_is_empty_after_an_old_record_was_restored(seed: int, way: str) -> None:
    """A claim that the record of before does not know has the state of a later release."""
    one = world("4.3.1", seed)
    old = record_of(one)
    assert {slot.generation for slot in old.slots} == {1}
    one.record = replace(old, resource_version=record_of(one).resource_version)
    for index in range(3):
        one.claims[index, 2] = release("4.4.0")
    target = "3.9.1" if way == "one by one" else "2.3.1"
    one.desired = replace(one.desired, offline_to=target)
    ask(one, target)
    until(one, lambda: settled(one))
    assert {generation for _, generation in one.claims} == {3}


def test_a_revision_that_is_gone_is_told() -> None:
    """No pod can be made from it: that the instance starts would be no answer."""
    one = world("2.3.1", 1)
    ask(one, "3.9.1")
    one.desired = replace(one.desired, approve=Approve.MANUAL)
    one.step()
    one.step()
    one.revisions = [made for made in one.revisions if made.runtime.release != release("2.3.1")]
    one.kill(1)
    planned = [one.step() for _ in range(10)][-1]
    told = {wait.reason: wait.message for wait in planned.waits}
    assert "Starting" not in told
    assert told["RevisionGone"].startswith("Did not create the pod of instance 1: its revision app-streams-")


@pytest.mark.parametrize("reached", [False, True])
@pytest.mark.parametrize("seed", SEEDS)
def test_a_pod_of_a_late_request_does_not_hold_an_open_change_for_ever(seed: int, *, reached: bool) -> None:
    """It serves, and the record says another revision: it stops first, whether the change has reached it or not."""
    one = world("3.9.1", seed)
    ask(one, "4.3.1")
    until(one, lambda: any(not slot.away and text_of(one, slot.revision) == "4.3.1" for slot in record_of(one).slots))
    index = 2 if reached else 0
    live = next(live for live in one.working() if live.index == index)
    here = live.revision.runtime
    other = replace(live.revision, name="app-streams-0123456789", number=0, runtime=replace(here, image="app:late"))
    one.revisions.append(other)
    live.revision = other
    until(one, lambda: settled(one))
