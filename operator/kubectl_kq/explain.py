"""`explain`: for everything that is waited for, the rule, the evidence, and what unblocks it. Pure.

All of it comes from the status: the operator's own sentence, and the rows of the controllers that a wait names. What
unblocks it is what the documentation says about its reason.
"""

from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Any, Final, TypeAlias

from kubectl_kq import reading, rules
from kubectl_kq.ages import when
from kubectl_kq.freshness import Looks, freshness
from kubectl_kq.page import DONE, UNKNOWN, Cell, Column, Fact, Facts, Page, Section, Table
from kubectl_kq.quorum import Condition, Controller, Quorum, Wait, quorum_of
from kubectl_kq.sources import Look, Source, is_failure, not_read

Json: TypeAlias = dict[str, Any]

SOURCES: Final = (Source.QUORUM, Source.POOLS)
_ABSENT: Final = frozenset({Source.POOLS.value})
_GOOD: Final = {"Degraded": "False"}
"""The status of a condition that needs no explanation, if it is not True."""
_DOCUMENTED: Final = "docs/operations.md has more about it"


def explain_page(look: Look, now: datetime, more: tuple[Section, ...] = ()) -> Page:
    """Everything that the quorum of a look waits for; `more` is what the operator's planner says."""
    quorum = quorum_of(look.object(Source.QUORUM) or {})
    sections: tuple[Section, ...] = (
        _head(quorum, now),
        _waits(quorum, now),
        _conditions(quorum, now),
        _features(quorum),
        _brokers(quorum),
        _pools(look.pools() or (), now),
        *more,
        not_read(((source.value, look.answer(source)) for source in SOURCES), absent=_ABSENT),
    )
    unknown = any(is_failure(source, look.answer(source)) for source in SOURCES)
    return Page(command="explain", sections=sections, code=UNKNOWN if unknown else DONE)


def _head(quorum: Quorum, now: datetime) -> Facts:
    look = freshness(quorum, now)
    facts = (
        Fact(key="namespace", label="Namespace", value=quorum.namespace),
        Fact(key="name", label="Quorum", value=quorum.name),
        Fact(key="doing", label="Doing", value=quorum.doing),
        Fact(key="message", label="Message", value=quorum.message),
        Fact(key="lastLook", label="Looked", value=when(quorum.last_look, now)),
    )
    stale = () if look.looks is Looks.FRESH else (Fact(key="stale", label="Stale", value=look.message),)
    return Facts(facts=(*facts, *stale))


_WAITS: Final = (
    Column(key="severity", label="SEVERITY"),
    Column(key="reason", label="REASON"),
    Column(key="nodeIDs", label="CONTROLLERS"),
    Column(key="since", label="SINCE"),
    Column(key="message", label="", below=True),
    Column(key="rule", label="Rule", below=True),
    Column(key="evidence", label="Evidence", below=True),
    Column(key="unblocks", label="What unblocks it", below=True),
)


def _waits(quorum: Quorum, now: datetime) -> Table:
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (
            wait.severity,
            wait.reason,
            wait.node_ids or None,
            when(wait.since, now),
            wait.message,
            rules.rule(rules.QUORUM, wait.reason),
            "; ".join(_evidence(quorum, wait)) or None,
            unblocks(rules.QUORUM, wait.reason),
        )
        for wait in quorum.waits
    )
    return Table(key="waits", title="Waits", columns=_WAITS, rows=rows, empty="The quorum waits for nothing.")


def unblocks(kind: str, reason: str) -> str:
    """What to do about a reason."""
    found = rules.advice(kind, reason)
    if found is None:
        return "this version of the plugin does not know the reason: do what the message says"
    return found.todo or _DOCUMENTED


def _evidence(quorum: Quorum, wait: Wait) -> Iterator[str]:
    """What the status says of the controllers of a wait, and of the quorum if it is about voters."""
    for node_id in wait.node_ids:
        row = quorum.controller(node_id)
        yield (
            f"controller {node_id}: {_seen(row)}" if row is not None else f"controller {node_id}: no row in the status"
        )
    if rules.RULE_OF[rules.QUORUM].get(wait.reason) in {2, 3, 4, 5}:
        yield from _voters(quorum)


