"""`history`: what happened to a quorum, in order, from everything that keeps a time. Pure.

Kubernetes keeps events for about an hour. Claims, revisions, pods and conditions keep their last change for longer. The
identity record keeps, without times, which controllers and disks there were. Observations, if they are given as files,
go back as far as they are kept.
"""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, TypeAlias

from kubectl_kq import reading
from kubectl_kq.ages import instant, when
from kubectl_kq.page import DONE, UNKNOWN, Cell, Column, Fact, Facts, Page, Section, Table
from kubectl_kq.quorum import quorum_of
from kubectl_kq.record import record_of
from kubectl_kq.sources import GROUP, Look, Source, is_failure, not_read

Json: TypeAlias = dict[str, Any]

SOURCES: Final = (Source.QUORUM, Source.RECORD, Source.EVENTS, Source.CLAIMS, Source.REVISIONS, Source.PODS)
_NO_LEADER: Final = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class Happened:
    """One entry. `stamp` is its time as the source has it, `source` where it is from."""

    stamp: str
    source: str
    what: str
    message: str


def history_page(
    look: Look, now: datetime, *, observed: Iterable[str] = (), since_s: float | None = None, limit: int = 200
) -> Page:
    """The story of a quorum, the newest entry last.

    `observed` are lines of observations (JSON), `since_s` leaves out what is older (seconds), `limit` is how many
    entries are shown at most: the newest ones.
    """
    entries = [*_from_objects(look), *from_observations(observed, look.namespace, look.name)]
    dated = [(at, each) for each in entries if (at := instant(each.stamp)) is not None]
    if since_s is not None:
        dated = [(at, each) for at, each in dated if (now - at).total_seconds() <= since_s]
    dated.sort(key=lambda pair: (pair[0], pair[1].source, pair[1].what, pair[1].message))
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (when(each.stamp, now), each.source, each.what, each.message) for _, each in dated[-limit:]
    )
    columns = (
        Column(key="at", label="WHEN"),
        Column(key="source", label="FROM"),
        Column(key="what", label="WHAT"),
        Column(key="message", label="", below=True),
    )
    left_out = max(0, len(dated) - limit)
    facts = (
        Fact(key="namespace", label="Namespace", value=look.namespace),
        Fact(key="name", label="Quorum", value=look.name),
        *((Fact(key="leftOut", label="Left out", value=left_out),) if left_out else ()),
    )
    sections: tuple[Section, ...] = (
        Facts(facts=facts),
        *_record(look),
        Table(key="history", title="History", columns=columns, rows=rows, empty="Nothing is known of this time."),
        not_read((source.value, look.answer(source)) for source in SOURCES),
    )
    unknown = any(is_failure(source, look.answer(source)) for source in SOURCES)
    return Page(command="history", sections=sections, code=UNKNOWN if unknown else DONE)


def _record(look: Look) -> Iterator[Section]:
    """The identity record: which controllers and disks there are and were."""
    record = record_of(look.object(Source.RECORD) or {})
    if record is None:
        return
    facts = (
        Fact(key="clusterID", label="Cluster id", value=record.cluster_id),
        Fact(key="phase", label="Phase", value=record.phase),
        Fact(key="formerNodeIDs", label="Removed ids", value=record.former or None),
        *_journal(record.body),
    )
    yield Facts(key="identity", title="Identity record", facts=facts)
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (node.node_id, node.generation, node.directory_id, node.retired, node.formatted) for node in record.nodes
    )
    columns = (
        Column(key="nodeID", label="ID"),
        Column(key="claims", label="CLAIMS SO FAR"),
        Column(key="directoryID", label="DIRECTORY ID"),
        Column(key="retired", label="DISKS GIVEN UP"),
        Column(key="formatted", label="FORMATTED"),
    )
    yield Table(key="disks", title="Disks", columns=columns, rows=rows)


def _journal(body: Json) -> Iterator[Fact]:
    """The recovery that is open, as the record notes each of its steps, or the number of the last one."""
    epoch, journal = reading.number(body, "recovery_epoch"), reading.at(body, "recovery")
    if epoch:
        yield Fact(key="recoveryEpoch", label="Recoveries", value=epoch)
    if isinstance(journal, dict):
        words = (reading.text(journal, "stage"), f"plan {reading.text(journal, 'plan')}")
        yield Fact(key="recovery", label="Open recovery", value=", ".join(each for each in words if each))


