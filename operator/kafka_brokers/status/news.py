"""Which parts of a new status need an event: what a person must read begins to be waited for, or a spec is refused."""

from collections.abc import Iterator
from typing import Any, Final, TypeAlias

from kit.report.notice import Notice

Json: TypeAlias = dict[str, Any]

_TOLD: Final = frozenset({"Degraded", "Held"})


def news(old: Json, new: Json) -> tuple[Notice, ...]:
    """The notices, in the order of the status. Both are whole statuses; `old` may be empty, or not ours."""
    return (*_waits(old, new), *_conditions(old, new))


def _waits(old: Json, new: Json) -> Iterator[Notice]:
    before = {str(row.get("reason")) for row in old.get("waits") or () if isinstance(row, dict)}
    for row in new.get("waits") or ():
        if row["severity"] in _TOLD and row["reason"] not in before:
            warning = row["reason"] != "Paused"
            yield Notice(reason=row["reason"], message=row["message"], warning=warning, subject=row["reason"])


def _conditions(old: Json, new: Json) -> Iterator[Notice]:
    was, now = _by_type(old).get("SpecAccepted", {}), _by_type(new).get("SpecAccepted", {})
    if now.get("status") == "False" and now.get("message") != was.get("message"):
        yield Notice(reason=now["reason"], message=now["message"], warning=True)


def _by_type(status: Json) -> dict[str, Json]:
    return {str(row.get("type")): row for row in status.get("conditions") or () if isinstance(row, dict)}