def _seen(row: Controller) -> str:
    known = {True: "caught up", False: "not caught up", None: "not known whether it is caught up"}
    words = [row.role or "role not known", known[row.caught_up]]
    words.append(f"pod {row.pod}" if row.pod else "no pod")
    if row.node:
        words.append(f"on Kubernetes node {row.node}")
    return ", ".join(words)


def _voters(quorum: Quorum) -> Iterator[str]:
    summary, leader = quorum.text("quorum", "summary"), quorum.number("quorum", "leaderID")
    if summary is not None:
        yield f"voters {summary}, " + (f"leader {leader}" if leader is not None else "no leader answers")
    lag = [str(each.node_id) for each in quorum.controllers if each.role in {"Voter", "Leader"} and not each.caught_up]
    if lag:
        yield f"voters that are not caught up: {', '.join(lag)}"


def _conditions(quorum: Quorum, now: datetime) -> Table:
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (each.type, each.status, each.reason, when(each.since, now), each.message, unblocks(rules.QUORUM, each.reason))
        for each in quorum.conditions
        if _needs_words(each)
    )
    columns = (
        Column(key="type", label="CONDITION"),
        Column(key="status", label="STATUS"),
        Column(key="reason", label="REASON"),
        Column(key="since", label="SINCE"),
        Column(key="message", label="", below=True),
        Column(key="unblocks", label="What unblocks it", below=True),
    )
    return Table(key="conditions", title="Conditions that are not well", columns=columns, rows=rows)


def _needs_words(condition: Condition) -> bool:
    informs = condition.type == "OddVoterCount" or (condition.type == "Progressing" and condition.reason == "Done")
    return not informs and condition.status != _GOOD.get(condition.type, "True")


def _features(quorum: Quorum) -> Table:
    rows: list[tuple[Cell, ...]] = [
        (
            reading.text(row, "name"),
            reading.number(row, "finalized"),
            reading.number(row, "wanted"),
            reading.text(row, "blockedBy"),
        )
        for row in quorum.rows("features")
        if reading.number(row, "wanted") is not None or reading.text(row, "blockedBy") is not None
    ]
    columns = (
        Column(key="name", label="FEATURE"),
        Column(key="finalized", label="LEVEL"),
        Column(key="wanted", label="REQUESTED"),
        Column(key="blockedBy", label="Against it", below=True),
    )
    return Table(key="features", title="Feature levels", columns=columns, rows=tuple(rows))


def _brokers(quorum: Quorum) -> Table:
    """Brokers for which steps of the quorum wait: those that do not follow the contract, or are not known to."""
    rows: list[tuple[Cell, ...]] = [
        (
            reading.number(row, "nodeID"),
            reading.text(row, "release"),
            reading.text(row, "conforms"),
            reading.text(row, "reason"),
        )
        for row in quorum.rows("brokers")
        if reading.text(row, "conforms") != "True"
    ]
    columns = (
        Column(key="nodeID", label="BROKER"),
        Column(key="release", label="RELEASE"),
        Column(key="conforms", label="FOLLOWS THE CONTRACT"),
        Column(key="reason", label="", below=True),
    )
    return Table(key="brokers", title="Brokers that do not follow the contract", columns=columns, rows=tuple(rows))


def _pools(pools: Iterable[Json], now: datetime) -> Table:
    rows: list[tuple[Cell, ...]] = []
    for pool in pools:
        for wait in reading.rows(pool, "status", "waits"):
            reason = reading.text(wait, "reason") or reading.UNREADABLE
            ids = reading.numbers(wait, "nodeIDs")
            one = reading.number(wait, "nodeID")
            rows.append(
                (
                    reading.name(pool),
                    reading.text(wait, "severity"),
                    reason,
                    ids or ((one,) if one is not None else None),
                    when(reading.text(wait, "since"), now),
                    reading.text(wait, "message"),
                    rules.rule(rules.POOL, reason),
                    unblocks(rules.POOL, reason),
                )
            )
    columns = (
        Column(key="pool", label="POOL"),
        Column(key="severity", label="SEVERITY"),
        Column(key="reason", label="REASON"),
        Column(key="nodeIDs", label="BROKERS"),
        Column(key="since", label="SINCE"),
        Column(key="message", label="", below=True),
        Column(key="rule", label="Rule", below=True),
        Column(key="unblocks", label="What unblocks it", below=True),
    )
    return Table(key="poolWaits", title="Waits of broker pools", columns=columns, rows=tuple(rows))
