"""A cluster filled with metadata of every kind that a migration copies: the same content each time.

Topics with settings, many partitions, assignments of their own, added partitions; ACLs, literal and prefixed; SCRAM
users; client quotas of every entity; dynamic settings of one broker and of all. Names have characters that ZooKeeper's
paths must encode.
"""

import time
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any, Final

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin._acl import AclBinding, AclOperation, AclPermissionType
from confluent_kafka.admin._resource import ResourcePatternType, ResourceType
from confluent_kafka.admin._scram import ScramCredentialInfo, ScramMechanism, UserScramCredentialUpsertion
from confluent_kafka.cimpl import NewPartitions, NewTopic

from harness import broker_settings, quotas
from harness.quotas import DEFAULT
from harness.shell import wait_until
from harness.zookeeper_brokers import PORT, ZooKeeperBrokers

TOPICS: Final = 220
PASSWORD: Final = "a password of tests"  # noqa: S105
READER: Final = "alice"
"""A SCRAM user who may read and describe the topics `READABLE`, and no others."""
READABLE: Final = "team-a-"
USERS: Final[tuple[tuple[str, str, int], ...]] = (
    ("admin", "SCRAM-SHA-512", 4096),
    (READER, "SCRAM-SHA-512", 4096),
    (READER, "SCRAM-SHA-256", 8192),
    ("bob", "SCRAM-SHA-256", 4096),
    ("carol@example.com", "SCRAM-SHA-512", 5000),
    ("dave of team/b 100%", "SCRAM-SHA-512", 4096),
)
QUOTAS: Final[quotas.Quotas] = {
    f"user={DEFAULT}": {"producer_byte_rate": 10_485_760.0, "consumer_byte_rate": 20_971_520.0},
    f"user={READER}": {"producer_byte_rate": 1_048_576.0, "request_percentage": 50.5},
    "user=carol@example.com": {"controller_mutation_rate": 5.0},
    "user=only a quota/1": {"consumer_byte_rate": 65_536.0},
    f"client-id={DEFAULT}": {"request_percentage": 80.0},
    "client-id=batch/1": {"producer_byte_rate": 524_288.0},
    f"user={READER}, client-id=batch/1": {"producer_byte_rate": 262_144.0},
    f"user={READER}, client-id={DEFAULT}": {"consumer_byte_rate": 131_072.0},
    f"user={DEFAULT}, client-id=batch/1": {"consumer_byte_rate": 2_097_152.0},
    f"user={DEFAULT}, client-id={DEFAULT}": {"consumer_byte_rate": 4_194_304.0},
    f"ip={DEFAULT}": {"connection_creation_rate": 1000.0},
    "ip=192.0.2.7": {"connection_creation_rate": 100.0},
}
BROKER_SETTINGS: Final[Mapping[str, Mapping[str, str]]] = {
    "": {"log.cleaner.threads": "2", "message.max.bytes": "1500000"},
    "1": {"num.io.threads": "9", "log.cleaner.io.max.bytes.per.second": "10000000"},
    "3": {"log.retention.ms": "86400000"},
}
"""By broker; the empty name is the default of all brokers."""
_PARTITIONS: Final = (1, 1, 2, 3, 1, 6, 1, 2, 1, 12)
_CONFIGS: Final[tuple[Mapping[str, str], ...]] = (
    {},
    {},
    {"cleanup.policy": "compact", "min.cleanable.dirty.ratio": "0.2"},
    {"retention.ms": "604800000", "segment.bytes": "1048576"},
    {},
    {"min.insync.replicas": "1", "max.message.bytes": "2000000"},
    {"cleanup.policy": "compact,delete", "compression.type": "zstd"},
    {"unclean.leader.election.enable": "true"},
)
_AT_ONCE: Final = 40
_REQUEST_TIMEOUT_S: Final = 60.0
_SETTLED_TIMEOUT_S: Final = 180.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Filled:
    """What was made, as counts for a line of figures."""

    topics: int
    partitions: int
    acls: int
    users: int
    quotas: int
    took_s: float


def fill(cluster: ZooKeeperBrokers, topics: int = TOPICS) -> Filled:
    """Fill a cluster of at least three brokers in sync; returns when every replica is in sync again."""
    began_s, client = time.monotonic(), cluster.client()
    made = _topics(topics, cluster.node_ids)
    for first in range(0, len(made), _AT_ONCE):
        _settle(client.create_topics(made[first : first + _AT_ONCE], request_timeout=_REQUEST_TIMEOUT_S))
    _settle(client.create_partitions([NewPartitions("grown", 4)], request_timeout=_REQUEST_TIMEOUT_S))
    _settle(client.delete_topics(["short-lived"], request_timeout=_REQUEST_TIMEOUT_S))
    rules = acls()
    _settle(client.create_acls(rules, request_timeout=_REQUEST_TIMEOUT_S))
    _settle(client.alter_user_scram_credentials([_user(*row) for row in USERS], request_timeout=_REQUEST_TIMEOUT_S))
    quotas.write(f"{cluster.address(cluster.node_ids[0])}:{PORT}", QUOTAS)
    for broker, settings in BROKER_SETTINGS.items():
        node_id = int(broker or cluster.node_ids[0])
        broker_settings.write(f"{cluster.address(node_id)}:{PORT}", broker, settings)
    _wait_settled(cluster, {topic.topic for topic in made} - {"short-lived"})
    return Filled(
        topics=len(made) - 1,
        partitions=sum(_count(topic) for topic in made) + 2,
        acls=len(rules),
        users=len({user for user, _, _ in USERS}),
        quotas=len(QUOTAS),
        took_s=time.monotonic() - began_s,
    )


