"""A storm in which a person also changes releases, heaps, levels and fetch timeouts, under all other faults.

It has its own seeds, so that the storms without rolls stay the same.
"""

from tests.simulation.model.kubernetes.pod_words import FETCH_TIMEOUT
from tests.simulation.model.world import STEP_S
from tests.simulation.runs.driver import QUIET_STEPS
from tests.simulation.runs.scenarios.scenes import applies
from tests.simulation.runs.storm import Storm

from kafka_quorum.observe.quorum import SETTLING_TIMEOUTS
from kit.kube.protocol import Json

_RELEASES = ("4.2.1", "4.3.1", "4.4.0")
_HEAPS = ("512Mi", "768Mi", "1Gi")
_TIMEOUTS_MS = (1_000, 2_000, 2_000, 5_000, 10_000, 30_000)


class RollingStorm(Storm):
    """One storm with rolls."""

    kind = "rolling"
    quiet_steps = QUIET_STEPS + int(SETTLING_TIMEOUTS * max(_TIMEOUTS_MS) / 1000 / STEP_S)
    """Longer than a leader leads before the voters may change."""

    def first_spec(self) -> Json:
        """An old release, with levels that every later release supports."""
        spec = super().first_spec()
        spec["kafka"] = self._kafka(_RELEASES[0], "Hold")
        spec["controllers"]["allowInterruption"] = self.draw.random() < 0.7
        spec["controllers"]["config"] = self._timeout()
        return spec

    def change(self) -> None:
        """Other controllers, another heap, timeout or release; levels follow, or are fixed."""
        match self.draw.choice(("controllers", "heap", "release", "release", "timeout")):
            case "controllers":
                super().change()
            case "heap":
                self.faults["heap"] += 1
                heap = {"jvm": {"heap": self.draw.choice(_HEAPS)}}
                applies({"controllers": heap})(self.world, self.checker)
            case "timeout":
                self.faults["timeout"] += 1
                applies({"controllers": {"config": self._timeout()}})(self.world, self.checker)
            case _:
                self.faults["release"] += 1
                kafka = self._kafka(self.draw.choice(_RELEASES), self.draw.choice(("Hold", "Follow")))
                applies({"kafka": kafka})(self.world, self.checker)

    def calm(self) -> None:
        """In the end the spec can be fulfilled: an image that runs on any level, and a permission to restart."""
        super().calm()
        wanted = {"kafka": self._kafka(_RELEASES[-1], "Hold"), "controllers": {"allowInterruption": True}}
        applies(wanted)(self.world, self.checker)

    def _timeout(self) -> Json:
        return {FETCH_TIMEOUT: str(self.draw.choice(_TIMEOUTS_MS))}

    def _kafka(self, version: str, policy: str) -> Json:
        return {"version": version, "features": {"policy": policy, "soakSeconds": self.draw.choice((0, 2, 5))}}
