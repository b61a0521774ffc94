"""Work beside a scenario never ends without a word."""

import threading

import pytest

from harness.background import Background


def test_work_is_repeated_until_the_block_ends() -> None:
    """It runs again and again, and no more afterwards."""
    thrice, count = threading.Event(), [0]
    workers: set[threading.Thread] = set()

    def work() -> None:
        workers.add(threading.current_thread())
        count[0] += 1
        if count[0] == 3:
            thrice.set()

    with Background(work, 0.001, end_s=10.0):
        assert thrice.wait(10.0)
    (worker,) = workers
    assert not worker.is_alive()


def test_an_error_of_the_work_is_raised_at_the_end() -> None:
    """A client that died counted no failure: its scenario must not pass."""
    died = threading.Event()

    def work() -> None:
        died.set()
        raise KeyError("certificate")

    with pytest.raises(KeyError, match="certificate"), Background(work, 0.001, end_s=10.0):
        assert died.wait(10.0)


def test_an_error_of_the_block_comes_first() -> None:
    """What the scenario found says more than what its client met because of it."""
    died = threading.Event()

    def work() -> None:
        died.set()
        raise KeyError("certificate")

    def block() -> None:
        with Background(work, 0.001, end_s=10.0):
            died.wait(10.0)
            raise ValueError("of the block")

    with pytest.raises(ValueError, match="of the block"):
        block()


def test_work_that_hangs_is_told() -> None:
    """Its last result is not known."""
    begun, go = threading.Event(), threading.Event()

    def work() -> None:
        begun.set()
        go.wait(10.0)

    with pytest.raises(AssertionError, match="did not end within"), Background(work, 0.001, end_s=0.01):
        assert begun.wait(10.0)
    go.set()
