"""Lines of the log that a lasting trouble would repeat."""

from kit.seldom import SILENCE_S, Seldom


def test_a_line_is_written_at_once_and_after_the_silence() -> None:
    """The first one is due, the next ones are not, until the silence is over; then it begins again."""
    seldom = Seldom()
    times = (5.0, 5.0, 4.0 + SILENCE_S, 5.0 + SILENCE_S, 6.0 + SILENCE_S)
    assert [seldom.is_due(now_s) for now_s in times] == [True, False, False, True, False]
