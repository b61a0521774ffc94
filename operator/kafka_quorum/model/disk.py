"""What was seen of one disk over several runs of a script of ours."""

from dataclasses import dataclass
from typing import Final

from kafka_quorum.model.ids import DirectoryID

SCRIPT: Final = 2
"""The number that our scripts put into their reports. Those of 0.1.0 put none, and took unreadable disks for empty."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BlankDisk:
    """A disk that every run of one pod's script has found empty, from `first_s` to `last_s`.

    Both are the ends of runs, in seconds since the epoch by the clock of the pod's Kubernetes node.
    """

    pod_uid: str
    claim_uid: str
    directory_id: DirectoryID | None
    first_s: float
    last_s: float

    @property
    def for_s(self) -> float:
        """How many seconds lie between the first run and the last one."""
        return self.last_s - self.first_s
