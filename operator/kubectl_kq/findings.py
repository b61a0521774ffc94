"""What a check of `doctor` finds: a level, what it is about, a sentence, and what to do. Pure."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum
from typing import TypeAlias

from kubectl_kq.answers import NotRead, Why
from kubectl_kq.freshness import Freshness, Looks, freshness
from kubectl_kq.quorum import Quorum
from kubectl_kq.sources import OPTIONAL, Look, Source


class Level(Enum):
    """How bad it is."""

    OK = "OK"
    SKIP = "SKIP"
    """Not examined, because the rights of this user, or the state of the quorum, do not allow it. It is no failure."""
    UNKNOWN = "UNKNOWN"
    """It could not be found out."""
    WARN = "WARN"
    CRIT = "CRIT"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One result. `about` names the object; empty for the quorum."""

    level: Level
    about: str = ""
    message: str
    todo: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """Everything that a check may examine. `quorum` is what the status says, `now` the time of this machine (UTC)."""

    look: Look
    quorum: Quorum
    now: datetime

    @property
    def fresh(self) -> Freshness:
        """Whether the status is of now."""
        return freshness(self.quorum, self.now)

    @property
    def is_fresh(self) -> bool:
        """Whether an operator looks at this quorum now."""
        return self.fresh.looks in {Looks.FRESH, Looks.LATE}


Findings: TypeAlias = Iterator[Finding]


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """A question. `run` yields what is wrong; if it yields nothing, `well` is the sentence of OK.

    It runs only if every source in `needs` was read. One that is `reported` reads what the operator reported: if no
    operator looks any more, an earlier status that says nothing bad is no OK.
    """

    key: str
    well: str
    run: Callable[[Case], Iterable[Finding]]
    needs: tuple[Source, ...] = field(default=(Source.QUORUM,))
    reported: bool = False


def warn(message: str, *, about: str = "", todo: str = "") -> Finding:
    """Something to look at."""
    return Finding(level=Level.WARN, about=about, message=message, todo=todo)


def crit(message: str, *, about: str = "", todo: str = "") -> Finding:
    """Something lost, broken or stopped."""
    return Finding(level=Level.CRIT, about=about, message=message, todo=todo)


def unknown(message: str, *, about: str = "", todo: str = "") -> Finding:
    """Something that could not be found out."""
    return Finding(level=Level.UNKNOWN, about=about, message=message, todo=todo)


def skip(message: str, *, about: str = "", todo: str = "") -> Finding:
    """Something that was not examined, for a reason that is no failure."""
    return Finding(level=Level.SKIP, about=about, message=message, todo=todo)


def unread(case: Case, source: Source) -> Finding:
    """A source that was not read: UNKNOWN, or SKIP if the rights of a namespace do not cover it."""
    answer = case.look.answer(source)
    message = f"{source.value} not read: {answer.words if isinstance(answer, NotRead) else ''}"
    beyond = isinstance(answer, NotRead) and answer.why is Why.FORBIDDEN and source in OPTIONAL
    return skip(message, todo="the rights of a namespace do not cover it") if beyond else unknown(message)
