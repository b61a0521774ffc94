"""Figures of whole runs, in CPU seconds of all processes: a fleet of small clusters, and one log of growing size.

`BENCH_CLUSTERS` (300) and `BENCH_SIZES_MB` (100,500,1000,2000) choose other sizes. If `BENCH_OUTPUT` names a folder,
the growth is drawn there as `history-growth.svg`. `BENCH_BESIDE` names a checkout of another version, set up with `make
setup`: its commands then process the same data, for at most `BENCH_LIMIT_S` (300) each.
"""

import ctypes
import math
import os
import shutil
import signal
import subprocess
from contextlib import suppress
from itertools import pairwise
from pathlib import Path

import pytest
from tests.kraftlog import large
from tests.quorum_history import clusters, looks
from tests.quorum_history.looks import look
from tests.quorum_history.versions import LIMIT_S, SessionCpu, Version, children_s, load, versions

pytestmark = [pytest.mark.bench, pytest.mark.timeout(14_400)]

_CLUSTERS = int(os.environ.get("BENCH_CLUSTERS", "300"))
_SIZES_MB = [int(size) for size in os.environ.get("BENCH_SIZES_MB", "100,500,1000,2000").split(",")]
_SEGMENT_BYTES = 1 << 20
_PR_SET_CHILD_SUBREAPER = 36
_HOURS = 24


def _cpu_s(version: Version, *arguments: str) -> float:
    """CPU seconds of a command and of every process that it leaves behind, such as Spark's Java and Python workers.

    Infinite for a command that failed or did not end within its limit; for `this version` both are errors.
    """
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    before_s = children_s()
    command = [version.python, "-m", "quorum_history", *arguments]
    with subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=version.environment, cwd=version.operator,
        start_new_session=True,
    ) as process, SessionCpu(process.pid) as seen:  # fmt: skip
        try:
            _, said = process.communicate(timeout=version.limit_s)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            said = b"did not end"
    with suppress(ChildProcessError):
        while True:
            os.wait()
    if process.returncode not in {0, 3}:
        assert not version.measured, said.decode(errors="replace")[-2000:]
        print(f"  {version.name}, {arguments[0]}: {said.decode(errors='replace').strip()[-200:]}")
        return math.inf
    return max(children_s() - before_s, seen.seconds)


def _compile(version: Version, place: Path) -> None:
    """Compiles the decoder, which happens once per machine."""
    clusters.segment(clusters.replica(place / "logs", "c", 1), 0, clusters.run(0, 3, 1))
    _cpu_s(version, "ingest", "--logs", str(place / "logs"), "--target", str(place / "tables"))


def _told(seconds: float) -> str:
    """CPU seconds as text."""
    return f"{seconds:.1f} CPU s" if math.isfinite(seconds) else f"none within {LIMIT_S:.0f} s"


@pytest.mark.parametrize("version", versions(), ids=lambda version: version.name)
def test_a_fleet(tmp_path: Path, version: Version) -> None:
    """Ingest of a fleet, a second ingest without news, its tables and its page."""
    logs, target = tmp_path / "logs", tmp_path / "tables"
    _compile(version, tmp_path / "small")
    template = tmp_path / "template.log"
    records = large.write_log(template, _SEGMENT_BYTES)
    content = template.read_bytes()
    for number in range(_CLUSTERS):
        for node in (1, 2, 3):
            clusters.segment(clusters.replica(logs, f"c{number}", node), 0, content)
        minutes = range(_HOURS * 60)
        looks.write(tmp_path / "looks" / f"{number}.jsonl", (look(60 * at, name=f"q{number}") for at in minutes))
    ingest = ("ingest", "--logs", str(logs), "--observations", str(tmp_path / "looks"), "--target", str(target))
    print(f"\n{version.name}: {_CLUSTERS} clusters of 3 replicas, {records:,} records each; load {load()}")
    first_s = _cpu_s(version, *ingest)
    files = len([*target.rglob("*.parquet")])
    print(f"ingest: {_told(first_s)}, {files} files (goals: 60, 50)")
    if not math.isfinite(first_s):
        return
    print(f"again: {_told(_cpu_s(version, *ingest))} (goal: 10)")
    for command in ("timeline", "observe"):
        print(f"{command}: {_told(_cpu_s(version, command, '--target', str(target)))}")
    report_s = _cpu_s(version, "report", "--target", str(target), "--output", str(tmp_path / "page"))
    page = tmp_path / "page" / "index.html"
    size = page.stat().st_size if page.exists() else 0
    print(f"report: {_told(report_s)}, {size / 1e6:.2f} MB (goals: 30 s, 2 MB)")


