"""Observations for tests: one line a look."""

import json
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

START = datetime(2026, 1, 1, tzinfo=UTC)


def look(
    at_s: float, *, live: Iterable[int] = (1, 2, 3), leader: int = 1, epoch: int = 1, known: bool = True,
    lag: int = 0, name: str = "q", maximum: int | None = 33,
) -> dict[str, Any]:  # fmt: skip
    """A quorum of three as seen some seconds after START; `lag` is that of every follower."""
    voters = [
        {
            "nodeID": node,
            "directoryID": f"d{node}",
            "live": node in set(live),
            "lagRecords": 0 if node == leader else lag,
        }
        for node in (1, 2, 3)
    ]
    quorum = {"leaderID": leader, "leaderEpoch": epoch, "highWatermark": 9, "voters": voters, "observers": []}
    ranges = [{"name": "metadata.version", "minSupported": 7, "maxSupported": 33}]
    other = None if maximum is None else [{**ranges[0], "maxSupported": maximum}]
    return {
        "schemaVersion": 1,
        "observedAt": (START + timedelta(seconds=at_s)).strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
        "namespace": "ns",
        "name": name,
        "clusterID": f"c-{name}",
        "unknownReason": None if known else "no answer",
        "quorum": quorum if known else None,
        "nodes": [{"nodeID": 1, "kafkaVersion": "4.4.0", "features": ranges},
                  {"nodeID": 2, "kafkaVersion": None, "features": other}],
        "features": [{"name": "metadata.version", "finalized": 21}],
    }  # fmt: skip


def running(observation: Mapping[str, Any], releases: Mapping[int, str | None], voters: int = 3) -> dict[str, Any]:
    """The same look at nodes of these releases, and at the first of the voters only."""
    quorum = observation["quorum"]
    fewer = quorum and {**quorum, "voters": quorum["voters"][:voters]}
    ranges = observation["nodes"][0]["features"]
    nodes = [{"nodeID": node, "kafkaVersion": each, "features": ranges} for node, each in releases.items()]
    return {**observation, "quorum": fewer, "nodes": nodes}


def write(path: Path, observations: Iterable[dict[str, Any]]) -> Path:
    """As JSON lines."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(observation) + "\n" for observation in observations))
    return path
