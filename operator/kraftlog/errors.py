"""What can be wrong with a log, each with the file and the position where it was found.

Faults are values: a reader yields them between records and goes on where it can. Errors are raised: for what cannot be
read at all, and for wrong requests.
"""

import re
from dataclasses import dataclass
from enum import StrEnum

STEERING = re.compile("[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
"""Characters beyond ASCII's controls that steer a terminal or hide text, which JSON would let through."""
_CONTROLS = re.compile(f"[\x00-\x1f]|{STEERING.pattern}")


def quoted(text: str) -> str:
    """A text for people, in which no character can steer their terminal."""
    return _CONTROLS.sub(lambda found: ascii(found[0])[1:-1], text)


class KraftLogError(Exception):
    """Anything that this package raises."""


class SchemaError(KraftLogError):
    """A record description, or the request for one, that makes no sense."""


class NotALogError(KraftLogError):
    """A file that cannot be opened, or that does not begin like a log."""

    def __init__(self, path: str, position: int, reason: str) -> None:
        """`position` in bytes."""
        super().__init__(f"{path}: position {position}: {reason}")
        self.path = path
        self.position = position
        self.reason = reason


class FaultKind(StrEnum):
    """What kind of damage."""

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
