"""One sentence if it applies to several controllers: `controllers 3000, 3001, 3002: pod demo-<id> starts`."""

import re
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """A sentence and the controllers that it is about. `subject` is the sentence without their ids."""

    node_ids: tuple[int, ...]
    message: str
    subject: str


def together(said: Iterable[tuple[int | None, str]]) -> tuple[Said, ...]:
    """Group (node id, sentence) pairs whose sentences differ only in the controller; in order, none twice.

    A pair with the node id None is about the quorum, and is grouped with equal ones only.
    """
    groups: dict[tuple[bool, str], list[tuple[int | None, str]]] = {}
    for node_id, message in said:
        subject = subject_of(node_id, message)
        rows = groups.setdefault((node_id is None, subject), [])
        if (node_id, message) not in rows:
            rows.append((node_id, message))
    return tuple(_one(subject, rows) for (_, subject), rows in groups.items())


def subject_of(node_id: int | None, message: str) -> str:
    """The sentence with `<id>` for the controller, its pod, its claim and its replica key.

    Ids are replaced in these forms only: another number of the sentence can be equal to a small id.
    """
    if node_id is None:
        return message
    key = rf"(?<![\w-]){node_id}-[A-Za-z0-9_-]{{22}}(?![\w-])"
    name = rf"(?<=[a-z0-9]-){node_id}(?:-g\d+\b|(?=\.[a-z0-9-]+-controllers\b))"
    word = rf"(?P<word>\b(?:controller|node id|observer|replica|voter) ){node_id}(?![\w-])"
    return re.sub(rf"{key}|{name}|{word}", lambda found: f"{found['word'] or ''}<id>", message)


def _one(subject: str, rows: list[tuple[int | None, str]]) -> Said:
    node_ids = tuple(sorted({node_id for node_id, _ in rows if node_id is not None}))
    if len(node_ids) < 2:  # noqa: PLR2004 - one controller needs no list
        return Said(node_ids=node_ids, message=rows[0][1], subject=subject)
    names = ", ".join(map(str, node_ids))
    return Said(node_ids=node_ids, message=f"controllers {names}: {subject}", subject=subject)
