"""How the operator reaches the controllers of a pool's quorum: by the listener that the contract gives to brokers.

It reaches brokers by their listener REPLICATION.

With TLS it shows its own certificate of the quorum, or its user. Both are in the quorum's Secrets, which are read by
name in every look, so that a renewed certificate is used at once. What is read is in the endpoints, and is never shown.
"""

from typing import Final

from kafka_quorum.model.contract import Contract
from kafka_quorum.model.desired import Protocol
from kafka_quorum.model.known import Knowable, Known, Unknown
from kafka_quorum.model.names import brokers_tls_name, operator_tls_name, users_name
from kafka_quorum.model.security import PLAINTEXT, Mechanism, Sasl, Secured, Security
from kafka_quorum.resources.contract import PROTOCOL_MAP
from kafka_quorum.resources.secrets import texts_of
from kafka_quorum.resources.security import own_tls_from
from kafka_quorum.resources.users import OPERATOR, users_from
from kit.errors import KubeError
from kit.kube.protocol import Json, KubeApi
from kit.kube.secrets import SECRETS
from kit.parsing import Malformed

_NOT_YET: Final = "The operator of the quorum creates it"


async def access_to(kube: KubeApi, namespace: str, quorum: str, contract: Contract) -> Knowable[Security]:
    """How a connection to the controllers is secured; Unknown, with the reason, without what it needs."""
    protocol = _protocol(contract)
    if protocol == Protocol.PLAINTEXT.value:
        return Known(value=PLAINTEXT)
    try:
        trust = texts_of(await _secret(kube, namespace, brokers_tls_name(quorum)), quorum)
        if protocol == Protocol.SSL.value:
            own = texts_of(await _secret(kube, namespace, operator_tls_name(quorum)), quorum)
            return Known(value=Secured(tls=own_tls_from(trust, own)))
        _, passwords = users_from(await _secret(kube, namespace, users_name(quorum)), quorum)
        user = Sasl(mechanism=Mechanism.PLAIN, username=OPERATOR, password=passwords[OPERATOR])
        return Known(value=Secured(tls=own_tls_from(trust, None), sasl=user))
    except (KubeError, Malformed) as error:
        return Unknown(reason=f"the controllers cannot be asked with TLS: {error}")


async def access_to_brokers(kube: KubeApi, namespace: str, quorum: str) -> Knowable[Security]:
    """How a connection to REPLICATION with TLS is secured: by the operator's certificate; Unknown without it."""
    try:
        trust = texts_of(await _secret(kube, namespace, brokers_tls_name(quorum)), quorum)
        own = texts_of(await _secret(kube, namespace, operator_tls_name(quorum)), quorum)
        return Known(value=Secured(tls=own_tls_from(trust, own)))
    except (KubeError, Malformed) as error:
        return Unknown(reason=f"the brokers cannot be asked with TLS: {error}")


def _protocol(contract: Contract) -> str:
    """The protocol of the controllers' listener: a contract with a Secret names it in the map of protocols."""
    named = contract.setting(PROTOCOL_MAP)
    if not contract.secrets or named is None:
        return Protocol.PLAINTEXT.value
    return named.value.rpartition(":")[2]


async def _secret(kube: KubeApi, namespace: str, name: str) -> Json:
    """The Secret (`KubeError`, `Malformed`)."""
    item = await kube.get(SECRETS, namespace, name)
    if item is None:
        raise Malformed(f"Secret {name} does not exist. {_NOT_YET}")
    return item
