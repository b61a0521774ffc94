"""The modelled KRaft elects, replicates, commits and changes voters as the papers and the servers do."""

import pytest
from tests.simulation.model.kafka.kraft_api import ModelControllers
from tests.simulation.model.kafka.kraft_model import CannotStartError
from tests.simulation.model.kafka.process import Process
from tests.simulation.tests.quorums import CLUSTER, Quorum, disk, key

from kafka_quorum.errors import KafkaRefused, KafkaUnreachable
from kafka_quorum.model.ids import NodeID
from kafka_quorum.model.quorum import AddVoter, Endpoint, Listener


def endpoint(process: Process) -> Endpoint:
    """Where a process listens."""
    return Endpoint(node_id=process.meta.node_id, host=process.address, port=process.port)


def add(process: Process) -> AddVoter:
    """The request that adds a process."""
    listener = Listener(name=process.listener, host=process.host, port=process.port)
    return AddVoter(cluster_id=CLUSTER, voter=process.key, listeners=(listener,), timeout_ms=1000)


def test_a_majority_of_initial_voters_elects_a_leader_and_a_minority_does_not() -> None:
    """Two of three initial voters elect a leader; one of three never does."""
    quorum = Quorum()
    keys = frozenset(key(node_id) for node_id in (1, 2, 3))
    quorum.start(disk(key(1), keys))
    quorum.pass_time(5)
    assert quorum.kraft.leader_of(CLUSTER) is None
    quorum.start(disk(key(2), keys))
    quorum.pass_time(5)
    assert quorum.leader.high_watermark > 0


def test_a_wiped_voter_is_another_replica_and_its_vote_does_not_count() -> None:
    """Two of three disks replaced by new directories leave no majority."""
    quorum = Quorum()
    keys = frozenset(key(node_id) for node_id in (1, 2, 3))
    quorum.start(disk(key(1), keys))
    quorum.observer(2, "x")
    quorum.observer(3, "x")
    quorum.pass_time(10)
    assert quorum.kraft.leader_of(CLUSTER) is None


def test_a_leader_without_a_majority_resigns_and_the_survivors_elect_another() -> None:
    """A killed leader is replaced in a higher epoch; a single survivor resigns."""
    quorum = Quorum()
    quorum.voters(1, 2, 3)
    quorum.pass_time(5)
    first = quorum.leader
    epoch = first.disk.epoch
    quorum.kraft.stop(first)
    quorum.pass_time(6)
    second = quorum.leader
    assert second is not first
    assert second.disk.epoch > epoch
    quorum.kraft.stop(second)
    quorum.pass_time(6)
    assert quorum.kraft.leader_of(CLUSTER) is None


def test_the_high_watermark_stands_still_without_a_majority() -> None:
    """While the followers are frozen, records are appended and not committed."""
    quorum = Quorum()
    quorum.voters(1, 2, 3)
    quorum.pass_time(5)
    leader = quorum.leader
    before = leader.high_watermark
    for process in quorum.processes.values():
        process.frozen = process is not leader
    quorum.pass_time(1)
    assert leader.high_watermark == before
    assert leader.disk.end > before


def test_an_observer_catches_up_and_is_added() -> None:
    """A newcomer fetches, counts as caught up, and is a committed voter after the request."""
    quorum = Quorum()
    quorum.voters(1)
    newcomer = quorum.observer(2)
    quorum.pass_time(5)
    api, leader = ModelControllers(quorum.kraft), quorum.leader
    answer = api.quorum(endpoint(leader))
    assert [row.key for row in answer.observers] == [newcomer.key]
    assert answer.observers[0].last_caught_up_ms >= answer.voters[0].last_fetch_ms - 2000
    api.add(endpoint(leader), add(newcomer))
    quorum.pass_time(1)
    assert newcomer.disk.voter_set == {leader.key, newcomer.key}
    assert not quorum.kraft.uncommitted_change(leader)


def test_a_change_without_a_majority_stays_uncommitted_and_blocks_the_next_one() -> None:
    """A newcomer that stops fetching is in the uncommitted voter set, and the next addition is refused."""
    quorum = Quorum()
    quorum.voters(1)
    second, third = quorum.observer(2), quorum.observer(3)
    quorum.pass_time(5)
    api, leader = ModelControllers(quorum.kraft), quorum.leader
    second.frozen = True
    assert not quorum.kraft.append_voters(leader, leader.disk.voter_set | {second.key})
    assert second.key in {row.key for row in api.quorum(endpoint(leader)).voters}
    assert quorum.kraft.uncommitted_change(leader)
    with pytest.raises(KafkaRefused) as refusal:
        api.add(endpoint(leader), add(third))
    assert refusal.value.name == "REQUEST_TIMED_OUT"


def test_only_the_leader_describes_the_quorum() -> None:
    """A follower answers NOT_LEADER_OR_FOLLOWER; a frozen process and an empty address do not answer."""
    quorum = Quorum()
    quorum.voters(1, 2, 3)
    quorum.pass_time(5)
    api, leader = ModelControllers(quorum.kraft), quorum.leader
    follower = next(process for process in quorum.processes.values() if process is not leader)
    with pytest.raises(KafkaRefused) as refusal:
        api.quorum(endpoint(follower))
    assert refusal.value.name == "NOT_LEADER_OR_FOLLOWER"
    follower.frozen = True
    for silent in (endpoint(follower), Endpoint(node_id=NodeID(1), host="10.9.9.9", port=9093)):
        with pytest.raises(KafkaUnreachable):
            api.quorum(silent)


def test_stamps_are_the_leaders_own_clock() -> None:
    """The leader's row has its own present time, which is not the world's."""
    quorum = Quorum()
    quorum.voters(1)
    quorum.pass_time(5)
    answer = ModelControllers(quorum.kraft).quorum(endpoint(quorum.leader))
    assert abs(answer.voters[0].last_fetch_ms - quorum.clock.now_ms()) > 10_000


def test_kafka_does_not_start_without_meta_properties_or_as_another_node() -> None:
    """On an emptied disk, or on a disk of another node id, Kafka ends at once."""
    quorum = Quorum()
    formatted = disk(key(1), frozenset({key(1)}))
    for on in (type(formatted)(serial=7), formatted):
        with pytest.raises(CannotStartError):
            quorum.kraft.start(on, node_id=NodeID(2), address="a", host="h", port=1, listener="CONTROLLER")


def test_a_committed_record_that_a_new_leader_lacks_is_noticed() -> None:
    """A directory id on an empty disk can win an election without the log, and the model reports that."""
    quorum = Quorum()
    quorum.voters(1, 2, 3)
    quorum.pass_time(5)
    keys = frozenset(key(node_id) for node_id in (1, 2, 3))
    for process in list(quorum.processes.values()):
        quorum.kraft.stop(process)
    quorum.start(disk(key(1), keys))
    quorum.start(disk(key(2), keys))
    quorum.pass_time(5)
    assert quorum.kraft.broken
