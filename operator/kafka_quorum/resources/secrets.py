"""The Secrets with certificates, as objects, and what is read from them. Only the executor and the observer use it.

Each Secret is composed: it has exactly what its holder mounts or uses. Beside the leaf it has the leaf's generation,
and the end of the leaf before.
"""

import base64
import binascii
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from kafka_quorum.kind import POOLS
from kafka_quorum.model import pools
from kafka_quorum.model.desired import Desired
from kafka_quorum.model.handshakes import Certificate, chain_digest
from kafka_quorum.model.material import OPERATOR, AuthoritySeen, Holder, LeafSeen, OwnAuthorities, Role, Source
from kafka_quorum.model.names import (
    GENERATION_MAX,
    LABEL_QUORUM,
    LABEL_ROLE,
    USED_BY,
    keystore_file,
    keystore_generation,
    reader,
    trust_file,
)
from kafka_quorum.model.trust import IssuerKind
from kafka_quorum.resources.meta import Json, foreign_controller, labels, owner
from kafka_quorum.resources.objects import volume_owner
from kafka_quorum.resources.tls import KEYSTORE_KEY
from kit.kube.secrets import Use
from kit.parsing import Malformed, number, quoted
from kit.pki.authority import Authority, read_authority
from kit.pki.bundle import Bundle
from kit.pki.certificate import Certificate as Read
from kit.pki.faults import Faults
from kit.pki.leaf import Expected, Leaf, LeafFiles, read_leaf
from kit.pki.material import keystore

ISSUER_WHERE: Final = "spec.security.controllers.issuer"
AUTHORITY_ROLE: Final = "authority"
LEAF_ROLE: Final = "certificate"
_PRESENT: Final = ("ca.crt", "ca.key")
_FOLLOWING: Final = ("next.crt", "next.key")
_ASKED_FOR: Final = "asked-for"
_ASKED_BEFORE: Final = "asked-before"
_GENERATION: Final = "generation"
_BEFORE_ENDS: Final = "before-ends"
ISSUER_KEY: Final = "issuer"
"""In a Secret of a holder: the kind of another issuer that gave its leaf."""
_COMPOSED: Final = "composed"
_DNS: Final = "DNS:"
SASL_KEY: Final = "sasl.properties"
"""In the brokers' Secret: the lines with which a broker logs in."""
_LISTENERS: Final = "listeners"
_NUMBER_MAX: Final = 253_402_300_799
"""The last second of the year 9999: no certificate can end later."""
_NAMED: Final = "named"
"""In the brokers' Secret: the files that the contract named, separated by commas, the latest ones last."""
_KEPT: Final = 2
"""How many earlier generations of keystores the brokers' Secret has, beside those that a contract named."""
_KEPT_NAMED: Final = 3
"""How many files of each kind it keeps from earlier contracts: brokers that cannot be asked may still use them."""
_STORE: Final = "keystore-"
_TRUST: Final = "trust-"
_KINDS: Final = (_STORE, _TRUST)


@dataclass(frozen=True, slots=True, kw_only=True)
class Logins:
    """The lines with which brokers log in at these listeners. The other fields are as in `ComposeLeaf`."""

    listeners: tuple[str, ...] = ()
    lines: str = field(default="", repr=False)
    also: int = 0
    keeps: tuple[str, ...] = ()
    trusts: tuple[str, ...] = ()
    kept: bool = False
    """Without new lines: whether the Secret keeps its own."""


NO_LOGINS: Final = Logins()


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredAuthorities:
    """The Secret with the quorum's own authorities, read."""

    present: Authority
    following: Authority | None = None
    asked_for: str = ""
    asked_before: str = ""
    version: str = ""

    @property
    def seen(self) -> OwnAuthorities:
        """The same without keys."""
        following = None if self.following is None else _authority_seen(self.following.certificate)
        return OwnAuthorities(
            present=_authority_seen(self.present.certificate),
            following=following,
            asked_for=self.asked_for,
            asked_before=self.asked_before,
            version=self.version,
        )

    def signer(self, sha256: str) -> Authority | None:
        """The authority with this digest."""
        both = (self.present, *(() if self.following is None else (self.following,)))
        return next((each for each in both if each.certificate.fingerprint == sha256), None)


