"""A rule of a resource, written once."""

from dataclasses import dataclass
from typing import Any

Json = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """A rule of the CRD: `expression` is CEL over `self`, and `oldSelf` on updates.

    `field` is a path below the rule's own place. `also_new` lets a rule with `oldSelf` run on creation too, where
    `oldSelf` is an empty optional.
    """

    expression: str
    message: str
    field: str = ""
    also_new: bool = False

    def as_json(self) -> Json:
        """As an entry of `x-kubernetes-validations`."""
        entry: Json = {"rule": self.expression, "message": self.message}
        if self.field:
            entry["fieldPath"] = self.field
        if self.also_new:
            entry["optionalOldSelf"] = True
        return entry
