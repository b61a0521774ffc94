"""Leafs of another issuer: a checked leaf is copied into the Secret that its holder mounts, as a new generation.

Each holder follows its own source. A source that cannot be used does not stop the others: its holder keeps its leaf,
also in the next generation, and the status says what is wrong with the Secret of the issuer.

A pool differs in one case: if its leaf has ended, and nothing replaces it, the pool has none in the next generation.
Then its brokers keep what they loaded, and none restarts to show a leaf that is not accepted.
"""

from collections.abc import Iterator
from functools import partial

from kafka_quorum.model.actions import ComposeLeaf, RequestLeaf
from kafka_quorum.model.bundles import has_authority
from kafka_quorum.model.certified import given_hosts, holders, shown_until_s
from kafka_quorum.model.generations import FIRST
from kafka_quorum.model.known import Unknown
from kafka_quorum.model.material import Holder, LeafSeen, Material, Source
from kafka_quorum.model.permit import Refusal
from kafka_quorum.model.plan import Severity
from kafka_quorum.model.pools import uncovered
from kafka_quorum.model.situation import Situation
from kafka_quorum.plan.guards.rule13_trust import may_show_leaf
from kafka_quorum.plan.part import Part
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
    serves_brokers,
    trust_of,
    wait,
    waits,
    wanted_generation,
)


def given_leafs(situation: Situation, material: Material) -> Iterator[Part]:
    """Copies of what the issuer gave, where it is new; and what is wrong with the rest."""
    if material.other_issuer:
        return  # the part of the authority reports it
    yield from _requests(situation, material)
    yield from _wrong(situation, material)
    ready = dict(_ready(situation, material))
    wanted, why, pauses = wanted_generation(situation, material, ready, partial(_why_replaced, ready))
    yield Part(waits=pauses)
    for holder in holders(situation.record, material.known_pools):
        seen = material.leaf(holder)
        if isinstance(seen, Unknown):
            if seen.reason:
                yield waits(f"Did not look after the certificate of {holder}: {seen.reason}", Severity.HELD)
            continue
        leaf, source = seen.value, ready.get(holder)
        if leaf is None and source is not None:
            yield _copied(situation, material, holder, max(wanted, FIRST), None, source, "it has none")
        elif leaf is None or (holder.pool and source is None and leaf.ends_s <= situation.now_s):
            continue
        elif leaf.generation < wanted:
            yield _copied(situation, material, holder, wanted, leaf, source, why)
        elif is_ahead(material, holder, leaf, wanted):
            yield _copied(situation, material, holder, wanted, leaf, source, AHEAD)
        elif is_of_brokers(holder) and _needs_files(situation, material, leaf):
            latest = max(wanted, leaf.generation)
            yield _copied(situation, material, holder, latest, leaf, source, "brokers need other files")


def _needs_files(situation: Situation, material: Material, leaf: LeafSeen) -> bool:
    return lacks_named(situation, leaf) or not serves_brokers(situation, material, leaf)


def _requests(situation: Situation, material: Material) -> Iterator[Part]:
    """Ask cert-manager for each leaf, or for another one if the spec has changed what is needed."""
    for holder, seen in material.requests:
        if isinstance(seen, Unknown) or (seen.value is not None and seen.value.current):
            continue
        name, ref = holder.request(situation.desired.name), situation.desired.trust.issuer.ref
        message = f"Certificate {name} asks {ref.kind} {ref.name} for the certificate of {holder}"
        own = tuple(each for each in material.known_pools if each.name == holder.pool)
        yield Part(actions=(RequestLeaf(name=name, holder=holder, pools=own, message=message),))


def _wrong(situation: Situation, material: Material) -> Iterator[Part]:
    """What is wrong with the issuer's Secrets. Controllers often share one Secret, which is named once."""
    trust = material.given_trust
    if isinstance(trust, Unknown) and trust.reason:
        yield waits(f"Did not look after the authorities that servers trust: {trust.reason}", Severity.HELD)
    found: dict[str, Holder] = {}
    for holder in holders(situation.record, material.known_pools):
        source = material.source(holder)
        if isinstance(source, Unknown):
            found.setdefault(source.reason, holder)
        elif not _trusted(situation, source.value) and situation.record.migration is None:
            text = f"Waiting to use the certificate in Secret {source.value.secret}: the controllers do not trust its"
            yield waits(f"{text} authority yet", Severity.PROGRESS)
    for reason, holder in found.items():
        if reason:
            severity = Severity.PROGRESS if holder in material.pending else Severity.HELD
            yield waits(f"Did not use the certificate for {holder}: {reason}", severity)


