"""The figures of a report: voters and leaders over time, availability, lag, features. Drawn once, kept as SVG and PNG.

Colours are told apart without colour vision as well (Okabe and Ito's), and states have a hatch beside their colour.
"""

import io
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from itertools import zip_longest
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.dates import AutoDateLocator, ConciseDateFormatter, date2num
from matplotlib.figure import Figure
from matplotlib.patches import Patch

mpl.rcParams["text.parse_math"] = False  # a name with dollar signs is a name, not a formula
Row = Mapping[str, Any]

_BLUE, _ORANGE, _GREEN, _RED, _GREY = "#0072B2", "#E69F00", "#009E73", "#D55E00", "#BBBBBB"
_STATES = {"available": (_GREEN, ""), "unavailable": (_RED, "///"), "unknown": (_GREY, "...")}
_WIDTH_IN, _ROW_IN, _MARGIN_IN = 10.0, 0.42, 1.3
_MIN_S = 1e-9


def _figure(rows: int) -> tuple[Figure, Axes]:
    figure = Figure(figsize=(_WIDTH_IN, _MARGIN_IN + _ROW_IN * max(rows, 1)), layout="constrained")
    axes = figure.add_subplot()
    axes.spines[["top", "right"]].set_visible(False)
    return figure, axes


def _time_axis(axes: Axes) -> None:
    locator = AutoDateLocator()
    axes.xaxis_date()
    axes.xaxis.set_major_locator(locator)
    axes.xaxis.set_major_formatter(ConciseDateFormatter(locator))
    axes.set_xlabel("time (UTC)")


def _behind(times: Sequence[datetime]) -> datetime:
    """Where a drawing ends: a little behind the last thing known, so that what began then can be seen."""
    if not times:
        return datetime.fromtimestamp(0, UTC)
    return max(times) + max((max(times) - min(times)) / 20, timedelta(seconds=1))


def _bar(axes: Axes, place: float, since: datetime, until: datetime, **style: Any) -> None:  # noqa: ANN401 -- matplotlib's
    axes.barh(place, max(date2num(until) - date2num(since), _MIN_S), left=date2num(since), **style)


def voters_and_leaders(sets: Sequence[Row], leaders: Sequence[Row]) -> Figure:
    """One row per replica key: when it was a voter (wide, pale) and when it led (narrow, dark)."""
    ordered = sorted(sets, key=lambda row: (row["kind"] != "checkpoint", row["offset"]))
    keys = sorted({(voter["node_id"], voter["directory_id"]) for row in ordered for voter in row["voters"]})
    keys = keys or sorted({(row["leader_id"], "") for row in leaders})
    figure, axes = _figure(len(keys))
    times = [row["timestamp"] for row in ordered] + [
        time for row in leaders for time in (row["since"], row["until"]) if time
    ]
    end = _behind(times)
    for row, following in zip_longest(ordered, ordered[1:]):
        until = following["timestamp"] if following else end
        for voter in row["voters"]:
            place = keys.index((voter["node_id"], voter["directory_id"]))
            _bar(axes, place, row["timestamp"], until, height=0.7, color=_BLUE, alpha=0.3)
    for row in leaders:
        for place, (node_id, _) in enumerate(keys):
            if node_id == row["leader_id"] and _was_voter(ordered, keys[place], row["since"]):
                _bar(axes, place, row["since"], row["until"] or end, height=0.3, color=_ORANGE)
                axes.annotate(f"epoch {row['leader_epoch']}", (date2num(row["since"]), place + 0.2), fontsize=7)
    axes.set_yticks(
        range(len(keys)), [f"{node} · {directory[:8]}" if directory else f"{node}" for node, directory in keys]
    )
    axes.set_ylabel("controller · directory")
    axes.legend(handles=[Patch(color=_BLUE, alpha=0.3, label="voter"), Patch(color=_ORANGE, label="leader")],
                loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False)  # fmt: skip
    _time_axis(axes)
    return figure


def _was_voter(sets: Sequence[Row], key: tuple[int, str], time: datetime) -> bool:
    """Whether a replica key was in the voter set that held then; true where no set was ever written."""
    known = [row for row in sets if row["timestamp"] <= time] or list(sets[:1])
    return not known or key in {(voter["node_id"], voter["directory_id"]) for voter in known[-1]["voters"]}


def feature_steps(levels: Sequence[Row]) -> Figure:
    """The finalized level of each feature over time."""
    names = sorted({row["feature"] for row in levels})
    figure, axes = _figure(5)
    end = _behind([row["timestamp"] for row in levels])
    for name in names:
        rows = sorted((row for row in levels if row["feature"] == name), key=lambda row: row["timestamp"])
        times = [date2num(row["timestamp"]) for row in rows] + [date2num(end)]
        axes.step(times, [row["level"] for row in rows] + [rows[-1]["level"]], where="post", label=name, marker=".")
    if names:
        axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False, fontsize=8)
    axes.set_ylabel("finalized level")
    _time_axis(axes)
    return figure


def states_over_time(spans: Sequence[Row], names: Sequence[str]) -> Figure:
    """One row per quorum: available, unavailable, unknown."""
    figure, axes = _figure(len(names))
    for row in spans:
        colour, hatch = _STATES[row["state"]]
        place = names.index(quorum_name(row))
        _bar(
            axes,
            place,
            row["since"],
            row["until"],
            height=0.7,
            color=colour,
            hatch=hatch,
            edgecolor="white",
            linewidth=0,
        )
    axes.set_yticks(range(len(names)), names)
    handles = [Patch(facecolor=colour, hatch=hatch, label=state) for state, (colour, hatch) in _STATES.items()]
    axes.legend(handles=handles, loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False)
    _time_axis(axes)
    return figure


def lag_bars(rows: Sequence[Row]) -> Figure:
    """Median, 95th and 99th percentile of each replica's lag."""
    figure, axes = _figure(len(rows))
    for place, row in enumerate(rows):
        for name, colour in (("p99", _RED), ("p95", _ORANGE), ("p50", _BLUE)):
            axes.barh(place, row[f"{name}_lag_records"], height=0.6, color=colour)
    axes.set_yticks(range(len(rows)), [f"{quorum_name(row)} · {row['node_id']} ({row['role']})" for row in rows])
    axes.set_xscale("symlog")
    axes.set_xlim(left=0)
    axes.set_xlabel("lag (records)")
    marks = (("50 %", _BLUE), ("95 %", _ORANGE), ("99 %", _RED))
    handles = [Patch(color=colour, label=label) for label, colour in marks]
    axes.legend(handles=handles, loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False)
    return figure


def quorum_name(row: Row) -> str:
    """Namespace and name of a quorum."""
    return f"{row['namespace']}/{row['name']}"


def svg(figure: Figure) -> str:
    """An SVG element without a document around it; text stays text."""
    with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": "quorum-history"}), io.StringIO() as out:
        figure.savefig(out, format="svg", metadata={"Date": None})
        text = out.getvalue()
    return text[text.index("<svg") :]


def png(figure: Figure, path: Path) -> None:
    """The same as a picture."""
    figure.savefig(path, format="png", dpi=120)
