"""A quorum with SSL as values: its authority, its leafs, and a look at it."""

from dataclasses import replace
from datetime import UTC, datetime
from functools import cache
from typing import Any, Final

from tests.model.values import NAME, NAMESPACE, NOW_S, at_rest, desired, pod, revision, running, runtime, situation

from kafka_quorum.model.certified import dns_names, holders
from kafka_quorum.model.desired import ControllerListener, Desired, Protocol, Runtime
from kafka_quorum.model.handshakes import Handshake, Served
from kafka_quorum.model.identity import IdentityRecord
from kafka_quorum.model.ids import NodeID
from kafka_quorum.model.known import Knowable, Known, Unknown
from kafka_quorum.model.material import (
    BROKERS,
    OPERATOR,
    AuthoritySeen,
    Holder,
    LeafSeen,
    Material,
    OwnAuthorities,
    Role,
    Shown,
    Source,
    controller,
)
from kafka_quorum.model.names import trust_file
from kafka_quorum.model.observed import Observed
from kafka_quorum.model.situation import Situation
from kafka_quorum.model.trust import Issuer, IssuerKind, IssuerRef, TrustPolicy
from kafka_quorum.resources.secrets import certificate_seen
from kit.pki.authority import Authority, Request, issue, make_authority
from kit.pki.leaf import Leaf
from kit.pki.names import DistinguishedName

LISTENER: Final = ControllerListener(name="CONTROLLER", port=9093, protocol=Protocol.SSL)
LEAF_S: Final = 3600
AUTHORITY_S: Final = 100 * LEAF_S


def authority(number: int = 1, at_s: float = NOW_S) -> Authority:
    """The first, second, … authority: always the same one."""
    return _authority(number, at_s)


@cache
def _authority(number: int, at_s: float) -> Authority:
    subject = DistinguishedName(cn=f"authority-{number}", ou=NAME, o=NAMESPACE)
    return make_authority(subject, datetime.fromtimestamp(at_s, UTC), AUTHORITY_S)


def leaf(holder: Holder, of: int = 1, at_s: float = NOW_S) -> Leaf:
    """A leaf of this holder, signed by the first, second, … authority: always the same one."""
    return _leaf(holder, of, at_s)


@cache
def _leaf(holder: Holder, of: int, at_s: float) -> Leaf:
    request = Request(
        subject=DistinguishedName(cn=holder.role, ou=NAME, o=NAMESPACE),
        names=dns_names(desired(), holder),
        life_s=LEAF_S,
        server=True,
        client=True,
    )
    return issue(authority(of), request, datetime.fromtimestamp(at_s, UTC))


def authority_seen(number: int = 1) -> AuthoritySeen:
    """An authority as a look has it."""
    found = authority(number).certificate
    return AuthoritySeen(
        pem=found.pem,
        sha256=found.fingerprint,
        not_before_s=int(found.not_before.timestamp()),
        not_after_s=int(found.not_after.timestamp()),
    )


def leaf_seen(holder: Holder, of: int = 1, at_s: float = NOW_S, **changes: Any) -> LeafSeen:  # noqa: ANN401 - any field
    """A leaf as a look has it: of the first generation."""
    plain = LeafSeen(
        certificate=certificate_seen(leaf(holder, of, at_s).certificate),
        authority=authority(of).certificate.fingerprint,
        generation=1,
        before_ends_s=0,
        files=frozenset({"tls.crt", "tls.key"}),
        version="40",
    )
    return replace(plain, **changes)


def secured(**changes: Any) -> Runtime:  # noqa: ANN401 - whatever the field holds
    """A runtime with SSL, the first authority and the first generation."""
    return runtime(**({"listener": LISTENER, "trust": authority_seen().pem, "certificates": 1} | changes))


def wanted(**changes: Any) -> Desired:  # noqa: ANN401 - whatever the field holds
    """A spec with SSL, and certificates of an hour."""
    plain = desired(runtime=runtime(listener=LISTENER), trust=TrustPolicy(leaf_s=LEAF_S, authority_s=AUTHORITY_S))
    return replace(plain, **changes)


_GIVEN: Final[dict[str, Any]] = {
    f"{one}_secret": f"given-{one}" for one in ("controllers", "operator", "brokers", "trust")
}
ISSUER: Final = Issuer(kind=IssuerKind.SECRET, **_GIVEN)


def of_others(**changes: Any) -> Desired:  # noqa: ANN401 - whatever the field holds
    """A spec with SSL, and certificates in the Secrets of another issuer."""
    return wanted(**({"trust": replace(wanted().trust, issuer=ISSUER)} | changes))


def of_cert_manager(**changes: Any) -> Desired:  # noqa: ANN401 - whatever the field holds
    """A spec with SSL, and an issuer of cert-manager."""
    ref = IssuerRef(name="an-issuer")
    issuer = Issuer(kind=IssuerKind.CERT_MANAGER, ref=ref, trust_secret=ISSUER.trust_secret)
    return wanted(**({"trust": replace(wanted().trust, issuer=issuer)} | changes))


