"""The model answers AddRaftVoter like Kafka 4.4.0: the table of cases is the one that real servers are held against."""

import pytest
from tests.live.answers import (
    ADD_VOTER,
    CONCURRENT_ADDS,
    AddVoterCase,
    Asked,
    Cluster,
    Listeners,
    Newcomer,
    Voter,
)
from tests.simulation.kraft_api import ModelControllers
from tests.simulation.kraft_model import Process
from tests.simulation.quorums import CLUSTER, Quorum, key

from kafka_quorum.errors import KafkaRefused
from kafka_quorum.model.ids import ClusterID, DirectoryID, NodeID, ReplicaKey, uuid_from_bytes
from kafka_quorum.model.quorum import AddVoter, Endpoint, Listener

_FOREIGN = ClusterID(uuid_from_bytes(b"f" * 16))
_ZERO = DirectoryID(uuid_from_bytes(bytes(16)))


def world() -> tuple[Quorum, Process, Process, Process]:
    """Two voters, both up, and a newcomer that has caught up: leader, follower, newcomer."""
    quorum = Quorum()
    quorum.voters(1, 2)
    newcomer = quorum.observer(3)
    quorum.pass_time(5)
    leader = quorum.leader
    follower = quorum.processes[2 if leader.meta.node_id == 1 else 1]
    return quorum, leader, follower, newcomer


def voter_of(case: AddVoterCase, follower: Process, newcomer: Process) -> tuple[ReplicaKey, Process | None]:
    """The replica key in the request, and the process whose address goes with it."""
    node_id = newcomer.meta.node_id
    match case.voter:
        case Voter.NEWCOMER:
            return newcomer.key, newcomer
        case Voter.NEWCOMER_OTHER_DIRECTORY:
            return key(node_id, "o"), newcomer
        case Voter.NEWCOMER_ZERO_DIRECTORY:
            return ReplicaKey(node_id=node_id, directory_id=_ZERO), newcomer
        case Voter.SITTING:
            return follower.key, follower
        case Voter.SITTING_OTHER_DIRECTORY:
            return key(follower.meta.node_id, "o"), follower
        case Voter.STRANGER:
            return key(9), None


def request(case: AddVoterCase, follower: Process, newcomer: Process) -> AddVoter:
    """What the case sends."""
    voter, process = voter_of(case, follower, newcomer)
    host = process.host if process else "host-9"
    name = "OTHER" if case.listeners is Listeners.WRONG_NAME else "CONTROLLER"
    listeners = () if case.listeners is Listeners.NONE else (Listener(name=name, host=host, port=9093),)
    cluster_id = _FOREIGN if case.cluster is Cluster.FOREIGN else CLUSTER
    return AddVoter(cluster_id=cluster_id, voter=voter, listeners=listeners, timeout_ms=1000)


def answer(quorum: Quorum, to: Process, body: AddVoter) -> str | None:
    """The name of the refusal, or None."""
    endpoint = Endpoint(node_id=NodeID(to.meta.node_id), host=to.address, port=to.port)
    try:
        ModelControllers(quorum.kraft).add(endpoint, body)
    except KafkaRefused as refusal:
        return refusal.name
    return None


@pytest.mark.parametrize("case", ADD_VOTER, ids=lambda case: case.name)
def test_add_voter_is_answered_like_kafka(case: AddVoterCase) -> None:
    """Same request, same error, in the same order of checks; an accepted newcomer is a voter."""
    quorum, leader, follower, newcomer = world()
    if case.newcomer is Newcomer.DEAD:
        quorum.kraft.stop(newcomer)
    newcomer.frozen = case.newcomer is Newcomer.FROZEN
    body = request(case, follower, newcomer)
    asked = follower if case.asked is Asked.FOLLOWER else leader
    assert answer(quorum, asked, body) == case.refused
    added = case.refused is None
    assert (body.voter in leader.disk.voter_set) == (added or case.voter is Voter.SITTING)


def test_of_two_adds_at_once_one_succeeds() -> None:
    """While the first change is uncommitted the second is refused, as real servers do."""
    quorum, leader, follower, newcomer = world()
    other = quorum.observer(4)
    quorum.pass_time(3)
    kept = quorum.kraft.replicate
    answers: list[str | None] = []

    def second_arrives(cluster_id: ClusterID) -> None:
        answers.append(answer(quorum, leader, request(AddVoterCase(name="second", refused=None), follower, other)))
        kept(cluster_id)

    quorum.kraft.replicate = second_arrives  # type: ignore[method-assign]  # the moment between append and commit
    first = answer(quorum, leader, request(AddVoterCase(name="first", refused=None), follower, newcomer))
    assert (first, answers[0]) == CONCURRENT_ADDS
