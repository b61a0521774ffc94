"""The disruption token: one stop of a running server at a time, over a quorum and all its pools of brokers."""

from typing import Final

from kafka_quorum.model import permit as permits
from kafka_quorum.model.actions import TakeToken
from kafka_quorum.model.certified import client_ends
from kafka_quorum.model.contract import Turn
from kafka_quorum.model.identity import NodeIdentity
from kafka_quorum.model.ids import NodeID
from kafka_quorum.model.known import Known, Unknown
from kafka_quorum.model.names import token_holder, token_name
from kafka_quorum.model.permit import Permit
from kafka_quorum.model.situation import Situation
from kafka_quorum.plan.part import Part
from kit.stamps import second_of

WAITS_FOR_TOKEN: Final = "DisruptionElsewhere"  # noqa: S105 - the reason of a wait
"""Reason of a wait: a pool of brokers stops servers now, and the quorum's turn is next."""


def has_token(situation: Situation) -> bool:
    """Whether this quorum has the token, perhaps one that ends. Unknown is a no."""
    token = situation.observed.token
    return not isinstance(token, Unknown) and token.value.holder == token_holder(situation.desired.name)


def holds_token(situation: Situation) -> bool:
    """Whether this quorum may stop a server with the token: not with one that ends, which it has to take again."""
    token = situation.observed.token
    return has_token(situation) and isinstance(token, Known) and not token.value.ends


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
    if not holder or has_token(situation):
        return ""
    since = f" since {token.value.since}" if token.value.since else ""
    pool = holder.removeprefix("pool/")
    paused = (
        f"If KafkaBrokerPool {pool} is paused, set its spec.paused to false, else its status says what it waits for. "
        if pool != holder
        else ""
    )
    way_out = f"{paused}If it is gone for good, delete Lease {lease}"
    return f"{holder} is stopping brokers{since}, and one disruption happens at a time. {_turn(situation)}{way_out}"


def stored_turn(situation: Situation) -> Turn | None:
    """The controllers' turn that pools read now; None if there is none."""
    stored = situation.observed.contract
    if not isinstance(stored, Known) or stored.value is None:
        return None
    return stored.value.contract.turn_at(situation.now_s)


def urgent(situation: Situation) -> frozenset[NodeID]:
    """The controllers for whose certificates it is the controllers' turn: they restart before the other followers."""
    turn = stored_turn(situation)
    if turn is None:
        return frozenset()
    ends = client_ends(situation.observed, situation.record)
    return frozenset(node_id for node_id, end_s in ends if 0 < end_s <= turn.over_s)


def _turn(situation: Situation) -> str:
    """What pools do now so that no certificate of a controller ends meanwhile, as a sentence; empty if it is not so."""
    turn = stored_turn(situation)
    if turn is None:
        return ""
    ends, last = second_of(turn.ends_s), second_of(turn.last_s)
    return (
        f"A certificate of a controller ends at {ends}, so pools begin no stop of a broker now. They give the token "
        f"back when the brokers that they stopped are back, at {last} at the latest. "
    )


def taken(situation: Situation, permit: Permit[permits.TakeToken], why: str) -> Part:
    """The act that takes the token; the stop itself follows in the look after it."""
    token = situation.observed.token
    if not isinstance(token, Known):
        return Part(verdicts=(permit,))
    message = f"this quorum has the disruption token: {why}"
    return Part(exclusive=TakeToken(seen=token.value, message=message, permit=permit), verdicts=(permit,))
