"""The first leader: after it was seen, a lost majority is not a failed bootstrap."""

from dataclasses import replace

from kafka_quorum.model.actions import RecordChange, WriteRecord
from kafka_quorum.model.known import Known
from kafka_quorum.model.situation import Situation
from kafka_quorum.plan.part import Part


def first_leader(situation: Situation) -> Part:
    """Remember that a leader was seen: after that, a lost majority is not a failed bootstrap."""
    record = situation.record
    if record.had_leader or not isinstance(situation.observed.quorum, Known):
        return Part()
    view = situation.observed.quorum.value
    seen = replace(record, had_leader=True)
    message = (
        f"controller {view.answer.leader_id} leads cluster {record.cluster_id} in epoch {view.answer.leader_epoch}"
    )
    return Part(exclusive=WriteRecord(record=seen, change=RecordChange.FIRST_LEADER, message=message))
