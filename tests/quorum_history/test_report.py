"""The report is one page that needs nothing else, and says first what is wrong."""

import re
import shutil
import subprocess
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from quorum_history import figures, report

_START = datetime(2026, 1, 1, tzinfo=UTC)
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
        "recoveries": [{**_QUORUM, "since": at(1), "until": None, "recovery_s": None, "unknown_s": 60.0}],
        "lag_percentiles": [{**_QUORUM, "node_id": 2, "role": "voter", "p50_lag_records": 0, "p95_lag_records": 10,
                             "p99_lag_records": 100, "max_lag_records": 100, "looks": 9}],
        "faults": [{"cluster": "abc", "file": "f", "position": 3, "fault": "f: position 3: torn-tail"}],
    }  # fmt: skip


@pytest.fixture
def page(tmp_path: Path) -> Path:
    """A report of everything."""
    return report.write(_tables(), tmp_path, lambda: _START)


def test_it_is_self_contained(page: Path) -> None:
    """No script, and nothing that a browser would fetch."""
    text = page.read_text()
    assert "<script" not in text
    fetched = re.findall(r'(?:src|href)\s*=\s*"([^"#][^"]*)"|url\((?!#)([^)]*)\)', text)
    assert not fetched
    assert text.count("<svg") == 4
    assert {path.name for path in page.parent.glob("*.png")} == {
        "availability.png", "lag.png", "voters-0.png", "features-0.png",
    }  # fmt: skip


def test_warnings_come_first_and_text_is_escaped(page: Path) -> None:
    """What is wrong stands before all else; names cannot become markup."""
    text = page.read_text()
    found = list(report.warnings(_tables()))
    assert found[0] == "ns/<orders> was available for 50.000% of the known time of 2026-01-01"
    assert len(found) == 3
    assert text.index("ns/&lt;orders&gt; was available") < text.index("<h2>")
    assert "<orders>" not in text


def test_losses_are_grouped_by_what_they_are(page: Path) -> None:
    """One row for all the levels that lose the same."""
    text = page.read_text()
    assert "3.3-IV3 to 3.4-IV0" in text
    assert text.count("PARTITION_RECORD") == 1


def test_nothing_is_a_report_too(tmp_path: Path) -> None:
    """Empty tables are said to be empty."""
    text = report.write({"voter_sets": [], "leaders": []}, tmp_path).read_text()
    assert "Nothing to warn about" in text


def test_figures_are_well_formed() -> None:
    """Their SVG parses, and their words are words, not outlines."""
    text = figures.svg(figures.voters_and_leaders(_tables()["voter_sets"], _tables()["leaders"]))
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
    assert f">{name}<" in text or f"{name}</text>" in text


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
