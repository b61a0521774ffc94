"""Self-contained pages about the history of quorums: what is wrong first, then the fleet, then each quorum.

Everything is in the file, nothing is loaded from elsewhere, and no script runs: it opens in any browser and can be
mailed or printed. A state that is unknown or was not analysed is named as such, and never looks like a good one.
"""

import hashlib
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, date, datetime, time
from pathlib import Path
from typing import Any

from quorum_history import svg
from quorum_history.concerns import LOG_TABLES, Row, Tables, clusters_of, names_of
from quorum_history.downgrade import level_name
from quorum_history.fleet import DETAILED, named, overview
from quorum_history.page import Page

_ROWS_OF_ONE = 200


def write(
    tables: Tables,
    target: Path,
    now: Callable[[], datetime] = lambda: datetime.now(UTC),
    *,
    quorums: Sequence[str] = (),
    pages: bool = False,
    chosen: svg.Span = (None, None),
) -> Path:
    """Write `index.html` into a folder, with a page per cluster beside it if requested; returns the page's path.

    `quorums` are names or cluster ids that get their own section in any case. `chosen` is the time range that the
    tables were cut to, see `between`.
    """
    target.mkdir(parents=True, exist_ok=True)
    logs, names = clusters_of(tables), names_of(tables)
    clusters = sorted({*logs, *names})
    wanted = [cluster for cluster in clusters if {cluster, names.get(cluster)} & set(quorums)]
    detailed = wanted or (logs if len(logs) <= DETAILED and not pages else [])
    links = {cluster: _file_of(cluster) for cluster in clusters} if pages else {}
    links |= {cluster: f"#c{number}" for number, cluster in enumerate(detailed)}
    page = Page("History of Kafka quorums")
    overview(page, tables, now(), chosen, {names.get(cluster, cluster): link for cluster, link in links.items()})
    _logs(page, len(logs), [(link, names.get(cluster, cluster)) for cluster, link in links.items()])
    for number, cluster in enumerate(detailed):
        _cluster(page, f"c{number}", cluster, tables, chosen)
    alone = _by_cluster(tables) if pages else {}
    for cluster, link in links.items():
        if not link.startswith("#"):
            _put(target / link, _alone(cluster, names.get(cluster, cluster), alone[cluster], now(), chosen))
    path = target / "index.html"
    _put(path, page.text())
    return path


def _file_of(cluster: str) -> str:
    """A name that stays the same for a cluster, so that a link to its page never leads to another cluster."""
    return f"cluster-{hashlib.sha256(cluster.encode()).hexdigest()[:12]}.html"


def _by_cluster(tables: Tables) -> dict[str, dict[str, list[Row]]]:
    """The rows of each cluster, by table."""
    found: dict[str, dict[str, list[Row]]] = {}
    for name, rows in tables.items():
        for row in rows:
            cluster = row.get("cluster", row.get("clusterID"))
            if cluster is not None:
                found.setdefault(cluster, {}).setdefault(name, []).append(row)
    return found


def _alone(cluster: str, name: str, tables: Tables, now: datetime, chosen: svg.Span) -> str:
    """The page of one cluster: what is wrong with it, how available it was, and its log."""
    page = Page(f"History of {name}")
    page.parts.append('<p><a href="index.html">All quorums</a></p>')
    overview(page, tables, now, chosen, {})
    _cluster(page, "c", cluster, tables, chosen)
    return page.text()


def _put(path: Path, text: str) -> None:
    """Store a page whole: a browser finds the earlier one or the new one."""
    unfinished = path.with_name(f".{path.name}.unfinished")
    unfinished.write_text(text, encoding="utf-8")
    unfinished.replace(path)


_STATES = {"voter_sets": (), "feature_levels": ("feature",)}
"""Tables whose rows are valid until the next row of the same cluster and of these columns."""


def between(tables: Tables, since: datetime | None, until: datetime | None) -> dict[str, list[Row]]:
    """The rows from a time on and before another one, and those that reach into it; rows without a time stay."""
    first, last = since or datetime.min.replace(tzinfo=UTC), until or datetime.max.replace(tzinfo=UTC)

    def inside(row: Row) -> bool:
        if "timestamp" in row:
            return bool(first <= row["timestamp"] < last)
        if "day" in row:
            return bool(first.date() <= row["day"] and at_midnight(row["day"]) < last)
        if "month" in row:
            return bool(first.date().replace(day=1) <= row["month"] and at_midnight(row["month"]) < last)
        if "since" in row:
            return bool(row["since"] < last and (row["until"] is None or row["until"] >= first))
        return True

    cut = {name: [row for row in rows if inside(row)] for name, rows in tables.items()}
    for name, key in _STATES.items():
        if name in cut:
            cut[name] = [*_held_at(first, tables[name], key), *cut[name]]
    return cut


def _held_at(time: datetime, rows: Sequence[Row], key: Sequence[str]) -> list[Row]:
    """What was valid then: the last row before that time, of each cluster and of these columns."""
    before = sorted((row for row in rows if row["timestamp"] < time), key=lambda row: (row["timestamp"], row["offset"]))
    return [*{(row["cluster"], *(row[name] for name in key)): row for row in before}.values()]


def at_midnight(day: date) -> datetime:
    """The beginning of a day, in UTC."""
    return datetime.combine(day, time(), UTC)


# --- one cluster ------------------------------------------------------------------------------------------------------


