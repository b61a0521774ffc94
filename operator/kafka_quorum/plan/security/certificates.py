"""The quorum's own authority, the leafs that it signs, their renewal, and listeners that load them again."""

from collections.abc import Iterator
from functools import partial
from typing import Final

from kafka_quorum.model import names
from kafka_quorum.model.actions import (
    ComposeLeaf,
    MakeAuthority,
    MakeUsers,
    PromoteAuthority,
    WithdrawAuthority,
)
from kafka_quorum.model.bundles import has_authority, have_ended
from kafka_quorum.model.certified import dns_names, holders, needs_certificates, shown_until_s
from kafka_quorum.model.generations import FIRST
from kafka_quorum.model.handshakes import Served
from kafka_quorum.model.identity import BootstrapPhase
from kafka_quorum.model.known import Known, Unknown
from kafka_quorum.model.material import (
    BROKERS,
    OPERATOR,
    AuthoritySeen,
    Holder,
    LeafSeen,
    Material,
    OwnAuthorities,
)
from kafka_quorum.model.names import keystore_file
from kafka_quorum.model.permit import Refusal
from kafka_quorum.model.plan import Severity
from kafka_quorum.model.pools import have_room
from kafka_quorum.model.situation import Situation
from kafka_quorum.plan.facts.following import is_trusted_alone
from kafka_quorum.plan.guards.rule13_trust import may_end_authority, may_give_users, may_show_leaf
from kafka_quorum.plan.part import Part, merged
from kafka_quorum.plan.security.given import given_leafs
from kafka_quorum.plan.security.lost import locked_out, must_sign
from kafka_quorum.plan.security.reloads import reloads
from kafka_quorum.plan.security.room import without_room
from kafka_quorum.plan.security.shared import (
    AHEAD,
    changing_trusts,
    is_ahead,
    is_of_brokers,
    keeps_login,
    lacks_named,
    logins,
    named_again,
    named_files,
    sasl,
    serves_brokers,
    trust_of,
    wait,
    waits,
    wanted_generation,
)

_LONGER: Final = 0.1
"""A leaf is not renewed while that would prolong its life by less than this share of the time that is left."""


def certificates(situation: Situation) -> Part:
    """Everything that certificates need now."""
    if not needs_certificates(situation.desired, situation.record):
        return Part()
    material = situation.observed.material
    if material is None:
        return waits("Waiting for the Secrets with certificates to be read", Severity.PROGRESS)
    leafs = _leafs(situation, material) if situation.desired.trust.issuer.own else given_leafs(situation, material)
    first = (_authority(situation, material), _users(situation, material), _pools(material))
    return merged((*first, *without_room(material), *leafs, *reloads(situation, material)))


def _pools(material: Material) -> Part:
    """Pools that are not known may need a certificate: a wait reports it, and other work continues."""
    if isinstance(material.pools, Known):
        return Part()
    return waits(f"Did not look after the certificates of pools: {material.pools.reason}", Severity.HELD)


def _users(situation: Situation, material: Material) -> Part:
    """Make the users of listeners with SASL_SSL; users that exist keep their passwords."""
    wanted = sasl(situation)
    if not wanted:
        return Part()
    if isinstance(material.users, Unknown):
        return waits(f"Did not look after the users of the controllers: {material.users.reason}", Severity.HELD)
    seen, name = material.users.value, names.users_name(situation.desired.name)
    if seen is not None and wanted <= seen.listeners:
        return Part()
    verdict = may_give_users(situation, seen, name)
    if isinstance(verdict, Refusal):
        return Part(verdicts=(verdict,), waits=(wait(verdict.reason, Severity.HELD),))
    make = MakeUsers(
        name=name,
        listeners=tuple(sorted(wanted | (frozenset() if seen is None else seen.listeners))),
        source=situation.desired.trust.users_secret,
        version="" if seen is None else seen.version,
        message=f"Secret {name} has the users of listener {', '.join(sorted(wanted))}",
        permit=verdict,
    )
    return Part(actions=(make,), verdicts=(verdict,))


