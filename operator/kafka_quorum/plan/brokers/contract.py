"""The broker contract is published as soon as there is an identity, and kept up to date. Its revision never goes down.

Pools format and run their brokers from it, and owners of other brokers read it.
"""

from dataclasses import replace
from typing import Final

from kafka_quorum.model.actions import ApplyContract
from kafka_quorum.model.certified import why_trust_unknown
from kafka_quorum.model.contract import Contract
from kafka_quorum.model.known import Unknown
from kafka_quorum.model.material import BROKERS, LeafSeen
from kafka_quorum.model.names import brokers_tls_name, contract_name, keystore_generation
from kafka_quorum.model.plan import Severity, Wait
from kafka_quorum.model.situation import Situation
from kafka_quorum.plan.brokers.turn import due_turn
from kafka_quorum.plan.facts.contract import due_contract
from kafka_quorum.plan.guards.rule7_releases import may_run_image
from kafka_quorum.plan.part import Part

UNREADABLE: Final = "ContractUnreadable"
FILES_MISSING: Final = "ContractFilesMissing"
CERTIFICATE_ENDED: Final = "ContractCertificateEnded"


def contract(situation: Situation) -> Part:
    """Write the contract if it differs from what is stored. If what is stored is unknown, nothing is written."""
    stored = situation.observed.contract
    if isinstance(stored, Unknown):
        return Part(waits=_unread(stored.reason))
    if why_trust_unknown(situation.runtime, situation.observed, situation.record):
        return Part()  # `revisions` says so; brokers keep what they trust
    present = None if stored.value is None else stored.value.contract
    may_go_down = may_run_image(situation, situation.runtime.release).allowed
    least = _least_revision(situation, present)
    due = due_contract(situation, present, may_go_down=may_go_down, least_revision=least)
    due = replace(due, turn=due_turn(situation, present))
    if present == due and stored.value is not None and not stored.value.adrift:
        return Part()
    held = _files_missing(situation, present, due)
    if held:
        if present is None or present.turn == due.turn:
            return Part(waits=held)
        due = replace(present, turn=due.turn)  # a Secret of brokers must not cost the controllers their certificates
    return Part(actions=(ApplyContract(name=contract_name(situation.desired.name), contract=due),), waits=held)


def _least_revision(situation: Situation, present: Contract | None) -> int:
    """A lost contract comes back above each revision that was published, or confirmed: what was confirmed is gone.

    Before the first leader there was none that could be lost.
    """
    seen = situation.observed.status.contract_revision
    confirmed = situation.desired.broker_access.confirmed_revision if situation.record.had_leader else 0
    return max(seen, 1) if present else max(seen, confirmed) + 1


def _files_missing(situation: Situation, present: Contract | None, due: Contract) -> tuple[Wait, ...]:
    """Nothing is published that brokers cannot follow: files that their Secret is not known to have.

    A broker that restarts without a file that its settings name does not start.
    """
    wanted = set(due.files) - (set() if present is None else set(present.files))
    if not wanted:
        return ()
    name, material = brokers_tls_name(situation.desired.name), situation.observed.material
    leaf = Unknown(reason="") if material is None else material.leaf(BROKERS)
    stays = "" if present is None else f". Revision {present.revision} stays"
    if isinstance(leaf, Unknown):
        why = leaf.reason or "no look has read it yet"
        text = f"Did not publish what brokers must have: Secret {name} may lack {min(wanted)} ({why}){stays}"
        severity = Severity.HELD if leaf.reason else Severity.PROGRESS
        return (Wait(severity=severity, reason=FILES_MISSING, message=text),)
    lacks = sorted(wanted - (frozenset() if leaf.value is None else leaf.value.files))
    text = f"Waiting to publish what brokers must have: Secret {name} does not have {', '.join(lacks)} yet{stays}"
    if lacks:
        return (Wait(severity=Severity.PROGRESS, reason=FILES_MISSING, message=text),)
    if leaf.value is None or not any(_has_ended(leaf.value, file, situation.now_s) for file in wanted):
        return ()
    ended = f"the certificate in Secret {name} has ended, and no broker comes back with it"
    text = f"Did not publish what brokers must have: {ended}. Renew it in the Secret of its issuer{stays}"
    return (Wait(severity=Severity.HELD, reason=CERTIFICATE_ENDED, message=text),)


def _has_ended(leaf: LeafSeen, file: str, now_s: float) -> bool:
    """Whether the certificate in this file of the brokers' Secret has ended, as far as that is known.

    With another issuer, brokers whose certificate was not renewed keep it in the next generation.
    """
    generation = keystore_generation(file)
    ends_s = leaf.ends_s if generation >= leaf.generation else leaf.before_ends_s
    return generation > 0 and 0 < ends_s <= now_s


def _unread(why: str) -> tuple[Wait, ...]:
    """Without a reason nothing was read, and nothing is to be said."""
    text = f"Did not publish what brokers must have: {why}"
    return (Wait(severity=Severity.HELD, reason=UNREADABLE, message=text),) if why else ()
