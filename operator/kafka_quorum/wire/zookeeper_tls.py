"""TLS with ZooKeeper, of what the Secret has."""

import os
import ssl
import tempfile
from pathlib import Path

from kafka_quorum.model.zookeeper import ZooKeeperSecret
from kit.parsing import Malformed
from kit.text import clean


def tls_of(secret: ZooKeeperSecret) -> ssl.SSLContext | None:
    """The client's half of TLS: the Secret's authorities alone, names checked (`Malformed`). None without TLS.

    Each certificate in `ca.crt` is trusted by itself, as in Java: brokers need no root above an intermediate authority.
    """
    if not secret.tls:
        return None
    try:
        context = ssl.create_default_context(cadata=secret.ca)
    except (ssl.SSLError, ValueError, TypeError) as error:
        raise Malformed(f"ca.crt holds no certificate in PEM ({_ssl_words(error)})") from None
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    if not secret.certificate and not secret.key:
        return context
    try:
        with tempfile.TemporaryDirectory(prefix="zookeeper-") as home:  # Python loads a certificate from files alone
            certificate, key = (Path(home) / name for name in ("tls.crt", "tls.key"))
            for path, text in ((certificate, secret.certificate), (key, secret.key)):
                with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:  # noqa: PTH123
                    file.write(text)
            context.load_cert_chain(certificate, key, password=_no_password)
    except (OSError, ValueError) as error:
        raise Malformed(f"tls.crt and tls.key cannot be used together ({_ssl_words(error)})") from None
    return context


def _no_password() -> str:
    """An encrypted key is an error: without this, Python would ask at the terminal."""
    raise ValueError("the key is encrypted")


def _ssl_words(error: Exception) -> str:
    """What OpenSSL says: reasons of its own, never a part of a certificate or a key."""
    reason = error.reason if isinstance(error, ssl.SSLError) and error.reason else str(error)
    return clean(str(reason), max_chars=80)
