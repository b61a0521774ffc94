"""A voter set and which voters of it are caught up: all majority arithmetic of the operator.

Every voter change and every stop of a voter is judged on the *projected* set: the voters after it, and those of them
that would be caught up (rule 3).
"""

from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from kafka_quorum.model.ids import ReplicaKey

PAIR = 2
"""With at most this many voters, the others do not cover a restart."""


def majority_of(voters: int) -> int:
    """How many voters are a majority of this many."""
    return voters // 2 + 1


def tolerated_by(voters: int) -> int:
    """How many voters may be lost of this many."""
    return max(voters - majority_of(voters), 0)


@dataclass(frozen=True, slots=True)
class VoterSet:
    """Voters, and the replicas that are caught up, whether these vote or not."""

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
        """The voters that are not caught up."""
        return self.voters - self.caught_up

    @property
    def carries(self) -> bool:
        """Whether the voters that are caught up are a majority."""
        return len(self.healthy) >= self.majority

    @property
    def failure_tolerance(self) -> int:
        """How many of the caught-up voters may fail while the others are still a majority."""
        return max(0, len(self.healthy) - self.majority)

    def added(self, key: ReplicaKey) -> "VoterSet":
        """The projected set with this voter. It counts as not caught up: the majority may need its vote."""
        return VoterSet(self.voters | {key}, self.caught_up - {key})

    def removed(self, key: ReplicaKey) -> "VoterSet":
        """The projected set in which this replica has no vote any more."""
        return VoterSet(self.voters - {key}, self.caught_up)

    def without(self, *keys: ReplicaKey) -> "VoterSet":
        """The same voters, with these lost or stopped: they keep their votes, and are not caught up."""
        return VoterSet(self.voters, self.caught_up - frozenset(keys))

    def only(self, keys: AbstractSet[ReplicaKey]) -> "VoterSet":
        """The same voters; only these count as caught up."""
        return VoterSet(self.voters, self.caught_up & keys)
