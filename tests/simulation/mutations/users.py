"""Mutants of the brokers' users: whose a user is, what the record is for, and when the work is done."""

from typing import Final

from tests.simulation.mutations.mutant import mutant

_USERS: Final = ("scram-users",)
_LOST: Final = ("scram-users-lost",)

USER_MUTANTS: Final = (
    mutant(
        "users-of-others-are-taken",
        "13, user",
        _USERS,
        ("may_change_user", "not ours and user in seen.held.value.users", "False"),
    ),
    mutant(
        "a-changed-password-is-not-noticed",
        "live",
        _USERS,
        ("_wanted", "not each.same", "False"),
    ),
    mutant(
        "a-user-that-left-the-secret-stays",
        "live",
        _USERS,
        ("_wanted", 'found | {user: "" for user, _ in recorded.users if user not in names_}', "found"),
    ),
    mutant(
        "a-user-that-kafka-lost-stays-lost",
        "live",
        _LOST,
        ("_wanted", "held is not None and each.user not in held", "False"),
    ),
)
