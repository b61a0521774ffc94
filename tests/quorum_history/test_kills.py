"""kill -9 of every command that writes something: a rerun ends with the tables and pages of an undisturbed run.

In between, a reader finds each computed table either old or new, and never a part of it. The commands run as processes
of their own, and their whole process group is killed: after a share of their undisturbed duration, or shortly after the
first change in the folder of the tables. Each test prints its seed; `KILLS_SEED` repeats it.
"""

import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Self

import pyarrow as pa
import pytest
from pyarrow import dataset, parquet
from pyspark.sql.pandas.types import from_arrow_schema
from tests.quorum_history import clusters, looks
from tests.quorum_history.killed import Killed, dying
from tests.quorum_history.looks import look
from tests.quorum_history.test_report import _tables as tables_of_a_page

from quorum_history import delta, jobs
from quorum_history.__main__ import main
from quorum_history.catalogue import BY_NAME
from quorum_history.sink import OBSERVATIONS, RECORDS, published
from quorum_history.state import load
from quorum_history.store import RETIRED, STAGED, Store

_OPERATOR = Path(__file__).resolve().parents[2] / "operator"
_FEW, _MANY = 1, 10
_DEADLINE_S = 1500.0
_WRITTEN_AT = re.compile(rb"Made \d{4}-\d\d-\d\d \d\d:\d\d UTC")
Snapshot = dict[str, list[str]]


@pytest.fixture
def rng() -> random.Random:
    """A random generator whose seed is printed."""
    seed = int(os.environ.get("KILLS_SEED") or random.SystemRandom().randrange(10**6))
    print(f"KILLS_SEED={seed}")  # noqa: T201 -- to repeat it
    return random.Random(seed)


def _rows(place: Path, name: str) -> list[str] | None:
    """The rows of a table that a reader finds, None if there is no table; rows have no order."""
    store = Store(str(place))
    if name not in {RECORDS, OBSERVATIONS}:
        rows: Any = jobs.derived(store, name)
        return None if rows is None else sorted(map(str, rows))
    state = load(store)
    folders = [batch.folder for batch in state.live(name)] if state else []
    files = [store.path(name, folder, file) for folder in folders for file in store.names(name, folder)]
    return sorted(str(row) for file in files for row in parquet.read_table(file).to_pylist())


def _snapshot(place: Path) -> Snapshot:
    found = {name: _rows(place, name) for name in BY_NAME}
    return {name: rows for name, rows in found.items() if rows is not None}


def _files(place: Path) -> set[str]:
    """Every file except the accounts of earlier commits, of which a killed run may leave one more."""
    assert len(list((place / "ingest").glob("*"))) <= 3
    return {str(path.relative_to(place)) for path in place.rglob("*") if path.parent.name != "ingest"}


def _published(place: Path) -> int:
    """The number of records that count, when the tables beside them agree."""
    store = Store(str(place))
    state = load(store)
    if state is None or published(store, "rejected_lines") != state.number:
        return -1
    return sum(batch.rows for batch in state.live(RECORDS))


class Running:
    """A command in a process group of its own."""

    def __init__(self, arguments: list[str]) -> None:
        """Starts the command."""
        self._process = subprocess.Popen(
            [sys.executable, "-m", "quorum_history", *arguments],
            cwd=_OPERATOR,
            env={**os.environ, "PYTHONPATH": str(_OPERATOR)},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )

    def __enter__(self) -> Self:
        """Returns itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Ends the process group."""
        self.kill()

    def kill(self) -> None:
        """Kills the whole group at once."""
        with suppress(ProcessLookupError):  # the command and its children have ended
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()

    def ended(self) -> int:
        """Its exit code, after it ended by itself."""
        return self._process.wait(_DEADLINE_S)

    def wait(self, seconds: float) -> bool:
        """Whether it still runs after this time."""
        try:
            self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            return True
        return False

    def until(self, condition: Callable[[], bool]) -> None:
        """Waits until it holds, or the process has ended."""
        deadline = time.monotonic() + _DEADLINE_S
        while not condition() and self._process.poll() is None:
            assert time.monotonic() < deadline
            time.sleep(0.002)


@dataclass(frozen=True)
class Command:
    """A command on existing tables: `base` is copied before it, and `expected` is its result."""

    arguments: Callable[[Path], list[str]]
    base: Path
    before: Snapshot
    expected: Snapshot
    expected_files: set[str]
    takes_s: float

    def killed(self, target: Path, rng: random.Random) -> bool:
        """Runs the command and kills it at a random time; returns whether it still ran."""
        with Running(self.arguments(target)) as running:
            if rng.random() < 0.5 and self.takes_s:
                return running.wait(rng.uniform(0.0, self.takes_s))
            before = _written(target)
            running.until(lambda: _written(target) != before)
            return running.wait(rng.choice([0.0, rng.uniform(0.0, 0.1), rng.uniform(0.0, 1.0)]))


