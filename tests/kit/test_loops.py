"""One task per quorum: wake-ups are not lost, failures back off, and a loop ends with its resource."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest
from tests.kit.ends import End

from kit import loops as module
from kit.errors import KubeUnavailable
from kit.key import ObjectKey
from kit.loops import Loops
from kit.turns import Rest

KEY = ObjectKey(namespace="ns", name="q")
DEADLINE_S = 10.0


def result(*, again: bool = False, gone: bool = False, requeue_s: float = 3600.0) -> End:
    """What a pass came to that did nothing."""
    return End(requeue_s=requeue_s, again=again, gone=gone)


class Passes:
    """A reconciler that counts its passes, and answers each as the test says."""

    def __init__(self, answer: Callable[[int], Awaitable[End]]) -> None:
        """`answer` gets the number of the pass, from 1."""
        self._answer = answer
        self.made = 0
        self.changes = 0
        self.said: list[str] = []
        self.forgotten: list[ObjectKey] = []
        self.forgot = asyncio.Event()
        self._moved = asyncio.Condition()

    def changed(self, _: ObjectKey, resource_version: str = "") -> bool:
        """Count what watches say; a version "echo" is the one that we wrote."""
        self.changes += 1
        return resource_version != "echo"

    async def cannot_look(self, _: ObjectKey, why: str) -> None:
        """Note what is said of errors."""
        self.said.append(why)

    def forget(self, key: ObjectKey) -> None:
        """Note what is forgotten."""
        self.forgotten.append(key)
        self.forgot.set()

    async def run_pass(self, _: ObjectKey) -> End:
        """One pass."""
        async with self._moved:
            self.made += 1
            self._moved.notify_all()
        return await self._answer(self.made)

    async def reach(self, count: int) -> None:
        """Wait until so many passes have begun."""
        async with asyncio.timeout(DEADLINE_S), self._moved:
            await self._moved.wait_for(lambda: self.made >= count)


def loops_of(passes: Passes) -> Loops:
    """Loops over these passes."""
    return Loops(passes)


async def well(_: int) -> End:
    """A pass with nothing to tell."""
    return result()


async def test_only_the_resource_itself_starts_a_loop() -> None:
    """A pod or claim of a quorum without a resource starts nothing."""
    passes = Passes(well)
    loops = loops_of(passes)
    loops.wake(KEY, create=False)
    assert tuple(loops.keys()) == ()
    loops.wake(KEY, create=True)
    await passes.reach(1)
    assert tuple(loops.keys()) == (KEY,)
    await loops.stop()


async def test_a_wake_up_during_a_pass_is_not_lost() -> None:
    """What a watch says while a pass runs makes another pass follow at once."""
    running, go_on = asyncio.Event(), asyncio.Event()

    async def answer(number: int) -> End:
        if number == 1:
            running.set()
            await go_on.wait()
        return result()

    passes = Passes(answer)
    loops = loops_of(passes)
    loops.wake(KEY, create=True)
    await asyncio.wait_for(running.wait(), DEADLINE_S)
    loops.wake(KEY, create=False)
    go_on.set()
    await passes.reach(2)
    await loops.stop()


async def test_a_pass_that_acted_is_followed_at_once() -> None:
    """`again` means no pause, until nothing is left to do."""

    async def answer(number: int) -> End:
        return result(again=number < 20)

    passes = Passes(answer)
    loops = loops_of(passes)
    loops.wake(KEY, create=True)
    await passes.reach(20)
    await loops.stop()
    assert passes.made == 20


async def test_errors_end_a_pass_and_not_the_loop() -> None:
    """An API server that is away, and a fault of our own, are both followed by another pass."""

    async def answer(number: int) -> End:
        if number == 1:
            raise KubeUnavailable("the API server is away")
        if number == 2:
            raise ZeroDivisionError
        return result()

    passes = Passes(answer)
    loops = loops_of(passes)
    loops.wake(KEY, create=True)
    await passes.reach(1)
    loops.wake(KEY, create=False)
    await passes.reach(2)
    loops.wake(KEY, create=False)
    await passes.reach(3)
    await loops.stop()


async def test_a_loop_ends_with_its_resource_and_starts_anew_with_the_next() -> None:
    """A pass that finds no resource ends the loop, and everything about the quorum is forgotten."""

    async def answer(number: int) -> End:
        return result(gone=number == 1)

    passes = Passes(answer)
    loops = loops_of(passes)
    loops.wake(KEY, create=True)
    await passes.reach(1)
    await asyncio.wait_for(passes.forgot.wait(), DEADLINE_S)
    assert passes.forgotten == [KEY]
    assert tuple(loops.keys()) == ()
    loops.wake(KEY, create=True)
    await passes.reach(2)
    await loops.stop()


async def test_a_resource_applied_again_meanwhile_is_not_missed() -> None:
    """A resource that comes back while a pass finds it gone gets its next pass at once: no wake-up is lost."""
    asked, go_on = asyncio.Event(), asyncio.Event()

    async def answer(number: int) -> End:
        if number == 1:
            asked.set()
            await go_on.wait()
        return result(gone=number == 1)

    passes = Passes(answer)
    loops = loops_of(passes)
    loops.wake(KEY, create=True)
    await asyncio.wait_for(asked.wait(), DEADLINE_S)
    loops.wake(KEY, create=True)
    go_on.set()
    await passes.reach(2)
    assert passes.forgotten == [KEY]
    assert tuple(loops.keys()) == (KEY,)
    await loops.stop()


@pytest.mark.parametrize("way", ["error", "failed action"])
async def test_failures_back_off(way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The pause after a failure doubles, up to half a minute; a pass that went well starts it over."""
    pauses: list[float] = []

    async def noted(_: asyncio.Event, rest: Rest) -> None:
        assert rest.deaf_s <= rest.seconds
        pauses.append(rest.seconds)

    async def answer(number: int) -> End:
        if number == 9:
            return result(again=True)
        if number == 11:
            await asyncio.Event().wait()
        if way == "error":
            raise KubeUnavailable("the API server is away")
        return End(requeue_s=1.0, failed=True)

    monkeypatch.setattr(module, "_pause", noted)
    passes = Passes(answer)
    loops = loops_of(passes)
    loops.wake(KEY, create=True)
    await passes.reach(11)
    await loops.stop()
    assert pauses == [0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 30.0, 30.0, 0.5]


