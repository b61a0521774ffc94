"""What Kafka keeps in ZooKeeper, from a node's bytes to values. Pure: no connection, no clock.

The text of a node is anyone's who can write to ZooKeeper. So each function reads it within bounds, and raises
`Malformed` with one clause for everything else; whoever reads the node adds its path. Names of topics, brokers and
users become parts of paths, so they are checked for their form before that.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlsplit

from kafka_quorum.model.ids import NodeID
from kafka_quorum.model.zookeeper import ControllerNode, EpochNode, MigrationNode, ZooKeeperBroker
from kafka_quorum.wire.bounds import MAX_BROKERS, MAX_PARTITIONS, MAX_ROWS
from kit.parsing import INT32_MAX, Malformed, json_object, number, quoted
from kit.text import MESSAGE_MAX_CHARS, NAME_MAX_CHARS, clean, is_clean

MAX_NODE_BYTES: Final = 4 * 1024 * 1024
"""The limit of one node's content. ZooKeeper itself refuses more than 1 MiB, unless it is told otherwise."""
MAX_TOPICS: Final = 100_000
MAX_SERVERS: Final = 32
MAX_CONNECT_CHARS: Final = 4_096
MAX_REPLICAS: Final = 1_000
"""The limit of one partition's replicas."""
ENCRYPTED: Final = (
    "ssl.keystore.password",
    "ssl.key.password",
    "ssl.truststore.password",
    "sasl.jaas.config",
    "ssl.keystore.key",
    "ssl.keystore.certificate.chain",
    "ssl.truststore.certificates",
)
"""Endings of the dynamic settings that Kafka 3.9 encrypts in ZooKeeper: those whose type is PASSWORD."""
_PORT: Final = 2181
_TOPIC: Final = re.compile(r"[a-zA-Z0-9._-]{1,249}")
_INT64_MAX: Final = 2**63 - 1
_DEFAULT: Final = "<default>"


@dataclass(frozen=True, slots=True, kw_only=True)
class Connect:
    """`zookeeper.connect`: servers as host and port, and the path above Kafka's nodes (empty for the root)."""

    servers: tuple[tuple[str, int], ...]
    chroot: str

    @property
    def hosts(self) -> str:
        """As a client of ZooKeeper takes it."""
        servers = (f"[{host}]:{port}" if ":" in host else f"{host}:{port}" for host, port in self.servers)
        return ",".join(servers) + self.chroot


@dataclass(frozen=True, slots=True, kw_only=True)
class Assignment:
    """A topic's partitions, each with the brokers that have a replica or get one; `moving` are being reassigned."""

    partitions: Mapping[int, frozenset[NodeID]]
    moving: frozenset[int] = frozenset()


def parse_connect(text: str) -> Connect:
    """`host:port,host:port/chroot` as Kafka reads it; a server without a port has 2181 (`Malformed`)."""
    if not is_clean(text, max_chars=MAX_CONNECT_CHARS):
        raise Malformed(f"{quoted(text)} is no list of host:port")
    listed, slash, path = text.partition("/")
    chroot = f"/{path}".rstrip("/") if slash else ""
    if any(part in ("", ".", "..") for part in chroot.split("/")[1:]):
        raise Malformed(f"{quoted(chroot)} is no path of ZooKeeper")
    servers = tuple(_server(part.strip()) for part in listed.split(","))
    if len(servers) > MAX_SERVERS:
        raise Malformed(f"it has {len(servers)} servers, at most {MAX_SERVERS} are used")
    return Connect(servers=servers, chroot=chroot)


def _server(text: str) -> tuple[str, int]:
    try:
        parts = urlsplit(f"zookeeper://{text}")
        host, port = parts.hostname, parts.port
    except ValueError:
        host, port = None, None
    if not host or "@" in text or "?" in text or "#" in text or " " in text or port == 0:
        raise Malformed(f"{quoted(text)} is no host:port")
    return host, port or _PORT


def text_of(data: bytes) -> str:
    """A node's content as text (`Malformed` if it is too long, or no UTF-8)."""
    if len(data) > MAX_NODE_BYTES:
        raise Malformed(f"it has {len(data)} bytes, at most {MAX_NODE_BYTES} are read")
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise Malformed("it is not UTF-8") from None


def cluster_id(data: bytes) -> str:
    """`/cluster/id` (`Malformed`)."""
    found = _object(data).get("id")
    if not isinstance(found, str) or not is_clean(found, max_chars=NAME_MAX_CHARS):
        raise Malformed(f"its id {quoted(found)} is no cluster id")
    return found


