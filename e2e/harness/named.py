"""How `doctor` and `explain` must name a failure, and what their answers lack of it. No I/O."""

from dataclasses import dataclass
from typing import Final

from harness.plugin import CRIT, WARN
from harness.shell import Json

_UNKNOWN: Final = "does not know the reason"


@dataclass(frozen=True, slots=True, kw_only=True)
class Named:
    """What stands in the answers about a failure.

    `doctor` has a result of `check` with `level`, in whose object and sentence are all of `says`, and what to do has
    `todo`; it ends with one of `codes`. `explain` has a row of `table` with one of `reasons`, in whose sentence and
    evidence are all of `shows`; a wait has `rule`, if that is not 0, and what unblocks it has `unblocks`. Without
    reasons `explain` has nothing about it, because only objects show it.
    """

    check: str
    level: str = "CRIT"
    says: tuple[str, ...]
    todo: str = ""
    codes: tuple[int, ...] = (CRIT,)
    table: str = "waits"
    reasons: tuple[str, ...] = ()
    shows: tuple[str, ...] = ()
    rule: int = 0
    unblocks: str = ""


HELD: Final = (WARN,)
"""The exit codes if a person must decide, and nothing is broken."""


def doctor_lacks(named: Named, code: int, answer: Json) -> str:
    """What the answer of `doctor` lacks; empty if the failure is named in it."""
    rows = [row for row in answer["checks"] if row["check"] == named.check]
    if not any(_is_result(named, row) for row in rows):
        return f"check {named.check} has no {named.level} that says {named.says}: {rows}"
    return "" if code in named.codes else f"the exit code is {code}, not one of {named.codes}: {_bad(answer)}"


def _is_result(named: Named, row: Json) -> bool:
    said = f"{row['about']} {row['message']}"
    todo = row["todo"] or ""
    has_all = all(word in said for word in named.says)
    return row["level"] == named.level and has_all and named.todo in todo and _UNKNOWN not in todo


def _bad(answer: Json) -> list[Json]:
    return [row for row in answer["checks"] if row["level"] in {"CRIT", "UNKNOWN"}]


def explain_lacks(named: Named, answer: Json) -> str:
    """What the answer of `explain` lacks; empty if the failure is explained in it, or is nothing that it explains."""
    if not named.reasons:
        return ""
    rows = [row for row in answer[named.table] if row["reason"] in named.reasons]
    lacking = [_row_lacks(named, row) for row in rows]
    if "" in lacking:
        return ""
    others = [row["reason"] for row in answer[named.table]]
    return f"{named.table} have none of {named.reasons} that explains it: {lacking or others}"


def _row_lacks(named: Named, row: Json) -> str:
    said = f"{row['message']} {row.get('evidence') or ''}"
    lacking = [word for word in named.shows if word not in said]
    if lacking:
        return f"{row['reason']} does not show {lacking}: {said}"
    if named.rule and not str(row.get("rule") or "").startswith(f"{named.rule}, "):
        return f"{row['reason']} has rule {row.get('rule')}"
    unblocks = row["unblocks"] or ""
    if not unblocks or named.unblocks not in unblocks or _UNKNOWN in unblocks:
        return f"{row['reason']} is unblocked by {unblocks!r}"
    return ""
