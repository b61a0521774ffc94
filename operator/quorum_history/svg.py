"""Figures as SVG text: bars over time, steps, lags, and a map of quorums and days. Nothing is drawn twice.

The colours (Okabe and Ito's) can be distinguished without colour vision, and unknown time differs in height too. The
page's style replaces the colours that depend on light and dark.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from itertools import zip_longest
from math import ceil, log10
from typing import Any
from unicodedata import east_asian_width

from quorum_history.concerns import MUCH_UNKNOWN, quorum_name
from quorum_history.page import escaped, visible

Row = Mapping[str, Any]

BLUE, ORANGE, GREEN, RED, GREY = "#0072B2", "#E69F00", "#009E73", "#D55E00", "#9A9A9A"
STATES = {"available": (GREEN, 0.7), "unavailable": (RED, 0.9), "unknown": (GREY, 0.4)}
"""Colour, and the share of a row's height."""
_SERIES = (BLUE, ORANGE, GREEN, RED, "#56B4E9", "#CC79A7", "#000000")
_WIDTH, _LABELS, _ROW, _AXIS, _LEGEND = 960, 230, 24, 26, 22
_LETTER = 6.6
"""The approximate width of a letter, in the widest of the common fonts."""
_LABEL_GAP = 6
_LEAST_BAD = 3.0
"""The least width of unavailable time: a minute of a month would be a hairline."""
Span = tuple[datetime | None, datetime | None]
"""The time range that a figure shows; None if none was chosen."""
_ALL_TIME: Span = (None, None)
_FIRST, _LAST = datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)
_TICKS = 7
_STEPS_S = (1, 5, 15, 60, 300, 900, 3600, 10800, 21600, 43200, 86400, 2 * 86400, 7 * 86400, 14 * 86400, 30 * 86400,
            90 * 86400, 365 * 86400, 5 * 365 * 86400)  # fmt: skip
_LONGEST_LABEL = 32
_FEW_ROWS = 20

HEAT = (("all day", "#CDE9DF"), ("≥ 99.9 %", "#7CC4A8"), ("≥ 99 %", "#E69F00"), ("less", "#D55E00"),
        ("partly unknown", "#C4C4C4"), ("mostly unknown", "#767676"))  # fmt: skip
"""How much of a day's known time a quorum was available, with its colour. Unknown time is drawn at half height.

A day with a known outage below 99 % shows it, even if the rest of that day is unknown."""
_PARTLY_UNKNOWN, _MOSTLY_UNKNOWN = 4, 5


