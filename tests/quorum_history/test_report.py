"""The report is one page that needs no other file, and begins with the troubles."""

import re
import time
from datetime import UTC, date, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from tests.quorum_history import fleets

from quorum_history import page as page_parts
from quorum_history import report, svg
from quorum_history.concerns import Severity, concerns

_START = datetime(2026, 1, 1, tzinfo=UTC)
_NOW = _START + timedelta(minutes=5)
_QUORUM = {"clusterID": "c", "namespace": "ns", "name": "<orders>"}


def _tables() -> dict[str, list[dict[str, Any]]]:
    def at(minutes: float) -> datetime:
        return _START + timedelta(minutes=minutes)

    def voters(*keys: tuple[int, str]) -> list[dict[str, Any]]:
        return [{"node_id": node, "directory_id": directory, "endpoints": []} for node, directory in keys]

    base = {"cluster": "abc", "kind": "segment", "leader_epoch": 1}
    return {
        "voter_sets": [
            {**base, "kind": "checkpoint", "offset": 2, "timestamp": at(0), "voters": voters((1, "AAAA"))},
            {**base, "offset": 5, "timestamp": at(5), "voters": voters((1, "AAAA"), (2, "BBBB"))},
        ],
        "voter_changes": [{**base, "offset": 5, "timestamp": at(5), "change": "added", "node_id": 2,
                           "directory_id": "BBBB", "previous_directory_id": None}],
        "leaders": [{"cluster": "abc", "leader_epoch": 1, "leader_id": 1, "start_offset": 0, "end_offset": None,
                     "since": at(1), "until": None, "voters": [1], "granting_voters": [1]}],
        "feature_levels": [{**base, "offset": 3, "timestamp": at(2), "feature": "metadata.version", "level": 30,
                            "previous_level": None}],
        "downgrade_losses": [
            {"cluster": "abc", "target": target, "target_name": name, "record_type": "PARTITION_RECORD",
             "effect": "truncate", "what": "directories", "count": 4, "examples": ["a-0"]}
            for target, name in ((7, "3.3-IV3"), (8, "3.4-IV0"))
        ],
        "spans": [{**_QUORUM, "state": state, "since": at(number), "until": at(number + 1), "seconds": 60.0}
                  for number, state in enumerate(("available", "unavailable", "unknown"))],
        "availability": [{**_QUORUM, "day": _START.date(), "available_s": 60.0, "unavailable_s": 60.0,
                          "unknown_s": 60.0, "availability": 0.5}],
        "last_looks": [{**_QUORUM, "looks": 4, "first_look": at(0), "last_look": at(3), "last_known": at(3),
                        "state": "unavailable", "unknown_reason": None}],
        "downgrade_analysed": [{"cluster": "abc", "level": 30, "end_offset": 9, "faults": 0}],
        "recoveries": [{**_QUORUM, "since": at(1), "until": None, "recovery_s": None, "unknown_s": 60.0,
                        "cause": "leader lost"}],
        "lag_percentiles": [{**_QUORUM, "node_id": 2, "role": "voter", "p50_lag_records": 0, "p95_lag_records": 10,
                             "p99_lag_records": 100, "max_lag_records": 100, "looks": 9}],
        "faults": [{"cluster": "abc", "file": "f", "position": 3, "fault": "f: position 3: torn-tail"}],
    }  # fmt: skip


def _words(text: str) -> str:
    """The text of a page without its tags and its head."""
    return re.sub("<[^>]+>", "", text[text.index("<main>") :])


@pytest.fixture
def page(tmp_path: Path) -> Path:
    """A report with every kind of row."""
    return report.write(_tables(), tmp_path, lambda: _NOW)


def test_it_is_self_contained(page: Path) -> None:
    """There is no script, and no address that a browser would fetch."""
    text = page.read_text()
    assert "<script" not in text
    fetched = re.findall(r'(?:src|href)\s*=\s*"([^"#][^"]*)"|url\((?!#)([^)]*)\)', text)
    assert not fetched
    assert text.count("<svg") == 4
    assert [path.name for path in page.parent.iterdir()] == ["index.html"]


