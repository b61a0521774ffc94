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
    """The result of a pass that did nothing."""
    return End(requeue_s=requeue_s, again=again, gone=gone)


class Passes:
    """A reconciler that counts its passes, and returns what the test gives."""

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
        """Counts the reports of watches; a version "echo" is that of our own write."""
        self.changes += 1
        return resource_version != "echo"

    async def cannot_look(self, _: ObjectKey, why: str) -> None:
        """Records the error."""
        self.said.append(why)

    def forget(self, key: ObjectKey) -> None:
        """Records the forgotten key."""
        self.forgotten.append(key)
        self.forgot.set()

    async def run_pass(self, _: ObjectKey) -> End:
        """One pass."""
        async with self._moved:
            self.made += 1
            self._moved.notify_all()
        return await self._answer(self.made)

    async def reach(self, count: int) -> None:
        """Waits until this many passes have begun."""
        async with asyncio.timeout(DEADLINE_S), self._moved:
            await self._moved.wait_for(lambda: self.made >= count)


def loops_of(passes: Passes) -> Loops:
    """Loops over these passes."""
    return Loops(passes)


async def well(_: int) -> End:
    """A pass without news."""
    return result()


def held() -> tuple[asyncio.Event, asyncio.Event, Passes]:
    """Passes that wait: what shows that one runs, and what lets them go on."""
    running, go_on = asyncio.Event(), asyncio.Event()

    async def answer(_: int) -> End:
        running.set()
        await go_on.wait()
        return result()

    return running, go_on, Passes(answer)


async def test_only_the_resource_itself_starts_a_loop() -> None:
    """Only the resource itself starts a loop; a pod or claim without its resource does not."""
    passes = Passes(well)
    loops = loops_of(passes)
    loops.wake(KEY, create=False)
    assert tuple(loops.keys()) == ()
    loops.wake(KEY, create=True)
    await passes.reach(1)
    assert tuple(loops.keys()) == (KEY,)
    await loops.stop()


async def test_a_wake_up_during_a_pass_is_not_lost() -> None:
    """A wake-up during a pass causes another pass at once."""
    running, go_on, passes = held()
    loops = loops_of(passes)
    loops.wake(KEY, create=True)
    await asyncio.wait_for(running.wait(), DEADLINE_S)
    loops.wake(KEY, create=False)
    go_on.set()
    await passes.reach(2)
    await loops.stop()


async def test_a_pass_that_acted_is_followed_at_once() -> None:
    """After a pass with `again` the next one follows without a pause."""

    async def answer(number: int) -> End:
        return result(again=number < 20)

    passes = Passes(answer)
    loops = loops_of(passes)
    loops.wake(KEY, create=True)
    await passes.reach(20)
    await loops.stop()
    assert passes.made == 20


async def test_errors_end_a_pass_and_not_the_loop() -> None:
    """An unavailable API server and a fault of our own both end a pass, and another pass follows."""

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
    """A pass that finds no resource ends the loop, and deletes everything that is kept about the quorum."""

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
    """If a resource returns while a pass finds it gone, its next pass follows at once."""
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
    """The pause after a failure doubles, up to half a minute, and a good pass resets it."""
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
    """While a change of the voters is open, the pause after a failure is at most a second."""
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
    """A wake-up, for example by our own write, does not end the first part of the pause after a failure."""
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
    """A loop that is woken and stopped at the same moment stops."""
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
    """Without a wake-up the next pass comes at the time that the plan requested."""
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
    """Stopping cancels a pass that hangs, and returns."""
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
    """Every wake-up is passed on as a change, so that remembered objects are not used."""
    passes = Passes(well)
    loops = loops_of(passes)
    loops.wake(KEY, create=True)
    loops.wake(KEY, create=False)
    assert passes.changes == 2
    await loops.stop()


async def test_the_echo_of_our_own_write_wakes_nothing() -> None:
    """The echo of our own write causes no pass."""
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
    """An unexpected fault outside a pass does not end the loop."""
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
    """A stop with grace waits for the pass that runs, and starts no other one."""
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
    """The duration of the longest running pass can be read, for the probe."""
    running, go_on, passes = held()
    loops = loops_of(passes)
    assert loops.longest_pass_s() == 0.0
    loops.wake(KEY, create=True)
    await asyncio.wait_for(running.wait(), DEADLINE_S)
    await asyncio.sleep(0.01)
    assert loops.longest_pass_s() > 0.0
    go_on.set()
    await loops.stop(grace_s=DEADLINE_S)


async def test_an_event_that_waits_is_seen_from_outside() -> None:
    """The age of the oldest event that no pass has seen can be read; a pass that begins has seen those before it."""
    running, go_on, passes = held()
    loops = loops_of(passes)
    assert loops.longest_wait_s() == 0.0
    loops.wake(KEY, create=True)
    await asyncio.sleep(0.01)
    assert running.is_set()
    assert loops.longest_wait_s() == 0.0
    loops.wake(KEY, create=False)
    await asyncio.sleep(0.01)
    first_s = loops.longest_wait_s()
    loops.wake(KEY, create=False)
    assert loops.longest_wait_s() >= first_s > 0.0
    go_on.set()
    await passes.reach(2)
    assert loops.longest_wait_s() == 0.0
    await loops.stop(grace_s=DEADLINE_S)


async def test_nothing_is_remembered_of_what_has_no_loop() -> None:
    """An object whose label names no resource leaves nothing in memory, however many there are."""
    passes = Passes(well)
    loops = loops_of(passes)
    loops.wake(KEY, create=True)
    await passes.reach(1)
    for number in range(100):
        loops.wake(ObjectKey(namespace="ns", name=f"label-{number}"), create=False)
    assert passes.changes == 1
    assert tuple(loops.keys()) == (KEY,)
    await loops.stop()


@pytest.mark.parametrize("anew", [False, True])
async def test_another_operators_term_ends_what_was_remembered(*, anew: bool) -> None:
    """After another operator may have acted, the next pass begins with nothing; a pass under way keeps what it has."""
    running, go_on, passes = held()
    loops = loops_of(passes)
    loops.wake(KEY, create=True)
    await asyncio.wait_for(running.wait(), DEADLINE_S)
    loops.wake_all(anew=anew)
    assert passes.forgotten == []
    go_on.set()
    await passes.reach(2)
    assert passes.forgotten == [KEY] * anew
    loops.wake(KEY, create=False)
    await passes.reach(3)
    await loops.stop()
    assert passes.forgotten == [KEY] * anew


async def test_the_loop_of_a_lost_resource_can_be_dropped_between_passes() -> None:
    """A pass under way finds out itself that its resource is gone; between passes the loop ends and forgets it."""
    running, go_on, passes = held()
    loops = loops_of(passes)
    loops.wake(KEY, create=True)
    await asyncio.wait_for(running.wait(), DEADLINE_S)
    loops.drop(KEY)
    assert tuple(loops.keys()) == (KEY,)
    go_on.set()
    while loops.longest_pass_s():  # noqa: ASYNC110 - a pass sets no event
        await asyncio.sleep(0)
    loops.drop(KEY)
    loops.drop(KEY)
    assert (tuple(loops.keys()), passes.forgotten) == ((), [KEY])
    loops.wake(KEY, create=True)
    await passes.reach(2)
    await loops.stop()
