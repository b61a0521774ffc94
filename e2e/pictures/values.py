"""How a value is shown: its unit, its mapping to a word, and its colour. Pure."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

Json = dict[str, Any]

COLORS: Final = {
    "green": "#1a7f4b",
    "yellow": "#9a6700",
    "orange": "#c4570a",
    "red": "#c4162a",
    "blue": "#1f60c4",
    "text": "#3b4252",
}
"""Grafana's names of colours, dark enough for text on white."""
SERIES: Final = ("#3274d9", "#56a64b", "#e0752d", "#a352cc", "#e02f44", "#8ab8ff", "#b7a10b", "#5c9ead", "#8f3bb8")
"""Colours of series, in their order."""
_SECONDS: Final = (
    (31557600, "years"),
    (2629800, "months"),
    (604800, "weeks"),
    (86400, "days"),
    (3600, "hours"),
    (60, "mins"),
)
_THOUSANDS: Final = ((1e9, "Bil"), (1e6, "Mil"), (1e3, "K"))
_BYTES: Final = ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """A value as text, and its colour."""

    text: str
    color: str


def number(value: float, unit: str, decimals: int | None = None) -> str:
    """A number with its unit."""
    if math.isnan(value):
        return "NaN"
    if unit in _WRITERS:
        return _WRITERS[unit](value)
    size, name = _scaled(value, _THOUSANDS if unit == "short" else ())
    return f"{_rounded(value / size, 2 if decimals is None else decimals)} {name}".strip()


def _scaled(value: float, names: Sequence[tuple[float, str]], smallest: str = "") -> tuple[float, str]:
    """The largest unit that a value has at least one of, and its name."""
    return next(((size, name) for size, name in names if abs(value) >= size), (1.0, smallest))


def _bytes(value: float) -> str:
    size, name = _scaled(value, _BYTES, "B")
    return f"{_rounded(value / size, 1)} {name}"


def _seconds(value: float) -> str:
    if abs(value) < 1:
        return f"{_rounded(value * 1000, 1)} ms"
    if abs(value) < 60:
        return f"{_rounded(value, 1)} s"
    size, name = _scaled(value, _SECONDS)
    return f"{_rounded(value / size, 1)} {name}"


def _rounded(value: float, decimals: int) -> str:
    text = f"{value:.{decimals}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


_WRITERS: Final[Mapping[str, Callable[[float], str]]] = {
    "s": _seconds,
    "ms": lambda value: f"{_rounded(value, 2)} ms" if abs(value) < 1000 else _seconds(value / 1000),
    "bytes": _bytes,
    "percentunit": lambda value: f"{_rounded(value * 100, 1)}%",
    "cps": lambda value: f"{_rounded(value, 2)} c/s",
    "reqps": lambda value: f"{_rounded(value, 2)} req/s",
    "wps": lambda value: f"{_rounded(value, 2)} wr/s",
}
"""How Grafana writes a number of each unit."""


def mapped(value: float | None, mappings: list[Json]) -> Shown | None:
    """The word and the colour that a mapping has for a value; None if none has one."""
    for mapping in mappings:
        options = mapping["options"]
        if mapping["type"] == "value" and value is not None:
            result = options.get(_rounded(value, 6))
        elif mapping["type"] == "range" and value is not None:
            low, high = options.get("from"), options.get("to")
            inside = (low is None or value >= low) and (high is None or value <= high)
            result = options["result"] if inside else None
        else:
            result = options["result"] if mapping["type"] == "special" and value is None else None
        if result:
            return Shown(text=result["text"], color=COLORS[result.get("color", "text")])
    return None


def threshold(value: float, config: Json) -> str:
    """The colour of a value by thresholds."""
    found = "text"
    for step in config.get("steps", ()):
        if step["value"] is None or value >= step["value"]:
            found = step["color"]
    return COLORS[found]


def shown(value: float | None, field: Json) -> Shown:
    """A value by the configuration of its field."""
    if (word := mapped(value, field.get("mappings", []))) is not None:
        return word
    if value is None:
        return Shown(text="", color=COLORS["text"])
    text = number(value, field.get("unit", "none"), field.get("decimals"))
    return Shown(text=text, color=threshold(value, field.get("thresholds", {})))


def field_of(name: str, config: Json) -> Json:
    """The configuration of a field: the defaults of its panel, with what is overridden for its name."""
    found = dict(config["defaults"])
    for override in config.get("overrides", ()):
        if _matches(override["matcher"], name):
            found |= {each["id"]: each["value"] for each in override["properties"]}
    return found


def _matches(matcher: Json, name: str) -> bool:
    if matcher["id"] == "byRegexp":
        return any(part == name for part in matcher["options"].split("|"))
    return bool(matcher["options"] == name)
