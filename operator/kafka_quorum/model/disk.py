"""What was seen of one disk over several runs of a script of ours."""

import math
from dataclasses import dataclass
from typing import Final

from kafka_quorum.model.ids import DirectoryID

SCRIPT: Final = 2
"""The number that our scripts put into their reports. Those of 0.1.0 put none, and took unreadable disks for empty."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BlankDisk:
    """A disk that every run of one pod's script has found without its data, from the first run to the last one.

    `first_s` and `last_s` are the ends of these runs, in seconds since the epoch by the clock of the pod's Kubernetes
    node. All others are monotonic seconds of the operator's clock: that clock is never set.
    """

    pod_uid: str
    claim_uid: str
    directory_id: DirectoryID | None
    first_s: float
    last_s: float
    first_seen_s: float
    """The first look that showed the first run."""
    last_seen_s: float
    """The first look that showed the last run."""
    unseen_s: float = -math.inf
    """The last look that did not show the last run yet; nobody knows of one where there is only one run."""
    looked_s: float
    """The last look."""
    instance: str = ""
    """The container of Kafka that runs, or may only compare the disk; empty while none runs."""
    runs_since_s: float = 0.0
    """The first look that showed this container."""

    @property
    def for_s(self) -> float:
        """How many seconds lie between the first run and the last one, by the clock that shows fewer of them."""
        return min(self.last_s - self.first_s, self.last_seen_s - self.first_seen_s)

    def age_s(self, now_s: float) -> float:
        """At most so many seconds ago the last run ended.

        It ended after the last look that did not show it. A report that arrived late is older than that: the first run
        ended before it was seen, and the node's clock says how much later the last one did.
        """
        return now_s - min(self.unseen_s, self.first_seen_s + self.last_s - self.first_s)


@dataclass(frozen=True, slots=True, kw_only=True)
class LostClaim:
    """A claim whose volume Kubernetes reports as lost, and for how many seconds looked at it has.

    `seen_s` is the last look that showed it (monotonic).
    """

    claim_uid: str
    for_s: float
    seen_s: float
