"""What people read of a run: the lines of its summary, and its progress while it runs."""

import sys
import time
from pathlib import Path
from typing import Any

import pytest
from tests.quorum_history import clusters, looks
from tests.quorum_history.looks import look

from quorum_history.__main__ import main
from quorum_history.progress import Progress
from quorum_history.summary import Summary, lines_of_losses


def test_what_was_not_read_is_named() -> None:
    """What lies past the watermark, and lines that are no observations, have a line each, only if there are any."""
    some = Summary(clusters=2, changed_clusters=1, files=3, read_bytes=1_500_000, waiting=2, rejected_lines=1234)
    assert list(some.lines(20)) == [
        "clusters: 2, 1 of them changed; files: 3; read: 1.5 MB",
        "new records: 0; new observations: 0",
        "not read: what lies past the high watermark, of 2 clusters",
        "not read: 1,234 lines that are no observations (table rejected_lines)",
        "faults: none",
    ]
    assert not any("not read" in line for line in Summary(clusters=2).lines(20))


def test_faults_beyond_the_shown_ones_are_counted() -> None:
    """New faults come first, and those that are not shown are counted."""
    known = Summary(found=["old", "new"], new_found=["new"], failed=("records: key: 1 wrong, first: x",))
    assert list(known.lines(1))[1:] == [
        "failed check: records: key: 1 wrong, first: x (table quality)",
        "faults: 2, 1 of them new (tables faults, rejected_lines)",
        "  new",
        "  … and 1 more",
    ]
    assert list(lines_of_losses([("a", 3, ["one", "two"])], 1)) == [
        "faults: 3; clusters whose losses are not known in full: 1",
        "  cluster a: one",
        "  … and 2 more",
    ]


def test_an_ingest_reports_what_it_did_not_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The command prints what it did not read on standard output, and its progress on standard error."""
    clusters.segment(clusters.replica(tmp_path / "logs", "c", 1), 0, clusters.run(0, 20, 1))
    looks.write(tmp_path / "looks" / "a.jsonl", [look(0), {"no": "look"}])
    sources = ["--logs", str(tmp_path / "logs"), "--observations", str(tmp_path / "looks")]
    held = ["--high-watermarks", '{"c": 10}', "--all-types", "--target", str(tmp_path / "tables")]
    assert main(["ingest", *sources, *held]) == 3
    said = capsys.readouterr()
    assert "new records: 10; new observations: 1" in said.out
    assert "not read: what lies past the high watermark, of 1 clusters" in said.out
    assert "not read: 1 lines that are no observations" in said.out
    assert said.err.splitlines() == [
        "clusters looked at: 1 ",
        "records: files written: 1 ",
        "observations: files written: 1 ",
    ]


def test_progress_elsewhere_is_a_line_at_the_end(capsys: pytest.CaptureFixture[str]) -> None:
    """Without a terminal there is one line at the last step, or one per step if their number is unknown."""
    with Progress("tables", 3) as progress:
        for name in ("a", "b", "c"):
            progress.step(name)
            assert (capsys.readouterr().err == "") == (name != "c")
    with Progress("looks") as progress:
        progress.step("x", number=2)
        assert capsys.readouterr().err == "looks: 2 x\n"


def test_progress_on_a_terminal_is_a_bar(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """On a terminal a bar is drawn at the first and the last step, and between them after some time."""
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    clock = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: clock[0])
    drawn: list[Any] = []
    with Progress("tables", 4) as progress:
        for later_s in (0.0, 0.1, 0.2, 0.0):
            clock[0] += later_s
            progress.step("x")
            drawn.append(capsys.readouterr().err)
    bars = [text.count("#") for text in drawn]
    assert bars == [7, 0, 22, 30]
    assert drawn[1] == ""
    assert drawn[3] == f"\rtables: [{'#' * 30}] 4/4 x\x1b[K"
    assert capsys.readouterr().err == "\n"