def controller(data: bytes, *, version: int, ephemeral: bool) -> ControllerNode:
    """`/controller` (`Malformed`). A broker writes the epoch of KRaft as -1, and releases before 3.4 write none."""
    value = _object(data, most=MESSAGE_MAX_CHARS)
    epoch = _integer(value.get("kraftControllerEpoch", -1), "its kraftControllerEpoch", low=-1)
    return ControllerNode(
        node_id=NodeID(_integer(value.get("brokerid"), "its brokerid")),
        kraft_epoch=None if epoch < 0 else epoch,
        ephemeral=ephemeral,
        version=version,
        raw=_raw(data),
    )


def controller_epoch(data: bytes, *, version: int) -> EpochNode:
    """`/controller_epoch`, a number in decimal digits (`Malformed`)."""
    return EpochNode(epoch=number(text_of(data)), version=version)


def migration(data: bytes, *, version: int) -> MigrationNode:
    """`/migration`. It never raises: what is wrong with it is its `fault`, because a stale one is a known danger."""
    try:
        value = _object(data, most=MESSAGE_MAX_CHARS)
        return MigrationNode(
            version=version,
            raw=_raw(data),
            kraft_controller_id=_integer(value.get("kraft_controller_id"), "its kraft_controller_id", low=-1),
            kraft_controller_epoch=_integer(value.get("kraft_controller_epoch"), "its kraft_controller_epoch", low=-1),
            kraft_metadata_offset=_integer(
                value.get("kraft_metadata_offset"), "its kraft_metadata_offset", low=-1, high=_INT64_MAX
            ),
            kraft_metadata_epoch=_integer(value.get("kraft_metadata_epoch"), "its kraft_metadata_epoch", low=-1),
        )
    except Malformed as error:
        return MigrationNode(version=version, raw=_raw(data), fault=str(error))


def broker(name: str, data: bytes) -> ZooKeeperBroker:
    """`/brokers/ids/NAME`: the broker's listeners, with the protocols of their names (`Malformed`)."""
    value = _object(data)
    endpoints, protocols = value.get("endpoints"), value.get("listener_security_protocol_map", {})
    if not isinstance(endpoints, list) or not 0 < len(endpoints) <= MAX_ROWS:
        raise Malformed("its endpoints are no list of listeners")
    if not all(isinstance(each, str) and is_clean(each, max_chars=2 * NAME_MAX_CHARS) for each in endpoints):
        raise Malformed("one of its endpoints cannot be shown")
    if not isinstance(protocols, dict):
        raise Malformed("its listener_security_protocol_map is no JSON object")
    return ZooKeeperBroker(
        node_id=broker_id(name), listeners=tuple(_with_protocol(each, protocols) for each in endpoints)
    )


def _with_protocol(endpoint: str, protocols: Mapping[str, object]) -> str:
    """`NAME://host:port` with the protocol of that name: a name without one is a protocol itself (`Malformed`)."""
    name, separator, address = endpoint.partition("://")
    if not separator:
        raise Malformed(f"its endpoint {quoted(endpoint)} has no name")
    protocol = protocols.get(name, name)
    if not isinstance(protocol, str) or not is_clean(protocol, max_chars=NAME_MAX_CHARS):
        raise Malformed(f"the protocol of its listener {quoted(name)} is {quoted(protocol)}, no text")
    return f"{protocol}://{address}"


def broker_id(name: object) -> NodeID:
    """The id of a broker, as a node's name (`Malformed`)."""
    return NodeID(number(name))


def broker_ids(names: Iterable[str]) -> tuple[NodeID, ...]:
    """The children of `/brokers/ids`, in ascending order (`Malformed`)."""
    found = tuple(sorted(map(broker_id, names)))
    if len(found) > MAX_BROKERS:
        raise Malformed(f"it has {len(found)} brokers, at most {MAX_BROKERS} are read")
    return found


def topic_names(names: Iterable[str]) -> tuple[str, ...]:
    """The children of `/brokers/topics`, in alphabetical order (`Malformed`)."""
    found = tuple(sorted(names))
    if len(found) > MAX_TOPICS:
        raise Malformed(f"it has {len(found)} topics, at most {MAX_TOPICS} are read")
    for name in found:
        if _TOPIC.fullmatch(name) is None or name in (".", ".."):
            raise Malformed(f"{quoted(name)} is no name of a topic")
    return found


