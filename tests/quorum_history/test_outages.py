"""The cause of each outage, and the unavailable time by its cause."""

import random
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from tests.quorum_history import looks
from tests.quorum_history.looks import look, running

from quorum_history import observations

pytestmark = pytest.mark.timeout(600)

_OLD, _NEW = "4.3.1", "4.4.0"
_CAUSES = ("leader_lost_s", "majority_lost_s", "roll_s", "unknown_cause_s")


def _frame(spark: SparkSession, home: Path, rows: Iterable[dict[str, Any]]) -> DataFrame:
    path = looks.write(home / "observations.jsonl", rows)
    return spark.read.schema(observations.SCHEMA).option("columnNameOfCorruptRecord", "_corrupt").json(str(path))


def _releases(changed: int, of: int = 3, silent: int = 0) -> dict[int, str | None]:
    """The first nodes have the new release; `silent` has not said its own."""
    return {node: None if node == silent else _NEW if node <= changed else _OLD for node in range(1, of + 1)}


def _three(*seen: tuple[int, int, bool]) -> list[dict[str, Any]]:
    """Looks at three voters: when, how many have the new release, and whether there is a leader."""
    return [running(look(at, leader=1 if led else -1), _releases(changed)) for at, changed, led in seen]


_STORIES: dict[str, tuple[list[dict[str, Any]], str]] = {
    "no release changed": (_three((0, 0, True), (60, 0, False), (120, 0, True), (180, 0, True)), "leader lost"),
    "between the first node and the last": (
        _three((0, 0, True), (60, 1, True), (120, 1, False), (180, 1, True), (240, 3, True)), "roll",
    ),
    "at the look before the first node": (
        _three((0, 0, True), (60, 0, False), (120, 1, True), (180, 3, True), (240, 3, True)), "roll",
    ),
    "one look after the last node": (_three((0, 0, True), (60, 3, True), (120, 3, False), (180, 3, True)), "roll"),
    "two looks after the last node": (
        _three((0, 0, True), (60, 3, True), (120, 3, True), (180, 3, False), (240, 3, True)), "leader lost",
    ),
    "long before the first node": (
        _three((0, 0, True), (60, 0, False), (120, 0, True), (180, 0, True), (240, 1, True), (300, 3, True)),
        "leader lost",
    ),
    "in a roll, after a time without a look in the same roll": (
        [*_three((0, 0, True), (60, 1, True)), running(look(120, known=False), _releases(1)),
         *_three((180, 1, False), (240, 3, True), (300, 3, True))], "roll",
    ),
    "in a roll, after a time without a look that began before it": (
        _three((0, 0, True), (3600, 1, False), (3660, 2, True), (3720, 3, True)), "unknown",
    ),
    "after a look without an answer": (
        [look(0), look(60, known=False), look(120, leader=-1), look(180), look(240)], "unknown",
    ),
    "after a gap": ([look(0), look(200, live=(1,)), look(260), look(320)], "unknown"),
    "before the first look": ([look(0, leader=-1), look(60), look(120)], "unknown"),
    "one voter restarts for long": (
        [running(look(0, live=(1,)), _releases(0, 1), 1),
         *(running(look(at, live=(), leader=-1), {1: None}, 1) for at in range(60, 660, 60)),
         *(running(look(at, live=(1,)), _releases(1, 1), 1) for at in (660, 720))], "roll",
    ),
    "one of two voters restarts for long": (
        [running(look(0, live=(1, 2)), _releases(0, 2), 2),
         *(running(look(at, live=(2,), leader=-1), _releases(0, 2, 1), 2) for at in range(60, 660, 60)),
         *(running(look(at, live=(1, 2)), _releases(1, 2), 2) for at in (660, 720))], "roll",
    ),
    "one voter of three is away for long": (
        [running(look(0), _releases(0)),
         *(running(look(at, leader=-1), _releases(0, silent=1)) for at in range(60, 660, 60)),
         *(running(look(at), _releases(1)) for at in (660, 720))], "leader lost",
    ),
    "one voter, the same release": (
        [running(look(0, live=(1,)), _releases(0, 1), 1),
         running(look(60, live=(), leader=-1), {1: None}, 1),
         *(running(look(at, live=(1,)), _releases(0, 1), 1) for at in (120, 180))], "majority lost",
    ),
}  # fmt: skip


