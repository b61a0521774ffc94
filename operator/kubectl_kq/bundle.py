"""`report`: everything that helps to explain a quorum, in one archive, without keys and passwords. Pure.

The archive has what the other commands answer, the objects that they read, and the ends of the logs, all redacted
(`redact`). Secrets are not read at all. What was not read is listed, so that a gap is not taken for an empty list.
"""

import gzip
import io
import json
import tarfile
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final, TypeAlias

from kubectl_kq import render, warnings
from kubectl_kq.answers import Answer, Found, NotRead
from kubectl_kq.logs import lines_of
from kubectl_kq.page import DONE, UNKNOWN, Column, Fact, Facts, Page, Table
from kubectl_kq.redact import redacted, redacted_text
from kubectl_kq.sources import Look, Source, is_failure, not_read
from kubectl_kq.text import clean

Json: TypeAlias = dict[str, Any]

SOURCES: Final = tuple(source for source in Source if source is not Source.NODES)
_MODE: Final = 0o600


def members(
    look: Look, pages: Sequence[Page], logs: Mapping[tuple[str, str], str | NotRead], *, tail: int
) -> dict[str, str]:
    """The files of the archive, by their names, all redacted. `tail` is how many lines of each log stay."""
    found: dict[str, str] = {}
    for page in pages:
        found[f"{page.command}.txt"] = redacted_text(render.as_text(page))
        found[f"{page.command}.json"] = _json(redacted(render.data(page)))
    for name, answer in _answers(look):
        if isinstance(answer, Found):
            value = {"items": list(warnings.ours(look))} if name == Source.WARNINGS.value else answer.value
            found[f"objects/{_file(name)}.json"] = _json(redacted(value))
    for (whose, pod), printed in logs.items():
        if not isinstance(printed, NotRead):
            only = f"{look.namespace}/{look.name}" if whose == "operator" else ""
            found[f"logs/{_file(pod)}.log"] = redacted_text("\n".join(lines_of(printed, only=only, tail=tail))) + "\n"
    found["not-read.json"] = _json(
        [{"what": what, "why": why, "words": words} for what, why, words in _gaps(look, logs)]
    )
    return found


def archive(files: Mapping[str, str], folder: str, now: datetime) -> bytes:
    """The files in a folder of a compressed tar; the same files at the same time give the same bytes."""
    packed = io.BytesIO()
    seconds = int(now.timestamp())
    with (
        gzip.GzipFile(fileobj=packed, mode="wb", mtime=seconds) as compressed,
        tarfile.open(fileobj=compressed, mode="w") as tar,
    ):
        for name in sorted(files):
            content = files[name].encode("utf-8", errors="backslashreplace")
            entry = tarfile.TarInfo(f"{folder}/{name}")
            entry.size, entry.mtime, entry.mode = len(content), seconds, _MODE
            tar.addfile(entry, io.BytesIO(content))
    return packed.getvalue()


def report_page(look: Look, files: Mapping[str, str], logs: Mapping[tuple[str, str], str | NotRead], path: str) -> Page:
    """What the archive has, and what was not read."""
    silent = [(f"log of {pod}", answer) for (_, pod), answer in logs.items() if isinstance(answer, NotRead)]
    unread = not_read((*_answers(look), *silent), absent=frozenset(source.value for source in Source))
    facts = (
        Fact(key="namespace", label="Namespace", value=look.namespace),
        Fact(key="name", label="Quorum", value=look.name),
        Fact(key="file", label="File", value=path),
        Fact(key="note", label="", value="Look into it before you pass it on: it names pods, nodes and addresses."),
    )
    columns = (Column(key="name", label="NAME"), Column(key="characters", label="CHARACTERS"))
    rows = tuple((name, len(files[name])) for name in sorted(files))
    table = Table(key="files", title="Files", columns=columns, rows=rows)
    unknown = silent or any(is_failure(source, look.answer(source)) for source in SOURCES)
    return Page(command="report", sections=(Facts(facts=facts), table, unread), code=UNKNOWN if unknown else DONE)


def _answers(look: Look) -> list[tuple[str, Answer]]:
    nodes = [(f"node {name}", answer) for name, answer in sorted(look.nodes.items())]
    return [*((source.value, look.answer(source)) for source in SOURCES), *nodes]


def _gaps(look: Look, logs: Mapping[tuple[str, str], str | NotRead]) -> list[tuple[str, str, str]]:
    answers = [(what, answer) for what, answer in _answers(look) if isinstance(answer, NotRead)]
    answers += [(f"log of {pod}", answer) for (_, pod), answer in logs.items() if isinstance(answer, NotRead)]
    return [(what, answer.why.value, redacted_text(answer.words)) for what, answer in answers]


def _file(name: str) -> str:
    """A name of a file: nothing of it leads to another folder."""
    return "".join(each if each.isalnum() or each in "-._" else "-" for each in clean(name)).lstrip(".") or "unnamed"


def _json(value: object) -> str:
    return json.dumps(value, indent=1, ensure_ascii=True) + "\n"
