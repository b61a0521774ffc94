"""A voter set and who of it is caught up: all majority arithmetic of the operator.

Every voter change and every stop of a voter is judged on the *projected* set: the voters that there would be, and those
of them that would be caught up (rule 3).
"""

from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from kafka_quorum.model.ids import ReplicaKey

PAIR = 2
"""Up to so many voters no restart is covered by the others."""


def majority_of(voters: int) -> int:
    """How many of so many voters are a majority."""
    return voters // 2 + 1


def tolerated_by(voters: int) -> int:
    """How many of so many voters may be lost."""
    return max(voters - majority_of(voters), 0)


@dataclass(frozen=True, slots=True)
class VoterSet:
    """Voters, and the replicas that are caught up, whether they vote or not."""

    voters: frozenset[ReplicaKey]
    caught_up: frozenset[ReplicaKey]

    @property
    def majority(self) -> int:
        """How many voters are a majority."""
        return majority_of(len(self.voters))

    @property
    def healthy(self) -> frozenset[ReplicaKey]:
        """The voters that are caught up."""
        return self.voters & self.caught_up

    @property
    def lagging(self) -> frozenset[ReplicaKey]:
        """The voters that are not."""
        return self.voters - self.caught_up

    @property
    def carries(self) -> bool:
        """Whether the voters that are caught up are a majority."""
        return len(self.healthy) >= self.majority

    @property
    def failure_tolerance(self) -> int:
        """How many of the voters that are caught up may fail, and the others still are a majority."""
        return max(0, len(self.healthy) - self.majority)

    def added(self, key: ReplicaKey) -> "VoterSet":
        """The projected set with this voter, which counts as not caught up: its vote may be what is missing."""
        return VoterSet(self.voters | {key}, self.caught_up - {key})

    def removed(self, key: ReplicaKey) -> "VoterSet":
        """The projected set in which this replica has no vote any more."""
        return VoterSet(self.voters - {key}, self.caught_up)

    def without(self, *keys: ReplicaKey) -> "VoterSet":
        """The same voters, of which these are lost or stopped: they keep their votes, and are not caught up."""
        return VoterSet(self.voters, self.caught_up - frozenset(keys))

    def only(self, keys: AbstractSet[ReplicaKey]) -> "VoterSet":
        """The same voters, of which none but these count as caught up."""
        return VoterSet(self.voters, self.caught_up & keys)
