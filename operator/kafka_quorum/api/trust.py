"""`spec.security`: how long the certificates of the controllers live, their users, and who may do what."""

import re
from typing import Annotated, Final, Literal

from pydantic import Field

from kafka_quorum.api.security import SECRET_NAME
from kit.crd.model import Model, schema, section
from kit.crd.rule import Rule

SHORTEST_LIFE_S: Final = 300
_LONGEST_LIFE_S: Final = 100 * 366 * 24 * 3600
_DAY_S: Final = 24 * 3600
_PRINCIPAL_FORM: Final = "[A-Za-z]+:[^;\\r\\n]+"

RENEWED_IN_TIME: Final = Rule(
    expression=(
        "!has(self.renewBeforeSeconds) || !has(self.leafSeconds) || !has(self.caSeconds) || "
        "(self.renewBeforeSeconds < self.leafSeconds && self.leafSeconds <= self.caSeconds)"
    ),
    message=(
        "renewBeforeSeconds must be less than leafSeconds, and leafSeconds no more than caSeconds: a certificate is "
        "renewed before it ends, and ends with its authority"
    ),
    holds=lambda one: one.renew_before_seconds < one.leaf_seconds <= one.ca_seconds,
)
PRINCIPALS: Final = Rule(
    expression=f"self.all(p, p.matches('^{_PRINCIPAL_FORM}$'))",
    message="a super user is a principal of Kafka, without ';', for example User:CN=admin,O=example or User:ada",
    holds=lambda all_: all(re.fullmatch(_PRINCIPAL_FORM, one) is not None for one in all_),
)


_NAMED: Final = "self.controllersSecretName != '' && self.operatorSecretName != '' && self.brokersSecretName != ''"
_UNNAMED: Final = "self.controllersSecretName == '' && self.operatorSecretName == '' && self.brokersSecretName == ''"
# The API server also judges the default {} by these rules, before the fields have their own defaults.
SECRETS_NAMED: Final = Rule(
    expression=f"!has(self.type) || self.type != 'Secret' || ({_NAMED} && self.trustSecretName != '' && "
    "self.issuerRef.name == '')",
    message=(
        "with type Secret, name the four Secrets (controllersSecretName, operatorSecretName, brokersSecretName, "
        "trustSecretName), and no issuerRef"
    ),
    holds=lambda one: (
        one.type != "Secret" or (all(_leaf_secrets(one)) and one.trust_secret_name and not one.issuer_ref.name)
    ),
)
ISSUER_NAMED: Final = Rule(
    expression=f"!has(self.type) || self.type != 'CertManager' || ({_UNNAMED} && self.trustSecretName != '' && "
    "self.issuerRef.name != '')",
    message=(
        "with type CertManager, name the issuer (issuerRef) and the Secret with the authorities that are trusted "
        "(trustSecretName), and no other Secret: cert-manager makes them"
    ),
    holds=lambda one: (
        one.type != "CertManager" or (not any(_leaf_secrets(one)) and one.trust_secret_name and one.issuer_ref.name)
    ),
)
NOTHING_NAMED: Final = Rule(
    expression=f"!has(self.type) || self.type != 'SelfSigned' || ({_UNNAMED} && self.trustSecretName == '' && "
    "self.issuerRef.name == '')",
    message="with type SelfSigned the operator makes every certificate: remove the names of Secrets and of an issuer",
    holds=lambda one: (
        one.type != "SelfSigned" or not (any(_leaf_secrets(one)) or one.trust_secret_name or one.issuer_ref.name)
    ),
)
OWN_AUTHORITY: Final = Rule(
    expression=(
        "!has(self.issuer) || !has(self.issuer.type) || !has(self.renewCA) || self.issuer.type == 'SelfSigned' || "
        "self.renewCA == ''"
    ),
    message=(
        "renewCA is for issuer.type SelfSigned only: to trust another authority, put it into the Secret of "
        "issuer.trustSecretName"
    ),
    holds=lambda one: one.issuer.type == "SelfSigned" or not one.renew_ca,
)


def _leaf_secrets(issuer: "IssuerSpec") -> tuple[str, str, str]:
    return issuer.controllers_secret_name, issuer.operator_secret_name, issuer.brokers_secret_name


def _secret_name(description: str) -> str:
    found: str = Field(default="", max_length=253, description=description, json_schema_extra=schema(SECRET_NAME))
    return found


