"""The series that every kind of resource has: its conditions, and the time of the last look."""

from collections.abc import Callable, Iterator
from typing import Final

from kit.clock import Clock
from kit.key import ObjectKey
from kit.kube.protocol import Json
from kit.metrics.metric import Metric
from kit.metrics.series import ResourceSeries, Row
from kit.report.report import PassReport

TRUTH: Final = {"True": 1.0, "False": 0.0, "Unknown": -1.0}
"""The value of a condition."""


def condition_rows(metric: Metric, status: Json) -> Iterator[Row]:
    """The conditions of a status; only of the types that the metric's last label lists."""
    types = metric.labels[-1].values
    for row in status.get("conditions") or ():
        if row.get("type") in types and row.get("status") in TRUTH:
            yield metric, (row["type"],), TRUTH[row["status"]]


def unknown_rows(metric: Metric, status: Json) -> Iterator[Row]:
    """The same conditions, none of which is known any more."""
    return ((each, labels, -1.0) for each, labels, _ in condition_rows(metric, status))


class ConditionMetrics:
    """A subscriber of passes over a kind of resource. `series` has what it made of them."""

    def __init__(self, condition: Metric, last_look: Metric, clock: Clock, may_act: Callable[[], bool]) -> None:
        """Both metrics are of this kind. `may_act` says whether this operator holds the lease."""
        self.series = ResourceSeries((condition, last_look), clock, may_act)
        self._condition = condition
        self._last_look = last_look
        self._clock = clock
        self._may_act = may_act
        self._looked_at: dict[ObjectKey, float] = {}

    async def take(self, report: PassReport[object]) -> None:
        """Replace the series of the resource. A pass that ended before its status leaves them as they are."""
        if "deletionTimestamp" in report.resource["metadata"]:
            self.forget(report.key)
        elif report.status is not None and self._may_act():
            if not report.withdrawn:
                self._looked_at[report.key] = (report.seen_at or self._clock.now()).timestamp()
            looked = tuple((self._last_look, (), at) for at in (self._looked_at.get(report.key),) if at is not None)
            present = (*condition_rows(self._condition, report.status), *looked)
            self.series.put(report.key, present, (*unknown_rows(self._condition, report.status), *looked))

    def forget(self, key: ObjectKey) -> None:
        """The resource is gone."""
        self._looked_at.pop(key, None)
        self.series.drop(key)

    def clear(self) -> None:
        """Forget all: another operator may have acted meanwhile."""
        self._looked_at.clear()
        self.series.clear()
