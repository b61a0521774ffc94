"""What can be wrong with a log, each with the file and the position where it was found.

Faults are values: a reader yields them between records and continues if it can. Errors are raised: for files that
cannot be read at all, and for wrong requests.
"""

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, Self

STEERING_RANGES: Final = (
    (0x7F, 0x9F), (0xAD, 0xAD), (0x34F, 0x34F), (0x600, 0x605), (0x61C, 0x61C), (0x6DD, 0x6DD), (0x70F, 0x70F),
    (0x890, 0x891), (0x8E2, 0x8E2), (0x115F, 0x1160), (0x17B4, 0x17B5), (0x180B, 0x180F), (0x200B, 0x200F),
    (0x2028, 0x202E), (0x2060, 0x206F), (0x2800, 0x2800), (0x3164, 0x3164), (0xFE00, 0xFE0F), (0xFEFF, 0xFEFF),
    (0xFFA0, 0xFFA0), (0xFFF0, 0xFFFC), (0x110BD, 0x110BD), (0x110CD, 0x110CD), (0x13430, 0x1343F), (0x1BCA0, 0x1BCA3),
    (0x1D173, 0x1D17A), (0xE0000, 0xE0FFF),
)  # fmt: skip
"""Characters beyond ASCII's controls that move a terminal's cursor, hide text or show nothing, which JSON would let
through: C1, separators of lines, format characters, fillers, variation selectors, tags. First and last, ascending."""
STEERING = re.compile(f"[{''.join(f'{chr(first)}-{chr(last)}' for first, last in STEERING_RANGES)}]")
_CONTROLS = re.compile(f"[\x00-\x1f]|{STEERING.pattern}")


def quoted(text: str) -> str:
    """A text for people, in which no character can control their terminal."""
    return _CONTROLS.sub(lambda found: ascii(found[0])[1:-1], text)


class KraftLogError(Exception):
    """The base of this package's errors."""


class SchemaError(KraftLogError):
    """A record description, or a request for one, that makes no sense."""


class NotALogError(KraftLogError):
    """A file that cannot be opened, or that does not begin like a log."""

    def __init__(self, path: str, position: int, reason: str) -> None:
        """`position` in bytes."""
        super().__init__(f"{path}: position {position}: {reason}")
        self.path = path
        self.position = position
        self.reason = reason

    @classmethod
    def of(cls, error: OSError, path: str, position: int) -> Self:
        """The error for a file that the system did not open or read."""
        if isinstance(error, IsADirectoryError):
            return cls(path, position, "it is a directory: name the .log and .checkpoint files in it")
        return cls(path, position, f"cannot be read: {error.strerror or error}")


class FaultKind(StrEnum):
    """The kinds of damage."""

    EMPTY = "empty"
    TORN_TAIL = "torn-tail"
    CORRUPT_BATCH = "corrupt-batch"
    CRC_MISMATCH = "crc-mismatch"
    CORRUPT_RECORD = "corrupt-record"
    GAP = "gap"
    OUT_OF_ORDER = "out-of-order"


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """Damage at `position` (bytes from the start of `path`), because of which `skipped_bytes` were not read."""

    kind: FaultKind
    path: str
    position: int
    skipped_bytes: int
    reason: str

    def __str__(self) -> str:
        """One line for people."""
        skipped = f"; {self.skipped_bytes} bytes skipped" if self.skipped_bytes else ""
        return f"{self.path}: position {self.position}: {self.kind}: {self.reason}{skipped}"
