"""Mutants of a change of the controllers' listener: the gates that a run without brokers notices."""

from typing import Final

from tests.simulation.mutations.mutant import mutant

_CHANGED: Final = ("listeners-to-tls",)

LISTENER_MUTANTS: Final = (
    mutant(
        "a-listener-begins-on-the-port-of-the-present-one",
        "7, migration",
        ("listeners-of-the-same-port",),
        ("may_begin_listeners", "not began.allowed", "False"),
    ),
    mutant(
        "brokers-get-a-listener-that-a-controller-lacks",
        "7, migration",
        _CHANGED,
        ("may_send_brokers", "(*_not_steady(situation), *_lacking(situation, (change.old, change.new)))", "()"),
    ),
    mutant(
        "controllers-prefer-a-listener-that-another-lacks",
        "7, listener",
        _CHANGED,
        ("may_send_brokers", "(*_not_steady(situation), *_lacking(situation, (change.old, change.new)))", "()"),
        ("may_prefer", "(*_not_steady(situation), *both, *_brokers(situation))", "()"),
    ),
    mutant(
        "a-listener-is-dropped-that-a-controller-uses",
        "7, migration",
        _CHANGED,
        ("may_drop_listener", "(*_not_steady(situation), *both, *_brokers(situation))", "()"),
    ),
    mutant(
        "a-change-of-listeners-ends-too-early",
        "7, migration",
        _CHANGED,
        (
            "may_end_listeners",
            "(*_not_steady(situation), *_lacking(situation, (change.new,)), *_brokers(situation))",
            "()",
        ),
    ),
    mutant(
        "back-without-a-listener-that-a-controller-uses",
        "7, migration",
        ("listeners-to-tls-prefer-back", "listeners-to-tls-onlynew-back"),
        ("may_return", "index < _PREFER", "False"),
        ("may_return", "index == 0", "False"),
    ),
    mutant(
        "lost-users-get-other-passwords-at-once",
        "13, users",
        ("users-lost-and-restored",),
        ("may_give_users", "bool(having)", "False"),
    ),
    mutant(
        "back-to-a-listener-that-a-controller-gave-up",
        "7, migration",
        ("listeners-to-tls-one-left-back",),
        ("may_return", "index == _PREFER", "False"),
    ),
)