def given_name(holder: Holder) -> str:
    """The Secret of the issuer for this holder."""
    if holder == OPERATOR:
        return ISSUER.operator_secret
    return ISSUER.brokers_secret if holder == BROKERS else ISSUER.controllers_secret


def given_leaf(holder: Holder, of: int = 1, at_s: float = NOW_S) -> Leaf:
    """A leaf of another issuer: one for all controllers, and always the same one."""
    return _given_leaf(holder.role, of, at_s)


@cache
def _given_leaf(role: str, of: int, at_s: float) -> Leaf:
    listed = [one for one in holders(running()) if one.role == role]
    request = Request(
        subject=DistinguishedName(cn=role, ou=NAME, o=NAMESPACE),
        names=tuple(name for one in listed for name in dns_names(of_others(), one)),
        life_s=LEAF_S,
        server=role == Role.CONTROLLERS.value,
        client=True,
    )
    return issue(authority(of), request, datetime.fromtimestamp(at_s, UTC))


def copied(holder: Holder, of: int = 1, at_s: float = NOW_S, **changes: Any) -> LeafSeen:  # noqa: ANN401 - any field
    """A leaf of another issuer in the Secret of its holder, as a look has it: it was copied long ago."""
    certificate = certificate_seen(given_leaf(holder, of, at_s).certificate)
    fields = {"certificate": certificate, "issuer": IssuerKind.SECRET, "files": everything()}
    fields |= {"composed_s": int(at_s) - LEAF_S} | changes
    return leaf_seen(holder, of, at_s, **fields)


def source(holder: Holder, of: int = 1, at_s: float = NOW_S, **changes: Any) -> Source:  # noqa: ANN401 - any field
    """What the issuer's Secret for this holder has, after its checks."""
    signer = authority_seen(of).sha256
    plain = Source(
        secret=given_name(holder),
        certificate=certificate_seen(given_leaf(holder, of, at_s).certificate),
        authority=signer,
        authorities=frozenset({signer}),
    )
    return replace(plain, **changes)


def given_material(record: IdentityRecord, **changes: Any) -> Material:  # noqa: ANN401 - whatever the field holds
    """Every leaf is the one that another issuer gave."""
    plain = Material(
        own=Unknown(reason=""),
        leafs=tuple((holder, Known(value=copied(holder))) for holder in holders(record)),
        given_trust=Known(value=authority_seen().pem),
        sources=tuple((holder, Known(value=source(holder))) for holder in holders(record)),
    )
    return replace(plain, **changes)


def with_source(of: Material, holder: Holder, seen: Knowable[Source]) -> Material:
    """The same with another source of one holder."""
    return replace(of, sources=tuple((one, seen if one == holder else each) for one, each in of.sources))


def recorded(made: Runtime | None = None) -> IdentityRecord:
    """A running quorum whose revision is that of this runtime."""
    return replace(running(), listener=LISTENER, applied_revision=revision(made or secured()).name)


def material(record: IdentityRecord, **changes: Any) -> Material:  # noqa: ANN401 - whatever the field holds
    """Everything is made, and of the first generation; the brokers' Secret is not judged."""
    plain = Material(
        own=Known(value=OwnAuthorities(present=authority_seen(), version="41")),
        leafs=tuple((holder, Known(value=leaf_seen(holder, files=everything()))) for holder in holders(record)),
    )
    return replace(plain, **changes)


def everything() -> frozenset[str]:
    """The keys of the brokers' Secret, for the first authority."""
    return frozenset({"tls.crt", "tls.key", "ca.crt", trust_file(authority_seen().pem)})


def with_leaf(of: Material, holder: Holder, seen: LeafSeen | None) -> Material:
    """The same with another leaf of one holder."""
    rows = ((one, Known(value=seen) if one == holder else each) for one, each in of.leafs)
    return replace(of, leafs=tuple(rows))


def served(node_id: int, at_s: float = NOW_S, **changes: Any) -> Shown:  # noqa: ANN401 - whatever the field holds
    """What the listener of a controller showed: its leaf of this time."""
    chain = (certificate_seen(leaf(controller(NodeID(node_id)), 1, at_s).certificate),)
    handshake: Handshake = Served(chain=chain, accepted=True)
    record = recorded()
    node = record.node(NodeID(node_id))
    assert node is not None
    plain = Shown(
        node_id=NodeID(node_id),
        listener=LISTENER.name,
        handshake=handshake,
        at_s=50.0,
        instance=pod(record, node).instance,
    )
    return replace(plain, **changes)


def looked(record: IdentityRecord, seen: Material | None, *revisions: Runtime) -> Observed:
    """A quorum at rest that was made from the first of these runtimes, with these certificates."""
    made = tuple(revision(each, number) for number, each in enumerate(revisions or (secured(),), start=1))
    return at_rest(record, revisions=made, material=seen)


def judged(seen: Material | None = None, *, now_s: float = NOW_S, spec: Desired | None = None) -> Situation:
    """A situation of a running quorum with SSL."""
    record = recorded()
    look = looked(record, material(record) if seen is None else seen)
    return situation(spec or wanted(), look, record, now_s=now_s)
