"""Scenes of one Streams application: no weather, and what happens is told turn by turn.

A scene is a storm in which nothing is drawn but which task continues, so that it has the real passes, their loop and
all rules. A turn happens when its condition holds, and not before the turns that come first.
"""

import random
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

from tests.simulation.model.kafka.startup import steady
from tests.simulation.model.kafka.streams_group import Habits, Phase, StreamsGroupModel
from tests.simulation.model.kubernetes.kube_model import Written
from tests.simulation.model.kubernetes.sandbox import Sandbox
from tests.simulation.model.place import NAMESPACE
from tests.simulation.runs.endings import Ending
from tests.simulation.runs.storm import Storm
from tests.simulation.runs.streams_blows import APPLICATION
from tests.simulation.runs.streams_endings import application
from tests.simulation.runs.streams_storm import StreamsStorm
from tests.simulation.runs.weather import Hand, Round, Weather, Weathered

from kafka_streams.kind import APPLICATIONS
from kit.kube.protocol import CONFIG_MAPS, PODS, REVISIONS, Json

KIND: Final = "streams-scene"
_MOST_STEPS: Final = 1000
_NEVER_S: Final = 1e9


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """What happens when something holds: `at_once` after a write of the operator, or else at the next step.

    What happens at once must not write.
    """

    when: Callable[["StreamsScene"], bool]
    acts: Callable[["StreamsScene"], None]
    at_once: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """One scene. `spec` is what its first spec has beside the common one."""

    name: str
    spec: Json
    turns: tuple[Turn, ...]
    habits: Habits
    line: str = "4.3"


