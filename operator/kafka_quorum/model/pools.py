"""The pools of a quorum as it sees them: who needs a certificate, and for which names. Pools ask the same questions.

A broker is reached at its host name of the cluster, which a wildcard covers at every scale, at the service that clients
begin at, and at the hosts of its external listeners.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import accumulate, islice
from itertools import count as numbers
from typing import Final

from kafka_quorum.model.names import GROUP, brokers_tls_name, request_name
from kit.parsing import INT32_MAX
from kit.pki.certificate import NAMES_MAX, NAMES_MAX_CHARS

LABEL_POOL: Final = f"{GROUP}/pool"
REPLICATION_TLS: Final = f"{GROUP}/replication-tls"
"""On a pod of a broker, `true`: its listener REPLICATION has mutual TLS. It only says how this broker is asked."""
RENAMING: Final = frozenset({"principal.builder.class", "ssl.principal.mapping.rules"})
"""Settings of Kafka that give a client another name than the subject of its certificate."""
ENCRYPTED: Final = ("SSL", "SASL_SSL")
"""The protocols of listeners with TLS."""
_DOMAIN: Final = "cluster.local"
_INSIDE: Final = (".svc", f".svc.{_DOMAIN}", ".local", ".localhost")
_LABEL: Final = "[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?"
_HOST: Final = re.compile(rf"{_LABEL}([.]{_LABEL})+")
_HOST_MAX_CHARS: Final = 253
_SECRET: Final = re.compile(rf"{_LABEL}([.]{_LABEL})*")
_ID: Final = "{id}"
_HOSTS_MAX: Final = 8
"""So many hosts of one spec are looked at: a spec with more listeners is refused."""
_LONGEST_ID: Final = str(INT32_MAX)


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class PoolSeen:
    """A pool of this quorum: the resource, and the names that its brokers' certificate must have, sorted.

    `secret` is the one that its spec names; empty if it names none. `hosts` are those that a certificate of another
    issuer must cover: of each broker, of the service that clients begin at, and of external listeners. `left_out` are
    names of brokers that the pool has, for which one certificate has no room.
    """

    name: str
    uid: str
    names: tuple[str, ...]
    secret: str = ""
    hosts: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()


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


def lowest_free(first: int, count: int, taken: Collection[int]) -> tuple[int, ...]:
    """So many node ids from the first one on that are not taken."""
    return tuple(islice((node_id for node_id in numbers(first) if node_id not in taken), max(count, 0)))


def has_tls(spec: object) -> bool:
    """Whether a spec that nobody has checked has a listener with TLS."""
    return any(True for _ in _with_tls(spec))


def tls_hosts(spec: object) -> tuple[str, ...]:
    """The hosts of these listeners."""
    found = (one.get("host") for one in _with_tls(spec))
    return tuple(islice((host for host in found if isinstance(host, str) and host), _HOSTS_MAX))


def _with_tls(spec: object) -> Iterator[Mapping[str, object]]:
    listeners = spec.get("listeners") if isinstance(spec, dict) else None
    for one in listeners if isinstance(listeners, list) else ():
        if isinstance(one, dict) and one.get("protocol") in ENCRYPTED:
            yield one


def inside_names(namespace: str, pool: str) -> tuple[str, ...]:
    """The names inside the cluster, which cover its brokers at every scale."""
    inside = (f"*.{headless_name(pool)}.{namespace}.svc", f"{bootstrap_name(pool)}.{namespace}.svc")
    return (*inside, *(f"{each}.{_DOMAIN}" for each in inside))


def outside_names(hosts: Collection[str], ids: Iterable[int]) -> tuple[str, ...]:
    """The names of these hosts: first those without a node id, then broker by broker, in the order of `ids`.

    Hosts that can be in no certificate of a pool are left out (`why_no_name` says why).
    """
    usable = [host.lower() for host in hosts if not why_no_name(host)]
    found = dict.fromkeys(host for host in usable if _ID not in host)
    numbered = [(host, bool(why_no_name(host.replace(_ID, _LONGEST_ID)))) for host in usable if _ID in host]
    for node_id in ids:
        number = str(node_id)
        for host, is_long in numbered:
            name = host.replace(_ID, number)
            if not (is_long and why_no_name(name)):
                found[name] = None
    return tuple(found)


def wanted_names(namespace: str, pool: str, hosts: Collection[str], ids: Iterable[int]) -> tuple[str, ...]:
    """The names that a pool's certificate should have, sorted: inside the cluster, and the `hosts` by node id.

    They may be too many.
    """
    return tuple(sorted({*inside_names(namespace, pool), *outside_names(hosts, ids)}))


def have_room(names: Collection[str]) -> bool:
    """Whether one certificate of ours may have all of these names: what is issued can be read, and Java accepts it."""
    return len(names) <= NAMES_MAX and sum(map(len, names)) <= NAMES_MAX_CHARS


def with_room(names: Iterable[str]) -> tuple[str, ...]:
    """The first ones of these names that have room in one certificate together, sorted."""
    listed = tuple(dict.fromkeys(names))[:NAMES_MAX]
    most = sum(1 for chars in accumulate(map(len, listed)) if chars <= NAMES_MAX_CHARS)
    return tuple(sorted(listed[:most]))


def certified_names(namespace: str, pool: str, hosts: Collection[str], ids: Iterable[int]) -> tuple[str, ...]:
    """The names of a pool's certificate, sorted: of those that it should have, the ones that have room in one.

    Those of the first `ids` come first. A spec that asks for more is refused. Still, its pool is looked at.
    """
    return with_room((*inside_names(namespace, pool), *outside_names(hosts, ids)))


def reached_hosts(namespace: str, pool: str, hosts: Collection[str], ids: Iterable[int]) -> tuple[str, ...]:
    """The hosts that clients and brokers ask for, sorted. A certificate may have them one by one, or by a wildcard."""
    listed = tuple(ids)
    named = {each for each in certified_names(namespace, pool, hosts, listed) if not each.startswith("*.")}
    own = {broker_host(namespace, pool, node_id) for node_id in listed}
    return tuple(sorted(own | {each for each in named if not each.endswith(f".svc.{_DOMAIN}")}))


def uncovered(hosts: Iterable[str], names: Collection[str]) -> tuple[str, ...]:
    """The hosts that these names of a certificate do not cover."""
    known = frozenset(names)
    return tuple(each for each in hosts if known.isdisjoint((each, f"*.{each.partition('.')[2]}")))


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
