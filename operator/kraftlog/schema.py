"""What the records of a metadata log look like: Kafka's own descriptions, read into frozen values per release.

The texts under `schemas/` are copies from Kafka's jars, and everything else follows from them: the reference codec
(`values`), the compiled decoder (`program`), the names in a dump. Nothing about a single record type is written by
hand, except how control records are called, which Kafka keeps in code.
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import IntEnum
from functools import cache
from importlib.resources import files

from kraftlog.errors import SchemaError

CONTROL_TYPES: Mapping[int, tuple[str, str]] = {
    2: ("LeaderChange", "LeaderChangeMessage"),
    3: ("SnapshotHeader", "SnapshotHeaderRecord"),
    4: ("SnapshotFooter", "SnapshotFooterRecord"),
    5: ("KRaftVersion", "KRaftVersionRecord"),
    6: ("KRaftVoters", "VotersRecord"),
}
"""Control record type to the name that a dump prints and the name of its description."""


class Kind(IntEnum):
    """How a value lies on the wire."""

    BOOL = 1
    INT8 = 2
    INT16 = 3
    UINT16 = 4
    INT32 = 5
    UINT32 = 6
    INT64 = 7
    FLOAT64 = 8
    UUID = 9
    STRING = 10
    BYTES = 11
    STRUCT = 12


_KINDS = {kind.name.lower(): kind for kind in Kind if kind is not Kind.STRUCT}
Default = bool | int | float | str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """One field of one version. `name` as in Kafka's JSON; `fields` is filled for structs; `tag` -1 if it has none."""

    name: str
    kind: Kind
    array: bool
    nullable: bool
    tag: int
    default: Default
    fields: tuple["Field", ...]

    @property
    def tagged(self) -> bool:
        """Whether it lies among the tagged fields."""
        return self.tag >= 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Schema:
    """One version of one record type. `key` is the api key, or the type of a control record."""

    key: int
    control: bool
    version: int
    type_name: str
    fields: tuple[Field, ...]


@dataclass(frozen=True, slots=True)
class Catalog:
    """All that a release can write, by (control, key, version)."""

    release: str
    schemas: Mapping[tuple[bool, int, int], Schema]

    def find(self, key: int, version: int, *, control: bool = False) -> Schema | None:
        """The schema, or None for what the release does not know."""
        return self.schemas.get((control, key, version))

    def type_names(self) -> dict[str, tuple[bool, int]]:
        """Every name that a dump can print, with (control, key)."""
        return {schema.type_name: (schema.control, schema.key) for schema in self.schemas.values()}


@cache
def releases() -> tuple[str, ...]:
    """The releases whose schemas are here, oldest first."""
    return tuple(_index())


@cache
def catalog(release: str | None = None) -> Catalog:
    """What a release knows: `4.4.0`, or `4.4` for whichever patch is here; None for everything of any release.

    In the union the newest description of a record wins: no two releases put different bytes behind one type and
    version that either ever wrote, only a few names changed. SchemaError for a release that is not here.
    """
    chosen = releases() if release is None else (_resolve(release),)
    schemas: dict[tuple[bool, int, int], Schema] = {}
    for each in chosen:
        for place in _index()[each].values():
            for schema in _schemas_in(place):
                schemas[schema.control, schema.key, schema.version] = schema
    return Catalog(release or "any", schemas)


def _resolve(release: str) -> str:
    for each in releases():
        if each == release or each.rsplit(".", 1)[0] == release:
            return each
    raise SchemaError(f"no schemas of Kafka {release}; there are {', '.join(releases())}")


@cache
def _index() -> dict[str, dict[str, str]]:
    loaded: dict[str, dict[str, str]] = json.loads((files("kraftlog") / "schemas" / "releases.json").read_text())
    return loaded


@cache
def _schemas_in(place: str) -> tuple[Schema, ...]:
    text = files("kraftlog").joinpath("schemas", *place.split("/")).read_text()
    return tuple(parse(text))


Json = dict[str, "JsonValue"]
JsonValue = str | int | float | bool | None | list["JsonValue"] | Json


def parse(text: str) -> Iterator[Schema]:
    """The schemas of every valid version in one of Kafka's description files (SchemaError)."""
    described = json.loads("\n".join(line for line in text.splitlines() if not line.strip().startswith("//")))
    name, controls = described["name"], {record: key for key, (_, record) in CONTROL_TYPES.items()}
    control = described["type"] == "data"
    if control and name not in controls:
        raise SchemaError(f"{name} is no control record")
    key = controls[name] if control else described["apiKey"]
    commons = {struct["name"]: struct["fields"] for struct in described.get("commonStructs", ())}
    for version in _range(described["validVersions"]):
        if not _within(version, described["flexibleVersions"]):
            raise SchemaError(f"{name} version {version} is not flexible: no release has written such a record")
        yield Schema(
            key=key,
            control=control,
            version=version,
            type_name=CONTROL_TYPES[key][0] if control else _upper_snake(name),
            fields=_fields(described["fields"], version, commons),
        )


def _fields(
    described: list[dict[str, str]], version: int, commons: dict[str, list[dict[str, str]]]
) -> tuple[Field, ...]:
    return tuple(_field(each, version, commons) for each in described if _within(version, each["versions"]))


def _field(described: dict[str, str], version: int, commons: dict[str, list[dict[str, str]]]) -> Field:
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
        default=_default(kind, described.get("default"), array=array),
        fields=_fields(inner, version, commons) if kind is Kind.STRUCT else (),  # type: ignore[arg-type] # nested JSON
    )


def _default(kind: Kind, written: str | float | None, *, array: bool) -> Default:
    """The value that a tagged field is not written for; arrays are empty (0) or null (None)."""
    if array or written == "null":
        return None if written == "null" else 0
    match kind:
        case Kind.BOOL:
            return str(written).lower() == "true"
        case Kind.FLOAT64:
            return float(written or 0)
        case Kind.STRING | Kind.BYTES:
            return str(written or "")
        case Kind.UUID:
            return "AAAAAAAAAAAAAAAAAAAAAA"
        case _:
            return int(written or 0)


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
