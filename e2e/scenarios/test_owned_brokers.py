"""Static to dynamic with three brokers that the operator does not own.

Their owner is `Owner`, a script that does what docs/brokers.md says and knows nothing else: it reads the published
contract and the status, writes the contract's lines into each broker's properties, and restarts one after the other.
"""

from collections.abc import Iterator

import pytest

from harness.brokers import NODE_IDS, Brokers
from harness.client.topics import Topic
from harness.clients import Clients
from harness.quorum import Quorum
from harness.shell import Json, get, wait_until
from scenarios.conftest import WAYS_IN
from scenarios.rolls import ROLL_TIMEOUT_S, wait_features
from scenarios.test_static import DYNAMIC, VOTERS, assert_dynamic, assert_static

pytestmark = [pytest.mark.e2e, pytest.mark.full, pytest.mark.timeout(1800)]

_TOLD_TIMEOUT_S = 180.0


class Owner:
    """The owner of the brokers. Each method names the part of the page that it follows."""

    def __init__(self, quorum: Quorum, brokers: Brokers) -> None:
        """Nothing runs yet."""
        self._quorum, self._brokers, self.revision = quorum, brokers, 0

    def contract(self) -> str:
        """The page's part 'Read the contract': the lines for every broker."""
        found = get(self._quorum.namespace, "configmap", f"{self._quorum.name}-brokers")
        return str(found["data"]["server.properties"])

    def published(self) -> int:
        """The page's part 'Read the contract': the revision that brokers must follow now; 0 before there is one."""
        return int((self._quorum.status().get("brokerContract") or {}).get("revision") or 0)

    def follow(self) -> None:
        """The page's part 'Start', and step 6 of 'From static to dynamic': each broker gets the lines, one by one."""
        self.revision = wait_until("a contract is published", self.published, _TOLD_TIMEOUT_S)
        self._brokers.follow(self.contract())

    def give_access(self) -> None:
        """The page's part 'Let the operator see your brokers'."""
        self._quorum.patch({"brokerAccess": {"bootstrapServers": self._brokers.bootstrap}})

    def wait_conforming(self) -> None:
        """Steps 1 and 7: every broker conforms."""
        wait_until(
            "every broker conforms", lambda: self.conforming() == dict.fromkeys(NODE_IDS, "True"), _TOLD_TIMEOUT_S
        )

    def conforming(self) -> dict[int, str]:
        """The column `conforms`."""
        return {row["nodeID"]: str(row.get("conforms")) for row in self._quorum.status().get("brokers") or []}


@pytest.fixture
def owner(quorum: Quorum, kafka_everywhere: None) -> Iterator[Owner]:  # noqa: ARG001 - an order, not a value
    """A static quorum, and three brokers of an owner who follows its contract."""
    brokers = Brokers(quorum, WAYS_IN)
    quorum.apply({"bootstrap": {"mode": "Static"}})
    quorum.wait_ready()
    assert_static(quorum)
    found = Owner(quorum, brokers)
    found.follow()
    found.give_access()
    found.wait_conforming()
    yield found
    brokers.stop()


def test_static_to_dynamic_with_brokers_of_another_owner(owner: Owner, quorum: Quorum, client_image: str) -> None:
    """The operator waits for the brokers before it is done, names them, and nothing is lost while clients go on."""
    topics = (Topic(name="orders", partitions=3),)
    bootstrap = ",".join(_bootstrap(quorum))
    assert VOTERS in owner.contract()
    with Clients(namespace=quorum.namespace, bootstrap=bootstrap, image=client_image, topics=topics) as users:
        first = owner.revision
        quorum.patch({"kafka": {"features": DYNAMIC}})
        wait_until("the brokers have something to do", lambda: owner.published() > first, ROLL_TIMEOUT_S, 1.0)
        assert not any(line.startswith(VOTERS) for line in owner.contract().splitlines())
        wait_until("some do not conform", lambda: "False" in owner.conforming().values(), _TOLD_TIMEOUT_S)
        reached = quorum.status()["migration"]
        print(quorum.status()["brokers"], reached)
        assert (reached["kind"], reached["stage"], reached["name"]) == ("StaticToDynamic", 3, "Brokers")
        assert any(f"broker {node_id}" in reached["missing"] for node_id in NODE_IDS)
        with users.measured("three brokers restarted by their owner"):
            owner.follow()
        owner.wait_conforming()
        quorum.wait_ready(ROLL_TIMEOUT_S)
        wait_features(quorum, "True", "Settled", timeout_s=ROLL_TIMEOUT_S)
        assert_dynamic(quorum)
        assert "migration" not in quorum.status()
        assert not users.offline()
        assert not users.finish().faults


def _bootstrap(quorum: Quorum) -> list[str]:
    access: Json = quorum.resource()["spec"]["brokerAccess"]
    return [str(address) for address in access["bootstrapServers"]]
