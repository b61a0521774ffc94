"""The certificates that a server sent, read into values. OpenSSL has checked trust and name of the first one before.

They come from outside: a chain, a certificate or a list of names that is larger than any real one is refused.
"""

from collections.abc import Sequence
from typing import Final

from kafka_quorum.model.handshakes import Certificate
from kit.parsing import Malformed
from kit.pki.certificate import NAMES_MAX, BadCertificate, read_certificate
from kit.text import NAME_MAX_CHARS, clean

MAX_CERTIFICATES: Final = 16
"""The limit of a chain; real ones have two to four. OpenSSL reads at most 100 kB of one."""
_SUBJECT_MAX_CHARS: Final = 512
_DNS: Final = "DNS:"


def read_chain(chain: Sequence[bytes]) -> tuple[Certificate, ...]:
    """The certificates of a chain in DER, in the order in which they came (`Malformed`)."""
    if not 0 < len(chain) <= MAX_CERTIFICATES:
        raise Malformed(f"its chain has {len(chain)} certificates, 1 to {MAX_CERTIFICATES} are read")
    return tuple(_certificate(f"{place} of {len(chain)}", der) for place, der in enumerate(chain, start=1))


def _certificate(place: str, der: bytes) -> Certificate:
    try:
        read = read_certificate(der)
    except BadCertificate as error:
        raise Malformed(f"its certificate {place} cannot be read: {error}") from None
    names = [name.removeprefix(_DNS) for name in sorted(read.names) if name.startswith(_DNS)]
    if len(names) > NAMES_MAX:
        raise Malformed(f"its certificate {place} has {len(names)} names, at most {NAMES_MAX} are read")
    return Certificate(
        sha256=read.fingerprint,
        serial=read.serial,
        subject=clean(read.subject, max_chars=_SUBJECT_MAX_CHARS),
        issuer=clean(read.issuer, max_chars=_SUBJECT_MAX_CHARS),
        not_before_s=int(read.not_before.timestamp()),
        not_after_s=int(read.not_after.timestamp()),
        dns_names=tuple(clean(name, max_chars=NAME_MAX_CHARS) for name in names),
    )
