"""A rule of a resource, written once: the API server's check, the operator's check, and the sentence of both.

The operator repeats the checks of the CRD's rules. The CRD in the cluster may be older than the operator, and the API
server accepts a value that was stored before a rule existed.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

Json = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Wrong:
    """One fault: where it is (`spec.replicas`), and a sentence with the fault and how to correct it."""

    place: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """`expression` is CEL over `self`, and `oldSelf` on updates; `holds` and its like are the same in Python.

    `field` is a path below the rule's own place. `also_new` lets a rule with `oldSelf` run on creation too, where
    `oldSelf` is an empty optional. Python may be stricter than CEL, never laxer. A rule has at most one of

    - `holds`: whether a value obeys it;
    - `each`: every offence within a value, as a path below the rule's place and a sentence of its own;
    - `holds_after`: whether a value obeys it after an earlier one, which the caller supplies.

    A rule with none of them is checked elsewhere in the kind, with more detailed sentences.
    """

    expression: str
    message: str
    field: str = ""
    also_new: bool = False
    holds: Callable[[Any], bool] | None = None
    each: Callable[[Any], Iterable[tuple[str, str]]] | None = None
    holds_after: Callable[[Any, Any], bool] | None = None

    def as_json(self) -> Json:
        """As an entry of `x-kubernetes-validations`."""
        entry: Json = {"rule": self.expression, "message": self.message}
        if self.field:
            entry["fieldPath"] = self.field
        if self.also_new:
            entry["optionalOldSelf"] = True
        return entry

    def broken(self, value: Any, place: str) -> Iterator[Wrong]:  # noqa: ANN401 - of any field
        """The faults of a value at this place."""
        if self.each is not None:
            for below, message in self.each(value):
                yield Wrong(place=f"{place}{below}", message=message)
        elif self.holds is not None and not self.holds(value):
            yield Wrong(place=f"{place}{self.field}", message=self.message)
