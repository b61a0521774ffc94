"""Certificates of another issuer: which Secrets have them, and what is wrong with what they have.

Everything is checked here, before a plan sees it, so a pod gets nothing that Kafka or Java refuses later. A Secret that
the spec names must list the quorum in its annotation: the operator copies none that its user may not read. One that
cert-manager fills must prove that it was filled for a Certificate of this quorum.
"""

import asyncio
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cache
from typing import Final, TypeAlias

from kafka_quorum.model.certified import given_hosts, subject
from kafka_quorum.model.desired import Desired
from kafka_quorum.model.identity import BootstrapPhase, IdentityRecord
from kafka_quorum.model.known import Knowable, Known, Unknown
from kafka_quorum.model.material import BROKERS, OPERATOR, Holder, LeafSeen, Material, RequestSeen, Role, Source
from kafka_quorum.model.observed import Revision, revision_named
from kafka_quorum.model.pools import PoolSeen
from kafka_quorum.model.trust import IssuerKind
from kafka_quorum.observe.judging import judged
from kafka_quorum.observe.requested import Asked, filled
from kafka_quorum.observe.unread import unread
from kafka_quorum.resources.secrets import ISSUER_WHERE, sentence, signers, source_of, use_of
from kafka_quorum.wire.trial import why_refused
from kit.errors import KubeError
from kit.kube.protocol import KubeApi
from kit.kube.secrets import read_secret
from kit.parsing import Malformed
from kit.pki.bundle import Bundle, bundle, read_trust
from kit.pki.faults import Place
from kit.pki.leaf import Expected, Leaf, LeafFiles, read_leaf
from kit.pki.names import NoPrincipal

