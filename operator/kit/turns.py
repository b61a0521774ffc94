"""The passes of one resource, one after the other: an error of a pass is noted, and the pause after it is decided.

`loops` waits in real time, the simulation in its own time; the length of the wait is decided here for both.
"""

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Generic, Protocol, TypeVar

from kit.errors import NotActing, OperatorError
from kit.key import ObjectKey
from kit.repeats import Repeated
from kit.text import WORDS_MAX_CHARS, clean

BACKOFF_FIRST_S: Final = 0.5
BACKOFF_LAST_S: Final = 30.0
BACKOFF_OPEN_S: Final = 1.0
"""The longest back-off while something is half done that must not stay so (`urgent`)."""
SILENT_LAST_S: Final = 10.0
"""The longest pause for a quorum that does not answer: one that answers is not looked at less often either."""
AT_ONCE_MAX: Final = 50
"""After this many passes in a row without a pause, one follows, even if there is work or a watch event."""
BREATH_S: Final = 1.0
CANNOT_LOOK_AFTER: Final = 3
"""After this many passes in a row that end in an error, the status says that the operator cannot look."""
PASS_MAX_S: Final = 180.0
"""Every request has a deadline of its own, so a pass that takes this long is a fault of this operator."""

logger = logging.getLogger(__name__)


class PassEnd(Protocol):
    """What decides how soon another pass follows one that ended without an error."""

    @property
    def gone(self) -> bool:
        """There is no such resource any more."""

    @property
    def again(self) -> bool:
        """Something was done: look again at once."""

    @property
    def requeue_s(self) -> float:
        """When to look again if no watch event comes before."""

    @property
    def failed(self) -> bool:
        """Whether something was not done: the next pass follows after a growing pause."""

    @property
    def urgent(self) -> bool:
        """Something is half done that must not stay so: pauses after failures stay short."""

    @property
    def silent(self) -> bool:
        """The controllers that were asked did not answer in time."""

    @property
    def repeated(self) -> Repeated | None:
        """An act that was done again and again."""


R = TypeVar("R", bound=PassEnd)
R_co = TypeVar("R_co", bound=PassEnd, covariant=True)


class Passes(Protocol[R_co]):
    """Runs the passes: the reconciler of a kind."""

    async def run_pass(self, key: ObjectKey) -> R_co:
        """One pass. Raises the error that ends it."""

    async def cannot_look(self, key: ObjectKey, why: str) -> None:
        """Report in the status that passes end in errors. Raises `KubeError` if no write is possible."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rest:
    """The pause before the next pass. A watch ends it early, except in its first `deaf_s`: our writes may wake us."""

    seconds: float
    deaf_s: float = 0.0


@dataclass(slots=True, kw_only=True)
class Pace:
    """How soon one pass follows another."""

    failures: int = 0
    """How many passes in a row have ended in an error."""
    _backoff_s: float = BACKOFF_FIRST_S
    _silent_s: float = BACKOFF_FIRST_S
    _at_once: int = 0

    def after(self, result: PassEnd, *, woken: bool) -> Rest:
        """The pause after a pass that ended. `woken`: a watch reported an event since it began."""
        self.failures = 0
        if result.failed:
            return self._backed_off(BACKOFF_OPEN_S if result.urgent else BACKOFF_LAST_S)
        self._backoff_s = BACKOFF_FIRST_S
        if result.repeated is not None:
            pause_s = min(result.repeated.pause_s, BACKOFF_OPEN_S) if result.urgent else result.repeated.pause_s
            return _partly_deaf(pause_s)
        if result.silent and not result.again:
            pause_s = min(self._silent_s, BACKOFF_OPEN_S) if result.urgent else self._silent_s
            rest = Rest(seconds=max(pause_s, result.requeue_s))
            self._silent_s = min(self._silent_s * 2, SILENT_LAST_S)
            return rest
        self._silent_s = BACKOFF_FIRST_S
        self._at_once = self._at_once + 1 if result.again or woken else 0
        if self._at_once >= AT_ONCE_MAX:
            self._at_once = 0
            return Rest(seconds=BREATH_S, deaf_s=BREATH_S)
        return Rest(seconds=0.0 if result.again else result.requeue_s)

    def broke(self) -> Rest:
        """The pause after a pass that ended in an error."""
        self.failures += 1
        return self._backed_off(BACKOFF_LAST_S)

    def _backed_off(self, last_s: float) -> Rest:
        rest = _partly_deaf(self._backoff_s)
        self._backoff_s = min(self._backoff_s * 2, last_s)
        return rest


class Turns(Generic[R]):
    """The passes of one resource."""

    def __init__(self, passes: Passes[R], key: ObjectKey) -> None:
        """Nothing has failed yet."""
        self._passes = passes
        self._key = key
        self.pace = Pace()
        self.result: R | None = None
        """The result of the last pass; None if it ended in an error."""
        self.error: Exception | None = None
        """What ended the last pass, if anything did."""

    async def take(self, woken: Callable[[], bool]) -> Rest:
        """One pass, and the pause that follows it. `woken` says whether a watch reported an event since the pass began.

        Afterwards either `result` or `error` is set. No exception escapes: the next pass is the retry.
        """
        self.result, self.error = None, None
        await self._pass()
        return await self._rest(woken=woken())

    async def _pass(self) -> None:
        try:
            async with asyncio.timeout(PASS_MAX_S):
                self.result = await self._passes.run_pass(self._key)
        except NotActing as error:
            self.error = error
            logger.info("%s: this pass ended early: %s", self._key, error)
        except OperatorError as error:
            self.error = error
            logger.warning("%s: this pass ended early, another follows: %s", self._key, error)
        except Exception as error:
            self.error = error
            logger.exception("%s: a fault of this operator ended the pass; another follows", self._key)

    async def _rest(self, *, woken: bool) -> Rest:
        """The pause that follows the pass. If too many have ended in errors, the status reports it first."""
        if self.result is not None:
            return self.pace.after(self.result, woken=woken)
        if isinstance(self.error, NotActing):  # the next holder of the lease looks, and has its own errors
            return Rest(seconds=BACKOFF_FIRST_S)
        rest = self.pace.broke()
        if self.pace.failures >= CANNOT_LOOK_AFTER:
            await self._cannot_look()
        return rest

    async def _cannot_look(self) -> None:
        try:
            await self._passes.cannot_look(self._key, _why(self.error))
        except OperatorError as error:
            logger.warning("%s: the status cannot say that passes end in errors: %s", self._key, error)
        except Exception:
            logger.exception("%s: a fault of this operator ended the report of another one", self._key)


def _partly_deaf(seconds: float) -> Rest:
    """A pause of which a watch can end the greater part."""
    return Rest(seconds=seconds, deaf_s=min(seconds, max(BACKOFF_FIRST_S, seconds / 4)))


def _why(error: Exception | None) -> str:
    kind = type(error).__name__
    text = str(error)
    return clean(text if isinstance(error, OperatorError) and text else f"{kind}: {text}", max_chars=WORDS_MAX_CHARS)
