"""Mutants of what a look proves: who is caught up, and who is next in a roll. Others are in `time_mutations`."""

from typing import Final

from tests.simulation.mutations import Edit, Mutant


def _mutant(name: str, rule: str, shares: tuple[str, ...], *edits: tuple[str, str, str]) -> Mutant:
    made = tuple(Edit(file=file, old=old, new=new) for file, old, new in edits)
    return Mutant(name=name, rule=rule, edits=made, shares=shares)


LOOK_MUTANTS: Final[tuple[Mutant, ...]] = (
    _mutant(
        "caught-up-by-the-fetch-timeout",
        "5",
        ("roll-of-slow-starters",),
        ("observe/quorum.py", "abs(now_ms - stamp_ms) <= CAUGHT_UP_WITHIN_MS", "abs(now_ms - stamp_ms) <= 10_000"),
        ("observe/quorum.py", "seen is None or seen.at_ms < stamp_ms <= now_ms", "seen is None or stamp_ms <= now_ms"),
    ),
    _mutant(
        "moved-ones-before-those-that-lag",
        "live",
        ("roll-with-one-that-lags-for-good",),
        ("plan/rolls.py", "node.node_id in moved or _lags(observed, node))", "node.node_id in moved)"),
    ),
)
