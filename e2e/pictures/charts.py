"""One panel as HTML with SVG in it. Pure."""

import html
import itertools
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from pictures import values
from pictures.values import SERIES

Json = dict[str, Any]

_AXIS: Final = 46
_BOTTOM: Final = 18
_TICKS: Final = 4
_LEGEND_MAX: Final = 10
_NONE: Final = "#6b7280"
_CHARACTER: Final = 6.2
"""About the width of a character, in pixels."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A series of a panel: its name, its labels, the letter of its query, and its values by Unix seconds."""

    name: str
    ref: str
    labels: Mapping[str, str]
    values: Sequence[tuple[float, float]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """The time of a dashboard, in Unix seconds."""

    begin_s: float
    end_s: float
    step_s: float

    def x(self, at_s: float, left: float, right: float) -> float:
        """Where a time is between two edges."""
        return left + (at_s - self.begin_s) / (self.end_s - self.begin_s) * (right - left)


def escaped(text: str) -> str:
    """Text for HTML."""
    return html.escape(text, quote=True)


def empty(panel: Json) -> str:
    """What a panel says without data."""
    return f'<div class="empty">{escaped(panel["fieldConfig"]["defaults"]["noValue"])}</div>'


def stat(panel: Json, lines: Sequence[Line]) -> str:
    """Large numbers or words."""
    rows = []
    for target in panel["targets"]:
        found = next((line for line in lines if line.ref == target["refId"]), None)
        name = target.get("legendFormat", "")
        field = values.field_of(name, panel["fieldConfig"])
        word = (
            values.shown(found.values[-1][1], field) if found else values.Shown(text=field["noValue"], color="#6b7280")
        )
        label = f'<div class="name">{escaped(name)}</div>' if len(panel["targets"]) > 1 else ""
        small = " small" if len(word.text) > 9 else ""
        rows.append(f'<div>{label}<div class="big{small}" style="color:{word.color}">{escaped(word.text)}</div></div>')
    return f'<div class="stats">{"".join(rows)}</div>'


def bars(panel: Json, lines: Sequence[Line], width: float) -> str:
    """One bar for each series."""
    if not lines:
        return empty(panel)
    largest = max(line.values[-1][1] for line in lines) or 1.0
    rows = []
    for line in lines:
        value = line.values[-1][1]
        word = values.shown(value, panel["fieldConfig"]["defaults"])
        size = max(2.0, (width - 200) * value / largest)
        rows.append(
            f'<div class="bar"><span class="barname">{escaped(line.name)}</span>'
            f'<span class="fill" style="width:{size:.0f}px;background:{word.color}"></span>'
            f'<b style="color:{word.color}">{escaped(word.text)}</b></div>'
        )
    return "".join(rows)


def table(panel: Json, lines: Sequence[Line]) -> str:
    """Series as rows, merged as Grafana's transformation `merge` does."""
    if not lines:
        return empty(panel)
    several = len(panel["targets"]) > 1
    rows: list[dict[str, str | float]] = []
    for line in lines:
        row: dict[str, str | float] = {**line.labels, f"Value #{line.ref}" if several else "Value": line.values[-1][1]}
        merged = [old for old in rows if all(old[key] == row[key] for key in row.keys() & old.keys())]
        for old in merged:
            old.update(row)
        if not merged:
            rows.append(row)
    (organize,) = (each["options"] for each in panel["transformations"] if each["id"] == "organize")
    names, order = organize["renameByName"], organize["indexByName"]
    titles: Mapping[str, str] = {field: names[field] for field in sorted(names, key=order.__getitem__)}
    (sort,) = panel["options"]["sortBy"]
    by = next(field for field, title in titles.items() if title == sort["displayName"])
    present = [row for row in rows if by in row]
    present.sort(key=lambda row: row[by], reverse=bool(sort.get("desc")))
    head = "".join(f"<th>{escaped(title)}</th>" for title in titles.values())
    body = "".join(f"<tr>{''.join(_cells(panel, titles, row))}</tr>" for row in present)
    return f"<table><tr>{head}</tr>{body}</table>"


def _cells(panel: Json, titles: Mapping[str, str], row: Mapping[str, str | float]) -> Iterable[str]:
    for field, title in titles.items():
        value = row.get(field)
        config = values.field_of(title, panel["fieldConfig"])
        if isinstance(value, str):
            link = ' class="link"' if "links" in config else ""
            yield f"<td><span{link}>{escaped(value)}</span></td>"
        else:
            word = values.shown(value, config)
            weight = "600" if config.get("custom.cellOptions") else "400"
            yield f'<td style="color:{word.color};font-weight:{weight}">{escaped(word.text)}</td>'


def timeline(panel: Json, lines: Sequence[Line], span: Span, width: float, height: float) -> str:
    """A band for each series, with the word of each state in it."""
    if not lines:
        return empty(panel)
    left = min(170.0, 12 + _CHARACTER * max(len(line.name) for line in lines))
    each = min(34.0, (height - _BOTTOM) / len(lines))
    parts = []
    for place, line in enumerate(lines):
        field = values.field_of(line.name, panel["fieldConfig"])
        y = place * each
        middle = y + each / 2 + 4
        parts.append(f'<text x="{left - 6:.0f}" y="{middle:.1f}" text-anchor="end">{escaped(line.name)}</text>')
        for begin_s, end_s, value in _states(line.values, span.step_s):
            word = values.shown(value, field)
            x, end_x = span.x(begin_s, left, width), min(width, span.x(end_s, left, width))
            parts.append(
                f'<rect x="{x:.1f}" y="{y + 2:.1f}" width="{max(1.0, end_x - x):.1f}" height="{each - 4:.1f}" '
                f'fill="{word.color}" fill-opacity="0.78"/>'
            )
            if end_x - x > _CHARACTER * len(word.text) + 6:
                parts.append(f'<text x="{x + 5:.1f}" y="{middle:.1f}" fill="#fff">{escaped(word.text)}</text>')
    parts.extend(_times(span, left, width, height))
    return _svg(parts, width, height)


def _states(found: Sequence[tuple[float, float]], step_s: float) -> Iterable[tuple[float, float, float]]:
    """Begin, end and value of each time without a change."""
    begin_s, last_s, state = found[0][0], found[0][0], found[0][1]
    for at_s, value in found[1:]:
        if value != state or at_s - last_s > 1.5 * step_s:
            gap = at_s - last_s > 1.5 * step_s
            yield begin_s, last_s + step_s if gap else at_s, state
            begin_s, state = at_s, value
        last_s = at_s
    yield begin_s, last_s + step_s, state


def graph(panel: Json, lines: Sequence[Line], span: Span, width: float, height: float) -> str:
    """Lines, steps or stacked bars over time, with the names of the series below."""
    if not lines:
        return empty(panel)
    field = panel["fieldConfig"]["defaults"]
    custom = field.get("custom", {})
    stacked = custom.get("drawStyle") == "bars"
    legend = _legend(lines)
    bottom = height - _BOTTOM - 18 * max(1, -(-sum(len(line.name) + 5 for line in lines) * 6 // int(width)))
    low, high = _bounds(lines, field, stacked=stacked)

    def y(value: float) -> float:
        return bottom - (value - low) / (high - low) * (bottom - 6)

    parts = []
    for tick in range(_TICKS + 1):
        value = low + (high - low) * tick / _TICKS
        label = values.number(value, field["unit"], field.get("decimals"))
        parts.append(f'<line class="grid" x1="{_AXIS}" x2="{width}" y1="{y(value):.1f}" y2="{y(value):.1f}"/>')
        parts.append(f'<text x="{_AXIS - 4}" y="{y(value) + 4:.1f}" text-anchor="end">{escaped(label)}</text>')
    parts.extend(_times(span, _AXIS, width, bottom + _BOTTOM))
    base: dict[float, float] = {}
    for place, line in enumerate(lines):
        color = SERIES[place % len(SERIES)]
        if stacked:
            times = sorted({at_s for each in lines for at_s, _ in each.values})
            apart_s = min((after - at for at, after in itertools.pairwise(times)), default=span.step_s)
            wide = max(2.0, (width - _AXIS) * apart_s / (span.end_s - span.begin_s) * 0.7)
            for at_s, value in line.values:
                begin = base.get(at_s, 0.0)
                base[at_s] = begin + value
                x = span.x(at_s, _AXIS, width) - wide / 2
                parts.append(
                    f'<rect x="{x:.1f}" y="{y(begin + value):.1f}" width="{wide:.1f}" '
                    f'height="{max(0.5, y(begin) - y(begin + value)):.1f}" fill="{color}"/>'
                )
        else:
            stepped = custom.get("lineInterpolation") == "stepAfter"
            parts.extend(_paths(line, span, width, y, color, stepped=stepped))
    return _svg(parts, width, bottom + _BOTTOM) + legend


def _paths(line: Line, span: Span, width: float, y: Any, color: str, *, stepped: bool) -> Iterable[str]:  # noqa: ANN401
    points: list[str] = []
    before: tuple[float, float] | None = None
    for at_s, value in line.values:
        x = span.x(at_s, _AXIS, width)
        if before is None or at_s - before[0] > 1.5 * span.step_s:
            points.append(f"M{x:.1f},{y(value):.1f}")
        else:
            points.append((f"H{x:.1f}V" if stepped else f"L{x:.1f},") + f"{y(value):.1f}")
        before = (at_s, value)
    yield f'<path d="{"".join(points)}" fill="none" stroke="{color}" stroke-width="1.6"/>'


def _bounds(lines: Sequence[Line], field: Json, *, stacked: bool) -> tuple[float, float]:
    """The lowest and the highest value that the axis shows."""
    if stacked:
        sums: dict[float, float] = {}
        for line in lines:
            for at_s, value in line.values:
                sums[at_s] = sums.get(at_s, 0.0) + value
        return 0.0, max(sums.values()) * 1.08 or 1.0
    found = [value for line in lines for _, value in line.values]
    low, high = min(found), max(found)
    low = min(low, field["min"]) if "min" in field else low - 0.08 * (high - low or 1.0)
    high = high + 0.08 * (high - low or 1.0)
    return (low, high) if field.get("decimals") != 0 else (low, max(high, low + _TICKS))


def _times(span: Span, left: float, right: float, bottom: float) -> Iterable[str]:
    for tick in range(_TICKS + 1):
        at_s = span.begin_s + (span.end_s - span.begin_s) * tick / _TICKS
        anchor = "start" if tick == 0 else "end" if tick == _TICKS else "middle"
        text = time.strftime("%H:%M", time.gmtime(at_s))
        yield f'<text x="{span.x(at_s, left, right):.1f}" y="{bottom - 4:.1f}" text-anchor="{anchor}">{text}</text>'


def _legend(lines: Sequence[Line]) -> str:
    names = [
        f'<span><i style="background:{SERIES[place % len(SERIES)]}"></i>{escaped(line.name)}</span>'
        for place, line in enumerate(lines[:_LEGEND_MAX])
    ]
    return f'<div class="legend">{"".join(names)}</div>'


def _svg(parts: Iterable[str], width: float, height: float) -> str:
    return f'<svg width="{width:.0f}" height="{height:.0f}">{"".join(parts)}</svg>'
