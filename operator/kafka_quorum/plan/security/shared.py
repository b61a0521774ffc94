"""What the leafs of every issuer have in common: the files beside them, users of brokers, and how a wait is shown."""

from typing import Final

from kafka_quorum.model.certified import sasl_listeners
from kafka_quorum.model.known import Known
from kafka_quorum.model.material import BROKERS, Holder, LeafSeen, Material
from kafka_quorum.model.names import keystore_file, trust_file
from kafka_quorum.model.plan import Severity, Wait
from kafka_quorum.model.situation import Situation
from kafka_quorum.plan.part import Part

CERTIFICATES: Final = "Certificates"
HELD: Final = "CertificatesHeld"


def sasl(situation: Situation) -> frozenset[str]:
    """The listeners with users, now and next."""
    made = (each.runtime for each in situation.observed.revisions)
    return sasl_listeners(situation.desired, situation.record, (*made, situation.runtime))


def is_of_brokers(holder: Holder) -> bool:
    """Whether brokers mount this Secret: then it has their files, and their user."""
    return holder.role == BROKERS.role


def trust_of(situation: Situation, material: Material) -> str:
    """The bundle beside a leaf: what the controllers trust, or will at first."""
    wanted = material.wanted_trust
    return situation.runtime.trust or (wanted.value if isinstance(wanted, Known) else "")


def lacks_named(situation: Situation, leaf: LeafSeen) -> bool:
    """Whether brokers would not find the file that the contract names, because the others are renewed."""
    named = situation.runtime.certificates
    return 0 < named < leaf.generation and keystore_file(named) not in leaf.files


def serves_brokers(situation: Situation, material: Material, leaf: LeafSeen) -> bool:
    """Whether the brokers' Secret has the files that the contract names now, and a user where one is needed."""
    runtime = situation.runtime
    if runtime.encrypted and trust_file(runtime.trust) not in leaf.files:
        return False
    return logins(situation, material) <= leaf.logs_in_at


def logins(situation: Situation, material: Material) -> frozenset[str]:
    """The listeners for which the users are made."""
    users = material.users
    made = users.value.listeners if isinstance(users, Known) and users.value is not None else frozenset()
    return sasl(situation) & made


def waits(message: str, severity: Severity) -> Part:
    """A part with one wait."""
    return Part(waits=(wait(message, severity),))


def wait(message: str, severity: Severity) -> Wait:
    """A wait for certificates: for progress, or held until a person acts."""
    reason = CERTIFICATES if severity is Severity.PROGRESS else HELD
    return Wait(severity=severity, reason=reason, message=message)
