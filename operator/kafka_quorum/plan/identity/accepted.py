"""The last accepted spec is stored before any act on the quorum follows from it."""

from kafka_quorum.model.actions import KeepSpec
from kafka_quorum.model.situation import Situation
from kafka_quorum.plan.part import Part


def accepted_spec(situation: Situation) -> Part:
    """Store the present spec, if another one is stored as the last accepted one."""
    if situation.observed.spec_kept:
        return Part()
    return Part(actions=(KeepSpec(resource_version=situation.record.resource_version),))