def authorities_from(item: Json, desired: Desired) -> StoredAuthorities:
    """The authorities in this Secret (`Malformed`)."""
    texts = texts_of(item, desired.name)
    present = _signer(texts, _PRESENT, item)
    following = _signer(texts, _FOLLOWING, item) if texts.get(_FOLLOWING[0]) else None
    return StoredAuthorities(
        present=present,
        following=following,
        asked_for=texts.get(_ASKED_FOR, ""),
        asked_before=texts.get(_ASKED_BEFORE, ""),
        version=str(item["metadata"]["resourceVersion"]),
    )


def authorities_object(desired: Desired, name: str, stored: StoredAuthorities) -> Json:
    """The Secret with these authorities. With a resource version it replaces exactly that one.

    It stays after the resource if the volumes do, because their controllers trust it.
    """
    present, following = stored.present, stored.following
    texts = {"ca.crt": present.certificate.pem, "ca.key": present.key.pem, _ASKED_FOR: stored.asked_for}
    if following is not None:
        texts |= {"next.crt": following.certificate.pem, "next.key": following.key.pem}
        texts[_ASKED_BEFORE] = stored.asked_before
    return secret_object(desired, name, AUTHORITY_ROLE, texts, stored.version, volume_owner(desired))


def leaf_from(item: Json, desired: Desired, holder: Holder, *trusted: Bundle) -> tuple[LeafSeen, Leaf]:
    """The leaf in a Secret of ours, and the same with its key (`Malformed`). Whether it has ended is not checked.

    `trusted` are the known authorities: the first of them that signed the leaf counts, if there is one.
    """
    texts = texts_of(item, desired.name)
    name = str(item["metadata"]["name"])
    files = _files(texts, holder, name)
    leaf = read_leaf(files, Expected(now=None))
    if not isinstance(leaf, Leaf):
        raise Malformed(sentence(leaf))
    between, anchors = anchored(leaf.chain, *trusted)
    seen = LeafSeen(
        certificate=certificate_seen(leaf.certificate),
        authority=signed_by(leaf, *trusted),
        chain_sha256=_chain_sha256(leaf),
        between=tuple(map(certificate_seen, between)),
        anchors=anchors,
        generation=_number(texts, _GENERATION, name, GENERATION_MAX),
        before_ends_s=_number(texts, _BEFORE_ENDS, name),
        files=frozenset(texts),
        sizes=tuple((key, len(text.encode())) for key, text in sorted(texts.items())),
        logs_in_at=frozenset(filter(None, texts.get(_LISTENERS, "").split(","))),
        version=str(item["metadata"]["resourceVersion"]),
        issuer=_issuer(texts),
        composed_s=_number(texts, _COMPOSED, name) if _COMPOSED in texts else 0,
    )
    return seen, leaf


def leaf_object(
    desired: Desired,
    holder: Holder,
    leaf: Leaf,
    trust: str,
    generation: int,
    before: Json | None,
    before_ends_s: int,
    logins: Logins = NO_LOGINS,
) -> Json:
    """The Secret of a holder. It replaces exactly this version of `before`."""
    numbers = {_GENERATION: str(generation), _BEFORE_ENDS: str(before_ends_s)}
    if not desired.trust.issuer.own:
        numbers[ISSUER_KEY] = desired.trust.issuer.kind.value
    pair = {"tls.crt": leaf.chain_pem, "tls.key": leaf.key.pem}
    if holder == OPERATOR:
        texts = pair
    elif holder.role == Role.BROKERS.value:
        earlier = {} if before is None else texts_of(before, desired.name)
        named = tuple(dict.fromkeys(each for each in (*logins.keeps, trust_file(trust)) if each.startswith(_KINDS)))
        texts = _kept(earlier, named) | {trust_file(each): each for each in logins.trusts if each}
        texts |= pair | {"ca.crt": trust, trust_file(trust): trust}
        for each in {generation, logins.also} - {0}:
            texts[keystore_file(each)] = keystore(leaf)
        texts[_NAMED] = ",".join(each for each in _in_order(earlier, named) if each in texts)
        if logins.lines:
            texts |= {SASL_KEY: logins.lines, _LISTENERS: ",".join(logins.listeners)}
        elif logins.kept:
            texts |= {key: earlier[key] for key in (SASL_KEY, _LISTENERS) if key in earlier}
    else:
        texts = {KEYSTORE_KEY: keystore(leaf)}
    version = "" if before is None else str(before["metadata"]["resourceVersion"])
    owners = pool_owner(holder) if holder.pool else owner(desired)
    return secret_object(desired, holder.secret(desired.name), LEAF_ROLE, texts | numbers, version, owners)


