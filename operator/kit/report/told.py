"""What the passes of every kind tell in the same words: guards' answers, outcomes, an action without effect, news."""

import logging
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final, Protocol, TypeAlias, TypeVar

from kit.report.notice import Notice
from kit.report.report import Draft, Line

NO_EFFECT: Final = "NoEffect"
_TOLD: Final = frozenset({"Degraded", "Held"})
"""The severities of waits that a person should read about."""
Json: TypeAlias = dict[str, Any]
S = TypeVar("S")


class Verdict(Protocol):
    """The answer of a guard."""

    @property
    def rule(self) -> str:
        """The guard's id."""

    @property
    def allowed(self) -> bool:
        """Whether it allows the action."""

    @property
    def reason(self) -> str:
        """Why, as a sentence."""


class Outcome(Protocol):
    """The result of one action. `held`: it was not done now, and nothing is wrong."""

    @property
    def done(self) -> bool:
        """Whether it was done."""

    @property
    def held(self) -> bool:
        """Whether it was postponed."""

    @property
    def message(self) -> str:
        """The action in words."""


O = TypeVar("O", bound=Outcome)  # noqa: E741 - an outcome


def standing(verdicts: Iterable[Verdict]) -> tuple[str, ...]:
    """The answers of the guards, one line each."""
    return tuple(
        f"guard {verdict.rule} {'allows' if verdict.allowed else 'refuses'}: {verdict.reason}" for verdict in verdicts
    )


def lines(outcomes: Iterable[Outcome]) -> tuple[Line, ...]:
    """The outcomes in the log. A failure is a warning; what was postponed is none."""
    return tuple(
        Line(text=one.message, level=logging.INFO if one.done or one.held else logging.WARNING) for one in outcomes
    )


def notices(outcomes: Iterable[O], reason_of: Callable[[O], str]) -> tuple[Notice, ...]:
    """The events of these outcomes, in order. A postponed action is no event; repeated failures are counted."""
    found = []
    for outcome in outcomes:
        if outcome.done:
            found.append(Notice(reason=reason_of(outcome), message=outcome.message))
        elif not outcome.held:
            subject = re.sub(r"\d+(\.\d+)?", "#", outcome.message)
            found.append(Notice(reason="ActionFailed", message=outcome.message, warning=True, subject=subject))
    return tuple(found)


def no_effect(draft: Draft[S], message: str, times: int) -> None:
    """Report that an action was done again and again, and is still to do."""
    note = (
        f"The same action is needed again and again: {message}. Another program may undo it, or the API server may "
        "store another value. The operator repeats it with growing pauses"
    )
    draft.lines += (Line(text=f"{note} (done {times} times)", level=logging.WARNING),)
    draft.notices += (Notice(reason=NO_EFFECT, message=note, warning=True),)


def news(old: Json, new: Json) -> tuple[Notice, ...]:
    """The notices of a new status: what a person must read begins to be waited for, or a spec is refused.

    Both are whole statuses, and the notices have the order of the new one; `old` may be empty, or not ours.
    """
    return (*_begun(old, new), *_refusals(old, new))


def _begun(old: Json, new: Json) -> Iterator[Notice]:
    before = {str(row.get("reason")) for row in old.get("waits") or () if isinstance(row, dict)}
    for row in new.get("waits") or ():
        if row["severity"] in _TOLD and row["reason"] not in before:
            warning = row["reason"] != "Paused"
            yield Notice(reason=row["reason"], message=row["message"], warning=warning, subject=row["reason"])


def _refusals(old: Json, new: Json) -> Iterator[Notice]:
    was, now = _by_type(old).get("SpecAccepted", {}), _by_type(new).get("SpecAccepted", {})
    if now.get("status") == "False" and now.get("message") != was.get("message"):
        yield Notice(reason=now["reason"], message=now["message"], warning=True)


def _by_type(status: Json) -> dict[str, Json]:
    return {str(row.get("type")): row for row in status.get("conditions") or () if isinstance(row, dict)}
