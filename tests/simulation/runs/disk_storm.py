"""A storm in which disks also hide: unreadable, absent or blank for a while, and then there again, as they were.

Its seeds are its own: what is drawn in a storm without them stays what it was.
"""

from tests.simulation.runs.faults import HIDDEN_DISKS, Loss
from tests.simulation.runs.storm import Storm

from kit.kube.protocol import Json


class DiskStorm(Storm):
    """One storm with disks that hide, as often as anything else goes wrong, and with volumes of either kind."""

    kind = "disks"
    losses = (*Loss, *(loss for loss in sorted(HIDDEN_DISKS, key=str) for _ in range(6)))

    def first_spec(self) -> Json:
        """As in any storm; half of them have volumes that go where their pods go."""
        self.world.volumes.local = self.draw.random() < 0.5
        return super().first_spec()
