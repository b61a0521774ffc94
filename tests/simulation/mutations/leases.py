"""Mutants of the lease, the back-off and CannotLook: which operator acts, and how often. `safety` has the others."""

from typing import Final

from tests.simulation.mutations.mutant import mutant

_TWO: Final = tuple(f"storm/{seed}" for seed in (3, 5, 14, 15, 104, 105))
"""Storms of two operators in which the lease gets another holder."""


LEASE_MUTANTS: Final = (
    mutant(
        "no-back-off",
        "live",
        ("undone-again-and-again",),
        ("Pace.after", "result.repeated is not None", "False"),
    ),
    mutant(
        "a-healthy-status-stands",
        "live",
        ("rights-removed",),
        ("Turns._rest", "self.pace.failures >= CANNOT_LOOK_AFTER", "False"),
    ),
    mutant(
        "acts-without-the-lease",
        "lease",
        _TWO,
        ("_Leased.__getattr__.checked", "not self._may_act()", "False"),
        ("Executor._one", "not self._may_act()", "False"),
        ("StatusWriter._patch", "not self._may_act()", "False"),
        ("Reconciler.run_pass", "if not self._may_act():\n    return self._idle()", "pass"),
    ),
    mutant(
        "a-stale-holder-renews",
        "lease",
        _TWO,
        ("Lease._try", "_holder(present) == self._holder", "self._held_until_s > 0.0"),
        ("Lease._try", "self._held_until_s = 0.0", ""),
    ),
    mutant(
        "an-error-ends-the-attempts",
        "live",
        ("storm/1", "storm/3"),
        ("Lease.step", "logger.exception('...')", "raise"),
    ),
    mutant(
        "an-expired-lease-is-held",
        "lease",
        _TWO,
        ("Lease.held", "self._clock.monotonic() < self._held_until_s", "self._held_until_s > 0.0"),
    ),
    mutant(
        "a-lease-is-taken-over-at-once",
        "lease",
        _TWO,
        ("Lease._lapsed", "now_s - self._seen_at_s > _duration_s(present)", "True"),
    ),
)
