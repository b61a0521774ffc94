"""Mutants of the disruption token: a stop without it, and one that is never given back."""

from typing import Final

from tests.simulation.mutations.mutant import mutant

TOKEN_MUTANTS: Final = (
    mutant(
        "restart-without-the-token",
        "5",
        ("roll-waits-for-a-pool",),
        ("may_restart", "holds_token(situation)", "True"),
    ),
    mutant(
        "hand-over-without-the-token",
        "5",
        ("hand-over-waits-for-a-pool",),
        ("may_hand_over", "holds_token(situation)", "True"),
    ),
    mutant(
        "the-token-is-never-given-back",
        "live",
        ("roll-waits-for-a-pool",),
        ("token_given_back", "return Part(exclusive=GiveToken(seen=token.value))", "return Part()"),
    ),
)
