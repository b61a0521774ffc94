"""The open operation, which is in `status.operation` before an act on the quorum is sent. Its kinds are types.

An operation of unknown kind is a value of its own. A later version wrote it, and this version cannot find out what is
half done: nothing may be changed until that version, or one after it, has ended it.
"""

from dataclasses import dataclass
from typing import Final, TypeAlias

from kafka_quorum.model.ids import ReplicaKey
from kafka_quorum.model.quorum import FeatureStep


@dataclass(frozen=True, slots=True, kw_only=True)
class VoterAddition:
    """This replica becomes a voter."""

    target: ReplicaKey


@dataclass(frozen=True, slots=True, kw_only=True)
class VoterRemoval:
    """This replica stops being a voter."""

    target: ReplicaKey


@dataclass(frozen=True, slots=True, kw_only=True)
class VoterReplacement:
    """This replica becomes a voter; just before, the one of the same node id on a lost disk is removed."""

    target: ReplicaKey


VoterChange: TypeAlias = VoterAddition | VoterRemoval | VoterReplacement


@dataclass(frozen=True, slots=True, kw_only=True)
class VoterOperation:
    """A change of the voter set. `holder` is the operator that began it."""

    id: str
    change: VoterChange
    holder: str
    started_at: str
    waiting_for: str

    @property
    def target(self) -> ReplicaKey:
        """The replica that is added or removed; for a replacement, the one that is added in the end."""
        return self.change.target


@dataclass(frozen=True, slots=True, kw_only=True)
class FeatureOperation:
    """A step of a feature: open from before the request until the leader shows the level."""

    id: str
    step: FeatureStep
    holder: str
    started_at: str


@dataclass(frozen=True, slots=True, kw_only=True)
class UnknownOperation:
    """An operation that cannot be understood. `why` is the reason; its stored form stays unchanged in the status."""

    why: str
    holder: str


Operation: TypeAlias = VoterOperation | FeatureOperation | UnknownOperation

CHANGE_WORDS: Final[dict[type[VoterChange], str]] = {
    VoterAddition: "AddVoter",
    VoterRemoval: "RemoveVoter",
    VoterReplacement: "ReplaceVoter",
}
"""The types of voter changes as they are stored, and as events name them. A stored word never changes its meaning."""
RAISE_FEATURE: Final = "RaiseFeature"
LOWER_FEATURE: Final = "LowerFeature"
