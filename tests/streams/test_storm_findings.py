"""Faults that storms of the simulation found, each in the smallest run that shows it."""

from dataclasses import dataclass, field, replace

import pytest
from tests.streams.test_changes import SEEDS, ask, desired, release, runtime, settled, until, world
from tests.streams.world import World

from kafka_streams.model.application import Approve
from kafka_streams.model.observed import Revision
from kafka_streams.model.record import Stage


def stopped(one: World, *, starts_s: float) -> None:
    """Every instance has ended, nobody is in the group, and new pods start later, each at its own time."""
    for live in list(one.pods.values()):
        one.kill(live.index)
    one.ghosts.clear()
    one.step()
    one.step()
    for live in one.pods.values():
        live.member, live.starts_s = None, one.now_s + starts_s + 2 * live.index


def stages(one: World) -> list[Stage]:
    """The stage of the open change; none if none is open."""
    change = one.record.change if one.record is not None else None
    return [] if change is None else [change.stage]


@pytest.mark.parametrize("seed", SEEDS)
def test_an_instance_leaves_when_the_one_before_it_is_gone(seed: int) -> None:
    """Its pod has ended, and its members have left the group."""
    one = world("3.9.1", seed, replicas=4)
    one.desired = replace(one.desired, replicas=1)
    slow: set[str] = set()
    while len(one.pods) > 1:
        one.step()
        for live in one.pods.values():
            if live.deleting_s is not None and live.name not in slow:
                live.deleting_s += 5  # it takes its time to end
                slow.add(live.name)
        leaving = [live.index for live in one.working() if live.deleting_s is not None]
        assert len(leaving) <= 1
        assert not (leaving and one.ghosts)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_lost_record_gives_nobody_the_state_of_an_unknown_release(seed: int) -> None:
    """Nothing says which release wrote the claims that are there: every instance gets a new one."""
    one = world("2.3.1", seed)
    stopped(one, starts_s=100.0)
    one.pods.clear()
    one.record = None
    ask(one, "3.9.1")
    until(one, lambda: settled(one))
    assert {generation for _, generation in one.claims} == {2}


@pytest.mark.parametrize("starts_s", [1.0, 2.0, 3.0, 4.0, 5.0])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_pods_that_start_are_stopped_before_another_release_starts(seed: int, starts_s: float) -> None:
    """While nobody is in the group pods of before may still start: they are gone before the first new one is made."""
    one = world("2.3.1", seed)
    stopped(one, starts_s=starts_s)
    ask(one, "3.9.1")
    until(one, lambda: settled(one))


@pytest.mark.parametrize(("target", "told"), [("3.9.1", "waits for approval"), ("4.3.1", "set spec.offlineTo")])
def test_nothing_begins_unasked_while_nothing_runs(target: str, told: str) -> None:
    """A moment in which no instance runs is no approval, and no consent to an offline change."""
    one = world("2.3.1", 1)
    stopped(one, starts_s=1000.0)
    one.desired = replace(one.desired, runtime=runtime(target), approve=Approve.MANUAL)
    for _ in range(30):
        one.step()
    assert one.record is not None
    assert (one.record.release, one.record.change) == (release("2.3.1"), None)
    assert any(told in text for text in one.told)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_way_back_up_keeps_the_state(seed: int) -> None:
    """From 4.3 down to 3.9 state is given up; turned round, 4.3 reads what 3.9 wrote."""
    one = world("4.3.1", seed)
    ask(one, "3.9.1")
    until(one, lambda: any(live.revision.runtime.release == release("3.9.1") for live in one.working()))
    ask(one, "4.3.1")
    until(one, lambda: settled(one))
    assert max(generation for _, generation in one.claims) == 2


def _astray(one: World, text: str) -> Revision:
    """Gives a pod another revision, as if a late request had made it."""
    live = one.working()[0]
    other = Revision(name="app-streams-0123456789", number=9, runtime=runtime(text, image="app:late"), upgrade_from="")
    one.revisions.append(other)
    live.revision = other
    return other


@pytest.mark.parametrize("seed", SEEDS)
def test_a_pod_that_is_not_what_the_record_says_is_replaced(seed: int) -> None:
    """A late request may make one that serves: it stops like any other, and does not block everything for ever."""
    one = world("3.9.1", seed)
    one.stops.clear()
    other = _astray(one, "3.9.1")
    until(one, lambda: settled(one))
    assert one.stops == [(0, other.name)]


