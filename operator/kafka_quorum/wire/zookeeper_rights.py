"""Which rights the migration's driver would lack in ZooKeeper, proved without a change.

Every proof is a transaction that cannot succeed: its last operation requires a version that no node has. ZooKeeper
carries out a transaction as a whole, so nothing of it stays. It checks one operation after another, and names the first
that fails: NoAuth means that the right is missing, and any other failure means that it is there.

ZooKeeper's ACLs are those of single nodes. The nodes that Kafka creates per topic and per entity are tried in
samples of `SAMPLES` each.

The nodes are those that the driver of 3.9 writes (`kafka.zk.migration`): it claims `/controller`, keeps its state in
`/migration`, and from then on writes topics, settings, ACLs, tokens and the block of producer ids.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final

from kazoo.exceptions import NoAuthError

from kafka_quorum.wire.zookeeper_nodes import child_names
from kafka_quorum.wire.zookeeper_session import Session
from kit.parsing import Malformed
from kit.text import WORDS_MAX_CHARS, clean

SAMPLES: Final = 16
MAX_DENIED: Final = 20
"""How many missing rights are named; the last sentence counts the others."""
MAX_NAMES: Final = 400_000
"""How many names of nodes are listed, of which some are tried: those of ACLs and of settings."""
NEVER: Final = -2
"""A version that no node has: ZooKeeper counts from 0, and reads -1 as any."""
_PROBE: Final = "kafka-quorum-operator-probe"


class Right(Enum):
    """What the driver does with a node."""

    CHILDREN = "create and delete nodes below"
    WRITE = "write"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Probe:
    path: str
    right: Right


_CONFIGS: Final = ("/config/topics", "/config/brokers", "/config/users", "/config/clients", "/config/ips")
_FIXED: Final = (
    _Probe(path="/", right=Right.CHILDREN),  # /controller and /migration
    _Probe(path="/controller_epoch", right=Right.WRITE),
    _Probe(path="/migration", right=Right.WRITE),
    _Probe(path="/brokers/topics", right=Right.CHILDREN),
    *(_Probe(path=path, right=Right.CHILDREN) for path in _CONFIGS),
    _Probe(path="/config/changes", right=Right.CHILDREN),
    _Probe(path="/admin/delete_topics", right=Right.CHILDREN),
    _Probe(path="/kafka-acl", right=Right.CHILDREN),
    _Probe(path="/kafka-acl-changes", right=Right.CHILDREN),
    _Probe(path="/kafka-acl-extended", right=Right.CHILDREN),
    _Probe(path="/kafka-acl-extended-changes", right=Right.CHILDREN),
    _Probe(path="/delegation_token/tokens", right=Right.CHILDREN),
    _Probe(path="/latest_producer_id_block", right=Right.WRITE),
)
_LISTED: Final = (*_CONFIGS, "/delegation_token/tokens")
"""Nodes whose children are written, and have no children themselves."""
_ACL_ROOTS: Final = ("/kafka-acl", "/kafka-acl-extended/prefixed")


def denied(session: Session, topics: Sequence[str]) -> tuple[str, ...]:
    """One sentence for each right that is missing (ZooKeeperError if it cannot be found out)."""
    probes = (*_FIXED, *_of_topics(session, topics), *_of_entities(session), *_of_acls(session))
    missing = [probe for probe, refused in session.transactions(_tried(session, probes)) if refused_first(refused)]
    sentences = tuple(_sentence(session, probe) for probe in missing)
    if len(sentences) <= MAX_DENIED:
        return sentences
    return (*sentences[: MAX_DENIED - 1], f"{len(sentences) - MAX_DENIED + 1} more rights are missing in ZooKeeper")


def refused_first(results: Sequence[Any]) -> bool:
    """Whether an operation of the probe, and not its impossible end, was refused for the lack of a right."""
    return any(isinstance(result, NoAuthError) for result in results[:-1])


def _tried(session: Session, probes: Iterable[_Probe]) -> Iterator[tuple[_Probe, Any]]:
    for probe in probes:
        transaction = session.client.transaction()
        if probe.right is Right.WRITE:
            transaction.set_data(probe.path, b"", version=NEVER)
        else:
            child = f"{probe.path.rstrip('/')}/{_PROBE}"
            transaction.create(child, b"")
            transaction.delete(child)
        transaction.check("/", version=NEVER)
        yield probe, transaction


def _of_topics(session: Session, topics: Sequence[str]) -> Iterator[_Probe]:
    for topic in _sample(topics):
        yield _Probe(path=f"/brokers/topics/{topic}", right=Right.WRITE)
        yield _Probe(path=f"/brokers/topics/{topic}", right=Right.CHILDREN)
    roots = [f"/brokers/topics/{topic}/partitions" for topic in _sample(topics)]
    for path, partitions in _children(session, roots).items():
        yield _Probe(path=path, right=Right.CHILDREN)
        for partition in partitions[:1]:
            yield _Probe(path=f"{path}/{partition}", right=Right.CHILDREN)
            yield _Probe(path=f"{path}/{partition}/state", right=Right.WRITE)


def _of_entities(session: Session) -> Iterator[_Probe]:
    for path, names in _children(session, _LISTED).items():
        for name in _sample(names):
            yield _Probe(path=f"{path}/{name}", right=Right.WRITE)


def _of_acls(session: Session) -> Iterator[_Probe]:
    kinds = [f"{root}/{kind}" for root, kinds in _children(session, _ACL_ROOTS).items() for kind in kinds]
    for path, names in _children(session, kinds).items():
        yield _Probe(path=path, right=Right.CHILDREN)
        for name in _sample(names):
            yield _Probe(path=f"{path}/{name}", right=Right.WRITE)


def _children(session: Session, paths: Iterable[str]) -> Mapping[str, tuple[str, ...]]:
    """The children of those that exist."""
    found: dict[str, tuple[str, ...]] = {}
    left = MAX_NAMES
    for path, names in session.children_all(paths):
        if names is not None:
            found[path] = child_names(names)
            left -= len(names)
        if left < 0:
            raise Malformed(f"the nodes whose rights are tried have more than {MAX_NAMES} children")
    return found


def _sample(names: Sequence[str]) -> tuple[str, ...]:
    """Some of them, spread over the whole; all if they are few."""
    if len(names) <= SAMPLES:
        return tuple(names)
    return tuple(names[index * len(names) // SAMPLES] for index in range(SAMPLES))


def _sentence(session: Session, probe: _Probe) -> str:
    path = clean(probe.path, max_chars=WORDS_MAX_CHARS)
    return (
        f"ZooKeeper does not let {session.who} {probe.right.value} {path}, which the migration must: allow it with"
        " setAcl, or give the Secret the user that the brokers have"
    )
