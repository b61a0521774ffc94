"""The series of resources: the last values of each, replaced as a whole by every pass, and gone with the resource.

Everything of one resource comes from one pass, so its series never contradict each other. Without the lease there are
none, because another operator has newer ones. Values of a look that is too old are left out: unknown is not the last
value.

The event loop only hands over references (`taken`); the text is made elsewhere. It is made here, and not from objects
of the library, because the library takes 20 times as long for it: docs/metrics.md has the figures. A test compares both
byte by byte.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, TypeAlias

from kit.clock import Clock
from kit.key import ObjectKey
from kit.metrics.metric import Metric, Type

FRESH_FOR_S: Final = 300.0
"""For how long the values of a look are shown without another one: a status says the same of its stamp."""
_RESTS: Final = 8192
"""How many texts of labels are kept. They are shared by all resources, because their values are closed sets."""


@dataclass(frozen=True, slots=True)
class Since:
    """An age: its value grows until it is replaced. `at_s` are monotonic seconds of the operator's clock."""

    at_s: float


@dataclass(slots=True)
class Latest:
    """A number that may change without other series of its resource: a scrape shows the present one."""

    value: float


Row: TypeAlias = tuple[Metric, tuple[str, ...], "float | Since | Latest"]
"""A value: its metric, the values of the labels after those that name the resource, and the number."""
Text: TypeAlias = Callable[[bool], Iterator[str]]
"""Makes the lines of a scrape, in OpenMetrics' format if it is True.

It may run in another thread: it reads only what is not changed meanwhile, or is replaced as a whole (`Latest`).
"""
_Values: TypeAlias = Mapping[Metric, Sequence[tuple[str, float | Since | Latest]]]
"""By metric: the labels after those that name the resource, as text, and the number."""


@dataclass(slots=True)
class _Resource:
    """A resource. `own` are its first labels as text. `outdated` is shown when its look is too old.

    `looked_at_s` are monotonic seconds.
    """

    own: str
    looked_at_s: float
    values: _Values
    outdated: _Values


class ResourceSeries:
    """The series of all resources of a kind."""

    def __init__(self, metrics: Iterable[Metric], clock: Clock, may_act: Callable[[], bool]) -> None:
        """`metrics` are those of the kind. `may_act` says whether this operator holds the lease."""
        self._metrics = tuple(metrics)
        self._clock = clock
        self._may_act = may_act
        self._resources: dict[ObjectKey, _Resource] = {}

    def put(self, key: ObjectKey, rows: Iterable[Row], outdated: Iterable[Row]) -> None:
        """Replace every series of a resource; `outdated` are those that replace them if no other look follows."""
        self._resources[key] = _Resource(
            own=_labels(self._metrics[0].label_names[:2], (key.namespace, key.name)),
            looked_at_s=self._clock.monotonic(),
            values=_by_metric(rows),
            outdated=_by_metric(outdated),
        )

    def confirm(self, key: ObjectKey) -> None:
        """The series of a resource, if it has any, are still true."""
        if key in self._resources:
            self._resources[key].looked_at_s = self._clock.monotonic()

    def drop(self, key: ObjectKey) -> None:
        """End every series of a resource."""
        self._resources.pop(key, None)

    def clear(self) -> None:
        """End all series: another operator may have acted meanwhile."""
        self._resources.clear()

    def taken(self) -> Text:
        """The series of this moment. Called on the event loop; what it returns may run in another thread."""
        resources = tuple(self._resources.values()) if self._may_act() else ()
        now_s = self._clock.monotonic()
        shown = [
            (each.own, each.outdated if now_s - each.looked_at_s > FRESH_FOR_S else each.values) for each in resources
        ]
        return lambda openmetrics: self._lines(shown, now_s, openmetrics=openmetrics)

    def _lines(self, shown: Sequence[tuple[str, _Values]], now_s: float, *, openmetrics: bool) -> Iterator[str]:
        for metric in self._metrics:
            lines = list(_samples(metric, shown, now_s))
            if lines:
                yield heading(metric, openmetrics=openmetrics)
                yield from lines


def heading(metric: Metric, *, openmetrics: bool) -> str:
    """The lines before the samples of a metric. The unit is given only where it ends the name, as it must."""
    name = metric.name
    if openmetrics and metric.type is Type.COUNTER:
        name = name.removesuffix("_total")
    text = f"# HELP {name} {metric.help}\n# TYPE {name} {metric.type.value}\n"
    return f"{text}# UNIT {name} {metric.unit}\n" if openmetrics and unit_of(metric) else text


def unit_of(metric: Metric) -> str:
    """The unit, if it ends the name; empty otherwise."""
    return metric.unit if metric.unit and metric.name.endswith(f"_{metric.unit}") else ""


def _samples(metric: Metric, shown: Sequence[tuple[str, _Values]], now_s: float) -> Iterator[str]:
    name = metric.name
    for own, values in shown:
        for rest, value in values.get(metric, ()):
            yield f"{name}{{{own}{rest}}} {_number(value, now_s)!r}\n"


def _number(value: float | Since | Latest, now_s: float) -> float:
    match value:
        case Since():
            return max(0.0, now_s - value.at_s)
        case Latest():
            return value.value
        case _:
            return value


@lru_cache(maxsize=_RESTS)
def _rest(metric: Metric, values: tuple[str, ...]) -> str:
    """The labels after those that name the resource, with the comma before them."""
    return f",{_labels(metric.label_names[2:], values)}" if values else ""


def _labels(names: Sequence[str], values: Sequence[str]) -> str:
    return ",".join(f'{name}="{_escaped(value)}"' for name, value in zip(names, values, strict=True))


def _escaped(value: str) -> str:
    return value.replace("\\", r"\\").replace("\n", r"\n").replace('"', r"\"")


def _by_metric(rows: Iterable[Row]) -> _Values:
    found: dict[Metric, list[tuple[str, float | Since | Latest]]] = {}
    for metric, values, value in rows:
        number = value if isinstance(value, Since | Latest) else float(value)
        found.setdefault(metric, []).append((_rest(metric, values), number))
    return found
