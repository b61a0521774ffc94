"""The passes of one quorum: every end of a pass has its pause, and lasting errors are reported in the status."""

import asyncio
from collections.abc import Callable

import pytest
from tests.kit.ends import End

from kit import turns as module
from kit.errors import KubeRefused, KubeUnavailable, NotActing
from kit.key import ObjectKey
from kit.repeats import Repeated
from kit.turns import AT_ONCE_MAX, CANNOT_LOOK_AFTER, Pace, Rest, Turns

KEY = ObjectKey(namespace="ns", name="q")


def result(
    *,
    again: bool = False,
    requeue_s: float = 10.0,
    failed: bool = False,
    silent: bool = False,
    urgent: bool = False,
    repeated: Repeated | None = None,
) -> End:
    """The result of a pass."""
    return End(
        failed=failed,
        requeue_s=requeue_s,
        again=again,
        gone=False,
        urgent=urgent,
        silent=silent,
        repeated=repeated,
    )


class Scripted:
    """Passes that end as the test gives, by their number from 1."""

    def __init__(self, ends: Callable[[int], End | Exception]) -> None:
        """Takes the ends of the passes."""
        self._ends = ends
        self.made = 0
        self.said: list[str] = []
        self.unwritable: Exception | None = None

    async def run_pass(self, _: ObjectKey) -> End:
        """One pass."""
        self.made += 1
        end = self._ends(self.made)
        if isinstance(end, Exception):
            raise end
        return end

    async def cannot_look(self, _: ObjectKey, why: str) -> None:
        """Records the error."""
        self.said.append(why)
        if self.unwritable is not None:
            raise self.unwritable


async def rests(passes: Scripted, count: int) -> list[Rest]:
    """The pauses after this many passes, without a wake-up."""
    turns = Turns(passes, KEY)
    return [await turns.take(lambda: False) for _ in range(count)]


@pytest.mark.parametrize(
    ("error", "why"),
    [
        (KubeRefused("list pods: forbidden"), "list pods: forbidden"),
        (KubeUnavailable("no answer"), "no answer"),
        (KeyError("kafkaquorum.io/node-id"), "KeyError: 'kafkaquorum.io/node-id'"),
        (ValueError("two\nlines\x1b[31m"), "ValueError: two lines"),
        (TimeoutError(), "TimeoutError:"),
    ],
)
async def test_errors_that_last_are_said_in_the_status(error: Exception, why: str) -> None:
    """After three failed passes the status reports the error in one clean line, and again after each further one."""
    passes = Scripted(lambda _: error)
    await rests(passes, CANNOT_LOOK_AFTER - 1)
    assert passes.said == []
    passes.made = 0
    await rests(passes, CANNOT_LOOK_AFTER + 1)
    assert passes.said == [why, why]


async def test_a_pass_that_ends_well_begins_the_count_anew() -> None:
    """Errors between good passes are not reported, because each good pass writes the status."""
    passes = Scripted(lambda number: result() if number % 3 == 0 else KubeUnavailable("no answer"))
    await rests(passes, 30)
    assert passes.said == []


async def test_a_lease_that_lapses_is_no_error() -> None:
    """An operator without the lease reports nothing, because another operator writes the status."""
    passes = Scripted(lambda _: NotActing("the lease has lapsed"))
    assert {rest.seconds for rest in await rests(passes, 20)} == {0.5}
    assert passes.said == []


@pytest.mark.parametrize("error", [KubeUnavailable("no answer"), ZeroDivisionError()])
async def test_a_status_that_cannot_be_written_ends_nothing(error: Exception) -> None:
    """If the status cannot be written either, the passes continue."""
    passes = Scripted(lambda _: KubeUnavailable("no answer"))
    passes.unwritable = error
    await rests(passes, 10)
    assert passes.made == 10


async def test_a_pass_that_hangs_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """A pass that hangs ends at its deadline, and another one follows."""

    class Hanging(Scripted):
        async def run_pass(self, _: ObjectKey) -> End:
            await asyncio.Event().wait()
            raise AssertionError

    monkeypatch.setattr(module, "PASS_MAX_S", 0.01)
    passes = Hanging(lambda _: result())
    await rests(passes, CANNOT_LOOK_AFTER)
    assert passes.said == ["TimeoutError:"]


def test_errors_back_off() -> None:
    """The pause after an error doubles up to half a minute, and no watch ends its first quarter."""
    pace = Pace()
    assert [pace.broke().seconds for _ in range(9)] == [0.5, 1, 2, 4, 8, 16, 30, 30, 30]
    assert pace.broke() == Rest(seconds=30.0, deaf_s=7.5)


def test_our_own_writes_do_not_defeat_the_back_off() -> None:
    """A failed action whose own writes wake the loop is still repeated less and less often."""
    pace = Pace()
    deaf = [pace.after(result(failed=True), woken=True).deaf_s for _ in range(9)]
    assert deaf == [0.5, 0.5, 0.5, 1, 2, 4, 7.5, 7.5, 7.5]


def test_a_quorum_that_does_not_answer_is_asked_less_often() -> None:
    """Without answers the pause grows to 10 s; an answer resets it, and an open change limits it."""
    pace = Pace()
    pauses = [pace.after(result(silent=True, requeue_s=0.4), woken=False).seconds for _ in range(7)]
    assert pauses == [0.5, 1, 2, 4, 8, 10, 10]
    assert pace.after(result(silent=True, urgent=True, requeue_s=0.4), woken=False).seconds == 1.0
    assert pace.after(result(requeue_s=0.4), woken=False).seconds == 0.4
    assert pace.after(result(silent=True, requeue_s=0.4), woken=False).seconds == 0.5


def test_an_action_without_effect_rests() -> None:
    """An action that was repeated too often sets the pause; while a voter change is open, the pause is a second."""
    pace, repeated = Pace(), Repeated(times=9, words="x", pause_s=30.0)
    assert pace.after(result(again=True, repeated=repeated), woken=True) == Rest(seconds=30.0, deaf_s=7.5)
    assert pace.after(result(again=True, repeated=repeated, urgent=True), woken=True).seconds == 1.0


@pytest.mark.parametrize("way", ["again", "woken"])
def test_passes_without_a_pause_end(way: str) -> None:
    """Passes that follow each other without a pause, for more work or wake-ups, are interrupted by short pauses."""
    pace = Pace()
    pauses = [pace.after(result(again=way == "again"), woken=way == "woken") for _ in range(2 * AT_ONCE_MAX)]
    assert [rest.deaf_s for rest in pauses].count(1.0) == 2


def test_a_calm_pass_begins_the_count_anew() -> None:
    """A pass with a normal pause after it resets the count of passes without a pause."""
    pace = Pace()
    for _ in range(10 * AT_ONCE_MAX):
        for _ in range(AT_ONCE_MAX - 1):
            assert pace.after(result(again=True), woken=False).seconds == 0.0
        assert pace.after(result(), woken=False).seconds == 10.0
