"""`explain`: for everything that is waited for, the rule, the evidence, and what unblocks it. Pure.

All of it comes from the status: the operator's own sentence, and the `evidence` that the status has. What unblocks it
is what the documentation says about its reason.
"""

from collections.abc import Iterable
from datetime import datetime
from typing import Any, Final, TypeAlias

from kubectl_kq import reading, rules
from kubectl_kq.ages import when
from kubectl_kq.evidence import evidence
from kubectl_kq.freshness import Looks, freshness
from kubectl_kq.page import DONE, UNKNOWN, Cell, Column, Fact, Facts, Page, Section, Table
from kubectl_kq.quorum import Condition, Quorum, condition_of, quorum_of
from kubectl_kq.sources import Look, Source, is_failure, not_read

Json: TypeAlias = dict[str, Any]

SOURCES: Final = (Source.QUORUM, Source.POOLS)
_ABSENT: Final = frozenset({Source.POOLS.value})
_GOOD: Final = {"Degraded": "False"}
"""The status of a condition that needs no explanation, if it is not True."""


def explain_page(look: Look, now: datetime, more: tuple[Section, ...] = ()) -> Page:
    """Everything that the quorum of a look waits for; `more` is what the operator's planner says."""
    quorum = quorum_of(look.object(Source.QUORUM) or {})
    sections: tuple[Section, ...] = (
        _head(quorum, now),
        _waits(quorum, now),
        _conditions(quorum, now),
        _features(quorum),
        _blockers(quorum),
        _brokers(quorum),
        _pools(look.pools() or (), now),
        _pool_conditions(look.pools() or (), now),
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
            "; ".join(evidence(quorum, wait)) or None,
            rules.unblocks(rules.QUORUM, wait.reason),
        )
        for wait in quorum.waits
    )
    return Table(key="waits", title="Waits", columns=_WAITS, rows=rows, empty="The quorum waits for nothing.")


def _conditions(quorum: Quorum, now: datetime) -> Table:
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (each.type, each.status, each.reason, when(each.since, now), each.message, rules.mends(each.type, each.reason))
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


def _blockers(quorum: Quorum) -> Table:
    """What is in the way of a migration from ZooKeeper, each with its way out."""
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (each.code, each.about, not each.unknown, each.found, each.way_out) for each in quorum.blockers()
    )
    columns = (
        Column(key="code", label="CODE"),
        Column(key="object", label="ABOUT"),
        Column(key="known", label="KNOWN"),
        Column(key="found", label="", below=True),
        Column(key="unblocks", label="What unblocks it", below=True),
    )
    return Table(key="preflight", title="In the way of the migration from ZooKeeper", columns=columns, rows=rows)


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
                    rules.unblocks(rules.POOL, reason),
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


def _pool_conditions(pools: Iterable[Json], now: datetime) -> Table:
    """Conditions of pools that no wait explains: partitions without a leader, a spec with faults."""
    rows: list[tuple[Cell, ...]] = []
    for pool in pools:
        waits = {reading.text(wait, "reason") for wait in reading.rows(pool, "status", "waits")}
        for each in map(condition_of, reading.rows(pool, "status", "conditions")):
            if _needs_words(each) and each.reason not in waits:
                advice = rules.unblocks(rules.POOL, each.reason)
                where = (reading.name(pool), each.type, each.status, each.reason, when(each.since, now))
                rows.append((*where, each.message, advice))
    columns = (
        Column(key="pool", label="POOL"),
        Column(key="type", label="CONDITION"),
        Column(key="status", label="STATUS"),
        Column(key="reason", label="REASON"),
        Column(key="since", label="SINCE"),
        Column(key="message", label="", below=True),
        Column(key="unblocks", label="What unblocks it", below=True),
    )
    return Table(
        key="poolConditions", title="Conditions of broker pools that are not well", columns=columns, rows=tuple(rows)
    )