async def test_an_open_change_is_tried_again_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """While a change of the voters is open, the pause after a failure stays at a second."""
    pauses: list[float] = []

    async def noted(_: asyncio.Event, rest: Rest) -> None:
        pauses.append(rest.seconds)

    async def answer(number: int) -> End:
        if number == 6:
            await asyncio.Event().wait()
        return End(requeue_s=1.0, failed=True, urgent=True)

    monkeypatch.setattr(module, "_pause", noted)
    passes = Passes(answer)
    loops = loops_of(passes)
    loops.wake(KEY, create=True)
    await passes.reach(6)
    await loops.stop()
    assert pauses == [0.5, 1.0, 1.0, 1.0, 1.0]


async def test_a_wake_up_does_not_shorten_the_first_part_of_a_failures_pause() -> None:
    """What we write wakes us: a failed act is not repeated as fast as its own traces are seen."""
    begun: list[float] = []
    clock = asyncio.get_running_loop().time

    async def answer(_: int) -> End:
        begun.append(clock())
        loops.wake(KEY, create=False)
        return End(requeue_s=1.0, failed=True)

    passes = Passes(answer)
    loops = loops_of(passes)
    loops.wake(KEY, create=True)
    await passes.reach(2)
    await loops.stop()
    assert begun[1] - begun[0] >= 0.5


async def test_stopping_is_not_lost_to_a_wake_up() -> None:
    """A loop that is woken and told to stop at the same moment stops."""
    for turns in range(6):
        passes = Passes(lambda _: _done())
        loops = loops_of(passes)
        loops.wake(KEY, create=True)
        await passes.reach(1)
        for _ in range(turns):
            await asyncio.sleep(0)
        loops.wake(KEY, create=False)
        async with asyncio.timeout(DEADLINE_S):
            await loops.stop()


async def _done() -> End:
    return result()


