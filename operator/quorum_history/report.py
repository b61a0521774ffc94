"""Self-contained pages about the history of quorums: what is wrong first, then the fleet, then each quorum.

Everything is in the file, nothing is loaded from elsewhere, and no script runs: it opens in any browser and can be
mailed or printed. What is unknown or was not analysed is said, and never looks like what is fine.
"""

import html
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, date, datetime, time
from pathlib import Path
from typing import Any

from quorum_history import svg
from quorum_history.concerns import (
    MUCH_UNKNOWN,
    Concern,
    Row,
    Severity,
    Tables,
    concerns,
    moment,
    names_of,
    quorum_name,
)
from quorum_history.downgrade import level_name

_STYLE = """
body{font:15px/1.5 system-ui,sans-serif;color:#222;background:#fff;max-width:64rem;margin:2rem auto;padding:0 1rem}
h1{font-size:1.6rem} h2{margin-top:2.5rem;border-bottom:1px solid #ccc} h3{margin-top:1.6rem} a{color:#00527f}
table{border-collapse:collapse;font-size:13px;margin:.5rem 0} td,th{padding:.25rem .7rem;text-align:left;
border-bottom:1px solid #ddd;vertical-align:top} th{background:#f3f3f3} td.n{text-align:right} caption{text-align:left;
color:#555} .scroll{overflow-x:auto} .tiles{display:flex;flex-wrap:wrap;gap:.6rem;padding:0;list-style:none}
.tiles li{border:1px solid #ccc;border-left:6px solid #767676;padding:.4rem .9rem;min-width:7rem}
.tiles b{display:block;font-size:1.5rem} .tiles .bad{border-left-color:#d55e00} .tiles .fine{border-left-color:#009e73}
.concerns{background:#fff7ea;border-left:4px solid #d55e00;padding:.6rem 2rem} .concerns b{font-weight:600}
.fine-box{background:#eaf7f1;border-left:4px solid #009e73;padding:.6rem 1rem} .unknown-box{background:#f0f0f0;
border-left:4px solid #767676;padding:.6rem 1rem} figure{margin:.5rem 0;overflow-x:auto} svg{max-width:100%;height:auto;
font:11px system-ui,sans-serif} .muted{color:#5f5f5f} nav li{display:inline;margin-right:1rem} nav ul{padding:0}
@media print{body{max-width:none;margin:0;font-size:11px} h2{break-after:avoid} figure,tr{break-inside:avoid}
.scroll,figure{overflow:visible} a{color:inherit;text-decoration:none}}
"""
_ROWS_SHOWN = 20
_ROWS_OF_ONE = 200
_CONCERNS_SHOWN = 20
_CONCERNS_LISTED = 300
_DETAILED = 12
"""So many clusters have their section on the page itself; of more, each can have a page of its own."""


def write(
    tables: Tables,
    target: Path,
    now: Callable[[], datetime] = lambda: datetime.now(UTC),
    *,
    quorums: Sequence[str] = (),
    pages: bool = False,
) -> Path:
    """Write `index.html` into a folder, with a page per cluster beside it if asked; answers the page's path.

    `quorums` are names or cluster ids that get their section on the page whatever their number.
    """
    target.mkdir(parents=True, exist_ok=True)
    found = concerns(tables, now())
    clusters = sorted(
        {row["cluster"] for name in ("voter_sets", "leaders", "feature_levels") for row in tables.get(name, ())}
    )
    names = names_of(tables)
    chosen = [cluster for cluster in clusters if {cluster, names.get(cluster)} & set(quorums)]
    detailed = chosen or (clusters if len(clusters) <= _DETAILED and not pages else [])
    links = {cluster: f"cluster-{number}.html" for number, cluster in enumerate(clusters)} if pages else {}
    links |= {cluster: f"#c{number}" for number, cluster in enumerate(detailed)}
    page = _Page("History of Kafka quorums")
    _head(page, tables, found, now())
    _fleet(page, tables, found, {names.get(cluster, cluster): link for cluster, link in links.items()})
    _contents(page, clusters, names, links)
    for number, cluster in enumerate(detailed):
        _cluster(page, f"c{number}", cluster, tables)
    for cluster, link in links.items():
        if not link.startswith("#"):
            alone = _Page(f"History of {names.get(cluster, cluster)}")
            alone.parts.append('<p><a href="index.html">All quorums</a></p>')
            _cluster(alone, "c", cluster, tables)
            _put(target / link, alone.text())
    path = target / "index.html"
    _put(path, page.text())
    return path


