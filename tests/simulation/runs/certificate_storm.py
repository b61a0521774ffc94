"""A storm around a quorum with mutual TLS, whose certificates are renewed every few minutes.

Clocks stay right in it: one that is wrong by an hour makes every certificate invalid, and nothing but a person helps.
"""

from tests.simulation.runs.faults import CLOCK_LOSSES, HIDDEN_DISKS, Loss
from tests.simulation.runs.scenarios.certificate_scenarios import with_tls
from tests.simulation.runs.storm import Storm

from kit.kube.protocol import Json


class CertificateStorm(Storm):
    """One storm with certificates that live ten minutes."""

    kind = "certificates"
    losses = tuple(loss for loss in Loss if loss not in HIDDEN_DISKS | CLOCK_LOSSES)
    clocks_jump = False

    def first_spec(self) -> Json:
        """As in any storm, with mutual TLS."""
        self.world.certificates_may_end = True  # operators may be away, or cut off, for long
        return with_tls(super().first_spec(), leaf_s=600)
