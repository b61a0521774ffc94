"""A transcript of a terminal as a page, and the shape of it that every run has. No I/O.

Texts are what the program printed. Only names that differ in each run are replaced: the namespace, the cluster id,
directory ids, the hash of a plan, addresses and dates.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

MARK: Final = "<!-- `make transcript` writes the block below: it is what the program printed. -->\n"
_BLOCK: Final = re.compile(rf"({re.escape(MARK)})```console\n(.*?)```\n", re.DOTALL)
_ADDRESS: Final = re.compile(r"\b\d{1,3}(?:\.\d{1,3}){3}\b")
_DATE: Final = re.compile(r"\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z?")
_ID_CHARS: Final = 22
"""The length of an id that Kafka writes."""

_FLEETING: Final = frozenset({"Acts of one pass", "Waits of the planner", "Guards that refuse"})
"""Tables about one moment of the operator."""
_COMPARED: Final = frozenset({"Ready", "Doing", "Changed", "Stage", "Verdict", "Starts alone"})
"""Facts whose values are the same in every run."""
_LABELLED: Final = re.compile(r"^ {6}(Rule|Evidence|What unblocks it): ")
_ROW: Final = re.compile(r"^ {2}\S")
_AGE: Final = re.compile(r"\d+[smhd](?:\d+[smh])? ago|in \d+[smhd](?:\d+[smh])?")
_NUMBER: Final = re.compile(r"-|\d+|\d+\.\d+")
_NODE: Final = re.compile(r"\b[a-z-]+-worker\d*\b")
_HASH: Final = re.compile(r"\b[0-9a-f]{8,64}\b")


@dataclass(frozen=True, slots=True, kw_only=True)
class Typed:
    """A command that a person typed, and what was printed."""

    command: str
    printed: str


def placeholders(
    *, namespace: str, cluster_id: str, directories: Iterable[tuple[int, str]], plan: str
) -> dict[str, str]:
    """The names of one run, and what stands for them. Those of ids are as long, so that columns stay aligned."""
    counted: dict[int, int] = {}
    found = {namespace: "kafka", cluster_id: "cluster-id-".ljust(_ID_CHARS, "A"), plan: "0123456789abcdef" * 4}
    found[plan] = found[plan][: len(plan)]
    for node_id, directory in directories:
        counted[node_id] = counted.get(node_id, 0) + 1
        found[directory] = f"directory-{node_id}-{counted[node_id]}-".ljust(_ID_CHARS, "A")
    return {name: placeholder for name, placeholder in found.items() if name}


def tidy(text: str, names: Mapping[str, str]) -> str:
    """A text with placeholders for names, addresses and dates, and no space at the end of a line."""
    for name in sorted(names, key=len, reverse=True):
        text = text.replace(name, names[name])
    text = _DATE.sub("2026-01-01T12:00:00Z", _ADDRESS.sub("10.0.0.1", text))
    return "".join(f"{line.rstrip()}\n" for line in text.splitlines())


def block(typed: Iterable[Typed]) -> str:
    """The commands with their answers."""
    return "\n".join(f"$ {each.command}\n{each.printed}" for each in typed)


def written(page: str, typed: Iterable[Typed]) -> str:
    """The page with these commands in its block (AssertionError if it has no place for them)."""
    text = block(typed)
    found, count = _BLOCK.subn(lambda match: f"{match[1]}```console\n{text}```\n", page)
    assert count == 1, "the page has no block after its mark"
    return found


def stored(page: str) -> str:
    """The block of a page; empty if none was written yet (AssertionError if it has no place for one)."""
    match = _BLOCK.search(page)
    assert match is not None, "the page has no block after its mark"
    return match[2]


def shape(text: str) -> list[str]:
    """What of a block is the same in every run: commands, labels, titles, and rows without ages, numbers and nodes.

    Sentences are left out: they have offsets, and the answers of a network. So is what a command shows that has just
    changed something, because the operator may have acted on it by then, or not.
    """
    found: list[str] = []
    for each in re.split(r"^(?=\$ )", text, flags=re.MULTILINE):
        command, *printed = each.splitlines() or [""]
        if command:
            found.append(_HASH.sub("HASH", command))
        if " --" not in command:
            found += _shape(printed)
    return found


def _shape(lines: Iterable[str]) -> Iterator[str]:
    title = ""
    for line in lines:
        if line and not line.startswith(" "):
            label, gap, value = line.partition("  ")
            title = "" if gap else line
            if title not in _FLEETING:
                yield f"{label}: {value.strip()}" if gap and label in _COMPARED else label
        elif title in _FLEETING:
            continue
        elif (labelled := _LABELLED.match(line)) is not None:
            yield f"      {labelled[1]}"
        elif title and _ROW.match(line):
            yield "  " + " | ".join(map(_cell, re.split(r" {2,}", line.strip())))


def _cell(text: str) -> str:
    """A cell of a row without what differs in each run; node ids stay."""
    if re.fullmatch(r"3\d{3}(, 3\d{3})*", text):
        return text
    if _NUMBER.fullmatch(text):
        return "#"
    return _HASH.sub("HASH", _NODE.sub("NODE", _AGE.sub("AGE", text)))