def _authority(situation: Situation, material: Material) -> Part:
    """Make the quorum's own authority, the one that follows it, or end the earlier one."""
    desired, own = situation.desired, material.own
    if isinstance(own, Unknown):
        if not own.reason:
            return Part()  # another issuer signs
        return waits(f"Did not change any certificate: {own.reason}", Severity.HELD)
    name = names.authority_name(desired.name)
    if own.value.present is None:
        message = f"Secret {name} has the authority that signs the certificates of this quorum"
        return Part(actions=(_made(situation, own.value, following=False, message=message),))
    if situation.record.phase is not BootstrapPhase.STARTED:
        return Part()
    if _has_ended(situation, own.value.present):
        message = f"Secret {name} has another authority in place of the one that has ended, which nobody accepts"
        return Part(actions=(_made(situation, own.value, following=False, message=message),))
    return _replaced(situation, own.value, name)


def _has_ended(situation: Situation, present: AuthoritySeen) -> bool:
    """Whether the authority and all that the controllers trust have ended: then no change in stages is possible.

    A leader, or a listener that serves, shows that they have not: then the operator's clock is ahead.
    """
    observed, material = situation.observed, situation.observed.material
    shown = () if material is None else material.shown
    if isinstance(observed.quorum, Known) or any(isinstance(one.handshake, Served) and one.fresh for one in shown):
        return False
    applied = situation.observed.revision(situation.record.applied_revision)
    trusted = present.pem if applied is None else applied.runtime.trust
    return present.not_after_s < situation.now_s and have_ended(trusted or present.pem, situation.now_s)


def _is_withdrawn(situation: Situation, seen: OwnAuthorities) -> bool:
    """Whether the request for another authority is taken back, before that authority is the only trusted one."""
    reached, follows = situation.record.migration, seen.following
    if follows is None or seen.asked_for == seen.asked_before:
        return False
    if situation.desired.trust.renew_authority != seen.asked_before:
        return False
    if is_trusted_alone(situation, seen):
        return False
    if reached is None:
        return situation.runtime.trust != follows.pem
    return reached.trust is not None and not reached.drops_trust


def _withdrawn(seen: OwnAuthorities, name: str) -> Part:
    """The present authority stays. Servers that trust both do so until a migration has dropped the other one."""
    if seen.following is None:
        return Part()
    message = f"Secret {name} has the present authority only: spec.security.controllers.renewCA has its earlier text"
    away = WithdrawAuthority(name=name, sha256=seen.following.sha256, version=seen.version, message=message)
    return Part(actions=(away,))


def _replaced(situation: Situation, seen: OwnAuthorities, name: str) -> Part:
    """Make the authority that follows, end the earlier one, or take back the one that follows."""
    if _is_withdrawn(situation, seen):
        return _withdrawn(seen, name)
    if situation.record.migration is not None:
        return Part()
    if seen.following is not None:
        return _promoted(situation, seen, name)
    why = _why_another(situation, seen)
    if not why:
        return Part()
    message = f"Secret {name} has another authority, to replace the present one: {why}"
    return Part(actions=(_made(situation, seen, following=True, message=message),))


def _made(situation: Situation, seen: OwnAuthorities, *, following: bool, message: str) -> MakeAuthority:
    policy = situation.desired.trust
    return MakeAuthority(
        name=names.authority_name(situation.desired.name),
        following=following,
        asked_for=policy.renew_authority,
        life_s=policy.authority_s,
        version=seen.version,
        message=message,
    )


def _why_another(situation: Situation, seen: OwnAuthorities) -> str:
    policy, present = situation.desired.trust, seen.present
    if present is None:
        return ""
    if policy.renew_authority != seen.asked_for:
        return "spec.security.controllers.renewCA was changed"
    if situation.now_s >= policy.renewal_s(present.not_after_s, present.life_s):
        return "the present one ends soon"
    return ""


