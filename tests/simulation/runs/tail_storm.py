"""A storm of elections beside voter changes: leaders lose tails of their logs, and lead again later.

A process that lost a tail misses each voter change below the end of that tail (`model/kafka/voter_history.py`). So in
this storm a change is requested, or a disk is lost, about when a leader is cut off from the others. A cut-off leader
writes until it finds that no majority fetches. Some leaders write more than the one that follows, as when requests
fail, and are sent again.
"""

from functools import partial
from typing import Final

from tests.simulation.model.kafka.process import Process
from tests.simulation.runs.accidents import happen
from tests.simulation.runs.faults import Accident, Loss
from tests.simulation.runs.storm import Storm
from tests.simulation.runs.weather import Weather

from kit.kube.protocol import Json

_PAUSE_STEPS: Final = (12, 60)
"""From one blow to the next one."""
_LEAD_STEPS: Final = (0, 24)
"""How long after a request for a change the leader is cut off, at most."""
_CUT_STEPS: Final = (7, 24)
_BUSY: Final = (0, 0, 1, 2)
"""How many more records than its successor a leader writes in each step while it is cut off."""


class TailStorm(Storm):
    """One storm."""

    kind = "tails"

    def forecast(self) -> Weather:
        """The operator and its requests work; processes do not."""
        self._next, self._busy, self._busy_ones = 40, self.draw.choice(_BUSY), set[str]()
        self.world.lookers.append(self._look)
        return Weather(
            steps=self.draw.randint(200, 400),
            operators=1,
            strike=0.0,
            accident=0.005,
            crash=0.0,
            suspend=0.0,
            cut=0.0,
            change=0.0,
            losses=self.draw.choice((0, 1, 2)),
        )

    def first_spec(self) -> Json:
        """Mostly more than one controller."""
        spec = super().first_spec()
        spec["controllers"]["replicas"] = self.draw.choice((1, 2, 3, 3, 4, 5))
        return spec

    def prepare(self) -> None:
        """A blow, if its time has come; what busy leaders write."""
        for one in self.world.kraft.processes:
            if one.leads and one.incarnation in self._busy_ones:
                for _ in range(self._busy):
                    self.world.kraft.append(one, "of a request")
        if self.world.steps >= self._next:
            self._next = self.world.steps + self.draw.randint(*_PAUSE_STEPS)
            self._blow()

    def _blow(self) -> None:
        lead, length = self.draw.randint(*_LEAD_STEPS), self.draw.randint(*_CUT_STEPS)
        match self.draw.choice(("change", "change", "disk", "cut", "kill", "kill")):
            case "change":
                self.change()
                self.world.later(lead, partial(self._cut_off, length))
            case "disk":
                self.accident()
                self.world.later(lead, partial(self._cut_off, length))
            case "cut":
                self._cut_off(length)
            case _:
                leader = self._leader()
                if leader is not None:
                    self.faults["leader-killed"] += 1
                    happen(self.world, Accident(step=0, loss=Loss.PROCESS, node_id=leader.meta.node_id))

    def _leader(self) -> Process | None:
        leaders = (one for one in self.world.kraft.processes if one.leads)
        return max(leaders, key=lambda one: one.disk.epoch, default=None)

    def _cut_off(self, steps: int) -> None:
        leader, kraft = self._leader(), self.world.kraft
        if leader is None or not self._raging:
            return
        self.faults["leader-cut"] += 1
        self._busy_ones.add(leader.incarnation)
        kraft.cut.add(leader.node)
        self.world.later(steps, partial(kraft.cut.discard, leader.node))
        self.world.later(steps, partial(self._busy_ones.discard, leader.incarnation))

    def _look(self) -> None:
        for one in self.world.kraft.processes:
            logged = one.disk.voter_set
            if logged and logged != one.voters:
                self.faults["steps-with-an-old-set"] += 1
                self.faults["steps-led-with-an-old-set"] += one.leads
