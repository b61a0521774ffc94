"""A storm in which disks also hide: unreadable, absent or blank for a while, and then as they were.

It has its own seeds, so that the storms without such disks stay the same.
"""

from tests.simulation.runs.faults import HIDDEN_DISKS, Loss
from tests.simulation.runs.storm import Storm

from kit.kube.protocol import Json


class DiskStorm(Storm):
    """One storm with disks that hide, as often as other faults strike, and with volumes of either kind."""

    kind = "disks"
    losses = (*Loss, *(loss for loss in sorted(HIDDEN_DISKS, key=str) for _ in range(6)))

    def first_spec(self) -> Json:
        """As in any storm; in half of them volumes can move with their pods."""
        self.world.volumes.local = self.draw.random() < 0.5
        return super().first_spec()