def test_a_pod_of_a_release_that_the_record_does_not_know_is_told() -> None:
    """The record may be an old copy: nothing is touched."""
    one = world("3.9.1", 1)
    one.stops.clear()
    _astray(one, "4.3.1")
    for _ in range(30):
        one.step()
    assert one.stops == []
    assert any("Restore the latest record" in text for text in one.told)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_pod_is_held_while_all_stop(seed: int) -> None:
    """A person may hold it after the stop was decided; the others stop, and nothing starts before it is gone."""
    one = world("2.3.1", seed)
    one.desired = replace(one.desired, runtime=runtime("4.3.1"), offline_to="4.3.1")
    until(one, lambda: one.record is not None and one.record.change is not None)
    held = one.working()[0]
    held.held = True
    for _ in range(30):
        one.step()
    assert [live.index for live in one.pods.values()] == [held.index]
    assert one.record is not None
    assert one.record.change is not None
    assert one.record.change.stage is Stage.STOPPING
    held.held = False
    until(one, lambda: settled(one))


@pytest.mark.parametrize("seed", SEEDS)
def test_pods_outside_the_record_stop_one_by_one(seed: int) -> None:
    """Also if several are left over, as after a record that was restored from a copy."""
    one = world("3.9.1", seed, replicas=4)
    assert one.record is not None
    one.desired = desired("3.9.1", replicas=2)
    one.record = replace(one.record, slots=one.record.slots[:2])
    while len(one.pods) > 2:
        one.step()
        leaving = [live.index for live in one.working() if live.deleting_s is not None]
        assert len(leaving) <= 1
        assert not (leaving and one.ghosts)


@pytest.mark.parametrize("seed", SEEDS)
def test_another_image_while_all_start_follows_when_they_work(seed: int) -> None:
    """Some are in the group already, so all cannot start over: the change ends, and the image comes one by one."""
    one = world("2.3.1", seed)
    one.desired = replace(one.desired, runtime=runtime("4.3.1"), offline_to="4.3.1")
    until(one, lambda: {live.revision.runtime.release for live in one.working()} == {release("4.3.1")})
    ask(one, "4.3.1", image="app:4.3.1-next")
    until(one, lambda: settled(one))


def test_no_record_is_made_beside_pods_of_before() -> None:
    """A pod that starts would join beside another release: a person deletes it, or restores the record."""
    one = world("2.3.1", 1)
    stopped(one, starts_s=1000.0)
    one.record = None
    ask(one, "3.9.1")
    for _ in range(30):
        one.step()
    assert one.record is None
    assert any("no record says what it runs" in text for text in one.told)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_member_that_is_not_ready_for_a_moment_is_not_stopped_beside_lost_ones(seed: int) -> None:
    """It was stopped by us and is in the group again; another image is asked for while the others do not work."""
    one = world("3.9.1", seed)
    ask(one, "4.3.1")
    until(one, lambda: any(live.revision.runtime.release == release("4.3.1") for live in one.working()))
    one.broken.add("app:3.9.1")
    for live in list(one.pods.values()):
        if live.index != 2:
            one.kill(live.index)
    one.stops.clear()
    ask(one, "4.3.1", image="app:4.3.1-next")
    for _ in range(40):
        one.unsettled_until_s = one.now_s + 5
        one.step()
    assert one.stops == []


@pytest.mark.parametrize("seed", SEEDS)
def test_one_that_was_stopped_is_not_stopped_again_while_the_group_rebalances(seed: int) -> None:
    """Every pod is ready and has a member, but the group has not settled with one that joined a moment ago."""
    one = world("3.9.1", seed)
    one.flickers = False
    ask(one, "4.3.1")
    until(one, lambda: any(live.revision.runtime.release == release("4.3.1") for live in one.working()))
    assert one.record is not None
    assert one.record.slots[2].away
    one.stops.clear()
    ask(one, "4.3.1", image="app:4.3.1-next")
    for _ in range(40):
        one.unsettled_until_s = one.now_s + 5
        one.step()
    assert one.stops == []
    until(one, lambda: settled(one))


@pytest.mark.parametrize("seed", SEEDS)
def test_all_do_not_stop_if_one_takes_part_again(seed: int) -> None:
    """Nothing ran when this was decided, and no person has said it: they restart one after the other."""
    one = world("3.9.1", seed)
    stopped(one, starts_s=1000.0)
    ask(one, "4.3.1")
    until(one, lambda: one.record is not None and one.record.change is not None)
    assert stages(one) == [Stage.STOPPING]
    for live in one.pods.values():
        live.starts_s = one.now_s
    one.stops.clear()
    one.step()
    assert (stages(one), one.stops) == ([], [])
    until(one, lambda: settled(one))


