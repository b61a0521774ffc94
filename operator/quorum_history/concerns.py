"""What a person should look at, from the tables: by severity, and never fine if nothing is known."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import IntEnum
from math import floor
from typing import Any

Row = Mapping[str, Any]
Tables = Mapping[str, Sequence[Row]]

LOW_AVAILABILITY = 0.999
MUCH_UNKNOWN = 0.01
LOG_TABLES = ("voter_sets", "leaders", "feature_levels")
"""The tables of which at least one has rows for every metadata log."""
STALE = timedelta(hours=1)
"""Observations come once a minute. An older one does not show the present state."""
MANY_CHANGES_PER_HOUR = 1.0
MANY_CHANGES = 3
LARGE_LAG_RECORDS = 1000
GROWN_LAG_RECORDS = 100
"""A lag has grown if it grows from day to day, has doubled, and is larger by this."""
GROWTH_DAYS = 7
"""Fewer known days show no growth."""
MANY_REPLACEMENTS = 3
"""More voters than this that got another disk in a month are unusual."""


class Severity(IntEnum):
    """The most severe first."""

    CRITICAL = 0
    WARNING = 1
    UNKNOWN = 2
    NOTICE = 3


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Concern:
    """One sentence about one quorum, or about a cluster whose quorum has no name here."""

    severity: Severity
    subject: str
    text: str

    def __str__(self) -> str:
        """For people."""
        return f"{self.subject} {self.text}"


def quorum_name(row: Row) -> str:
    """Namespace and name of a quorum."""
    return f"{row['namespace']}/{row['name']}"


def concerns(tables: Tables, now: datetime) -> list[Concern]:
    """All concerns, the most severe first."""
    found = [
        *_outages(tables),
        *_availability(tables),
        *_budgets(tables),
        *_unknown(tables, now),
        *_voters(tables),
        *_drifts(tables),
        *_changes(tables),
        *_churn(tables),
        *_readiness(tables),
        *_files(tables),
    ]
    return sorted(found)


def _outages(tables: Tables) -> Iterator[Concern]:
    for row in tables.get("recoveries", ()):
        if row["until"] is None:
            text = f"has been unavailable since {moment(row['since'])}"
            yield Concern(severity=Severity.CRITICAL, subject=quorum_name(row), text=text)


def _availability(tables: Tables) -> Iterator[Concern]:
    for row in tables.get("availability", ()):
        if row["availability"] is not None and row["availability"] < LOW_AVAILABILITY:
            text = f"was available for {percent(row['availability'])}% of the known time of {row['day']}"
            yield Concern(severity=Severity.WARNING, subject=quorum_name(row), text=text)


def _budgets(tables: Tables) -> Iterator[Concern]:
    for row in tables.get("service_levels", ()):
        if row["budget_spent"] is not None and row["budget_spent"] > 1:
            of = f"{row['month']:%Y-%m} ({row['objective']:.1%})"
            text = f"spent {row['budget_spent']:.1f} times its error budget of {of}"
            yield Concern(severity=Severity.WARNING, subject=quorum_name(row), text=text)


def _unknown(tables: Tables, now: datetime) -> Iterator[Concern]:
    """Quorums that were not looked at, or that did not answer."""
    for row in tables.get("last_looks", ()):
        if now - row["last_look"] > STALE:
            text = f"has not been looked at since {moment(row['last_look'])}: how it is now is unknown"
            yield Concern(severity=Severity.UNKNOWN, subject=quorum_name(row), text=text)
        elif row["last_known"] is None or row["last_look"] - row["last_known"] > timedelta(0):
            since = f"since {moment(row['last_known'])}" if row["last_known"] else "in any look"
            reason = f" ({row['unknown_reason']})" if row["unknown_reason"] else ""
            text = f"has not said how it is {since}{reason}"
            yield Concern(severity=Severity.UNKNOWN, subject=quorum_name(row), text=text)
    for name, (unknown_s, all_s) in _shares(tables.get("availability", ())).items():
        if all_s > 0 and unknown_s / all_s > MUCH_UNKNOWN:
            text = f"is unknown for {unknown_s / all_s:.1%} of the time that was observed"
            yield Concern(severity=Severity.UNKNOWN, subject=name, text=text)


def _shares(days: Sequence[Row]) -> dict[str, tuple[float, float]]:
    shares: dict[str, tuple[float, float]] = {}
    for row in days:
        unknown_s, all_s = shares.get(quorum_name(row), (0.0, 0.0))
        day_s = row["available_s"] + row["unavailable_s"] + row["unknown_s"]
        shares[quorum_name(row)] = (unknown_s + row["unknown_s"], all_s + day_s)
    return shares


def _voters(tables: Tables) -> Iterator[Concern]:
    for row in tables.get("stale_voters", ()):
        text = (
            f"has a voter, {row['node_id']} ({row['directory_id']}), that has not been live for {row['stale_s']:.0f} s"
        )
        yield Concern(severity=Severity.WARNING, subject=quorum_name(row), text=text)
    for row in tables.get("lag_percentiles", ()):
        if row["p95_lag_records"] > LARGE_LAG_RECORDS:
            role = "an observer" if row["role"] == "observer" else f"a {row['role']}"
            text = f"has {role}, {row['node_id']}, with a lag of {row['p95_lag_records']:,} records (95 %)"
            yield Concern(severity=Severity.WARNING, subject=quorum_name(row), text=text)


def _drifts(tables: Tables) -> Iterator[Concern]:
    """Replicas whose lag grows."""
    for row in tables.get("lag_drift", ()):
        if row["known_days"] < GROWTH_DAYS or row["slope_records_per_day"] <= 0:
            continue
        first, last = row["first_p95_lag_records"], row["last_p95_lag_records"]
        if last - first >= GROWN_LAG_RECORDS and last >= 2 * first:
            role = "an observer" if row["role"] == "observer" else f"a {row['role']}"
            text = (
                f"has {role}, {row['node_id']}, whose lag grows: from {first:,.0f} to {last:,.0f} records (95 %) in"
                f" {row['known_days']} known days"
            )
            yield Concern(severity=Severity.WARNING, subject=quorum_name(row), text=text)


def _churn(tables: Tables) -> Iterator[Concern]:
    names = names_of(tables)
    for row in tables.get("voter_churn", ()):
        if row["replaced"] > MANY_REPLACEMENTS:
            text = f"replaced the disks of voters {row['replaced']} times in {row['month']:%Y-%m}"
            yield Concern(severity=Severity.WARNING, subject=names.get(row["cluster"], str(row["cluster"])), text=text)


def _changes(tables: Tables) -> Iterator[Concern]:
    for row in tables.get("leader_changes", ()):
        rate = row["changes_per_hour"]
        if rate is not None and rate > MANY_CHANGES_PER_HOUR and row["leader_changes"] >= MANY_CHANGES:
            text = f"flaps: its leader changed {row['leader_changes']} times in {row['known_hours']:.1f} known hours"
            yield Concern(severity=Severity.WARNING, subject=quorum_name(row), text=text)


def _readiness(tables: Tables) -> Iterator[Concern]:
    for row in tables.get("upgrade_readiness", ()):
        if not row["ready"]:
            held = ", ".join(map(str, row["held_back_by"] or row["unknown_nodes"]))
            why = "hold it back" if row["held_back_by"] else "have not said what they support"
            text = f"cannot raise {row['feature']} everywhere: nodes {held} {why}"
            yield Concern(severity=Severity.NOTICE, subject=quorum_name(row), text=text)


def _files(tables: Tables) -> Iterator[Concern]:
    names = names_of(tables)
    for row in tables.get("faults", ()):
        subject = names.get(row["cluster"], str(row["cluster"]))
        yield Concern(severity=Severity.WARNING, subject=subject, text=f"has a fault in its log: {row['fault']}")
    if lines := tables.get("rejected_lines", ()):
        first = f"{lines[0]['file']}: {lines[0]['reason']}"
        text = f"hold lines that are no observations, {len(lines)} of them listed; first {first}"
        yield Concern(severity=Severity.WARNING, subject="Files of observations", text=text)
    for row in tables.get("downgrade_analysed", ()):
        if row["faults"]:
            text = (
                f"has a log with {_counted(row['faults'], 'fault')}: what a downgrade would lose is not known in full"
            )
            yield Concern(severity=Severity.UNKNOWN, subject=names.get(row["cluster"], str(row["cluster"])), text=text)


def percent(share: float) -> str:
    """A share in percent, rounded down, so that less than everything never reads as 100."""
    return f"{floor(share * 1e5 + 1e-6) / 1e3:.3f}"


def _counted(number: int, thing: str) -> str:
    return f"{number} {thing}" if number == 1 else f"{number} {thing}s"


def names_of(tables: Tables) -> dict[str, str]:
    """Cluster id to the quorum's name, if observations have one."""
    return {str(row["clusterID"]): quorum_name(row) for row in tables.get("last_looks", ()) if row["clusterID"]}


def clusters_of(tables: Tables) -> list[str]:
    """The clusters whose metadata logs are in the tables."""
    return sorted({row["cluster"] for name in LOG_TABLES for row in tables.get(name, ())})


def moment(time: datetime) -> str:
    """A time for people, in UTC like all of them."""
    return time.strftime("%Y-%m-%d %H:%M:%S")
