"""The parts of a page about observed quorums: tiles, warnings, the worst quorums, the map, the tables.

The page of a fleet and the page of one quorum have the same parts. An unknown state never looks like a good one.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

from quorum_history import svg
from quorum_history.concerns import (
    MUCH_UNKNOWN,
    Concern,
    Row,
    Severity,
    Tables,
    clusters_of,
    concerns,
    moment,
    quorum_name,
)
from quorum_history.downgrade import level_name
from quorum_history.page import ROWS_SHOWN, Page, escaped, isolated, text_of

DETAILED = 12
"""At most this many quorums or clusters are shown one by one; if there are more, each can have its own page."""
_CONCERNS_SHOWN = 20
_CONCERNS_LISTED = 300
_MAP_ROWS = 50
_SEVERITIES = ((Severity.CRITICAL, "critical"), (Severity.WARNING, "warning"), (Severity.UNKNOWN, "something unknown"),
               (Severity.NOTICE, "notice"))  # fmt: skip


def overview(page: Page, tables: Tables, now: datetime, chosen: svg.Span, links: Mapping[str, str]) -> None:
    """What is wrong, and the observed quorums."""
    found = concerns(tables, now)
    _head(page, tables, found, now, chosen)
    _fleet(page, tables, found, links, chosen)


def _head(page: Page, tables: Tables, found: Sequence[Concern], now: datetime, chosen: svg.Span) -> None:
    looks = tables.get("last_looks", ())
    until = max((row["last_look"] for row in looks), default=None)
    observed = f"Observations until {moment(until)} UTC." if until else "No observations."
    page.paragraph(f"Made {now:%Y-%m-%d %H:%M} UTC. {observed} All times are UTC.")
    if any(chosen):
        page.paragraph(
            f"Only what happened {_stretch(chosen)} is shown. States, lag and readiness are those of the last look.",
            "unknown-box",
        )
    _tiles(page, tables, found, now)
    page.contents()
    if not looks:
        page.paragraph(
            "No quorum was observed, so whether any is available is unknown: run quorum-history ingest --observations"
            " and observe.",
            "unknown-box",
        )
    if found:
        page.heading(2, "Warnings", "warnings")
        _list(page, found)
    elif looks:
        were = "1 quorum was" if len(looks) == 1 else f"{len(looks)} quorums were"
        page.paragraph(
            f"Nothing to warn about: {were} looked at until {moment(until or now)} UTC or within an hour of now, and no"
            f" more than {MUCH_UNKNOWN:.0%} of the time of each is unknown.",
            "fine-box",
        )


def _stretch(chosen: svg.Span) -> str:
    """A chosen time range, in words; its end is the last day that is shown."""
    since, until = chosen
    begin = f"from {since:%Y-%m-%d}" if since else ""
    end = f"until the end of {until - timedelta(microseconds=1):%Y-%m-%d}" if until else ""
    return " ".join(part for part in (begin, end) if part)


def _tiles(page: Page, tables: Tables, found: Sequence[Concern], now: datetime) -> None:
    looks = tables.get("last_looks", ())
    states = Counter(_state(row, found, now) for row in looks)
    tiles = [("observed", len(looks), "")]
    tiles += [
        ("available", states["available"], "fine" if states["available"] else ""),
        ("unavailable", states["unavailable"], "bad" if states["unavailable"] else ""),
        ("unknown", states["unknown"], "bad" if states["unknown"] else ""),
    ]
    if unseen := len(set(clusters_of(tables)) - {row["clusterID"] for row in looks}):
        tiles.append(("with a log, not observed", unseen, "bad" if looks else ""))
    page.tiles("Quorums, at the last look", tiles)
    kinds = Counter(concern.severity for concern in found)
    page.tiles(
        "Warnings, by severity", [(name, kinds[each], "bad" if kinds[each] else "") for each, name in _SEVERITIES]
    )


def _state(row: Row, found: Sequence[Concern], now: datetime) -> str:
    """The present state of a quorum, by its last look: an old look shows no present state."""
    stale = any(
        each.severity is Severity.UNKNOWN and each.subject == quorum_name(row) and "looked at since" in each.text
        for each in found
    )
    return "unknown" if stale or row["last_look"] > now else str(row["state"])


def _list(page: Page, found: Sequence[Concern]) -> None:
    """The warnings, the most severe first; of equal ones, each quorum's first before any quorum's second."""
    seen: Counter[tuple[Severity, str]] = Counter()
    ranked = []
    for each in found:
        seen[each.severity, each.subject] += 1
        ranked.append((each.severity, seen[each.severity, each.subject], each))
    ordered = [each for *_, each in sorted(ranked)]

    def items(some: Sequence[Concern]) -> str:
        return "".join(
            f"<li><b>{each.severity.name.lower()}</b>: {isolated(each.subject)} {escaped(each.text)}</li>"
            for each in some
        )

    shown, more = ordered[:_CONCERNS_SHOWN], ordered[_CONCERNS_SHOWN:_CONCERNS_LISTED]
    page.parts.append(f'<ul class="concerns">{items(shown)}</ul>')
    if more:
        left = len(found) - _CONCERNS_LISTED
        short = f", the first {len(more)} of them here" if left > 0 else ""
        page.parts.append(
            f"<details><summary>{len(found) - len(shown)} more{short}</summary><ul>{items(more)}</ul></details>"
        )


# --- the fleet --------------------------------------------------------------------------------------------------------


def _fleet(
    page: Page, tables: Tables, found: Sequence[Concern], links: Mapping[str, str], chosen: svg.Span
) -> None:  # fmt: skip
    if not tables.get("last_looks", ()):
        return
    names = sorted({quorum_name(row) for row in tables["last_looks"]})
    page.heading(2, "The fleet" if len(names) > 1 else "The quorum", "fleet")
    if len(names) > 1:
        _worst(page, tables, found, links)
    page.heading(3, "Availability", "availability")
    _map(page, tables.get("availability", ()), names)
    if len(names) <= DETAILED:
        title = "Availability of each quorum over time"
        page.figure(title, svg.states_over_time(title, tables.get("spans", ()), names, chosen))
    lacking = [row for row in tables.get("availability", ()) if svg.heat_class(row)]
    page.table("Days that were not fully available or not fully known, the worst first", sorted(lacking, key=_lack),
               "namespace", "name", "day", "available_s", "unavailable_s", "unknown_s", "availability")  # fmt: skip
    _details_of_fleet(page, tables)


def _lack(row: Row) -> tuple[bool, float, float]:
    """What is known to be bad before what is unknown."""
    return row["availability"] is None, row["availability"] or 0.0, -row["unknown_s"]


def _map(page: Page, days: Sequence[Row], names: Sequence[str]) -> None:
    """The map of quorums and days, in pieces that fit a sheet of paper, and the same in words."""
    dates = svg.dates_of(days)
    if len(names) < 2 and len(dates) < 2:  # noqa: PLR2004 -- one cell is no map
        return
    for begin in range(0, len(names), _MAP_ROWS):
        part = names[begin : begin + _MAP_ROWS]
        of = f", {begin + 1} to {begin + len(part)} of {len(names)}" if len(names) > _MAP_ROWS else ""
        title = f"Availability by quorum and day{of}"
        page.figure(title, svg.heat_map(title, days, part, dates))
    begun_at, rows = len(page.parts), _in_words(days)
    page.table("Quorums by how their days were, the worst first", rows, "quorum", "worst_known_day",
               *(label for label, _ in svg.HEAT), shown=_CONCERNS_LISTED)  # fmt: skip
    fine = len(names) - len(rows)
    page.paragraph(f"Available and known all of every observed day, and not listed: {fine} of {len(names)}.")
    page.folded("The map in words", begun_at)


def _in_words(days: Sequence[Row]) -> list[Row]:
    """A row for each quorum with a bad day: how many days of each kind it had."""
    kinds: dict[str, Counter[int]] = {}
    worst: dict[str, float] = {}
    for row in days:
        name = quorum_name(row)
        kinds.setdefault(name, Counter())[svg.heat_class(row)] += 1
        if row["availability"] is not None:
            worst[name] = min(worst.get(name, 1.0), row["availability"])
    rows = [
        {"quorum": name, "worst_known_day": worst.get(name)}
        | {label: of[number] for number, (label, _) in enumerate(svg.HEAT)}
        for name, of in kinds.items()
        if set(of) - {0}
    ]
    return sorted(rows, key=lambda row: (worst.get(str(row["quorum"]), 0.0), str(row["quorum"])))


def _details_of_fleet(page: Page, tables: Tables) -> None:
    page.heading(3, "Outages", "outages")
    outages = sorted(tables.get("recoveries", ()), key=lambda row: -(row["recovery_s"] or float("inf")))
    page.table("Outages, the longest first", outages, "namespace", "name", "since", "until", "recovery_s", "unknown_s",
               "cause")  # fmt: skip
    page.heading(3, "Service levels", "levels")
    spent = sorted(tables.get("service_levels", ()), key=lambda row: -(row["budget_spent"] or 0.0))
    page.table("Months, the most of the error budget spent first", spent, "namespace", "name", "month", "availability",
               "objective", "budget_s", "budget_spent", "leader_lost_s", "majority_lost_s", "roll_s", "unknown_cause_s",
               "unknown_s")  # fmt: skip
    page.heading(3, "Leader changes", "changes")
    changes = sorted(tables.get("leader_changes", ()), key=lambda row: -(row["changes_per_hour"] or 0.0))
    page.table("Leader changes, the most frequent first", changes, "namespace", "name", "leader_changes", "known_hours",
               "changes_per_hour")  # fmt: skip
    page.heading(3, "Rolls and level steps", "compared")
    changes = sorted(tables.get("changes_compared", ()), key=lambda row: row["until"], reverse=True)
    page.table("Rolls and level steps, the newest first, with equal stretches before and after each",
               [_compared(row) for row in changes], "quorum", "change", "since", "unavailable_s", "compared_s",
               "availability_before_and_after", "p95_lag_before_and_after",
               "leader_changes_before_during_and_after")  # fmt: skip
    page.heading(3, "Lag", "lag")
    lags = sorted(tables.get("lag_percentiles", ()), key=lambda row: -row["p95_lag_records"])
    if lags:
        title = "Lag of the replicas that are furthest behind, in records"
        page.figure(title, svg.lag_bars(title, lags[:ROWS_SHOWN]))
    page.table("Lag, the largest first", lags, "namespace", "name", "node_id", "role", "p50_lag_records",
               "p95_lag_records", "p99_lag_records", "max_lag_records")  # fmt: skip
    drifts = [row for row in tables.get("lag_drift", ()) if row["slope_records_per_day"] is not None]
    page.table("Growth of the lag from the first known days to the last, the fastest first",
               sorted(drifts, key=lambda row: -row["slope_records_per_day"]), "namespace", "name", "node_id", "role",
               "known_days", "first_p95_lag_records", "last_p95_lag_records", "slope_records_per_day")  # fmt: skip
    page.heading(3, "Stale voters", "stale")
    page.table("Voters that are not live", tables.get("stale_voters", ()), "namespace", "name", "node_id",
               "directory_id", "last_live", "stale_s")  # fmt: skip
    page.heading(3, "Upgrade readiness", "readiness")
    ready = [named(row) for row in sorted(tables.get("upgrade_readiness", ()), key=lambda row: row["ready"] is True)]
    page.table("Features, those that are held back first", ready, "namespace", "name", "feature", "finalized",
               "highest_common", "highest_anywhere", "held_back_by", "ready")  # fmt: skip


def _compared(row: Row) -> Row:
    """A change as a row of the page: what was before and after it in one cell, and unknown as such."""
    cells = {
        "availability_before_and_after": ("availability_before", "availability_after"),
        "p95_lag_before_and_after": ("p95_lag_before_records", "p95_lag_after_records"),
        "leader_changes_before_during_and_after": ("leader_changes_before", "leader_changes", "leader_changes_after"),
        "unavailable_s": ("unavailable_s",),
    }
    texts = {cell: ", ".join(_or_unknown(column, row[column]) for column in columns) for cell, columns in cells.items()}
    change = f"{row['kind']}, {row['before']} to {row['after']}"
    return {**row, "quorum": quorum_name(row), "change": change, **texts}


def _or_unknown(column: str, value: float | None) -> str:
    return "unknown" if value is None else text_of(column, value)


_LEVELS = ("finalized", "highest_common", "highest_anywhere")


def named(row: Row) -> Row:
    """A row of a table of readiness, with Kafka's names of the levels in place of their numbers."""
    levels = {name: row[name] for name in _LEVELS if row[name] is not None}
    return {**row, **{name: level_name(row["feature"], level) for name, level in levels.items()}}


