"""How much of an answer is read: well above what any real cluster has, far below what would stop the operator.

One process serves every quorum, and a quorum's owner chooses its image. An answer above a bound is refused as a whole,
and the error names the bound: a part of the answer would be a wrong picture (rule 8).
"""

from dataclasses import dataclass
from typing import Final

from kit.text import NAME_MAX_CHARS

MAX_ANSWER_BYTES: Final = 256 * 1024
"""The limit of one answer. A DescribeQuorum with all rows allowed, 64 voters and 5,000 observers, takes 231 kB."""
MAX_VOTERS: Final = 64
"""The limit of a voter set; Kafka's own advice is three or five."""
MAX_OBSERVERS: Final = 5_000
"""Every broker of a cluster is an observer of its metadata log, as is a controller without a vote."""
MAX_ROWS: Final = 64
"""The limit of every other list."""
MAX_TAGGED_FIELDS: Final = 64
"""The limit of one struct."""
MAX_NAME_BYTES: Final = NAME_MAX_CHARS
MAX_WORDS_BYTES: Final = 32_767
"""The limit of an error message, the longest that Kafka writes; it is shortened before it is shown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bound:
    """How many elements a list may have, and their name in a message."""

    count: int
    plural: str


def string_bound(field: str) -> int:
    """How many bytes a string may have: a server's messages are long, names are not."""
    return MAX_WORDS_BYTES if field == "error_message" else MAX_NAME_BYTES
