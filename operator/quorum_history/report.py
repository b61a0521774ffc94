"""One self-contained page about the history of quorums: figures, tables and what deserves a warning.

Everything is in the file, nothing is loaded from elsewhere, and no script runs: it opens in any browser and can be
mailed. The pictures lie beside it as PNG as well.
"""

import html
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from quorum_history import figures
from quorum_history.figures import Row

Tables = Mapping[str, Sequence[Row]]

_LOW_AVAILABILITY = 0.999
_STYLE = """
body{font:15px/1.5 system-ui,sans-serif;color:#222;max-width:72rem;margin:2rem auto;padding:0 1rem}
h1{font-size:1.6rem} h2{margin-top:2.5rem;border-bottom:1px solid #ddd} h3{margin-top:1.6rem}
table{border-collapse:collapse;font-size:13px;margin:.5rem 0} td,th{padding:.25rem .7rem;text-align:left;
border-bottom:1px solid #eee;vertical-align:top} th{background:#f6f6f6} td.n{text-align:right}
.warnings li{margin:.2rem 0} .warnings{background:#fff4e5;border-left:4px solid #e69f00;padding:.6rem 2rem}
.fine{background:#eaf7f1;border-left:4px solid #009e73;padding:.6rem 1rem} figure{margin:0;overflow-x:auto}
svg{max-width:100%;height:auto} .muted{color:#777}
"""
_ROWS_SHOWN = 200


def warnings(tables: Tables) -> Iterator[str]:
    """What somebody should look at, worst first."""
    for row in tables.get("availability", ()):
        if row["availability"] is not None and row["availability"] < _LOW_AVAILABILITY:
            share = f"{row['availability']:.3%}"
            yield f"{figures.quorum_name(row)} was available for {share} of the known time of {row['day']}"
    for row in tables.get("recoveries", ()):
        if row["until"] is None:
            yield f"{figures.quorum_name(row)} has been unavailable since {_text(row['since'])}"
    for row in tables.get("stale_voters", ()):
        yield (
            f"{figures.quorum_name(row)}: voter {row['node_id']} ({row['directory_id']}) has not been live for"
            f" {row['stale_s']:.0f} s"
        )
    for row in tables.get("upgrade_readiness", ()):
        if not row["ready"]:
            held = ", ".join(map(str, row["held_back_by"] or row["unknown_nodes"]))
            why = "hold it back" if row["held_back_by"] else "have not said what they support"
            yield f"{figures.quorum_name(row)}: {row['feature']} cannot be raised everywhere: nodes {held} {why}"
    for row in tables.get("faults", ()):
        yield f"{row['cluster']}: {row['fault']}"


def _text(value: Any) -> str:  # noqa: ANN401 -- a table's value
    if value is None:
        return "-"
    if isinstance(value, datetime):
        return value.strftime("%Y-%m-%d %H:%M:%S")
    if isinstance(value, float):
        return f"{value:.4g}" if abs(value) < 1 else f"{value:.2f}"
    if isinstance(value, list | tuple):
        return ", ".join(map(_text, value))
    return str(value)


def _table(rows: Sequence[Row], columns: Sequence[str]) -> str:
    if not rows:
        return '<p class="muted">Nothing.</p>'
    head = "".join(f"<th>{html.escape(name.replace('_', ' '))}</th>" for name in columns)
    body = "".join("<tr>" + "".join(_cell(row[name]) for name in columns) + "</tr>" for row in rows[:_ROWS_SHOWN])
    more = f'<p class="muted">… and {len(rows) - _ROWS_SHOWN} more</p>' if len(rows) > _ROWS_SHOWN else ""
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}"


def _cell(value: Any) -> str:  # noqa: ANN401 -- a table's value
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return f'<td class="n">{_text(value)}</td>' if number else f"<td>{html.escape(_text(value))}</td>"


class _Page:
    """Collects the page's parts and the pictures beside it."""

    def __init__(self, folder: Path) -> None:
        self.parts: list[str] = []
        self.folder = folder

    def heading(self, level: int, text: str) -> None:
        self.parts.append(f"<h{level}>{html.escape(text)}</h{level}>")

    def figure(self, name: str, caption: str, drawn: Figure) -> None:
        figures.png(drawn, self.folder / f"{name}.png")
        self.parts.append(f'<figure role="img" aria-label="{html.escape(caption)}">{figures.svg(drawn)}</figure>')

    def table(self, rows: Sequence[Row], *columns: str) -> None:
        self.parts.append(_table(rows, columns))


