"""What the dashboards of the chart ask: panels and queries, read from the JSON, and the series that they name. Pure.

A small reader finds the names in a query. Whether it is valid PromQL, only a real Prometheus says.
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

Json = dict[str, Any]

DASHBOARDS: Final = Path(__file__).resolve().parents[2] / "helm" / "kafka-quorum-operator" / "dashboards"
NAMES: Final = ("fleet", "quorum")

_TEXT: Final = r'"(?:[^"\\]|\\.)*"'
_SELECTOR: Final = re.compile(r"(?<![\w:])((?:kafka|process|python|jvm)_\w+)(?:\{((?:[^{}\"]|" + _TEXT + r")*)\})?")
_MATCHER: Final = re.compile(r"(\w+)\s*(=~|!~|!=|=)\s*(" + _TEXT + ")")
_LISTS: Final = re.compile(r"\b(?:by|without|on|ignoring|group_left|group_right)\s*\(([^()]*)\)")
_NEW_LABEL: Final = re.compile(r"\bcount_values\b[^(]*(?:\([^()]*\)\s*)?\(\s*\"(\w+)\"")
_LEGEND: Final = re.compile(r"\{\{\s*(\w+)\s*\}\}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Matcher:
    """One condition of a selector on a label."""

    label: str
    operator: str
    value: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Selector:
    """A metric that a query names, with its conditions."""

    metric: str
    matchers: tuple[Matcher, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """One query of a panel. `instant` asks for the end of the time only; `rows` shows each series as a row."""

    board: str
    panel: str
    ref: str
    expr: str
    legend: str
    instant: bool
    rows: bool

    @property
    def place(self) -> str:
        """Where it is, for messages."""
        return f"{self.board}: {self.panel}: {self.ref}"

    def selectors(self) -> tuple[Selector, ...]:
        """The metrics that it names, each time that it names them."""
        return tuple(
            Selector(
                metric=metric,
                matchers=tuple(
                    Matcher(label=label, operator=operator, value=json.loads(value))
                    for label, operator, value in _MATCHER.findall(matchers)
                ),
            )
            for metric, matchers in _SELECTOR.findall(_LISTS.sub("", self.expr))
        )

    def labels(self) -> set[str]:
        """The labels that it groups or joins by."""
        return {
            name.strip() for names in _LISTS.findall(self.expr) for name in names.split(",") if name.strip()
        } - self.new_labels()

    def new_labels(self) -> set[str]:
        """The labels that it makes itself."""
        return set(_NEW_LABEL.findall(self.expr))

    def legend_labels(self) -> set[str]:
        """The labels that the names of its series are made from."""
        return set(_LEGEND.findall(self.legend))

    def named(self, labels: Mapping[str, str]) -> str:
        """The name of a series with these labels."""
        if not self.legend:
            return ", ".join(f"{label}={value}" for label, value in sorted(labels.items()))
        return _LEGEND.sub(lambda found: labels.get(found[1], ""), self.legend)

    def asked(self, variables: Mapping[str, str]) -> str:
        """The query with values in place of its variables; KeyError for one that has none."""
        return re.sub(r"\$(\w+)", lambda found: variables[found[1]], self.expr)


def board(name: str) -> Json:
    """The dashboard `name`, as committed."""
    found: Json = json.loads((DASHBOARDS / f"{name}.json").read_text())
    return found


def panels(of: Json) -> Iterator[Json]:
    """Every panel but the titles of rows, those of collapsed rows too."""
    for panel in of["panels"]:
        if panel["type"] == "row":
            yield from panel.get("panels") or ()
        else:
            yield panel


def query(panel: Json, target: Json, name: str = "") -> Query:
    """The query of a panel that one of its targets has; `name` is that of the dashboard."""
    return Query(
        board=name,
        panel=panel["title"],
        ref=target["refId"],
        expr=target["expr"],
        legend=target.get("legendFormat", ""),
        instant=bool(target.get("instant")),
        rows=target.get("format") == "table",
    )


def queries(name: str) -> list[Query]:
    """Every query of the dashboard `name`."""
    return [query(panel, target, name) for panel in panels(board(name)) for target in panel.get("targets") or ()]