def test_warnings_come_first_and_text_is_escaped(page: Path) -> None:
    """The warnings come before everything else, the worst one first, and names are escaped."""
    text = page.read_text()
    found = concerns(_tables(), _NOW)
    assert [(each.severity, str(each)) for each in found] == [
        (Severity.CRITICAL, "ns/<orders> has been unavailable since 2026-01-01 00:01:00"),
        (Severity.WARNING, "abc has a fault in its log: f: position 3: torn-tail"),
        (Severity.WARNING, "ns/<orders> was available for 50.000% of the known time of 2026-01-01"),
        (Severity.UNKNOWN, "ns/<orders> is unknown for 33.3% of the time that was observed"),
    ]
    assert _words(text).index("ns/&lt;orders&gt; has been unavailable") < _words(text).index("\nThe quorum\n")
    assert "<orders>" not in text


def _quiet(**last_look: Any) -> dict[str, list[dict[str, Any]]]:  # noqa: ANN401 -- columns
    """A quorum that was available during the whole observed time."""
    tables = _tables()
    look = {**tables["last_looks"][0], "state": "available", **last_look}
    day = {**tables["availability"][0], "unavailable_s": 0.0, "unknown_s": 0.0, "availability": 1.0}
    return {"last_looks": [look], "availability": [day], "spans": tables["spans"][:1]}


def _drift(*, first: float, last: float, days: int = 9) -> dict[str, Any]:
    return {**_QUORUM, "node_id": 2, "role": "voter", "known_days": days, "first_p95_lag_records": first,
            "last_p95_lag_records": last, "drift_lag_records": last - first,
            "slope_records_per_day": (last - first) / days}  # fmt: skip


@pytest.mark.parametrize(
    "tables",
    [
        {"lag_drift": [_drift(first=40.0, last=120.0)]},
        {"lag_drift": [_drift(first=4000.0, last=4200.0)]},
        {"lag_drift": [_drift(first=400.0, last=40.0)]},
        {"lag_drift": [_drift(first=0.0, last=900.0, days=6)]},
        {"lag_drift": [{**_drift(first=0.0, last=0.0, days=1), "slope_records_per_day": None}]},
        {"voter_churn": [{"cluster": "c", "month": _START.date(), "added": 9, "removed": 9, "replaced": 3}]},
    ],
)
def test_small_drifts_and_usual_churn_are_no_warning(tables: dict[str, list[dict[str, Any]]]) -> None:
    """Lag that grew little, by less than double, or within a few days is no warning; nor are three replacements."""
    assert concerns(_quiet() | tables, _NOW) == []


def test_a_verdict_stands_beside_the_losses(tmp_path: Path) -> None:
    """The page of a cluster has Kafka's answers by target, its readiness by the log, and its changes by month."""
    text = _words(report.write(fleets.troubled(), tmp_path, lambda: fleets.NOW).read_text())
    assert "4.1-IV0 (21) to 4.2-IV0 (22)" in text
    assert "controller 3001" in text
    assert "Changes of voters by month" in text
    assert "4.4-IV2 (33)" in text


def test_all_is_well_only_where_it_is_known(tmp_path: Path) -> None:
    """Only if the quorum was observed until now, without unknown time, is there nothing to warn about."""
    text = report.write(_quiet(), tmp_path, lambda: _NOW).read_text()
    assert "Nothing to warn about" in text
    assert "Observations until 2026-01-01 00:03:00 UTC" in text


