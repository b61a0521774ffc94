"""The Secrets that pods of a pool mount: which keys they have, and for which names the brokers' certificates are.

Values are not kept. Of a file with a key and a certificate only the certificate is read.
"""

import asyncio
import base64
import binascii
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from kafka_brokers.model.observed import Revision
from kafka_quorum.model.contract import Contract
from kafka_quorum.model.known import Knowable, Known, Unknown
from kafka_quorum.resources.secrets import ISSUER_KEY
from kit.errors import KubeError
from kit.kube.protocol import Json, KubeApi
from kit.kube.secrets import SECRETS
from kit.pki.certificate import BadCertificate, Certificate, read_certificate
from kit.pki.pem import NotPem, blocks

_STORE: Final = "keystore-"
_MAX_CHARS: Final = 256 * 1024
_DNS: Final = "DNS:"
Keys = tuple[tuple[str, Knowable[frozenset[str] | None]], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SecretsSeen:
    """The keys of each Secret; and of the pool's own one the names in the certificate of each file.

    `ends` has the end of each of these certificates (Unix seconds), if another issuer gave them: each has its own.
    """

    keys: Keys = ()
    certified: tuple[tuple[str, frozenset[str]], ...] = ()
    ends: tuple[tuple[str, int], ...] = ()


async def secrets_of(
    kube: KubeApi, namespace: str, own: str, contract: Knowable[Contract], revisions: Iterable[Revision]
) -> SecretsSeen:
    """What the Secrets of the contract, of the revisions, and the pool's `own` one have."""
    wanted = {name for revision in revisions for name in revision.runtime.secrets}
    if isinstance(contract, Known) and contract.value.secrets:
        wanted |= {*contract.value.secrets, own}
    certified: dict[str, Certificate | None] = {}
    given = False

    async def keys(name: str) -> Knowable[frozenset[str] | None]:
        nonlocal given
        try:
            item = await kube.get(SECRETS, namespace, name)
        except KubeError as error:
            return Unknown(reason=str(error))
        if item is not None and name == own:
            certified.update(_certified(item))
            given = ISSUER_KEY in (item.get("data") or {})
        return Known(value=None if item is None else frozenset(map(str, item.get("data") or {})))

    ordered = sorted(wanted)
    found = tuple(zip(ordered, await asyncio.gather(*map(keys, ordered)), strict=True))
    files = sorted(certified.items())
    return SecretsSeen(
        keys=found,
        certified=tuple((file, frozenset() if one is None else _names(one)) for file, one in files),
        ends=tuple((file, int(one.not_after.timestamp())) for file, one in files if given and one is not None),
    )


def _certified(item: Json) -> dict[str, Certificate | None]:
    """The certificates by file; None for a file that has none that can be read."""
    data = item.get("data") or {}
    return {str(key): _certificate(str(value)) for key, value in data.items() if str(key).startswith(_STORE)}


def _certificate(value: str) -> Certificate | None:
    if len(value) > _MAX_CHARS:
        return None
    try:
        found = [each.content for each in blocks(base64.b64decode(value)) if each.label == "CERTIFICATE"]
        return read_certificate(found[0]) if found else None
    except (binascii.Error, NotPem, BadCertificate, ValueError):
        return None


def _names(one: Certificate) -> frozenset[str]:
    return frozenset(name.removeprefix(_DNS) for name in one.names if name.startswith(_DNS))
