"""The disruption token: one stop of a running server at a time, over a quorum and all its pools of brokers."""

from kafka_quorum.model.identity import NodeIdentity
from kafka_quorum.model.known import Unknown
from kafka_quorum.model.names import token_holder, token_name
from kafka_quorum.model.situation import Situation


def holds_token(situation: Situation) -> bool:
    """Whether this quorum has the token. Unknown is a no."""
    token = situation.observed.token
    return not isinstance(token, Unknown) and token.value.holder == token_holder(situation.desired.name)


def needs_token(situation: Situation, node: NodeIdentity) -> bool:
    """Whether a stop of this controller takes away something that serves: a voter that keeps up.

    A voter that lags, and an observer, give the quorum nothing at this moment: to restart them is a repair.
    """
    quorum = situation.observed.quorum
    return not isinstance(quorum, Unknown) and node.key in quorum.value.voters & quorum.value.shown


def why_no_token(situation: Situation) -> str:
    """Why the token cannot be taken now, with the way out; empty if it can, or if this quorum has it."""
    token, lease = situation.observed.token, token_name(situation.desired.name)
    if isinstance(token, Unknown):
        return f"Lease {lease}, which says who may stop servers now, cannot be read ({token.reason})"
    holder = token.value.holder
    if not holder or holds_token(situation):
        return ""
    since = f" since {token.value.since}" if token.value.since else ""
    way_out = f"If it is gone for good, delete Lease {lease}"
    return f"{holder} is stopping brokers{since}, and one disruption happens at a time. {way_out}"
