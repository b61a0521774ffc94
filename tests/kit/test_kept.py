"""Results are worked out once, and at most so many are kept."""

from functools import partial

import pytest

from kit.kept import Kept


def test_a_result_is_worked_out_once() -> None:
    """The second caller gets what the first one worked out."""
    kept, worked = Kept[str, int](most=2), list[str]()

    def work(key: str) -> int:
        def once() -> int:
            worked.append(key)
            return len(worked)

        return kept.of(key, once)

    assert [work(key) for key in ("a", "a", "b", "a")] == [1, 1, 2, 1]
    assert [work(key) for key in ("c", "a", "b")] == [3, 1, 4], "b was not used for the longest time"
    assert (len(kept), worked) == (2, ["a", "b", "c", "b"])


def test_an_error_is_not_kept() -> None:
    """The next caller tries again."""
    kept = Kept[str, int](most=1)
    with pytest.raises(ZeroDivisionError):
        kept.of("a", lambda: 1 // 0)
    assert kept.of("a", lambda: 1) == 1


def test_a_limit_by_weight() -> None:
    """Results go until the rest weighs no more than the limit. The newest one stays, however heavy it is."""
    kept = Kept[str, str](most=10, weight=lambda key, found: len(key) + len(found))
    for key, found, weight, number in (
        ("a", "bcd", 4, 1),
        ("b", "cdefg", 10, 2),
        ("c", "", 7, 2),
        ("d", 20 * "e", 21, 1),
    ):
        assert kept.of(key, partial(str, found)) == found
        assert (kept.weight, len(kept)) == (weight, number)
    assert kept.of("a", lambda: "b") == "b"
    assert (kept.weight, len(kept)) == (2, 1)


def test_two_threads_that_work_out_the_same_result() -> None:
    """It is counted once."""
    kept = Kept[str, str](most=10, weight=lambda _, found: len(found))

    def slow() -> str:
        kept.of("a", lambda: "other")
        return "mine"

    assert kept.of("a", slow) == "mine"
    assert (kept.weight, len(kept)) == (4, 1)
