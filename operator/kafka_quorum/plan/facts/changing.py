"""Voter changes that are not complete, in words, because other acts wait for them."""

from kafka_quorum.model.observed import Observed


def why_changing(observed: Observed) -> str:
    """What is still to happen in a voter change: of an open operation, or else of the voter set itself."""
    if (operation := observed.status.operation) is not None:
        return f"the change of voter {operation.target} is not complete yet"
    return "the present voter set is not committed yet"