class _Drawing:
    """Collects elements; `text` and `rect` escape what must be escaped."""

    def __init__(self, title: str, height: float) -> None:
        self.title, self.height, self.parts = title, height, list[str]()

    def rect(self, x: float, y: float, width: float, height: float, colour: str, *, pale: bool = False,
             kind: str = "") -> None:  # fmt: skip
        opacity = f' class="{kind}"' if kind else ' fill-opacity=".3"' if pale else ""
        size = f'width="{max(width, 1):.1f}" height="{height:.1f}"'
        self.parts.append(f'<rect x="{x:.1f}" y="{y:.1f}" {size} fill="{colour}"{opacity}/>')

    def path(self, steps: str, style: str) -> None:
        self.parts.append(f'<path d="{steps}" {style}/>')

    def line(self, x: float, bottom: float) -> None:
        """A vertical line of the grid."""
        self.path(f"M{x:.1f} 4V{bottom}", 'class="grid" stroke="#ddd" fill="none"')

    def text(self, x: float, y: float, said: str, anchor: str = "start", *, whole: str = "") -> None:
        """Words; if they were shortened, the pointer shows the whole text."""
        title = f"<title>{escaped(whole)}</title>" if whole and whole != said else ""
        self.parts.append(f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{title}{escaped(said)}</text>')

    def texts(self, y: float, texts: Iterable[tuple[float, str]]) -> None:
        """Words that begin at their places from left to right, within the figure; of those that overlap, the last."""
        free = float(_WIDTH)
        for x, said in sorted(texts, reverse=True):
            begin = min(x, _WIDTH - _width(said))
            if begin + _width(said) <= free:
                self.text(begin, y, said)
                free = begin - _LABEL_GAP

    def label(self, y: float, name: str, more: str = "") -> None:
        """The name of a row at its base line, shortened in its middle if it is long; `more` is always whole."""
        self.text(_LABELS - 8, y, f"{shortened(name, _LONGEST_LABEL - len(more))}{more}", "end", whole=f"{name}{more}")

    def legend(self, entries: Sequence[tuple[str, str]], *, pale: Sequence[str] = ()) -> None:
        """The meaning of the colours, at the bottom; those in `pale` are drawn pale."""
        x, top = float(_LABELS), self.height - 14
        for said, colour in entries:
            self.rect(x, top, 12, 10, colour, pale=said in pale)
            self.text(x + 17, top + 9, said)
            x += 34 + 7 * len(said)

    def heat_legend(self, *, blanks: bool) -> None:
        """The meaning of a map's cells, above it, so that it is beside the first row."""
        x = float(_LABELS)
        for number, (said, colour) in enumerate(HEAT):
            unknown = number >= _PARTLY_UNKNOWN
            self.rect(x, 5 if unknown else 2, 12, 5 if unknown else 10, colour, kind=f"h{number}")
            self.text(x + 17, 11, said)
            x += 34 + 7 * len(said)
        if blanks:
            self.text(x, 11, "blank: not observed")

    def svg(self) -> str:
        box = f'viewBox="0 0 {_WIDTH} {self.height:.0f}" width="{_WIDTH}" height="{self.height:.0f}"'
        said = escaped(self.title)
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" {box} role="img" aria-label="{said}">{"".join(self.parts)}</svg>'
        )


def _middle(row: int) -> float:
    return row * _ROW + _ROW / 2 + 4


def _width(text: str) -> float:
    return sum(2 if east_asian_width(each) in "WF" else 1 for each in text) * _LETTER


def shortened(name: str, longest: int) -> str:
    """A name without its middle if it is too long; its end distinguishes names as often as its beginning."""
    name, room = visible(name), longest * _LETTER
    if _width(name) <= room:
        return name
    begin = end = ""
    for first, last in zip(name, reversed(name), strict=True):
        if _width(f"{begin}{first}…{last}{end}") > room:
            break
        begin, end = f"{begin}{first}", f"{last}{end}"
    return f"{begin}…{end}"


class _Time:
    """A horizontal axis of time; times outside of a chosen range are at its edge."""

    def __init__(self, times: Sequence[datetime], chosen: Span) -> None:
        first, last = chosen[0] or _FIRST, chosen[1] or _LAST
        inside = [min(max(time, first), last) for time in times]
        self.since = min(inside, default=chosen[0] or datetime.fromtimestamp(0, UTC))
        end = max(inside, default=self.since)
        self.until = end + max((end - self.since) / 20, timedelta(seconds=1))

    def x(self, time: datetime) -> float:
        share: float = (min(max(time, self.since), self.until) - self.since) / (self.until - self.since)
        return _LABELS + share * (_WIDTH - _LABELS - 10)

    def draw(self, drawing: _Drawing, rows: int) -> None:
        bottom = rows * _ROW + 8
        span_s = (self.until - self.since).total_seconds()
        step_s = next((step for step in _STEPS_S if span_s / step <= _TICKS), _STEPS_S[-1])
        form = "%H:%M:%S" if step_s < 60 else "%d %b %H:%M" if step_s < 86400 else "%Y-%m-%d"  # noqa: PLR2004 -- minute, day
        at = datetime.fromtimestamp(ceil(self.since.timestamp() / step_s) * step_s, UTC)
        while at <= self.until:
            drawing.line(self.x(at), bottom)
            said = at.strftime(form)
            drawing.text(min(self.x(at), _WIDTH - _width(said) / 2), bottom + 14, said, "middle")
            at += timedelta(seconds=step_s)


def _timed(title: str, rows: int, times: Sequence[datetime], chosen: Span) -> tuple[_Drawing, _Time]:
    drawing, axis = _Drawing(title, max(rows, 1) * _ROW + _AXIS + _LEGEND), _Time(times, chosen)
    axis.draw(drawing, max(rows, 1))
    return drawing, axis


