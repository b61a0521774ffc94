"""The digest of a run: the same run has the same one, and a run that does anything else has another."""

import pytest
from tests.simulation.digest import digested, read
from tests.simulation.model.clock import VirtualClock

pytestmark = pytest.mark.simulation


@pytest.mark.parametrize("name", ["initial-1/no-fault", "initial-1/call:40:error", "streams/2"])
def test_the_same_run_has_the_same_digest(name: str) -> None:
    """Two times the same run: one digest, and the line of it can be read again."""
    first, second = digested(name), digested(name)
    assert (first.digest, first.steps, first.passes) == (second.digest, second.steps, second.passes)
    assert read(first.line()).digest == first.digest


def test_another_run_has_another_digest(monkeypatch: pytest.MonkeyPatch) -> None:
    """A time that is written one second later, and nothing else, changes the digest."""
    before = digested("initial-1/no-fault")
    stamp_of = VirtualClock.stamp_of
    monkeypatch.setattr(VirtualClock, "stamp_of", lambda clock, elapsed_s: stamp_of(clock, elapsed_s + 1.0))
    after = digested("initial-1/no-fault")
    assert after.digest != before.digest
