"""Actions without an effect are repeated with growing pauses; actions that are needed again are not slowed down."""

from dataclasses import dataclass

from kit.repeats import Repeats


@dataclass(frozen=True)
class Outcome:
    """The outcome of an action."""

    done: bool
    message: str


def done(message: str, *, well: bool = True) -> Outcome:
    """The outcome of an action with this message."""
    return Outcome(done=well, message=message)


def test_an_action_that_changes_nothing_is_paused_for_longer_and_longer() -> None:
    """The pauses double from half a second to half a minute, and stay there."""
    repeats, now_s, pauses = Repeats(), 0.0, []
    for _ in range(14):
        found = repeats.note((done("claim grows"), done(f"pod {now_s}")), now_s)
        pauses.append(0.0 if found is None else found.pause_s)
        now_s += pauses[-1] + 0.1
    assert pauses == [0, 0, 0, 0.5, 1, 2, 4, 8, 16, 30, 30, 30, 30, 30]


def test_an_action_that_is_called_for_again_later_is_not_paused() -> None:
    """A pod that is killed every ten seconds is recreated at once every time."""
    repeats = Repeats()
    assert all(repeats.note((done("pod is made"),), 10.0 * number) is None for number in range(50))


def test_failures_are_not_repeated_successes() -> None:
    """A failed action is not counted here, because failures back off elsewhere."""
    repeats = Repeats()
    assert all(repeats.note((done("pod is made", well=False),), 0.1 * number) is None for number in range(50))


def test_different_actions_are_not_repeated() -> None:
    """A pass that does something new each time is never paused."""
    repeats = Repeats()
    assert all(repeats.note((done(f"pod {number}"),), 0.1 * number) is None for number in range(50))
