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
    return _without(("kafka_quorum/", "kafka_streams/"), name, rule, shares, edits)


def streams_mutant(name: str, rule: str, shares: tuple[str, ...], *edits: tuple[str, str, str]) -> Mutant:
    """A mutant of the code of Streams applications."""
    return _without(("kafka_quorum/", "kafka_brokers/"), name, rule, shares, edits)


def _without(
    others: tuple[str, ...], name: str, rule: str, shares: tuple[str, ...], edits: tuple[tuple[str, str, str], ...]
) -> Mutant:
    made = tuple(Edit(function=function, old=old, new=new, without=others) for function, old, new in edits)
    return Mutant(name=name, rule=rule, edits=made, shares=shares)


def mutant(name: str, rule: str, shares: tuple[str, ...], *edits: tuple[str, str, str]) -> Mutant:
    """A mutant whose edits are given as function, old and new: see `edits`."""
    made = tuple(Edit(function=function, old=old, new=new) for function, old, new in edits)
    return Mutant(name=name, rule=rule, edits=made, shares=shares)
