"""Which super users brokers with an authorizer need: the operator must see every topic. Pure.

Kafka leaves topics that a client must not describe out of its answers, without an error (measured on 3.9.2).
"""

from collections.abc import Mapping
from typing import Final

from kafka_quorum.model.contract import Contract
from kafka_quorum.model.material import Role
from kit.pki.names import DistinguishedName, NoPrincipal

AUTHORIZER: Final = "authorizer.class.name"
SUPER_USERS: Final = "super.users"
NOBODY: Final = "User:ANONYMOUS"
"""The principal of each client that connects to a listener without authentication."""


def has_authorizer(config: Mapping[str, str], contract: Contract) -> bool:
    """Whether brokers with this config of a pool have one: the contract overrides the pool."""
    ruled = contract.setting(AUTHORIZER)
    return bool(config.get(AUTHORIZER) if ruled is None else ruled.value)


def lacks_anonymous(super_users: str) -> bool:
    """Whether a listener REPLICATION without TLS would not let the operator see every topic."""
    return NOBODY not in _users(super_users)


def lacks_servers(super_users: str, namespace: str, quorum: str, contract: Contract) -> tuple[str, ...]:
    """The users of the brokers and of the operator that are missing, for a listener REPLICATION with mutual TLS."""
    if contract.given:
        wanted = list(contract.principals) or ["the users of the quorum's certificates, which it has not published yet"]
        return tuple(each for each in wanted if each not in _users(super_users))
    try:
        subjects = [DistinguishedName(cn=role.value, ou=quorum, o=namespace) for role in (Role.BROKERS, Role.OPERATOR)]
        wanted = [f"User:{each.principal}" for each in subjects]
    except NoPrincipal:  # the name of the quorum has a fault of its own
        return ()
    return tuple(each for each in wanted if each not in _users(super_users))


def _users(text: str) -> set[str]:
    return {each.strip() for each in text.split(";")}
