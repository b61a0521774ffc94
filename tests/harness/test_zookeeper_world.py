"""The judgement at the end of a scenario of the migration: it does not pass if clients have stopped in the middle."""

from dataclasses import dataclass, field
from typing import Any, cast

import pytest

from harness.client.ledger import Verdict
from harness.cluster_image import ClusterImage
from harness.fill import Filled
from scenarios import zookeeper_world
from scenarios.zookeeper_world import ZooKeeperWorld


@dataclass(slots=True)
class Users:
    """Clients with these counts; `writes` is whether every partition is still written to."""

    acknowledged: int = 10
    consumed: int = 10
    writes: bool = True
    verdict: Verdict = field(default_factory=lambda: Verdict(acknowledged=10, consumed=10))

    def account(self) -> dict[str, int]:
        """Counts so far."""
        return {"acknowledged": self.acknowledged, "consumed": self.consumed}

    def offline(self) -> list[object]:
        """No partition was without a leader."""
        return []

    def wait_more(self) -> None:
        """As the real one: an error if a partition is not written to any more."""
        assert self.writes, "every partition is written to"

    def finish(self) -> Verdict:
        """The judgement."""
        return self.verdict


def world(users: Users) -> ZooKeeperWorld:
    """A world with these clients, of which nothing else is asked."""
    filled = Filled(topics=0, partitions=0, acls=0, users=0, quotas=0, took_s=0.0)
    nothing: Any = None
    return ZooKeeperWorld(
        namespace="n",
        ensemble=nothing,
        brokers=nothing,
        users=cast("Any", users),
        filled=filled,
        before=ClusterImage(cluster_id="x"),
        readable=frozenset(),
    )


def test_clients_that_went_on_to_the_end() -> None:
    """With everything written and read nothing is lost."""
    world(Users()).assert_nothing_lost()


@pytest.mark.parametrize(
    "users",
    [
        Users(writes=False),
        Users(consumed=9),
        Users(verdict=Verdict(acknowledged=10, consumed=10, lost=1)),
    ],
    ids=["a partition that takes no records", "a consumer that stopped", "a lost record"],
)
def test_clients_that_did_not(users: Users, monkeypatch: pytest.MonkeyPatch) -> None:
    """A partition that is not written to any more, or a consumer that stopped, is a failure as a lost record is."""
    monkeypatch.setattr(zookeeper_world, "_READ_TIMEOUT_S", 0.2, raising=False)
    with pytest.raises(AssertionError):
        world(users).assert_nothing_lost()
