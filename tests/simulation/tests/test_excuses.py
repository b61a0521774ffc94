"""In a storm a rule by knowledge may be broken before the cause was observed; a second operator is no excuse."""

from collections.abc import Callable, Iterator

import pytest
from tests.simulation.runs.faults import Call
from tests.simulation.runs.storm import Storm
from tests.simulation.runs.weather import Hand

from kit.lease import Lease

WRITE = Call(verb="delete", what="pods", name="demo-3000-g1", writes=True)
READ = Call(verb="list", what="pods", name="", writes=False)
_EXCUSED_STEPS = 21
"""Longer than an excuse lasts."""


@pytest.fixture
def storm() -> Iterator[Storm]:
    """A storm of two operators, before its first event."""
    found = Storm(3)
    assert len(found._hands) == 2
    yield found
    found._loop.close()


def broken(storm: Storm) -> tuple[int, int]:
    """Rule 5 is broken now: how often this counts against the operator, and how often it is excused."""
    storm.checker.fail("5", "a second controller is stopped")
    return len(storm.checker.violations), storm.checker.tolerated["5"]


def test_two_operators_are_no_excuse(storm: Storm) -> None:
    """The rules by knowledge hold for two operators if only one of them can act."""
    assert broken(storm) == (1, 0)


def keeps(_: Hand) -> None:
    """The operator has held its lease since it decided."""


def loses(hand: Hand) -> None:
    """The lease has ended since the operator decided; it held the lease when it sent the request."""
    assert hand.tenure is not None
    hand.tenure.lease._held_until_s = 0.0


def sleeps(hand: Hand) -> None:
    """The operator was suspended since it decided."""
    hand.stalled = True


@pytest.mark.parametrize(
    ("call", "meanwhile", "excused"),
    [(WRITE, keeps, False), (WRITE, loses, True), (WRITE, sleeps, True), (READ, loses, False), (READ, sleeps, False)],
)
def test_a_request_that_was_decided_too_early_is_an_excuse(
    storm: Storm, call: Call, meanwhile: Callable[[Hand], None], *, excused: bool
) -> None:
    """While another operator acts, too, the holder of the lease is excused for a write that it can no longer judge."""
    hand, other = storm._hands
    assert hand.tenure is not None
    hand.tenure.lease._held_until_s = hand.clock.monotonic() + 10.0
    meanwhile(hand)
    storm._sent(hand, call)
    assert broken(storm) == ((0, 1) if excused else (1, 0))
    assert not other.holds


def test_an_excuse_ends(storm: Storm) -> None:
    """Ten seconds later the operators have looked again, and are not excused."""
    hand = storm._hands[0]
    sleeps(hand)
    storm._sent(hand, WRITE)
    for _ in range(_EXCUSED_STEPS):
        storm.world.step()
    assert broken(storm) == (1, 0)


def test_no_absolute_rule_is_excused(storm: Storm, monkeypatch: pytest.MonkeyPatch) -> None:
    """A request decided too early excuses from no absolute rule, nor from the rule of the lease itself."""
    monkeypatch.setattr(Lease, "held", lambda _: False)
    storm._sent(storm._hands[0], WRITE)
    storm.checker.fail("2", "a directory id runs on another disk")
    storm.checker.fail("lease", "two operators hold the lease")
    assert [one.rule for one in storm.checker.violations] == ["2", "lease"]
