"""TLS as a client, of PEM that a Secret has: trust, an own certificate, and what OpenSSL says when it fails."""

import os
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from kit.parsing import Malformed
from kit.text import clean

_HOST, _ADDRESS = 62, 64
"""OpenSSL's verify codes: another host name, another address."""
_WORDS: Final = 80
_OF_OURS: Final = ("CERTIFICATE", "UNKNOWN_CA", "ACCESS_DENIED")
"""What an alert has in its name if the server refuses the client's certificate, or misses one."""


def client_context(ca: str, certificate: str, key: str) -> ssl.SSLContext:
    """The client's half of TLS 1.2 or later: these authorities alone, names checked (`Malformed`).

    Each certificate in `ca` is trusted by itself, as in Java: servers need no root above an intermediate authority.
    Without `certificate` and `key` only the server shows one.
    """
    if not ca.strip():
        raise Malformed("ca.crt is empty")  # without an authority, Python would trust those of the system
    try:
        context = ssl.create_default_context(cadata=ca)
    except (ssl.SSLError, ValueError, TypeError) as error:
        raise Malformed(f"ca.crt holds no certificate in PEM ({_reason(error)})") from None
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    if not certificate and not key:
        return context
    try:
        with _in_memory(certificate) as shown, _in_memory(key) as kept:
            context.load_cert_chain(shown, kept, password=_no_password)
    except (OSError, ValueError) as error:
        raise Malformed(f"tls.crt and tls.key cannot be used together ({_reason(error)})") from None
    return context


def tls_words(error: ssl.SSLError) -> str:
    """Why a connection with TLS failed, and what to correct: a clause, to be put into a sentence."""
    if isinstance(error, ssl.SSLCertVerificationError):
        said = clean(error.verify_message, max_chars=_WORDS)
        if error.verify_code in (_HOST, _ADDRESS):
            return f"its certificate is for another name ({said}): its names must have the one that is asked"
        return f"its certificate is not accepted ({said}): ca.crt of the Secret must have its authority"
    reason = error.reason or ""
    if "ALERT" in reason and any(word in reason for word in _OF_OURS):
        return f"it refuses the Secret's client certificate, or the lack of one ({_reason(error)})"
    if reason in {"WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE", "PACKET_LENGTH_TOO_LONG"}:
        return f"it does not answer with TLS ({_reason(error)}): correct the port, or the protocol"
    return f"TLS failed ({_reason(error)})"


@contextmanager
def _in_memory(text: str) -> Iterator[str]:
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
    reason = error.reason if isinstance(error, ssl.SSLError) and error.reason else str(error)
    return clean(str(reason), max_chars=_WORDS)