def test_the_cause_of_an_outage(spark: SparkSession, tmp_path: Path) -> None:
    """A change of release explains an outage that begins in it; nothing known before it makes its cause unknown."""
    rows = [{**each, "name": name, "clusterID": name} for name, (story, _) in _STORIES.items() for each in story]
    frame = _frame(spark, tmp_path, rows).cache()
    found = {row["name"]: row["cause"] for row in observations.recoveries(frame).collect()}
    assert found == {name: cause for name, (_, cause) in _STORIES.items()}
    months = {row["name"]: row.asDict() for row in observations.service_levels(frame).collect()}
    spent = {name: [column for column in _CAUSES if row[column] > 0] for name, row in months.items()}
    column_of = dict(zip(("leader lost", "majority lost", "roll", "unknown"), _CAUSES, strict=True))
    assert spent == {name: [column_of[cause]] for name, (_, cause) in _STORIES.items()}


def _random_looks(rng: random.Random, name: str) -> list[dict[str, Any]]:
    """A quorum with gaps, outages, looks without an answer, other numbers of voters, and releases that change."""
    rows, at_s, releases = [], 0.0, dict[int, str | None]()
    voters = [1, 2, 3][: rng.choice([1, 2, 3])]
    for _ in range(rng.randrange(2, 40)):
        at_s += rng.choice([5, 60, 60, 60, 149, 151, 4000, 20 * 86_400])
        if rng.random() < 0.3:
            releases[rng.choice(voters)] = rng.choice([None, _OLD, _NEW])
        live = [each for each in voters if rng.random() < 0.7]
        seen = look(at_s, live=live, leader=rng.choice([-1, 1, 1]), known=rng.random() < 0.8, name=name)
        row = running(seen, releases, len(voters))
        if row["quorum"] and rng.random() < 0.1:
            row["quorum"]["voters"] = None
        rows.append({**row, "nodes": None} if rng.random() < 0.1 else row)
    return rows


def test_the_causes_add_up_to_the_unavailable_time(spark: SparkSession, tmp_path: Path) -> None:
    """Whatever was observed, each month's seconds by cause are its unavailable time, and each outage has a cause."""
    seed = random.randrange(1 << 32)
    print("seed", seed)  # noqa: T201 -- repeats a failure
    rng = random.Random(seed)
    frame = _frame(spark, tmp_path, [row for n in range(25) for row in _random_looks(rng, f"q{n}")]).cache()
    unavailable: dict[tuple[str, str], float] = {}
    for row in observations.availability(frame).collect():
        month = (row["name"], f"{row['day']:%Y-%m}")
        unavailable[month] = unavailable.get(month, 0.0) + row["unavailable_s"]
    levels = observations.service_levels(frame).collect()
    found = {(row["name"], f"{row['month']:%Y-%m}"): sum(row[name] for name in _CAUSES) for row in levels}
    assert found == pytest.approx(unavailable), f"seed {seed}"
    assert all(sum(row[name] for row in levels) > 0 for name in _CAUSES), f"every cause occurs, seed {seed}"
    outages = observations.recoveries(frame).collect()
    assert {row["cause"] for row in outages} == {"leader lost", "majority lost", "roll", "unknown"}, f"seed {seed}"
    seen = sum((row["until"] - row["since"]).total_seconds() - row["unknown_s"] for row in outages if row["until"])
    assert seen <= sum(unavailable.values()) + 1e-3, f"seed {seed}"
