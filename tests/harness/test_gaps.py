"""The measuring client: each gap once, with what failed in it, and how old reads are."""

import pytest

from harness.gaps import Gap, Lane, Staleness, longest


def test_a_gap_is_the_time_between_two_answers() -> None:
    """It begins at the last answer, ends with the next one, and has the failures between."""
    lane = Lane("write", 100.0, least_s=0.5)
    assert lane.answered(100.0, 100.1) is None
    assert lane.answered(100.2, 100.3) is None
    lane.failed("_TIMED_OUT")
    lane.failed("_TIMED_OUT")
    gap = lane.answered(101.9, 102.0)
    assert gap is not None
    assert (gap.began_s, gap.failed) == (100.3, 2)
    assert gap.took_s == pytest.approx(1.7)
    assert lane.answered(102.1, 102.2) is None
    assert lane.gaps == [gap]
    assert lane.failures == {"_TIMED_OUT": 2}


def test_what_is_never_answered_is_a_gap() -> None:
    """The begin and the end of the measurement count: a Kafka that never answers has the longest gap of all."""
    lane = Lane("write", 100.0, least_s=0.5)
    lane.failed("_TRANSPORT")
    assert lane.ended(160.0) == Gap(kind="write", began_s=100.0, took_s=60.0, failed=1)
    assert lane.longest_s == 60.0
    assert "0 answers" in str(lane)


def test_answers_out_of_order_are_no_gap() -> None:
    """An answer that is noted late shortens no time and makes none negative."""
    lane = Lane("write", 100.0, least_s=0.5)
    lane.answered(100.0, 100.4)
    assert lane.answered(100.0, 100.3) is None
    assert lane.answered(100.4, 100.8) is None
    assert lane.longest_s == pytest.approx(0.4)


def test_a_line_for_a_person_has_moment_length_and_failures() -> None:
    """The moment is in UTC, as the logs of servers are."""
    assert str(Gap(kind="produce", began_s=0.25, took_s=1.234, failed=3)) == (
        "1970-01-01T00:00:00.250+00:00 produce: no answer for 1.23 s, 3 failed"
    )


def test_an_old_read_is_as_old_as_the_first_write_that_it_lacks() -> None:
    """Writes that were acknowledged after the question do not count."""
    stale = Staleness()
    for number, at_s in ((1, 10.0), (2, 11.0), (3, 12.0)):
        stale.written(number, at_s)
    stale.read(3, 12.5)
    assert stale.longest_s == 0.0
    stale.read(1, 11.4)
    assert stale.longest_s == pytest.approx(0.4)
    stale.read(0, 10.0)
    assert stale.longest_s == pytest.approx(0.4)


def test_reads_through_a_broker_that_is_behind_are_found() -> None:
    """After a read that showed the newest write, an older value is as old as the writes since then."""
    stale = Staleness()
    for number in range(5):
        stale.written(number, float(number))
    stale.read(4, 4.5)
    stale.written(5, 5.0)
    stale.read(4, 7.0)
    assert stale.longest_s == pytest.approx(2.0)


def test_gaps_while_a_broker_stops_are_apart() -> None:
    """A gap that touches a stop is a broker's; the others are the controllers'."""
    gaps = [
        Gap(kind="write", began_s=began_s, took_s=took_s, failed=0) for began_s, took_s in ((10, 1), (20, 7), (40, 2))
    ]
    assert longest(gaps, [(18.0, 26.0)]) == (2, 7)
    assert longest(gaps, [(26.5, 30.0)]) == (2, 7)
    assert longest(gaps, []) == (7, 0)
    assert longest([], [(18.0, 26.0)]) == (0, 0)
