"""How a guard puts its answer: yes or no, and one sentence."""

from kafka_quorum.model.plan import Verdict


def yes(rule: str, reason: str) -> Verdict:
    """It may be done."""
    return Verdict(rule=rule, allowed=True, reason=reason)


def no(rule: str, reason: str) -> Verdict:
    """It may not be done, or not now; the reason says what would change that."""
    return Verdict(rule=rule, allowed=False, reason=reason)


def unless(rule: str, objections: tuple[tuple[bool, str], ...], reason: str) -> Verdict:
    """The first objection that holds is a no; without one it is a yes, for this reason."""
    objection = next((text for holds, text in objections if holds), None)
    return yes(rule, reason) if objection is None else no(rule, objection)
