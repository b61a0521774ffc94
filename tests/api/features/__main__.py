"""Regenerate `api/features.json` from Kafka's own classes: `python tests/api/features [--write]`.

The test-bed fetches the jars of the newest patch of each release line; a JDK must be on the PATH. Names and
dependencies are those of the newest release, and no older one may contradict it; ranges and defaults are each
release's own. Without `--write` the table is printed. Live tests compare the committed table with real servers.
"""

import argparse
import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[2]
TABLE = ROOT / "operator" / "kafka_quorum" / "api" / "features.json"
NEWEST_PATCHES = ("3.9.2", "4.0.2", "4.1.2", "4.2.1", "4.3.1", "4.4.0")
"""Of every release line that the operator supports, oldest first."""
METADATA = "metadata.version"

Lines = list[list[str]]


def dump(version: str) -> Lines:
    """The output of DumpFeatures about the classes of one release."""
    fetch = [sys.executable, str(ROOT / "e2e" / "testbed"), "kafka-jars", version]
    jars = (
        subprocess.run(fetch, check=True, capture_output=True, text=True, timeout=900).stdout.strip().splitlines()[-1]
    )
    command = ["java", "-cp", f"{jars}/libs/*", str(HERE / "DumpFeatures.java")]
    output = subprocess.run(command, check=True, capture_output=True, text=True, timeout=100).stdout
    return [line.split("\t") for line in output.splitlines()]


def table_of(dumps: Mapping[str, Lines]) -> dict[str, Any]:
    """The table from the dumps by version, oldest first; ValueError if an older release contradicts a newer one."""
    newest = list(dumps.values())[-1]
    names, features = metadata_versions(newest), feature_levels(newest)
    for version, lines in dumps.items():
        older_names, older = metadata_versions(lines), feature_levels(lines)
        known = {name: level for name, level in older_names.items() if level >= min(names.values())}
        if not known.items() <= names.items():
            raise ValueError(f"{version} names a metadata.version otherwise than the newest release")
        for name, levels in older.items():
            if features.get(name, [])[: len(levels)] != levels:
                raise ValueError(f"{version} and the newest release differ about {name}")
    releases = {version.rpartition(".")[0]: release_of(lines) for version, lines in dumps.items()}
    return {"metadataVersions": names, "features": features, "releases": releases}


def metadata_versions(lines: Lines) -> dict[str, int]:
    """Levels by Kafka's name."""
    return {row[1]: int(row[2]) for row in lines if row[0] == "metadata"}


def feature_levels(lines: Lines) -> dict[str, list[dict[str, Any]]]:
    """Each feature's levels, in order, and their dependencies on other features."""
    levels: dict[str, list[dict[str, Any]]] = {}
    for kind, name, level, *needs in lines:
        if kind == "feature":
            levels.setdefault(name, []).append({"level": int(level), "dependencies": {}})
        elif kind == "dependency":
            levels[name][-1]["dependencies"][needs[0]] = int(needs[1])
    return levels


def release_of(lines: Lines) -> dict[str, Any]:
    """What a release supports, and its default level of each feature that it supports."""
    supported = {row[1]: [int(row[2]), int(row[3])] for row in lines if row[0] == "supported"}
    defaults = {row[1]: int(row[2]) for row in lines if row[0] == "default" and row[1] in supported}
    return {"supported": supported, "defaults": dict(sorted(defaults.items()))}


def text_of(table: dict[str, Any]) -> str:
    """The table as it is committed."""
    return json.dumps(table, indent=2) + "\n"


def main() -> None:
    """Prints or writes the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true")
    arguments = parser.parse_args()
    text = text_of(table_of({version: dump(version) for version in NEWEST_PATCHES}))
    if arguments.write:
        TABLE.write_text(text)
    else:
        sys.stdout.write(text)


if __name__ == "__main__":
    main()
