"""The report is one page that needs nothing else, and says first what is wrong."""

import re
import shutil
import subprocess
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

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


@pytest.fixture
def page(tmp_path: Path) -> Path:
    """A report of everything."""
    return report.write(_tables(), tmp_path, lambda: _NOW)


def test_it_is_self_contained(page: Path) -> None:
    """No script, and nothing that a browser would fetch."""
    text = page.read_text()
    assert "<script" not in text
    fetched = re.findall(r'(?:src|href)\s*=\s*"([^"#][^"]*)"|url\((?!#)([^)]*)\)', text)
    assert not fetched
    assert text.count("<svg") == 4
    assert [path.name for path in page.parent.iterdir()] == ["index.html"]


def test_warnings_come_first_and_text_is_escaped(page: Path) -> None:
    """What is wrong stands before all else, the worst of it first; names cannot become markup."""
    text = page.read_text()
    found = concerns(_tables(), _NOW)
    assert [(each.severity, str(each)) for each in found] == [
        (Severity.CRITICAL, "ns/<orders> has been unavailable since 2026-01-01 00:01:00"),
        (Severity.WARNING, "abc has a fault in its log: f: position 3: torn-tail"),
        (Severity.WARNING, "ns/<orders> was available for 50.000% of the known time of 2026-01-01"),
        (Severity.UNKNOWN, "ns/<orders> is unknown for 33.3% of the time that was observed"),
    ]
    assert text.index("ns/&lt;orders&gt; has been unavailable") < text.index("<h2>")
    assert "<orders>" not in text


def _quiet(**last_look: Any) -> dict[str, list[dict[str, Any]]]:  # noqa: ANN401 -- columns
    """A quorum that was available all the time that it was looked at."""
    tables = _tables()
    look = {**tables["last_looks"][0], "state": "available", **last_look}
    day = {**tables["availability"][0], "unavailable_s": 0.0, "unknown_s": 0.0, "availability": 1.0}
    return {"last_looks": [look], "availability": [day], "spans": tables["spans"][:1]}


def test_all_is_well_only_where_it_is_known(tmp_path: Path) -> None:
    """Looked at until now, with nothing unknown: only then is there nothing to warn about."""
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
                                         "majority_lost_s": 0.0, "unknown_s": 0.0}]},
         timedelta(), "spent 10.0 times its error budget of 2026-01 (99.9%)"),
        (_quiet() | {"rejected_lines": [{"file": "f", "position": 0, "reason": "no JSON"}]}, timedelta(),
         "Files of observations hold lines that are no observations"),
        (_quiet() | {"downgrade_analysed": [{"cluster": "abc", "level": 30, "end_offset": 9, "faults": 2}]},
         timedelta(), "what a downgrade would lose is not known in full"),
    ],
)  # fmt: skip
def test_what_is_not_known_is_a_warning(tables: Any, later: timedelta, said: str, tmp_path: Path) -> None:  # noqa: ANN401
    """Old looks, looks without an answer, unknown time, flaps, lag, rejected lines: none of it is nothing."""
    text = report.write(tables, tmp_path, lambda: _NOW + later).read_text()
    assert said in text
    assert "Nothing to warn about" not in text


def test_an_old_look_counts_as_unknown_in_the_tiles(tmp_path: Path) -> None:
    """A quorum that was available when it was last seen, a day ago, is not counted as available."""
    fresh = report.write(_quiet(), tmp_path, lambda: _NOW).read_text()
    old = report.write(_quiet(), tmp_path, lambda: _NOW + timedelta(days=1)).read_text()
    assert "<b>1</b>available" in fresh
    assert "<b>0</b>available" in old
    assert "<b>1</b>unknown" in old


def test_not_analysed_is_told_from_no_losses(tmp_path: Path) -> None:
    """Without the analysis, nothing is said to be safe; with it, its offset is named."""
    tables = _tables()
    del tables["downgrade_losses"]
    assert "Nothing, at any lower level, as of offset 9." in report.write(tables, tmp_path).read_text()
    del tables["downgrade_analysed"]
    assert "Not analysed" in report.write(tables, tmp_path).read_text()


def test_a_fleet_of_three_hundred(tmp_path: Path) -> None:
    """One small page in seconds: the worst twenty by name, a map of all, no section for each."""
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
    assert 'href="cluster-299.html"' in page.read_text()
    chosen = report.write(tables, tmp_path / "one", lambda: _NOW, quorums=["ns/q7"]).read_text()
    assert chosen.count("<h3>What a downgrade would lose</h3>") == 1


def test_a_stretch_of_time_can_be_chosen() -> None:
    """What lies outside is left out, what reaches into it stays, and what has no time too."""
    tables = _tables()
    later = report.between(tables, _START + timedelta(minutes=2), None)
    assert [row["state"] for row in later["spans"]] == ["unavailable", "unknown"]
    assert [row["offset"] for row in later["voter_sets"]] == [5]
    assert later["recoveries"] == tables["recoveries"]
    assert later["faults"] == tables["faults"]
    before = report.between(tables, None, _START - timedelta(days=1))
    assert before["spans"] == before["availability"] == before["leaders"] == []


def test_losses_are_grouped_by_what_they_are(page: Path) -> None:
    """One row for all the levels that lose the same."""
    text = page.read_text()
    assert "3.3-IV3 to 3.4-IV0" in text
    assert text.count("PARTITION_RECORD") == 1


def test_nothing_is_a_report_too(tmp_path: Path) -> None:
    """Empty tables are said to be empty, which is no reason to be content."""
    text = report.write({"voter_sets": [], "leaders": []}, tmp_path).read_text()
    assert "whether any is available is unknown" in text
    assert "No metadata log was analysed" in text
    assert "Nothing to warn about" not in text


def test_figures_are_well_formed() -> None:
    """Their SVG parses, and their words are words, not outlines."""
    text = svg.voters_and_leaders("voters", _tables()["voter_sets"], _tables()["leaders"])
    words = "".join(element.text or "" for element in ET.fromstring(text).iter() if element.tag.endswith("text"))  # noqa: S314 -- our own
    assert "epoch 1" in words
    assert "voter" in words


@pytest.mark.parametrize("name", ["$\\frac{$", "$x$", "_$", "%"])
def test_any_name_can_be_drawn(tmp_path: Path, name: str) -> None:
    """A feature or quorum whose name looks like a formula is written as it is, in every figure."""
    tables = _tables()
    for rows in tables.values():
        for row in rows:
            row |= {key: name for key in ("feature", "name", "cluster") if key in row}
    text = report.write(tables, tmp_path).read_text()
    assert text.count("<svg") == 4
    assert text.count(f">{name}<") >= 2


@pytest.mark.full
def test_a_real_browser_shows_it(page: Path) -> None:
    """A headless browser lays the page out, with its warnings and its figures."""
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    assert browser, "install a browser to look at the report (Debian: chromium)"
    command = [browser, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={page.parent / 'profile'}"]
    shot = page.parent / "shot.png"
    done = subprocess.run(
        [*command, "--window-size=1200,2000", f"--screenshot={shot}", page.as_uri()],
        capture_output=True,
        timeout=100,
        check=False,
    )
    assert done.returncode == 0
    assert shot.stat().st_size > 20_000, "a page with figures on it"
    dumped = subprocess.run(
        [*command, "--dump-dom", page.as_uri()], capture_output=True, timeout=100, check=True, text=True
    )
    assert dumped.stdout.count("<svg") == 4