def write(tables: Tables, target: Path, now: Callable[[], datetime] = lambda: datetime.now(UTC)) -> Path:
    """Write `index.html` and the pictures into a folder; answers the page's path. Missing tables are left out."""
    target.mkdir(parents=True, exist_ok=True)
    page = _Page(target)
    page.heading(1, "History of Kafka quorums")
    page.parts.append(f'<p class="muted">Made {now():%Y-%m-%d %H:%M} UTC</p>')
    found = list(warnings(tables))
    items = "".join(f"<li>{html.escape(warning)}</li>" for warning in found)
    page.parts.append(f'<ul class="warnings">{items}</ul>' if found else '<p class="fine">Nothing to warn about.</p>')
    _fleet(page, tables)
    clusters = {row["cluster"] for name in ("voter_sets", "leaders", "feature_levels") for row in tables.get(name, ())}
    for number, cluster in enumerate(sorted(clusters)):
        _cluster(page, number, cluster, tables)
    body = "\n".join(page.parts)
    text = (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>History of Kafka quorums</title>'
        f'<meta name="viewport" content="width=device-width"><style>{_STYLE}</style></head><body>{body}</body></html>\n'
    )
    path = target / "index.html"
    path.write_text(text)
    return path


def _fleet(page: _Page, tables: Tables) -> None:
    spans = tables.get("spans", ())
    if not spans:
        return
    page.heading(2, "The fleet")
    page.heading(3, "Availability")
    names = sorted({figures.quorum_name(row) for row in spans})
    page.figure("availability", "Availability of each quorum over time", figures.states_over_time(spans, names))
    page.table(tables.get("availability", ()), "namespace", "name", "day", "available_s", "unavailable_s", "unknown_s",
               "availability")  # fmt: skip
    page.heading(3, "Outages")
    page.table(tables.get("recoveries", ()), "namespace", "name", "since", "until", "recovery_s", "unknown_s")
    page.heading(3, "Leader changes")
    page.table(
        tables.get("leader_changes", ()), "namespace", "name", "leader_changes", "known_hours", "changes_per_hour"
    )
    page.heading(3, "Lag")
    if lags := tables.get("lag_percentiles", ()):
        page.figure("lag", "Lag of each replica", figures.lag_bars(lags))
        page.table(lags, "namespace", "name", "node_id", "role", "p50_lag_records", "p95_lag_records",
                   "p99_lag_records", "max_lag_records")  # fmt: skip
    page.heading(3, "Stale voters")
    page.table(tables.get("stale_voters", ()), "namespace", "name", "node_id", "directory_id", "last_live", "stale_s")
    page.heading(3, "Upgrade readiness")
    page.table(tables.get("upgrade_readiness", ()), "namespace", "name", "feature", "finalized", "highest_common",
               "highest_anywhere", "held_back_by", "ready")  # fmt: skip


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


def _cluster(page: _Page, number: int, cluster: str, tables: Tables) -> None:
    def of(name: str) -> list[Row]:
        return [row for row in tables.get(name, ()) if row["cluster"] == cluster]

    page.heading(2, f"Cluster {cluster}")
    page.heading(3, "Voters and leaders")
    drawn = figures.voters_and_leaders(of("voter_sets"), of("leaders"))
    page.figure(f"voters-{number}", f"Voters and leaders of {cluster}", drawn)
    page.table(of("voter_changes"), "offset", "timestamp", "change", "node_id", "directory_id", "previous_directory_id")
    page.table(of("leaders"), "leader_epoch", "leader_id", "since", "until", "start_offset", "voters")
    page.heading(3, "Features")
    page.figure(f"features-{number}", f"Feature levels of {cluster}", figures.feature_steps(of("feature_levels")))
    page.table(of("feature_levels"), "offset", "timestamp", "feature", "previous_level", "level")
    if losses := of("downgrade_losses"):
        page.heading(3, "What a downgrade would lose")
        page.table(_grouped(losses), "targets", "record_type", "effect", "what", "count", "examples")