async def test_a_pass_with_nothing_to_do_sets_its_own_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a wake-up the next pass comes when the plan said."""
    pauses: list[float] = []

    async def noted(_: asyncio.Event, rest: Rest) -> None:
        assert rest.deaf_s <= rest.seconds
        pauses.append(rest.seconds)

    async def answer(number: int) -> End:
        if number == 3:
            await asyncio.Event().wait()
        return result(requeue_s=float(number))

    monkeypatch.setattr(module, "_pause", noted)
    passes = Passes(answer)
    loops = loops_of(passes)
    loops.wake(KEY, create=True)
    await passes.reach(3)
    await loops.stop()
    assert pauses == [1.0, 2.0]


async def test_stop_ends_a_pass_that_hangs() -> None:
    """Stopping cancels a pass in the middle, and returns."""
    running = asyncio.Event()

    async def answer(_: int) -> End:
        running.set()
        await asyncio.Event().wait()
        return result()

    loops = loops_of(Passes(answer))
    loops.wake(KEY, create=True)
    await asyncio.wait_for(running.wait(), DEADLINE_S)
    await asyncio.wait_for(loops.stop(), DEADLINE_S)
    assert tuple(loops.keys()) == ()


async def test_every_wake_up_says_that_objects_changed() -> None:
    """Remembered objects are not trusted after a watch has spoken."""
    passes = Passes(well)
    loops = loops_of(passes)
    loops.wake(KEY, create=True)
    loops.wake(KEY, create=False)
    assert passes.changes == 2
    await loops.stop()


async def test_the_echo_of_our_own_write_wakes_nothing() -> None:
    """A pass that wrote the status is not followed by another one because of that."""
    passes = Passes(well)
    loops = loops_of(passes)
    loops.wake(KEY, create=True)
    await passes.reach(1)
    for _ in range(20):
        loops.wake(KEY, create=True, resource_version="echo")
        await asyncio.sleep(0)
    assert passes.made == 1
    loops.wake(KEY, create=True, resource_version="7")
    await passes.reach(2)
    await loops.stop()


async def test_an_error_of_the_loop_itself_does_not_end_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """A fault beside the pass, which nothing expects, is logged, and the quorum is looked at again."""
    faults = iter([RuntimeError("a fault of the loop")])

    async def faulty(_: asyncio.Event, __: Rest) -> None:
        if (fault := next(faults, None)) is not None:
            raise fault
        await asyncio.sleep(0)

    monkeypatch.setattr(module, "_pause", faulty)
    monkeypatch.setattr(module, "_RESTART_S", 0.0)
    passes = Passes(well)
    loops = loops_of(passes)
    loops.wake(KEY, create=True)
    await passes.reach(3)
    assert tuple(loops.keys()) == (KEY,)
    await loops.stop()


async def test_a_stop_with_grace_lets_a_pass_end() -> None:
    """A clean stop waits for the pass that runs, and begins no other one."""
    running, go_on, ended = asyncio.Event(), asyncio.Event(), False

    async def answer(_: int) -> End:
        nonlocal ended
        running.set()
        await go_on.wait()
        ended = True
        return result(again=True)

    passes = Passes(answer)
    loops = loops_of(passes)
    loops.wake(KEY, create=True)
    await asyncio.wait_for(running.wait(), DEADLINE_S)
    stopping = asyncio.create_task(loops.stop(grace_s=DEADLINE_S))
    await asyncio.sleep(0)
    loops.wake(KEY, create=True)
    go_on.set()
    await asyncio.wait_for(stopping, DEADLINE_S)
    assert (ended, passes.made) == (True, 1)


async def test_a_pass_that_runs_is_seen_from_outside() -> None:
    """The probe can tell for how long the oldest pass has been running."""
    running, go_on = asyncio.Event(), asyncio.Event()

    async def answer(_: int) -> End:
        running.set()
        await go_on.wait()
        return result()

    passes = Passes(answer)
    loops = loops_of(passes)
    assert loops.longest_pass_s() == 0.0
    loops.wake(KEY, create=True)
    await asyncio.wait_for(running.wait(), DEADLINE_S)
    await asyncio.sleep(0.01)
    assert loops.longest_pass_s() > 0.0
    go_on.set()
    await loops.stop(grace_s=DEADLINE_S)


async def test_nothing_is_remembered_of_what_has_no_loop() -> None:
    """A label may hold any name: an object with one that no resource has leaves no trace, however many there are."""
    passes = Passes(well)
    loops = loops_of(passes)
    loops.wake(KEY, create=True)
    await passes.reach(1)
    for number in range(100):
        loops.wake(ObjectKey(namespace="ns", name=f"label-{number}"), create=False)
    assert passes.changes == 1
    assert tuple(loops.keys()) == (KEY,)
    await loops.stop()