def _promoted(situation: Situation, seen: OwnAuthorities, name: str) -> Part:
    """When only the authority that follows is trusted, it becomes the present one."""
    following = seen.following
    if following is None or situation.runtime.trust != following.pem:
        return Part()
    verdict = may_end_authority(situation, following.pem)
    if isinstance(verdict, Refusal):
        return Part(verdicts=(verdict,), waits=(wait(verdict.reason, Severity.PROGRESS),))
    message = f"Secret {name} has only the new authority: {verdict.reason}"
    end = PromoteAuthority(name=name, sha256=following.sha256, version=seen.version, message=message, permit=verdict)
    return Part(actions=(end,), verdicts=(verdict,))


def _leafs(situation: Situation, material: Material) -> Iterator[Part]:
    """Makes missing leafs, and all leafs again if one must be renewed: each renewal is a generation."""
    if not _candidate(situation, material):
        return
    if not _signer(situation, material) and situation.record.migration is None:
        text = "Waiting to sign certificates with the new authority: the controllers do not trust it yet"
        way_out = ". Correct the spec: no authority is replaced before that" if situation.repair_only else ""
        yield waits(f"{text}{way_out}", Severity.PROGRESS)
        if material.leaf(OPERATOR) == Known(value=None) and isinstance(situation.observed.quorum, Unknown):
            yield waits(locked_out(situation.desired.name), Severity.HELD)
    yield from _each_leaf(situation, material)


def _each_leaf(situation: Situation, material: Material) -> Iterator[Part]:
    """The Secret of each holder, where it is written."""
    every, signer = holders(situation.record, material.known_pools), _signer(situation, material)
    wanted, why, pauses = wanted_generation(situation, material, every, partial(_why_renewed, situation, signer))
    yield Part(waits=pauses)
    for holder in every:
        seen = material.leaf(holder)
        if isinstance(seen, Unknown):
            if seen.reason:
                yield waits(f"Did not look after the certificate of {holder}: {seen.reason}", Severity.HELD)
            continue
        if seen.value is None:
            yield _composed(situation, material, holder, max(wanted, FIRST), None, "it has none")
        elif seen.value.generation < wanted:
            yield _composed(situation, material, holder, wanted, seen.value, why)
        elif is_ahead(material, holder, seen.value, wanted):
            yield _composed(situation, material, holder, wanted, seen.value, AHEAD)
        elif is_of_brokers(holder) and (other := _why_other(situation, material, holder, seen.value)):
            yield _composed(situation, material, holder, max(wanted, seen.value.generation), seen.value, other)


def _candidate(situation: Situation, material: Material) -> AuthoritySeen | None:
    """The authority that would sign leafs now; None if there is none, or another issuer signs."""
    own = material.own
    if isinstance(own, Unknown) or own.value.present is None:
        return None
    follows = own.value.following
    if follows is None:
        return own.value.present
    promoted = situation.record.overlay.signed_by_new or situation.runtime.trust == follows.pem
    return follows if promoted or is_trusted_alone(situation, own.value) else own.value.present


def _signer(situation: Situation, material: Material) -> AuthoritySeen | None:
    """The authority that signs all leafs now, if there is one.

    One that the servers did not trust before, because the earlier one was lost, signs when every server trusts it.
    """
    found = _candidate(situation, material)
    if found is None:
        return None
    change = None if situation.record.migration is None else situation.record.migration.trust
    before = situation.runtime.trust if change is None else change.before
    known = not before or situation.record.overlay.signed_by_new or has_authority(before, found.sha256)
    return found if known or must_sign(situation, material, found.sha256) else None


def _signer_of(situation: Situation, material: Material, holder: Holder) -> str:
    """The digest of the authority that signs for one holder; empty if none does.

    A client may show a leaf as soon as every controller trusts its authority.
    A pool waits longer: it shows its leaf to brokers and applications, and the guard asks controllers only.
    """
    found = _signer(situation, material)
    if found is None and holder in {OPERATOR, BROKERS}:
        found = _candidate(situation, material)
    return "" if found is None else found.sha256


