"""`server.properties` of a controller. The operator owns what is set here, and the spec may not set it."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from kafka_quorum.model.desired import ControllerListener, Runtime
from kafka_quorum.model.ids import Member, NodeID
from kafka_quorum.model.names import LOG_NAME, host_name
from kafka_quorum.model.observed import Revision
from kafka_quorum.resources import tls, zookeeper

DATA_PATH: Final = "/var/lib/kafka/data"
LOG_DIR: Final = f"{DATA_PATH}/{LOG_NAME}"
"""A directory within the volume, because file systems put a `lost+found` beside it."""
CONFIG_PATH: Final = "/etc/kafka-quorum"

LOG4J2: Final = """\
status = error
appender.console.type = Console
appender.console.name = console
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = [%d] %p %m (%c)%n
rootLogger.level = info
rootLogger.appenderRef.console.ref = console
"""
JAVA_SECURITY: Final = """\
networkaddress.cache.ttl=1
networkaddress.cache.negative.ttl=0
"""
"""A recreated pod has another address under its old name. By default, Java uses the old address for 30 s, and caches
for 10 s that there is none. For that time a leader could not reach a replaced controller, and not add it (measured on
4.4.0).
"""
LOG4J: Final = """\
log4j.rootLogger=INFO, console
log4j.appender.console=org.apache.log4j.ConsoleAppender
log4j.appender.console.layout=org.apache.log4j.PatternLayout
log4j.appender.console.layout.ConversionPattern=[%d] %p %m (%c)%n
"""


def server_properties(namespace: str, member: Member, node_ids: tuple[NodeID, ...], revision: Revision) -> str:
    """The whole file: our properties first, then the spec's own.

    The bootstrap servers are those of the node ids at the time. They are only a first contact, so scaling restarts no
    controller. A quorum at kraft.version 0 has its voters here, and nothing else: bootstrap servers alone make no
    voters.
    """
    runtime = revision.runtime
    listeners, preferred = _listeners(runtime), runtime.preferred

    def host(node_id: NodeID) -> str:
        return host_name(namespace, replace(member, node_id=node_id))

    def address(node_id: NodeID) -> str:
        return f"{host(node_id)}:{preferred.port}"

    if runtime.static_voters:
        voters = (f"{other}@{address(other)}" for other in runtime.static_voters)
        found_by = ("controller.quorum.voters", ",".join(voters))
    else:
        found_by = ("controller.quorum.bootstrap.servers", ",".join(map(address, node_ids)))
    protocols, beside = [f"{each.name}:{each.protocol.value}" for each in listeners], _beside_zookeeper(runtime)
    if runtime.zookeeper is not None and all(runtime.zookeeper.listener != each.name for each in listeners):
        protocols.append(f"{runtime.zookeeper.listener}:{runtime.zookeeper.protocol}")
    own = host(member.node_id)
    owned = (
        ("process.roles", "controller"),
        ("node.id", str(member.node_id)),
        ("listeners", ",".join(f"{each.name}://:{each.port}" for each in listeners)),
        ("advertised.listeners", ",".join(f"{each.name}://{own}:{each.port}" for each in listeners)),
        ("controller.listener.names", ",".join(each.name for each in listeners)),
        ("listener.security.protocol.map", ",".join(protocols)),
        found_by,
        *tls.properties(runtime, CONFIG_PATH),
        *beside,
        ("controller.quorum.auto.join.enable", "false"),  # removed voters that still run would rejoin in seconds
        ("log.dirs", LOG_DIR),
        ("metadata.log.dir", LOG_DIR),
    )
    return lines((*owned, *runtime.config))


def _listeners(runtime: Runtime) -> tuple[ControllerListener, ...]:
    """The controllers' listeners, in the order of `controller.listener.names`: they reach each other by the first."""
    return (runtime.preferred, *(each for each in runtime.listeners if each != runtime.preferred))


def _beside_zookeeper(runtime: Runtime) -> tuple[tuple[str, str], ...]:
    """What a controller needs to copy metadata from ZooKeeper and to keep it up to date there (KIP-866).

    It speaks to brokers that still use ZooKeeper, at the listener that they use among themselves.
    """
    if runtime.zookeeper is None:
        return ()
    return (
        *zookeeper.properties(runtime.zookeeper.access),
        ("zookeeper.metadata.migration.enable", "true"),
        ("inter.broker.listener.name", runtime.zookeeper.listener),
    )


def lines(properties: Iterable[tuple[str, str]]) -> str:
    """Properties as lines of a file that Java reads back to the same keys and values."""
    return "".join(f"{_key(key)}={_value(value)}\n" for key, value in properties)


def _key(text: str) -> str:
    for character in ("\\", "=", ":", " ", "#", "!"):
        text = text.replace(character, f"\\{character}")
    return _latin(text)


def _value(text: str) -> str:
    escaped = text.replace("\\", "\\\\")
    return _latin(f"\\{escaped}" if escaped.startswith((" ", "\t")) else escaped)


def _latin(text: str) -> str:
    """Java reads the file as Latin-1: the rest is written as UTF-16 escapes."""
    if text.isascii() and "\x7f" not in text:
        return text
    return "".join(character if ord(character) < 127 else _escaped(character) for character in text)  # noqa: PLR2004 - ASCII


def _escaped(character: str) -> str:
    units = character.encode("utf-16-be")
    return "".join(f"\\u{units[index]:02x}{units[index + 1]:02x}" for index in range(0, len(units), 2))
