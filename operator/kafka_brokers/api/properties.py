"""Which server properties of brokers belong to the operator or to the quorum, and which change without a restart.

The operator owns the properties that decide a broker's identity, its disks, its listeners, its rack and its drain. The
table `dynamic_configs.json` has the names that a running broker changes by itself (KIP-226), in every release that it
names. It was read from Kafka's own classes (`DynamicBrokerConfig`). Names of listeners, TLS and SASL are not in it, nor
those of classes.
"""

import json
from functools import cache
from pathlib import Path
from typing import Final

from kafka_quorum.api import properties as controllers

_TABLE: Final = Path(__file__).with_name("dynamic_configs.json")

CLUSTER_WIDE: Final = frozenset({"min.insync.replicas", "unclean.leader.election.enable"})
"""The controllers use one value of these for the whole cluster: a broker's own has no effect, or a wrong one."""
OWNED: Final = (
    controllers.OWNED
    | CLUSTER_WIDE
    | {
        "advertised.host.name",
        "advertised.port",
        "broker.rack",
        "controlled.shutdown.enable",
        "cordoned.log.dirs",
        "follower.replication.throttled.rate",
        "follower.replication.throttled.replicas",
        "initial.broker.registration.timeout.ms",
        "leader.replication.throttled.rate",
        "leader.replication.throttled.replicas",
        "replica.alter.log.dirs.io.max.bytes.per.second",
    }
)
OWNED_PREFIXES: Final = (*controllers.OWNED_PREFIXES, "controller.", "listener.name.")
NOT_OWNED: Final = controllers.NOT_OWNED


STATIC_BEFORE_4: Final = frozenset(
    {
        "remote.list.offsets.request.timeout.ms",
        "remote.log.manager.copier.thread.pool.size",
        "remote.log.manager.expiration.thread.pool.size",
        "remote.log.reader.threads",
    }
)
"""Properties of the table that brokers of 3.9.2 read at their start only (its `DynamicBrokerConfig`)."""


def owned(key: str) -> str | None:
    """Why the spec may not set this property, as a clause that follows its name; None if it may."""
    if key in CLUSTER_WIDE:
        return (
            "is no setting of one broker: remove it. Set it on topics, or for all brokers with kafka-configs.sh "
            "--entity-type brokers --entity-default"
        )
    if key.startswith("controller."):
        return "belongs to the quorum: remove it. The KafkaQuorum decides it for every broker"
    if key not in NOT_OWNED and (key in OWNED or key.startswith(OWNED_PREFIXES)):
        return "belongs to the operator: remove it. The spec has fields for what can be chosen"
    return None


@cache
def _table(part: str) -> frozenset[str]:
    return frozenset(json.loads(_TABLE.read_text())[part])


def dynamic_names() -> frozenset[str]:
    """The properties that a running broker changes without a restart, in every release that a pool may run."""
    return _table("properties")


def is_dynamic(key: str, release: str = "") -> bool:
    """Whether a running broker of this release changes this property without a restart; by default of any since 4.0."""
    return key in dynamic_names() and not (key in STATIC_BEFORE_4 and release.startswith("3."))


def thread_counts() -> frozenset[str]:
    """The dynamic properties that are numbers of threads: a running broker changes them by a factor of two at most."""
    return _table("threads")
