"""`status`: a quorum on one screen, from its status and its pools. Pure."""

from collections.abc import Iterable
from datetime import datetime
from typing import Any, Final, TypeAlias

from kubectl_kq import reading
from kubectl_kq.ages import when
from kubectl_kq.freshness import Looks, freshness
from kubectl_kq.page import DONE, UNKNOWN, Cell, Column, Fact, Facts, Page, Section, Table
from kubectl_kq.quorum import Condition, Quorum, condition_of, quorum_of
from kubectl_kq.sources import Look, Source, is_failure, not_read

Json: TypeAlias = dict[str, Any]

SOURCES: Final = (Source.QUORUM, Source.POOLS)
_ABSENT: Final = frozenset({Source.POOLS.value})


def status_page(look: Look, now: datetime) -> Page:
    """One screen about the quorum of a look, which must have been read."""
    quorum = quorum_of(look.object(Source.QUORUM) or {})
    sections: tuple[Section, ...] = (
        _head(quorum, now),
        waits_table(quorum, now),
        _controllers(quorum),
        conditions_table(quorum.conditions, now),
        _pools(look),
        not_read(((source.value, look.answer(source)) for source in SOURCES), absent=_ABSENT),
    )
    unknown = any(is_failure(source, look.answer(source)) for source in SOURCES)
    return Page(command="status", sections=sections, code=UNKNOWN if unknown else DONE)


def list_page(items: Iterable[Json], namespace: str, now: datetime) -> Page:
    """Every quorum of a namespace in one line."""
    rows: list[tuple[Cell, ...]] = []
    for quorum in map(quorum_of, items):
        ready = quorum.condition("Ready")
        rows.append(
            (
                quorum.name,
                ready.status if ready else None,
                quorum.text("quorum", "summary"),
                reading.text(quorum.item, "spec", "kafka", "version"),
                quorum.doing,
                when(quorum.last_look, now),
                quorum.message if quorum.doing != "Done" else None,
            )
        )
    columns = (
        Column(key="name", label="NAME"),
        Column(key="ready", label="READY"),
        Column(key="voters", label="VOTERS"),
        Column(key="release", label="RELEASE"),
        Column(key="doing", label="DOING"),
        Column(key="lastLook", label="LOOKED"),
        Column(key="message", label="", below=True),
    )
    table = Table(
        key="quorums",
        title=f"Quorums in namespace {namespace}",
        columns=columns,
        rows=tuple(rows),
        empty=f"There is no KafkaQuorum in namespace {namespace}: name another one with -n.",
    )
    facts = Facts(facts=(Fact(key="namespace", label="Namespace", value=namespace),))
    return Page(command="status", sections=(facts, table))


def _head(quorum: Quorum, now: datetime) -> Facts:
    ready, look = quorum.condition("Ready"), freshness(quorum, now)
    facts = [
        Fact(key="namespace", label="Namespace", value=quorum.namespace),
        Fact(key="name", label="Quorum", value=quorum.name),
        Fact(key="ready", label="Ready", value=ready.status if ready else None),
        Fact(key="doing", label="Doing", value=quorum.doing),
        Fact(key="message", label="Message", value=quorum.message),
        Fact(key="lastLook", label="Looked", value=when(quorum.last_look, now)),
    ]
    if look.looks is not Looks.FRESH:
        facts.append(Fact(key="stale", label="Stale", value=look.message))
    if quorum.paused:
        facts.append(Fact(key="paused", label="Paused", value=True))
    if (
        not quorum.is_being_deleted
        and quorum.generation is not None
        and quorum.observed_generation != quorum.generation
    ):
        note = f"the operator has not acted on generation {quorum.generation} of the spec yet"
        facts.append(Fact(key="notYet", label="Not yet", value=note))
    return Facts(facts=(*facts, *_quorum(quorum, now), *_change(quorum)))


def _quorum(quorum: Quorum, now: datetime) -> Iterable[Fact]:
    yield Fact(key="voters", label="Voters", value=quorum.text("quorum", "summary"))
    yield Fact(key="leaderID", label="Leader", value=quorum.number("quorum", "leaderID"))
    yield Fact(key="failureTolerance", label="May fail", value=quorum.number("quorum", "failureTolerance"))
    if (unknown := quorum.text("quorum", "unknownSince")) is not None:
        yield Fact(key="unknownSince", label="No leader", value=when(unknown, now))
    yield Fact(key="release", label="Release", value=reading.text(quorum.item, "spec", "kafka", "version"))
    yield Fact(key="metadataVersion", label="Metadata", value=quorum.text("metadataVersion"))
    yield Fact(key="clusterID", label="Cluster id", value=quorum.text("clusterID"))
    if (ends := quorum.text("certificates", "validUntil")) is not None:
        yield Fact(key="certificatesEnd", label="Cert. end", value=when(ends, now))


