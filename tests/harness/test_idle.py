"""For how long an application processed nothing."""

import pytest

from harness.idle import Idle, idle


@pytest.mark.parametrize(
    ("times_s", "expected"),
    [
        ({0: [10.5, 11.0, 11.5, 12.0, 12.5]}, Idle(total_s=0.0, longest_s=0.0)),
        ({0: [10.5, 12.6]}, Idle(total_s=2.1, longest_s=2.1)),
        ({0: []}, Idle(total_s=3.0, longest_s=3.0)),
        ({0: [9.0, 10.2, 15.0], 1: [11.5, 12.5]}, Idle(total_s=4.3, longest_s=2.8)),
    ],
)
def test_idle(times_s: dict[int, list[float]], expected: Idle) -> None:
    """Gaps over a second count within the window, also those at its edges, in each partition on its own."""
    found = idle(times_s, 10.0, 13.0)
    assert found.total_s == pytest.approx(expected.total_s)
    assert found.longest_s == pytest.approx(expected.longest_s)
