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
from kafka_quorum.model.bundles import bundle_of
from kafka_quorum.model.contract import Contract
from kafka_quorum.model.known import Knowable, Known, Unknown
from kafka_quorum.resources.secrets import anchored
from kit.errors import KubeError
from kit.kube.protocol import Json, KubeApi
from kit.kube.secrets import SECRETS
from kit.pki.bundle import Bundle
from kit.pki.certificate import BadCertificate, Certificate, read_certificate
from kit.pki.leaf import CHAIN_MAX
from kit.pki.pem import NotPem, blocks

_STORE: Final = "keystore-"
_MAX_CHARS: Final = 256 * 1024
_DNS: Final = "DNS:"
Keys = tuple[tuple[str, Knowable[frozenset[str] | None]], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SecretsSeen:
    """The keys of each Secret; and of the pool's own one the names in the certificate of each file.

    `ends` has when nobody accepts each of these certificates any more (Unix seconds): at its own end, or at that of an
    intermediate authority.
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
    chains: dict[str, tuple[Certificate, ...]] = {}
    trust = Bundle()

    async def keys(name: str) -> Knowable[frozenset[str] | None]:
        nonlocal trust
        try:
            item = await kube.get(SECRETS, namespace, name)
        except KubeError as error:
            return Unknown(reason=str(error))
        if item is not None and name == own:
            data = item.get("data") or {}
            chains.update(_chains(data))
            trust = _trust(data)
        return Known(value=None if item is None else frozenset(map(str, item.get("data") or {})))

    ordered = sorted(wanted)
    found = tuple(zip(ordered, await asyncio.gather(*map(keys, ordered)), strict=True))
    return SecretsSeen(
        keys=found,
        certified=tuple((file, _names(*chain[:1])) for file, chain in sorted(chains.items())),
        ends=_ends(chains, trust),
    )


async def ends_of(kube: KubeApi, namespace: str, name: str) -> tuple[tuple[str, int], ...]:
    """As `SecretsSeen.ends`, of the Secret of any pool; empty if it does not exist, or cannot be read."""
    try:
        item = await kube.get(SECRETS, namespace, name)
    except KubeError:
        return ()
    data: Json = {} if item is None else item.get("data") or {}
    return _ends(_chains(data), _trust(data))


def _ends(chains: dict[str, tuple[Certificate, ...]], trust: Bundle) -> tuple[tuple[str, int], ...]:
    return tuple((file, _end_s(chain, trust)) for file, chain in sorted(chains.items()) if chain)


def _trust(data: Json) -> Bundle:
    return bundle_of(_text(data.get("ca.crt", "")))


def _chains(data: Json) -> dict[str, tuple[Certificate, ...]]:
    """The certificates by file; none for a file that has none that can be read."""
    return {str(key): _chain(str(value)) for key, value in data.items() if str(key).startswith(_STORE)}


def _chain(value: str) -> tuple[Certificate, ...]:
    if len(value) > _MAX_CHARS:
        return ()
    try:
        found = [each.content for each in blocks(base64.b64decode(value)) if each.label == "CERTIFICATE"]
        return tuple(map(read_certificate, found[:CHAIN_MAX]))
    except (binascii.Error, NotPem, BadCertificate, ValueError):
        return ()


def _text(value: object) -> str:
    try:
        return base64.b64decode(str(value)).decode()
    except (binascii.Error, ValueError):
        return ""


def _names(*certificates: Certificate) -> frozenset[str]:
    return frozenset(name.removeprefix(_DNS) for one in certificates for name in one.names if name.startswith(_DNS))


def _end_s(chain: tuple[Certificate, ...], trust: Bundle) -> int:
    """When nobody who trusts these authorities accepts the chain any more."""
    between, _ = anchored(chain, trust)
    return min(int(each.not_after.timestamp()) for each in (chain[0], *between))
