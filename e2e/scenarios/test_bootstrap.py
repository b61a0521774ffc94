"""A KafkaQuorum becomes a real, ready quorum in both bootstrap modes."""

import pytest

from harness.quorum import Quorum
from scenarios.expectations import assert_one_quorum, formatted_with_voters, restarts

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(240)]

STANDALONE = {"bootstrap": {"mode": "Standalone"}}


def test_initial_controllers_become_a_ready_quorum(quorum: Quorum) -> None:
    """Three controllers, formatted with each other's directory ids, are three voters of one cluster on three nodes."""
    quorum.apply()
    quorum.wait_ready()
    record = quorum.record()
    assert record["phase"] == "Started"
    assert len(record["initial"]) == 3
    assert_one_quorum(quorum, initial={3000, 3001, 3002}, voters={3000, 3001, 3002})
    assert len({pod["spec"]["nodeName"] for pod in quorum.pods().values()}) == 3
    assert restarts(quorum) == 0


def test_a_standalone_controller_is_joined_by_the_others(quorum: Quorum) -> None:
    """One controller starts alone; the others are added, and only the first was formatted with voters."""
    quorum.apply(STANDALONE)
    quorum.wait_ready()
    assert_one_quorum(quorum, initial={3000}, voters={3000, 3001, 3002})
    assert formatted_with_voters(quorum) == {"q-3000-g1"}
    begun = [note for reason, note in quorum.events() if reason == "AddRaftVoter"]
    assert len(begun) == 2
    assert restarts(quorum) == 0
