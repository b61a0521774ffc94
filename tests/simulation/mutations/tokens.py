"""Mutants of the disruption token, and of the wait for brokers that cannot be asked."""

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
        "levels-without-the-brokers",
        "7, brokers",
        ("broker-confirmed",),
        ("may_raise", "why_brokers_hold(situation)", "''"),
    ),
    mutant(
        "hand-over-without-the-token",
        "5, token",
        ("hand-over-waits-for-a-pool",),
        ("may_hand_over", "holds_token(situation)", "True"),
    ),
    mutant(
        "the-token-is-never-given-back",
        "live",
        ("roll-waits-for-a-pool",),
        ("token_given_back", "return Part(exclusive=GiveToken(seen=token.value))", "return Part()"),
    ),
    mutant(
        "the-token-is-freed-in-one-write",
        "5, token",
        ("token-given-back-late", "pool-token-given-back-late"),
        ("give_back", "not seen.ends", "False"),
    ),
    mutant(
        "stops-with-a-token-that-ends",
        "5, token",
        ("token-freed-late",),
        ("holds_token", "not token.value.ends", "True"),
    ),
)
