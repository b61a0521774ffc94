"""Each roll and each level step, and the quorum before, during and after it: unknown time is never fine."""

from collections.abc import Iterator
from typing import Any

import pytest
from pyspark.sql import Row, SparkSession
from tests.quorum_history import looks
from tests.quorum_history.looks import START, look

from quorum_history import changes, observations

pytestmark = pytest.mark.timeout(1800)
_OLD, _NEW = "4.3.1", "4.4.0"


def _seen(at_s: float, name: str, releases: str, levels: dict[str, int] | None, **options: Any) -> dict[str, Any]:  # noqa: ANN401 -- of a look
    """A look at nodes 1, 2 and so on: `o` has the old release, `n` the new one, `-` has not said which."""
    known = {"o": _OLD, "n": _NEW, "-": None}
    nodes = [{"nodeID": node, "kafkaVersion": known[each], "features": None} for node, each in enumerate(releases, 1)]
    features = None if levels is None else [{"name": key, "finalized": level} for key, level in levels.items()]
    return look(at_s, name=name, **options) | {"nodes": nodes, "features": features}


def _rolled() -> Iterator[dict[str, Any]]:
    """Three nodes, one after the other; a minute without a leader."""
    yield from (_seen(at_s, "rolled", "ooo", {}, lag=5) for at_s in (0, 60, 120))
    yield _seen(180, "rolled", "-oo", {}, live=(2, 3), leader=2)
    yield _seen(240, "rolled", "noo", {})
    yield _seen(300, "rolled", "nno", {}, leader=-1, epoch=2)
    yield _seen(360, "rolled", "nnn", {}, epoch=2, lag=900)
    yield _seen(420, "rolled", "nnn", {}, epoch=2, lag=50)
    yield from (_seen(at_s, "rolled", "nnn", {}, epoch=4, lag=50) for at_s in (480, 540))


def _stepped() -> Iterator[dict[str, Any]]:
    """Two levels rise between two looks that have levels; after them nothing is known."""
    yield from (_seen(at_s, "stepped", "oo", {"metadata.version": 21}) for at_s in (0, 60))
    yield _seen(120, "stepped", "oo", None, known=False)
    yield from (
        _seen(at_s, "stepped", "oo", {"metadata.version": 22, "group.version": 1}, known=False)
        for at_s in (180, 240, 300)
    )


def _close() -> Iterator[dict[str, Any]]:
    """A roll, a level step a minute later, and long after both a reversed roll; looks every two minutes."""
    for at_s in range(0, 24_000, 120):
        releases = "oo" if at_s < 600 or at_s >= 12_120 else "no" if at_s < 720 or at_s >= 12_000 else "nn"
        yield _seen(at_s, "close", releases, {"metadata.version": 21 if at_s < 960 else 22})


@pytest.fixture(scope="module")
def found(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> list[Row]:
    """The changes of all stories, in one job: the quorums do not touch each other."""
    steady = [look(at_s, name="steady") for at_s in (0, 60, 120)]
    lines = [*_rolled(), *_stepped(), *_close(), *steady]
    path = looks.write(tmp_path_factory.mktemp("looks") / "observations.jsonl", lines)
    frame = spark.read.schema(observations.SCHEMA).json(str(path))
    return changes.compared(frame).orderBy("name", "since", "after").collect()


def _of(found: list[Row], name: str) -> list[dict[str, Any]]:
    """The rows of one quorum, with times as seconds since the start of its story."""
    rows = [row.asDict() for row in found if row["name"] == name]
    return [row | {key: row[key].timestamp() - START.timestamp() for key in ("since", "until")} for row in rows]


def test_a_roll_is_one_change(found: list[Row]) -> None:
    """A roll lasts from the last look at the first node's old release to the first look at the last node's new one."""
    (row,) = _of(found, "rolled")
    assert (row["kind"], row["before"], row["after"]) == ("roll", _OLD, _NEW)
    assert (row["since"], row["until"], row["seconds"]) == (120.0, 360.0, 240.0)
    assert (row["unavailable_s"], row["unknown_s"], row["leader_changes"]) == (60.0, 0.0, 1)


def test_before_and_after_a_roll(found: list[Row]) -> None:
    """The stretches are as long before as after; a look at the edge counts for what it ends."""
    (row,) = _of(found, "rolled")
    assert row["compared_s"] == 120.0, "there are 120 s before it, and 180 s after it"
    assert (row["availability_before"], row["availability_after"]) == (1.0, 1.0)
    assert (row["unknown_before_s"], row["unknown_after_s"]) == (0.0, 0.0)
    assert (row["p95_lag_before_records"], row["p95_lag_after_records"]) == (5, 50)
    assert (row["leader_changes_before"], row["leader_changes_after"]) == (0, 2)


def test_each_level_that_rises_is_a_change(found: list[Row]) -> None:
    """A look without levels is no change; a feature that was not listed before was off."""
    rows = _of(found, "stepped")
    assert [(row["kind"], row["before"], row["after"], row["since"], row["until"]) for row in rows] == [
        ("level step", "group.version 0", "group.version 1", 60.0, 180.0),
        ("level step", "metadata.version 21", "metadata.version 22", 60.0, 180.0),
    ]


def test_what_is_unknown_is_null(found: list[Row]) -> None:
    """Availability, lag and leader changes are null without an answer after the change, and unknown time is counted."""
    row = _of(found, "stepped")[1]
    assert (row["unavailable_s"], row["unknown_s"], row["leader_changes"]) == (0.0, 60.0, None)
    assert (row["availability_before"], row["availability_after"]) == (1.0, None)
    assert (row["unknown_before_s"], row["unknown_after_s"], row["compared_s"]) == (0.0, 60.0, 60.0)
    assert (row["p95_lag_after_records"], row["leader_changes_after"]) == (None, None)


def test_a_neighbouring_change_ends_a_stretch(found: list[Row]) -> None:
    """No stretch reaches into another change, or is longer than an hour; a reversed roll is a change of its own."""
    rows = _of(found, "close")
    assert [(row["after"], row["since"], row["until"], row["compared_s"]) for row in rows] == [
        (_NEW, 480.0, 720.0, 120.0), ("metadata.version 22", 840.0, 960.0, 120.0), (_OLD, 11_880.0, 12_120.0, 3600.0),
    ]  # fmt: skip


def test_a_quorum_without_a_change_has_no_row(found: list[Row]) -> None:
    """The first look at a release or level is no change."""
    assert _of(found, "steady") == []
