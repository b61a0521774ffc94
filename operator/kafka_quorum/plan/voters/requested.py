"""Controllers that the spec requests and the record does not have yet."""

from kafka_quorum.model.actions import RecordChange, WriteRecord
from kafka_quorum.model.identity import with_nodes
from kafka_quorum.model.plan import Severity, Wait
from kafka_quorum.model.situation import Situation
from kafka_quorum.plan.part import Part


def joining(situation: Situation) -> Part:
    """Add the wanted controllers to the record: then each one has its disk formatted, and joins."""
    record = situation.record
    added = [node_id for node_id in situation.wanted if node_id not in record.node_ids]
    if not added:
        return Part()
    message = f"controllers {', '.join(map(str, added))} are requested, and will join one by one"
    write = WriteRecord(record=with_nodes(record, added), change=RecordChange.NODES_ADDED, message=message)
    return Part(exclusive=write)


def static_voters(situation: Situation) -> Part:
    """A static quorum's voters are in the properties of all its nodes: they can change when it is dynamic."""
    record = situation.record
    if not record.static or record.migration is not None or situation.requested == record.node_ids:
        return Part()
    way_out = "Set kraft.version to 1 in spec.kafka.features.levels first"
    text = f"Did not change the voters: the quorum is static. {way_out}"
    return Part(waits=(Wait(severity=Severity.HELD, reason="StaticQuorum", message=text),))
