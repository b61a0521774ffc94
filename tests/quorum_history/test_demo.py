"""The demonstration: sample logs and observations in the format of Kafka and the operator, and their page."""

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator
from pyspark.sql import SparkSession

from kraftlog import Fault, read_blocks
from quorum_history import demo
from quorum_history.__main__ import main

pytestmark = pytest.mark.timeout(1500)
_NOW = datetime(2026, 3, 4, 5, 6, tzinfo=UTC)
_SCHEMA = Path(demo.__file__).parent / "schemas" / "observation-v1.json"


def test_the_samples_are_logs_and_observations(tmp_path: Path) -> None:
    """No log is damaged, every line fits the schema of observations, and the last one has the present time."""
    logs, observations = demo.make(tmp_path, _NOW)
    segments = sorted(logs.rglob("*.log"))
    assert len(segments) == len(demo.FLEET)
    assert [item for segment in segments for item in read_blocks(segment) if isinstance(item, Fault)] == []
    validator = Draft202012Validator(json.loads(_SCHEMA.read_text()))
    for file in sorted(observations.iterdir()):
        lines = [json.loads(line) for line in file.read_text().splitlines()]
        validator.validate(lines[0])
        assert all(validator.is_valid(line) for line in lines[:: len(lines) // 20])
        assert lines[-1]["observedAt"] == "2026-03-04T05:06:00.000000Z"


def test_the_same_moment_makes_the_same_samples(tmp_path: Path) -> None:
    """The samples are not random, so that a page can be compared with another."""
    made = [demo.make(tmp_path / name, _NOW)[0].parent for name in ("a", "b")]
    texts = [{str(file.relative_to(home)): file.read_bytes() for file in home.rglob("*.*")
              if file.is_file()} for home in made]  # fmt: skip
    assert texts[0] == texts[1]
    assert texts[0]


def test_from_nothing_to_a_page(spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One command makes a page with each quorum's story. A directory that is not empty is left alone."""
    output = tmp_path / "demo"
    assert main(["demo", "--output", str(output)]) == 0
    text = (output / "page" / "index.html").read_text()
    for story in demo.FLEET:
        assert f"{story.namespace}/{story.name}" in text
    assert "majority lost" in text
    assert "leader lost" in text
    target = str(output / "tables")
    changed = spark.read.parquet(f"{target}/voter_changes").where("previous_directory_id is not null").collect()
    assert [row["node_id"] for row in changed] == [3002]
    (unknown,) = spark.read.parquet(f"{target}/availability").where("unknown_s > 0").collect()
    assert unknown["name"] == "clicks"
    assert spark.read.parquet(f"{target}/quality").where("not passed").count() == 0
    capsys.readouterr()
    assert main(["demo", "--output", str(output)]) == 2
    assert "is not empty" in capsys.readouterr().err