def _change(quorum: Quorum) -> Iterable[Fact]:
    """What is under way: an operation, a migration."""
    kind = quorum.text("operation", "type")
    if kind is not None:
        words = (kind, quorum.text("operation", "target"), quorum.text("operation", "step"))
        yield Fact(key="operation", label="Operation", value=" ".join(each for each in words if each))
    if (migration := quorum.text("migration", "kind")) is not None:
        stage, stages = quorum.number("migration", "stage"), quorum.number("migration", "stages")
        name = quorum.text("migration", "name") or "not begun"
        yield Fact(key="migration", label="Migration", value=f"{migration}, stage {stage} of {stages}: {name}")
        yield Fact(key="migrationMissing", label="", value=quorum.text("migration", "missing"))


def waits_table(quorum: Quorum, now: datetime) -> Table:
    """Every wait with its age; `explain` says more about each."""
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (wait.severity, wait.reason, wait.node_ids or None, when(wait.since, now), wait.message)
        for wait in quorum.waits
    )
    return Table(key="waits", title="Waits", columns=WAIT_COLUMNS, rows=rows)


WAIT_COLUMNS: Final = (
    Column(key="severity", label="SEVERITY"),
    Column(key="reason", label="REASON"),
    Column(key="nodeIDs", label="CONTROLLERS"),
    Column(key="since", label="SINCE"),
    Column(key="message", label="", below=True),
)


def _controllers(quorum: Quorum) -> Table:
    rows: list[tuple[Cell, ...]] = [
        (each.node_id, each.role, each.caught_up, each.release, each.pod, each.node, each.reason)
        for each in quorum.controllers
    ]
    for row in quorum.rows("staleReplicas"):
        directory = reading.text(row, "directoryID")
        kind = reading.text(row, "kind")
        rows.append(
            (reading.number(row, "nodeID"), f"Stale{kind}", None, None, None, None, f"directory id {directory}")
        )
    columns = (
        Column(key="nodeID", label="ID"),
        Column(key="role", label="ROLE"),
        Column(key="caughtUp", label="CAUGHT UP"),
        Column(key="release", label="RELEASE"),
        Column(key="pod", label="POD"),
        Column(key="node", label="KUBERNETES NODE"),
        Column(key="reason", label="", below=True),
    )
    return Table(
        key="controllers",
        title="Controllers",
        columns=columns,
        rows=tuple(rows),
        empty="The status lists no controller yet.",
    )


def conditions_table(conditions: Iterable[Condition], now: datetime) -> Table:
    """Conditions in one line each; their sentences are in the message, the waits, and in JSON by `explain`."""
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (each.type, each.status, each.reason, when(each.since, now)) for each in conditions
    )
    columns = (
        Column(key="type", label="TYPE"),
        Column(key="status", label="STATUS"),
        Column(key="reason", label="REASON"),
        Column(key="since", label="SINCE"),
    )
    return Table(
        key="conditions", title="Conditions", columns=columns, rows=rows, empty="The status has no condition yet."
    )


def _pools(look: Look) -> Table:
    rows: list[tuple[Cell, ...]] = []
    for pool in look.pools() or ():
        conditions = [condition_of(row) for row in reading.rows(pool, "status", "conditions")]
        ready = next((each.status for each in conditions if each.type == "Ready"), None)
        doing = reading.text(pool, "status", "doing")
        message = reading.text(pool, "status", "message") if doing != "Done" else None
        summary, release = reading.text(pool, "status", "summary"), reading.text(pool, "status", "release")
        rows.append((reading.name(pool), ready, summary, release, doing, message))
    columns = (
        Column(key="name", label="NAME"),
        Column(key="ready", label="READY"),
        Column(key="brokers", label="BROKERS"),
        Column(key="release", label="RELEASE"),
        Column(key="doing", label="DOING"),
        Column(key="message", label="", below=True),
    )
    return Table(key="pools", title="Broker pools", columns=columns, rows=tuple(rows))