_LEAF_KEYS: Final = ("tls.crt", "tls.key")
_TRUST_KEYS: Final = ("ca.crt",)


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """What another issuer gave. `operator` is the operator's own leaf, which nothing shows.

    `refused` are the sentences of what was read and is not used. `pending` and `requests` are as in `Material`.
    """

    sources: tuple[tuple[Holder, Knowable[Source]], ...]
    refused: tuple[str, ...]
    operator: Leaf | None = field(default=None, repr=False)
    pending: frozenset[Holder] = frozenset()
    requests: tuple[tuple[Holder, Knowable[RequestSeen | None]], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Before:
    """What the certificates in use have, which those that follow must keep. Empty while none is in use."""

    subjects: Mapping[Holder, str]
    names: Mapping[Holder, frozenset[str]]
    """Of every kind: Kafka compares all of them when a listener loads another certificate."""


NOTHING: Final = Before(subjects={}, names={})


def before(leafs: Iterator[tuple[Holder, LeafSeen]]) -> Before:
    """What these leafs have."""
    known = [(holder, leaf.certificate) for holder, leaf in leafs]
    return Before(
        subjects={holder: one.subject for holder, one in known},
        names={holder: frozenset((*map("DNS:{}".format, one.dns_names), *one.other_names)) for holder, one in known},
    )


def is_in_use(revisions: tuple[Revision, ...], record: IdentityRecord) -> bool:
    """Whether controllers have certificates: one that follows must be one that they can load."""
    if record.phase is not BootstrapPhase.STARTED:
        return False
    applied = revision_named(revisions, record.applied_revision)
    return applied is None or applied.runtime.encrypted


def other_issuer(material: Material, desired: Desired) -> str:
    """Why no certificate is replaced: those in use are of another kind of issuer. Empty if they are not.

    Those of pools do not count: one that nobody has replaced since then keeps no other from its renewal.
    """
    wanted = desired.trust.issuer.kind
    leafs = (leaf for holder, leaf in material.known_leafs() if not holder.pool)
    used = sorted({leaf.issuer.value for leaf in leafs if leaf.issuer is not wanted})
    if not used:
        return ""
    return (
        f"{ISSUER_WHERE}.type cannot change while certificates of {', '.join(used)} are in use: give it this type "
        "again, or move to a listener with PLAINTEXT first"
    )


def trusted_first(revisions: tuple[Revision, ...], record: IdentityRecord) -> tuple[str, ...]:
    """The bundles by which the authority of a leaf is found before all others: what servers trust in this stage."""
    reached = record.migration
    if reached is not None and reached.trust is not None:
        both = (reached.trust.before, reached.trust.after)
        return both[::-1] if record.overlay.signed_by_new else both
    applied = revision_named(revisions, record.applied_revision)
    return () if applied is None else (applied.runtime.trust,)


@dataclass(frozen=True, slots=True)
class _Refused:
    """A sentence about what was read and is not used."""

    words: str


_Texts: TypeAlias = dict[str, str] | Unknown | _Refused
_Judged: TypeAlias = tuple[Source, Leaf] | Unknown | _Refused
_Place: TypeAlias = tuple[str, str]
"""A Secret, and the pool that may use it; no pool if the quorum may."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Looked:
    """What one round of requests is judged by. `known` are the authorities that servers trust, now and next.

    `ours` are all that the operator trusts, also of earlier revisions: it reaches each server with them together.
    `brokers` is the subject of all brokers, with which those of a pool replicate; None while it is not known.
    """

    desired: Desired
    before: Before
    known: tuple[Bundle, ...]
    pools: tuple[PoolSeen, ...]
    now: datetime
    ours: Bundle = field(default_factory=Bundle)
    brokers: str | None = None


async def read_bundle(kube: KubeApi, desired: Desired, now: datetime) -> tuple[Knowable[str], str]:
    """The bundle of the issuer's Secret in canonical PEM; and the sentence if it is not used."""
    name = desired.trust.issuer.trust_secret
    texts = await _texts(kube, desired, name, _TRUST_KEYS)
    if isinstance(texts, Unknown):
        return texts, ""
    if isinstance(texts, _Refused):
        return Unknown(reason=texts.words), texts.words
    text, place = texts.get("ca.crt", ""), Place(owner=f"Secret {name}", key="ca.crt")
    found = await judged(lambda: read_trust(text, place, now))
    if isinstance(found, Bundle):
        return Known(value=found.pem), ""
    return Unknown(reason=sentence(found)), sentence(found)


async def read_leafs(
    kube: KubeApi,
    desired: Desired,
    listed: tuple[Holder, ...],
    in_use: Before,
    known: tuple[Bundle, ...],
    pools: tuple[PoolSeen, ...],
    now: datetime,
    ours: Bundle,
) -> Given:
    """The leafs of the issuer's Secrets, judged. The bundle is read before, because it is part of `known`.

    `ours` are all authorities that the operator trusts.
    """
    looked = _Looked(desired=desired, before=in_use, known=known, pools=pools, now=now, ours=ours)
    if desired.trust.issuer.kind is IssuerKind.CERT_MANAGER:
        return await _requested(kube, looked, listed)
    served: dict[_Place, list[Holder]] = {}
    for holder in listed:
        if name := _secret(looked, holder):
            served.setdefault((name, holder.pool), []).append(holder)
    texts = await asyncio.gather(
        *(_texts(kube, desired, name, _LEAF_KEYS, same[0]) for (name, _), same in served.items())
    )
    answers = dict(zip(served, texts, strict=True))
    return _given(await judged(lambda: _of_all(served, answers, looked)))


def _subject_of(brokers: _Judged, in_use: Before) -> str | None:
    """The subject of all brokers: that in use, or the one that will be."""
    given = brokers[0].certificate.subject if isinstance(brokers, tuple) else None
    return in_use.subjects.get(BROKERS, given)


async def _requested(kube: KubeApi, looked: _Looked, listed: tuple[Holder, ...]) -> Given:
    """The same with cert-manager, which has a Secret for each holder."""
    asked = await asyncio.gather(*(filled(kube, looked.desired, holder, looked.pools) for holder in listed))
    rows = list(zip(listed, asked, strict=True))
    found, late = await judged(lambda: _of_requests(rows, looked))
    given = _given(found)
    return Given(
        sources=given.sources,
        refused=given.refused,
        operator=given.operator,
        pending=frozenset(holder for holder, one in rows if one.pending) | late,
        requests=tuple((holder, one.request) for holder, one in rows),
    )


def _of_all(
    served: Mapping[_Place, list[Holder]], answers: Mapping[_Place, _Texts], looked: _Looked
) -> dict[Holder, _Judged]:
    """What each holder gets. A Secret is judged once for all holders of a role, however many there are.

    Pools come after the brokers, with whose subject theirs is compared.
    """
    found: dict[Holder, _Judged] = {}
    for place, listed in served.items():
        for role in dict.fromkeys(holder.role for holder in listed):
            same = _of_role(listed, role)
            found |= dict.fromkeys(same, _judged(_comparable(answers[place], looked, place), looked, same, place[0]))
        if BROKERS in listed:
            looked = replace(looked, brokers=_subject_of(found[BROKERS], looked.before))
    return found


def _comparable(texts: _Texts, looked: _Looked, place: _Place) -> _Texts:
    """The texts; Unknown if they are a pool's, and the subject of all brokers is not known."""
    name, pool = place
    if not pool or looked.brokers is not None or not isinstance(texts, dict):
        return texts
    return Unknown(reason=f"Secret {name} is compared with that of all brokers, which cannot be used yet")


def _of_requests(rows: list[tuple[Holder, Asked]], looked: _Looked) -> tuple[dict[Holder, _Judged], frozenset[Holder]]:
    """What each holder gets of cert-manager; and the pools whose leaf it does not call issued, and that is not used."""
    found: dict[Holder, _Judged] = {}
    late: set[Holder] = set()
    for holder, asked in rows:
        answer = _judged(_filled(asked), looked, (holder,), holder.request(looked.desired.name))
        if holder.pool and isinstance(answer, _Refused) and asked.issuing is not None:  # it was asked for other names
            answer = asked.issuing
            late.add(holder)
        found[holder] = answer
    return found, frozenset(late)


def _filled(asked: Asked) -> _Texts:
    if asked.refused:
        return _Refused(asked.refused)
    return asked.texts if isinstance(asked.texts, Unknown) else asked.texts.value


def _given(found: Mapping[Holder, _Judged]) -> Given:
    own = found.get(OPERATOR)
    refused = dict.fromkeys(answer.words for answer in found.values() if isinstance(answer, _Refused))
    return Given(
        sources=tuple((holder, _known(answer)) for holder, answer in found.items()),
        refused=tuple(refused),
        operator=own[1] if isinstance(own, tuple) else None,
    )


def _secret(looked: _Looked, holder: Holder) -> str:
    """Which Secret has the leaf of this holder; empty if the spec of a pool names none, which the pool refuses."""
    issuer = looked.desired.trust.issuer
    if holder.pool:
        return next((one.secret for one in looked.pools if one.name == holder.pool), "")
    if holder == OPERATOR:
        return issuer.operator_secret
    return issuer.brokers_secret if holder == BROKERS else issuer.controllers_secret


def _of_role(listed: list[Holder], role: str) -> tuple[Holder, ...]:
    return tuple(holder for holder in listed if holder.role == role)


def _known(answer: _Judged) -> Knowable[Source]:
    if isinstance(answer, tuple):
        return Known(value=answer[0])
    return answer if isinstance(answer, Unknown) else Unknown(reason=answer.words)


async def _texts(kube: KubeApi, desired: Desired, name: str, keys: tuple[str, ...], holder: Holder = BROKERS) -> _Texts:
    """The texts of a Secret; Unknown if it could not be read."""
    try:
        return await read_secret(kube, desired.namespace, name, use_of(desired, holder), keys)
    except Malformed as error:
        return _Refused(str(error))
    except KubeError as error:
        return unread(name, error)


def _judged(texts: _Texts, looked: _Looked, listed: tuple[Holder, ...], name: str) -> _Judged:
    """The leaf in these texts for all of these holders, of one role; or the sentence why it is not used."""
    if not isinstance(texts, dict):
        return texts
    files = LeafFiles(owner=f"Secret {name}", tls_crt=texts.get("tls.crt", ""), tls_key=texts.get("tls.key", ""))
    leaf = read_leaf(files, _expected(looked, listed))
    if not isinstance(leaf, Leaf):
        return _Refused(sentence(leaf))
    try:
        _ = leaf.certificate.principal
    except NoPrincipal as error:
        return _Refused(f"tls.crt of Secret {name} has a subject that cannot be a user of Kafka ({error}): correct it")
    source = source_of(name, leaf, *looked.known)
    if not source.authority:
        trust = looked.desired.trust.issuer.trust_secret
        words = f"is of an authority that ca.crt of Secret {trust} does not have: put that authority there first"
        return _Refused(f"tls.crt of Secret {name} {words}")
    return _tried(source, leaf, looked, server=_serves(listed[0]))


def _tried(source: Source, leaf: Leaf, looked: _Looked, *, server: bool) -> _Judged:
    """What handshakes in memory say of a leaf whose authority is known."""
    name = source.secret

    @cache
    def refuses(trusted: Bundle) -> str:
        return why_refused(leaf, trusted, server=server, client=True)

    if words := _why_not_in_tls(leaf, looked.known, refuses):
        way = "issue it by authorities that allow it (path length, name constraints, usages, critical extensions)"
        return _Refused(f"tls.crt of Secret {name} is refused in a TLS handshake by OpenSSL ({words}): {way}")
    if server and (words := _why_not_by_us(looked, refuses)):
        what = f"is refused by OpenSSL ({words}) with all authorities together that the operator trusts"
        way = "issue it so that each authority of its issuer's name allows it, or give the new authority another key"
        return _Refused(f"tls.crt of Secret {name} {what}: {way}")
    return _accepted(source, leaf, looked.known, refuses), leaf


_Refuses: TypeAlias = Callable[[Bundle], str]
"""Why a peer that trusts this bundle refuses one leaf; empty if it does not."""


def _why_not_in_tls(leaf: Leaf, known: tuple[Bundle, ...], refuses: _Refuses) -> str:
    """Why nobody accepts the leaf in a handshake; empty if a known bundle makes it acceptable."""
    words = ""
    for trusted in dict.fromkeys(each for each in known if each.trusts(leaf.chain)):
        words = refuses(trusted)
        if not words:
            return ""
    return words


def _why_not_by_us(looked: _Looked, refuses: _Refuses) -> str:
    """Why the operator would not reach a server that shows the leaf; empty if it would.

    Of authorities with the issuer's name, and its key identifier if the leaf has one, OpenSSL takes the first that has
    not ended, and tries no other: in a bundle that is the one with the lowest digest. So a bundle may refuse what one
    of its authorities allows. Servers are written in Java, which tries all of them.
    """
    alive = bundle(each for each in looked.ours.authorities if each.not_after >= looked.now)
    return refuses(alive) if alive.authorities else ""


def _accepted(source: Source, leaf: Leaf, known: tuple[Bundle, ...], refuses: _Refuses) -> Source:
    """The same source with those authorities only that accept the leaf, each one alone.

    One that is renewed with the same key verifies the same signature, and may have other constraints. If only one
    verifies it, that is the one with which a known bundle has accepted the leaf.
    """
    if len(source.authorities) <= 1:
        return source
    every = {one.fingerprint: one for trusted in known for one in trusted.authorities}
    signed = dict.fromkeys(signers(leaf, *known))
    found = [each for each in signed if not refuses(bundle((every[each],)))]
    return replace(source, authority=found[0] if found else "", authorities=frozenset(found))


def _serves(holder: Holder) -> bool:
    """Whether this holder is a server: the operator, and the leaf of all brokers, are for clients only."""
    return holder.role == Role.CONTROLLERS.value or bool(holder.pool)


def _expected(looked: _Looked, listed: tuple[Holder, ...]) -> Expected:
    """What a leaf of these holders must be good for. The operator, and brokers without a pool, are clients only.

    Of cert-manager the operator asks for a subject: another one is not what was asked for. Brokers of pools have the
    subject of all brokers, which is a super user.
    """
    desired, role = looked.desired, listed[0].role
    controllers = role == Role.CONTROLLERS.value
    asked = desired.trust.issuer.kind is IssuerKind.CERT_MANAGER
    used = next((looked.before.subjects[one] for one in listed if one in looked.before.subjects), None)
    used = looked.brokers if listed[0].pool else used
    kept = (looked.before.names.get(one, frozenset()) for one in listed if controllers)
    return Expected(
        now=looked.now,
        server=_serves(listed[0]),
        client=True,
        names=tuple(name for one in listed for name in given_hosts(desired, one, looked.pools)),
        subject=subject(desired, role).principal if asked else used,
        earlier_names=frozenset().union(*kept),
    )
