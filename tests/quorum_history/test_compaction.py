"""Compaction: few files, observations by day and month, and nothing lost whenever a run ends."""

import shutil
from collections.abc import Callable, Iterable
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import compute, dataset
from tests.quorum_history import clusters, looks
from tests.quorum_history.killed import Killed, dying
from tests.quorum_history.looks import look

from kraftlog.schema import catalog
from kraftlog.writer import NewBatch, batch_of, record_of
from quorum_history import compaction, retention, sink
from quorum_history.executor import Threads
from quorum_history.ingest import Request, ingest
from quorum_history.source import checked_options
from quorum_history.state import Batch, State, load
from quorum_history.store import Store

pytestmark = pytest.mark.timeout(1200)
_DAY_S = 86_400


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """The folder of the tables."""
    return Store(str(tmp_path / "tables"))


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each ingest of more than one file is compacted."""
    monkeypatch.setattr(compaction, "_BATCHES", 0)


def _state(store: Store) -> State:
    state = load(store)
    assert state is not None
    return state


def _look_at(home: Path, *days: int) -> None:
    """A new file with a look at noon of each of these days, counted from 2026-01-01 as 0."""
    number = len(list(home.glob("*")))
    looks.write(home / f"{number:03d}.jsonl", [look(_DAY_S * day + _DAY_S // 2 + number) for day in days])


def _ingest(store: Store, home: Path, day: int) -> None:
    """An ingest on this day."""
    request = Request(logs=None, observations=str(home), options=checked_options({"path": "x"}))
    ingest(store, request, Threads(), looks.START + timedelta(days=day, hours=20))


def _periods(store: Store) -> dict[str, Batch]:
    return {batch.period: batch for batch in _state(store).live("observations")}


def _times(store: Store, batches: Iterable[Batch]) -> list[datetime]:
    rows = [rows for batch in batches for rows in compaction.rows_of(store, "observations", batch)]
    return sorted(time for each in rows for time in each.column("observedAt").to_pylist())


def _day_by_day(store: Store, home: Path) -> None:
    """Looks of 1, 2 and 31 January and 1 and 2 February, ingested on 3 February."""
    _look_at(home, 0, 1, 30, 31)
    _look_at(home, 1, 32)
    _ingest(store, home, 33)


def test_observations_have_a_file_for_each_day(store: Store, tmp_path: Path) -> None:
    """Each day has one file with exactly its rows, and only days with new rows are written again."""
    home = tmp_path / "looks"
    _day_by_day(store, home)
    before = _periods(store)
    assert list(before) == ["2026-01-01", "2026-01-02", "2026-01-31", "2026-02-01", "2026-02-02"]
    for period, batch in before.items():
        assert {f"{time:%Y-%m-%d}" for time in _times(store, [batch])} == {period}
        assert store.names("observations", batch.folder) == ("part-00000.parquet",)
    _look_at(home, 32)
    _look_at(home, 33)
    _ingest(store, home, 33)
    after = _periods(store)
    assert {period for period in before if before[period] != after[period]} == {"2026-02-02"}
    assert set(after) - set(before) == {"2026-02-03"}
    assert len(_times(store, after.values())) == 8
    assert set(store.names("observations")) == {batch.folder for batch in after.values()}


def test_the_days_of_an_old_month_become_one_file(store: Store, tmp_path: Path) -> None:
    """A week after its end a month is one file, which takes late observations too; files of other days stay."""
    home = tmp_path / "looks"
    _day_by_day(store, home)
    before = _periods(store)
    for day in (37, 38):
        _look_at(home, day)
        _look_at(home, day)
        _ingest(store, home, day)
    after = _periods(store)
    assert list(after) == ["2026-01", "2026-02-01", "2026-02-02", "2026-02-07", "2026-02-08"]
    assert after["2026-02-01"] == before["2026-02-01"]
    assert len(_times(store, [after["2026-01"]])) == 4
    _look_at(home, 10)
    _look_at(home, 11)
    _ingest(store, home, 38)
    assert len(_times(store, [_periods(store)["2026-01"]])) == 6
    assert list(_periods(store)) == list(after)


def test_a_year_of_observations_is_few_files(store: Store, tmp_path: Path) -> None:
    """A year of observations is at most 38 days and 11 months, and few rows are held while it is divided."""
    home = tmp_path / "looks"
    for first in (0, 180):
        _look_at(home, *range(first, first + 185))
    _ingest(store, home, 364)
    assert len(_periods(store)) == 11 + 31
    assert len(_times(store, _periods(store).values())) == 370


def test_rows_of_many_days_are_not_held(store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """While rows of many days are divided, all files together hold no more than a row group."""
    held: list[int] = []
    original = compaction._Files._append

    def counted(files: Any, *arguments: Any) -> None:  # noqa: ANN401 -- as in the original
        original(files, *arguments)
        held.append(sum(each.held for each in files._sinks.values()))

    monkeypatch.setattr(compaction._Files, "_append", counted)
    monkeypatch.setattr(compaction, "ROW_GROUP_ROWS", 5)
    home = tmp_path / "looks"
    _look_at(home, *range(20))
    _look_at(home, *range(20))
    _ingest(store, home, 20)
    assert 3 <= max(held) < 5
    assert len(_times(store, _periods(store).values())) == 40


def test_whole_days_are_removed_without_writing(store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Days and months that are too old are removed as files; no other file is written again."""
    home = tmp_path / "looks"
    _day_by_day(store, home)
    before = _periods(store)
    monkeypatch.setattr(retention, "Sink", None)
    assert retention.prune(store, datetime(2026, 1, 1, tzinfo=UTC)) == 0
    assert _periods(store) == before
    assert retention.keep(store, 5, datetime(2026, 2, 5, 12, tzinfo=UTC)) == 3
    assert _periods(store) == {period: before[period] for period in ("2026-01-31", "2026-02-01", "2026-02-02")}
    assert set(store.names("observations")) == {batch.folder for batch in _periods(store).values()}