def acls() -> list[AclBinding]:
    """Some tens of ACLs: every kind of resource, literal and prefixed, allowed and denied, some with hosts."""
    literal, prefixed = ResourcePatternType.LITERAL, ResourcePatternType.PREFIXED
    allow, deny = AclPermissionType.ALLOW, AclPermissionType.DENY
    cluster, every = "kafka-cluster", "*"
    topic, group, broker = ResourceType.TOPIC, ResourceType.GROUP, ResourceType.BROKER
    rows = [
        (topic, READABLE, prefixed, READER, AclOperation.READ, allow, every),
        (topic, READABLE, prefixed, READER, AclOperation.DESCRIBE, allow, every),
        (group, "team-a", prefixed, READER, AclOperation.READ, allow, every),
        (topic, every, literal, "bob", AclOperation.DESCRIBE, allow, every),
        (topic, every, literal, every, AclOperation.DELETE, deny, "192.0.2.1"),
        (topic, "topic-001", literal, "bob", AclOperation.WRITE, deny, "192.0.2.7"),
        (topic, "topic-001", literal, "carol@example.com", AclOperation.ALL, allow, every),
        (broker, cluster, literal, "bob", AclOperation.DESCRIBE_CONFIGS, allow, every),
        (broker, cluster, literal, "dave of team/b 100%", AclOperation.IDEMPOTENT_WRITE, allow, every),
        (broker, cluster, literal, "CN=Ops,OU=é", AclOperation.ALTER_CONFIGS, allow, every),
        (ResourceType.TRANSACTIONAL_ID, "payments-", prefixed, "bob", AclOperation.WRITE, allow, every),
        (group, "group with %", literal, "dave of team/b 100%", AclOperation.READ, allow, every),
    ]
    for number in range(24):
        pattern = prefixed if number % 3 else literal
        operation = (AclOperation.READ, AclOperation.WRITE, AclOperation.CREATE, AclOperation.ALTER)[number % 4]
        rows.append((topic, f"team-{number}-", pattern, f"service-{number}", operation, allow, every))
        rows.append((group, f"service-{number}", literal, f"service-{number}", AclOperation.READ, allow, every))
    return [
        AclBinding(kind, name, pattern, f"User:{user}", host, operation, permission)
        for kind, name, pattern, user, operation, permission, host in rows
    ]


def _topics(count: int, node_ids: Sequence[int]) -> list[NewTopic]:
    """Topics of RF 3, and some with an assignment of their own."""
    plain = [
        NewTopic(
            _name(number),
            num_partitions=_PARTITIONS[number % len(_PARTITIONS)],
            replication_factor=3,
            config=dict(_CONFIGS[number % len(_CONFIGS)]),
        )
        for number in range(count)
    ]
    first, second, third = node_ids[:3]
    return [
        *plain,
        NewTopic("grown", num_partitions=2, replication_factor=3),
        NewTopic("short-lived", num_partitions=3, replication_factor=3),
        NewTopic("assigned", num_partitions=2, replica_assignment=[[third, first], [second, third]]),
        NewTopic("n" * 249, num_partitions=1, replication_factor=3),
        NewTopic("_under.score-and.dots", num_partitions=1, replication_factor=3),
    ]


def _name(number: int) -> str:
    return f"{READABLE}{number:03d}" if number % 20 == 0 else f"topic-{number:03d}"


def _count(topic: NewTopic) -> int:
    return 0 if topic.topic == "short-lived" else int(topic.num_partitions)


def _user(name: str, mechanism: str, iterations: int) -> UserScramCredentialUpsertion:
    info = ScramCredentialInfo(getattr(ScramMechanism, mechanism.replace("-", "_")), iterations)
    return UserScramCredentialUpsertion(name, info, PASSWORD.encode())


def _settle(answers: Mapping[Any, Future[Any]]) -> None:
    """Wait for each answer; an object that is there already is as good (KafkaException for every other refusal)."""
    for name, answer in answers.items():
        try:
            answer.result(_REQUEST_TIMEOUT_S + 5)
        except KafkaException as error:
            if error.args[0].code() != KafkaError.TOPIC_ALREADY_EXISTS:
                raise KafkaException(error.args[0], str(name)) from error


def _wait_settled(cluster: ZooKeeperBrokers, names: Iterable[str]) -> None:
    """Wait until each broker reports every topic, and every replica in sync."""
    wanted = set(names)

    def settled() -> bool:
        if any(map(cluster.behind, cluster.node_ids)):
            return False
        return all(
            wanted <= set(topics) and "short-lived" not in topics
            for topics in (cluster.client(each).list_topics(timeout=10).topics for each in cluster.node_ids)
        )

    wait_until("every topic is there, and every replica in sync", settled, _SETTLED_TIMEOUT_S, 1.0)
