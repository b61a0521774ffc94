"""Regenerate `api/features.json` from Kafka's own classes: `python tests/api/features LIBS [--write]`.

LIBS is a directory with the jars of the newest Kafka release that the operator knows; a JDK must be on the PATH.
Without `--write` the table is printed. A live test compares the committed table with what this makes of the jars.
"""

import argparse
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
TABLE = HERE.parents[2] / "operator" / "kafka_quorum" / "api" / "features.json"


def table_of(libs: Path) -> dict[str, Any]:
    """The table as Kafka's classes tell it: levels by name, and what each feature level needs."""
    command = ["java", "-cp", f"{libs}/*", str(HERE / "DumpFeatures.java")]
    lines = subprocess.run(command, check=True, capture_output=True, text=True, timeout=100).stdout.splitlines()
    metadata: dict[str, int] = {}
    features: dict[str, list[dict[str, int]]] = {}
    for kind, name, *numbers in (line.split("\t") for line in lines):
        if kind == "metadata":
            metadata[name] = int(numbers[0])
        else:
            level, needs = int(numbers[0]), int(numbers[1])
            features.setdefault(name, []).append({"level": level, "metadataVersion": needs})
    return {"metadataVersions": metadata, "features": features}


def text_of(table: dict[str, Any]) -> str:
    """The table as it is committed."""
    return json.dumps(table, indent=2) + "\n"


def main() -> None:
    """Print or write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("libs", type=Path)
    parser.add_argument("--write", action="store_true")
    arguments = parser.parse_args()
    text = text_of(table_of(arguments.libs))
    if arguments.write:
        TABLE.write_text(text)
    else:
        sys.stdout.write(text)


if __name__ == "__main__":
    main()
