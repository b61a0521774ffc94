"""`logs`: the last lines of every controller's log, side by side. Pure: which commands, and what their output means.

One pod that does not answer, because its Kubernetes node is down, is a row: the others are shown.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from kubectl_kq import reading
from kubectl_kq.answers import Answer, NotRead
from kubectl_kq.page import DONE, UNKNOWN, Cell, Column, Fact, Facts, Page, Table
from kubectl_kq.sources import Look, Source, not_read
from kubectl_kq.text import clean_line

Json: TypeAlias = dict[str, Any]

SOURCES: Final = (Source.PODS,)
CONTAINER: Final = "kafka"
_BYTES_MAX: Final = 4 << 20
_OPERATOR_LINES: Final = 2000


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """Which lines: the last `tail` ones, of the last `since` (such as 15m), of the container before this one."""

    tail: int
    since: str = ""
    previous: bool = False


def commands(look: Look, node_ids: Sequence[int], wanted: Wanted) -> dict[tuple[str, str], list[str]]:
    """Kubectl's arguments for each pod of these controllers (all, if none is named), by controller and pod."""
    found = look.pods("controller") or {}
    chosen = {node_id: own for node_id, own in found.items() if not node_ids or node_id in node_ids}
    return {
        (str(node_id), reading.name(pod)): _command(look.namespace, reading.name(pod), CONTAINER, wanted)
        for node_id, own in sorted(chosen.items())
        for pod in own
    }


def operator_commands(look: Look, wanted: Wanted) -> dict[tuple[str, str], list[str]]:
    """The same for the pods of the operator; more lines are read, because only some are about this quorum."""
    more = Wanted(tail=max(wanted.tail, _OPERATOR_LINES), since=wanted.since, previous=wanted.previous)
    return {
        ("operator", reading.name(pod)): _command(look.operator_namespace, reading.name(pod), "operator", more)
        for pod in look.items(Source.OPERATOR) or ()
    }


def _command(namespace: str, pod: str, container: str, wanted: Wanted) -> list[str]:
    arguments = ["logs", f"--namespace={namespace}", f"--container={container}", f"--tail={wanted.tail}"]
    arguments += [f"--limit-bytes={_BYTES_MAX}", *([f"--since={wanted.since}"] if wanted.since else [])]
    return [*arguments, *(["--previous"] if wanted.previous else []), pod]


def lines_of(printed: str, *, only: str = "", tail: int) -> tuple[str, ...]:
    """The lines of a log without control characters; with `only`, those that have this name; the last `tail`."""
    named = re.compile(rf"(?<![\w-]){re.escape(only)}(?![\w-])")
    found = [clean_line(line) for line in printed.splitlines() if not only or named.search(line)]
    return tuple(found[-tail:])


def logs_page(look: Look, answers: Mapping[tuple[str, str], str | NotRead], *, asked: Iterable[int], tail: int) -> Page:
    """Every line with its controller; what did not answer is named at the end."""
    rows: list[tuple[Cell, ...]] = []
    silent: list[tuple[str, Answer]] = []
    for (whose, pod), answer in answers.items():
        if isinstance(answer, NotRead):
            silent.append((f"log of {pod}", answer))
            continue
        only = f"{look.namespace}/{look.name}" if whose == "operator" else ""
        rows.extend((whose, pod, line) for line in lines_of(answer, only=only, tail=tail))
    sources = ((source.value, look.answer(source)) for source in SOURCES)
    pods = look.pods("controller")
    missing = sorted(set(asked) - set(pods or ()))
    facts = (
        Fact(key="namespace", label="Namespace", value=look.namespace),
        Fact(key="name", label="Quorum", value=look.name),
        *((Fact(key="noPod", label="Without a pod", value=tuple(missing)),) if missing and pods is not None else ()),
    )
    columns = (Column(key="of", label="OF"), Column(key="pod", label="POD"), Column(key="line", label="LINE"))
    lines = Table(key="lines", title="Log", columns=columns, rows=tuple(rows), empty="There are no lines.")
    unread = not_read((*sources, *silent))
    return Page(command="logs", sections=(Facts(facts=facts), lines, unread), code=UNKNOWN if unread.rows else DONE)
