"""A page as text for people, or as JSON or YAML for programs. Pure.

The text has at most the given width, as far as words allow. Cells are cleaned once more here, so that nothing that
came from outside can control the terminal. The only control characters of the text are line breaks and, if `colour` is
true, the colours of the words in `_COLOURS`.
"""

import json
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final, TypeAlias

from kubectl_kq.ages import When
from kubectl_kq.page import Cell, Column, Facts, Page, Section, Table
from kubectl_kq.text import clean

Json: TypeAlias = dict[str, Any]

WIDTH_CHARS: Final = 100
"""The width where the output is no terminal."""
_WIDTH_MIN_CHARS: Final = 40
_INDENT: Final = "  "
_BELOW: Final = "      "
_NONE: Final = "-"
_RED, _YELLOW, _GREEN, _BOLD, _PLAIN = "\x1b[31m", "\x1b[33m", "\x1b[32m", "\x1b[1m", "\x1b[0m"
_COLOURS: Final = {
    **dict.fromkeys(("CRIT", "Degraded", "Warning"), _RED),
    **dict.fromkeys(("WARN", "Held", "UNKNOWN", "NoAnswer"), _YELLOW),
    **dict.fromkeys(("OK", "Done"), _GREEN),
}
"""The cells that have a colour. The word says the same without it."""


def shown(cell: Cell) -> str:
    """A cell in the text."""
    match cell:
        case None:
            return _NONE
        case bool():
            return "yes" if cell else "no"
        case When(age=age):
            return clean(age)
        case tuple():
            return ", ".join(clean(str(each)) for each in cell) or _NONE
        case str():
            return clean(cell) or _NONE
        case _:
            return str(cell)


def _json(cell: Cell) -> object:
    """A cell in JSON and YAML: a time is there with its age, because the text has the age."""
    match cell:
        case When(stamp=stamp, age=age):
            return {"at": clean(stamp), "age": clean(age)}
        case tuple():
            return [clean(each) if isinstance(each, str) else each for each in cell]
        case str():
            return clean(cell)
        case _:
            return cell


def data(page: Page) -> Json:
    """The page as JSON: facts and tables by their keys."""
    found: Json = {"command": page.command}
    for section in page.sections:
        match section:
            case Facts(key=key, facts=facts):
                values = {fact.key: _json(fact.value) for fact in facts}
                found |= {key: values} if key else values
            case Table(key=key, columns=columns, rows=rows):
                keys = [column.key for column in columns]
                found[key] = [dict(zip(keys, map(_json, row), strict=True)) for row in rows]
    return found


def as_json(page: Page) -> str:
    """JSON with a line break at its end."""
    return json.dumps(data(page), indent=2, ensure_ascii=False) + "\n"


def as_yaml(page: Page) -> str:
    """YAML 1.1 and 1.2: block style, texts quoted as in JSON, so that no text is read as something else."""
    return "\n".join(_yaml(data(page), 0)) + "\n"


def _yaml(value: object, depth: int) -> Iterator[str]:
    indent = _INDENT * depth
    if isinstance(value, dict) and value:
        for key, inner in value.items():
            yield from _entry(f"{indent}{_key(str(key))}:", inner, depth + 1)
    elif isinstance(value, list) and value:
        for inner in value:
            first, *others = _yaml(inner, depth + 1)
            yield f"{indent}- {first.lstrip()}"
            yield from others
    else:
        yield indent + json.dumps(value, ensure_ascii=False)


def _entry(head: str, inner: object, depth: int) -> Iterator[str]:
    if isinstance(inner, dict | list) and inner:
        yield head
        yield from _yaml(inner, depth)
    else:
        yield f"{head} {json.dumps(inner, ensure_ascii=False)}"


def _key(key: str) -> str:
    plain = key.isascii() and key.isalpha() and key.lower() not in {"y", "n", "yes", "no", "on", "off", "true", "false"}
    return key if plain else json.dumps(key)


def as_text(page: Page, *, width: int = WIDTH_CHARS, colour: bool = False) -> str:
    """The page for people, with an empty line between sections."""
    wide = max(width, _WIDTH_MIN_CHARS)
    blocks = [lines for section in page.sections if (lines := list(_section(section, wide, colour=colour)))]
    return "\n\n".join("\n".join(lines) for lines in blocks) + "\n" if blocks else ""


def _section(section: Section, width: int, *, colour: bool) -> Iterator[str]:
    if isinstance(section, Facts):
        return _facts(section, width, colour=colour)
    return _table(section, width, colour=colour)


def _facts(section: Facts, width: int, *, colour: bool) -> Iterator[str]:
    if section.title and section.facts:
        yield _title(section.title, colour=colour)
    labels = max((len(fact.label) for fact in section.facts), default=0)
    for fact in section.facts:
        first, *others = _wrapped(shown(fact.value), width - labels - 2)
        yield f"{fact.label:<{labels}}  {_coloured(first, colour=colour)}"
        yield from (" " * (labels + 2) + line for line in others)


def _table(section: Table, width: int, *, colour: bool) -> Iterator[str]:
    if not section.rows and not section.empty:
        return
    yield _title(section.title, colour=colour)
    if not section.rows:
        yield from (_INDENT + line for line in _wrapped(section.empty, width - len(_INDENT)))
        return
    beside = [place for place, column in enumerate(section.columns) if not column.below]
    below = [place for place, column in enumerate(section.columns) if column.below]
    cells = [[shown(row[place]) for place in beside] for row in section.rows]
    heads = [section.columns[place].label for place in beside]
    widths = [max(map(len, column)) for column in zip(heads, *cells, strict=True)]
    yield _INDENT + _line(heads, widths)
    for row, line in zip(section.rows, cells, strict=True):
        yield _INDENT + _line(line, widths, colour=colour)
        yield from _under(section.columns, row, below, width)


def _under(columns: Sequence[Column], row: Sequence[Cell], places: Iterable[int], width: int) -> Iterator[str]:
    for place in places:
        if row[place] is None:
            continue
        label = columns[place].label
        said = f"{label}: {shown(row[place])}" if label else shown(row[place])
        yield from (_BELOW + line for line in _wrapped(said, width - len(_BELOW)))


def _line(cells: Sequence[str], widths: Sequence[int], *, colour: bool = False) -> str:
    padded = [f"{cell:<{width}}" for cell, width in zip(cells, widths, strict=True)]
    if colour:
        padded = [pad.replace(cell, _coloured(cell, colour=True), 1) for pad, cell in zip(padded, cells, strict=True)]
    return "  ".join(padded).rstrip()


def _title(title: str, *, colour: bool) -> str:
    return f"{_BOLD}{title}{_PLAIN}" if colour else title


def _coloured(text: str, *, colour: bool) -> str:
    begin = _COLOURS.get(text) if colour else None
    return f"{begin}{text}{_PLAIN}" if begin else text


def _wrapped(text: str, width: int) -> list[str]:
    return textwrap.wrap(text, max(width, 20), break_long_words=False, break_on_hyphens=False) or [""]
