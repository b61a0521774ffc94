"""Kafka's own record descriptions, read from its jars: an independent reader that generates `schemas.txt`.

A description is JSON with comments. The fields of one version of a record must be computed from ranges of versions.
"""

import json
import re
import zipfile
from collections.abc import Iterator
from typing import Any

from tests.live.jars import ensure_kafka

from kraftlog.errors import SchemaError
from kraftlog.schema import CONTROL_TYPES, Field, Kind, Schema, default_of

_KINDS = {kind.name.lower(): kind for kind in Kind if kind is not Kind.STRUCT}
CONTROL_RECORDS = {
    "LeaderChangeMessage": 2,
    "SnapshotHeaderRecord": 3,
    "SnapshotFooterRecord": 4,
    "KRaftVersionRecord": 5,
    "VotersRecord": 6,
}
"""The descriptions of control records, with the type that Kafka keeps in code."""

Json = dict[str, Any]


def schemas_of(release: str) -> dict[tuple[bool, int, int], Schema]:
    """Everything that a release describes, by (control, key, version)."""
    found = [schema for text in texts_of(release) for schema in parse(text)]
    return {(schema.control, schema.key, schema.version): schema for schema in found}


def texts_of(release: str) -> Iterator[str]:
    """The text of every record description of a release."""
    libs = ensure_kafka(release).libs
    with zipfile.ZipFile(libs / f"kafka-metadata-{release}.jar") as jar:
        for member in sorted(jar.namelist()):
            if member.startswith("common/metadata/") and member.endswith(".json"):
                yield jar.read(member).decode()
    with zipfile.ZipFile(libs / f"kafka-clients-{release}.jar") as jar:
        present = set(jar.namelist())
        for name in CONTROL_RECORDS:
            if (member := f"common/message/{name}.json") in present:
                yield jar.read(member).decode()


def parse(text: str) -> Iterator[Schema]:
    """The schemas of every valid version in one description (SchemaError)."""
    described = json.loads("\n".join(line for line in text.splitlines() if not line.strip().startswith("//")))
    name, control = described["name"], described["type"] == "data"
    if control and name not in CONTROL_RECORDS:
        raise SchemaError(f"{name} is no control record")
    key = CONTROL_RECORDS[name] if control else described["apiKey"]
    commons = {struct["name"]: struct["fields"] for struct in described.get("commonStructs", ())}
    for version in _range(described["validVersions"]):
        if not _within(version, described["flexibleVersions"]):
            raise SchemaError(f"{name} version {version} is not flexible: no release has written such a record")
        yield Schema(
            key=key,
            control=control,
            version=version,
            type_name=CONTROL_TYPES[key] if control else _upper_snake(name),
            fields=_fields(described["fields"], version, commons),
        )


def _fields(described: list[Json], version: int, commons: dict[str, list[Json]]) -> tuple[Field, ...]:
    return tuple(_field(each, version, commons) for each in described if _within(version, each["versions"]))


def _field(described: Json, version: int, commons: dict[str, list[Json]]) -> Field:
    declared = described["type"]
    array, base = declared.startswith("[]"), declared.removeprefix("[]")
    kind = _KINDS.get(base, Kind.STRUCT)
    inner = described.get("fields") or commons.get(base) or []
    tagged = _within(version, described.get("taggedVersions", "none"))
    name = described["name"]
    if tagged and kind in {Kind.STRUCT, Kind.FLOAT64}:
        raise SchemaError(f"{name}: a tagged struct or double, which no record has had yet")
    return Field(
        name=name[0].lower() + name[1:],
        kind=kind,
        array=array,
        nullable=_within(version, described.get("nullableVersions", "none")),
        tag=int(described["tag"]) if tagged else -1,
        default=default_of(kind, described.get("default"), array=array),
        fields=_fields(inner, version, commons) if kind is Kind.STRUCT else (),
    )


def _range(versions: str) -> range:
    first, _, last = versions.partition("-")
    return range(int(first), int(last or first) + 1)


def _within(version: int, versions: str) -> bool:
    if versions == "none":
        return False
    if versions.endswith("+"):
        return version >= int(versions[:-1])
    return version in _range(versions)


def _upper_snake(name: str) -> str:
    return re.sub(r"(?<!^)(?=[A-Z])", "_", name).upper()
