"""A large answer is read beside the event loop, which goes on meanwhile; a small one at once."""

import asyncio
import threading

import pytest
from tests.wire.test_group_admin import ASKS, asking, replaying

from kafka_quorum.wire import apart as module
from kafka_quorum.wire.apart import apart
from kafka_quorum.wire.bounds import MAX_ANSWER_BYTES
from kafka_quorum.wire.requests import describe_groups

LONGEST_S = 20.0


async def test_the_event_loop_goes_on_while_a_large_answer_is_read() -> None:
    """The reader ends only when the event loop has done something else."""
    went_on = threading.Event()
    asyncio.get_running_loop().call_soon(went_on.set)
    assert await apart(MAX_ANSWER_BYTES + 1, lambda: went_on.wait(LONGEST_S))


async def test_a_small_answer_is_read_at_once() -> None:
    """No thread is needed for it."""
    assert await apart(MAX_ANSWER_BYTES, threading.get_ident) == threading.get_ident()


async def test_both_parts_of_an_answer_are_read_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its bytes and its rows: each takes seconds for the largest answers."""
    readers: set[int] = set()
    real = describe_groups._read

    def read(*given: object) -> object:
        readers.add(threading.get_ident())
        return real(*given)  # type: ignore[arg-type]

    monkeypatch.setattr(describe_groups, "_read", read)
    monkeypatch.setattr(module, "MAX_ANSWER_BYTES", 0)
    async with asking(server := replaying("describe_groups_v5_v11")) as groups:
        await ASKS["classic"](groups, server)
    assert readers
    assert threading.get_ident() not in readers