@pytest.mark.parametrize(
    ("tables", "later", "said"),
    [
        (_quiet(), timedelta(days=1), "has not been looked at since 2026-01-01 00:03:00"),
        (_quiet(last_known=_START, unknown_reason="no answer"), timedelta(),
         "has not said how it is since 2026-01-01 00:00:00 (no answer)"),
        (_quiet(last_known=None), timedelta(), "has not said how it is in any look"),
        (_quiet() | {"availability": [{**_tables()["availability"][0], "unavailable_s": 0.0, "availability": 1.0}]},
         timedelta(), "is unknown for 50.0% of the time that was observed"),
        (_quiet() | {"leader_changes": [{**_QUORUM, "leader_changes": 9, "known_hours": 2.0, "changes_per_hour": 4.5}]},
         timedelta(), "flaps: its leader changed 9 times in 2.0 known hours"),
        (_quiet() | {"lag_percentiles": [{**_tables()["lag_percentiles"][0], "p95_lag_records": 5000,
                                          "p99_lag_records": 6000}]},
         timedelta(), "has a voter, 2, with a lag of 5,000 records (95 %)"),
        (_quiet() | {"service_levels": [{**_QUORUM, "month": _START.date(), "availability": 0.99, "objective": 0.999,
                                         "budget_s": 60.0, "budget_spent": 10.0, "leader_lost_s": 600.0,
                                         "majority_lost_s": 0.0, "roll_s": 0.0, "unknown_cause_s": 0.0,
                                         "unknown_s": 0.0}]},
         timedelta(), "spent 10.0 times its error budget of 2026-01 (99.9%)"),
        (_quiet() | {"lag_drift": [_drift(first=40.0, last=200.0)]}, timedelta(),
         "has a voter, 2, whose lag grows: from 40 to 200 records (95 %) in 9 known days"),
        (_quiet() | {"voter_churn": [{"cluster": "c", "month": _START.date(), "added": 4, "removed": 4,
                                      "replaced": 4}]},
         timedelta(), "replaced the disks of voters 4 times in 2026-01"),
        (_quiet() | {"rejected_lines": [{"file": "f", "position": 0, "reason": "no JSON"}]}, timedelta(),
         "Files of observations hold lines that are no observations"),
        (_quiet() | {"downgrade_analysed": [{"cluster": "abc", "level": 30, "end_offset": 9, "faults": 2}]},
         timedelta(), "what a downgrade would lose is not known in full"),
    ],
)  # fmt: skip
def test_what_is_not_known_is_a_warning(tables: Any, later: timedelta, said: str, tmp_path: Path) -> None:  # noqa: ANN401
    """Old looks, looks without an answer, unknown time, flaps, lag and rejected lines are each a warning."""
    text = report.write(tables, tmp_path, lambda: _NOW + later).read_text()
    assert said in text
    assert "Nothing to warn about" not in text


def test_an_old_look_counts_as_unknown_in_the_tiles(tmp_path: Path) -> None:
    """A quorum that was last observed a day ago, as available, is counted as unknown."""
    fresh = report.write(_quiet(), tmp_path, lambda: _NOW).read_text()
    old = report.write(_quiet(), tmp_path, lambda: _NOW + timedelta(days=1)).read_text()
    assert "<b>1</b> available" in fresh
    assert "<b>0</b> available" in old
    assert "<b>1</b> unknown" in old


def test_not_analysed_is_told_from_no_losses(tmp_path: Path) -> None:
    """Without the analysis no downgrade is reported as safe; with it, its offset is named."""
    tables = _tables()
    del tables["downgrade_losses"]
    assert "Nothing, at any lower level, as of offset 9." in report.write(tables, tmp_path).read_text()
    del tables["downgrade_analysed"]
    assert "Not analysed" in report.write(tables, tmp_path).read_text()


def test_a_fleet_of_three_hundred(tmp_path: Path) -> None:
    """The page of a large fleet is small and made in seconds: the worst twenty by name, a map, no section for each."""
    tables: dict[str, list[dict[str, Any]]] = {name: [] for name in _tables()}
    for number in range(300):
        quorum = {"clusterID": f"c{number}", "namespace": "ns", "name": f"q{number}"}
        for name, rows in _tables().items():
            for row in rows:
                ours = {"cluster": f"c{number}"} if "cluster" in row else quorum
                days = range(30) if name == "availability" else range(1)
                tables[name] += [row | ours | ({"day": row["day"] + timedelta(days=n)} if "day" in row else {})
                                 for n in days]  # fmt: skip
    begun = time.process_time()
    page = report.write(tables, tmp_path, lambda: _NOW)
    assert time.process_time() - begun < 30.0
    text = page.read_text()
    assert len(text) < 2_000_000
    assert "20 of 300" in text
    assert 'href="#c0"' not in text
    report.write(tables, tmp_path, lambda: _NOW, pages=True)
    assert len([*tmp_path.glob("cluster-*.html")]) == 300
    linked = set(re.findall(r'href="(cluster-[0-9a-f]+[.]html)"', page.read_text()))
    assert linked == {path.name for path in tmp_path.glob("cluster-*.html")}
    chosen = report.write(tables, tmp_path / "one", lambda: _NOW, quorums=["ns/q7"]).read_text()
    assert chosen.count("<h3>What a downgrade would lose</h3>") == 1


