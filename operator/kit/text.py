"""Text from outside, made safe to show: in a log line, an event, a condition, a message.

A quorum's owner chooses the image. So the owner may choose an error message in an answer, a termination message or a
feature's name. Such text must not break a line, move a cursor, reverse what is read, or fill a disk. It is cleaned
where it is parsed into a value (the edge), and once more where it is written.
"""

import json
import re
from typing import Any, Final

NAME_MAX_CHARS: Final = 253
"""The longest name of a Kubernetes object, and longer than any name of Kafka's that this operator reads."""
MESSAGE_MAX_CHARS: Final = 1000
"""The longest message. If bytes count, as in an event, `within_bytes` makes it shorter."""
WORDS_MAX_CHARS: Final = 300
"""The longest quotation of outside text within a message."""

_ELLIPSIS: Final = "…"
_ESCAPES: Final = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]{0,64}[ -/]{0,16}[@-~]"  # CSI: colours, cursor
    r"|(?:\x1b[\]PX^_]|[\x9d\x90\x98\x9e\x9f])[^\x07\x1b\x9c]{0,256}(?:\x07|\x1b\\|\x9c)"  # OSC, DCS and the like
    r"|\x1b[ -/]{1,16}[0-~]"  # character sets
)
_HIDDEN: Final = frozenset(
    map(
        chr,
        (
            *(0x034F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x2800, 0x3164, 0xFFA0, 0xFFFC),
            *range(0x180B, 0x1810),
            *range(0xFE00, 0xFE10),
            *range(0xE0100, 0xE01F0),
        ),
    )
)
"""Letters and marks by category that show nothing: fillers and variation selectors."""
_ODD: Final = re.compile(r'[\\\x7f]|  |" | "')
"""In JSON without spaces between values: an escape, so a character that is not plain; spaces that `clean` removes."""
_LOOKED_AT: Final = 4
"""Of a longer text, this many times the limit is read: removed characters make room, but not without end."""


def is_clean(text: str, *, max_chars: int) -> bool:
    """Whether a name can be used as it is. A name must not be cleaned: two different ones could become the same."""
    return 0 < len(text) <= max_chars and text.isprintable() and _HIDDEN.isdisjoint(text)


def clean(text: str, *, max_chars: int) -> str:
    """One line of visible characters, at most `max_chars` long; a longer text ends with an ellipsis.

    Line breaks, tabs and every other kind of space become one space. Terminal sequences, control characters (C0, C1),
    format characters (bidirectional ones, zero width), lone surrogates and unassigned code points are removed.
    Cleaning twice changes nothing. `max_chars` must be at least 1.
    """
    visible = len(text) <= max_chars and text.isprintable() and (text.isascii() or _HIDDEN.isdisjoint(text))
    if visible and (" " not in text or text == " ".join(text.split())):
        return text
    read = text[: max_chars * _LOOKED_AT]
    shown = "".join(map(_shown, _ESCAPES.sub("", read)))
    line = " ".join(shown.split())
    if len(line) <= max_chars and len(read) == len(text):
        return line
    return line[: max_chars - 1].rstrip() + _ELLIPSIS


def within_bytes(line: str, *, max_bytes: int) -> str:
    """A line that `clean` made, at most this many bytes of UTF-8 long: cut between two characters, with an ellipsis."""
    encoded = line.encode()
    if len(encoded) <= max_bytes:
        return line
    left = encoded[: max_bytes - len(_ELLIPSIS.encode())]
    return left.decode(errors="ignore").rstrip() + _ELLIPSIS


def cleaned(value: Any, *, max_chars: int) -> Any:  # noqa: ANN401 - any JSON
    """JSON of an object's status, with every text in it, keys included, cleaned by `clean`.

    It may be the same object, for reading only: most statuses have nothing to clean.
    """
    if isinstance(value, str):
        # Nearly all text is one word of ASCII, which stays as it is.
        plain = value.isascii() and value.isprintable() and " " not in value and len(value) <= max_chars
        return value if plain else clean(value, max_chars=max_chars)
    if _is_plain(value, min(max_chars, NAME_MAX_CHARS)):
        return value
    if isinstance(value, dict):
        return {
            cleaned(str(key), max_chars=NAME_MAX_CHARS): cleaned(inner, max_chars=max_chars)
            for key, inner in value.items()
        }
    if isinstance(value, list):
        return [cleaned(inner, max_chars=max_chars) for inner in value]
    return value


def _is_plain(value: object, most_chars: int) -> bool:
    """Whether JSON has only short texts of visible ASCII with single spaces: one search in it as text says so."""
    if not isinstance(value, dict | list):
        return False
    try:
        text = json.dumps(value, separators=(",", ":"))
    except (TypeError, ValueError):  # no JSON: what can be cleaned in it is
        return False
    return _ODD.search(text) is None and not any(len(part) > most_chars for part in text.split('"'))


def name(text: object) -> str:
    """A name or an id from an object of others: as it is, or changed so that it equals no real one.

    A name is never cleaned into another's. One that cannot be shown begins with `?`, as no name of Kubernetes and no id
    of Kafka does.
    """
    if not isinstance(text, str):
        return f"?{type(text).__name__}"
    if not text or is_clean(text, max_chars=NAME_MAX_CHARS):
        return text
    return f"?{clean(text, max_chars=NAME_MAX_CHARS - 1)}"


def _shown(character: str) -> str:
    if character.isspace():
        return " "
    return character if character.isprintable() and character not in _HIDDEN else ""
