"""The disk of a stopped controller, or the metadata log of a broker, looked at with the standard library alone.

`look` says where a log ends, what is damaged and who the voters are; `content` says what it has from an offset on. Both
only read. `kraftlog.rewrite` changes a disk. `python -m kraftlog.disk` has all of it as commands.
"""

from kraftlog.disk.contents import content
from kraftlog.disk.errors import DiskError, UnreadableDiskError
from kraftlog.disk.form import FormError, from_json, to_json
from kraftlog.disk.looking import look
from kraftlog.disk.model import (
    CONTENT_SCHEMA,
    LOOK_SCHEMA,
    Checkpoint,
    Content,
    Damage,
    DiskLook,
    Endpoint,
    QuorumState,
    Segment,
    Tail,
    TopicContent,
    TypeCount,
    Voter,
    Voters,
)

__all__ = [
    "CONTENT_SCHEMA",
    "LOOK_SCHEMA",
    "Checkpoint",
    "Content",
    "Damage",
    "DiskError",
    "DiskLook",
    "Endpoint",
    "FormError",
    "QuorumState",
    "Segment",
    "Tail",
    "TopicContent",
    "TypeCount",
    "UnreadableDiskError",
    "Voter",
    "Voters",
    "content",
    "from_json",
    "look",
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