def voters_and_leaders(title: str, sets: Sequence[Row], leaders: Sequence[Row], chosen: Span = _ALL_TIME) -> str:
    """One row per replica key: when it was a voter (high, pale) and when it led (low, dark)."""
    ordered = sorted(sets, key=lambda row: (row["kind"] != "checkpoint", row["offset"]))
    keys = sorted({(voter["node_id"], voter["directory_id"]) for row in ordered for voter in row["voters"]})
    keys = keys or sorted({(row["leader_id"], "") for row in leaders})
    times = [row["timestamp"] for row in ordered]
    times += [time for row in leaders for time in (row["since"], row["until"]) if time]
    drawing, axis = _timed(title, len(keys), times, chosen)
    for place, (node, directory) in enumerate(keys):
        drawing.label(_middle(place) + 4, f"{node} · {directory[:8]}" if directory else f"{node}")
    for row, following in zip_longest(ordered, ordered[1:]):
        until = following["timestamp"] if following else axis.until
        for voter in row["voters"]:
            place = keys.index((voter["node_id"], voter["directory_id"]))
            _bar(drawing, axis, place, (row["timestamp"], until), BLUE, 0.7, pale=True)
    for place, key in enumerate(keys):
        led = [row for row in leaders if key[0] == row["leader_id"] and _was_voter(ordered, key, row["since"])]
        for row in led:
            _bar(drawing, axis, place, (row["since"], row["until"] or axis.until), ORANGE, 0.3)
        drawing.texts(_middle(place) - 5, ((axis.x(row["since"]) + 2, f"epoch {row['leader_epoch']}") for row in led))
    drawing.legend((("voter", BLUE), ("leader", ORANGE)), pale=("voter",))
    return drawing.svg()


def _bar(
    drawing: _Drawing, axis: _Time, row: int, span: tuple[datetime, datetime], colour: str, share: float,
    *, pale: bool = False, least: float = 1.0,
) -> None:  # fmt: skip
    x, height = axis.x(span[0]), _ROW * share
    drawing.rect(x, _middle(row) - height / 2, max(axis.x(span[1]) - x, least), height, colour, pale=pale)


def _was_voter(sets: Sequence[Row], key: tuple[int, str], time: datetime) -> bool:
    """Whether a replica key was in the voter set of that time; true if no set was ever written."""
    known = [row for row in sets if row["timestamp"] <= time] or list(sets[:1])
    return not known or key in {(voter["node_id"], voter["directory_id"]) for voter in known[-1]["voters"]}


def feature_steps(title: str, levels: Sequence[Row], name_of: Callable[[Row], str], chosen: Span = _ALL_TIME) -> str:
    """One row per feature: its finalized levels over time, each by its name."""
    names = sorted({row["feature"] for row in levels})
    drawing, axis = _timed(title, len(names), [row["timestamp"] for row in levels], chosen)
    for place, name in enumerate(names):
        drawing.label(_middle(place) + 4, name)
        rows = sorted((row for row in levels if row["feature"] == name), key=lambda row: row["timestamp"])
        for number, (row, following) in enumerate(zip_longest(rows, rows[1:])):
            until = following["timestamp"] if following else axis.until
            _bar(drawing, axis, place, (row["timestamp"], until), _SERIES[number % 2], 0.6, pale=True)
        drawing.texts(_middle(place) + 4, ((axis.x(row["timestamp"]) + 2, name_of(row)) for row in rows))
    return drawing.svg()


