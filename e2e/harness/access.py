"""How a client of Kafka is let in: trust, a certificate, a user. For librdkafka, and for the operator's own client.

The texts of keys and passwords are in no text of the value, so that no report has them.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from harness.page import Page
from kafka_quorum.model.security import PLAINTEXT, Mechanism, Sasl, Secured, Security, Tls

_WORD: Final = r'"([^"\\]*)"'  # without escapes: a file of properties and JAAS have one each
_USER: Final = re.compile(rf"\busername={_WORD}\s+password={_WORD}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """`protocol` by Kafka's name. PEM texts: `ca` has every trusted authority; `certificate` and `key` go together."""

    protocol: str = "PLAINTEXT"
    ca: str = field(default="", repr=False)
    certificate: str = field(default="", repr=False)
    key: str = field(default="", repr=False)
    mechanism: str = ""
    username: str = ""
    password: str = field(default="", repr=False)

    def settings(self) -> dict[str, str]:
        """The properties of a client of librdkafka; it checks the name of each server."""
        rows = {
            "ssl.ca.pem": self.ca,
            "ssl.certificate.pem": self.certificate,
            "ssl.key.pem": self.key,
            "sasl.mechanism": self.mechanism,
            "sasl.username": self.username,
            "sasl.password": self.password,
        }
        return {"security.protocol": self.protocol} | {key: value for key, value in rows.items() if value}

    def security(self) -> Security:
        """For endpoints of the operator's client."""
        encrypted = self.protocol.endswith("SSL")
        tls = Tls(ca=self.ca, certificate=self.certificate, key=self.key) if encrypted else None
        sasl = None
        if self.protocol.startswith("SASL_"):
            sasl = Sasl(mechanism=Mechanism(self.mechanism), username=self.username, password=self.password)
        return Secured(tls=tls, sasl=sasl) if tls or sasl else PLAINTEXT


PLAIN: Final = Access()


def to_controllers(page: Page, secrets: Mapping[str, Mapping[str, str]]) -> Access:
    """The way to the controllers that a page gives to brokers. `secrets` are the contents of those that it names.

    The certificate is that of a Secret with `tls.crt` and `tls.key`; trust is the store that the page names, else
    `ca.crt`; the user is that of a JAAS line. ValueError if the protocol needs one of them and no Secret has it.
    """
    texts = {key: text for name in page.secrets for key, text in secrets.get(name, {}).items()}
    trusted = [path.name for key, path in page.stores.items() if "truststore" in key]
    ca = next((texts[name] for name in (*trusted, "ca.crt") if name in texts), "")
    protocol = page.protocol
    if protocol.endswith("SSL") and not ca:
        raise ValueError(f"no Secret of the page has the trust for {protocol}: {' or '.join((*trusted, 'ca.crt'))}")
    if protocol == "SSL":
        if not {"tls.crt", "tls.key"} <= texts.keys():
            raise ValueError("no Secret of the page has tls.crt and tls.key")
        return Access(protocol=protocol, ca=ca, certificate=texts["tls.crt"], key=texts["tls.key"])
    if not protocol.startswith("SASL_"):
        return PLAIN
    user = next(filter(None, map(_USER.search, texts.values())), None)
    if user is None:
        raise ValueError(f"no Secret of the page has a line of JAAS with a user for {protocol}")
    return Access(protocol=protocol, ca=ca, mechanism="PLAIN", username=user[1], password=user[2])