def test_a_day_within_a_month_divides_that_month_alone(store: Store, tmp_path: Path) -> None:
    """Of a month that is too old in part, the rest stays as its file, and is not written again without need."""
    home = tmp_path / "looks"
    _day_by_day(store, home)
    _look_at(home, 38)
    _look_at(home, 38)
    _ingest(store, home, 38)
    before, limit = _periods(store), datetime(2026, 1, 2, tzinfo=UTC)
    assert retention.prune(store, limit) == 1
    after = _periods(store)
    assert {period for period in before if before[period] != after[period]} == {"2026-01"}
    assert min(_times(store, after.values())) >= limit
    assert retention.prune(store, limit) == 0
    assert _periods(store) == after


@pytest.mark.parametrize("command", ["ingest", "prune"])
def test_a_run_that_ends_anywhere_loses_no_observation(store: Store, tmp_path: Path, command: str) -> None:
    """After any last step of a compaction or a removal, rows are the old or the new ones, and a rerun completes it."""
    home, place = tmp_path / "looks", Path(store.place)
    _day_by_day(store, home)
    if command == "ingest":
        _look_at(home, 1, 32, 38)
        _look_at(home, 38)

    def run() -> None:
        if command == "ingest":
            _ingest(store, home, 38)
        else:
            retention.prune(store, datetime(2026, 1, 2, 13, tzinfo=UTC))

    base = shutil.copytree(place, tmp_path / "base")
    before = _times(store, _periods(store).values())
    run()
    after, folders = _times(store, _periods(store).values()), store.names("observations")
    steps = 0
    while _ends_after(steps, run, lambda: shutil.rmtree(place), lambda: shutil.copytree(base, place)):
        assert _times(store, _state(store).live("observations")) in (before, after), f"step {steps}"
        run()
        assert _times(store, _periods(store).values()) == after
        assert store.names("observations") == folders
        steps += 1
    assert steps > 5


def _ends_after(steps: int, run: Callable[[], None], *prepare: Callable[[], object]) -> bool:
    """Runs until the next step that changes the tables, after this many of them; False if there is none."""
    for each in prepare:
        each()
    left = [steps]
    with pytest.MonkeyPatch.context() as patched:
        for name in ("write", "folder", "sync", "delete"):
            patched.setattr(Store, name, dying(left, getattr(Store, name)))
        try:
            run()
        except Killed:
            return True
    return False


def _records(first: int, count: int, day: int) -> bytes:
    schema = catalog().find(2, 0)
    assert schema is not None
    record = record_of(schema, {"name": "t", "topicId": "AAAAAAAAAAAAAAAAAAAAAA"})
    at_ms = int((looks.START + timedelta(days=day)).timestamp() * 1000)
    return batch_of(NewBatch(base_offset=first, leader_epoch=1, timestamp_ms=at_ms), [record] * count)


def test_the_records_of_one_day_are_few_row_groups(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A query of one day reads only the row groups of that day, also after compaction of two clusters' records."""
    for module in (sink, compaction):
        monkeypatch.setattr(module, "ROW_GROUP_ROWS", 50)
    for day in range(4):
        for name in ("a", "b"):
            path = clusters.replica(tmp_path / "logs", name, 1) / f"{0:020d}.log"
            with path.open("ab") as file:
                file.write(_records(50 * day, 50, day))
        request = Request(logs=str(tmp_path / "logs"), observations=None, options=checked_options({"path": "x"}))
        ingest(store, request, Threads(), looks.START + timedelta(days=day))
    (batch,) = _state(store).live("records")
    found = dataset.dataset(store.path("records", batch.folder))
    wanted = compute.field("timestamp").cast(pa.date32()) == date(2026, 1, 3)
    begin = pa.scalar(looks.START + timedelta(days=2))
    within = (compute.field("timestamp") >= begin) & (
        compute.field("timestamp") < pa.scalar(looks.START + timedelta(days=3))
    )
    (fragment,) = found.get_fragments()
    assert (batch.rows, len(fragment.row_groups)) == (400, 8)
    assert len(fragment.subset(within).row_groups) == 2
    assert found.to_table(filter=within).num_rows == found.to_table(filter=wanted).num_rows == 100