def _put(path: Path, text: str) -> None:
    """Store a page whole: a browser finds the earlier one or the new one."""
    unfinished = path.with_name(f".{path.name}.unfinished")
    unfinished.write_text(text)
    unfinished.replace(path)


def between(tables: Tables, since: datetime | None, until: datetime | None) -> dict[str, list[Row]]:
    """The rows that lie in a stretch of time, or reach into it; what has no time stays."""
    first, last = since or datetime.min.replace(tzinfo=UTC), until or datetime.max.replace(tzinfo=UTC)

    def inside(row: Row) -> bool:
        if "timestamp" in row:
            return bool(first <= row["timestamp"] <= last)
        if "day" in row:
            return bool(first.date() <= row["day"] <= last.date())
        if "month" in row:
            return bool(first.date().replace(day=1) <= row["month"] <= last.date())
        if "since" in row:
            return bool(row["since"] <= last and (row["until"] is None or row["until"] >= first))
        return True

    return {name: [row for row in rows if inside(row)] for name, rows in tables.items()}


def at_midnight(day: date) -> datetime:
    """The beginning of a day, in UTC."""
    return datetime.combine(day, time(), UTC)


class _Page:
    """Collects the parts of a page."""

    def __init__(self, title: str) -> None:
        self.title = title
        self.parts: list[str] = []
        self.heading(1, title)

    def heading(self, level: int, text: str, anchor: str = "") -> None:
        named = f' id="{anchor}"' if anchor else ""
        self.parts.append(f"<h{level}{named}>{html.escape(text)}</h{level}>")

    def paragraph(self, text: str, kind: str = "muted") -> None:
        self.parts.append(f'<p class="{kind}">{html.escape(text)}</p>')

    def figure(self, drawn: str) -> None:
        self.parts.append(f"<figure>{drawn}</figure>")

    def table(self, caption: str, rows: Sequence[Row], *columns: str, shown: int = _ROWS_SHOWN) -> None:
        """The rows, as many as are shown, under the names of their columns."""
        if not rows:
            self.paragraph(f"{caption}: none.")
            return
        head = "".join(f'<th scope="col">{html.escape(name.replace("_", " "))}</th>' for name in columns)
        body = "".join("<tr>" + "".join(_cell(row[name]) for name in columns) + "</tr>" for row in rows[:shown])
        more = f", {shown} of {len(rows)} shown; the table has them all" if len(rows) > shown else ""
        self.parts.append(
            f'<div class="scroll"><table><caption>{html.escape(caption)}{more}</caption>'
            f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
        )

    def text(self) -> str:
        """The whole document."""
        body, title = "\n".join(self.parts), html.escape(self.title)
        return (
            f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{title}</title><meta name="viewport"'
            f' content="width=device-width"><style>{_STYLE}</style></head><body><main>{body}</main></body></html>\n'
        )


def _text(value: Any) -> str:  # noqa: ANN401 -- a table's value
    if value is None:
        return "-"
    if isinstance(value, datetime):
        return moment(value)
    if isinstance(value, float):
        return f"{value:.4g}" if abs(value) < 1 else f"{value:,.2f}"
    if isinstance(value, list | tuple):
        return ", ".join(map(_text, value))
    return str(value)


