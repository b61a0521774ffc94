"""How the operator reaches Kafka's servers, as a part of a spec: any resource of ours can have it.

Secrets have keys of fixed names: those of Kubernetes' own types `kubernetes.io/tls` and `kubernetes.io/basic-auth`.
"""

import re
from typing import Final, Literal

from pydantic import Field

from kit.crd.model import Model, schema, section
from kit.crd.rule import Rule

_NAME_FORM: Final = "([a-z0-9]([-a-z0-9.]*[a-z0-9])?)?"
_WITH_TLS: Final = ("SSL", "SASL_SSL")
_WITH_SASL: Final = ("SASL_PLAINTEXT", "SASL_SSL")
SECRET_NAME = Rule(
    expression=f"self.matches('^{_NAME_FORM}$')",
    message="this must be the name of a Secret, or empty: correct it",
    holds=lambda text: re.fullmatch(_NAME_FORM, text) is not None,
)
# The API server also judges the default {} by these rules, before the fields have their own defaults.
TLS_MATCHES = Rule(
    expression="!has(self.protocol) || (self.protocol in ['SSL', 'SASL_SSL']) == (self.tls.caSecretName != '')",
    message=(
        "security.tls.caSecretName names the Secret with the authorities of the brokers' certificates: set it for SSL "
        "and SASL_SSL, and leave it out for the other protocols"
    ),
    holds=lambda one: (one.protocol in _WITH_TLS) == bool(one.tls.ca_secret_name),
)
CERTIFICATE_MATCHES = Rule(
    expression="!has(self.protocol) || self.protocol in ['SSL', 'SASL_SSL'] || self.tls.certificateSecretName == ''",
    message="security.tls.certificateSecretName needs the protocol SSL or SASL_SSL: correct one of the two",
    holds=lambda one: one.protocol in _WITH_TLS or not one.tls.certificate_secret_name,
)
SASL_MATCHES = Rule(
    expression=(
        "!has(self.protocol) || (self.protocol in ['SASL_PLAINTEXT', 'SASL_SSL']) == (self.sasl.secretName != '')"
    ),
    message=(
        "security.sasl.secretName names the Secret with the user and the password: set it for SASL_SSL and "
        "SASL_PLAINTEXT, and leave it out for the other protocols"
    ),
    holds=lambda one: (one.protocol in _WITH_SASL) == bool(one.sasl.secret_name),
)
RULES: Final = (TLS_MATCHES, CERTIFICATE_MATCHES, SASL_MATCHES)
"""Of a field of type `SecuritySpec`."""


class TlsSpec(Model):
    """TLS, as a client."""

    ca_secret_name: str = Field(
        default="",
        max_length=253,
        description="A Secret in this namespace whose key ca.crt has the authorities that are trusted, in PEM.",
        json_schema_extra=schema(SECRET_NAME),
    )
    certificate_secret_name: str = Field(
        default="",
        max_length=253,
        description="A Secret in this namespace with the operator's own certificate and key for these servers (tls.crt "
        "and tls.key, PEM, not encrypted); empty if they ask for none.",
        json_schema_extra=schema(SECRET_NAME),
    )


class SaslSpec(Model):
    """SASL, as a client."""

    mechanism: Literal["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"] = Field(
        default="SCRAM-SHA-512",
        description="How the password is proved. PLAIN sends it, so it belongs into TLS.",
    )
    secret_name: str = Field(
        default="",
        max_length=253,
        description="A Secret in this namespace with the operator's user for these servers (username and password).",
        json_schema_extra=schema(SECRET_NAME),
    )


class SecuritySpec(Model):
    """How connections are secured."""

    protocol: Literal["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"] = Field(
        default="PLAINTEXT",
        description="The security protocol of the listener, as the servers have it.",
    )
    tls: TlsSpec = section(TlsSpec, "Trust, and the operator's own certificate, for SSL and SASL_SSL.")
    sasl: SaslSpec = section(SaslSpec, "The operator's user, for SASL_SSL and SASL_PLAINTEXT.")