class IssuerRefSpec(Model):
    """An issuer of cert-manager."""

    name: str = Field(default="", max_length=253, description="Its name.", json_schema_extra=schema(SECRET_NAME))
    kind: str = Field(
        default="Issuer",
        max_length=63,
        description="Its kind: Issuer, ClusterIssuer, or that of an issuer of others.",
        json_schema_extra=schema(minLength=1),
    )
    group: str = Field(
        default="cert-manager.io", max_length=253, description="Its group.", json_schema_extra=schema(minLength=1)
    )


class IssuerSpec(Model):
    """Where the certificates of the controllers' listener come from."""

    type: Literal["SelfSigned", "CertManager", "Secret"] = Field(
        default="SelfSigned",
        description="SelfSigned: the operator has an authority for this quorum. CertManager: cert-manager issues. "
        "Secret: others issue, and put certificates into Secrets. It cannot change while certificates are in use.",
    )
    issuer_ref: IssuerRefSpec = section(IssuerRefSpec, "For CertManager: its issuer.")
    controllers_secret_name: str = _secret_name(
        "For Secret: tls.crt and tls.key of the controllers, for servers and clients, with the host names of all of "
        "them: NAME-ID.NAME-controllers.NAMESPACE.svc."
    )
    operator_secret_name: str = _secret_name("For Secret: tls.crt and tls.key of the operator, for clients.")
    brokers_secret_name: str = _secret_name("For Secret: tls.crt and tls.key of the brokers, for clients.")
    trust_secret_name: str = _secret_name(
        "For Secret and CertManager: ca.crt with the authorities that every server trusts."
    )


class ControllersSecuritySpec(Model):
    """Certificates and users of the controllers' listener."""

    issuer: IssuerSpec = section(
        IssuerSpec, "Where the certificates come from.", SECRETS_NAMED, ISSUER_NAMED, NOTHING_NAMED
    )
    leaf_seconds: int = Field(
        default=365 * _DAY_S,
        description="How long a certificate lives, in seconds.",
        json_schema_extra=schema(minimum=SHORTEST_LIFE_S, maximum=_LONGEST_LIFE_S),
    )
    ca_seconds: int = Field(
        default=10 * 365 * _DAY_S,
        description="How long an authority lives, in seconds.",
        json_schema_extra=schema(minimum=SHORTEST_LIFE_S, maximum=_LONGEST_LIFE_S),
    )
    renew_before_seconds: int = Field(
        default=0,
        description="How long before its end a certificate or an authority is renewed, in seconds; 0 for a third of "
        "its life. Every controller and broker restarts once in this time.",
        json_schema_extra=schema(minimum=0, maximum=_LONGEST_LIFE_S),
    )
    renew_ca: str = Field(
        default="",
        max_length=64,
        alias="renewCA",
        description="Another text than before makes a new authority, which replaces the present one in stages.",
    )
    users_secret_name: str = _secret_name(
        "For SASL_SSL: a Secret with the passwords of the users controllers, brokers and operator, by these keys; "
        "empty and the operator makes them."
    )


class BrokersSecuritySpec(Model):
    """Users of the brokers."""

    scram_users_secret_name: str = _secret_name(
        "A Secret whose keys are the names of users, and whose values are their passwords: the operator makes them as "
        "users of SCRAM-SHA-512, replaces a password that changes, and removes a user that leaves the Secret. Empty "
        "and it looks after no user, and removes none."
    )


class AuthorizerSpec(Model):
    """Who may do what."""

    type: Literal["None", "Standard"] = Field(
        default="None",
        description="Standard: Kafka's StandardAuthorizer on the controllers. Controllers, brokers and the operator "
        "are super users there.",
    )
    super_users: list[Annotated[str, Field(max_length=300)]] = Field(
        default_factory=list,
        description="Further principals with all rights.",
        json_schema_extra=schema(PRINCIPALS, maxItems=32, list_type="atomic", default=[]),
    )


class QuorumSecuritySpec(Model):
    """Trust."""

    controllers: ControllersSecuritySpec = section(
        ControllersSecuritySpec, "Certificates and users of the controllers' listener.", RENEWED_IN_TIME, OWN_AUTHORITY
    )
    brokers: BrokersSecuritySpec = section(BrokersSecuritySpec, "Users of the brokers.")
    authorizer: AuthorizerSpec = section(AuthorizerSpec, "Who may do what.")
