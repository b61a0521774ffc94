"""Mutants of what a look proves: how old it may be, who is caught up, who is next in a roll, when a step is done."""

# ruff: noqa: E501 - the words of the source are not wrapped
from typing import Final

from tests.simulation.mutations import Edit, Mutant


def _mutant(name: str, rule: str, shares: tuple[str, ...], *edits: tuple[str, str, str]) -> Mutant:
    made = tuple(Edit(file=file, old=old, new=new) for file, old, new in edits)
    return Mutant(name=name, rule=rule, edits=made, shares=shares)


LOOK_MUTANTS: Final[tuple[Mutant, ...]] = (
    _mutant(
        "caught-up-by-the-fetch-timeout",
        "5",
        ("rolling/0",),
        (
            "observe/quorum.py",
            "    for row in (*answer.voters, *answer.observers):\n        stamp_ms",
            "    for row in (*answer.voters, *answer.observers):\n        if row.key.node_id != answer.leader_id and now_ms - row.last_caught_up_ms <= 10_000:\n            caught_up.add(row.key)\n            continue\n        stamp_ms",
        ),
    ),
    _mutant(
        "stamps-of-the-container-before",
        "5",
        ("rolling/0",),
        ("observe/quorum.py", "seen is None or seen.at_ms < stamp_ms <= now_ms", "seen is None or stamp_ms <= now_ms"),
    ),
    _mutant(
        "old-looks-stop-controllers",
        "5",
        ("rolling/0",),
        (
            "act/execute.py",
            "    async def _dispatch(self, action: Action, context: Context) -> None:\n        self._check_age(action)\n",
            "    async def _dispatch(self, action: Action, context: Context) -> None:\n",
        ),
    ),
    _mutant(
        "moved-ones-before-those-that-lag",
        "live",
        ("rolling/0",),
        ("plan/rolls.py", "node.node_id in moved or _lags(observed, node))", "node.node_id in moved)"),
    ),
    _mutant(
        "steps-end-on-anybodys-report",
        "7",
        ("rolling/0",),
        (
            "plan/levels.py",
            "    levels = {each.name: each.level for each in observed.finalized}\n    if not levels:",
            "    levels = {each.name: each.level for each in observed.finalized_anywhere}\n    if not levels:",
        ),
    ),
)
