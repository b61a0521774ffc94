"""What was true of each cluster in the last seconds: the operator decides on a look, and a look is always older.

A rule by knowledge is broken only if it was broken in every one of these moments.
"""

from collections import deque
from dataclasses import dataclass
from typing import Final

from tests.simulation.model.kafka.process import Process
from tests.simulation.model.world import World

from kafka_quorum.model.ids import ClusterID, ReplicaKey

LOOK_S: Final = 2.0
"""The greatest age of a look when a decision on it is sent."""
WINDOW_S: Final = 2.0
"""The greatest age of a replica's last catch-up at which a look shows it as caught up."""
RECENT_S: Final = LOOK_S + WINDOW_S
"""The greatest age of the operator's knowledge about caught-up replicas: a look, and the window of the look."""
_REMEMBERED_S: Final = 10.0
_WELL_S: Final = 5.0
"""A shorter disturbance can lie between two looks: it does not end the time in which the cluster is well."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Glance:
    """One moment of a cluster. Keys are those of the leader's voter set; without a leader all fields are empty."""

    at_s: float
    leader: Process | None
    voters: frozenset[ReplicaKey]
    caught_up: frozenset[ReplicaKey]
    changing: bool
    well: bool
    """Whether every voter was caught up a moment ago."""


class Glances:
    """The last seconds of every cluster, and how long each has been well since the last change of its levels."""

    def __init__(self, world: World) -> None:
        """Begin without a moment."""
        self._world = world
        self._recent: dict[ClusterID, deque[Glance]] = {}
        self._changed_at: dict[ClusterID, int] = {}
        self.changed_s: dict[ClusterID, float] = {}
        """The last change of the committed levels."""
        self.well_s: dict[ClusterID, float] = {}
        """How long every voter has been caught up since then."""
        self._seen_s = 0.0

    def look(self) -> None:
        """Note what is true now."""
        now_s = self._world.clock.elapsed_s
        passed_s, self._seen_s = now_s - self._seen_s, now_s
        for cluster_id, done in self._world.kraft.committed.items():
            glance = self._glance(cluster_id)
            recent = self._recent.setdefault(cluster_id, deque())
            recent.append(glance)
            while now_s - recent[0].at_s > _REMEMBERED_S:
                recent.popleft()
            changed_at = done[-1].image.changed_at if done else -1
            if self._changed_at.get(cluster_id) != changed_at:
                self._changed_at[cluster_id] = changed_at
                self.changed_s[cluster_id], self.well_s[cluster_id] = now_s, 0.0
            elif glance.well:
                self.well_s[cluster_id] += passed_s

    def of(self, cluster_id: ClusterID, within_s: float = LOOK_S) -> tuple[Glance, ...]:
        """The last seconds, and now."""
        since_s = self._world.clock.elapsed_s - within_s
        recent = (one for one in self._recent.get(cluster_id, ()) if one.at_s >= since_s)
        return (*recent, self._glance(cluster_id))

    def _glance(self, cluster_id: ClusterID) -> Glance:
        kraft, now_s = self._world.kraft, self._world.clock.elapsed_s
        leader = kraft.leader_of(cluster_id)
        if leader is None:
            nobody: frozenset[ReplicaKey] = frozenset()
            return Glance(at_s=now_s, leader=None, voters=nobody, caught_up=nobody, changing=False, well=False)
        voters = leader.voters
        caught_up = frozenset(key for key in voters if kraft.is_caught_up(leader, key, WINDOW_S))
        well = all(kraft.is_caught_up(leader, key, _WELL_S) for key in voters)
        changing = kraft.uncommitted_change(leader)
        return Glance(at_s=now_s, leader=leader, voters=voters, caught_up=caught_up, changing=changing, well=well)
