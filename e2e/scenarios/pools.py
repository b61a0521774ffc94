"""What the scenarios of pools share: a Kafka with clients, and what must hold at the end of each."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from harness.client.topics import Topic
from harness.clients import Clients
from harness.pool import Pool
from harness.quorum import Quorum
from harness.shell import Json, wait_until

ROLL_TIMEOUT_S = 900.0
START_TIMEOUT_S = 240.0
ORDERS = Topic(name="orders", partitions=6)
SMALL: Json = {"controllers": {"jvm": {"heap": "192Mi"}}}


@dataclass(slots=True, kw_only=True)
class Kafka:
    """A quorum with its pools and their clients. `patience` is a factor on time limits."""

    quorum: Quorum
    pools: Sequence[Pool]
    image: str
    users: list[Clients] = field(default_factory=list)
    patience: float = 1.0

    @property
    def pool(self) -> Pool:
        """The first pool."""
        return self.pools[0]

    @property
    def client(self) -> Clients:
        """The first clients."""
        return self.users[0]

    def wait_ready(self, timeout_s: float = ROLL_TIMEOUT_S) -> None:
        """Wait until the quorum and every pool are Ready."""
        self.quorum.wait_ready(timeout_s * self.patience)
        for pool in self.pools:
            pool.wait_ready(timeout_s * self.patience)

    def clients(self, *topics: Topic, name: str = "clients") -> Clients:
        """More clients, not started yet."""
        return Clients(
            namespace=self.quorum.namespace,
            bootstrap=self.pool.bootstrap,
            image=self.image,
            topics=topics or (ORDERS,),
            name=name,
        )


@contextmanager
def in_use(kafka: Kafka, *topics: Topic) -> Iterator[Kafka]:
    """While this lasts clients produce and consume; at its end nothing is lost and no partition of RF 3 was offline."""
    with kafka.clients(*topics) as users:
        kafka.users.append(users)
        yield kafka
        assert_available(users)
        assert_nothing_lost(users)


def assert_available(users: Clients) -> None:
    """No partition with three replicas or more had no leader, ever."""
    assert not users.offline(), users.offline()


def assert_nothing_lost(users: Clients) -> None:
    """The clients still get through, and every promise that Kafka made them is kept."""
    users.wait_more()
    verdict = users.finish()
    assert verdict.acknowledged
    assert verdict.acknowledged == verdict.consumed - verdict.happened, verdict
    assert not verdict.faults, verdict


def assert_restarted(pool: Pool, before: dict[int, tuple[str, int]], node_ids: set[int]) -> None:
    """Exactly these brokers have other pods than before, and no container restarted by itself."""
    now = pool.running()
    assert {node for node in before if now.get(node) != before[node]} == node_ids
    assert not [node for node, (_, count) in now.items() if count]


def wait_gone(kafka: Kafka, pool: Pool, node_ids: set[int]) -> None:
    """Wait until these brokers are not registered any more, and have no pods."""

    def gone() -> bool:
        return not node_ids & set(pool.pods()) and not node_ids & {
            int(key.partition("-")[0]) for key in observers(kafka)
        }

    wait_until(f"brokers {sorted(node_ids)} are gone", gone, ROLL_TIMEOUT_S * kafka.patience, 1.0)


def observers(kafka: Kafka) -> frozenset[str]:
    """The observers of the quorum: the brokers that fetch its log."""
    return kafka.quorum.observers()
