"""TLS as a client, of PEM that a Secret has: trust, an own certificate, and what OpenSSL says when it fails."""

import os
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from kafka_quorum.model.handshakes import Failure
from kit.parsing import Malformed
from kit.pki import client
from kit.pki.bundle import STORED_MAX, STORED_MAX_CHARS
from kit.text import NAME_MAX_CHARS, clean

_UNVERIFIED: Final = {
    9: Failure.EXPIRED,  # not valid yet
    10: Failure.EXPIRED,
    62: Failure.OTHER_NAME,
    64: Failure.OTHER_NAME,  # another address
}
"""What OpenSSL's verify codes mean; every other one is a certificate that is not trusted."""
_CIPHERS: Final = "@SECLEVEL=2:ECDH+AESGCM:ECDH+CHACHA20:ECDH+AES:!aNULL:!eNULL:!aDSS:!SHA1:!AESCCM"
"""Of TLS 1.2: Python's own without DHE, where a server chooses a modulus: one of 10,000 bits takes seconds."""
_WORDS: Final = 80
_OF_OURS: Final = ("CERTIFICATE", "UNKNOWN_CA", "ACCESS_DENIED")
"""What an alert has in its name if the server refuses the client's certificate, or misses one."""
_REASONS: Final = {
    "WRONG_VERSION_NUMBER": Failure.NO_TLS,
    "RECORD_LAYER_FAILURE": Failure.NO_TLS,
    "PACKET_LENGTH_TOO_LONG": Failure.NO_TLS,
    "UNSUPPORTED_PROTOCOL": Failure.NO_VERSION,
    "NO_SHARED_CIPHER": Failure.NO_VERSION,
    "TLSV1_ALERT_PROTOCOL_VERSION": Failure.NO_VERSION,
    "TLSV1_ALERT_INSUFFICIENT_SECURITY": Failure.NO_VERSION,
    "EXCESSIVE_MESSAGE_SIZE": Failure.UNREADABLE,
}
"""What OpenSSL's reasons mean."""
_CLAUSES: Final = {
    Failure.OTHER_NAME: "its certificate is for another name ({said}): its names must have {wanted}",
    Failure.EXPIRED: "its certificate, or its authority's, is not valid now ({said}): renew it, or correct the clock",
    Failure.NOT_TRUSTED: "its certificate is not accepted ({said}): ca.crt of the Secret must have its authority",
    Failure.CLIENT_REFUSED: "it refuses the Secret's client certificate, or the lack of one ({said})",
    Failure.NO_TLS: "it does not answer with TLS ({said}): correct the port, or the protocol",
    Failure.NO_VERSION: "it has no version of TLS from 1.2 on, or no cipher, that is used here ({said})",
}


def client_context(ca: str, certificate: str, key: str, bundles: int = 0) -> ssl.SSLContext:
    """The client's half of TLS 1.2 or later: these authorities alone, names checked (`Malformed`).

    Each certificate in `ca` is trusted by itself, as in Java: servers need no root above an intermediate authority.
    Without `certificate` and `key` only the server shows one. Keys and numbers of certificates have limits, and no
    server chooses the numbers of a key exchange: the event loop works all of this out. `bundles` is as in `Tls`.
    """
    if not ca.strip():
        raise Malformed("ca.crt is empty")  # without an authority, Python would trust those of the system
    most = bundles * STORED_MAX or client.TRUSTED_MAX
    trust = client.trusted(ca, most=most, most_chars=bundles * STORED_MAX_CHARS or client.TEXT_MAX_CHARS)
    try:
        context = ssl.create_default_context(cadata=trust)
        context.set_ciphers(_CIPHERS)
    except (ssl.SSLError, ValueError, TypeError) as error:
        raise Malformed(f"ca.crt holds no certificate in PEM ({_reason(error)})") from None
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    context.options |= ssl.OP_NO_RENEGOTIATION  # Kafka never does it, and a server could do it without end
    if not certificate and not key:
        return context
    own, private = client.shown(certificate), client.private(key)
    try:
        with in_memory(own) as shown, in_memory(private) as kept:
            context.load_cert_chain(shown, kept, password=_no_password)
    except (OSError, ValueError) as error:
        raise Malformed(f"tls.crt and tls.key cannot be used together ({_reason(error)})") from None
    return context


def tls_words(error: ssl.SSLError, name: str = "") -> str:
    """Why a connection with TLS failed, and what to correct: a clause, to be put into a sentence.

    `name` is the one that the certificate must have.
    """
    wanted = clean(name, max_chars=NAME_MAX_CHARS) or "the one that is asked"
    return _CLAUSES.get(failure_of(error), "TLS failed ({said})").format(said=_reason(error), wanted=wanted)


def failure_of(error: ssl.SSLError) -> Failure:
    """What OpenSSL's error means; `OTHER` if it has no name there."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return _UNVERIFIED.get(error.verify_code, Failure.NOT_TRUSTED)
    if isinstance(error, ssl.SSLEOFError | ssl.SSLZeroReturnError):
        return Failure.ENDED
    reason = getattr(error, "reason", "") or ""  # OpenSSL's own errors alone have one
    if reason not in _REASONS and "ALERT" in reason and any(word in reason for word in _OF_OURS):
        return Failure.CLIENT_REFUSED
    return _REASONS.get(reason, Failure.OTHER)


@contextmanager
def in_memory(text: str) -> Iterator[str]:
    """The path of a file that is on no disk, and that no other process inherits: Python loads PEM from files alone."""
    with open(os.memfd_create("tls"), "w") as file:  # noqa: PTH123 - a descriptor
        file.write(text)
        file.flush()
        yield f"/proc/self/fd/{file.fileno()}"


def _no_password() -> str:
    """An encrypted key is an error: without this, Python would ask at the terminal."""
    raise ValueError("the key is encrypted")


def _reason(error: Exception) -> str:
    """What OpenSSL says: reasons of its own, never a part of a certificate or a key."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return clean(error.verify_message, max_chars=_WORDS)
    reason = getattr(error, "reason", "") or error
    return clean(str(reason), max_chars=_WORDS)
