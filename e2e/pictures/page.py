"""A dashboard as one page: its queries are asked of a Prometheus, and a headless browser makes the picture."""

import subprocess
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from harness import dashboards
from harness.prometheus import Prometheus
from pictures import charts
from pictures.charts import Line, Span

Json = dict[str, Any]

WIDTH: Final = 1360
_COLUMNS: Final = 24
_ROW: Final = 34
_GAP: Final = 6
_HEAD: Final = 74
_INSIDE: Final = 16
_TITLE: Final = 26
_STYLE: Final = """
*{box-sizing:border-box}body{margin:0;background:#f4f5f7;font:12px "DejaVu Sans",sans-serif;color:#24292e}
.head{position:absolute;left:8px;top:8px;right:8px}.head b{font-size:17px}.head p{margin:4px 0;color:#4b5563}
.panel{position:absolute;background:#fff;border:1px solid #d8dce2;border-radius:3px;padding:4px 8px;overflow:hidden}
.panel h3{margin:0 0 4px;font-size:12px;font-weight:600;height:18px;white-space:nowrap;overflow:hidden}
.row{position:absolute;font-size:14px;font-weight:600;padding:8px 4px}
.stats{display:flex;gap:6px;justify-content:space-around;text-align:center}.name{color:#4b5563;font-size:11px}
.big{font-size:27px;font-weight:600;line-height:1.5}.big.small{font-size:14px;line-height:2.6}
.empty{color:#6b7280;text-align:center;margin-top:14px}
table{border-collapse:collapse;width:100%}
th{text-align:left;border-bottom:1px solid #c5cad3;padding:4px 6px;font-weight:600}
td{padding:4px 6px;border-bottom:1px solid #eceef1}.link{color:#1f60c4;text-decoration:underline}
.bar{display:flex;align-items:center;gap:6px;margin:5px 0}
.barname{width:150px;text-align:right;white-space:nowrap;overflow:hidden;text-overflow:ellipsis}.fill{height:14px}
svg text{font-size:10.5px;fill:#3b4252}svg text[fill="#fff"]{fill:#fff}.grid{stroke:#e3e6ea}
.legend{line-height:17px;font-size:11px}.legend span{margin-right:12px}
.legend i{display:inline-block;width:12px;height:4px;margin:0 4px 2px 0}p{margin:2px 0}
"""
_SCREENSHOT_S: Final = 120.0


def drawn(name: str, server: Prometheus, variables: Mapping[str, str], span: Span, until: str | None = None) -> str:
    """The dashboard `name` as a page of HTML. It ends before the row with the title `until`."""
    board = dashboards.board(name)
    parts: list[str] = []
    height = 0
    for panel in board["panels"]:
        if panel["type"] == "row" and panel["title"] == until:
            break
        place = panel["gridPos"]
        column = (WIDTH - 2 * _GAP) / _COLUMNS
        width, tall = place["w"] * column - _GAP, place["h"] * (_ROW + _GAP) - _GAP
        top = _HEAD + place["y"] * (_ROW + _GAP)
        where = f"left:{_GAP + place['x'] * column:.0f}px;top:{top}px;width:{width:.0f}px;height:{tall}px"
        height = max(height, top + tall + _GAP)
        parts.append(_panel(panel, where, server, variables, span, (width - _INSIDE, tall - _TITLE - 6)))
    shown = "; ".join(f"{key}: {value}" for key, value in variables.items() if not key.startswith("__"))
    when = "-".join(time.strftime("%H:%M", time.gmtime(at_s)) for at_s in (span.begin_s, span.end_s))
    head = (
        f'<div class="head"><b>{charts.escaped(board["title"])}</b><p>{charts.escaped(shown)}; {when} UTC. '
        "Drawn from the queries of the dashboard, not by Grafana.</p></div>"
    )
    body = f'<body style="height:{height}px">{head}{"".join(parts)}</body>'
    return f"<!doctype html><meta charset=utf-8><style>{_STYLE}</style>{body}<!-- height {height} -->"


def _panel(
    panel: Json,
    where: str,
    server: Prometheus,
    variables: Mapping[str, str],
    span: Span,
    size: tuple[float, float],
) -> str:
    title = charts.escaped(panel["title"])
    if panel["type"] == "row":
        return f'<div class="row" style="{where}">{title}</div>'
    lines = _asked(panel, server, variables, span)
    width, height = size
    if panel["type"] == "stat":
        inside = charts.stat(panel, lines)
    elif panel["type"] == "bargauge":
        inside = charts.bars(panel, lines, width)
    elif panel["type"] == "table":
        inside = charts.table(panel, lines)
    elif panel["type"] == "state-timeline":
        inside = charts.timeline(panel, lines, span, width, height)
    elif panel["type"] == "timeseries":
        inside = charts.graph(panel, lines, span, width, height)
    else:
        inside = f"<p>{charts.escaped(panel['options']['content'])}</p>"
    return f'<div class="panel" style="{where}"><h3>{title}</h3>{inside}</div>'


def _asked(panel: Json, server: Prometheus, variables: Mapping[str, str], span: Span) -> list[Line]:
    found: list[Line] = []
    bars = panel.get("fieldConfig", {}).get("defaults", {}).get("custom", {}).get("drawStyle") == "bars"
    step_s = _seconds(variables["__rate_interval"]) if bars else span.step_s
    for target in panel.get("targets") or ():
        query = dashboards.query(panel, target)
        asked = query.asked(variables)
        answer = (
            server.instant(asked, span.end_s) if query.instant else server.over(asked, span.begin_s, span.end_s, step_s)
        )
        lines = [
            Line(name=query.named(each.labels), ref=query.ref, labels=each.labels, values=each.values)
            for each in answer
        ]
        found.extend(sorted(lines, key=lambda line: line.name) if not query.rows else lines)
    return found


def _seconds(duration: str) -> float:
    """A duration of PromQL, such as `30s` or `2m`: bars stand that far apart, so that none shows an event twice."""
    return float(duration[:-1]) * {"s": 1, "m": 60, "h": 3600}[duration[-1]]


def picture(page: str, browser: Path, target: Path) -> None:
    """Make a PNG of the page with a headless Chromium."""
    height = int(page.rpartition("<!-- height ")[2].partition(" ")[0])
    with tempfile.TemporaryDirectory() as directory:
        source = Path(directory) / "page.html"
        source.write_text(page)
        command = [
            str(browser),
            *("--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--force-device-scale-factor=1"),
            f"--window-size={WIDTH},{height}",
            f"--screenshot={target}",
            source.as_uri(),
        ]
        subprocess.run(command, check=True, capture_output=True, timeout=_SCREENSHOT_S)