def test_a_stretch_of_time_can_be_chosen() -> None:
    """In a chosen range, rows outside it are left out; rows that reach into it, and rows without a time, stay."""
    tables = _tables()
    later = report.between(tables, _START + timedelta(minutes=2), None)
    assert [row["state"] for row in later["spans"]] == ["unavailable", "unknown"]
    assert [row["offset"] for row in later["voter_sets"]] == [2, 5], "the set that held at the beginning"
    assert [row["offset"] for row in later["voter_changes"]] == [5]
    assert [row["offset"] for row in report.between(tables, _START + timedelta(days=9), None)["feature_levels"]] == [3]
    assert later["recoveries"] == tables["recoveries"]
    assert later["faults"] == tables["faults"]
    before = report.between(tables, None, _START - timedelta(days=1))
    assert before["spans"] == before["availability"] == before["leaders"] == []


def test_rolls_and_level_steps_are_compared(tmp_path: Path) -> None:
    """The newest change is first; what was before and after it is in one cell, and what no look shows is unknown."""
    page = report.write(fleets.one(), tmp_path, lambda: fleets.NOW).read_text()
    table = page[page.index("Rolls and level steps, the newest first") :]
    rows = [re.findall(r"<td[^>]*>([^<]*)</td>", row) for row in table[: table.index("</table>")].split("<tr>")[2:]]
    assert [row[1:2] + row[3:] for row in rows] == [
        ["level step, metadata.version 25 to metadata.version 29", "0", "3,600", "100.000 %, unknown", "5, unknown",
         "0, 1, unknown"],
        ["roll, 4.3.1 to 4.4.0", "0", "3,600", "100.000 %, 100.000 %", "5, 5", "0, 1, 0"],
    ]  # fmt: skip


def test_losses_are_grouped_by_what_they_are(page: Path) -> None:
    """Levels with the same losses are one row."""
    text = page.read_text()
    assert "3.3-IV3 to 3.4-IV0" in text
    assert text.count("PARTITION_RECORD") == 1


def test_nothing_is_a_report_too(tmp_path: Path) -> None:
    """A report of empty tables shows that they are empty, and does not report that all is well."""
    text = report.write({"voter_sets": [], "leaders": []}, tmp_path).read_text()
    assert "whether any is available is unknown" in text
    assert "No metadata log was analysed" in text
    assert "Nothing to warn about" not in text


def test_figures_are_well_formed() -> None:
    """The SVG of a figure can be parsed, and its words are text, not outlines."""
    text = svg.voters_and_leaders("voters", _tables()["voter_sets"], _tables()["leaders"])
    words = "".join(element.text or "" for element in ET.fromstring(text).iter() if element.tag.endswith("text"))  # noqa: S314 -- our own
    assert "epoch 1" in words
    assert "voter" in words


@pytest.mark.parametrize("name", ["$\\frac{$", "$x$", "_$", "%"])
def test_any_name_can_be_drawn(tmp_path: Path, name: str) -> None:
    """A name that looks like a formula is written unchanged in every figure."""
    tables = _tables()
    for rows in tables.values():
        for row in rows:
            row |= {key: name for key in ("feature", "name", "cluster") if key in row}
    text = report.write(tables, tmp_path).read_text()
    assert text.count("<svg") == 4
    assert text.count(f">{name}<") >= 2


def test_a_range_ends_with_its_last_day() -> None:
    """A range includes the days before its end, and not the day that begins at its end."""
    tables = _tables()
    day = {**tables["availability"][0], "day": (_START + timedelta(days=1)).date()}
    shown = report.between({"availability": [*tables["availability"], day]}, None, _START + timedelta(days=1))
    assert [row["day"] for row in shown["availability"]] == [_START.date()]


