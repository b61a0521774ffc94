"""What no status may say: conditions that contradict each other, the rows beside them, or the table's columns. Pure."""

import re
from collections.abc import Callable, Iterator
from typing import Any, Final, TypeAlias

Json: TypeAlias = dict[str, Any]

_WORD: Final = re.compile(r"[A-Z][A-Za-z0-9]*")
_NOT_FOR_PEOPLE: Final = re.compile(
    r"Traceback|object at 0x|<class |[A-Z]\w+Error\(|[\x00-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e]"
)
_VOTES: Final = ("Leader", "Voter")


def contradictions(resource: Json) -> tuple[str, ...]:
    """Each contradiction of a resource's status as one sentence; none where the resource has no status yet."""
    status: Json = resource.get("status") or {}
    if not status.get("conditions"):
        return ()
    conditions = {row["type"]: row for row in status["conditions"]}
    looks: tuple[Callable[[], Iterator[str]], ...] = (
        lambda: _form(resource, status),
        lambda: _between(conditions),
        lambda: _table(conditions),
        lambda: _ready(resource, status, conditions),
        lambda: _rows(status),
    )
    return tuple(said for look in looks for said in look())


def _is(conditions: Json, type_: str, status: str) -> bool:
    return bool(conditions.get(type_, {}).get("status") == status)


def _form(resource: Json, status: Json) -> Iterator[str]:
    """Each condition is one row with a reason and a sentence, and speaks of a generation that exists."""
    rows = status["conditions"]
    types = [row["type"] for row in rows]
    generation = int(resource["metadata"].get("generation", 0))
    if len(types) != len(set(types)):
        yield f"a condition is there twice: {sorted(types)}"
    for row in rows:
        if row["status"] not in ("True", "False", "Unknown"):
            yield f"{row['type']} has the status {row['status']!r}"
        if not _WORD.fullmatch(row.get("reason") or ""):
            yield f"{row['type']} has the reason {row.get('reason')!r}"
        if not row.get("message"):
            yield f"{row['type']} has no message"
        elif found := _NOT_FOR_PEOPLE.search(row["message"]):
            yield f"{row['type']} says {found.group()!r} in its message"
        if int(row.get("observedGeneration") or 0) > generation:
            yield f"{row['type']} speaks of generation {row['observedGeneration']}, and there is only {generation}"


def _between(conditions: Json) -> Iterator[str]:
    """Two conditions at once."""
    ready = _is(conditions, "Ready", "True")
    if ready and not _is(conditions, "Available", "True"):
        yield "Ready=True beside Available that is not True"
    if ready and not _is(conditions, "Degraded", "False"):
        yield f"Ready=True beside Degraded={conditions.get('Degraded', {}).get('status')}"
    if ready and _is(conditions, "SpecAccepted", "False"):
        yield "Ready=True beside SpecAccepted=False"
    if _is(conditions, "FeaturesSettled", "True") and not _is(conditions, "Available", "True"):
        yield "FeaturesSettled=True beside Available that is not True"


def _table(conditions: Json) -> Iterator[str]:
    """The columns READY and DOING of `kubectl get kq`."""
    doing = conditions.get("Progressing", {})
    if doing.get("reason") == "Done" and not _is(conditions, "Ready", "True"):
        yield "DOING is Done beside READY that is not True"
    if doing.get("reason") == "Done" and doing.get("status") == "True":
        yield "Progressing=True with the reason Done"
    if "Ready" not in conditions:
        yield "there is no condition Ready"


def _ready(resource: Json, status: Json, conditions: Json) -> Iterator[str]:
    """What Ready=True promises, held against the other fields of the same status."""
    if not _is(conditions, "Ready", "True"):
        return
    quorum: Json = status.get("quorum") or {}
    if quorum.get("leaderID") is None:
        yield "Ready=True without a leader"
    if quorum.get("healthyVoters") != quorum.get("voters"):
        yield f"Ready=True with {quorum.get('healthyVoters')} of {quorum.get('voters')} voters healthy"
    current = int(conditions["Ready"].get("observedGeneration") or 0) == int(resource["metadata"].get("generation", 0))
    wanted = resource["spec"].get("controllers", {}).get("replicas")
    if current and wanted is not None and quorum.get("voters") != wanted:
        yield f"Ready=True with {quorum.get('voters')} voters where the spec asks for {wanted}"
    for row in status.get("controllers") or ():
        if row.get("role") not in _VOTES or not row.get("caughtUp"):
            yield f"Ready=True with controller {row['nodeID']} as {row.get('role')}, caughtUp={row.get('caughtUp')}"
    if status.get("operation"):
        yield "Ready=True with an open operation"
    if any(row.get("kind") in ("Voter", "ForeignVoter") for row in status.get("staleReplicas") or ()):
        yield "Ready=True with a stale voter"
    if any(row.get("severity") == "Degraded" for row in status.get("waits") or ()):
        yield "Ready=True with a wait of severity Degraded"


def _rows(status: Json) -> Iterator[str]:
    """The rows of the controllers, held against the quorum's."""
    leader = (status.get("quorum") or {}).get("leaderID")
    leading = [row["nodeID"] for row in status.get("controllers") or () if row.get("role") == "Leader"]
    if len(leading) > 1:
        yield f"two controllers are the leader: {leading}"
    if leading and leader is not None and leading != [leader]:
        yield f"controller {leading[0]} is the leader, and quorum.leaderID is {leader}"
