"""The certificates of a text, within bounds, before any of them is judged; and the checks that all kinds share."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from kit.pki.certificate import LABEL, BadCertificate, Certificate, read_certificate
from kit.pki.faults import Faults, MaterialFault, Place, Problem, fault, shown
from kit.pki.pem import Block, NotPem, blocks
from kit.stamps import second


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How much of a text is read, and what a sentence says of a key or too many certificates in it."""

    chars: int
    certificates: int
    key: str
    many: str


def read_certificates(content: str | bytes, place: Place, limits: Limits) -> tuple[Certificate, ...] | Faults:
    """All certificates, in the order of the text; or its faults, at least one."""
    if len(content) > limits.chars:
        words = f"has {len(content)} characters, at most {limits.chars} are read: {limits.many}"
        return Faults((fault(Problem.TOO_LARGE, place, words),))
    try:
        found = blocks(content)
    except NotPem as error:
        return Faults((fault(Problem.NOT_PEM, place, f"cannot be read: {error}"),))
    wrong = _blocks_fault(found, place, limits)
    if wrong is not None:
        return Faults((wrong,))
    certificates, faults = [], []
    for number, each in enumerate(found, start=1):
        try:
            certificates.append(read_certificate(each.content))
        except BadCertificate as error:
            words = f"has a damaged certificate, number {number} ({error}): put it there again"
            faults.append(fault(Problem.BAD_CERTIFICATE, place, words))
    return Faults(tuple(faults)) if faults else tuple(certificates)


def use_faults(certificate: Certificate, now: datetime | None, place: Place) -> Iterator[MaterialFault]:
    """What speaks against any use of a certificate: its kind of key, and its ends unless `now` is None."""
    name = f"the certificate of {shown(certificate.subject)}"
    if certificate.key_fault:
        weak = Problem.WEAK_KEY if certificate.weak_key else Problem.KEY_KIND
        yield fault(weak, place, f"cannot be used: the key of {name} {certificate.key_fault}")
    if now is not None and now > certificate.not_after:
        words = f"has expired: {name} ended at {second(certificate.not_after)}; renew or remove it"
        yield fault(Problem.EXPIRED, place, words)
    if now is not None and now < certificate.not_before:
        words = f"is not valid yet: {name} begins at {second(certificate.not_before)}; wait, or correct the clocks"
        yield fault(Problem.NOT_YET_VALID, place, words)


def _blocks_fault(found: list[Block], place: Place, limits: Limits) -> MaterialFault | None:
    if any(each.label.endswith("PRIVATE KEY") for each in found):
        return fault(Problem.OTHER_BLOCK, place, f"has a private key: {limits.key}")
    if any(each.label != LABEL for each in found):
        words = "has other blocks than certificates: leave only blocks that begin with BEGIN CERTIFICATE"
        return fault(Problem.OTHER_BLOCK, place, words)
    if not found:
        return fault(Problem.NO_CERTIFICATE, place, "has no certificate: put it there in PEM")
    if len(found) > limits.certificates:
        words = f"has {len(found)} certificates, at most {limits.certificates} are read: {limits.many}"
        return fault(Problem.TOO_MANY, place, words)
    return None
