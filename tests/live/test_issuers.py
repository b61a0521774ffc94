"""One certificate for all controllers, as another issuer gives it: every controller serves it under its own name."""

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from tests.live.jars import DEFAULT_VERSION, ensure_kafka
from tests.live.quorum import LiveNode
from tests.live.trust import UNIT, TrustedThree, serial
from tests.live.waiting import wait_for
from tests.wire.authorities import Authority, Leaf

from kafka_quorum.model.handshakes import Served

pytestmark = [pytest.mark.live, pytest.mark.timeout(240), pytest.mark.asyncio(loop_scope="module")]


class SharedLeaf(TrustedThree):
    """All controllers have the leaf that was made last."""

    made: Leaf | None = None

    def renew(self) -> Leaf:
        """Another leaf of the same subject and the same names."""
        self.made = self.ca.leaf("controllers", dns=("*.demo-controllers.kafka.svc",), unit=UNIT)
        return self.made

    def leaf(self, node: LiveNode, by: Authority | None = None, name: str = "controllers") -> Leaf:  # noqa: ARG002
        """The one leaf."""
        return self.made or self.renew()


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def three(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[SharedLeaf]:
    """Three controllers with one leaf."""
    world = SharedLeaf(ensure_kafka(DEFAULT_VERSION), tmp_path_factory.mktemp("shared"))
    try:
        await world.open()
        yield world
    finally:
        await world.close()


async def test_a_wildcard_serves_every_controller(three: SharedLeaf) -> None:
    """A quorum forms with one leaf, and the operator accepts it of each controller under that controller's name."""
    for node in three.quorum.nodes.values():

        async def accepted(node: LiveNode = node) -> Served | None:
            found = await three.shown(node)
            return found if isinstance(found, Served) and found.accepted else None

        found = await wait_for(f"controller {node.node_id} accepts the operator", accepted)
        assert found.leaf.dns_names == ("*.demo-controllers.kafka.svc",)


async def test_a_renewed_one_is_loaded_by_every_controller(three: SharedLeaf) -> None:
    """Requests for each controller bring the renewed leaf to its listener, without a restart.

    One that comes before the controller is registered is refused: so they are repeated, as the operator repeats them.
    """
    leaf = three.renew()
    for node in three.quorum.nodes.values():
        three.give(node, leaf)

        async def loaded(node: LiveNode = node) -> bool | None:
            await three.set(await three.leader(), node, "ssl.keystore.location", str(three.keystore(node)))
            return True if set(await three.serials(node)) == {serial(leaf)} else None

        await wait_for(f"controller {node.node_id} serves the renewed leaf", loaded, deadline_s=60.0, pause_s=2.0)