def _logs(page: Page, count: int, links: Sequence[tuple[str, str]]) -> None:
    """The section with the logs of clusters: how many there are, and links with names."""
    if not count:
        page.paragraph("No metadata log was analysed: run quorum-history ingest --logs and timeline.", "unknown-box")
    if not count and not links:
        return
    page.heading(2, "Clusters and their metadata logs", "logs")
    if links:
        page.links("Clusters", links)
    if len(links) < count:
        page.paragraph(
            f"{count} clusters are in the tables. report --pages writes a page for each, report --quorum NAME shows one"
            " here."
        )


def _grouped(losses: Sequence[Row]) -> list[Row]:
    """The same loss at many targets as one row: what a level cannot hold, no lower level can hold."""
    groups: dict[tuple[Any, ...], list[Row]] = {}
    for row in losses:
        key = (row["record_type"], row["effect"], row["what"], row["count"], tuple(row["examples"]))
        groups.setdefault(key, []).append(row)
    shown: list[Row] = []
    for rows in groups.values():
        names = [row["target_name"] for row in sorted(rows, key=lambda row: row["target"])]
        shown.append({**rows[0], "targets": names[0] if len(names) == 1 else f"{names[0]} to {names[-1]}"})
    return shown


def _cluster(page: Page, anchor: str, cluster: str, tables: Tables, chosen: svg.Span) -> None:
    def of(name: str) -> list[Row]:
        return [row for row in tables.get(name, ()) if row["cluster"] == cluster]

    name = names_of(tables).get(cluster)
    page.heading(2, f"Cluster {cluster} ({name})" if name else f"Cluster {cluster}", anchor, listed=False)
    if cluster not in clusters_of({name: of(name) for name in tables if name in LOG_TABLES}):
        page.paragraph("No metadata log of this cluster was analysed.", "unknown-box")
        return
    page.heading(3, "Voters and leaders")
    title = f"Voters and leaders of {cluster}"
    page.figure(title, svg.voters_and_leaders(title, of("voter_sets"), of("leaders"), chosen))
    page.table("Voters added and removed", of("voter_changes"), "offset", "timestamp", "change", "node_id",
               "directory_id", "previous_directory_id", shown=_ROWS_OF_ONE)  # fmt: skip
    page.table("Changes of voters by month", of("voter_churn"), "month", "added", "removed", "replaced",
               shown=_ROWS_OF_ONE)  # fmt: skip
    page.table("Leader epochs", of("leaders"), "leader_epoch", "leader_id", "since", "until", "start_offset", "voters",
               shown=_ROWS_OF_ONE)  # fmt: skip
    page.heading(3, "Features")
    levels = [{**row, "level_name": level_name(row["feature"], row["level"])} for row in of("feature_levels")]
    title = f"Feature levels of {cluster}"
    page.figure(title, svg.feature_steps(title, levels, lambda row: str(row["level_name"]), chosen))
    page.table("Steps of features", levels, "offset", "timestamp", "feature", "previous_level", "level_name",
               shown=_ROWS_OF_ONE)  # fmt: skip
    page.table("Upgrade readiness by the registrations in the log", [_ready(row) for row in of("log_readiness")],
               "feature", "finalized", "highest_common", "highest_anywhere", "held_back_by", "unknown_nodes", "ready",
               shown=_ROWS_OF_ONE)  # fmt: skip
    page.heading(3, "What a downgrade would lose")
    for said in _downgrade(tables, cluster, of("downgrade_losses")):
        page.paragraph(said, "unknown-box")
    if losses := of("downgrade_losses"):
        page.table("Losses by target", _grouped(losses), "targets", "record_type", "effect", "what", "count",
                   "examples", shown=_ROWS_OF_ONE)  # fmt: skip
    if verdicts := of("downgrade_verdicts"):
        page.table("Kafka's answer to a safe downgrade", _answers(verdicts), "targets", "verdict", "reason",
                   shown=_ROWS_OF_ONE)  # fmt: skip


def _ready(row: Row) -> Row:
    """A row of `log_readiness` for people."""
    texts = {
        name: [f"{node['role']} {node['node_id']}" for node in row[name]] for name in ("held_back_by", "unknown_nodes")
    }
    return {**named(row), **texts}


def _answers(verdicts: Sequence[Row]) -> list[Row]:
    """Successive targets with the same verdict and reason as one row, the highest target first."""
    shown: list[dict[str, Any]] = []
    for row in sorted(verdicts, key=lambda row: -row["target"]):
        if shown and (shown[-1]["verdict"], shown[-1]["reason"]) == (row["verdict"], row["reason"]):
            shown[-1]["targets"] = f"{row['target_name']} to {shown[-1]['last']}"
        else:
            shown.append({**row, "targets": row["target_name"], "last": row["target_name"]})
    return list(shown)


def _downgrade(tables: Tables, cluster: str, losses: Sequence[Row]) -> Iterator[str]:
    """The text instead of losses, or before them."""
    analysed = [row for row in tables.get("downgrade_analysed", ()) if row["cluster"] == cluster]
    if not analysed and not losses:
        yield "Not analysed: run quorum-history downgrade. Whether anything would be lost is unknown."
    elif analysed and analysed[0]["faults"]:
        yield f"The log has {analysed[0]['faults']} faults, so there may be more than this."
    elif not losses:
        yield f"Nothing, at any lower level, as of offset {analysed[0]['end_offset']}."