def _cell(value: Any) -> str:  # noqa: ANN401 -- a table's value
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return f'<td class="n">{_text(value)}</td>' if number else f"<td>{html.escape(_text(value))}</td>"


# --- the page's head --------------------------------------------------------------------------------------------------


def _head(page: _Page, tables: Tables, found: Sequence[Concern], now: datetime) -> None:
    looks = tables.get("last_looks", ())
    until = max((row["last_look"] for row in looks), default=None)
    observed = f"Observations until {moment(until)} UTC." if until else "No observations."
    page.paragraph(f"Made {now:%Y-%m-%d %H:%M} UTC. {observed}")
    _tiles(page, looks, found, now)
    if not looks:
        page.paragraph(
            "No quorum was observed, so whether any is available is unknown: run quorum-history ingest --observations"
            " and observe.",
            "unknown-box",
        )
    if found:
        page.parts.append(f'<section aria-label="Warnings">{_list(found)}</section>')
    elif looks:
        page.paragraph(
            f"Nothing to warn about: {len(looks)} quorums were looked at until {moment(until or now)} UTC or within an"
            f" hour of now, and of none more than {MUCH_UNKNOWN:.0%} of that time is unknown.",
            "fine-box",
        )


def _tiles(page: _Page, looks: Sequence[Row], found: Sequence[Concern], now: datetime) -> None:
    states = Counter(_state(row, found, now) for row in looks)
    tiles = [("quorums", len(looks), "")]
    tiles += [
        ("available", states["available"], "fine" if states["available"] else ""),
        ("unavailable", states["unavailable"], "bad" if states["unavailable"] else ""),
        ("unknown", states["unknown"], "bad" if states["unknown"] else ""),
    ]
    kinds = Counter(concern.severity for concern in found)
    tiles += [(f"{each.name.lower()} warnings", kinds[each], "bad" if kinds[each] else "") for each in Severity]
    items = "".join(f'<li class="{kind}"><b>{number}</b>{name}</li>' for name, number, kind in tiles)
    page.parts.append(f'<ul class="tiles" aria-label="Summary">{items}</ul>')


def _state(row: Row, found: Sequence[Concern], now: datetime) -> str:
    """How a quorum is now, as far as its last look can say: one that is old says nothing."""
    stale = any(
        each.severity is Severity.UNKNOWN and each.subject == quorum_name(row) and "looked at since" in each.text
        for each in found
    )
    return "unknown" if stale or row["last_look"] > now else str(row["state"])


def _list(found: Sequence[Concern]) -> str:
    def items(some: Sequence[Concern]) -> str:
        return "".join(f"<li><b>{each.severity.name.lower()}</b>: {html.escape(str(each))}</li>" for each in some)

    shown, more = found[:_CONCERNS_SHOWN], found[_CONCERNS_SHOWN:_CONCERNS_LISTED]
    rest = f"<details><summary>{len(found) - len(shown)} more</summary><ul>{items(more)}</ul></details>" if more else ""
    return f'<ul class="concerns">{items(shown)}</ul>{rest}'


# --- the fleet --------------------------------------------------------------------------------------------------------


def _fleet(page: _Page, tables: Tables, found: Sequence[Concern], links: Mapping[str, str]) -> None:
    if not tables.get("last_looks", ()):
        return
    names = sorted({quorum_name(row) for row in tables["last_looks"]})
    page.heading(2, "The fleet")
    _worst(page, tables, found, links)
    page.heading(3, "Availability")
    days = tables.get("availability", ())
    if len(names) > 1 or len({row["day"] for row in days}) > 1:
        page.figure(svg.heat_map("Availability by quorum and day; the table availability has its numbers", days, names))
    if len(names) <= _DETAILED:
        spans = tables.get("spans", ())
        page.figure(svg.states_over_time("Availability of each quorum over time", spans, names))
    ordered = sorted(days, key=lambda row: (row["availability"] is not None, row["availability"] or 0.0))
    page.table("Days, the least available first", ordered, "namespace", "name", "day", "available_s", "unavailable_s",
               "unknown_s", "availability")  # fmt: skip
    _details_of_fleet(page, tables)


