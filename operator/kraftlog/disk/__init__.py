"""The disk of a stopped controller, or the metadata log of a broker, looked at with the standard library alone.

`look` says where a log ends, what is damaged and who the voters are; `content` says what it has from an offset on;
`beyond` says what it has that another log does not have. All three only read. `kraftlog.rewrite` changes a disk.
`python -m kraftlog.disk` has all of it as commands.
"""

from kraftlog.disk.comparing import beyond
from kraftlog.disk.contents import content
from kraftlog.disk.errors import DiskError, UnreadableDiskError
from kraftlog.disk.form import FormError, from_json, to_json
from kraftlog.disk.looking import look
from kraftlog.disk.model import (
    BEYOND_SCHEMA,
    CONTENT_SCHEMA,
    LOOK_SCHEMA,
    Beyond,
    Checkpoint,
    Chosen,
    Content,
    Damage,
    DiskLook,
    Endpoint,
    EpochRange,
    EpochStart,
    QuorumState,
    Segment,
    Tail,
    TopicContent,
    TypeCount,
    Voter,
    Voters,
)

__all__ = [
    "BEYOND_SCHEMA",
    "CONTENT_SCHEMA",
    "LOOK_SCHEMA",
    "Beyond",
    "Checkpoint",
    "Chosen",
    "Content",
    "Damage",
    "DiskError",
    "DiskLook",
    "Endpoint",
    "EpochRange",
    "EpochStart",
    "FormError",
    "QuorumState",
    "Segment",
    "Tail",
    "TopicContent",
    "TypeCount",
    "UnreadableDiskError",
    "Voter",
    "Voters",
    "beyond",
    "content",
    "from_json",
    "look",
    "read_beyond",
    "read_chosen",
    "read_content",
    "read_look",
    "to_json",
]


def read_look(text: str) -> DiskLook:
    """A look that `to_json` wrote (`FormError`)."""
    return from_json(DiskLook, text, schema=LOOK_SCHEMA)


def read_content(text: str) -> Content:
    """A content that `to_json` wrote (`FormError`)."""
    return from_json(Content, text, schema=CONTENT_SCHEMA)


def read_beyond(text: str) -> Beyond:
    """What `to_json` wrote of a comparison (`FormError`)."""
    return from_json(Beyond, text, schema=BEYOND_SCHEMA)


def read_chosen(text: str) -> Chosen:
    """The log that others are compared with, as `to_json` writes it (`FormError`)."""
    return from_json(Chosen, text, schema=BEYOND_SCHEMA)
