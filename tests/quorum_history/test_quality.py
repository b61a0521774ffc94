"""The tables agree with their catalogue, and every run checks them as far as possible."""

from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession
from tests.kraftlog.record_samples import SAMPLES
from tests.quorum_history import looks
from tests.quorum_history.looks import look

from quorum_history import catalogue, changes, jobs, observations, quality, tables
from quorum_history.lines import ARROW as LOOKS
from quorum_history.rows import ARROW as RECORDS
from quorum_history.source import FORMAT
from quorum_history.state import ClusterState, Found, State

_DOCS = Path(__file__).resolve().parents[2] / "docs" / "tables.md"
_START = datetime(2026, 1, 1, tzinfo=UTC)
_QUORUM = {"clusterID": "c", "namespace": "ns", "name": "q"}


def test_the_page_of_tables_is_generated() -> None:
    """`make tables` was run after the last change of the catalogue."""
    assert _DOCS.read_text() == "\n".join(catalogue.page()) + "\n"


def _spark_type(kind: Any) -> str:  # noqa: ANN401 -- Arrow's types are not typed
    if pa.types.is_struct(kind):
        return f"struct<{','.join(f'{field.name}:{_spark_type(field.type)}' for field in kind)}>"
    if pa.types.is_list(kind):
        return f"array<{_spark_type(kind.value_type)}>"
    if pa.types.is_timestamp(kind):
        return "timestamp"
    names = {"int64": "bigint", "int32": "int", "string": "string", "bool": "boolean"}
    return names[str(kind)]


@pytest.mark.parametrize(("name", "schema"), [("records", RECORDS), ("observations", LOOKS)])
def test_what_ingest_writes_is_in_the_catalogue(name: str, schema: pa.Schema) -> None:
    """The tables of `ingest` agree with the catalogue in every column and type."""
    described = [(column.name, column.type) for column in catalogue.BY_NAME[name].columns]
    assert described == [(field.name, _spark_type(field.type)) for field in schema]


@pytest.mark.timeout(1800)
def test_what_is_computed_is_in_the_catalogue(spark: SparkSession, tmp_path: Path) -> None:
    """The computed tables agree with the catalogue in every column and type."""
    path = looks.write(tmp_path / "a.jsonl", [look(0), look(60)])
    made = jobs.with_answers(tables.timelines(spark.read.format(FORMAT).load(str(SAMPLES / "4.3.1"))))
    del made["faults"]  # `ingest` writes it
    seen = spark.read.schema(observations.SCHEMA).json(str(path))
    made |= observations.answers(seen) | {"changes_compared": changes.compared(seen)}
    made |= jobs.downgrade_tables(spark, str(SAMPLES / "4.3.1"))
    for name, frame in made.items():
        described = [(column.name, column.type) for column in catalogue.BY_NAME[name].columns]
        assert described == [(field.name, field.dataType.simpleString()) for field in frame.schema.fields], name
    missing = set(catalogue.BY_NAME) - set(made) - {"records", "observations", "faults", "rejected_lines", "quality"}
    assert not missing


def _spans(*states: str) -> list[dict[str, Any]]:
    return [
        {**_QUORUM, "state": state, "since": _START + timedelta(hours=n), "until": _START + timedelta(hours=n + 1),
         "seconds": 3600.0}
        for n, state in enumerate(states)
    ]  # fmt: skip


def _day(available: float, unavailable: float, unknown: float, availability: float | None) -> dict[str, Any]:
    return {**_QUORUM, "day": date(2026, 1, 1), "available_s": available, "unavailable_s": unavailable,
            "unknown_s": unknown, "availability": availability}  # fmt: skip


def _failed(made: dict[str, list[dict[str, Any]]], state: State | None = None) -> list[tuple[str, str]]:
    return [(each.check, each.table) for each in quality.check(made, state) if not each.passed]


def test_good_tables_pass() -> None:
    """Tables with unique keys, successive spans and complete days pass."""
    made = {"spans": _spans("available", "unknown"), "availability": [_day(3600, 0, 3600, 1.0)]}
    verdicts = quality.check(made, State())
    assert {(each.check, each.table) for each in verdicts} == {
        ("key", "spans"), ("key", "availability"), ("gaps", "records"), ("holes", "spans"), ("unknown", "availability"),
    }  # fmt: skip
    assert all(each.passed for each in verdicts)


@pytest.mark.parametrize(
    ("made", "failed"),
    [
        ({"spans": [*_spans("available"), *_spans("available")]}, [("key", "spans"), ("holes", "spans")]),
        ({"spans": [_spans("available", "unknown", "available")[n] for n in (0, 2)]}, [("holes", "spans")]),
        ({"spans": _spans("available", "unknown"), "availability": [_day(3600, 0, 0, 1.0)]},
         [("unknown", "availability")]),
        ({"spans": _spans("unknown"), "availability": [_day(0, 0, 3600, 1.0)]}, [("unknown", "availability")]),
    ],
)  # fmt: skip
def test_what_is_wrong_is_found(made: dict[str, list[dict[str, Any]]], failed: list[tuple[str, str]]) -> None:
    """Doubled rows, time without a state, and unknown time that the days lack, are found."""
    assert _failed(made) == failed


def test_a_gap_has_to_be_a_fault() -> None:
    """Missing offsets are an error unless a fault reports them."""
    gap = Found(file="f", position=0, offset=10, text="offsets 10 to 19 are whole in no file", lasting=True)
    silent = State(clusters={"c": ClusterState(end=30, read=((0, 10), (20, 30)))})
    assert _failed({}, silent) == [("gaps", "records")]
    told = State(clusters={"c": ClusterState(end=30, read=((0, 10), (20, 30)), found=(gap,))})
    assert _failed({}, told) == []