def states_over_time(title: str, spans: Sequence[Row], names: Sequence[str], chosen: Span = _ALL_TIME) -> str:
    """One row per quorum: available, unavailable, unknown."""
    drawing, axis = _timed(title, len(names), [time for row in spans for time in (row["since"], row["until"])], chosen)
    places = {name: place for place, name in enumerate(names)}
    for name, place in places.items():
        drawing.label(_middle(place) + 4, name)
    for row in sorted(spans, key=lambda row: row["state"] != "available"):  # bad states are drawn on top
        if quorum_name(row) in places:
            colour, share = STATES[row["state"]]
            least = 1 if row["state"] == "available" else _LEAST_BAD
            place, span = places[quorum_name(row)], (row["since"], row["until"])
            _bar(drawing, axis, place, span, colour, share, least=least)
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
        drawing.line(x, bottom)
        drawing.text(x, bottom + 14, f"{10**decade - 1 if decade == 0 else 10**decade:,}", "middle")
    for place, row in enumerate(rows):
        drawing.label(_middle(place) + 4, quorum_name(row), f" · {row['node_id']}")
        for name, colour, share in (("p99", RED, 0.3), ("p95", ORANGE, 0.5), ("p50", BLUE, 0.7)):
            length = log10(row[f"{name}_lag_records"] + 1) * width
            drawing.rect(_LABELS, _middle(place) - _ROW * share / 2, length, _ROW * share, colour)
    drawing.legend((("50 %", BLUE), ("95 %", ORANGE), ("99 %", RED)))
    return drawing.svg()


def heat_class(row: Row) -> int:
    """The place in HEAT of a quorum's day."""
    day_s = row["available_s"] + row["unavailable_s"] + row["unknown_s"]
    share = row["availability"]
    if share is not None and share < 0.99:  # noqa: PLR2004 -- as in HEAT
        return 3
    if share is None or row["unknown_s"] * 2 > day_s:
        return _MOSTLY_UNKNOWN
    if share < 0.999:  # noqa: PLR2004 -- as in HEAT
        return 2
    if row["unknown_s"] > MUCH_UNKNOWN * day_s:
        return _PARTLY_UNKNOWN
    return 0 if share >= 1 else 1


def heat_map(title: str, days: Sequence[Row], names: Sequence[str], dates: Sequence[date] = ()) -> str:
    """A row per quorum, a column per day; a path per colour, so that many quorums are a small picture.

    `dates` are the columns, if they are more than the days of these quorums.
    """
    dates = dates or dates_of(days)
    row_height = 18 if len(names) <= _FEW_ROWS else 13
    cell = min(28.0, (_WIDTH - _LABELS - 10) / max(len(dates), 1))
    drawing = _Drawing(title, len(names) * row_height + _AXIS + _LEGEND)
    places = {name: place for place, name in enumerate(names)}
    columns = {day: number for number, day in enumerate(dates)}
    gap = 1 if cell > 3 else 0  # noqa: PLR2004 -- pixels
    steps: list[list[str]] = [[] for _ in HEAT]
    top, cells = _LEGEND + 2, 0
    for row in days:
        if quorum_name(row) in places:
            kind, height = heat_class(row), float(row_height - 1)
            x, y = _LABELS + columns[row["day"]] * cell, float(top + places[quorum_name(row)] * row_height)
            if kind >= _PARTLY_UNKNOWN:
                y, height = y + height / 4, height / 2
            steps[kind].append(f"M{x:.0f} {y:g}h{cell - gap:.1f}v{height:g}h-{cell - gap:.1f}z")
            cells += 1
    for number, ((_, colour), boxes) in enumerate(zip(HEAT, steps, strict=True)):
        if boxes:
            drawing.path("".join(boxes), f'class="h{number}" fill="{colour}"')
    for name, place in places.items():
        drawing.label(top + (place + 0.5) * row_height + 3.5, name)
    drawing.texts(top + len(names) * row_height + 14, _spread(dates, cell))
    drawing.heat_legend(blanks=cells < len(names) * len(dates))
    return drawing.svg()


def _spread(dates: Sequence[date], cell: float) -> list[tuple[float, str]]:
    """As many of the dates as fit, evenly spread, at their places."""
    every = ceil((_width("2026-01-01") + _LABEL_GAP) / cell)
    return [(_LABELS + place * cell, str(day)) for place, day in [*enumerate(dates)][::every]]


def dates_of(days: Sequence[Row]) -> list[date]:
    """Every day from the first to the last, also those without rows."""
    seen = [row["day"] for row in days]
    if not seen:
        return []
    first, last = min(seen), max(seen)
    return [first + timedelta(days=number) for number in range((last - first).days + 1)]