def test_a_chosen_range_is_named_and_its_figures_keep_to_it(tmp_path: Path) -> None:
    """A chosen range is shown on the page, and its figures begin at its edge."""
    chosen = (_START + timedelta(minutes=2), None)
    text = report.write(report.between(_tables(), *chosen), tmp_path, lambda: _NOW, chosen=chosen).read_text()
    assert "Only what happened from 2026-01-01 is shown." in text
    tick = 'text-anchor="middle">01 Jan 00:01'
    assert tick not in text
    assert tick in report.write(_tables(), tmp_path, lambda: _NOW).read_text()
    assert "Only what happened" not in report.write(_tables(), tmp_path, lambda: _NOW).read_text()
    assert (
        "until the end of 2026-01-01"
        in report.write(_tables(), tmp_path, lambda: _NOW, chosen=(None, _START + timedelta(days=1))).read_text()
    )


def _page_of(cluster: str, folder: Path) -> Path:
    (page,) = (each for each in folder.glob("cluster-*.html") if f"Cluster {cluster}" in each.read_text())
    return page


def test_a_page_of_a_cluster_has_all_of_it(tmp_path: Path) -> None:
    """The page of a cluster has its warnings, availability and log, and nothing of another cluster."""
    tables = _tables()
    ours = {"clusterID": "abc", "namespace": "ns", "name": "mine"}
    for name in ("last_looks", "availability", "spans", "recoveries"):
        tables[name] += [{**row, **ours} for row in tables[name]]
    report.write(tables, tmp_path, lambda: _NOW, pages=True)
    words = _words(_page_of("abc", tmp_path).read_text())
    assert "ns/mine has been unavailable since 2026-01-01 00:01:00" in words
    assert "Voters and leaders" in words
    assert "orders" not in words


def test_a_quorum_without_a_log_has_its_page(tmp_path: Path) -> None:
    """A quorum without a log has a page with its observations, which reports that no log was analysed."""
    for options in ({"pages": True}, {"quorums": ["ns/<orders>"]}):
        report.write(_quiet(), tmp_path, lambda: _NOW, **options)
    (page,) = tmp_path.glob("cluster-*.html")
    for each in (page, tmp_path / "index.html"):
        assert "No metadata log of this cluster was analysed." in each.read_text()


def test_the_page_of_a_cluster_keeps_its_name(tmp_path: Path) -> None:
    """The name of a cluster's page does not change when other clusters come or go."""
    tables = _tables()
    report.write(tables, tmp_path, lambda: _NOW, pages=True)
    before = _page_of("abc", tmp_path)
    tables["leaders"] += [{**row, "cluster": "aaa"} for row in tables["leaders"]]
    report.write(tables, tmp_path, lambda: _NOW, pages=True)
    assert _page_of("abc", tmp_path) == before


def test_a_cluster_that_nobody_observes_is_counted(tmp_path: Path) -> None:
    """A cluster with a log and without observations is counted, and its availability is unknown."""
    assert "<b>1</b> with a log, not observed" in report.write(_tables(), tmp_path, lambda: _NOW).read_text()


def test_each_quorum_has_a_warning_before_any_has_two(tmp_path: Path) -> None:
    """Many warnings of one quorum do not hide the first one of another."""
    tables = _tables()
    days = [{**tables["availability"][0], "day": (_START + timedelta(days=n)).date()} for n in range(30)]
    tables["availability"] = [*days, {**days[0], "name": "zebra"}]
    text = report.write(tables, tmp_path, lambda: _NOW).read_text()
    assert "zebra" in text[: text.index("<details>")]


@pytest.mark.parametrize(
    ("available_s", "unavailable_s", "unknown_s", "said"),
    [
        (86400.0, 0.0, 0.0, "all day"),
        (86399.0, 1.0, 0.0, "≥ 99.9 %"),
        (86000.0, 400.0, 0.0, "≥ 99 %"),
        (80000.0, 6400.0, 0.0, "less"),
        (20000.0, 6400.0, 60000.0, "less"),
        (85000.0, 0.0, 1400.0, "partly unknown"),
        (85900.0, 0.0, 500.0, "all day"),
        (40000.0, 0.0, 46400.0, "mostly unknown"),
        (0.0, 0.0, 86400.0, "mostly unknown"),
    ],
)
def test_a_cell_never_makes_a_day_better_than_it_was(
    available_s: float, unavailable_s: float, unknown_s: float, said: str
) -> None:
    """A cell shows a known outage beside unknown time, and does not show a partly unknown day as fully unknown."""
    known_s = available_s + unavailable_s
    share = available_s / known_s if known_s else None
    row = {"available_s": available_s, "unavailable_s": unavailable_s, "unknown_s": unknown_s, "availability": share}
    assert svg.HEAT[svg.heat_class(row)][0] == said


