"""The disk that a person gives up by an annotation: retired in the record, and then replaced as a lost disk is.

Nothing but the retired directory id is remembered. It is written with the decision itself, so the annotation may stay:
its word is of a disk that never comes back. Everything after the decision is the ordinary way of a lost disk.
"""

from dataclasses import replace
from typing import Final

from kafka_quorum.model.actions import DecideRecord, RecordChange
from kafka_quorum.model.identity import NodeIdentity, with_disk_lost
from kafka_quorum.model.ids import ReplicaKey
from kafka_quorum.model.permit import GiveUpDisk, Permit, Refusal, TakeToken
from kafka_quorum.model.plan import Severity, Wait
from kafka_quorum.model.situation import Situation
from kafka_quorum.plan.facts.admission import before_stop
from kafka_quorum.plan.facts.token import WAITS_FOR_TOKEN, taken
from kafka_quorum.plan.guards.rule2_given_up import is_replaced, may_give_up_disk, token_to_give_up, why_never
from kafka_quorum.plan.part import Part

_REPLACING: Final = "ReplacingDisk"
_REFUSED: Final = "ReplaceRefused"


def given_up(situation: Situation) -> Part:
    """Give up the disk that a person names, or say why not. One that is given up already is named in vain."""
    target = situation.desired.give_up
    if target is None or is_replaced(situation, target):
        return Part()
    node, verdict = situation.record.node(target.node_id), may_give_up_disk(situation, target)
    token = token_to_give_up(situation, target)
    if isinstance(verdict, Refusal) and not isinstance(token, Permit):
        refusal = verdict if token is None else token
        return Part(verdicts=(refusal,), waits=(_wait(situation, target, refusal),))
    revision = None if node is None else situation.revision_of(node)
    if node is None or revision is None:
        text = f"Waiting to replace replica {target}: the ControllerRevision of its next pod cannot be read"
        wait = Wait(severity=Severity.PROGRESS, reason=_REPLACING, message=text, node_id=target.node_id)
        return Part(verdicts=(verdict,), waits=(wait,))
    held = before_stop(situation.observed, node, revision.name, reason=_REPLACING, held=_REFUSED)
    if held is not None:
        return replace(held, verdicts=(verdict,))
    if isinstance(verdict, Refusal):
        why = f"replica {target} is replaced next"
        return taken(situation, token, why) if isinstance(token, Permit) else Part(verdicts=(verdict,))
    return _given_up(situation, node, verdict)


def _given_up(situation: Situation, node: NodeIdentity, verdict: Permit[GiveUpDisk]) -> Part:
    message = f"controller {node.node_id} gets a new disk, and {node.directory_id} is retired: {verdict.reason}"
    retired = with_disk_lost(situation.record, node.node_id, new_claim=True)
    write = DecideRecord(record=retired, change=RecordChange.DISK_GIVEN_UP, message=message, permit=verdict)
    return Part(exclusive=write, verdicts=(verdict,))


def _wait(situation: Situation, target: ReplicaKey, refusal: Refusal) -> Wait:
    never = bool(why_never(situation, target))
    reason = _REFUSED if never else WAITS_FOR_TOKEN if refusal.rule == TakeToken.id else _REPLACING
    severity = Severity.HELD if never else Severity.PROGRESS
    return Wait(severity=severity, reason=reason, message=refusal.reason, node_id=target.node_id)
