"""CertificatesValid: until when the certificates in the Secrets and on the listeners are valid.

Only quorums with TLS have this. A certificate that the operator renews is no reason for a warning before it has ended.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Final

from kafka_quorum.model.bundles import bundle_of, has_authority
from kafka_quorum.model.certified import client_ends, holders, needs_certificates
from kafka_quorum.model.generations import LATE, is_due
from kafka_quorum.model.handshakes import Failure, NotServed, Served
from kafka_quorum.model.held import held_among
from kafka_quorum.model.identity import IdentityRecord
from kafka_quorum.model.known import Unknown
from kafka_quorum.model.material import BROKERS, AuthoritySeen, Holder, LeafSeen, Material, OwnAuthorities, controller
from kafka_quorum.model.names import HOLD, keystore_generation
from kafka_quorum.status.finding import Pass
from kit.conditions.finding import Finding, Truth
from kit.kube.protocol import Json
from kit.pki.certificate import Certificate
from kit.stamps import second_of
from kit.text import NAME_MAX_CHARS, clean

TYPE: Final = "CertificatesValid"
_AUTHORITY: Final = "the authority"
SOON_S: Final = 30 * 24 * 3600
"""How long before its end a certificate that is not renewed is reported."""
_KEYSTORE: Final = ".ssl.keystore.location"
_UNSIGNED: Final = 0.5
"""The share of the time for a renewal that is left when a missing signer is reported: one look may have failed."""


def certificates_valid(done: Pass) -> Finding | None:
    """Whether every certificate is valid now, and is renewed in time; None for a quorum that needs none."""
    record, material = done.observed.record, done.observed.material
    if record is None or not needs_certificates(done.desired, record):
        return None
    if material is None:
        return _finding(Truth.UNKNOWN, "NotRead", "the Secrets with certificates were not read")
    soon = _soon(done, record, material)
    if (worse := _ended(done, record, material) or _refused(material)) is not None:
        return worse if soon is None else replace(worse, message=f"{worse.message}; {soon.message}")
    return soon or _unread(record, material) or _valid(done, record, material)


def certificates(done: Pass, old: Json) -> Json:
    """`certificates` of the status: what ends first and when, and the end of the authority.

    It stays as it was while a Secret could not be read; a quorum without TLS has none.
    """
    record, material = done.observed.record, done.observed.material
    if record is None or not needs_certificates(done.desired, record):
        return {}
    if material is None or _unread(record, material) is not None:
        return {"certificates": old["certificates"]} if "certificates" in old else {}
    ends = tuple(_all_ends(done, record, material))
    end_s, what = min((end_s, what) for what, end_s in ends)
    shown: Json = {"validUntil": second_of(end_s), "endsFirst": what}
    authority = None if _changing(record) else authority_end(done, record, tuple(material.known_leafs()))
    if authority is not None:
        shown["authorityValidUntil"] = second_of(_end(authority[1]).timestamp())
    return {"certificates": shown}


def _ended(done: Pass, record: IdentityRecord, material: Material) -> Finding | None:
    """What has ended, as a Secret, a running process or a listener shows."""
    over = _ends(done, record, material, done.now_s)
    ended = [f"the certificate of {what} ended {second_of(end_s)}" for what, end_s in over]
    ended += [
        f"listener {shown.listener} of controller {shown.node_id}: {shown.handshake.why}"
        for shown in material.shown
        if isinstance(shown.handshake, NotServed) and shown.handshake.failure is Failure.EXPIRED
    ]
    return _finding(Truth.FALSE, "Ended", "; ".join(ended)) if ended else None


def _refused(material: Material) -> Finding | None:
    """What another issuer gave and the operator does not use. What is in use stays in use."""
    return _finding(Truth.FALSE, "Refused", "; ".join(material.refused)) if material.refused else None


def _unread(record: IdentityRecord, material: Material) -> Finding | None:
    """A Secret that could not be read, or is not made yet."""
    for holder in holders(record):
        seen = material.leaf(holder)
        if isinstance(seen, Unknown):
            why = seen.reason or "it was not read"
            return _finding(Truth.UNKNOWN, "NotRead", f"the certificate of {holder}: {why}")
        if seen.value is None:
            return _finding(Truth.UNKNOWN, "NotMade", f"{holder} has no certificate yet")
    return None


def _soon(done: Pass, record: IdentityRecord, material: Material) -> Finding | None:
    """What is known to end, has not ended yet, and is not replaced in time.

    Neither a Secret that could not be read hides it, nor a report about another certificate, such as a pool's.
    """
    soon = [each for each in _ends(done, record, material, done.now_s + SOON_S) if each[1] > done.now_s]
    if soon and (why := _why_not_in_time(done, record, material)):
        return _ends_soon(soon, why)
    held = {f"controller {node_id} as a client" for node_id in held_among(done.desired, record.node_ids)}
    if kept := [each for each in soon if each[0] in held]:
        why = f"it is not restarted for a later one, because a person holds it. Remove it from annotation {HOLD}"
        return _ends_soon(kept, why)
    if isinstance(material.own, Unknown) and (due := list(_due(done, record, material, _UNSIGNED))):
        return _ends_soon(
            due, f"the operator signs no other one: {material.own.reason or 'its authority was not read'}"
        )
    if late := list(_due(done, record, material, LATE)):
        return _ends_soon(late, "it should have been replaced by now: the other conditions say what that waits for")
    return None


def _valid(done: Pass, record: IdentityRecord, material: Material) -> Finding:
    """Until when every certificate is valid, if every listener has shown one."""
    unknown = [str(node_id) for node_id, end_s in client_ends(done.observed, record) if not end_s]
    if unknown:
        shows = f"controller {unknown[0]} shows as a client until it restarts"
        text = f"it is not known when the certificate ends that {shows}, because its Secret was lost"
        return _finding(Truth.UNKNOWN, "EndUnknown", text)
    silent = _silent(done, material)
    if silent:
        return _finding(Truth.UNKNOWN, "NoHandshake", f"{silent} has not shown its certificate to the operator yet")
    until_s = min(end_s for _, end_s in _all_ends(done, record, material))
    return _finding(Truth.TRUE, "Valid", f"every certificate is valid until {second_of(until_s)} at least")


def _ends_soon(ends: Sequence[tuple[str, float]], why: str) -> Finding:
    what, end_s = min(ends, key=lambda each: each[1])
    return _finding(Truth.FALSE, "EndsSoon", f"the certificate of {what} ends {second_of(end_s)}, and {why}")


def _why_not_in_time(done: Pass, record: IdentityRecord, material: Material) -> str:
    """Why what ends is not replaced in time, as a clause; empty if it is."""
    if done.desired.paused or not done.desired.trust.issuer.own:
        return "the operator does not renew it"
    if done.faults and not (done.situation is not None and done.situation.renews_only):
        said = "no controller restarts while the spec is not valid and asks for other changes, too"
        return f"{said}. Correct the spec"
    own = None if isinstance(material.own, Unknown) else material.own.value
    if done.faults and own is not None and _is_authority_due(done, record, own):
        return "no authority is replaced while the spec is not valid. Correct the spec"
    return ""


def _is_authority_due(done: Pass, record: IdentityRecord, own: OwnAuthorities) -> bool:
    """Whether servers must trust another authority than they do, or will have to soon."""
    present, applied = own.present, done.observed.revision(record.applied_revision)
    if present is None or own.following is not None or applied is None:
        return True
    return _authority_is_due(done, present, 1) or not has_authority(applied.runtime.trust, present.sha256)


def _authority_is_due(done: Pass, present: AuthoritySeen, part: float) -> bool:
    """Whether an authority has only this part of the time for its change left."""
    return done.now_s >= done.desired.trust.renewal_s(present.not_after_s, present.life_s, part)


def _due(done: Pass, record: IdentityRecord, material: Material, part: float) -> Iterator[tuple[str, float]]:
    """What the operator itself renews and has not ended, if only this part of the time for the renewal is left."""
    return (each for each in _all_due(done, record, material, part) if each[1] > done.now_s)


def _all_due(done: Pass, record: IdentityRecord, material: Material, part: float) -> Iterator[tuple[str, float]]:
    if done.desired.paused or not done.desired.trust.issuer.own:
        return
    leafs = dict(material.known_leafs())
    for holder, leaf in leafs.items():
        if is_due(done.desired, leaf, leaf.certificate.not_after_s, done.now_s, part):
            yield str(holder), leaf.certificate.not_after_s
    for node_id, end_s in client_ends(done.observed, record):
        if end_s and is_due(done.desired, leafs[controller(node_id)], end_s, done.now_s, part):
            yield f"controller {node_id} as a client", end_s
    own = None if isinstance(material.own, Unknown) else material.own.value.present
    if own is not None and _authority_is_due(done, own, part):
        yield _AUTHORITY, own.not_after_s


def _silent(done: Pass, material: Material) -> str:
    """The first listener of a running controller that no handshake has shown."""
    served = {
        (shown.node_id, shown.listener, shown.instance)
        for shown in material.shown
        if isinstance(shown.handshake, Served)
    }
    for pod in done.observed.pods:
        made = done.observed.revision(pod.revision)
        for listener in () if made is None or not pod.serves else made.runtime.listeners:
            if listener.protocol.encrypted and (pod.node_id, listener.name, pod.instance) not in served:
                return f"listener {listener.name} of controller {pod.node_id}"
    return ""


def _ends(done: Pass, record: IdentityRecord, material: Material, by_s: float) -> Iterator[tuple[str, float]]:
    """What ends by this time."""
    return ((what, end_s) for what, end_s in _all_ends(done, record, material) if end_s <= by_s)


def _all_ends(done: Pass, record: IdentityRecord, material: Material) -> Iterator[tuple[str, float]]:
    """The ends of leafs in Secrets, of those that running controllers show as clients, and of their authorities."""
    leafs = tuple(material.known_leafs())
    for holder, leaf in leafs:
        yield str(holder), leaf.certificate.not_after_s
    for each in {one.sha256: one for _, leaf in leafs for one in leaf.between}.values():
        yield f"the intermediate authority {clean(each.subject, max_chars=NAME_MAX_CHARS)}", each.not_after_s
    for node_id, end_s in client_ends(done.observed, record):
        if end_s:
            yield f"controller {node_id} as a client", end_s
    yield from broker_ends(done, material)
    if (authority := authority_end(done, record, leafs)) is not None:
        yield authority[0], _end(authority[1]).timestamp()


def broker_ends(done: Pass, material: Material) -> Iterator[tuple[str, float]]:
    """The ends of earlier certificates that brokers report to use, as far as they are known.

    The contract has the ends of all brokers' certificates. With another issuer a pool may have one of its own.
    """
    stored, brokers, leaf = done.observed.contract, done.observed.brokers, material.leaf(BROKERS)
    if isinstance(stored, Unknown) or stored.value is None or isinstance(brokers, Unknown) or isinstance(leaf, Unknown):
        return
    if leaf.value is None or (material.known_pools and not done.desired.trust.issuer.own):
        return
    for broker in brokers.value:
        settings = {} if isinstance(broker.settings, Unknown) else broker.settings.value
        files = [value.rpartition("/")[2] for key, value in settings.items() if value and key.endswith(_KEYSTORE)]
        used = [number for number in map(keystore_generation, files) if 0 < number < leaf.value.generation]
        ends = [end_s for number in used if (end_s := stored.value.contract.end_s_of(number)) is not None]
        if ends:
            yield f"broker {broker.node_id}", min(ends)


def authority_end(
    done: Pass, record: IdentityRecord, leafs: Sequence[tuple[Holder, LeafSeen]]
) -> tuple[str, Certificate] | None:
    """The authority that ends first of those that servers trust and a leaf needs; the last one if no leaf is known.

    One that no leaf needs is not reported; nor is that last one during a change of authorities. If several have signed
    the same leaf, as before and after a renewal with the same key, the last one counts.
    """
    applied = done.observed.revision(record.applied_revision)
    trusted = () if applied is None else bundle_of(applied.runtime.trust).authorities
    signed = ([each for each in trusted if each.fingerprint in _anchors(leaf)] for _, leaf in leafs)
    needed = [max(each, key=_end) for each in signed if each]
    changing = _changing(record)
    if not needed:
        return (_AUTHORITY, max(trusted, key=_end)) if trusted and not changing else None
    first = min(needed, key=_end)
    name = clean(first.subject, max_chars=NAME_MAX_CHARS)
    return f"{_AUTHORITY} {name}" if changing or len(trusted) > 1 else _AUTHORITY, first


def _anchors(leaf: LeafSeen) -> frozenset[str]:
    return leaf.anchors or frozenset({leaf.authority})


def _changing(record: IdentityRecord) -> bool:
    return record.migration is not None and record.migration.trust is not None


def _end(authority: Certificate) -> datetime:
    return authority.not_after


def _finding(truth: Truth, reason: str, message: str) -> Finding:
    return Finding(type=TYPE, truth=truth, reason=reason, message=message)
