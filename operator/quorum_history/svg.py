"""Figures as SVG text: bars over time, steps, lags, and a map of quorums and days. Nothing is drawn twice.

Colours are told apart without colour vision as well (Okabe and Ito's), and states differ in height beside their colour.
"""

import html
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from itertools import zip_longest
from math import ceil, log10
from typing import Any

from quorum_history.concerns import quorum_name

Row = Mapping[str, Any]

BLUE, ORANGE, GREEN, RED, GREY = "#0072B2", "#E69F00", "#009E73", "#D55E00", "#9A9A9A"
STATES = {"available": (GREEN, 0.7), "unavailable": (RED, 0.9), "unknown": (GREY, 0.4)}
"""Colour, and the share of a row's height."""
_SERIES = (BLUE, ORANGE, GREEN, RED, "#56B4E9", "#CC79A7", "#000000")
_WIDTH, _LABELS, _ROW, _AXIS, _LEGEND = 960, 210, 24, 26, 22
_TICKS = 7
_STEPS_S = (1, 5, 15, 60, 300, 900, 3600, 10800, 21600, 43200, 86400, 2 * 86400, 7 * 86400, 14 * 86400, 30 * 86400,
            90 * 86400, 365 * 86400, 5 * 365 * 86400)  # fmt: skip
_LONGEST_LABEL = 30

HEAT = (("all of it", "#CDE9DF"), ("above 99.9 %", "#7CC4A8"), ("above 99 %", "#E69F00"), ("less", "#D55E00"),
        ("unknown", "#9A9A9A"))  # fmt: skip
"""What a cell of the map says of a day's known time, with its colour; unknown where more than half is."""


class _Drawing:
    """Collects elements; `text` and `rect` take care of what has to be escaped."""

    def __init__(self, title: str, height: float) -> None:
        self.title, self.height, self.parts = title, height, list[str]()

    def rect(self, x: float, y: float, width: float, height: float, colour: str, *, pale: bool = False) -> None:
        opacity = ' fill-opacity=".3"' if pale else ""
        size = f'width="{max(width, 1):.1f}" height="{height:.1f}"'
        self.parts.append(f'<rect x="{x:.1f}" y="{y:.1f}" {size} fill="{colour}"{opacity}/>')

    def path(self, steps: str, style: str) -> None:
        self.parts.append(f'<path d="{steps}" {style}/>')

    def text(self, x: float, y: float, said: str, anchor: str = "start") -> None:
        self.parts.append(f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{html.escape(said)}</text>')

    def label(self, row: int, said: str) -> None:
        """The name of a row, shortened where it is long."""
        short = said if len(said) <= _LONGEST_LABEL else f"{said[: _LONGEST_LABEL - 1]}…"
        self.text(_LABELS - 8, _middle(row) + 4, short, "end")

    def legend(self, entries: Sequence[tuple[str, str]]) -> None:
        x = float(_LABELS)
        for said, colour in entries:
            self.rect(x, self.height - 14, 12, 10, colour)
            self.text(x + 17, self.height - 5, said)
            x += 34 + 7 * len(said)

    def svg(self) -> str:
        box = f'viewBox="0 0 {_WIDTH} {self.height:.0f}" width="{_WIDTH}" height="{self.height:.0f}"'
        said = html.escape(self.title, quote=True)
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" {box} role="img" aria-label="{said}">{"".join(self.parts)}</svg>'
        )


def _middle(row: int) -> float:
    return row * _ROW + _ROW / 2 + 4


class _Time:
    """A horizontal axis of time."""

    def __init__(self, times: Sequence[datetime]) -> None:
        self.since = min(times, default=datetime.fromtimestamp(0, UTC))
        last = max(times, default=self.since)
        self.until = last + max((last - self.since) / 20, timedelta(seconds=1))

    def x(self, time: datetime) -> float:
        share: float = (time - self.since) / (self.until - self.since)
        return _LABELS + share * (_WIDTH - _LABELS - 10)

    def draw(self, drawing: _Drawing, rows: int) -> None:
        bottom = rows * _ROW + 8
        span_s = (self.until - self.since).total_seconds()
        step_s = next((step for step in _STEPS_S if span_s / step <= _TICKS), _STEPS_S[-1])
        form = "%H:%M:%S" if step_s < 60 else "%d %b %H:%M" if step_s < 86400 else "%Y-%m-%d"  # noqa: PLR2004 -- minute, day
        at = datetime.fromtimestamp(ceil(self.since.timestamp() / step_s) * step_s, UTC)
        while at <= self.until:
            drawing.path(f"M{self.x(at):.1f} 4V{bottom}", 'stroke="#ddd" fill="none"')
            drawing.text(self.x(at), bottom + 14, at.strftime(form), "middle")
            at += timedelta(seconds=step_s)


