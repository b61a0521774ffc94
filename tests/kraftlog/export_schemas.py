"""Write `operator/kraftlog/schemas/` anew from Kafka's own jars: `python -m tests.kraftlog.export_schemas`.

Kafka describes each record in a JSON file that lies in its binary jars. They are copied as they are, each text once,
named by the first release that has it; `releases.json` says which text a release uses. A new Kafka release is one more
entry of RELEASES.
"""

import json
import zipfile
from pathlib import Path

from tests.live.jars import ensure_kafka

RELEASES = (
    "3.3.2",
    "3.4.1",
    "3.5.2",
    "3.6.2",
    "3.7.2",
    "3.8.1",
    "3.9.2",
    "4.0.2",
    "4.1.2",
    "4.2.1",
    "4.3.1",
    "4.4.0",
)
"""The last patch of every minor release that Kafka published; schemas do not change within a minor."""

CONTROL_RECORDS = (
    "LeaderChangeMessage",
    "SnapshotHeaderRecord",
    "SnapshotFooterRecord",
    "KRaftVersionRecord",
    "VotersRecord",
)
TARGET = Path(__file__).resolve().parents[2] / "operator" / "kraftlog" / "schemas"
_NOTICE = """Apache Kafka
Copyright The Apache Software Foundation.

This product includes software developed at The Apache Software Foundation.

The files below this directory, except for releases.json, are copies of the record descriptions that Apache Kafka's
binary distributions contain (kafka-metadata: common/metadata/*.json; kafka-clients: common/message/*.json), unchanged.
They are licensed under the Apache License, Version 2.0, as each of them says.
"""


def texts_of(release: str) -> dict[str, str]:
    """The text of every record description of a release, by the record's name (its file is not always called so)."""
    libs = ensure_kafka(release).libs
    texts = {}
    with zipfile.ZipFile(libs / f"kafka-metadata-{release}.jar") as jar:
        for member in jar.namelist():
            if member.startswith("common/metadata/") and member.endswith(".json"):
                text = jar.read(member).decode()
                texts[_name_in(text)] = text
    with zipfile.ZipFile(libs / f"kafka-clients-{release}.jar") as jar:
        present = set(jar.namelist())
        for name in CONTROL_RECORDS:
            if (member := f"common/message/{name}.json") in present:
                texts[name] = jar.read(member).decode()
    return texts


def _name_in(text: str) -> str:
    lines = (line for line in text.splitlines() if not line.strip().startswith("//"))
    return str(json.loads("\n".join(lines))["name"])


def export(target: Path, releases: tuple[str, ...] = RELEASES) -> None:
    """Fill `target`; what is there already and belongs to no release any more is left for version control to show."""
    index: dict[str, dict[str, str]] = {}
    known: dict[tuple[str, str], str] = {}
    for release in releases:
        names = index.setdefault(release, {})
        for name, text in sorted(texts_of(release).items()):
            place = known.setdefault((name, text), f"{release}/{name}.json")
            names[name] = place
            path = target / place
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
    (target / "releases.json").write_text(json.dumps(index, indent=1) + "\n")
    (target / "NOTICE").write_text(_NOTICE)


if __name__ == "__main__":
    export(TARGET)
