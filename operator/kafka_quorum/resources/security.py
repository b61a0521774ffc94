"""What Secrets give a client of Kafka, by the names of their keys. Pure."""

from collections.abc import Mapping
from typing import Final

from kafka_quorum.model.security import Mechanism, Sasl, Tls
from kit.parsing import Malformed
from kit.pki.bundle import STORED_MAX_CHARS

CA_KEYS: Final = ("ca.crt",)
CERTIFICATE_KEYS: Final = ("tls.crt", "tls.key")
SASL_KEYS: Final = ("username", "password")
MAX_CHARS: Final = 256 * 1024
"""The longest PEM of authorities, a certificate or a key that others give."""
WORD_MAX_CHARS: Final = 1024
"""The longest user name or password."""


def tls_from(ca: Mapping[str, str], certificate: Mapping[str, str] | None) -> Tls:
    """Trust, and the client's own certificate if there is a Secret with one (`Malformed`)."""
    return _tls(_value(ca, "ca.crt", MAX_CHARS), certificate, 0)


def own_tls_from(ca: Mapping[str, str], certificate: Mapping[str, str] | None) -> Tls:
    """The same of Secrets of the operator: while authorities are changed, `ca.crt` has those of before and after."""
    return _tls(_value(ca, "ca.crt", STORED_MAX_CHARS), certificate, 1)


def sasl_from(mechanism: Mechanism, texts: Mapping[str, str]) -> Sasl:
    """The user (`Malformed`). Line breaks at the end of a value are no part of it."""
    username, password = (_value(texts, key, WORD_MAX_CHARS).rstrip("\r\n") for key in SASL_KEYS)
    for key, value in (("username", username), ("password", password)):
        if not value:
            raise Malformed(f"its key {key} is empty")
        if any(control in value for control in ("\n", "\r", "\0")):
            raise Malformed(f"its key {key} is not one line of text")
    if mechanism is not Mechanism.PLAIN and not username.isascii():
        raise Malformed("its key username has other characters than ASCII, which Kafka refuses for SCRAM")
    return Sasl(mechanism=mechanism, username=username, password=password)


def _tls(trusted: str, certificate: Mapping[str, str] | None, bundles: int) -> Tls:
    if certificate is None:
        return Tls(ca=trusted, bundles=bundles)
    own, key = (_value(certificate, name, MAX_CHARS) for name in CERTIFICATE_KEYS)
    return Tls(ca=trusted, certificate=own, key=key, bundles=bundles)


def _value(texts: Mapping[str, str], key: str, most: int) -> str:
    value = texts.get(key, "")
    if not value:
        raise Malformed(f"it has no key {key}")
    if len(value) > most:
        raise Malformed(f"its key {key} has {len(value)} characters, at most {most} are read")
    return value