def _timed(title: str, rows: int, times: Sequence[datetime]) -> tuple[_Drawing, _Time]:
    drawing, axis = _Drawing(title, max(rows, 1) * _ROW + _AXIS + _LEGEND), _Time(times)
    axis.draw(drawing, max(rows, 1))
    return drawing, axis


def voters_and_leaders(title: str, sets: Sequence[Row], leaders: Sequence[Row]) -> str:
    """One row per replica key: when it was a voter (high, pale) and when it led (low, dark)."""
    ordered = sorted(sets, key=lambda row: (row["kind"] != "checkpoint", row["offset"]))
    keys = sorted({(voter["node_id"], voter["directory_id"]) for row in ordered for voter in row["voters"]})
    keys = keys or sorted({(row["leader_id"], "") for row in leaders})
    times = [row["timestamp"] for row in ordered]
    times += [time for row in leaders for time in (row["since"], row["until"]) if time]
    drawing, axis = _timed(title, len(keys), times)
    for place, (node, directory) in enumerate(keys):
        drawing.label(place, f"{node} · {directory[:8]}" if directory else f"{node}")
    for row, following in zip_longest(ordered, ordered[1:]):
        until = following["timestamp"] if following else axis.until
        for voter in row["voters"]:
            place = keys.index((voter["node_id"], voter["directory_id"]))
            _bar(drawing, axis, place, (row["timestamp"], until), BLUE, 0.7, pale=True)
    for row in leaders:
        for place, key in enumerate(keys):
            if key[0] == row["leader_id"] and _was_voter(ordered, key, row["since"]):
                _bar(drawing, axis, place, (row["since"], row["until"] or axis.until), ORANGE, 0.3)
                drawing.text(axis.x(row["since"]) + 2, _middle(place) - 5, f"epoch {row['leader_epoch']}")
    drawing.legend((("voter", BLUE), ("leader", ORANGE)))
    return drawing.svg()


def _bar(
    drawing: _Drawing, axis: _Time, row: int, span: tuple[datetime, datetime], colour: str, share: float,
    *, pale: bool = False,
) -> None:  # fmt: skip
    x, height = axis.x(span[0]), _ROW * share
    drawing.rect(x, _middle(row) - height / 2, axis.x(span[1]) - x, height, colour, pale=pale)


def _was_voter(sets: Sequence[Row], key: tuple[int, str], time: datetime) -> bool:
    """Whether a replica key was in the voter set that held then; true where no set was ever written."""
    known = [row for row in sets if row["timestamp"] <= time] or list(sets[:1])
    return not known or key in {(voter["node_id"], voter["directory_id"]) for voter in known[-1]["voters"]}


def feature_steps(title: str, levels: Sequence[Row], name_of: Callable[[Row], str]) -> str:
    """One row per feature: its finalized levels over time, each by its name."""
    names = sorted({row["feature"] for row in levels})
    drawing, axis = _timed(title, len(names), [row["timestamp"] for row in levels])
    for place, name in enumerate(names):
        drawing.label(place, name)
        rows = sorted((row for row in levels if row["feature"] == name), key=lambda row: row["timestamp"])
        for number, (row, following) in enumerate(zip_longest(rows, rows[1:])):
            until = following["timestamp"] if following else axis.until
            _bar(drawing, axis, place, (row["timestamp"], until), _SERIES[number % 2], 0.6, pale=True)
            drawing.text(axis.x(row["timestamp"]) + 2, _middle(place) + 4, name_of(row))
    return drawing.svg()


def states_over_time(title: str, spans: Sequence[Row], names: Sequence[str]) -> str:
    """One row per quorum: available, unavailable, unknown."""
    drawing, axis = _timed(title, len(names), [time for row in spans for time in (row["since"], row["until"])])
    places = {name: place for place, name in enumerate(names)}
    for name, place in places.items():
        drawing.label(place, name)
    for row in spans:
        if quorum_name(row) in places:
            colour, share = STATES[row["state"]]
            _bar(drawing, axis, places[quorum_name(row)], (row["since"], row["until"]), colour, share)
    drawing.legend([(state, colour) for state, (colour, _) in STATES.items()])
    return drawing.svg()


