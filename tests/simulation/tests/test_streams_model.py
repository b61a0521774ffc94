"""The model of Streams applications, and rule 12: what releases do together, what a group shows, what breaks a rule."""

import json
import random

import pytest
from tests.simulation.model.clock import VirtualClock
from tests.simulation.model.happened import Created, InstanceStarted, InstanceStop, StateDropped
from tests.simulation.model.kafka.streams_group import Habits, Phase, StreamsGroupModel, StreamsProcess
from tests.simulation.model.kafka.streams_releases import Runs, forbidden, program_of, refuses, unreadable
from tests.simulation.model.kubernetes.streams_pods import GENERATION, LABEL_APPLICATION, LABEL_INSTANCE
from tests.simulation.model.place import NAMESPACE
from tests.simulation.model.world import World
from tests.simulation.rules.streams_rules import StreamsRules

from kafka_streams.kind import APPLICATIONS
from kit.kube.protocol import CONFIG_MAPS, REVISIONS, Json


def runs(release: str, upgrade_from: str = "") -> Runs:
    """A program of this release."""
    return Runs(program=program_of(f"app:{release}"), upgrade_from=upgrade_from)


@pytest.mark.parametrize(
    ("low", "high", "may"),
    [
        (runs("1.1.1"), runs("2.0.1"), False),
        (runs("1.1.1"), runs("2.0.1", "1.1"), True),
        (runs("2.0.1"), runs("2.1.1"), False),
        (runs("2.0.1"), runs("2.1.1", "1.1"), True),
        (runs("2.1.1"), runs("2.3.1"), True),
        (runs("2.3.1"), runs("3.9.1"), False),
        (runs("2.3.1"), runs("3.9.1", "2.3"), True),
        (runs("2.3.1"), runs("4.3.1", "2.3"), False),
        (runs("2.4.1"), runs("2.8.2"), True),
        (runs("2.8.2"), runs("3.9.1"), False),
        (runs("3.9.1"), runs("4.3.1"), True),
        (runs("3.9.1"), runs("3.9.2", "2.3"), True),
        (runs("4.3.1"), runs("4.3.1-streams"), False),
    ],
)
def test_what_may_run_together(low: Runs, high: Runs, may: bool) -> None:  # noqa: FBT001 - a column of the table
    """As KIP-268 and the upgrade guide say, in whatever order they are asked for."""
    assert (not forbidden(low, high), not forbidden(high, low)) == (may, may)


def test_what_upgrade_from_accepts_and_which_state_is_readable() -> None:
    """A value that a release does not know ends it, and a later or a differently read state must not be used."""
    assert not refuses(runs("3.9.1", "2.3"))
    assert refuses(runs("4.3.1", "2.3"))
    assert refuses(runs("2.1.1", "2.0"))
    assert unreadable(program_of("app:2.3.1"), program_of("app:3.9.1"))
    assert unreadable(program_of("app:4.3.1"), program_of("app:3.9.1"))
    assert not unreadable(program_of("app:3.9.1"), program_of("app:4.3.1"))
    assert not unreadable(program_of("app:2.3.1"), program_of("app:2.4.1"))


def instance(index: int, release: str = "3.9.1", upgrade_from: str = "") -> StreamsProcess:
    """One process of one thread."""
    return StreamsProcess(
        pod=f"counts-streams-{index}",
        uid=f"uid-{index}",
        index=index,
        host=f"10.0.0.{index}",
        runs=runs(release, upgrade_from),
        generation=1,
        serial=0,
        threads=1,
        began_s=0.0,
    )


def moved(group: StreamsGroupModel, clock: VirtualClock, count: int) -> None:
    """So many half seconds."""
    for _ in range(count):
        clock.advance(0.5)
        group.step()


def test_a_member_that_was_stopped_stays_and_holds_back_the_rebalance() -> None:
    """The group is Stable with it; with a new member it waits until the session of the old one ends."""
    clock = VirtualClock()
    group = StreamsGroupModel(clock=clock, draw=random.Random(1), habits=Habits(session_s=10.0))
    first, second = instance(0), instance(1)
    group.join(first)
    group.join(second)
    moved(group, clock, 20)
    assert str(group.phase) == str(Phase.STABLE)
    group.end(second, leaves=False)
    moved(group, clock, 4)
    assert (group.phase, len(group.members)) == (Phase.STABLE, 2)
    group.join(instance(1))
    moved(group, clock, 8)
    assert group.phase is Phase.PREPARING
    moved(group, clock, 20)
    assert (group.phase, len(group.members)) == (Phase.STABLE, 2)