@pytest.mark.parametrize("version", versions(), ids=lambda version: version.name)
def test_one_log_of_growing_size(tmp_path: Path, version: Version) -> None:
    """Ingest with every timeline, and the analysis of a downgrade, for logs of growing size."""
    both: list[tuple[int, float, float]] = []
    _compile(version, tmp_path / "small")
    print(f"\n{version.name}; goals for 1000 MB: 60 for ingest and timeline together, 60 for downgrade")
    for size_mb in _SIZES_MB:
        home = tmp_path / str(size_mb)
        folder = clusters.replica(home / "logs", "c", 1)
        records = large.write_log(folder / f"{0:020d}.log", size_mb * 1_000_000)
        logs, target = ("--logs", str(home / "logs")), ("--target", str(home / "tables"))
        ingest_s = _cpu_s(version, "ingest", *logs, *target)
        timeline_s = _cpu_s(version, "timeline", *target)
        downgrade_s = _cpu_s(version, "downgrade", *logs, *target)
        print(
            f"{size_mb} MB, {records:,} records: ingest {_told(ingest_s)}, timeline {_told(timeline_s)}, downgrade"
            f" {_told(downgrade_s)}; load {load()}"
        )
        shutil.rmtree(home)
        both.append((size_mb, ingest_s + timeline_s, downgrade_s))
        if not math.isfinite(ingest_s + timeline_s + downgrade_s):
            break
    for before, after in pairwise(both):
        added_mb = after[0] - before[0]
        per_gb = [1000 * (after[n] - before[n]) / added_mb for n in (1, 2)]
        print(f"from {before[0]} to {after[0]} MB: {per_gb[0]:.1f} and {per_gb[1]:.1f} CPU s a GB")
    if (output := os.environ.get("BENCH_OUTPUT")) and version.measured:
        (Path(output) / "history-growth.svg").write_text(_plot(both))


def _plot(points: list[tuple[int, float, float]]) -> str:
    """Draws CPU seconds over megabytes; the goal is a straight line."""
    width, height, margin = 640, 360, 50
    most_mb, most_s = points[-1][0], max(max(point[1:]) for point in points)

    def place(size_mb: float, seconds: float) -> str:
        x = margin + size_mb / most_mb * (width - 2 * margin)
        return f"{x:.1f} {height - margin - seconds / most_s * (height - 2 * margin):.1f}"

    lines = "".join(
        f'<path d="M{" L".join(place(point[0], point[n]) for point in points)}" fill="none" stroke="{colour}"/>'
        + "".join(f'<circle {_at(place(point[0], point[n]))} r="3" fill="{colour}"/>' for point in points)
        + f'<text x="{margin + 16}" y="{margin + 18 * n}" fill="{colour}">{name}</text>'
        for n, name, colour in ((1, "ingest and timelines", "#0072B2"), (2, "downgrade", "#D55E00"))
    )
    paper = f'<rect width="{width}" height="{height}" fill="#fff"/>'
    axes = f'{paper}<path d="M{margin} {margin}V{height - margin}H{width - margin}" fill="none" stroke="#222"/>'
    ends = "".join(
        f'<text x="{place(point[0], 0).split()[0]}" y="{height - margin + 18}" text-anchor="middle">{point[0]}</text>'
        for point in points
    )
    ends += (
        f'<text x="{width / 2}" y="{height - 10}" text-anchor="middle">MB of metadata log</text>'
        f'<text x="{margin}" y="{margin - 12}">{most_s:.0f} CPU seconds</text>'
    )
    box = f'viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
    return f'<svg xmlns="http://www.w3.org/2000/svg" {box} font-family="sans-serif">{axes}{lines}{ends}</svg>\n'


def _at(place: str) -> str:
    x, y = place.split()
    return f'cx="{x}" cy="{y}"'
