"""The whole metadata of a cluster as its brokers report it, as one value, and the differences of two.

Leaders and ISRs are no part of it, because they change by themselves; assignments of replicas are. Of SCRAM credentials
brokers report mechanism and iterations only: that a password still works, a client has to show.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from confluent_kafka import KafkaException, TopicCollection
from confluent_kafka.admin import AdminClient
from confluent_kafka.admin._acl import AclBinding, AclBindingFilter, AclOperation, AclPermissionType
from confluent_kafka.admin._config import ConfigResource, ConfigSource
from confluent_kafka.admin._resource import ResourcePatternType, ResourceType

from harness import broker_settings, quotas
from harness.quotas import Quotas
from harness.zookeeper_brokers import PORT, ZooKeeperBrokers

_TIMEOUT_S: Final = 60.0
_AT_ONCE: Final = 100
_INTERNAL: Final = frozenset({"__consumer_offsets", "__transaction_state"})


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicImage:
    """A topic: its id, the replicas of each partition in their order, and the settings of its own."""

    topic_id: str
    replicas: Mapping[int, tuple[int, ...]]
    settings: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterImage:
    """A cluster's metadata. Brokers are named by their ids as texts, the default of all by an empty one."""

    cluster_id: str
    topics: Mapping[str, TopicImage] = field(default_factory=dict)
    broker_settings: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    acls: frozenset[str] = frozenset()
    users: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    quotas: Quotas = field(default_factory=dict)

    def rows(self) -> dict[str, str]:
        """Every fact of it by its name: `topic orders, partition 3, replicas` is `1, 2, 3`."""
        found = {"cluster id": self.cluster_id, **dict.fromkeys((f"ACL {acl}" for acl in self.acls), "there")}
        for name, topic in self.topics.items():
            found[f"topic {name}, id"] = topic.topic_id
            for index, replicas in topic.replicas.items():
                found[f"topic {name}, partition {index}, replicas"] = ", ".join(map(str, replicas))
            for key, value in topic.settings.items():
                found[f"topic {name}, {key}"] = value
        for broker, settings in self.broker_settings.items():
            for key, value in settings.items():
                found[f"broker {broker or '<default>'}, {key}"] = value
        for user, credentials in self.users.items():
            for mechanism, iterations in credentials.items():
                found[f"SCRAM user {user}, {mechanism}, iterations"] = str(iterations)
        for entity, values in self.quotas.items():
            for key, limit in values.items():
                found[f"quota {entity}, {key}"] = str(limit)
        return found

    def __str__(self) -> str:
        """Counts, for a line of figures."""
        partitions = sum(len(topic.replicas) for topic in self.topics.values())
        settings = sum(map(len, self.broker_settings.values()))
        return (
            f"{len(self.topics)} topics, {partitions} partitions, {len(self.acls)} ACLs, {len(self.users)} SCRAM users,"
            f" {len(self.quotas)} quotas, {settings} dynamic settings of brokers"
        )


def differences(before: ClusterImage, after: ClusterImage) -> tuple[str, ...]:
    """A sentence for each fact that only one of both has, or that has another value; sorted by its name."""
    old, new = before.rows(), after.rows()
    return tuple(
        _difference(name, old.get(name), new.get(name))
        for name in sorted(old.keys() | new.keys())
        if old.get(name) != new.get(name)
    )


def _difference(name: str, old: str | None, new: str | None) -> str:
    if old is None:
        return f"{name}: {new}, which was not there before"
    if new is None:
        return f"{name}: {old} before, and is missing"
    return f"{name}: {old} before, {new} after"


def read_image(cluster: ZooKeeperBrokers, without: Sequence[str] = ()) -> ClusterImage:
    """Read all of it through the brokers (KafkaException, OSError).

    The topics that brokers create are left out, and those of `without`.
    """
    client, some = cluster.client(), f"{cluster.address(cluster.node_ids[0])}:{PORT}"
    metadata = client.list_topics(timeout=_TIMEOUT_S)
    names = sorted(set(metadata.topics) - _INTERNAL - set(without))
    dynamic = {
        str(node_id): broker_settings.read(f"{cluster.address(node_id)}:{PORT}", str(node_id))
        for node_id in cluster.node_ids
    }
    return ClusterImage(
        cluster_id=str(metadata.cluster_id),
        topics=_topics(client, names),
        broker_settings={"": broker_settings.read(some, ""), **dynamic},
        acls=_acls(client),
        users=_users(client),
        quotas=quotas.read(some),
    )


def _topics(client: AdminClient, names: Sequence[str]) -> dict[str, TopicImage]:
    found = {}
    for first in range(0, len(names), _AT_ONCE):
        some = list(names[first : first + _AT_ONCE])
        described = client.describe_topics(TopicCollection(some), request_timeout=_TIMEOUT_S)
        resources = [ConfigResource(ResourceType.TOPIC, name) for name in some]
        configured = client.describe_configs(resources, request_timeout=_TIMEOUT_S)
        settings = {resource.name: answer.result(_TIMEOUT_S) for resource, answer in configured.items()}
        for name, answer in described.items():
            topic = answer.result(_TIMEOUT_S)
            found[name] = TopicImage(
                topic_id=str(topic.topic_id),
                replicas={row.id: tuple(node.id for node in row.replicas) for row in topic.partitions},
                settings=_own(settings[name]),
            )
    return found


def _own(entries: Mapping[str, Any]) -> dict[str, str]:
    """The settings that a topic has of its own."""
    source = ConfigSource.DYNAMIC_TOPIC_CONFIG.value
    return {
        name: broker_settings.HIDDEN if entry.value is None else str(entry.value)
        for name, entry in entries.items()
        if entry.source == source
    }


def _acls(client: AdminClient) -> frozenset[str]:
    anything: Any = None  # the client takes it, its types do not say so
    every = AclBindingFilter(
        ResourceType.ANY, anything, ResourcePatternType.ANY, anything, anything, AclOperation.ANY, AclPermissionType.ANY
    )
    found: list[AclBinding] = client.describe_acls(every, request_timeout=_TIMEOUT_S).result(_TIMEOUT_S)
    return frozenset(map(_acl, found))


def _acl(row: AclBinding) -> str:
    """One ACL as a text."""
    kind, pattern = ResourceType(row.restype).name, ResourcePatternType(row.resource_pattern_type).name
    what = f"{AclPermissionType(row.permission_type).name} {AclOperation(row.operation).name} from {row.host}"
    return f"{row.principal} on {kind} '{row.name}' ({pattern}): {what}"


def _users(client: AdminClient) -> dict[str, dict[str, int]]:
    """Every SCRAM user, with the iterations of each mechanism."""
    answer: Any = client.describe_user_scram_credentials(request_timeout=_TIMEOUT_S)
    return {
        user: {info.mechanism.name: info.iterations for info in row.scram_credential_infos}
        for user, row in answer.result(_TIMEOUT_S).items()
    }


def visible_topics(client: AdminClient, timeout_s: float = 15.0) -> frozenset[str]:
    """The topics that an authenticated client may describe: its credential and the ACLs decide (KafkaException)."""
    found = client.list_topics(timeout=timeout_s).topics
    broken = [topic for topic in found.values() if topic.error is not None]
    if broken:
        raise KafkaException(broken[0].error)
    return frozenset(found)