@pytest.mark.parametrize("seed", SEEDS)
def test_no_pod_stops_with_all_others_while_it_may_take_part(seed: int) -> None:
    """Nothing ran when this was decided; then no coordinator answers, so that a pod may be in the group by now."""
    one = world("3.9.1", seed)
    stopped(one, starts_s=1000.0)
    ask(one, "4.3.1")
    until(one, lambda: one.record is not None and one.record.change is not None)
    one.silent = True
    for _ in range(10):
        one.step()
    assert [live.deleting_s for live in one.pods.values()] == [None, None, None]
    one.silent = False
    until(one, lambda: settled(one))


@pytest.mark.parametrize(("replicas", "up"), [(2, 1), (3, 1), (3, 2), (4, 2)])
@pytest.mark.parametrize("seed", SEEDS)
def test_a_corrected_image_reaches_instances_of_which_some_came_up(seed: int, replicas: int, up: int) -> None:
    """Nothing ran, so the record says a bad image of all; some are up with the earlier image, and others are lost."""
    one = world("3.9.1", seed, replicas=replicas)
    stopped(one, starts_s=1000.0)
    one.broken.add("app:3.9.1-bad")
    before = one.record
    ask(one, "3.9.1", image="app:3.9.1-bad")
    until(one, lambda: one.record is not None and before is not None and one.record.slots != before.slots)
    for live in list(one.pods.values())[:up]:
        live.starts_s = one.now_s
    until(one, lambda: sum(live.crashes for live in one.pods.values()) == replicas - up)
    assert len(one.working()) == up
    ask(one, "3.9.1", image="app:3.9.1-good")
    until(one, lambda: settled(one))
    assert {live.revision.runtime.image for live in one.working()} == {"app:3.9.1-good"}


@pytest.mark.parametrize("seed", SEEDS)
def test_pods_that_have_ended_contradict_an_old_record_as_well(seed: int) -> None:
    """Nothing of the record's release is made on the state of a later one, whatever is asked for."""
    one = world("3.9.1", seed)
    older = one.record
    ask(one, "4.3.1")
    until(one, lambda: settled(one))
    assert older is not None
    assert one.record is not None
    one.record = replace(older, resource_version=one.record.resource_version)
    one.evict()
    before = [live.uid for live in one.pods.values()]
    ask(one, "3.9.1", image="app:3.9.1-next")
    for _ in range(30):
        one.step()
    assert [live.uid for live in one.pods.values()] == before
    assert one.record.slots == older.slots
    assert any("Restore the latest record" in text for text in one.told)


def test_instances_come_on_an_offline_way_when_a_person_says_so() -> None:
    """With `approve: Manual`, although there are none that could stop."""
    one = world("2.3.1", 1)
    one.desired = replace(one.desired, replicas=0)
    until(one, lambda: one.record is not None and not one.record.slots and not one.pods)
    asked = replace(one.desired, runtime=runtime("4.3.1"), replicas=3, approve=Approve.MANUAL)
    one.desired = asked
    for _ in range(30):
        one.step()
    assert not one.pods
    assert any("Set spec.offlineTo to 4.3.1" in text for text in one.told)
    one.desired = replace(asked, offline_to="4.3.1")
    until(one, lambda: settled(one))


@pytest.mark.parametrize("offline_to", ["", "3.9.1"])
@pytest.mark.parametrize("seed", SEEDS)
def test_all_that_started_together_do_not_stop_for_the_way_back(seed: int, offline_to: str) -> None:
    """Nothing ran when the change was decided, and it is turned back when instances work: unless a person says so."""
    one = world("3.9.1", seed)
    stopped(one, starts_s=1000.0)
    ask(one, "4.3.1")
    until(one, lambda: stages(one) == [Stage.STARTING] and len(one.working()) == 3)
    one.desired = replace(one.desired, offline_to=offline_to)
    ask(one, "3.9.1")
    one.step()
    one.step()
    assert (stages(one) == [Stage.STOPPING]) == bool(offline_to)
    assert any("set spec.offlineTo to 3.9.1" in text for text in one.told) != bool(offline_to)
    until(one, lambda: settled(one))
    assert {live.revision.runtime.release for live in one.working()} == {release("3.9.1")}


@dataclass
class Uneven(World):
    """A world in which some instances do not start with an image: the machine of each is another one."""

    fails: dict[int, str] = field(default_factory=dict)

    def _happen(self) -> None:
        late = [live for live in self.pods.values() if self.fails.get(live.index) == live.revision.runtime.image]
        for live in late:
            live.crashes, live.starts_s = True, self.now_s + 5
        super()._happen()


