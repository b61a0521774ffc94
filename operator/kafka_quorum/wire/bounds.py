"""How much of an answer is read: well above what any real cluster has, far below what would stop the operator.

One process serves every quorum, and a quorum's owner chooses its image. An answer above a bound is refused as a whole,
by name and number: a part of it would be a wrong picture (rule 8).
"""

from dataclasses import dataclass
from typing import Final

from kit.text import NAME_MAX_CHARS

MAX_ANSWER_BYTES: Final = 256 * 1024
"""Of one answer. A DescribeQuorum with all rows that are allowed, 64 voters and 5,000 observers, takes 231 kB."""
MAX_VOTERS: Final = 64
"""Of a voter set; Kafka's own advice is three or five."""
MAX_OBSERVERS: Final = 5_000
"""Every broker of a cluster is an observer of its metadata log, as is a controller without a vote."""
MAX_ROWS: Final = 64
"""Of every other list."""
MAX_TAGGED_FIELDS: Final = 64
"""Of one struct."""
MAX_NAME_BYTES: Final = NAME_MAX_CHARS
MAX_WORDS_BYTES: Final = 32_767
"""Of an error message, as long as Kafka writes one; it is shortened before it is shown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bound:
    """How many elements a list may have, and what they are called in a message."""

    count: int
    plural: str


def string_bound(field: str) -> int:
    """How many bytes a string may have: words of a server are long, names are not."""
    return MAX_WORDS_BYTES if field == "error_message" else MAX_NAME_BYTES
