"""Contracts of quorums whose controllers have TLS, and the Secret that brokers mount, for tests."""

from dataclasses import replace
from typing import Any, Final

from tests.brokers.values import CONTRACT, NAMESPACE, QUORUM
from tests.model import values as controllers

from kafka_quorum.model.contract import SASL_MECHANISM, Contract, Match, Setting
from kafka_quorum.resources.contract import PROTOCOL_MAP
from kafka_quorum.resources.secrets import secret_object

Json = dict[str, Any]

SECRET: Final = "events-brokers-tls"  # noqa: S105 - a name
PREFIX: Final = "listener.name.controller.ssl"
TRUST: Final = "trust-0123456789abcdef.pem"


def mutual(certificates: int = 1, trust: str = TRUST) -> Contract:
    """Controllers with SSL: brokers show certificates of this generation."""
    return _with("SSL", ("truststore.location", trust), ("keystore.location", f"keystore-{certificates}.pem"))


def with_users(trust: str = TRUST, certificates: int = 0) -> Contract:
    """Controllers with SASL_SSL: brokers have a user, and their own listeners certificates of this generation."""
    of = _with("SASL_SSL", ("truststore.location", trust))
    mechanism = Setting(key=SASL_MECHANISM, value="PLAIN", match=Match.EQUALS)
    return replace(of, settings=(*of.settings, mechanism), certificates=certificates)


def _with(protocol: str, *files: tuple[str, str]) -> Contract:
    named = Setting(key=PROTOCOL_MAP, value=f"CONTROLLER:{protocol}", match=Match.HAS)
    kept = (each for each in CONTRACT.settings if each.key != PROTOCOL_MAP)
    added = (Setting(key=f"{PREFIX}.{key}", value=value, match=Match.FILE) for key, value in files)
    return replace(CONTRACT, settings=(*kept, named, *added), secrets=(SECRET,))


def quorum_secret(name: str, **texts: str) -> Json:
    """A Secret of the quorum; keys have `_` for `.`."""
    of = controllers.desired(name=QUORUM, namespace=NAMESPACE)
    by_key = {key.replace("_", "."): text for key, text in texts.items()}
    body = secret_object(of, f"{QUORUM}-{name}", "certificate", by_key, "", [])
    return {**body, "metadata": {**body["metadata"], "resourceVersion": "1"}}