def _written(target: Path) -> set[tuple[str, int]]:
    """The files below a folder with their times; files that disappear meanwhile are left out."""
    found = set()
    for folder, folders, names in os.walk(target):
        for name in [*folders, *names]:
            try:
                found.add((f"{folder}/{name}", os.lstat(f"{folder}/{name}").st_mtime_ns))
            except OSError:
                continue
    return found


def _prepared(
    home: Path, arguments: Callable[[Path], list[str]], base: Path, *, timed: bool, codes: tuple[int, ...] = (0,)
) -> Command:
    """Runs a command undisturbed, in this process, or in its own process if its duration matters."""
    target = home / "undisturbed"
    shutil.copytree(base, target)
    begun = time.monotonic()
    if timed:
        with Running(arguments(target)) as running:
            assert running.ended() in codes
    else:
        assert main(arguments(target)) in codes
    return Command(
        arguments=arguments,
        base=base,
        before=_snapshot(base),
        expected=_snapshot(target),
        expected_files=_files(target),
        takes_s=time.monotonic() - begun if timed else 0.0,
    )


def _check_kills(command: Command, home: Path, rng: random.Random, kills: int, *, form: str = "parquet") -> None:
    """Kills the command this often, sometimes twice in a row: readers find whole tables, and a rerun completes them."""
    struck = begun = 0
    for number in range(kills):
        target = home / f"disturbed-{number}"
        shutil.copytree(command.base, target)
        for _ in range(1 + (number % 3 == 1)):
            begun += 1
            struck += command.killed(target, rng)
            for name, rows in _snapshot(target).items():
                assert rows in (command.before.get(name), command.expected.get(name)), f"{name} is neither old nor new"
        assert main(command.arguments(target)) in {0, 3}
        assert _snapshot(target) == command.expected
        if form == "parquet":
            assert _files(target) == command.expected_files, "nothing is left of the killed runs"
    _check_struck(struck, begun)


def _check_struck(struck: int, begun: int) -> None:
    """At least one of ten runs was killed before its end; otherwise the test shows nothing."""
    print(f"{struck} of {begun} runs were killed before their end")  # noqa: T201 -- what the test is worth
    assert struck or begun < _MANY, "no run was killed before its end: repeat it with another KILLS_SEED"


# --- commands without Spark -------------------------------------------------------------------------------------------


def _grow(home: Path, first: int, end: int) -> None:
    """More records of two clusters, the second with a torn tail, and more looks."""
    for name in ("a", "b"):
        folder = clusters.replica(home / "logs", name, 1)
        clusters.segment(folder, first, clusters.run(first, end, 1 + first) + b"\0" * (30 if name == "b" else 0))
    looks.write(
        home / "looks" / f"{first}.jsonl", [*(look(300 * number) for number in range(first, end)), {"no": "look"}]
    )


def _ingest(home: Path) -> Callable[[Path], list[str]]:
    sources = ["--logs", str(home / "logs"), "--observations", str(home / "looks"), "--all-types"]
    return lambda target: ["ingest", *sources, "--target", str(target)]


@pytest.fixture
def base(tmp_path: Path) -> Path:
    """Tables of logs that have grown since."""
    _grow(tmp_path, 0, 20)
    assert main(_ingest(tmp_path)(tmp_path / "base")) == 3
    _grow(tmp_path, 20, 400)
    return tmp_path / "base"


_SHARES = [_FEW, pytest.param(_MANY, marks=pytest.mark.full)]


@pytest.mark.timeout(3600)
@pytest.mark.parametrize("kills", _SHARES)
def test_ingest(base: Path, tmp_path: Path, rng: random.Random, kills: int) -> None:
    """Records, observations, faults and rejected lines."""
    command = _prepared(tmp_path, _ingest(tmp_path), base, timed=True, codes=(0, 3))
    assert len(command.expected["records"]) == 800
    _check_kills(command, tmp_path, rng, kills)


@pytest.mark.timeout(3600)
@pytest.mark.parametrize("kills", _SHARES)
def test_a_compaction(tmp_path: Path, rng: random.Random, kills: int) -> None:
    """The thirteenth commit, after which the small batches are merged."""
    for number in range(12):
        _grow(tmp_path, 10 * number, 10 * number + 10)
        assert main(_ingest(tmp_path)(tmp_path / "base")) in {0, 3}
    _grow(tmp_path, 120, 130)
    command = _prepared(tmp_path, _ingest(tmp_path), tmp_path / "base", timed=kills > _FEW, codes=(0, 3))
    assert len(_files(tmp_path / "undisturbed")) < len(_files(tmp_path / "base"))
    _check_kills(command, tmp_path, rng, kills)