def _details_of_fleet(page: _Page, tables: Tables) -> None:
    page.heading(3, "Outages")
    outages = sorted(tables.get("recoveries", ()), key=lambda row: -(row["recovery_s"] or float("inf")))
    page.table("Outages, the longest first", outages, "namespace", "name", "since", "until", "recovery_s", "unknown_s",
               "cause")  # fmt: skip
    page.heading(3, "Service levels")
    spent = sorted(tables.get("service_levels", ()), key=lambda row: -(row["budget_spent"] or 0.0))
    page.table("Months, the most of the error budget spent first", spent, "namespace", "name", "month", "availability",
               "objective", "budget_s", "budget_spent", "leader_lost_s", "majority_lost_s", "unknown_s")  # fmt: skip
    page.heading(3, "Leader changes")
    changes = sorted(tables.get("leader_changes", ()), key=lambda row: -(row["changes_per_hour"] or 0.0))
    page.table("Leader changes, the most frequent first", changes, "namespace", "name", "leader_changes", "known_hours",
               "changes_per_hour")  # fmt: skip
    page.heading(3, "Lag")
    lags = sorted(tables.get("lag_percentiles", ()), key=lambda row: -row["p95_lag_records"])
    if lags:
        page.figure(svg.lag_bars("Lag of the replicas that are furthest behind, in records", lags[:_ROWS_SHOWN]))
    page.table("Lag, the largest first", lags, "namespace", "name", "node_id", "role", "p50_lag_records",
               "p95_lag_records", "p99_lag_records", "max_lag_records")  # fmt: skip
    page.heading(3, "Stale voters")
    page.table("Voters that are not live", tables.get("stale_voters", ()), "namespace", "name", "node_id",
               "directory_id", "last_live", "stale_s")  # fmt: skip
    page.heading(3, "Upgrade readiness")
    ready = sorted(tables.get("upgrade_readiness", ()), key=lambda row: row["ready"] is True)
    page.table("Features, those that are held back first", ready, "namespace", "name", "feature", "finalized",
               "highest_common", "highest_anywhere", "held_back_by", "ready")  # fmt: skip


def _worst(page: _Page, tables: Tables, found: Sequence[Concern], links: Mapping[str, str]) -> None:
    """The quorums that most is wrong with."""
    known = {quorum_name(row): row for row in tables["last_looks"]}
    counts: dict[str, Counter[Severity]] = {}
    for each in found:
        counts.setdefault(each.subject, Counter())[each.severity] += 1
    worst = sorted((name for name in counts if name in known), key=lambda name: _badness(counts[name]))
    if not worst:
        return
    page.heading(3, "The worst first")
    head = "".join(
        f'<th scope="col">{name}</th>'
        for name in ("quorum", "last look", *(severity.name.lower() for severity in Severity))
    )
    rows = "".join(
        f"<tr><td>{_linked(name, links)}</td>{_cell(known[name]['last_look'])}"
        + "".join(_cell(counts[name][severity]) for severity in Severity)
        + "</tr>"
        for name in worst[:_ROWS_SHOWN]
    )
    more = f", {_ROWS_SHOWN} of {len(worst)}" if len(worst) > _ROWS_SHOWN else ""
    caption = f"Quorums with warnings, by severity{more}"
    page.parts.append(
        f'<div class="scroll"><table><caption>{caption}</caption><thead><tr>{head}</tr></thead>'
        f"<tbody>{rows}</tbody></table></div>"
    )


def _badness(counts: Counter[Severity]) -> tuple[int, ...]:
    return tuple(-counts[severity] for severity in Severity)


def _linked(name: str, links: Mapping[str, str]) -> str:
    text = html.escape(name)
    return f'<a href="{links[name]}">{text}</a>' if name in links else text


