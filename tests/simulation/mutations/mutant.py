"""A mutant: one deliberate fault of the operator's source, and the runs that must notice it."""

from dataclasses import dataclass

from tests.simulation.mutations.edits import Edit


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutant:
    """One deliberate fault. `rule` is a safety rule's number, or `live`; `shares` are as in `mutants.texts_of`."""

    name: str
    rule: str
    edits: tuple[Edit, ...]
    shares: tuple[str, ...]


def pool_mutant(name: str, rule: str, shares: tuple[str, ...], *edits: tuple[str, str, str]) -> Mutant:
    """A mutant of the code of pools."""
    made = tuple(Edit(function=function, old=old, new=new, without="kafka_quorum/") for function, old, new in edits)
    return Mutant(name=name, rule=rule, edits=made, shares=shares)


def mutant(name: str, rule: str, shares: tuple[str, ...], *edits: tuple[str, str, str]) -> Mutant:
    """A mutant whose edits are given as function, old and new: see `edits`."""
    made = tuple(Edit(function=function, old=old, new=new) for function, old, new in edits)
    return Mutant(name=name, rule=rule, edits=made, shares=shares)