def lag_bars(title: str, rows: Sequence[Row]) -> str:
    """Median, 95th and 99th percentile of each replica's lag, on a logarithmic scale."""
    drawing = _Drawing(title, max(len(rows), 1) * _ROW + _AXIS + _LEGEND)
    most = max((row["p99_lag_records"] for row in rows), default=0)
    decades = max(1, ceil(log10(most + 1)))
    width = (_WIDTH - _LABELS - 40) / decades
    bottom = max(len(rows), 1) * _ROW + 8
    for decade in range(decades + 1):
        x = _LABELS + decade * width
        drawing.path(f"M{x:.1f} 4V{bottom}", 'stroke="#ddd" fill="none"')
        drawing.text(x, bottom + 14, f"{10**decade - 1 if decade == 0 else 10**decade:,}", "middle")
    for place, row in enumerate(rows):
        drawing.label(place, f"{quorum_name(row)} · {row['node_id']} ({row['role']})")
        for name, colour, share in (("p99", RED, 0.3), ("p95", ORANGE, 0.5), ("p50", BLUE, 0.7)):
            length = log10(row[f"{name}_lag_records"] + 1) * width
            drawing.rect(_LABELS, _middle(place) - _ROW * share / 2, length, _ROW * share, colour)
    drawing.legend((("50 %", BLUE), ("95 %", ORANGE), ("99 %", RED)))
    return drawing.svg()


def heat_class(row: Row) -> int:
    """The place in HEAT of a quorum's day."""
    day_s = row["available_s"] + row["unavailable_s"] + row["unknown_s"]
    share = row["availability"]
    if share is None or row["unknown_s"] * 2 > day_s:
        return 4
    return 0 if share >= 1 else 1 if share >= 0.999 else 2 if share >= 0.99 else 3  # noqa: PLR2004 -- as HEAT says


def heat_map(title: str, days: Sequence[Row], names: Sequence[str]) -> str:
    """A row per quorum, a column per day; a path per colour, so that three hundred quorums are a small picture."""
    dates = _dates(days)
    row_height = 18 if len(names) <= 40 else 9  # noqa: PLR2004 -- what fits a screen
    cell = min(28.0, (_WIDTH - _LABELS - 10) / max(len(dates), 1))
    drawing = _Drawing(title, len(names) * row_height + _AXIS + _LEGEND)
    places = {name: place for place, name in enumerate(names)}
    columns = {day: number for number, day in enumerate(dates)}
    gap = 1 if cell > 3 else 0  # noqa: PLR2004 -- pixels
    steps: list[list[str]] = [[] for _ in HEAT]
    for row in days:
        if quorum_name(row) in places:
            x, y = _LABELS + columns[row["day"]] * cell, 4 + places[quorum_name(row)] * row_height
            box = f"M{x:.0f} {y}h{cell - gap:.1f}v{row_height - 1}h-{cell - gap:.1f}z"
            steps[heat_class(row)].append(box)
    for (_, colour), boxes in zip(HEAT, steps, strict=True):
        if boxes:
            drawing.path("".join(boxes), f'fill="{colour}"')
    for name, place in places.items():
        if row_height > 9 or place % 2 == 0:  # noqa: PLR2004 -- small rows have every other name
            short = name if len(name) <= _LONGEST_LABEL else f"{name[: _LONGEST_LABEL - 1]}…"
            drawing.text(_LABELS - 8, 4 + (place + 0.8) * row_height, short, "end")
    bottom = len(names) * row_height + 18
    for number in range(0, len(dates), max(1, ceil(len(dates) / 8))):
        drawing.text(_LABELS + number * cell, bottom, str(dates[number]))
    drawing.legend(HEAT)
    return drawing.svg()


def _dates(days: Sequence[Row]) -> list[date]:
    """Every day from the first to the last, also those of which nothing is there."""
    seen = [row["day"] for row in days]
    if not seen:
        return []
    first, last = min(seen), max(seen)
    return [first + timedelta(days=number) for number in range((last - first).days + 1)]
