"""Without the lease nothing that changes a quorum is sent to a controller."""

import pytest
from tests.model.values import key
from tests.wire.answering import AnsweringControllers

from kafka_quorum.act.leased import leased_controllers
from kafka_quorum.model.quorum import Endpoint
from kit.errors import NotActing

AT = Endpoint(node_id=key(3000).node_id, host="h", port=1)


async def test_controllers_are_not_changed_without_the_lease() -> None:
    """A cure, a change of voters or of levels is not sent."""
    answering = AnsweringControllers()
    controllers = leased_controllers(answering, lambda: False)
    with pytest.raises(NotActing):
        await controllers.unregister_controller(AT, key(3001).node_id)
    assert answering.unregistered == []
    await leased_controllers(answering, lambda: True).unregister_controller(AT, key(3001).node_id)
    assert answering.unregistered == [(AT, key(3001).node_id)]
