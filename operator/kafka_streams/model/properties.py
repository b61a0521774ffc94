"""Files of properties, as `java.util.Properties` reads them. Pure."""

import re
from collections.abc import Iterator
from typing import Final

UPGRADE_FROM: Final = "upgrade.from"
_NATURAL: Final = re.compile(r"\r\n|\n|\r")
_BLANK: Final = " \t\f"
_KEY: Final = re.compile(r"(?:\\.|[^\\=: \t\f])*", re.DOTALL)
_ESCAPE: Final = re.compile(r"\\(?:u([0-9a-fA-F]{4})|(.))", re.DOTALL)
_CONTROLS: Final = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}


def keys(text: str) -> Iterator[str]:
    """The keys of a file, in order and as Java reads them; a key may come twice."""
    for line in _logical(text):
        found = _KEY.match(line)
        yield _ESCAPE.sub(_plain, found[0] if found is not None else "")


def with_upgrade_from(text: str, value: str) -> str:
    """The file with `upgrade.from`. The empty line before it ends one that goes on: a backslash may be the last."""
    return f"{text.rstrip(chr(10) + chr(13))}\n\n{UPGRADE_FROM}={value}\n"


def _logical(text: str) -> Iterator[str]:
    """Lines without comments and empty ones; those that a backslash continues are put together."""
    begun: str | None = None
    for natural in _NATURAL.split(text):
        line = natural.lstrip(_BLANK)
        if not begun and line[:1] in {"", "#", "!"}:
            begun = None
            continue
        whole = (begun or "") + line
        slashes = len(whole) - len(whole.rstrip("\\"))
        begun = whole[:-1] if slashes % 2 else None
        if begun is None:
            yield whole
    if begun is not None:
        yield begun


def _plain(escape: re.Match[str]) -> str:
    return chr(int(escape[1], 16)) if escape[1] else _CONTROLS.get(escape[2], escape[2])
