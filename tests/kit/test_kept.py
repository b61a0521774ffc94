"""Results are worked out once, and at most so many are kept."""

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
