"""Without the lease no request that changes a quorum is sent to a controller."""

import pytest
from tests.model.values import key
from tests.wire.answering import AnsweringControllers

from kafka_quorum.act.leased import leased_controllers
from kafka_quorum.model.quorum import Endpoint
from kafka_quorum.wire.protocol import Controllers
from kit.errors import NotActing

AT = Endpoint(node_id=key(3000).node_id, host="h", port=1)


_CHANGES = (
    "add_voter",
    "remove_voter",
    "update_feature",
    "register_controller",
    "unregister_controller",
    "reload_keystore",
    "alter_scram",
)
_READS = ("api_versions", "describe_cluster", "describe_quorum", "handshake", "scram_present")


@pytest.mark.parametrize("name", _CHANGES)
async def test_no_change_is_sent_without_the_lease(name: str) -> None:
    """Without the lease no request that changes voters, levels or registrations reaches a controller."""
    controllers = leased_controllers(AnsweringControllers(), lambda: False)
    with pytest.raises(NotActing):
        await getattr(controllers, name)(AT, None)


def test_every_request_is_a_change_or_a_read() -> None:
    """A request that is added to the protocol has to be listed here, and in the code if it changes nothing."""
    requests = {name for name in vars(Controllers) if not name.startswith("_")}
    assert requests == {*_CHANGES, *_READS, "close"}


async def test_controllers_are_not_changed_without_the_lease() -> None:
    """Without the lease a controller is not unregistered."""
    answering = AnsweringControllers()
    controllers = leased_controllers(answering, lambda: False)
    with pytest.raises(NotActing):
        await controllers.unregister_controller(AT, key(3001).node_id)
    assert answering.unregistered == []
    await leased_controllers(answering, lambda: True).unregister_controller(AT, key(3001).node_id)
    assert answering.unregistered == [(AT, key(3001).node_id)]
