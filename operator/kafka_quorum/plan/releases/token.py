"""The disruption token is given back when every voter serves again, and nothing else is about to be stopped.

It stays with the quorum between the restarts of one roll: the table runs this only when the roll has nothing to do.
"""

from kafka_quorum.model.actions import GiveToken
from kafka_quorum.model.known import Known
from kafka_quorum.model.operation import VoterReplacement
from kafka_quorum.model.situation import Situation
from kafka_quorum.plan.facts.token import has_token
from kafka_quorum.plan.guards.rule3_voters import CAUGHT_UP_LOOKS
from kafka_quorum.plan.part import Part


def token_given_back(situation: Situation) -> Part:
    """Give it back if this quorum has it, and nothing that it stopped is still away.

    Controllers that a roll back to ZooKeeper has stopped do not come back: brokers need the token then.
    """
    token, ended = situation.observed.token, situation.record.overlay.stopped
    if not isinstance(token, Known) or not has_token(situation) or not (ended or _all_serve(situation)):
        return Part()
    return Part(exclusive=GiveToken(seen=token.value))


def _all_serve(situation: Situation) -> bool:
    """Whether every voter was caught up in three looks, those of this resource run, and none is being replaced."""
    observed, operation = situation.observed, situation.observed.status.operation
    if not isinstance(observed.quorum, Known):
        return False
    if operation is not None and isinstance(operation.change, VoterReplacement):
        return False  # the stale vote may be removed, and the new one is not added yet
    view = observed.quorum.value
    looks = (observed.memory.looks(key) for key in view.voters)
    ours = (key.node_id for key in view.voters if situation.record.node(key.node_id) is not None)
    steady = view.voters <= view.caught_up and all(count >= CAUGHT_UP_LOOKS for count in looks)
    return steady and all(observed.serving(node_id) for node_id in ours)