def use_of(desired: Desired, holder: Holder) -> Use:
    """What a Secret of another issuer is used for: a pool's spec names that of the pool, the quorum's spec the others.

    Secrets that cert-manager fills list the quorum.
    """
    if holder.pool and desired.trust.issuer.kind is IssuerKind.SECRET:
        where = f"spec.certificateSecretName of {POOLS.kind} {holder.pool}"
        return Use(reader=pools.reader(holder.pool), where=where, annotation=USED_BY)
    return Use(reader=reader(desired.name), where=ISSUER_WHERE, annotation=USED_BY)


def pool_owner(holder: Holder) -> list[Json]:
    """The pool as owner: its Secret is deleted with it. Not as controller, because the quorum writes the Secret.

    The same holds for the Certificate that asks cert-manager.
    """
    reference = {"apiVersion": POOLS.api_version, "kind": POOLS.kind, "name": holder.pool, "uid": holder.uid}
    return [reference | {"controller": False, "blockOwnerDeletion": False}]


def composed(body: Json, at_s: int) -> Json:
    """The Secret of a holder with the time when it was composed: a leaf of another issuer may be much older."""
    return {**body, "data": {**body["data"], _COMPOSED: base64.b64encode(str(at_s).encode()).decode()}}


def _kept(earlier: Mapping[str, str], named: tuple[str, ...]) -> dict[str, str]:
    """Files that brokers may still load: those that are or were named, and the newest generations."""
    stores = sorted((key for key in earlier if key.startswith(_STORE)), key=keystore_generation)
    found = (*stores[-_KEPT:], *_in_order(earlier, named))
    return {key: earlier[key] for key in found if key in earlier}


def _in_order(earlier: Mapping[str, str], named: tuple[str, ...]) -> tuple[str, ...]:
    """The files that are named now, after the last ones of each kind that were named before.

    The keys of a Secret are sorted by name, so their order does not show their age. A Secret of an earlier version of
    the operator has at most three files with authorities: each of them may be in use.
    """
    order = earlier[_NAMED].split(",") if _NAMED in earlier else sorted(earlier)
    before = [each for each in order if each in earlier and each not in named]
    kinds = ([each for each in before if each.startswith(kind)] for kind in _KINDS)
    return (*(each for kind in kinds for each in kind[-_KEPT_NAMED:]), *named)


def certificate_seen(found: Read) -> Certificate:
    """A certificate as a value of the look."""
    return Certificate(
        sha256=found.fingerprint,
        serial=found.serial,
        subject=found.subject,
        issuer=found.issuer,
        not_before_s=int(found.not_before.timestamp()),
        not_after_s=int(found.not_after.timestamp()),
        dns_names=tuple(sorted(name.removeprefix(_DNS) for name in found.names if name.startswith(_DNS))),
        other_names=tuple(sorted(name for name in found.names if not name.startswith(_DNS))),
    )


def signers(leaf: Leaf, *trusted: Bundle) -> Iterator[str]:
    """The digests of the authorities that signed this chain, in the order of the bundles."""
    for known in trusted:
        for each in leaf.chain:
            for authority in known.authorities:
                if each.issued_by(authority) or each.fingerprint == authority.fingerprint:
                    yield authority.fingerprint


def signed_by(leaf: Leaf, *trusted: Bundle) -> str:
    """The digest of the first known authority that signed this chain; empty if none of them did."""
    return next(signers(leaf, *trusted), "")


def anchored(chain: tuple[Read, ...], *trusted: Bundle) -> tuple[tuple[Read, ...], frozenset[str]]:
    """The intermediate authorities of a chain that are needed, and the digests of the trusted ones that follow them.

    The first bundle that signed the chain counts. OpenSSL and Java prefer trusted authorities to those that are sent,
    so the end of what a chain has above a trusted one, such as a root, does not matter.
    """
    for known in trusted:
        for place, each in enumerate(chain):
            found = frozenset(one.fingerprint for one in known.authorities if each.issued_by(one))
            if found:
                return chain[1 : place + 1], found
    return tuple(each for each in chain[1:] if each.subject != each.issuer), frozenset()


