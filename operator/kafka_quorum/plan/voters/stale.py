"""Stale and foreign voters, each named with what happens to it."""

from kafka_quorum.model.ids import ReplicaKey
from kafka_quorum.model.known import Known
from kafka_quorum.model.names import advertised
from kafka_quorum.model.nodes import is_foreign
from kafka_quorum.model.nodes import stale_voters as stale_keys
from kafka_quorum.model.observed import QuorumView
from kafka_quorum.model.plan import Severity, Wait
from kafka_quorum.model.situation import Situation
from kafka_quorum.plan.part import Part


def stale_voters(situation: Situation) -> Part:
    """Name every stale voter: what replaces it, or the command that removes what this operator never made."""
    if not isinstance(situation.observed.quorum, Known):
        return Part()
    view = situation.observed.quorum.value
    return Part(waits=tuple(_stale(situation, view, key) for key in stale_keys(situation.record, view)))


def _stale(situation: Situation, view: QuorumView, key: ReplicaKey) -> Wait:
    record = situation.record
    caught_up = f"{len(view.voters & view.caught_up)} of {len(view.voters)} voters are caught up"
    if is_foreign(record, key):
        at = f"kafka-metadata-quorum.sh --bootstrap-controller {_address(situation)} remove-controller"
        text = (
            f"Did not remove voter {key}: this resource did not add it ({caught_up}). The operator never removes such "
            f"a voter. If nobody needs it, remove it yourself: {at} --controller-id {key.node_id} "
            f"--controller-directory-id {key.directory_id}"
        )
        return Wait(severity=Severity.DEGRADED, reason="ForeignVoter", message=text, node_id=key.node_id)
    text = f"voter {key} is stale: its disk is lost, or its controller was removed ({caught_up})"
    if key.directory_id in record.retired:
        text = f"{text}. The operator removes it when a majority of the other voters is caught up"
    return Wait(severity=Severity.DEGRADED, reason="StaleVoter", message=text, node_id=key.node_id)


def _address(situation: Situation) -> str:
    """An address of a controller of ours for a client in the cluster."""
    desired = situation.desired
    listener = advertised(desired.namespace, desired.member(situation.record.nodes[0].node_id), situation.runtime)
    return f"{listener.host}:{listener.port}"
