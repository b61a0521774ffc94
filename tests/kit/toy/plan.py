"""What is missing and what is surplus. Pure."""

from dataclasses import dataclass
from typing import TypeAlias

from tests.kit.toy.model import WidgetSpec
from tests.kit.toy.observe import Observed


@dataclass(frozen=True, slots=True, kw_only=True)
class MakePart:
    """A part that is missing."""

    name: str
    colour: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DropPart:
    """A surplus part."""

    name: str
    uid: str


Action: TypeAlias = MakePart | DropPart


def plan(name: str, spec: WidgetSpec, observed: Observed) -> tuple[Action, ...]:
    """The actions that lead from the present parts to the requested ones."""
    wanted = {f"{name}-{index}": spec.colours[index % len(spec.colours)] for index in range(spec.count)}
    present = {part for part, _ in observed.parts}
    made = [MakePart(name=part, colour=colour) for part, colour in wanted.items() if part not in present]
    return (*made, *(DropPart(name=part, uid=uid) for part, uid in observed.parts if part not in wanted))