@pytest.mark.parametrize(
    ("name", "short"),
    [
        ("ns/orders", "ns/orders"),
        ("payments/settlement-and-clearing-eu-west-007", "payments/set…-eu-west-007"),
        ("定足数" * 20, "定足数定足数…定足数定足数"),
        ("\u202egnp", "\\u202egnp"),
    ],
)
def test_a_long_name_keeps_its_begin_and_its_end(name: str, short: str) -> None:
    """A long name is shortened in the middle, because names of one team differ at their ends."""
    assert svg.shortened(name, 25) == short


def test_a_short_outage_can_be_seen() -> None:
    """An outage of a minute in a month is wide enough to see, and drawn on top."""
    (first, lost, _) = _tables()["spans"]
    after = {**first, "since": lost["until"], "until": lost["until"] + timedelta(days=30)}
    drawn = svg.states_over_time("states", [first, lost, after], ["ns/<orders>"])
    bars = re.findall(r'<rect x="[0-9.]+" y="[0-9.]+" width="([0-9.]+)" height="[0-9.]+" fill="(#[0-9A-F]+)"', drawn)
    assert [colour for _, colour in bars[:3]] == [svg.GREEN, svg.GREEN, svg.RED]
    assert float(bars[2][0]) >= 3


def test_many_elections_leave_words_that_can_be_read() -> None:
    """Labels of many elections do not overlap; the latest one is shown, and none is beyond the edge."""
    (leader,) = _tables()["leaders"]
    times = [_START + timedelta(seconds=number) for number in range(200)]
    leaders = [{**leader, "leader_epoch": n, "since": time, "until": time + timedelta(seconds=1)}
               for n, time in enumerate(times)]  # fmt: skip
    text = svg.voters_and_leaders("voters", _tables()["voter_sets"], leaders)
    labels = re.findall(r'x="([0-9.]+)"[^>]*>epoch ([0-9]+)<', text)
    places = sorted(float(x) for x, _ in labels)
    assert max(int(epoch) for _, epoch in labels) == 199
    assert all(after - before > 40 for before, after in pairwise(places))
    assert places[-1] < 960 - 40


@pytest.mark.parametrize(
    ("column", "value", "said"),
    [
        ("availability", 0.9999999, "99.999 %"),
        ("availability", 1.0, "100.000 %"),
        ("availability", 0.999, "99.900 %"),
        ("availability", None, "unknown"),
        ("until", None, "still"),
        ("last_live", None, "never"),
        ("ready", None, "unknown"),
        ("ready", False, "no"),
        ("p95_lag_records", 14400, "14,400"),
        ("offset", 14400, "14400"),
        ("recovery_s", 1234.5, "1,234"),
        ("recovery_s", 0.25, "0.25"),
        ("month", date(2026, 3, 1), "2026-03"),
        ("held_back_by", [3001, 3002], "3001, 3002"),
        ("held_back_by", [], "-"),
    ],
)
def test_a_value_reads_as_what_it_means(column: str, value: Any, said: str) -> None:  # noqa: ANN401 -- a table's value
    """A value is shown with its meaning: a missing one is named, and none is rounded up to 100 %."""
    assert page_parts.text_of(column, value) == said


def test_a_name_from_right_to_left_stays_by_itself(tmp_path: Path) -> None:
    """A right-to-left name does not turn the text after it, and a direction mark is shown as a number."""
    tables = _tables()
    for name in ("recoveries", "last_looks"):
        tables[name] = [{**row, "name": "\u05e9\u05dc\u05d5\u05dd\u202e"} for row in tables[name]]
    text = report.write(tables, tmp_path, lambda: _NOW).read_text(encoding="utf-8")
    assert "<bdi>ns/\u05e9\u05dc\u05d5\u05dd\\u202e</bdi> has been unavailable" in text
    assert "\u202e" not in text