def test_one_more_rebalance_follows_before_the_later_version_is_used() -> None:
    """Version probing: all members support 11, and go on to use 5 for a moment."""
    clock = VirtualClock()
    group = StreamsGroupModel(clock=clock, draw=random.Random(1), habits=Habits(leaves=True))
    old, new = instance(0, "2.4.1"), instance(1, "3.2.3")
    group.join(old)
    group.join(new)
    moved(group, clock, 20)
    assert group.used == 5
    group.end(old, leaves=True)
    seen = []
    for _ in range(60):
        moved(group, clock, 1)
        seen.append((group.phase, group.used))
    assert (Phase.STABLE, 5) in seen
    assert seen[-1] == (Phase.STABLE, 11)


class Watched:
    """A world with an application of three instances that a person asked for, and the rules that were broken."""

    def __init__(self, **spec: object) -> None:
        """Every instance takes part."""
        self.world, self.broken = World(), list[str]()
        self.rules = StreamsRules(self.world, lambda rule, _: self.broken.append(rule), NAMESPACE, "counts")
        asked = {"release": "3.9.1", "image": "app:3.9.1", "replicas": 3, **spec}
        self.world.kube.create(APPLICATIONS, NAMESPACE, {"metadata": {"name": "counts"}, "spec": asked})
        slots = [{"index": index, "generation": 2, "revision": "r"} for index in range(3)]
        self.rules.record = lambda: {"slots": slots}  # type: ignore[method-assign]
        self.group = self.world.kubelet.streams.group
        self.instances = [instance(index) for index in range(3)]
        for one in self.instances:
            self.group.join(one)
        self.steps(30)

    def steps(self, count: int) -> None:
        """So many half seconds."""
        for _ in range(count):
            self.world.step()

    def stop(self, index: int) -> None:
        """The operator stops an instance."""
        one = self.instances[index]
        for sent in (True, False):
            self.world.tell(InstanceStop(pod=one.pod, uid=one.uid, index=index, process=one, sent=sent))


def test_a_second_stop_breaks_rule_12() -> None:
    """The first alone does not."""
    watched = Watched()
    watched.stop(2)
    assert watched.broken == []
    watched.stop(1)
    assert watched.broken == ["12"]


def test_a_stop_while_another_one_is_away_by_accident_breaks_rule_12() -> None:
    """It has been away for longer than a look is old."""
    watched = Watched()
    watched.group.end(watched.instances[0], leaves=True)
    watched.steps(12)
    watched.stop(2)
    assert watched.broken == ["12, others"]


def test_all_may_stop_for_the_release_that_a_person_allowed() -> None:
    """`offlineTo` is that release."""
    watched = Watched(offlineTo="3.9.1")
    watched.stop(2)
    watched.stop(1)
    assert watched.broken == []


def test_a_mix_breaks_rule_12() -> None:
    """In each step in which it is there."""
    watched = Watched()
    watched.group.join(instance(3, "2.3.1"))
    watched.steps(1)
    assert set(watched.broken) == {"12, mixed"}


def _pod(image: str) -> Json:
    labels = {LABEL_APPLICATION: "counts", LABEL_INSTANCE: "0"}
    metadata = {"name": "counts-streams-0", "labels": labels, "annotations": {GENERATION: "2"}}
    return {"metadata": metadata, "spec": {"containers": [{"name": "app", "image": image}]}}


def test_other_broken_rules() -> None:
    """State of another release, claims that are in use, images that nobody asked for, acts while it is paused."""
    watched = Watched()
    watched.world.tell(InstanceStarted(process=watched.instances[0], wrote=program_of("app:4.3.1")))
    assert watched.broken == ["12, state"]
    watched.world.tell(StateDropped(claim="counts-streams-0-g2", index=0, generation=2, serial=1))
    assert watched.broken[1:] == ["12, claims"]
    watched.world.tell(StateDropped(claim="counts-streams-0-g1", index=0, generation=1, serial=1))
    assert len(watched.broken) == 2
    watched.world.tell(Created(plural="pods", body=_pod("app:4.3.1")))
    assert watched.broken[2:] == ["12, asked", "12, asked"]
    watched.world.kube.patch(APPLICATIONS, NAMESPACE, "counts", {"spec": {"paused": True}})
    watched.steps(30)
    watched.world.tell(Created(plural="pods", body=_pod("app:3.9.1")))
    assert watched.broken[4:] == ["12, paused"]