def _from_objects(look: Look) -> Iterator[Happened]:
    yield from _from_quorum(look.object(Source.QUORUM) or {})
    for event in look.items(Source.EVENTS) or ():
        yield from _event(event)
    for claim in look.items(Source.CLAIMS) or ():
        given_up = reading.texts(claim, "metadata", "annotations").get(f"{GROUP}/bootstrap-phase") == "Retired"
        words = "; it was given up since" if given_up else ""
        yield from _made(claim, "claim", "ClaimCreated", f"claim {reading.name(claim)} was created{words}")
        if (stamp := reading.text(claim, "metadata", "deletionTimestamp")) is not None:
            yield Happened(stamp=stamp, source="claim", what="ClaimDeleted", message=f"claim {reading.name(claim)}")
    for revision in look.items(Source.REVISIONS) or ():
        number = reading.number(revision, "revision")
        words = f"revision {number} of the spec was stored as {reading.name(revision)}"
        yield from _made(revision, "revision", "RevisionCreated", words)
    for pod in look.items(Source.PODS) or ():
        yield from _made(pod, "pod", "PodCreated", f"pod {reading.name(pod)} was created")
        for row in reading.rows(pod, "status", "containerStatuses"):
            ended = reading.at(row, "lastState", "terminated")
            if (stamp := reading.text(ended, "finishedAt")) is not None:
                why, code = reading.text(ended, "reason"), reading.number(ended, "exitCode")
                words = f"pod {reading.name(pod)}, container {reading.text(row, 'name')}: {why}, exit code {code}"
                yield Happened(stamp=stamp, source="pod", what="ContainerEnded", message=words)


def _from_quorum(item: Json) -> Iterator[Happened]:
    quorum = quorum_of(item)
    if item:
        yield from _made(item, "resource", "Created", f"KafkaQuorum {quorum.name} was created")
    for each in quorum.conditions:
        if each.since is not None:
            words = f"{each.type} is {each.status} since then ({each.reason}): {each.message}"
            yield Happened(stamp=each.since, source="condition", what=each.type, message=words)
    for wait in quorum.waits:
        if wait.since is not None:
            yield Happened(stamp=wait.since, source="wait", what=wait.reason, message=wait.message)
    if (stamp := quorum.text("operation", "startedAt")) is not None:
        kind, target = quorum.text("operation", "type"), quorum.text("operation", "target")
        yield Happened(stamp=stamp, source="operation", what=kind or "", message=f"{kind} of {target} began")


def _event(event: Json) -> Iterator[Happened]:
    series, last = reading.at(event, "series"), reading.text(event, "lastTimestamp")
    stamp = reading.text(series, "lastObservedTime") or last or reading.text(event, "eventTime")
    count = reading.number(series, "count") or reading.number(event, "count") or 1
    message = reading.text(event, "message") or ""
    if stamp is not None:
        times = f" ({count} times)" if count > 1 else ""
        source = "Warning" if reading.text(event, "type") == "Warning" else "event"
        what = reading.text(event, "reason") or ""
        yield Happened(stamp=stamp, source=source, what=what, message=f"{message}{times}")


def _made(item: Json, source: str, what: str, message: str) -> Iterator[Happened]:
    if (stamp := reading.text(item, "metadata", "creationTimestamp")) is not None:
        yield Happened(stamp=stamp, source=source, what=what, message=message)


def from_observations(lines: Iterable[str], namespace: str, name: str) -> Iterator[Happened]:
    """What changed between two observations of this quorum: leader, voters, levels. Other lines are ignored."""
    found = [row for line in lines if (row := _line(line)) is not None]
    own = [row for row in found if row.get("namespace") == namespace and row.get("name") == name]
    before: dict[str, str] = {}
    for row in sorted(own, key=lambda each: reading.text(each, "observedAt") or ""):
        stamp = reading.text(row, "observedAt") or ""
        present = dict(_facts(row))
        for what, words in present.items():
            if before.get(what) != words:
                yield Happened(stamp=stamp, source="observation", what=what, message=words)
        before |= present


def _line(line: str) -> Json | None:
    try:
        row = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return row if isinstance(row, dict) else None


def _facts(row: Json) -> Iterator[tuple[str, str]]:
    quorum = reading.at(row, "quorum")
    if not isinstance(quorum, dict):
        yield "Leader", f"not known: {reading.text(row, 'unknownReason')}"
        return
    leader, epoch = reading.number(quorum, "leaderID"), reading.number(quorum, "leaderEpoch")
    yield "Leader", "no controller leads" if leader == _NO_LEADER else f"controller {leader} leads, epoch {epoch}"
    voters = reading.rows(quorum, "voters")
    if voters:
        keys = (f"{reading.number(each, 'nodeID')}-{reading.text(each, 'directoryID') or '?'}" for each in voters)
        yield "Voters", ", ".join(keys)
        silent = [str(reading.number(each, "nodeID")) for each in voters if reading.flag(each, "live") is False]
        yield "Live", f"voters that do not fetch: {', '.join(silent)}" if silent else "every voter fetches"
    levels = (
        f"{reading.text(each, 'name')} {reading.number(each, 'finalized')}" for each in reading.rows(row, "features")
    )
    if words := ", ".join(levels):
        yield "Levels", words
