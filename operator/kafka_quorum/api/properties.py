"""Which server properties belong to the operator, and what a property may look like.

The operator owns the properties that decide a controller's identity, its disk, its listeners or its membership: another
value there breaks the safety rules. All others, such as `controller.quorum.fetch.timeout.ms`, belong to the user.
"""

import re
from collections.abc import Mapping

OWNED: frozenset[str] = frozenset(
    {
        "process.roles",
        "node.id",
        "broker.id",
        "broker.id.generation.enable",
        "reserved.broker.max.id",
        "controller.quorum.voters",
        "controller.quorum.bootstrap.servers",
        "controller.quorum.auto.join.enable",
        "listeners",
        "advertised.listeners",
        "early.start.listeners",
        "controller.listener.names",
        "control.plane.listener.name",
        "listener.security.protocol.map",
        "inter.broker.listener.name",
        "inter.broker.protocol.version",
        "security.inter.broker.protocol",
        "log.dir",
        "log.dirs",
        "metadata.log.dir",
    }
)
OWNED_PREFIXES: tuple[str, ...] = ("zookeeper.", "unstable.")
ZNODE_ACLS = "zookeeper.set.acl"
"""Whether what a server creates in ZooKeeper belongs to its own user, or to everybody."""
NOT_OWNED: frozenset[str] = frozenset({ZNODE_ACLS})
"""Properties of these prefixes that belong to the user all the same."""

KEY_FORM = "[A-Za-z0-9][A-Za-z0-9._-]*"
MAX_PROPERTIES = 200
MAX_VALUE_CHARACTERS = 4096
MAX_BYTES = 960 * 1024
"""The limit of the spec's properties for all controllers together: their ConfigMap has 1 MiB, ours included."""
_ESCAPED_BYTES = 3
"""For each byte of UTF-16: a unit of two bytes is written in six characters."""

MILLISECONDS: frozenset[str] = frozenset(
    {
        "controller.quorum.election.backoff.max.ms",
        "controller.quorum.election.timeout.ms",
        "controller.quorum.fetch.timeout.ms",
        "controller.quorum.request.timeout.ms",
    }
)
"""Timeouts that the operator itself computes with: they must be numbers before Kafka sees them."""

FETCH_TIMEOUT = "controller.quorum.fetch.timeout.ms"
DEFAULT_FETCH_TIMEOUT_MS = 2000


def owned(key: str) -> bool:
    """Whether the operator alone sets this property."""
    return key not in NOT_OWNED and (key in OWNED or key.startswith(OWNED_PREFIXES))


def well_formed_key(key: str) -> bool:
    """Whether this can be the name of a property, without any escaping."""
    return re.fullmatch(KEY_FORM, key) is not None


def most_bytes(config: Mapping[str, str]) -> int:
    """The largest possible length of these properties as lines of a file, without escaping them."""
    return sum(_most_bytes(key) + _most_bytes(value) + 2 for key, value in config.items())


def _most_bytes(text: str) -> int:
    if text.isascii() and "\x7f" not in text:
        return len(text) + text.count("\\") + 1
    return len(text.encode("utf-16-be", "surrogatepass")) * _ESCAPED_BYTES


def has_line_break(text: str) -> bool:
    """Whether a value would not stay on its line of the properties file."""
    return any(character < " " and character != "\t" for character in text)
