"""TLS with ZooKeeper, of what the Secret has."""

import ssl

from kafka_quorum.model.zookeeper import ZooKeeperSecret
from kafka_quorum.wire.tls import client_context


def tls_of(secret: ZooKeeperSecret) -> ssl.SSLContext | None:
    """The client's half of TLS, as `client_context` makes it (`Malformed`). None without TLS."""
    return client_context(secret.ca, secret.certificate, secret.key) if secret.tls else None
