"""What a metric is: its name, type, labels and meaning, and what bounds the number of its series. Pure.

Names and units follow the conventions of Prometheus: base units (seconds), and `_total` at the end of a counter.
"""

from dataclasses import dataclass
from enum import StrEnum


class Type(StrEnum):
    """The type of a metric, in the words of Prometheus."""

    GAUGE = "gauge"
    COUNTER = "counter"
    HISTOGRAM = "histogram"


@dataclass(frozen=True, slots=True, kw_only=True)
class Label:
    """A label, and the only values that it can have.

    `bound` is a phrase that says where its values come from. `values` are all of them, if they can be listed.
    """

    name: str
    bound: str
    values: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Metric:
    """A metric. `help` is one sentence; `unit` is empty for a number without one.

    `absent` says when there is no series; empty if there always is one. `buckets` are the upper bounds of a histogram.
    Each metric equals itself only, which makes it a cheap key.
    """

    name: str
    type: Type
    help: str
    unit: str = ""
    labels: tuple[Label, ...] = ()
    absent: str = ""
    buckets: tuple[float, ...] = ()

    @property
    def label_names(self) -> tuple[str, ...]:
        """The names of the labels, in their order."""
        return tuple(label.name for label in self.labels)


NAMESPACE = Label(name="namespace", bound="the namespace of the resource")
