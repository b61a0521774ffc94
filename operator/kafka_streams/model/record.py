"""What the operator has decided about an application: which instance is made from what, and the change that is open.

It is written before an act that depends on it, by compare-and-swap, so that an act can be lost at any point.
"""

from dataclasses import dataclass, replace
from enum import StrEnum

from kafka_streams.model.adoption import Adoption
from kafka_streams.model.release import StreamsRelease
from kafka_streams.model.way import Kind, Protocol, Step


class Stage(StrEnum):
    """Where an open change is."""

    BOUNCING = "Bouncing"
    """The instances restart one after the other, as the present step says."""
    STOPPING = "Stopping"
    """Offline: all instances stop, and the group becomes empty."""
    STARTING = "Starting"
    """Offline: all instances start with the new release."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Slot:
    """One instance: its place, what its pod is made from, and its local state.

    `generation` counts its volume claims: a wipe takes the next one. `left` are the members that its last pod had when
    it was stopped; the instance is not back while one of them is still in the group. `away`: it was stopped by us, and
    has not been seen back since. `marks` is what the group had committed then (the sum of all offsets).

    `claim` is the name of an adopted claim, while the instance uses that one, and `adopted` that of an adopted pod,
    until another pod of the instance is back.
    """

    index: int
    revision: str
    generation: int = 1
    left: tuple[str, ...] = ()
    away: bool = False
    marks: int | None = None
    claim: str = ""
    adopted: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A change of the release, the protocol, or of what pods are made from. `step` counts its steps from 0."""

    start: StreamsRelease
    target: StreamsRelease
    start_protocol: Protocol
    target_protocol: Protocol
    kind: Kind
    steps: tuple[Step, ...]
    stage: Stage
    step: int = 0
    forward: tuple[Step, ...] = ()
    """The steps of the change that this one turns back; none if it is no way back."""

    @property
    def stops_all(self) -> bool:
        """Whether instances may stop although they take part: a person said that all do.

        If all stop on a way of another kind, this was decided because none took part.
        """
        return self.kind is Kind.OFFLINE

    @property
    def same_release(self) -> bool:
        """Whether only what pods are made from changes."""
        return (self.start, self.start_protocol) == (self.target, self.target_protocol)

    @property
    def shown(self) -> Kind:
        """How the instances get there now, for a person."""
        return self.kind if self.stage is Stage.BOUNCING else Kind.OFFLINE

    @property
    def present(self) -> Step:
        """The step that is under way."""
        return self.steps[self.step]

    @property
    def back(self) -> bool:
        """Whether it goes back to where an earlier change began."""
        return bool(self.forward)

    @property
    def last(self) -> bool:
        """Whether no step follows."""
        return self.step + 1 == len(self.steps)


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """The record of one application. `release` and `protocol` are what every instance runs, or ran before `change`."""

    application_id: str
    release: StreamsRelease
    protocol: Protocol
    slots: tuple[Slot, ...]
    change: Change | None = None
    adoption: Adoption | None = None
    resource_version: str = ""

    def slot(self, index: int) -> Slot | None:
        """The instance of this place."""
        return next((slot for slot in self.slots if slot.index == index), None)


def with_state(slot: Slot, *, wiped: bool, highest: int) -> Slot:
    """The instance with its state, or with none: its next generation has a claim of its own.

    `highest` is that of all claims of the instance: after an old record was restored, it is higher than the slot's.
    """
    return replace(slot, generation=max(slot.generation, highest) + 1, claim="") if wiped else slot


def with_slots(record: Record, *slots: Slot) -> Record:
    """The record with these slots in place of those with the same index, or added, in order."""
    kept = {slot.index: slot for slot in (*record.slots, *slots)}
    return replace(record, slots=tuple(kept[index] for index in sorted(kept)))