def _worst(page: Page, tables: Tables, found: Sequence[Concern], links: Mapping[str, str]) -> None:
    """The quorums with the most warnings, each with its first warning."""
    known = {quorum_name(row): row for row in tables["last_looks"]}
    of: dict[str, list[Concern]] = {}
    for each in found:
        if each.subject in known:
            of.setdefault(each.subject, []).append(each)
    if not of:
        return
    page.heading(3, "The worst first", "worst")
    counts = {name: Counter(each.severity for each in some) for name, some in of.items()}
    rows = [
        {"quorum": name, "last_look": known[name]["last_look"], "first_of_its_warnings": of[name][0].text}
        | {said: counts[name][severity] for severity, said in _SEVERITIES}
        for name in sorted(of, key=lambda name: (_badness(counts[name]), name))
    ]
    more = f", {ROWS_SHOWN} of {len(rows)}" if len(rows) > ROWS_SHOWN else ""
    page.table(f"Quorums with warnings, by severity{more}", rows[:ROWS_SHOWN], "quorum",
               *(said for _, said in _SEVERITIES), "first_of_its_warnings", "last_look", links=links)  # fmt: skip


def _badness(counts: Counter[Severity]) -> tuple[int, ...]:
    return tuple(-counts[severity] for severity in Severity)
