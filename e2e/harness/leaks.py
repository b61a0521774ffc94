"""Where the contents of Secrets are found outside Secrets: which texts to look for, and the search. Pure.

A private key is looked for as a whole and by each of its lines, a password and anything else as a whole; each as it is,
as a text in JSON, in base64 (of itself, or within something longer), and in hexadecimal digits. Certificates, names of
users, and what is too short to be told from other text, are not looked for; what is too short is named. No result has a
text that was looked for.
"""

import base64
import binascii
import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final

from harness.shell import Json

LEAST: Final = 8
"""Shorter values are found everywhere."""
LEAST_LINE: Final = 16
"""Shorter lines of a key are not looked for."""
_NAMES: Final = frozenset(
    ("username", "user", "namespace", "sasl.username", "asked-for", "listeners", "named", "issuer")
)
"""Keys whose values are public: `asked-for` is that of `renewCA` in a spec, `listeners` are names of a spec,
`named` are files of a contract, `issuer` is a kind of issuer."""
_NUMBER_CHARS: Final = 16
"""Shorter numbers are moments and counters, which are everywhere."""
_SECRET_WORDS: Final = re.compile(r"pass|key|secret|token|jaas", re.IGNORECASE)
_KEY: Final = re.compile(r"-----BEGIN ([A-Z ]*PRIVATE KEY)-----(.*?)-----END \1-----", re.DOTALL)
_CERTIFICATE: Final = re.compile(r"-----BEGIN CERTIFICATE-----.*?-----END CERTIFICATE-----", re.DOTALL)
_JAAS: Final = re.compile(r'\b(?:password|user_[^\s="]+)="([^"]+)"')
_LINE: Final = re.compile(r"^[^#=\s]*(?:password|secret|token)[^=\s]*\s*=\s*(\S+)\s*$", re.IGNORECASE | re.MULTILINE)

Place = tuple[str, bytes]
"""Something that was written: where, and all of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Needle:
    """A text to look for: of this key of this Secret (`namespace/name`), in this form."""

    secret: str
    key: str
    form: str
    data: bytes = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Leak:
    """A content of a Secret that is outside: `forms` are those that were found there."""

    secret: str
    key: str
    where: str
    forms: tuple[str, ...]

    def __str__(self) -> str:
        """One line for a person, without the content."""
        return f"key {self.key} of Secret {self.secret} is in {self.where}: {', '.join(self.forms)}"


@dataclass(slots=True)
class Known:
    """The contents of Secrets so far; those that were replaced meanwhile stay known."""

    needles: dict[tuple[str, bytes], Needle] = field(default_factory=dict, repr=False)
    short: set[str] = field(default_factory=set)
    """Values that are too short to be looked for: `namespace/name key`."""
    _public: set[bytes] = field(default_factory=set, repr=False)

    def note(self, secrets: Iterable[Json]) -> None:
        """Add the contents of these Secrets, as the API server lists them."""
        for item in secrets:
            metadata = item["metadata"]
            secret = f"{metadata['namespace']}/{metadata['name']}"
            for key, value in (item.get("data") or {}).items():
                self._add(secret, key, base64.b64decode(value))

    def _add(self, secret: str, key: str, value: bytes) -> None:
        text = value.decode(errors="replace")
        self._public |= {line.encode() for found in _CERTIFICATE.findall(text) for line in found.splitlines()}
        if key in _NAMES or is_public(text):
            return
        for form, part in parts(key, value):
            if len(part) < LEAST or (part.isdigit() and len(part) < _NUMBER_CHARS):
                self.short.add(f"{secret} {key}")
                continue
            for written, data in writings(part):
                needle = Needle(secret=secret, key=key, form=f"{form}{written}", data=data)
                self.needles.setdefault((secret, data), needle)

    def search(self, places: Iterable[Place]) -> "Found":
        """Look for all of them in these places. Lines that a certificate has, too, are none of a key."""
        found, hidden = Found(), tuple(row for row in self.needles.values() if row.data not in self._public)
        found.needles = len(hidden)
        for where, data in places:
            found.places += 1
            found.bytes += len(data)
            here: dict[tuple[str, str], list[str]] = {}
            for needle in hidden:
                if needle.data in data:
                    here.setdefault((needle.secret, needle.key), []).append(needle.form)
            found.leaks += [
                Leak(secret=secret, key=key, where=where, forms=tuple(dict.fromkeys(forms)))
                for (secret, key), forms in here.items()
            ]
        return found


@dataclass(slots=True)
class Found:
    """The result: a search that looked for nothing, or nowhere, is none (`checked`)."""

    leaks: list[Leak] = field(default_factory=list)
    needles: int = 0
    places: int = 0
    bytes: int = 0

    def checked(self) -> "Found":
        """Itself (AssertionError if nothing was searched)."""
        assert self.needles, "no Secret has a content to look for"
        assert self.bytes, "there is nothing in which to look"
        return self

    def __str__(self) -> str:
        """For a person."""
        rows = "".join(f"\n{leak}" for leak in self.leaks)
        where = f"{self.needles} texts in {self.places} places with {self.bytes / 1e6:.1f} MB"
        return f"looked for {where}: {len(self.leaks)} leaks{rows}"


def is_public(text: str) -> bool:
    """Whether a value has certificates and nothing else."""
    return "-----BEGIN CERTIFICATE-----" in text and not _CERTIFICATE.sub("", text).strip()


def parts(key: str, value: bytes) -> Iterator[tuple[str, bytes]]:
    """What of a value must not be known, each with its form: the whole, keys and their lines, passwords inside."""
    text = value.decode(errors="replace")
    if value.strip():
        yield "whole", value.strip()
    for _, body in _KEY.findall(text):
        lines = [line.strip() for line in body.split("\n") if len(line.strip()) >= LEAST_LINE]
        yield from (("a line of a private key", line.encode()) for line in lines)
        try:
            yield "a private key in DER", base64.b64decode("".join(body.split()), validate=True)
        except binascii.Error:
            continue  # it is searched by its lines
    yield from (("a password", word.encode()) for word in (*_JAAS.findall(text), *_LINE.findall(text)))
    try:
        rows = json.loads(text) if text.lstrip().startswith("{") else {}
    except ValueError:
        return
    for name, inner in rows.items():
        if isinstance(inner, str) and name not in _NAMES and _SECRET_WORDS.search(name) and not is_public(inner):
            yield from parts(f"{key} {name}", inner.encode())


def writings(part: bytes) -> Iterator[tuple[str, bytes]]:
    """How a part may be written, each with what is said of it after the form."""
    yield "", part
    text = part.decode(errors="replace")
    once = json.dumps(text)[1:-1]
    for escaped in (once, json.dumps(once)[1:-1]):
        if escaped != text:
            yield " in JSON", escaped.encode()
    for shift in range(3):
        within = base64.b64encode(b"\0" * shift + part)
        first, end = -(-shift * 8 // 6), (shift + len(part)) * 8 // 6
        yield " in base64", within[first:end]
    yield " in hexadecimal", part.hex().encode()
