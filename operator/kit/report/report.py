"""The report of one pass: one value, and subscribers that each use their part of it.

A subscriber is registered once. If one fails, this is logged; it ends neither the pass nor another subscriber. Log and
events are here (`log`, `events`); a kind adds its own: a store of its looks, or metrics.
"""

import logging
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Generic, Protocol, TypeVar

from kit.errors import OperatorError
from kit.key import ObjectKey
from kit.kube.protocol import Json
from kit.report.notice import Notice

S = TypeVar("S")
S_co = TypeVar("S_co", covariant=True)
S_contra = TypeVar("S_contra", contravariant=True)

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A line of the log."""

    text: str
    level: int = logging.INFO


@dataclass(frozen=True, slots=True, kw_only=True)
class PassReport(Generic[S_co]):
    """A pass, however it ended. `resource` is the object that it was about.

    `seen` is what was observed, at the time `seen_at`; None if the pass ended before. `standing` is what holds for now,
    such as the answers of guards; None if the pass ended before them. `lines` and `notices` are news. The pass took
    `took_s` seconds, and `error` is what ended it early, if anything did.

    `decided` is the kind's own value of what it decided by, and what it decided; None if the pass ended before. Only
    subscribers of that kind read it. `status` is the whole status that the pass built, whether it was written or not.

    `withdrawn`: this is no pass. Passes end in errors, and `status` says that nothing is known any more.
    """

    key: ObjectKey
    resource: Json
    seen: S_co | None = None
    seen_at: datetime | None = None
    standing: tuple[str, ...] | None = None
    lines: tuple[Line, ...] = ()
    notices: tuple[Notice, ...] = ()
    decided: object = None
    status: Json | None = None
    withdrawn: bool = False
    took_s: float = 0.0
    error: BaseException | None = None


class Subscriber(Protocol[S_contra]):
    """Receives the report of every pass of a kind."""

    async def take(self, report: PassReport[S_contra]) -> None:
        """A pass has ended."""

    def forget(self, key: ObjectKey) -> None:
        """The resource is gone: remember nothing of it."""


@dataclass(slots=True, kw_only=True)
class Draft(Generic[S]):
    """The report of a pass under way: it holds what is known so far, wherever the pass ends."""

    key: ObjectKey
    resource: Json
    seen: S | None = None
    seen_at: datetime | None = None
    standing: tuple[str, ...] | None = None
    lines: tuple[Line, ...] = ()
    notices: tuple[Notice, ...] = ()
    decided: object = None
    status: Json | None = None
    withdrawn: bool = False

    def ended(self, *, took_s: float = 0.0, error: BaseException | None = None) -> PassReport[S]:
        """The report."""
        return PassReport(
            key=self.key,
            resource=self.resource,
            seen=self.seen,
            seen_at=self.seen_at,
            standing=self.standing,
            lines=self.lines,
            notices=self.notices,
            decided=self.decided,
            status=self.status,
            withdrawn=self.withdrawn,
            took_s=took_s,
            error=error,
        )


class Subscribers(Generic[S]):
    """All subscribers of a kind, in the order in which they get a report."""

    def __init__(self, subscribers: Iterable[Subscriber[S]]) -> None:
        """Register them."""
        self._subscribers = tuple(subscribers)

    async def publish(self, report: PassReport[S]) -> None:
        """Send a report to all of them. No error of a subscriber escapes."""
        for subscriber in self._subscribers:
            try:
                await subscriber.take(report)
            except OperatorError as error:
                logger.warning("%s: %s did not take the report of a pass: %s", report.key, _name(subscriber), error)
            except Exception:
                logger.exception("%s: a fault of %s ended its report of a pass", report.key, _name(subscriber))

    def forget(self, key: ObjectKey) -> None:
        """Let every subscriber forget a resource that is gone."""
        for subscriber in self._subscribers:
            try:
                subscriber.forget(key)
            except Exception:
                logger.exception("%s: %s could not forget the resource", key, _name(subscriber))


def _name(subscriber: object) -> str:
    return type(subscriber).__name__
