"""How the brokers of an application are reached: the Secrets of `spec.security`, read in every look.

Nothing of a Secret is kept between looks or shown. One that is missing, cannot be read, or cannot be used makes Kafka's
answers Unknown, so nothing moves until it is corrected.
"""

from collections.abc import Sequence
from typing import Any, Final

from pydantic import ValidationError

from kafka_quorum.api.security import RULES, SecuritySpec
from kafka_quorum.model.known import Knowable, Known, Unknown
from kafka_quorum.model.names import USED_BY
from kafka_quorum.model.security import PLAINTEXT, Mechanism, Sasl, Secured, Security, Tls
from kafka_quorum.resources.security import CA_KEYS, CERTIFICATE_KEYS, SASL_KEYS, sasl_from, tls_from
from kafka_quorum.wire.security import tls_of
from kafka_streams.model.names import reader
from kit.errors import KubeError, KubeRefused
from kit.kube.protocol import Json, KubeApi
from kit.kube.secrets import Use, read_secret
from kit.parsing import Malformed

_TLS: Final = "spec.security.tls"
_SASL: Final = "spec.security.sasl"


class _UnusableError(Exception):
    """A Secret cannot be used. The text is a sentence with what to do."""


async def security(kube: KubeApi, namespace: str, resource: Json) -> Knowable[Security]:
    """The security of `spec.security`, or why it is not known: a sentence with what to do."""
    asked: Any = (resource.get("spec") or {}).get("security")
    try:
        spec = SecuritySpec.model_validate({} if asked is None else asked)
    except ValidationError:
        return Unknown(reason="spec.security is not valid: see the condition SpecAccepted")
    if any(True for rule in RULES for _ in rule.broken(spec, "")):
        return Unknown(reason="spec.security is not valid: see the condition SpecAccepted")
    if spec.protocol == "PLAINTEXT":
        return Known(value=PLAINTEXT)
    secrets = _Reader(kube, namespace, resource["metadata"]["name"])
    try:
        return Known(value=Secured(tls=await secrets.tls(spec), sasl=await secrets.sasl(spec)))
    except _UnusableError as error:
        return Unknown(reason=str(error))


class _Reader:
    """Reads the Secrets of one namespace; `tls` and `sasl` raise `_UnusableError`."""

    def __init__(self, kube: KubeApi, namespace: str, application: str) -> None:
        self._kube, self._namespace, self._application = kube, namespace, application

    async def tls(self, spec: SecuritySpec) -> Tls | None:
        if not spec.tls.ca_secret_name:
            return None
        ca = await self._read(spec.tls.ca_secret_name, _TLS, CA_KEYS)
        try:
            made = tls_from(ca, None)
            tls_of(Secured(tls=made))
        except Malformed as error:
            raise _unusable(spec.tls.ca_secret_name, _TLS, error) from None
        if not spec.tls.certificate_secret_name:
            return made
        own = await self._read(spec.tls.certificate_secret_name, _TLS, CERTIFICATE_KEYS)
        try:
            made = tls_from(ca, own)
            tls_of(Secured(tls=made))
        except Malformed as error:
            raise _unusable(spec.tls.certificate_secret_name, _TLS, error) from None
        return made

    async def sasl(self, spec: SecuritySpec) -> Sasl | None:
        if not spec.sasl.secret_name:
            return None
        texts = await self._read(spec.sasl.secret_name, _SASL, SASL_KEYS)
        try:
            return sasl_from(Mechanism(spec.sasl.mechanism), texts)
        except Malformed as error:
            raise _unusable(spec.sasl.secret_name, _SASL, error) from None

    async def _read(self, name: str, where: str, keys: Sequence[str]) -> dict[str, str]:
        use = Use(reader=reader(self._application), where=where, annotation=USED_BY)
        try:
            return await read_secret(self._kube, self._namespace, name, use, keys)
        except Malformed as error:
            raise _UnusableError(f"{error}") from None
        except KubeRefused as error:
            granted = "grant get on this Secret to the operator's service account"
            raise _UnusableError(f"Secret {name} of {where} was not read, {granted}: {error}") from None
        except KubeError as error:
            raise _UnusableError(f"Secret {name} of {where} was not read: {error}") from None


def _unusable(name: str, where: str, error: Malformed) -> _UnusableError:
    return _UnusableError(f"Secret {name} of {where} cannot be used: {error}. Correct it")
