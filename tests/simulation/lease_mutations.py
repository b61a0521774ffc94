"""Mutants of who acts and how often: the lease, the back-off, CannotLook; `mutations` has the others."""

from typing import Final

from tests.simulation.mutations import Edit, Mutant

_TWO: Final = tuple(f"storm/{seed}" for seed in (3, 5, 14, 15, 104, 105))
"""Storms of two operators in which the lease changes hands."""


def _mutant(name: str, *edits: tuple[str, str, str]) -> Mutant:
    made = tuple(Edit(file=file, old=old, new=new) for file, old, new in edits)
    return Mutant(name=name, rule="lease", edits=made, shares=_TWO)


LEASE_MUTANTS: Final = (
    Mutant(
        name="no-back-off",
        rule="live",
        edits=(Edit(file="../kit/turns.py", old="        if result.repeated is not None:", new="        if False:"),),
        shares=("undone-again-and-again",),
    ),
    Mutant(
        name="a-healthy-status-stands",
        rule="live",
        edits=(
            Edit(
                file="../kit/turns.py",
                old="        if self.pace.failures >= CANNOT_LOOK_AFTER:",
                new="        if False:",
            ),
        ),
        shares=("rights-removed",),
    ),
    _mutant(
        "acts-without-the-lease",
        ("../kit/leased.py", "            if not self._may_act():", "            if False:"),
        ("act/execute.py", "        if not self._may_act():", "        if False:"),
        ("../kit/conditions/writer.py", "        if not self._may_act():", "        if False:"),
        ("reconcile.py", "        if not self._may_act():\n            return self._idle()", "        pass"),
    ),
    _mutant(
        "a-stale-holder-renews",
        (
            "../kit/lease.py",
            "        elif _holder(present) == self._holder or self._lapsed(present, sent_s):",
            "        elif self._held_until_s > 0.0 or self._lapsed(present, sent_s):",
        ),
        (
            "../kit/lease.py",
            "            self._held_until_s = 0.0\n            self._say(logging.INFO",
            "            self._say(logging.INFO",
        ),
    ),
    _mutant(
        "an-expired-lease-is-held",
        (
            "../kit/lease.py",
            "        return self._clock.monotonic() < self._held_until_s",
            "        return self._held_until_s > 0.0",
        ),
    ),
    _mutant(
        "a-lease-is-taken-over-at-once",
        ("../kit/lease.py", "        return now_s - self._seen_at_s > _duration_s(present)", "        return True"),
    ),
)