@pytest.mark.timeout(3600)
@pytest.mark.parametrize("kills", _SHARES)
def test_prune(base: Path, tmp_path: Path, rng: random.Random, kills: int) -> None:
    """Removal of observations before a day."""
    assert main(_ingest(tmp_path)(base)) in {0, 3}
    command = _prepared(
        tmp_path, lambda target: ["prune", "--target", str(target), "--before", "2026-01-02"], base, timed=kills > _FEW
    )
    assert 0 < len(command.expected["observations"]) < len(command.before["observations"])
    _check_kills(command, tmp_path, rng, kills)


@pytest.mark.timeout(3600)
@pytest.mark.parametrize("kills", _SHARES)
def test_a_running_ingest(base: Path, tmp_path: Path, rng: random.Random, kills: int) -> None:
    """A continuous ingest is killed while the logs grow, started again, and ended by a signal."""
    arguments, struck = [*_ingest(tmp_path)(base), "--continuous", "0.2"], 0
    for number in range(kills):
        _grow(tmp_path, 400 + 50 * number, 450 + 50 * number)
        before = _written(base)
        with Running(arguments) as running:
            if number % 2 == 0:
                running.until(lambda before=before: _written(base) != before)  # type: ignore[misc]
            struck += running.wait(rng.uniform(0.0, 1.5))
    _check_struck(struck, kills)
    end = 400 + 50 * kills + 10
    _grow(tmp_path, end - 10, end)
    with Running(arguments) as running:
        running.until(lambda: _published(base) == 2 * end)
        os.killpg(running._process.pid, signal.SIGTERM)
        assert running.ended() in {0, 3}
    assert main(_ingest(tmp_path)(tmp_path / "undisturbed")) == 3
    assert _snapshot(base) == _snapshot(tmp_path / "undisturbed")


@pytest.mark.timeout(3600)
@pytest.mark.parametrize("kills", _SHARES)
def test_report(tmp_path: Path, rng: random.Random, kills: int) -> None:
    """Every page is complete, and at the end equals the undisturbed one, except the minute of its creation."""
    store = Store(str(tmp_path / "tables"))
    for name, rows in tables_of_a_page().items():
        store.folder(name)
        parquet.write_table(pa.Table.from_pylist(rows), store.path(name, "part-00000.parquet"))

    def arguments(output: Path) -> list[str]:
        return ["report", "--target", store.place, "--output", str(output), "--pages"]

    def pages(output: Path) -> dict[str, bytes]:
        return {path.name: _WRITTEN_AT.sub(b"", path.read_bytes()) for path in output.glob("[!.]*")}

    begun = time.monotonic()
    with Running(arguments(tmp_path / "undisturbed")) as running:
        assert running.ended() == 0
    takes_s, expected = time.monotonic() - begun, pages(tmp_path / "undisturbed")
    assert [name.partition("-")[0] for name in sorted(expected)] == ["cluster", "cluster", "index.html"]
    disturbed, struck = tmp_path / "disturbed", 0
    for _ in range(kills):
        shutil.rmtree(disturbed, ignore_errors=True)
        with Running(arguments(disturbed)) as running:
            if rng.random() < 0.5:
                running.until(disturbed.exists)
                struck += running.wait(0.0)
            else:
                struck += running.wait(rng.uniform(0.0, takes_s))
        for name, page in pages(disturbed).items():
            assert page == expected[name]
        assert main(arguments(disturbed)) == 0
        assert pages(disturbed) == expected
        assert {path.name for path in disturbed.iterdir()} == set(expected)
    _check_struck(struck, kills)


