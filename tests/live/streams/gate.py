"""What an operator would wait for between two instances, and how a failure is recognised.

STABLE alone proves nothing: a stopped member stays in the group until its session ends, and an old client can be a
member without processing anything. So a gate asks for member ids and for committed offsets that advance.
"""

import re
import time
from dataclasses import dataclass
from typing import Final

from tests.live.streams.application import PARTITIONS, Application, Instance

GATE_S: Final = 45.0
_HELD_S: Final = 1.0
_LAG: Final = 500
_PAUSE_S: Final = 0.1
_ERROR: Final = re.compile(r"(?:^|\s)((?:[a-z]\w*\.)+[A-Z]\w*(?:Exception|Error)\b.*)")
_TELLING: Final = re.compile(r"ecode|ersion|pgrade|onsistent|protocol|olumn famil|RocksDB|upported|onfig")
_NOT_A_DEATH: Final = re.compile(r"DisconnectException|RetriableException|WakeupException|^\s+at ")


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """The instances that died, with their releases, and the first telling line of one of them."""

    reason: str
    died: tuple[str, ...]


class GateFailedError(Exception):
    """A gate was not passed."""

    def __init__(self, failure: Failure) -> None:
        """The failure."""
        super().__init__(failure.reason)
        self.failure = failure


def deaths(application: Application) -> Failure | None:
    """The instances that do not work any more, of all: in a failed upgrade it is often the old ones that die."""
    dead = [each for each in application.instances if each.dead() is not None]
    if not dead:
        return None
    died = tuple(f"{each.name} ({each.release.version})" for each in dead if each.release is not None)
    lines = [line for each in dead if (line := telling_line(each.run_log())) is not None]
    reason = lines[0] if lines else str(dead[0].dead())
    return Failure(reason=reason, died=died)


def telling_line(log: str) -> str | None:
    """The first exception of a log that says something about versions, or else the first one."""
    errors = [
        found.group(1) for line in log.splitlines() if not _NOT_A_DEATH.search(line) and (found := _ERROR.search(line))
    ]
    telling = [each for each in errors if _TELLING.search(each)]
    chosen = (telling or errors or [None])[0]
    return None if chosen is None else _short(chosen)


def _short(line: str) -> str:
    """Without what differs between runs."""
    line = re.sub(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f-]{22,}", "UUID", line)
    line = re.sub(r"/\S*/(app-\d)", r"\1", line)
    line = re.sub(r"\bcase-\d+\b", "case", line)
    return line.strip()[:300]


def pass_gate(application: Application, expected: int, replaced: Instance | None, old_ids: set[str]) -> float:
    """Waits until the group works with `expected` members; how long that took (GateFailedError).

    Asks that no instance is dead, that the ids `old_ids` are gone, that `replaced` has a new one, that the group is
    STABLE with `expected` members for a second, and that every partition's committed offset advances.
    """
    began_s = time.monotonic()
    assert application.offsets is not None
    before = application.offsets.committed()
    held_since_s: float | None = None
    missing = "nothing was seen"
    while time.monotonic() - began_s < GATE_S:
        if (failure := deaths(application)) is not None:
            raise GateFailedError(_settled(application, failure))
        missing = _missing(application, expected, replaced, old_ids)
        if missing:
            held_since_s = None
        else:
            held_since_s = held_since_s or time.monotonic()
            now = application.offsets.committed()
            lag = sum(application.offsets.ends()) - sum(now)
            advanced = [index for index in range(PARTITIONS) if now[index] > before[index]]
            if len(advanced) == PARTITIONS and lag < _LAG and time.monotonic() - held_since_s >= _HELD_S:
                return time.monotonic() - began_s
            missing = f"STABLE, committed offsets advance in partitions {advanced} only, lag {lag}"
        time.sleep(_PAUSE_S)
    raise GateFailedError(Failure(reason=f"the gate is not passed within {GATE_S:g} s: {missing}", died=()))


def _settled(application: Application, failure: Failure) -> Failure:
    """The failure after some seconds, when all that die of it are dead."""
    end_s = time.monotonic() + 3.0
    while time.monotonic() < end_s:
        time.sleep(_PAUSE_S)
        failure = deaths(application) or failure
    return failure


def _missing(application: Application, expected: int, replaced: Instance | None, old_ids: set[str]) -> str:
    """What the group still lacks; empty if nothing."""
    group = application.group()
    ids = {each.member_id for each in group.members}
    if group.state.upper() != "STABLE":
        return f"the group is {group.state} with {len(ids)} members"
    if ids & old_ids:
        return "the stopped instance is still a member"
    if len(ids) != expected:
        return f"the group has {len(ids)} members, not {expected}"
    if replaced is not None and not members_of(application, replaced):
        return f"{replaced.name} is not a member"
    return ""


def members_of(application: Application, instance: Instance) -> set[str]:
    """The member ids of an instance: each begins with the client id of a stream thread."""
    group = application.group()
    return {each.member_id for each in group.members if each.client_id.startswith(f"{instance.name}-")}
