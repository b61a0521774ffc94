"""What one question to the API server came to: its answer, or why there is none. Pure.

An error is not a "no": only the API server itself can say that an object does not exist.
"""

import json
import re
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final, TypeAlias

from kubectl_kq.text import clean

Json: TypeAlias = dict[str, Any]

_WORDS_MAX_CHARS: Final = 300


class Why(Enum):
    """Why there is no answer."""

    MISSING = "Missing"
    """The API server answers that there is no such object."""
    NO_KIND = "NoKind"
    """The API server does not have this kind of object."""
    FORBIDDEN = "Forbidden"
    """It does not allow the question."""
    SILENT = "NoAnswer"
    """Nothing answered within the deadline, or nothing can be reached."""
    FAILED = "Failed"
    """Any other error."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """An object, or a list of objects, as JSON."""

    value: Json


@dataclass(frozen=True, slots=True, kw_only=True)
class NotRead:
    """Nothing was read. `words` is a clean line: what kubectl or the API server said."""

    why: Why
    words: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran:
    """A command that ended by itself."""

    code: int
    out: str
    err: str


Answer: TypeAlias = Found | NotRead

_KINDS: Final = (
    (
        re.compile(
            r"the server could not find the requested resource|doesn't have a resource type|no matches for kind"
        ),
        Why.NO_KIND,
    ),
    (re.compile(r"\(NotFound\)"), Why.MISSING),
    (re.compile(r"\(Forbidden\)|\(Unauthorized\)|You must be logged in|Please enter Username"), Why.FORBIDDEN),
    (
        re.compile(
            r"deadline exceeded|Client\.Timeout|[Tt]imeout|timed out|Unable to connect|was refused|connection refused"
            r"|no such host|no route to host|connection reset|\bEOF\b"
        ),
        Why.SILENT,
    ),
)
"""What kubectl prints, in the order in which it is compared."""


def refused(ran: Ran) -> NotRead:
    """Why a command failed, by what it printed."""
    said = clean(ran.err or ran.out, max_chars=_WORDS_MAX_CHARS) or f"kubectl ended with code {ran.code}"
    return NotRead(why=next((why for pattern, why in _KINDS if pattern.search(said)), Why.FAILED), words=said)


def answer_of(ran: Ran | NotRead) -> Answer:
    """The JSON object that a command printed; anything else is no answer."""
    if isinstance(ran, NotRead):
        return ran
    if ran.code:
        return refused(ran)
    try:
        value = json.loads(ran.out)
    except (ValueError, RecursionError):
        return NotRead(why=Why.FAILED, words="the answer is no JSON: something else than the API server has answered")
    if not isinstance(value, dict):
        return NotRead(why=Why.FAILED, words="the answer is no object of Kubernetes")
    return Found(value=value)