class Recorded:
    """A world with a record that names instances and generations of one release, and claims on their pods."""

    def __init__(self, replicas: int) -> None:
        """A person has asked for so many for a long time."""
        self.world, self.broken = World(), list[str]()
        self.rules = StreamsRules(self.world, lambda rule, _: self.broken.append(rule), NAMESPACE, "counts")
        asked = {"release": "3.9.1", "image": "app:3.9.1", "replicas": replicas}
        self.world.kube.create(APPLICATIONS, NAMESPACE, {"metadata": {"name": "counts"}, "spec": asked})
        revision = {"metadata": {"name": "r"}, "data": {"runtime": {"image": "app:3.9.1"}}}
        self.world.kube.create(REVISIONS, NAMESPACE, revision)
        self.world.kube.create(CONFIG_MAPS, NAMESPACE, self.body({0: 1}))
        self.steps(30)

    def steps(self, count: int) -> None:
        """So many half seconds."""
        for _ in range(count):
            self.world.step()

    def body(self, generations: dict[int, int]) -> Json:
        """The record."""
        slots = [{"index": at, "generation": number, "revision": "r"} for at, number in generations.items()]
        return {"metadata": {"name": "counts-streams"}, "data": {"application.json": json.dumps({"slots": slots})}}

    def says(self, generations: dict[int, int]) -> None:
        """The record is written, each time with another spec beside it."""
        body = self.body(generations)
        body["data"]["accepted-spec.json"] = f"{self.world.kube.changes}"
        self.world.kube.patch(CONFIG_MAPS, NAMESPACE, "counts-streams", body)

    def asks(self, replicas: int) -> None:
        """A person changes the number of instances."""
        self.world.kube.patch(APPLICATIONS, NAMESPACE, "counts", {"spec": {"replicas": replicas}})

    def starts(self, index: int, generation: int) -> None:
        """A pod is created on a claim of this generation."""
        pod = _pod("app:3.9.1")
        pod["metadata"]["labels"][LABEL_INSTANCE] = str(index)
        pod["metadata"]["annotations"][GENERATION] = str(generation)
        pod["spec"]["volumes"] = [{"persistentVolumeClaim": {}}]
        self.world.tell(Created(plural="pods", body=pod))


def test_a_new_generation_of_readable_state_breaks_rule_12() -> None:
    """Nobody asked for fewer instances: what the record does meanwhile is no reason."""
    one = Recorded(2)
    one.says({0: 1, 1: 1})
    one.says({0: 1})
    one.says({0: 1, 1: 2})
    one.starts(1, 2)
    assert one.broken == ["12, wipe"]


def test_an_instance_that_left_as_a_person_asked_begins_anew() -> None:
    """Also if the record was written once more between the wish and its leaving."""
    one = Recorded(2)
    one.says({0: 1, 1: 1})
    one.asks(1)
    one.says({0: 1, 1: 1})
    one.says({0: 1})
    one.asks(2)
    one.says({0: 1, 1: 2})
    one.starts(1, 2)
    assert one.broken == []


def test_an_instance_that_is_asked_for_again_before_it_left_keeps_its_state() -> None:
    """An earlier spec excuses no pass that begins later."""
    one = Recorded(2)
    one.says({0: 1, 1: 1})
    one.asks(1)
    one.asks(2)
    one.steps(30)
    one.says({0: 1})
    one.says({0: 1, 1: 2})
    one.starts(1, 2)
    assert one.broken == ["12, wipe"]


def test_state_of_a_record_that_is_gone_belongs_to_nobody() -> None:
    """It goes with its application some time after that; a pass may write it once more before."""
    one = Recorded(1)
    one.rules.forget()
    one.says({0: 1, 1: 1})
    one.world.kube.delete(CONFIG_MAPS, NAMESPACE, "counts-streams")
    one.world.kube.create(CONFIG_MAPS, NAMESPACE, one.body({0: 2}))
    one.starts(0, 2)
    assert one.broken == []


def test_state_of_a_revision_that_is_gone_belongs_to_nobody() -> None:
    """Revisions go with their application, and the next one may take over the record. The operator must delete none."""
    for by_operator, broken in ((False, list[str]()), (True, ["12, wipe"])):
        one = Recorded(1)
        one.says({0: 1})
        one.world.kube.operator_writes = by_operator
        one.world.kube.delete(REVISIONS, NAMESPACE, "r")
        one.world.kube.operator_writes = False
        one.says({0: 2})
        one.starts(0, 2)
        assert one.broken == broken
