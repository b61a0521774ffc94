"""Objects with our labels that are not ours: they are named, and left alone."""

from typing import Final

from kafka_quorum.model.plan import Severity, Wait
from kafka_quorum.model.situation import Situation
from kafka_quorum.plan.part import Part

_END: Final = "Delete them: without their labels they could still write to these disks"


def strangers(situation: Situation) -> Part:
    """Objects that carry our labels, or use our disks, and that this operator did not make."""
    found = situation.observed.strangers
    users = ", ".join(str(one) for one in found if one.on_disk)
    others = ", ".join(str(one) for one in found if not one.on_disk)
    texts = []
    if users:
        texts.append(
            f"Left alone pods that use disks of this quorum, but that the operator did not create: {users}. {_END}"
        )
    if others:
        first = "Left alone objects that have this quorum's labels, but that the operator did not create"
        texts.append(f"{first}: {others}. Remove the labels kafkaquorum.io/* from them")
    return Part(waits=tuple(Wait(severity=Severity.DEGRADED, reason="ForeignObject", message=text) for text in texts))
