"""Objects with our labels that are not ours: they are named, and left alone."""

from kafka_quorum.model.plan import Severity, Wait
from kafka_quorum.model.situation import Situation
from kafka_quorum.plan.part import Part


def strangers(situation: Situation) -> Part:
    """Objects that carry our labels, and that this operator did not make."""
    found = situation.observed.strangers
    if not found:
        return Part()
    listed = ", ".join(map(str, found))
    text = (
        f"Left alone objects that have this quorum's labels, but that the operator did not create: {listed}. Remove "
        "the labels kafkaquorum.io/* from them"
    )
    return Part(waits=(Wait(severity=Severity.DEGRADED, reason="ForeignObject", message=text),))
