"""Identities of a quorum: cluster ids, directory ids and replica keys, in Kafka's own notation.

Kafka writes its UUIDs as 22 characters of base64url without padding. A replica key, node id and directory id together,
is what a voter *is* (KIP-853): the same node id on another disk is another replica.
"""

import base64
import binascii
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NewType

from kit.parsing import quoted

NodeID = NewType("NodeID", int)
ClusterID = NewType("ClusterID", str)
DirectoryID = NewType("DirectoryID", str)

_UUID_BYTES = 16
_RESERVED = frozenset(value.to_bytes(_UUID_BYTES, "big") for value in range(101))
"""Kafka keeps the first hundred UUIDs for itself (zero, the metadata topic, lost and migrating directories)."""


def uuid_from_bytes(raw: bytes) -> str:
    """Kafka's text form of sixteen bytes."""
    return base64.urlsafe_b64encode(raw).decode().rstrip("=")


def uuid_to_bytes(text: str) -> bytes:
    """The sixteen bytes behind Kafka's text form; ValueError says what is wrong with it."""
    try:
        raw = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
    except (binascii.Error, ValueError) as error:
        raise ValueError(f"{quoted(text)} is not a Kafka UUID: 22 characters of base64url are expected") from error
    if len(raw) != _UUID_BYTES or uuid_from_bytes(raw) != text:
        raise ValueError(f"{quoted(text)} is not a Kafka UUID: 22 characters of base64url are expected")
    return raw


def is_reserved(raw: bytes) -> bool:
    """Whether Kafka keeps this UUID for itself."""
    return raw in _RESERVED


def usable_uuid(raw: bytes) -> bool:
    """Whether `kafka-storage.sh random-uuid` could make this UUID: it is not reserved, and not like an option.

    A cluster that a broker with ZooKeeper made may have a cluster id that begins with a dash (every 64th has).
    """
    return not is_reserved(raw) and not uuid_from_bytes(raw).startswith("-")


def parse_cluster_id(text: str) -> ClusterID:
    """A cluster id. Kafka itself accepts any text here, this operator only UUIDs (ValueError)."""
    uuid_to_bytes(text)
    return ClusterID(text)


def parse_directory_id(text: str) -> DirectoryID:
    """A directory id that a replica can have (ValueError if it is malformed or reserved)."""
    if is_reserved(uuid_to_bytes(text)):
        raise ValueError(f"{text!r} is one of Kafka's reserved UUIDs, not a directory id")
    return DirectoryID(text)


def id_fault(cluster_id: str, directory_ids: Iterable[str | None]) -> str | None:
    """What is wrong with the cluster id, or the first of the directory ids that is malformed; None stands for none."""
    try:
        parse_cluster_id(cluster_id)
        for directory_id in directory_ids:
            if directory_id is not None:
                parse_directory_id(directory_id)
    except ValueError as error:
        return str(error)
    return None


@dataclass(frozen=True, slots=True, order=True)
class Member:
    """A Kafka server of a cluster: the pool that it belongs to, and its node id.

    `pool` is the name of the resource that requests the server; the controllers of a KafkaQuorum are one pool. A node
    id is unique in the whole cluster. The Kubernetes objects of a server are named after both.
    """

    pool: str
    node_id: NodeID


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class ReplicaKey:
    """A replica: node id and directory id. `directory_id` is empty if the server reported none (kraft.version 0)."""

    node_id: NodeID
    directory_id: DirectoryID | None

    def __str__(self) -> str:
        """As in Kafka's own messages: `3000-AAAAAAAAQACAAAAAAAAAAQ`."""
        return f"{self.node_id}-{self.directory_id or 'no directory id'}"