def _composed(
    situation: Situation, material: Material, holder: Holder, generation: int, before: LeafSeen | None, why: str
) -> Part:
    """Write the Secret of this holder, if every server accepts the leaf."""
    desired, signer = situation.desired, _signer_of(situation, material, holder)
    if holder.pool and not signer:
        text = f"Waiting to give {holder} another certificate ({why}): brokers do not trust the new authority yet"
        return waits(text, Severity.PROGRESS)
    verdict = may_show_leaf(situation, holder, signer, why)
    if isinstance(verdict, Refusal):
        return Part(verdicts=(verdict,), waits=(wait(verdict.reason, Severity.PROGRESS),))
    name = holder.secret(desired.name)
    wanted = _names(situation, material, holder, generation, before)
    compose = ComposeLeaf(
        name=name,
        holder=holder,
        generation=generation,
        dns_names=wanted,
        life_s=desired.trust.leaf_s,
        authority=signer,
        trust=trust_of(situation, material),
        before=before,
        listeners=tuple(sorted(logins(situation, material))) if is_of_brokers(holder) else (),
        keeps_login=is_of_brokers(holder) and keeps_login(situation, material),
        before_ends_s=shown_until_s(situation.observed, holder, before, situation.runtime.certificates),
        also=_also(situation, holder, generation, before, wanted),
        keeps=named_files(situation) if is_of_brokers(holder) else (),
        trusts=changing_trusts(situation) if is_of_brokers(holder) else (),
        message=f"Secret {name} has certificate {generation} of {holder}: {why}",
        permit=verdict,
    )
    return Part(actions=(compose,), verdicts=(verdict,))


def _names(
    situation: Situation, material: Material, holder: Holder, generation: int, before: LeafSeen | None
) -> tuple[str, ...]:
    """The names of the next certificate. Within a generation, that of a pool keeps the names of the one before it."""
    found = dns_names(situation.desired, holder, material.known_pools)
    if not holder.pool or before is None or before.generation != generation:
        return found
    both = tuple(sorted({*found, *before.certificate.dns_names}))
    return both if have_room(both) else found


def _also(
    situation: Situation, holder: Holder, generation: int, before: LeafSeen | None, names: tuple[str, ...]
) -> int:
    """The generation of the contract, if brokers have no file of it: a pool is new, or the Secret was lost.

    A pool's file that lacks a name is written again, too, because new brokers start with it.
    """
    named = situation.runtime.certificates
    if not (is_of_brokers(holder) and 0 < named < generation):
        return 0
    if not holder.pool or before is None:
        return named_again(situation, generation, before)
    if before.generation == generation or keystore_file(named) not in before.files:
        return named
    return 0 if set(names) <= set(before.certificate.dns_names) else named


def _why_other(situation: Situation, material: Material, holder: Holder, leaf: LeafSeen) -> str:
    """Why brokers need another certificate of the same generation, or other files beside it; empty if they do not."""
    missing = set(dns_names(situation.desired, holder, material.known_pools)) - set(leaf.certificate.dns_names)
    if missing:
        return f"its brokers are reached as {min(missing)}, too"
    if lacks_named(situation, leaf) or not serves_brokers(situation, material, leaf):
        return "brokers need other files"
    return ""


def _why_renewed(situation: Situation, signer: AuthoritySeen | None, holder: Holder, leaf: LeafSeen) -> str:
    """Why this leaf is replaced; empty if it is not, for example because a new one would hardly end later.

    A leaf ends with its authority: near that end each new leaf is as short as the one before. The gain is compared with
    the time that the present leaf has left, whatever the spec says by now, so a gain always counts before its end.
    """
    policy, shown, now_s = situation.desired.trust, leaf.certificate, situation.now_s
    if signer is None:
        return ""
    if leaf.authority != signer.sha256:
        return f"another authority signs ({holder})"
    ends = now_s >= policy.renewal_s(shown.not_after_s, shown.life_s)
    longer_s = min(now_s + policy.leaf_s, signer.not_after_s) - shown.not_after_s
    gains = longer_s > 0 and longer_s >= (shown.not_after_s - now_s) * _LONGER
    return f"the certificate ends soon ({holder})" if ends and gains else ""
