"""The form of the records of a metadata log, read into frozen values per release.

`schemas.txt` holds the facts of every record that Kafka 3.3 and later can write: names, keys, versions, field types,
tags, defaults, nullability. `make schemas` generates it from Kafka's jars. Everything else follows from it: the
reference codec (`values`), the compiled decoder (`program`), the names in a dump.

A line of `schemas.txt` describes one version of one record:

    metadata KEY NAME VERSION RELEASES FIELD …          control KEY NAME VERSION RELEASES FIELD …

RELEASES is a list of releases and ranges (`3.3.2,3.5.2-4.4.0`). A FIELD is `name:type`, then `?` if it may be null,
`@n` if it is a tagged field with that tag, and `=default` if its default is not empty, zero or false. A type is a
kind (`int32`, `string`, …) or a struct `{field …}`, and an array of either in `[]`.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import IntEnum
from functools import cache
from importlib.resources import files

from kraftlog.errors import SchemaError

CONTROL_TYPES: Mapping[int, str] = {
    2: "LeaderChange",
    3: "SnapshotHeader",
    4: "SnapshotFooter",
    5: "KRaftVersion",
    6: "KRaftVoters",
}
"""The name that a dump prints for each control record type, in every release."""


class Kind(IntEnum):
    """The form of a value on the wire."""

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
        """Whether it is one of the tagged fields."""
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
    """All record types that a release can write, by (control, key, version)."""

    release: str
    schemas: Mapping[tuple[bool, int, int], Schema]

    def find(self, key: int, version: int, *, control: bool = False) -> Schema | None:
        """The schema, or None if the release does not have it."""
        return self.schemas.get((control, key, version))

    def type_names(self) -> dict[str, tuple[bool, int]]:
        """Every name that a dump can print, with (control, key)."""
        return {schema.type_name: (schema.control, schema.key) for schema in self.schemas.values()}


@cache
def releases() -> tuple[str, ...]:
    """The releases whose schemas are here, oldest first."""
    return _described()[0]


@cache
def catalog(release: str | None = None) -> Catalog:
    """The record types of a release: `4.4.0`, or `4.4` for the patch that is here; None for those of all releases.

    In the union the newest description of a record is used. No two releases put different bytes behind one type and
    version that either ever wrote; only a few names changed. SchemaError for a release that is not here.
    """
    known, lines = _described()
    last = {known.index(each) for each in known} if release is None else {known.index(_resolve(release))}
    schemas: dict[tuple[bool, int, int], Schema] = {}
    newest: dict[tuple[bool, int, int], int] = {}
    for places, schema in lines:
        key = (schema.control, schema.key, schema.version)
        if (since := max(places & last, default=-1)) > newest.get(key, -1):
            schemas[key], newest[key] = schema, since
    return Catalog(release or "any", schemas)


def _resolve(release: str) -> str:
    for each in releases():
        if each == release or each.rsplit(".", 1)[0] == release:
            return each
    raise SchemaError(f"no schemas of Kafka {release}; there are {', '.join(releases())}")


@cache
def _described() -> tuple[tuple[str, ...], tuple[tuple[frozenset[int], Schema], ...]]:
    """The releases, and every line of `schemas.txt` with the places of its releases among them."""
    return parse((files("kraftlog") / "schemas.txt").read_text())


def parse(text: str) -> tuple[tuple[str, ...], tuple[tuple[frozenset[int], Schema], ...]]:
    """The releases that a text names, and its schemas, each with the places of its releases (SchemaError)."""
    known: tuple[str, ...] = ()
    found: list[tuple[frozenset[int], Schema]] = []
    for line in text.splitlines():
        word, _, rest = line.partition(" ")
        if word == "releases":
            known = tuple(rest.split())
        elif word in {"metadata", "control"}:
            key, name, version, named, *fields = rest.split(" ", 4)
            schema = Schema(
                key=int(key),
                control=word == "control",
                version=int(version),
                type_name=name,
                fields=_Fields("".join(fields)).all(),
            )
            found.append((_places(named, known), schema))
        elif word and word != "#":
            raise SchemaError(f"schemas.txt: a line begins with {word!r}, not with releases, metadata, control or #")
    return known, tuple(found)


def _places(named: str, known: tuple[str, ...]) -> frozenset[int]:
    places: set[int] = set()
    try:
        for part in named.split(","):
            first, _, last = part.partition("-")
            places |= set(range(known.index(first), known.index(last or first) + 1))
    except ValueError as error:
        raise SchemaError(f"schemas.txt: {named}: {error}") from error
    return frozenset(places)


_FIELD = re.compile(r" *(\w+):(\[?)(\w+|\{)")
_REST = re.compile(r"\]?(\??)(?:@(\d+))?(?:=([\w.+-]+))?")


class _Fields:
    """Reads the fields of a line."""

    def __init__(self, text: str) -> None:
        self.text, self.at = text, 0

    def all(self) -> tuple[Field, ...]:
        """Every field up to the end of the line."""
        fields = tuple(self._some())
        if self.at != len(self.text):
            raise SchemaError(f"schemas.txt: no field is to be read from {self.text[self.at : self.at + 40]!r}")
        return fields

    def _some(self) -> Iterator[Field]:
        while found := _FIELD.match(self.text, self.at):
            self.at = found.end()
            name, opening, base = found.groups()
            inner: tuple[Field, ...] = ()
            if base == "{":
                inner = tuple(self._some())
                if self.text[self.at : self.at + 1] != "}":
                    raise SchemaError(f"schemas.txt: the struct of {name} has no end")
                self.at += 1
            elif base not in _KINDS:
                raise SchemaError(f"schemas.txt: {name} has the unknown type {base}")
            yield self._field(name, _KINDS.get(base, Kind.STRUCT), inner, array=bool(opening))

    def _field(self, name: str, kind: Kind, inner: tuple[Field, ...], *, array: bool) -> Field:
        found = _REST.match(self.text, self.at)
        nullable, tag, default = found.groups() if found else ("", None, None)
        self.at = found.end() if found else self.at
        if tag is not None and kind in {Kind.STRUCT, Kind.FLOAT64}:
            raise SchemaError(f"schemas.txt: {name} is a tagged struct or double, which no record has had yet")
        return Field(
            name=name,
            kind=kind,
            array=array,
            nullable=bool(nullable),
            tag=-1 if tag is None else int(tag),
            default=default_of(kind, default, array=array),
            fields=inner,
        )


def default_of(kind: Kind, written: str | float | None, *, array: bool) -> Default:
    """The value for which a tagged field is not written; arrays are empty (0) or null (None)."""
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
