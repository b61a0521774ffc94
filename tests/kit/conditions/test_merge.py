"""Conditions keep their transition times until their status changes."""

from kit.conditions.finding import Finding, Truth
from kit.conditions.merge import merged

OLD = {"type": "Ready", "status": "True", "reason": "R", "message": "m", "lastTransitionTime": "then"}


def finding(truth: Truth, message: str = "m") -> Finding:
    """The condition Ready with this status."""
    return Finding(type="Ready", truth=truth, reason="R", message=message)


def test_a_new_condition_is_stamped() -> None:
    """A new condition has the present time as its transition time, and the generation."""
    (row,) = merged([], [finding(Truth.TRUE)], generation=7, now="now")
    assert row == {**OLD, "lastTransitionTime": "now", "observedGeneration": 7}


def test_another_message_is_no_transition() -> None:
    """A change of reason or message does not change the transition time."""
    (row,) = merged([OLD], [finding(Truth.TRUE, "other")], generation=1, now="now")
    assert (row["message"], row["lastTransitionTime"]) == ("other", "then")


def test_another_status_is_a_transition() -> None:
    """A change from True to Unknown is a transition."""
    (row,) = merged([OLD], [finding(Truth.UNKNOWN)], generation=1, now="now")
    assert (row["status"], row["lastTransitionTime"]) == ("Unknown", "now")


def test_a_long_message_is_shortened() -> None:
    """A long message is shortened, so that the status can be written."""
    (row,) = merged([], [finding(Truth.TRUE, "x" * 5000)], generation=1, now="now")
    assert len(row["message"]) == 2000
    assert row["message"].endswith("…")