@pytest.mark.timeout(1800)
def test_a_run_that_is_killed_lets_go_of_the_tables(
    base: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """While an ingest runs a second one is refused; after it is killed the next one gets the tables."""
    with Running([*_ingest(tmp_path)(base), "--continuous", "600"]) as running:
        running.until(lambda: _published(base) == 800)
        assert running.wait(0.1), "it holds the tables"
        assert main(_ingest(tmp_path)(base)) == 1
        assert "another ingest writes here" in capsys.readouterr().err
    _grow(tmp_path, 400, 420)
    assert main(_ingest(tmp_path)(base)) in {0, 3}
    assert main(_ingest(tmp_path)(tmp_path / "undisturbed")) == 3
    assert _snapshot(base) == _snapshot(tmp_path / "undisturbed")


# --- commands on Spark ------------------------------------------------------------------------------------------------


@pytest.mark.timeout(7200)
@pytest.mark.parametrize("kills", _SHARES)
@pytest.mark.parametrize("form", ["parquet", pytest.param("delta", marks=pytest.mark.full)])
@pytest.mark.parametrize("name", ["timeline", pytest.param("observe", marks=pytest.mark.full), "downgrade"])
@pytest.mark.usefixtures("spark")
def test_a_command_on_spark(base: Path, tmp_path: Path, rng: random.Random, name: str, form: str, kills: int) -> None:
    """The computed tables and `quality`, which exist already for fewer records and looks."""

    def arguments(target: Path) -> list[str]:
        more = ["--logs", str(tmp_path / "logs")] if name == "downgrade" else []
        return [name, "--target", str(target), "--format", form, *more]

    assert main(arguments(base)) in {0, 3}
    _grow(tmp_path, 400, 420)
    assert main(_ingest(tmp_path)(base)) in {0, 3}
    command = _prepared(tmp_path, arguments, base, timed=kills > _FEW, codes=(0, 3))
    assert any(command.before[each] != command.expected[each] for each in command.expected)
    _check_kills(command, tmp_path, rng, kills, form=form)


def _page(target: Path) -> Path:
    """The folder of the page that belongs to these tables."""
    return target.parent / f"{target.name}-page"


@pytest.mark.full
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("kills", [_FEW, _MANY])
@pytest.mark.usefixtures("spark")
def test_refresh(base: Path, tmp_path: Path, rng: random.Random, kills: int) -> None:
    """All tables and the page, from logs and looks that have grown since the last run."""
    sources = ["--logs", str(tmp_path / "logs"), "--observations", str(tmp_path / "looks")]

    def arguments(target: Path) -> list[str]:
        return ["refresh", *sources, "--target", str(target), "--output", str(_page(target))]

    base = tmp_path / "refreshed"
    assert main(arguments(base)) in {0, 3}
    _grow(tmp_path, 400, 420)
    command = _prepared(tmp_path, arguments, base, timed=kills > _FEW, codes=(0, 3))
    assert {"records", "leaders", "spans", "downgrade_analysed", "quality"} <= set(command.expected)
    _check_kills(command, tmp_path, rng, kills)
    for page in (path / "index.html" for path in tmp_path.glob("disturbed-*-page")):
        undisturbed = _WRITTEN_AT.sub(b"", (_page(tmp_path / "undisturbed") / "index.html").read_bytes())
        assert _WRITTEN_AT.sub(b"", page.read_bytes()) == undisturbed


@pytest.mark.full
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("kills", [_FEW, _MANY])
@pytest.mark.usefixtures("spark")
def test_demo(tmp_path: Path, rng: random.Random, kills: int) -> None:
    """A killed demonstration has whole tables, is not mixed with another one, and is completed by `refresh`."""
    struck = 0
    for number in range(kills):
        output = tmp_path / str(number)
        with Running(["demo", "--output", str(output)]) as running:
            running.until(lambda output=output: (output / "tables").exists())  # type: ignore[misc]
            struck += running.wait(rng.uniform(0.0, 40.0))
        _snapshot(output / "tables")
        assert main(["demo", "--output", str(output)]) == 2
        sources = ["--logs", str(output / "logs"), "--observations", str(output / "observations")]
        results = ["--target", str(output / "tables"), "--output", str(output / "page")]
        assert main(["refresh", *sources, *results]) == 0
        tables = _snapshot(output / "tables")
        assert (len(tables["last_looks"]), len(tables["downgrade_analysed"])) == (3, 3)
        assert (output / "page" / "index.html").read_text().endswith("</html>\n")
    _check_struck(struck, kills)


# --- every step of writing a table ------------------------------------------------------------------------------------


class Frame:
    """Writes as Spark does: first into a temporary folder, then under its final name."""

    def __init__(self, rows: pa.Table) -> None:
        """Takes the rows of a table."""
        self._rows = rows
        self.write = self
        self.schema = from_arrow_schema(rows.schema)

    def mapInArrow(self, function: Any, _: str) -> Self:  # noqa: ANN401, N802 -- as Spark has it
        """The rows of a task over these, one batch each."""
        made = function(iter(self._rows.to_batches(max_chunksize=1)))
        return type(self)(pa.Table.from_batches(list(made)))

    def collect(self) -> list[dict[str, Any]]:
        """Every row."""
        rows: list[dict[str, Any]] = self._rows.to_pylist()
        return rows

    def coalesce(self, _: int) -> Self:
        """One file."""
        return self

    def mode(self, _: str) -> Self:
        """Replace."""
        return self

    def parquet(self, place: str) -> None:
        """As `DataFrameWriter.parquet`."""
        folder = Path(place, "_temporary", "0")
        folder.mkdir(parents=True)
        parquet.write_table(self._rows, folder / "part-00000-a-c000.snappy.parquet")
        (folder / "part-00000-a-c000.snappy.parquet").rename(Path(place, "part-00000-a-c000.snappy.parquet"))
        shutil.rmtree(folder.parent)
        Path(place, "_SUCCESS").touch()


def _table(*offsets: int) -> pa.Table:
    numbers = pa.array(offsets, pa.int64())
    return pa.table({"cluster": ["c"] * len(offsets), "leader_epoch": numbers, "offset": numbers})


@pytest.mark.parametrize("after", ["parquet", "delta"])
@pytest.mark.parametrize("before", ["nothing", "parquet", "delta"])
def test_a_table_at_every_step_of_its_writing(tmp_path: Path, before: str, after: str) -> None:
    """After any last step, a reader finds the old table or the new one, and a rerun writes the new one."""
    old, new = _table(1, 2, 3), _table(1, 3, 4, 5)
    known = [None, *(sorted(map(str, rows.to_pylist())) for rows in (old, new))]
    step = 0
    while True:
        place = tmp_path / str(step)
        store = Store(str(place))
        store.folder()
        if before != "nothing":
            jobs.write_tables({"leaders": Frame(old)}, store, before, print)  # type: ignore[dict-item]
        left = [step]
        with pytest.MonkeyPatch.context() as patched:
            _die_after(left, patched)
            try:
                jobs.write_tables({"leaders": Frame(new)}, store, after, print)  # type: ignore[dict-item]
            except Killed:
                found = _rows(place, "leaders")
                assert found in (known if before != after else known[1:]), f"step {step}"
        jobs.write_tables({"leaders": Frame(new)}, store, after, print)  # type: ignore[dict-item]
        assert _rows(place, "leaders") == known[2]
        assert {name for name in store.names() if name.startswith((STAGED, RETIRED))} == set()
        if left[0] > 0:
            break
        step += 1
    assert step > 3


def _die_after(left: list[int], patched: pytest.MonkeyPatch) -> None:
    """Lets the process fail at the next step that changes the folder of the tables, after `left` steps."""
    places: tuple[tuple[Any, tuple[str, ...]], ...] = (
        (Store, ("write", "folder", "sync", "delete", "replace", "retire")),
        (delta, ("_overwrite", "_merge")),
        (Frame, ("parquet",)),
        (Path, ("rename",)),
        (shutil, ("rmtree",)),
    )
    for owner, names in places:
        for name in names:
            patched.setattr(owner, name, dying(left, getattr(owner, name)))


def test_files_of_killed_merges_do_not_gather(tmp_path: Path) -> None:
    """Files that no version of a Delta table names are deleted by a later run, when they are old enough."""
    store, names = Store(str(tmp_path)), [f"part-00000-{number}-c000.zstd.parquet" for number in range(2)]
    delta.write(store, "leaders", dataset.dataset(_table(1, 2)), ("cluster", "offset"))
    delta.write(store, "leaders", dataset.dataset(_table(1, 3)), ("cluster", "offset"))
    kept = {name for name in store.names("leaders") if name.endswith(".parquet")}
    for name in names:
        (tmp_path / "leaders" / name).write_bytes(b"torn")
    long_ago = (datetime.now(UTC) - timedelta(days=2)).timestamp()
    os.utime(tmp_path / "leaders" / names[0], (long_ago, long_ago))
    with pytest.MonkeyPatch.context() as patched:
        _die_after([3], patched)  # at the merge itself
        with pytest.raises(Killed):
            delta.write(store, "leaders", dataset.dataset(_table(1, 4)), ("cluster", "offset"))
    delta.write(store, "leaders", dataset.dataset(_table(1, 4)), ("cluster", "offset"))
    left = set(store.names("leaders"))
    assert names[0] not in left
    assert names[1] in left, "it may be one that another run is about to commit"
    assert kept <= left, "earlier versions stay"
    os.utime(tmp_path / "leaders" / names[1], (long_ago, long_ago))
    delta.write(store, "leaders", dataset.dataset(_table(1, 4)), ("cluster", "offset"))
    assert names[1] not in store.names("leaders")
    assert delta.opened(store, "leaders").version() == 2
