"""Mutants of what a look proves: which voters are caught up, and which is next in a roll. Others are in `times`."""

from typing import Final

from tests.simulation.mutations.mutant import Mutant, mutant

LOOK_MUTANTS: Final[tuple[Mutant, ...]] = (
    mutant(
        "glances-whatever-is-due-by-time",
        "13, late",
        ("tls-renewed-once",),
        ("Glances.rests", "stays(DUE_WITHIN_S)", "True"),
    ),
    mutant(
        "levels-of-the-last-whole-look",
        "7",
        ("levels-that-others-raise-at-rest",),
        ("Glances.glance", "self._look_is_due(last, taken, taken_at_s, quorums)", "False"),
        ("Glances._levels_changed", "return ...", "return False"),
    ),
    mutant(
        "an-inventory-confirms-everything",
        "live",
        ("deletion-that-no-watch-reports",),
        ("Inventory.confirms", "return ...", "return True"),
    ),
    mutant(
        "caught-up-by-the-fetch-timeout",
        "5",
        ("roll-of-slow-starters",),
        ("_caught_up", "CAUGHT_UP_WITHIN_MS", "10000"),
        ("_caught_up", "seen.at_ms < stamp_ms <= now_ms", "stamp_ms <= now_ms"),
    ),
    mutant(
        "a-configured-set-is-its-record",
        "4, committed",
        ("adopted/step:58:peers-cut:3001",),
        ("_voter_set_look", "earlier.static", "static"),
    ),
    mutant(
        "moved-ones-before-those-that-lag",
        "live",
        ("roll-with-one-that-lags-for-good",),
        ("_turns", "not moved or node.node_id in moved or _lags(observed, node)", "not moved or node.node_id in moved"),
    ),
)
