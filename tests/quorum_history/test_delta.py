"""Tables in Delta's format have the same rows as in Parquet, and a version has only what changed."""

import re
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import dataset
from pyspark.sql import SparkSession
from tests.quorum_history import clusters, looks
from tests.quorum_history.looks import look

from quorum_history import delta, jobs
from quorum_history.__main__ import main
from quorum_history.store import Store

_AT = datetime(2026, 1, 1, tzinfo=UTC)
_KEY = ("cluster", "offset")


def _rows(*rows: tuple[Any, ...]) -> pa.Table:
    """The rows of the tables here: cluster, offset, time, texts, and a list of structs."""
    types = (
        ("cluster", pa.string()),
        ("offset", pa.int64()),
        ("at", pa.timestamp("us", tz="UTC")),
        ("texts", pa.list_(pa.string())),
        ("voters", pa.list_(pa.struct([("node_id", pa.int32())]))),
    )
    return pa.table({name: pa.array([row[place] for row in rows], kind) for place, (name, kind) in enumerate(types)})


_FIRST: tuple[Any, ...] = (("a", 1, _AT, ["x"], [{"node_id": 1}]), ("b", None, None, None, None), ("c", 3, _AT, [], []))
_LATER: tuple[Any, ...] = (("a", 1, _AT, ["x"], [{"node_id": 2}]), ("b", None, None, None, None), ("d", 3, _AT, [], []))


def _stored(store: Store) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = delta.read(store, "table").to_table().sort_by("cluster").to_pylist()
    return rows


def test_a_merge_holds_what_has_changed(tmp_path: Path) -> None:
    """A merge inserts, updates and deletes only what changed; a missing part of the key is a valid key."""
    store = Store(str(tmp_path))
    for rows in (_FIRST, _LATER):
        delta.write(store, "table", dataset.dataset(_rows(*rows)), _KEY)
        assert _stored(store) == _rows(*rows).to_pylist()
    metrics = delta.opened(store, "table").history(1)[0]["operationMetrics"]
    counted = {kind: metrics[f"num_target_rows_{kind}"] for kind in ("inserted", "updated", "deleted", "copied")}
    assert counted == {"inserted": 1, "updated": 1, "deleted": 1, "copied": 1}


def test_the_same_rows_make_no_version(tmp_path: Path) -> None:
    """The same rows cause no new version."""
    store = Store(str(tmp_path))
    for _ in range(3):
        delta.write(store, "table", dataset.dataset(_rows(*_FIRST)), _KEY)
    assert delta.opened(store, "table").version() == 0


@pytest.mark.parametrize("key", [(), ("cluster",)], ids=["no key", "two rows of one key"])
def test_without_a_key_a_table_is_replaced(tmp_path: Path, key: tuple[str, ...]) -> None:
    """Without a key the table is replaced, as in Parquet: no row is lost or doubled."""
    store = Store(str(tmp_path))
    twice: tuple[Any, ...] = (*_FIRST, ("a", 9, _AT, [], []))
    for rows in (_FIRST, twice, twice):
        delta.write(store, "table", dataset.dataset(_rows(*rows)), key)
    assert sorted(map(str, _stored(store))) == sorted(map(str, _rows(*twice).to_pylist()))


def test_columns_of_a_later_version(tmp_path: Path) -> None:
    """A table with other columns replaces the earlier one."""
    store, more = Store(str(tmp_path)), _rows(*_FIRST).append_column("more", pa.array([1, 2, 3]))
    for rows in (_rows(*_FIRST), more):
        delta.write(store, "table", dataset.dataset(rows), _KEY)
    assert _stored(store) == more.to_pylist()


def test_no_rows(tmp_path: Path) -> None:
    """A table may be empty, and can be filled and emptied again."""
    store = Store(str(tmp_path))
    for rows in ((), _FIRST, ()):
        delta.write(store, "table", dataset.dataset(_rows(*rows)), _KEY)
        assert _stored(store) == _rows(*rows).to_pylist()


@pytest.mark.timeout(1200)
@pytest.mark.parametrize(
    "forms",
    [
        pytest.param(("delta", "parquet"), id="back"),
        pytest.param(("parquet", "delta", "parquet"), id="there and back", marks=pytest.mark.full),
        pytest.param(("parquet", "delta", "delta", "parquet"), id="and again", marks=pytest.mark.full),
    ],
)
def test_both_formats_hold_the_same(spark: SparkSession, tmp_path: Path, forms: tuple[str, ...]) -> None:
    """Both formats have the same rows, whichever format was there before, and give the same page."""
    source, target, seen = tmp_path / "logs", str(tmp_path / "tables"), tmp_path / "seen"
    clusters.segment(clusters.replica(source, "one", 1), 0, clusters.run(0, 9, 1))
    looks.write(seen / "a.jsonl", [look(0), look(60, live=(1,)), look(120, epoch=3)])
    assert main(["ingest", "--logs", str(source), "--observations", str(seen), "--target", target]) == 0
    store, found = Store(target), []
    for form in forms:
        arguments = ["--target", target, "--format", form]
        assert main(["timeline", *arguments]) == 0
        assert main(["observe", *arguments]) == 0
        assert main(["downgrade", *arguments, "--logs", str(source)]) == 0
        made = [name for name in store.names() if name not in {"records", "observations", "quality", "faults"}]
        folders = [name for name in made if "." not in name and not name.startswith("_")]
        assert {delta.is_delta(store, name) for name in folders if store.names(name)} >= {form == "delta"}
        found.append({name: sorted(map(str, jobs.derived(store, name) or ())) for name in folders})
        assert main(["report", "--target", target, "--output", str(tmp_path / form)]) == 0
    assert all(each == found[0] for each in found)
    assert found[0]["availability"]
    pages = ((tmp_path / form / "index.html").read_text() for form in ("delta", "parquet"))
    assert len({re.sub(r"Made [-\d]+ [:\d]+ UTC", "", page) for page in pages}) == 1
    assert spark.read.parquet(f"{target}/availability").count() == len(found[0]["availability"])


def test_a_missing_package_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without the extra `delta` the command prints what to install, before Spark starts."""
    monkeypatch.setitem(sys.modules, "deltalake", None)
    assert main(["timeline", "--target", str(tmp_path), "--format", "delta"]) == 1
    assert "kafka-quorum-operator[delta]" in capsys.readouterr().err
