"""Tasks that must not end are restarted, whatever ended them."""

import asyncio
import logging

import pytest
from tests import virtual_time

from kit.errors import KubeRefused, KubeUnavailable, NotActing
from kit.supervise import supervised


async def _begun(ends: list[BaseException | None], for_s: float) -> list[float]:
    """The seconds at which the work was started, if it ends like this, one run after the other."""
    begun: list[float] = []
    clock = asyncio.get_running_loop().time
    start_s = clock()

    async def work() -> None:
        begun.append(clock() - start_s)
        if len(begun) > len(ends):
            await asyncio.Event().wait()
        if (end := ends[len(begun) - 1]) is not None:
            raise end

    task = asyncio.create_task(supervised("test", work))
    await asyncio.sleep(for_s)
    assert not task.done()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    return begun


def test_whatever_ends_it_it_begins_again() -> None:
    """After an error of any kind, or an end without one, the work is restarted, with doubled pauses."""
    ends = [ValueError("x"), None, KeyError("y"), TimeoutError(), None, OSError(), RuntimeError("z")]
    assert virtual_time.run(_begun(list(ends), 200.0)) == [0, 1, 3, 7, 15, 31, 61, 91]


@pytest.mark.parametrize(
    ("end", "level"),
    [
        (KubeUnavailable("no answer"), logging.WARNING),
        (NotActing("no answer"), logging.WARNING),
        (KubeRefused("no answer"), logging.ERROR),
    ],
)
def test_an_operator_error_is_one_line(caplog: pytest.LogCaptureFixture, end: Exception, level: int) -> None:
    """`KubeUnavailable` and `NotActing` are warnings, `KubeRefused` is an error: one line each, without a traceback."""
    assert virtual_time.run(_begun([end], 10.0)) == [0, 1]
    (line,) = caplog.records
    assert (line.levelno, line.exc_info) == (level, None)
    assert line.getMessage() == "The task 'test' begins again: no answer"


def test_an_unexpected_error_has_a_traceback(caplog: pytest.LogCaptureFixture) -> None:
    """An error that is no `OperatorError` is logged with its traceback."""
    virtual_time.run(_begun([KeyError("y")], 10.0))
    (line,) = caplog.records
    assert line.exc_info is not None


def test_a_cancel_ends_it() -> None:
    """Only a cancellation by the caller ends the task."""
    assert virtual_time.run(_begun([], 10.0)) == [0]
