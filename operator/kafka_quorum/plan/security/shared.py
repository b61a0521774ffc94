"""What the leafs of every issuer have in common: the files beside them, users of brokers, and how a wait is shown."""

from collections.abc import Callable, Container, Iterator
from typing import Final, NamedTuple

from kafka_quorum.model.bundles import has_authority, together
from kafka_quorum.model.certified import sasl_listeners
from kafka_quorum.model.generations import FIRST, due_for_lost, lost, newest, pauses_until_s
from kafka_quorum.model.known import Known, Unknown
from kafka_quorum.model.material import BROKERS, Holder, LeafSeen, Material
from kafka_quorum.model.names import keystore_file, trust_file
from kafka_quorum.model.plan import Severity, Wait
from kafka_quorum.model.situation import Situation
from kafka_quorum.plan.facts.trusting import trusting_runtimes
from kafka_quorum.plan.part import Part
from kit.stamps import second_of

CERTIFICATES: Final = "Certificates"
HELD: Final = "CertificatesHeld"
PAUSES: Final = "CertificatesPause"
"""A certificate waits for its turn, and the quorum is Ready meanwhile."""
_A_DAY_S: Final = 86_400.0
"""No pause is so long: a later time is that of a certificate from the future."""
AHEAD: Final = "its generation is above that of the controllers"
_LOCATIONS: Final = (".ssl.truststore.location", ".ssl.keystore.location")


class Wanted(NamedTuple):
    """The generation that every leaf shall have, why, and what is shown while a replaced leaf waits for a pause."""

    generation: int
    why: str
    pauses: tuple[Wait, ...] = ()


def sasl(situation: Situation) -> frozenset[str]:
    """The listeners with users, in stored revisions and the next one."""
    made = (each.runtime for each in situation.observed.revisions)
    return sasl_listeners(situation.desired, situation.record, (*made, situation.runtime))


def wanted_generation(
    situation: Situation, material: Material, ready: Container[Holder], why_replaced: Callable[[Holder, LeafSeen], str]
) -> Wanted:
    """The generation that every leaf shall have, and why: a leaf of the newest one is replaced, or one is lost.

    `ready` are the holders whose lost leaf can be made again. A lost leaf that is refused blocks no renewal. After a
    generation some time passes before another Secret asks for the next one, except for leafs that a change of
    authorities waits for.
    """
    observed, record = situation.observed, situation.record
    change = None if record.migration is None else record.migration.trust
    present, due, why = newest(material, observed, record), 0, "the others are renewed"
    pauses: tuple[Wait, ...] = ()
    if again := next((holder for holder in lost(material, observed, record) if holder in ready), None):
        due, why = due_for_lost(material, observed, record), f"that of {again} is lost, or an earlier one"
    for holder, leaf in material.known_leafs():
        if leaf.generation != present:
            continue
        replaced = why_replaced(holder, leaf)
        until_s = pauses_until_s(situation.desired, material, holder, leaf, situation.now_s)
        if change is not None and not has_authority(change.after, leaf.authority):
            until_s = 0.0  # the earlier authority cannot end before this leaf is replaced
        if replaced and situation.now_s < until_s:
            pauses = pauses or (_pause(situation, holder, replaced, until_s),)
        elif replaced:
            return Wanted(max(due, present + 1), replaced)
    return Wanted(max(due, present), why, pauses if present >= due else ())


def _pause(situation: Situation, holder: Holder, why: str, until_s: float) -> Wait:
    until = second_of(min(until_s, situation.now_s + _A_DAY_S))
    text = "all certificates were made again shortly before, and follow together"
    message = f"Waiting until {until} to renew the certificate of {holder} ({why}): {text}"
    return Wait(severity=Severity.PROGRESS, reason=PAUSES, message=message)


def is_ahead(material: Material, holder: Holder, leaf: LeafSeen, wanted: int) -> bool:
    """Whether a Secret of brokers has a later generation than all others shall have: it gets that one again.

    If a Secret of the others could not be read, it may have this generation, too.
    """
    return is_of_brokers(holder) and leaf.generation > max(wanted, FIRST) and material.knows_leading


def is_of_brokers(holder: Holder) -> bool:
    """Whether brokers mount this Secret: then it has their files, and their user."""
    return holder.role == BROKERS.role


def trust_of(situation: Situation, material: Material) -> str:
    """The bundle beside a leaf: what the controllers trust, or will trust at their first start."""
    wanted = material.wanted_trust
    return situation.runtime.trust or (wanted.value if isinstance(wanted, Known) else "")


def lacks_named(situation: Situation, leaf: LeafSeen) -> bool:
    """Whether the Secret lacks the file that the contract names, because it has a later generation."""
    named = situation.runtime.certificates
    return 0 < named < leaf.generation and keystore_file(named) not in leaf.files


def named_again(situation: Situation, generation: int, before: LeafSeen | None) -> int:
    """The generation of the contract, if its file is lost or was never there; 0 if nothing has to be written again."""
    named = situation.runtime.certificates
    if not 0 < named < generation:
        return 0
    return named if before is None or keystore_file(named) not in before.files else 0


def named_files(situation: Situation) -> tuple[str, ...]:
    """Names of the files that brokers have loaded, or load when they start: they stay in the Secret."""
    runtimes = [situation.runtime, *(each for _, each in trusting_runtimes(situation))]
    due = [each for each in runtimes if each.encrypted]
    stored = situation.observed.contract
    published = None if isinstance(stored, Unknown) or stored.value is None else stored.value.contract
    found = [
        *_loaded(situation),
        *map(trust_file, changing_trusts(situation)),
        *(file for each in due for file in (trust_file(each.trust), keystore_file(each.certificates))),
        *(() if published is None else (*published.files, keystore_file(published.certificates))),
    ]
    return tuple(dict.fromkeys(found))


def changing_trusts(situation: Situation) -> tuple[str, ...]:
    """The trust of brokers that have not followed a change of authorities yet, in PEM; empty without a change."""
    change = None if situation.record.migration is None else situation.record.migration.trust
    return () if change is None else (change.before, together(change.before, change.after))


def _loaded(situation: Situation) -> Iterator[str]:
    """The files that running brokers report, as far as they can be asked."""
    brokers = situation.observed.brokers
    for broker in () if isinstance(brokers, Unknown) else brokers.value:
        settings = {} if isinstance(broker.settings, Unknown) else broker.settings.value
        for key, value in sorted(settings.items()):
            if value and key.endswith(_LOCATIONS):
                yield value.rpartition("/")[2]


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


def keeps_login(situation: Situation, material: Material) -> bool:
    """Whether a Secret of the brokers keeps its user, because the users are lost or could not be read."""
    users = material.users
    known = isinstance(users, Known) and users.value is not None
    return bool(sasl(situation)) and not known


def waits(message: str, severity: Severity) -> Part:
    """A part with one wait."""
    return Part(waits=(wait(message, severity),))


def wait(message: str, severity: Severity) -> Wait:
    """A wait for certificates: for progress, or held until a person acts."""
    reason = CERTIFICATES if severity is Severity.PROGRESS else HELD
    return Wait(severity=severity, reason=reason, message=message)
