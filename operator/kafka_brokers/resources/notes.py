"""The note of what a pod's script found empty, as the text of an annotation. Pure."""

import json
from typing import Final

from kafka_brokers.model.found import FoundEmpty, Run, SinceEmpty
from kit.kube.protocol import Json
from kit.parsing import json_object, number
from kit.stamps import second_of, seconds_of

SCHEMA: Final = 1
_MAX_CHARS: Final = 10_000


def text_of(note: FoundEmpty) -> str:
    """The note as text."""
    body = {
        "schemaVersion": SCHEMA,
        "run": f"{note.run.container}/{note.run.number}",
        "finishedAt": second_of(note.finished_at_s),
        "notedAt": second_of(note.noted_at_s),
        "empty": {
            str(row.index): {"finishedAt": second_of(row.finished_at_s), "notedAt": second_of(row.noted_at_s)}
            for row in note.volumes
        },
    }
    return json.dumps(body)


def note_of(text: object) -> FoundEmpty | None:
    """The note in a text; None for any other text, also of a later version: then the evidence begins again."""
    if not isinstance(text, str):
        return None
    try:
        body = json_object(text, max_chars=_MAX_CHARS)
        if body["schemaVersion"] != SCHEMA:
            return None
        container, _, count = body["run"].rpartition("/")
        return FoundEmpty(
            run=Run(container=container, number=number(count)),
            finished_at_s=_stamp(body, "finishedAt"),
            noted_at_s=_stamp(body, "notedAt"),
            volumes=tuple(
                SinceEmpty(
                    index=number(index), finished_at_s=_stamp(row, "finishedAt"), noted_at_s=_stamp(row, "notedAt")
                )
                for index, row in body["empty"].items()
            ),
        )
    except (ValueError, KeyError, TypeError, AttributeError):
        return None


def _stamp(body: Json, key: str) -> float:
    """A time in seconds since the epoch. Raises `ValueError` if it is none: as 0 it would be long ago."""
    seconds = seconds_of(body[key])
    if seconds <= 0:
        raise ValueError(f"{key} is no time")
    return seconds
