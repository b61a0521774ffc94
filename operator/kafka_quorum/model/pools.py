"""The pools of a quorum as it sees them: who needs a certificate, and for which names. Pools ask the same questions.

A broker is reached at its host name of the cluster, which a wildcard covers at every scale, at the service that clients
begin at, and at the hosts of its external listeners.
"""

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from itertools import accumulate
from typing import Final

from kafka_quorum.model.names import GROUP, brokers_tls_name, request_name
from kit.pki.certificate import NAMES_MAX, NAMES_MAX_CHARS

LABEL_POOL: Final = f"{GROUP}/pool"
REPLICATION_TLS: Final = f"{GROUP}/replication-tls"
"""On a pod of a broker, `true`: its listener REPLICATION has mutual TLS. It only says how this broker is asked."""
RENAMING: Final = frozenset({"principal.builder.class", "ssl.principal.mapping.rules"})
"""Settings of Kafka that give a client another name than the subject of its certificate."""
_DOMAIN: Final = "cluster.local"
_INSIDE: Final = (".svc", f".svc.{_DOMAIN}", ".local", ".localhost")
_LABEL: Final = "[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?"
_HOST: Final = re.compile(rf"{_LABEL}([.]{_LABEL})+")
_HOST_MAX_CHARS: Final = 253
_SECRET: Final = re.compile(rf"{_LABEL}([.]{_LABEL})*")
_ID: Final = "{id}"


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class PoolSeen:
    """A pool of this quorum: the resource, and the names that its brokers' certificate must have, sorted.

    `secret` is the one that its spec names; empty if it names none. `hosts` are those that a certificate of another
    issuer must cover: of each broker, of the service that clients begin at, and of external listeners.
    """

    name: str
    uid: str
    names: tuple[str, ...]
    secret: str = ""
    hosts: tuple[str, ...] = ()


def pool_tls_name(quorum: str, pool: str) -> str:
    """The Secret that brokers with TLS of their own mount. No other name of ours has a dot after a quorum's."""
    return f"{brokers_tls_name(quorum)}.{pool}"


def pool_request_name(quorum: str, pool: str) -> str:
    """The Certificate with which cert-manager is asked for a pool, and the Secret that it fills."""
    return f"{request_name(quorum, 'brokers')}.{pool}"


def reader(pool: str) -> str:
    """This pool in the annotation of a Secret that it may use."""
    return f"KafkaBrokerPool/{pool}"


def secret_named(text: object) -> str:
    """The Secret that the spec of a pool names; empty if it names none, or what it has is no name."""
    is_name = isinstance(text, str) and len(text) <= _HOST_MAX_CHARS and _SECRET.fullmatch(text) is not None
    return str(text) if is_name else ""


def headless_name(pool: str) -> str:
    """The headless service of the brokers."""
    return f"{pool}-brokers"


def bootstrap_name(pool: str) -> str:
    """The service that clients inside the cluster begin at."""
    return f"{pool}-bootstrap"


def broker_host(namespace: str, pool: str, node_id: int) -> str:
    """A broker's host name from anywhere in the cluster, without the cluster's own domain."""
    return f"{pool}-{node_id}.{headless_name(pool)}.{namespace}.svc"


def wanted_names(namespace: str, pool: str, hosts: Iterable[str], ids: Iterable[int]) -> tuple[str, ...]:
    """The names that a pool's certificate should have, sorted: inside the cluster, and the `hosts` by node id.

    Hosts that can be in no certificate of a pool are left out (`why_no_name` says why). They may be too many.
    """
    inside = (f"*.{headless_name(pool)}.{namespace}.svc", f"{bootstrap_name(pool)}.{namespace}.svc")
    listed = tuple(ids)
    found = {*inside, *(f"{each}.{_DOMAIN}" for each in inside)}
    for host in hosts:
        each = [host.replace(_ID, str(node_id)) for node_id in listed] if _ID in host else [host]
        found |= {name.lower() for name in each if not why_no_name(name)}
    return tuple(sorted(found))


def have_room(names: Collection[str]) -> bool:
    """Whether one certificate of ours may have all of these names: what is issued can be read, and Java accepts it."""
    return len(names) <= NAMES_MAX and sum(map(len, names)) <= NAMES_MAX_CHARS


def certified_names(namespace: str, pool: str, hosts: Iterable[str], ids: Iterable[int]) -> tuple[str, ...]:
    """The names of a pool's certificate, sorted: of those that it should have, the first ones that have room in one.

    A spec that asks for more is refused. Still, its pool is looked at.
    """
    wanted = wanted_names(namespace, pool, hosts, ids)[:NAMES_MAX]
    most = sum(1 for chars in accumulate(map(len, wanted)) if chars <= NAMES_MAX_CHARS)
    return wanted[:most]


def reached_hosts(namespace: str, pool: str, hosts: Iterable[str], ids: Iterable[int]) -> tuple[str, ...]:
    """The hosts that clients and brokers ask for, sorted. A certificate may have them one by one, or by a wildcard."""
    listed = tuple(ids)
    named = {each for each in certified_names(namespace, pool, hosts, listed) if not each.startswith("*.")}
    own = {broker_host(namespace, pool, node_id) for node_id in listed}
    return tuple(sorted(own | {each for each in named if not each.endswith(f".svc.{_DOMAIN}")}))


def uncovered(hosts: Iterable[str], names: Collection[str]) -> tuple[str, ...]:
    """The hosts that these names of a certificate do not cover."""
    return tuple(each for each in hosts if not {each, f"*.{each.partition('.')[2]}"} & set(names))


def why_no_name(host: str) -> str:
    """Why this host of an external listener can be in no certificate, as a clause; empty if it can.

    Names inside the cluster belong to services, among them the controllers': no pool may show a certificate for one.
    """
    name = host.replace(_ID, "0").lower()
    if _HOST.fullmatch(name) is None or len(name) > _HOST_MAX_CHARS or name.rpartition(".")[2].isdigit():
        return "it is not a host name with a domain, such as broker-{id}.example.org"
    if name.endswith(_INSIDE):
        return "it is a name inside the cluster"
    return ""
