"""A leaf: a certificate of a server or a client, its intermediate authorities, and its key; given ones are checked.

What a reader refuses, Kafka or Java refuses later, in a pod; tests/live/test_pki.py measures it. These checks are
stricter than Java's own: other blocks in a file, authorities as leafs, RSA below 2048 bits, SHA-1 signatures.
Java also compares neither key and certificate nor their ends when it loads a store: only handshakes show those faults.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import pairwise
from typing import Final

from kit.pki.certificate import NAMES_MAX, Certificate
from kit.pki.faults import Faults, MaterialFault, Place, Problem, fault, listed, shown
from kit.pki.keys import Key, read_key
from kit.pki.names import NoPrincipal
from kit.pki.reading import Limits, read_certificates, use_faults

CHAIN_MAX_CHARS: Final = 64 * 1024
CHAIN_MAX: Final = 10
"""Java's own bound of a chain (`jdk.tls.maxCertificateChainLength`)."""
_LIMITS: Final = Limits(
    chars=CHAIN_MAX_CHARS,
    certificates=CHAIN_MAX,
    key="leave only certificates there, and the key in its own file",
    many="leave the chain of one certificate there",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Leaf:
    """A chain, the certificate itself first, and the key of that one."""

    chain: tuple[Certificate, ...]
    key: Key = field(repr=False)

    @property
    def certificate(self) -> Certificate:
        """The certificate itself, without its authorities."""
        return self.chain[0]

    @property
    def chain_pem(self) -> str:
        """The chain, and nothing else: `tls.crt`."""
        return "".join(each.pem for each in self.chain)


@dataclass(frozen=True, slots=True, kw_only=True)
class LeafFiles:
    """Two keys of one Secret; `owner` is how a sentence names it: `Secret team/demo`."""

    owner: str
    tls_crt: str | bytes = field(repr=False)
    tls_key: str | bytes = field(repr=False)
    crt_key: str = "tls.crt"
    key_key: str = "tls.key"


@dataclass(frozen=True, slots=True, kw_only=True)
class Expected:
    """What a leaf must be good for. `now` None: its ends are not judged, as of what is already stored."""

    now: datetime | None
    server: bool = False
    client: bool = False
    names: tuple[str, ...] = ()
    """Host names and addresses (`IP:10.0.0.1`), each of which must be covered."""
    subject: str | None = None
    """As `principal` writes it: `super.users` has this text, so it is compared as text."""
    earlier_names: frozenset[str] = frozenset()
    """The names of the leaf before this one: Kafka loads no renewed leaf that lacks one."""


def read_leaf(files: LeafFiles, expected: Expected) -> Leaf | Faults:
    """The leaf of these files, or everything that is wrong with it."""
    crt, own = Place(owner=files.owner, key=files.crt_key), Place(owner=files.owner, key=files.key_key)
    chain, key = read_chain(files.tls_crt, crt), read_key(files.tls_key, own)
    faults = [key] if isinstance(key, MaterialFault) else []
    if isinstance(chain, Faults):
        return Faults((*chain.all, *faults))
    faults = [*faults, *_chain_faults(chain, expected.now, crt), *_leaf_faults(chain[0], expected, crt)]
    if not isinstance(key, MaterialFault) and key.public != chain[0].public_key:
        words = f"is not the key of the first certificate in {files.crt_key}: put both of one request there"
        faults.append(fault(Problem.OTHER_KEY, own, words))
    if faults or isinstance(key, MaterialFault):
        return Faults(tuple(faults))
    return Leaf(chain=chain, key=key)


def read_chain(content: str | bytes, place: Place) -> tuple[Certificate, ...] | Faults:
    """The certificates of this text, in its order, or its faults. None of them is judged."""
    return read_certificates(content, place, _LIMITS)


def _chain_faults(chain: Sequence[Certificate], now: datetime | None, place: Place) -> Iterator[MaterialFault]:
    for each in chain:
        yield from use_faults(each, now, place)
        if now is not None and len(each.names) > NAMES_MAX:
            words = f"has a certificate with {len(each.names)} names, of {shown(each.subject)}"
            most = f"a listener may serve {NAMES_MAX}: issue it with fewer"
            yield fault(Problem.TOO_MANY, place, f"{words}, and {most}")
        if each.weak_signature and each.subject != each.issuer:
            words = f"has a certificate that is signed with SHA-1 or MD5, of {shown(each.subject)}: issue it again"
            yield fault(Problem.WEAK_SIGNATURE, place, words)
    if any(each.costly_key for each in chain):
        return  # no link to it can be checked
    for below, above in pairwise(chain):
        if not above.authority or not below.issued_by(above):
            yield _link_fault(below, chain, place)
            return


def _link_fault(below: Certificate, chain: Sequence[Certificate], place: Place) -> MaterialFault:
    name = shown(below.subject)
    if any(below is not other and other.authority and below.issued_by(other) for other in chain):
        words = f"has its certificates in another order: the issuer of {name} must follow it directly"
        return fault(Problem.CHAIN_ORDER, place, words)
    words = f"is no chain: the certificate after that of {name} did not issue it; leave only its issuers, in order"
    return fault(Problem.CHAIN_BROKEN, place, words)


def _leaf_faults(leaf: Certificate, expected: Expected, place: Place) -> Iterator[MaterialFault]:
    if leaf.authority:
        words = "begins with the certificate of an authority: issue one that is not an authority (CA:FALSE)"
        yield fault(Problem.AUTHORITY, place, words)
    for wanted, allowed, purpose in (
        (expected.server, leaf.server, "servers (serverAuth)"),
        (expected.client, leaf.client, "clients (clientAuth)"),
    ):
        if wanted and not allowed:
            words = f"is not for {purpose}: issue it with this extended key usage, or with none"
            yield fault(Problem.PURPOSE, place, words)
    if not leaf.signs:
        words = "is not for TLS: its key usage must have digitalSignature, or there must be none"
        yield fault(Problem.PURPOSE, place, words)
    missing = tuple(name for name in expected.names if not leaf.covers(name))
    if missing:
        words = f"lacks subject alternative names, {listed(missing)}: issue it with them"
        yield fault(Problem.NAMES, place, words)
    gone = tuple(sorted(shown(name) for name in expected.earlier_names - leaf.names))
    if gone:
        words = f"lacks names that the certificate in use has, {listed(gone)}, so Kafka does not load it: keep them"
        yield fault(Problem.FEWER_NAMES, place, words)
    if expected.subject is not None:
        yield from _subject_faults(leaf, expected.subject, place)


def _subject_faults(leaf: Certificate, expected: str, place: Place) -> Iterator[MaterialFault]:
    try:
        subject = leaf.principal
    except NoPrincipal as error:
        words = f"has a subject that cannot be a user of Kafka ({error}): issue it for {expected}"
        yield fault(Problem.SUBJECT, place, words)
        return
    if subject != expected:
        words = f"has the subject {shown(subject)}, and users are compared as text: issue it for {expected}"
        yield fault(Problem.SUBJECT, place, words)