def _starting(seed: int, *, offline: bool) -> Uneven:
    """All start together with 4.3.1: instance 0 works, and the others end."""
    one = Uneven(desired=desired("2.3.1"), seed=seed, brokers=frozenset({release("3.9.2")}))
    until(one, lambda: settled(one))
    if not offline:
        stopped(one, starts_s=1000.0)
        ask(one, "3.9.1")
        one.fails = dict.fromkeys((1, 2), "app:3.9.1")
    else:
        ask(one, "4.3.1")
        one.desired = replace(one.desired, offline_to="4.3.1")
        one.fails = dict.fromkeys((1, 2), "app:4.3.1")
    until(one, lambda: stages(one) == [Stage.STARTING] and len(one.working()) == 1)
    return one


@pytest.mark.parametrize("dies", [0.0, 0.3])
@pytest.mark.parametrize("offline", [False, True])
@pytest.mark.parametrize("seed", SEEDS)
def test_a_corrected_image_reaches_lost_ones_of_those_that_start_together(
    seed: int, dies: float, *, offline: bool
) -> None:
    """One works by now, so they cannot all start over: the others get it first, and then this one."""
    one = _starting(seed, offline=offline)
    one.stops.clear()
    text = str(one.desired.runtime.release)
    ask(one, text, image="app:good")
    until(one, lambda: settled(one), dies=dies)
    assert [index for index, _ in one.stops] == [0]


@pytest.mark.parametrize(("offline", "word"), [(False, ", and spec.offlineTo to 2.3.1: then"), (True, ": then")])
def test_the_way_back_of_those_that_start_together_is_told_as_it_is(word: str, *, offline: bool) -> None:
    """Not as that of a bounce, whose other instances are untouched: all of them stop."""
    one = _starting(1, offline=offline)
    for _ in range(5):
        one.step()
    back = [text for text in one.told[-3:] if "To go back" in text]
    assert back
    assert all(f"as they were for 2.3.1{word} all stop first" in text for text in back)
    ask(one, "2.3.1")
    if not offline:
        for _ in range(20):
            one.step()
        assert stages(one) == [Stage.STARTING]
        one.desired = replace(one.desired, offline_to="2.3.1")
    until(one, lambda: settled(one))


def _over(seed: int) -> World:
    """Nothing runs, so that it is recorded that all have another image; their pods are those of before."""
    one = world("3.9.1", seed)
    stopped(one, starts_s=1000.0)
    before = one.record
    ask(one, "3.9.1", image="app:3.9.1-next")
    until(one, lambda: one.record is not None and before is not None and one.record.slots != before.slots)
    one.stops.clear()
    return one


@pytest.mark.parametrize("seed", SEEDS)
def test_no_pod_is_replaced_while_it_may_be_in_the_group(seed: int) -> None:
    """Those of before are up again and not ready for a moment, and no coordinator answers: none is spare."""
    one = _over(seed)
    one.silent = True
    for live in one.pods.values():
        live.starts_s = one.now_s
    for _ in range(10):
        one.unsettled_until_s = one.now_s + 5
        one.step()
    assert one.stops == []
    one.silent = False
    until(one, lambda: settled(one))


@pytest.mark.parametrize("seed", SEEDS)
def test_a_held_pod_is_not_replaced_after_a_correction(seed: int) -> None:
    """A person keeps it, for example to look at why it ends."""
    one = _over(seed)
    held = next(iter(one.pods.values()))
    held.held = True
    for _ in range(20):
        one.step()
    assert one.pods[held.name] is held
    assert any(f"pod {held.name}: it has the annotation kafkaquorum.io/hold" in text for text in one.told)
    held.held = False
    until(one, lambda: settled(one))


@pytest.mark.parametrize("seed", SEEDS)
def test_a_corrected_image_reaches_instances_that_process_nothing(seed: int) -> None:
    """What they do not process is no fault of the change: they restart one after the other."""
    one = world("3.9.1", seed)
    one.mute.add("app:3.9.1")
    for _ in range(20):
        one.step()
    one.stops.clear()
    ask(one, "3.9.1", image="app:3.9.1-good")
    until(one, lambda: settled(one))
    assert sorted(index for index, _ in one.stops) == [0, 1, 2]


@pytest.mark.parametrize("seed", SEEDS)
def test_the_way_back_over_upgrade_from_leads_away_from_what_processes_nothing(seed: int) -> None:
    """Nothing is committed while all have the release that is left, and the first bounce back ends all the same."""
    one = world("1.1.1", seed)
    ask(one, "2.1.1")
    until(one, lambda: one.record is not None and one.record.change is not None and one.record.change.step == 1)
    until(one, lambda: any(not live.revision.upgrade_from for live in one.working()))
    one.mute.add("app:2.1.1")
    for _ in range(20):
        one.step()
    ask(one, "1.1.1")
    until(one, lambda: settled(one))