def child_names(names: Iterable[str], *, most: int = MAX_TOPICS) -> tuple[str, ...]:
    """The names of any other node's children, in alphabetical order (`Malformed`)."""
    found = tuple(sorted(names))
    if len(found) > most:
        raise Malformed(f"it has {len(found)} children, at most {most} are read")
    for name in found:
        if not is_clean(name, max_chars=2 * NAME_MAX_CHARS) or "/" in name or name in (".", ".."):
            raise Malformed(f"{quoted(name)} is no name of a node")
    return found


def assignment(data: bytes) -> Assignment:
    """`/brokers/topics/NAME`: all replicas of each partition, also those being added or removed (`Malformed`)."""
    value = _object(data)
    partitions = value.get("partitions")
    if not isinstance(partitions, dict):
        raise Malformed("its partitions are no JSON object")
    if len(partitions) > MAX_PARTITIONS:
        raise Malformed(f"it has {len(partitions)} partitions, at most {MAX_PARTITIONS} are read")
    found = {number(index): _replicas(replicas) for index, replicas in partitions.items()}
    moving = set[int]()
    for name in ("adding_replicas", "removing_replicas"):
        changing = value.get(name, {})
        if not isinstance(changing, dict):
            raise Malformed(f"its {name} are no JSON object")
        for index, replicas in changing.items():
            place = number(index)
            if place not in found:
                raise Malformed(f"its {name} name partition {place}, which it does not have")
            found[place] |= _replicas(replicas)
            moving.add(place)
    return Assignment(partitions=found, moving=frozenset(moving))


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionState:
    """`epoch` is that of the controller that wrote it, `isr` the replicas in sync."""

    epoch: int
    isr: frozenset[NodeID]


def state(data: bytes) -> PartitionState:
    """`/brokers/topics/NAME/partitions/INDEX/state` (`Malformed`)."""
    found = _object(data)
    epoch = _integer(found.get("controller_epoch"), "its controller_epoch")
    return PartitionState(epoch=epoch, isr=_replicas(found.get("isr")))


def reassigning(data: bytes) -> tuple[str, ...]:
    """`/admin/reassign_partitions`: the partitions that it names, as `orders-3` (`Malformed`)."""
    rows = _object(data).get("partitions")
    if not isinstance(rows, list):
        raise Malformed("its partitions are no list")
    return tuple(sorted(_partition(row) for row in rows))


def encrypted(name: str, data: bytes) -> tuple[str, ...]:
    """`/config/brokers/NAME`: `broker 1: SETTING` for each setting that is encrypted, never a value (`Malformed`)."""
    settings = sorted(setting for setting in _config(data) if setting.endswith(ENCRYPTED))
    owner = "all brokers" if name == _DEFAULT else f"broker {broker_id(name)}"
    return tuple(f"{owner}: {clean(setting, max_chars=NAME_MAX_CHARS)}" for setting in settings)


def is_scram_user(data: bytes) -> bool:
    """`/config/users/NAME`: whether it holds a SCRAM credential; quotas alone make no user (`Malformed`)."""
    return any(setting.startswith("SCRAM-") for setting in _config(data))


def _config(data: bytes) -> dict[str, Any]:
    config = _object(data).get("config", {})
    if not isinstance(config, dict):
        raise Malformed("its config is no JSON object")
    return config


def _partition(row: object) -> str:
    if not isinstance(row, dict) or not isinstance(topic := row.get("topic"), str) or not _TOPIC.fullmatch(topic):
        raise Malformed("one of its partitions names no topic")
    return f"{topic}-{_integer(row.get('partition'), 'the number of a partition')}"


def _replicas(value: object) -> frozenset[NodeID]:
    if not isinstance(value, list) or len(value) > MAX_REPLICAS:
        raise Malformed("the replicas of one of its partitions are no list of brokers")
    return frozenset(NodeID(_integer(each, "a replica")) for each in value)


def _object(data: bytes, *, most: int = MAX_NODE_BYTES) -> dict[str, Any]:
    return json_object(text_of(data), max_chars=most)


def _integer(value: object, what: str, *, low: int = 0, high: int = INT32_MAX) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
        raise Malformed(f"{what} is {quoted(value)}, no number from {low} to {high}")
    return value


def _raw(data: bytes) -> str:
    """What a node holds, for a person and for a comparison; cut only if it is malformed."""
    return clean(data.decode(errors="replace"), max_chars=MESSAGE_MAX_CHARS)
