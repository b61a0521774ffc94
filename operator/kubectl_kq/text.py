"""Text from outside, made safe to show on a terminal. Pure.

Conditions, events, errors and logs have words of servers and of images that others choose. Such text must not break a
line, move a cursor or reverse what is read. It is cleaned when it is read from an object, and once more before it is
printed.
"""

import re
from typing import Final

LINE_MAX_CHARS: Final = 4000
"""The longest text that is shown; a longer one ends with an ellipsis."""

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


def clean(text: str, *, max_chars: int = LINE_MAX_CHARS) -> str:
    """One line of visible characters, at most `max_chars` long (1 or more). Cleaning twice changes nothing."""
    line = " ".join(_visible(text[: max_chars * 4]).split())
    return line if len(line) <= max_chars else line[: max_chars - 1].rstrip() + _ELLIPSIS


def clean_line(text: str, *, max_chars: int = LINE_MAX_CHARS) -> str:
    """A line of a log: the same, but its spaces stay, because they show how a stack trace is nested."""
    line = _visible(text[: max_chars * 4].replace("\t", "    ")).rstrip()
    return line if len(line) <= max_chars else line[: max_chars - 1] + _ELLIPSIS


def _visible(text: str) -> str:
    return "".join(map(_shown, _ESCAPES.sub("", text)))


def _shown(character: str) -> str:
    if character.isspace():
        return " "
    return character if character.isprintable() and character not in _HIDDEN else ""