# --- one cluster ------------------------------------------------------------------------------------------------------


def _contents(page: _Page, clusters: Sequence[str], names: Mapping[str, str], links: Mapping[str, str]) -> None:
    if not clusters:
        page.paragraph("No metadata log was analysed: run quorum-history ingest --logs and timeline.", "unknown-box")
        return
    page.heading(2, "Metadata logs")
    if not links:
        page.paragraph(
            f"{len(clusters)} clusters are in the tables. report --pages writes a page for each, report --quorum NAME"
            " shows one here."
        )
        return
    shown = {names.get(cluster, cluster): link for cluster, link in links.items()}
    items = "".join(f"<li>{_linked(name, shown)}</li>" for name in shown)
    page.parts.append(f'<nav aria-label="Clusters"><ul>{items}</ul></nav>')


def _grouped(losses: Sequence[Row]) -> list[Row]:
    """The same loss at many targets as one row: a level that cannot hold a thing is a level that no lower one can."""
    groups: dict[tuple[Any, ...], list[Row]] = {}
    for row in losses:
        key = (row["record_type"], row["effect"], row["what"], row["count"], tuple(row["examples"]))
        groups.setdefault(key, []).append(row)
    shown: list[Row] = []
    for rows in groups.values():
        names = [row["target_name"] for row in sorted(rows, key=lambda row: row["target"])]
        shown.append({**rows[0], "targets": names[0] if len(names) == 1 else f"{names[0]} to {names[-1]}"})
    return shown


def _cluster(page: _Page, anchor: str, cluster: str, tables: Tables) -> None:
    def of(name: str) -> list[Row]:
        return [row for row in tables.get(name, ()) if row["cluster"] == cluster]

    name = names_of(tables).get(cluster)
    page.heading(2, f"Cluster {cluster} ({name})" if name else f"Cluster {cluster}", anchor)
    page.heading(3, "Voters and leaders")
    page.figure(svg.voters_and_leaders(f"Voters and leaders of {cluster}", of("voter_sets"), of("leaders")))
    page.table("Voters added and removed", of("voter_changes"), "offset", "timestamp", "change", "node_id",
               "directory_id", "previous_directory_id", shown=_ROWS_OF_ONE)  # fmt: skip
    page.table("Leader epochs", of("leaders"), "leader_epoch", "leader_id", "since", "until", "start_offset", "voters",
               shown=_ROWS_OF_ONE)  # fmt: skip
    page.heading(3, "Features")
    levels = [{**row, "level_name": level_name(row["feature"], row["level"])} for row in of("feature_levels")]
    page.figure(svg.feature_steps(f"Feature levels of {cluster}", levels, lambda row: str(row["level_name"])))
    page.table("Steps of features", levels, "offset", "timestamp", "feature", "previous_level", "level_name",
               shown=_ROWS_OF_ONE)  # fmt: skip
    page.heading(3, "What a downgrade would lose")
    for said in _downgrade(tables, cluster, of("downgrade_losses")):
        page.paragraph(said, "unknown-box")
    if losses := of("downgrade_losses"):
        page.table("Losses by target", _grouped(losses), "targets", "record_type", "effect", "what", "count",
                   "examples", shown=_ROWS_OF_ONE)  # fmt: skip


def _downgrade(tables: Tables, cluster: str, losses: Sequence[Row]) -> Iterator[str]:
    """What is said instead of losses, or before them."""
    analysed = [row for row in tables.get("downgrade_analysed", ()) if row["cluster"] == cluster]
    if not analysed and not losses:
        yield "Not analysed: run quorum-history downgrade. Whether anything would be lost is unknown."
    elif analysed and analysed[0]["faults"]:
        yield f"The log has {analysed[0]['faults']} faults, so there may be more than this."
    elif not losses:
        yield f"Nothing, at any lower level, as of offset {analysed[0]['end_offset']}."