def _ready(situation: Situation, material: Material) -> Iterator[tuple[Holder, Source]]:
    """Sources whose authority every server trusts."""
    for holder in holders(situation.record, material.known_pools):
        source = material.source(holder)
        if not isinstance(source, Unknown) and _trusted(situation, source.value):
            yield holder, source.value


def _trusted(situation: Situation, source: Source) -> bool:
    """Whether servers trusted the authority of a source before a change, or it may sign by now.

    As soon as the new one may sign, the trust of the next revision counts, which may lack the earlier one.
    """
    change = None if situation.record.migration is None else situation.record.migration.trust
    signed_by_new = situation.record.overlay.signed_by_new
    before = situation.runtime.trust if change is None or signed_by_new else change.before
    if not before:
        return True
    return any(has_authority(before, sha256) for sha256 in source.authorities)


def _why_replaced(ready: dict[Holder, Source], holder: Holder, leaf: LeafSeen) -> str:
    """Why this leaf is replaced: its source has another one; empty if it is not."""
    source = ready.get(holder)
    if source is None or leaf.digest == source.digest:
        return ""
    same = leaf.certificate.sha256 == source.certificate.sha256
    return f"Secret {source.secret} has {'other intermediate authorities' if same else 'another certificate'}"


def _copied(
    situation: Situation,
    material: Material,
    holder: Holder,
    generation: int,
    before: LeafSeen | None,
    source: Source | None,
    why: str,
) -> Part:
    """Write the Secret of this holder with the leaf of its source, or again with the leaf that it has."""
    desired, name = situation.desired, holder.secret(situation.desired.name)
    if source is not None:
        secret, sha256, authority = source.secret, source.digest, _authority(situation, source)
    elif before is not None:
        secret, sha256, authority = name, before.digest, before.authority
    else:
        return Part()
    verdict = may_show_leaf(situation, holder, authority, why)
    if isinstance(verdict, Refusal):
        return Part(verdicts=(verdict,), waits=(wait(verdict.reason, Severity.PROGRESS),))
    compose = ComposeLeaf(
        name=name,
        holder=holder,
        generation=generation,
        dns_names=given_hosts(desired, holder, material.known_pools) if secret != name else (),
        life_s=desired.trust.leaf_s,
        authority=authority,
        trust=trust_of(situation, material),
        before=before,
        listeners=tuple(sorted(logins(situation, material))) if is_of_brokers(holder) else (),
        keeps_login=is_of_brokers(holder) and keeps_login(situation, material),
        before_ends_s=shown_until_s(situation.observed, holder, before, situation.runtime.certificates),
        also=_also(situation, material, holder, generation, before) if is_of_brokers(holder) else 0,
        keeps=named_files(situation) if is_of_brokers(holder) else (),
        trusts=changing_trusts(situation) if is_of_brokers(holder) else (),
        source=secret,
        source_sha256=sha256,
        message=f"Secret {name} has certificate {generation} of {holder}, from Secret {secret}: {why}",
        permit=verdict,
    )
    return Part(actions=(compose,), verdicts=(verdict,))


def _also(situation: Situation, material: Material, holder: Holder, generation: int, before: LeafSeen | None) -> int:
    """The generation of the contract, if brokers have no file of it, or if a pool's file lacks one of their hosts."""
    named, due = named_again(situation, generation, before), situation.runtime.certificates
    if named or before is None or not 0 < due < generation:
        return named
    hosts = given_hosts(situation.desired, holder, material.known_pools)
    return due if uncovered(hosts, before.certificate.dns_names) else 0


def _authority(situation: Situation, source: Source) -> str:
    """The authority of a source that servers trust now."""
    trust = situation.runtime.trust
    return next((each for each in sorted(source.authorities) if has_authority(trust, each)), source.authority)