def _chain_sha256(leaf: Leaf) -> str:
    return chain_digest([each.fingerprint for each in leaf.chain]) if len(leaf.chain) > 1 else ""


def source_of(secret: str, leaf: Leaf, *trusted: Bundle) -> Source:
    """A leaf of another issuer, without its key."""
    found = tuple(signers(leaf, *trusted))
    return Source(
        secret=secret,
        certificate=certificate_seen(leaf.certificate),
        authority=found[0] if found else "",
        authorities=frozenset(found),
        chain_sha256=_chain_sha256(leaf),
    )


def sentence(faults: Faults) -> str:
    """The message of the first fault."""
    return faults.all[0].message


def texts_of(item: Json, quorum: str) -> dict[str, str]:
    """The texts of a Secret of ours (`Malformed` if it is not this quorum's, or a value is no text)."""
    metadata = item["metadata"]
    name = metadata["name"]
    present = metadata.get("labels") or {}
    if present.get(LABEL_QUORUM) != quorum or foreign_controller(item) is not None:
        raise Malformed(
            f"Secret {name} exists, and is not this quorum's: delete it, or use another name for the quorum"
        )
    data = item.get("data") or {}
    try:
        return {str(key): base64.b64decode(value).decode() for key, value in data.items()}
    except (binascii.Error, UnicodeDecodeError, AttributeError, TypeError, ValueError):
        raise Malformed(f"Secret {name} has a value that is no text: delete it, and it is made again") from None


def _authority_seen(found: Read) -> AuthoritySeen:
    return AuthoritySeen(
        pem=found.pem,
        sha256=found.fingerprint,
        not_before_s=int(found.not_before.timestamp()),
        not_after_s=int(found.not_after.timestamp()),
    )


def _signer(texts: Mapping[str, str], keys: tuple[str, str], item: Json) -> Authority:
    crt, key = (texts.get(each, "") for each in keys)
    found = read_authority(crt, key, f"Secret {item['metadata']['name']}", None)
    if isinstance(found, Authority):
        return found
    raise Malformed(sentence(found))


def _files(texts: Mapping[str, str], holder: Holder, name: str) -> LeafFiles:
    """Where the leaf is: in one file with its key, or in two."""
    if holder.role != Role.CONTROLLERS.value:
        return LeafFiles(owner=f"Secret {name}", tls_crt=texts.get("tls.crt", ""), tls_key=texts.get("tls.key", ""))
    text = texts.get(KEYSTORE_KEY, "")
    begin = text.find("-----BEGIN CERTIFICATE-----")
    key, crt = (text, "") if begin < 0 else (text[:begin], text[begin:])
    return LeafFiles(owner=f"Secret {name}", tls_crt=crt, tls_key=key, crt_key=KEYSTORE_KEY, key_key=KEYSTORE_KEY)


def _issuer(texts: Mapping[str, str]) -> IssuerKind:
    """Who issued the leaf: the key is missing if the operator's own authority did."""
    text = texts.get(ISSUER_KEY, IssuerKind.SELF_SIGNED.value)
    found = next((kind for kind in IssuerKind if kind.value == text), None)
    if found is None:
        raise Malformed(f"its key {ISSUER_KEY} is {quoted(text)}, which this version of the operator does not have")
    return found


def _number(texts: Mapping[str, str], key: str, name: str, high: int = _NUMBER_MAX) -> int:
    text = texts.get(key, "")
    try:
        return number(text, high=high)
    except Malformed:
        said = f"key {key} of Secret {name} is {quoted(text)}, and no whole number up to {high}"
        raise Malformed(f"{said}: delete the Secret, and it is made again") from None


def secret_object(
    desired: Desired, name: str, role: str, texts: Mapping[str, str], version: str, owners: list[Json]
) -> Json:
    """A Secret of this quorum. With a resource version it replaces exactly that one."""
    metadata: Json = {
        "name": name,
        "namespace": desired.namespace,
        "labels": labels(desired.name, **{LABEL_ROLE: role}),
        "ownerReferences": owners,
    }
    if version:
        metadata["resourceVersion"] = version
    data = {key: base64.b64encode(text.encode()).decode() for key, text in sorted(texts.items())}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "type": "Opaque", "data": data}