class StreamsScene(StreamsStorm):
    """Performs one scene, with one operator and without a lease: nothing that a rule would excuse happens."""

    leased = False

    def __init__(self, scene: Scene) -> None:
        """Everything is calm."""
        self.scene, self.left = scene, list(scene.turns)
        self.copy: Json | None = None
        super().__init__(0)
        self.kind = f"{KIND}/{scene.name}"
        self.world.kubelet.pace = steady
        self._leases.chance = 0.0
        group = self.group
        group.draw, group.habits = random.Random(scene.name), scene.habits

    def run(self) -> Weathered:
        """Perform it. All turns must have happened."""
        done = super().run()
        if self.left and done.ok:
            why = f"{len(self.left)} of {len(self.scene.turns)} turns have not happened"
            return replace(done, ending=Ending(says=done.ending.says, honest=False, why=why))
        return done

    def forecast(self) -> Weather:
        """None."""
        self.brokers.line = self.scene.line
        calm: dict[str, float] = dict.fromkeys(("strike", "accident", "crash", "suspend", "cut", "change"), 0.0)
        return Weather(steps=_MOST_STEPS, operators=1, losses=0, **calm)

    def first_spec(self) -> Json:
        """Three instances of one thread, with claims."""
        common = {**super().first_spec(), "replicas": 3, "gate": {"stableSeconds": 2, "threads": 1}}
        state = {"type": "VolumeClaim", "size": "1Gi", "path": "/state"}
        self.brokers.line = self.scene.line
        return {**common, "state": state, "approve": "Automatic", "protocol": "Classic", **self.scene.spec}

    def serves(self, hand: Hand, may_act: Callable[[], bool]) -> list[Round]:
        """It always acts."""
        del may_act
        return super().serves(hand, lambda: True)

    def round(self, hand: Hand, key: object, operator: object) -> Round:
        """Every call arrives at once."""
        made = super().round(hand, key, operator)  # type: ignore[arg-type]
        made.slowness.end()
        return made

    def prepare(self) -> None:
        """The turns of this step; after the last one the storm ends."""
        while self.left and self.left[0].when(self):
            self.left.pop(0).acts(self)
        if not self.left:
            self.weather = replace(self.weather, steps=self.world.steps)

    def _watch(self, written: Written) -> None:
        super()._watch(written)
        while written.by_operator and self.left and self.left[0].at_once and self.left[0].when(self):
            self.left.pop(0).acts(self)

    def calm(self) -> None:
        """Nothing is asked for that was not told."""
        Storm.calm(self)

    # What conditions and turns are made of

    @property
    def group(self) -> StreamsGroupModel:
        """The group."""
        return self.world.kubelet.streams.group

    def asks(self, **spec: object) -> None:
        """A person changes the spec."""
        self.world.kube.patch(APPLICATIONS, NAMESPACE, APPLICATION, {"spec": spec})

    def asks_while_unsettled(self, seconds: float, **spec: object) -> None:
        """The same, while the group waits that long for members before it rebalances."""
        self.group.until_s = self.world.clock.elapsed_s + seconds
        self.asks(**spec)

    def says(self) -> Json:
        """The record; empty if there is none."""
        return self.rules.record() or {}

    def stage(self) -> str:
        """The stage of the open change; empty if none is open."""
        return str((self.says().get("change") or {}).get("stage", ""))

    def sandbox(self, index: int) -> Sandbox | None:
        """Where an instance runs, or starts."""
        return self.world.kubelet.of_pod(NAMESPACE, f"{APPLICATION}-streams-{index}")

    def runs(self, index: int, image: str = "") -> bool:
        """Whether an instance is a process, of this image."""
        found = self.sandbox(index)
        return found is not None and found.streams is not None and (not image or self.has(index, image))

    def has(self, index: int, image: str) -> bool:
        """Whether an instance's pod has this image."""
        pod = self.world.kube.view(PODS, NAMESPACE, f"{APPLICATION}-streams-{index}")
        return pod is not None and pod["spec"]["containers"][0]["image"] == image

    def has_ended(self, index: int) -> bool:
        """Whether the container of an instance's pod has ended before."""
        found = self.sandbox(index)
        return found is not None and found.said is not None

    def made_from(self, image: str) -> bool:
        """Whether the record says that every instance is made from this image."""
        made = (
            self.world.kube.view(REVISIONS, NAMESPACE, str(slot["revision"])) for slot in self.says().get("slots", ())
        )
        return {one and one["data"]["runtime"]["image"] for one in made} == {image}

    def works(self, *, without: int = -1) -> bool:
        """Whether every instance of the record takes part, or all but one."""
        working = {one.index for one in self.world.kubelet.streams.processes if self.group.settled_with(one)}
        wanted = self.rules.indexes() - {without}
        return self.group.phase is Phase.STABLE and bool(wanted) and working >= wanted

    def ends(self, *indexes: int) -> None:
        """The processes of these instances end, and do not start again."""
        for index in indexes:
            found = self.sandbox(index)
            assert found is not None
            self.world.kubelet.kill_process(found)
            found.retry_s = _NEVER_S

    def starts(self, *indexes: int, frozen_s: float = 0.0) -> None:
        """They start again, and the operator does nothing for so long."""
        for index in indexes:
            found = self.sandbox(index)
            assert found is not None
            found.retry_s = 0.0
        self.freezes(frozen_s)

    @property
    def awake(self) -> bool:
        """Whether the operator goes on."""
        return all(hand.asleep_until_s <= self.world.clock.elapsed_s for hand in self._hands)

    def waits_for(self) -> set[str]:
        """The reasons of what the application says that it waits for."""
        body = application(self.world)
        return {str(row.get("reason")) for row in ((body or {}).get("status") or {}).get("waits") or ()}

    def copies_record(self) -> None:
        """A person makes a copy of the record."""
        self.copy = self.world.kube.get(CONFIG_MAPS, NAMESPACE, f"{APPLICATION}-streams")

    def restores_record(self) -> None:
        """A person puts the copy there."""
        assert self.copy is not None
        self.rules.forget()
        self.world.kube.patch(CONFIG_MAPS, NAMESPACE, f"{APPLICATION}-streams", {"data": self.copy["data"]})

    def evicts(self, *indexes: int) -> None:
        """The kubelet evicts these pods: they end, and stay as Failed."""
        for index in indexes:
            found = self.sandbox(index)
            assert found is not None
            self.world.kubelet.fail(found, "Evicted")

    def freezes(self, seconds: float) -> None:
        """The operator does nothing for so long. Its pass goes on then, with the look that it has."""
        for hand in self._hands:
            hand.asleep_until_s = self.world.clock.elapsed_s + seconds
