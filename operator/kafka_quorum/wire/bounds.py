"""How much of an answer is read: well above what any real cluster has, far below what would stop the operator.

One process serves every quorum, and a quorum's owner chooses its image. An answer above a bound is refused as a whole,
and the error names the bound: a part of the answer would be a wrong picture (rule 8).
"""

from dataclasses import dataclass
from typing import Final

from kit.text import NAME_MAX_CHARS

MAX_ANSWER_BYTES: Final = 256 * 1024
"""The limit of an answer whose request has no other.

A DescribeQuorum with all rows allowed, 64 voters and 5,000 observers, takes 231 kB.
"""
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
MAX_VALUE_BYTES: Final = 32_767
"""The limit of a setting's value; Kafka's longest are lists of addresses or of principals."""
MAX_PATH_BYTES: Final = 4_096
"""The limit of a log directory's path, as Linux has it."""
MAX_CLIENT_BYTES: Final = 1_024
"""The limit of a client's or a member's id: a client may choose one that is longer than any name of Kafka's."""
MAX_MEMBERS: Final = 4_096
"""The limit of members of one group: for a Streams application one for each thread."""
MAX_GROUPS: Final = 20_000
"""The limit of groups that one broker coordinates."""
MAX_BLOB_BYTES: Final = 1024 * 1024
"""The limit of bytes that a member of a group passes through its coordinator.

Kafka stores a whole group in one record, whose default limit (`message.max.bytes`) is about this.
"""
MAX_BROKERS: Final = 5_000
"""The limit of registered brokers, fenced ones too."""
MAX_PARTITIONS: Final = 200_000
"""The limit of all partitions of a cluster; Kafka's own advice ends at that order of magnitude."""


MAX_SHARES: Final = 200_000
"""The limit of what all members of one group have together: partitions, or tasks now and to come.

The bytes of one answer could have millions.
"""
MAX_COMMITTED: Final = 50_000
"""The limit of partitions with an offset that one group has committed: two looks at them are kept for each group."""
MAX_SUBSCRIBED: Final = 1_000_000
"""The limit of the topics that all members of one group subscribe to: each member lists all of its own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bound:
    """How many elements a list may have, and their name in a message."""

    count: int
    plural: str


UNCLEAN: Final = frozenset({"error_message", "metadata", "value"})
"""Texts that may hold any character: whoever reads the answer cleans them."""
_STRINGS: Final = {
    "error_message": MAX_WORDS_BYTES,
    "value": MAX_VALUE_BYTES,
    "log_dir": MAX_PATH_BYTES,
    "client_id": MAX_CLIENT_BYTES,
    "member_id": MAX_CLIENT_BYTES,
    "metadata": MAX_VALUE_BYTES,
}


def string_bound(field: str) -> int:
    """How many bytes a string may have: a server's messages and a setting's value are long, names are not."""
    return _STRINGS.get(field, MAX_NAME_BYTES)
