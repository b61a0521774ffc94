"""The model answers AddRaftVoter and RemoveRaftVoter like Kafka 4.4.0, by the tables for real servers."""

import pytest
from tests.live.answers import (
    ADD_VOTER,
    CONCURRENT_ADDS,
    DURING_A_CHANGE,
    REMOVE_VOTER,
    AddVoterCase,
    Asked,
    Cluster,
    Listeners,
    Newcomer,
    Removed,
    RemoveVoterCase,
    Second,
    Voter,
)
from tests.simulation.model.kafka.kraft_api import ModelControllers
from tests.simulation.model.kafka.process import Process
from tests.simulation.tests.quorums import CLUSTER, Quorum, key

from kafka_quorum.errors import KafkaRefused
from kafka_quorum.model.ids import ClusterID, DirectoryID, NodeID, ReplicaKey, uuid_from_bytes
from kafka_quorum.model.quorum import AddVoter, Endpoint, Listener, RemoveVoter

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
    """The replica key in the request, and the process with the address in the request."""
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
    """The request of the case."""
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
    """The same request gets the same error, in the same order of checks; an accepted newcomer is a voter."""
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
    """While the first change is uncommitted the second is refused, as on real servers."""
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


def removals_world(case: RemoveVoterCase) -> tuple[Quorum, Process, list[Process], Process]:
    """Three voters (or one) and a caught-up observer: leader, followers, observer."""
    quorum = Quorum()
    quorum.voters(*((1,) if case.alone else (1, 2, 3)))
    observer = quorum.observer(4)
    quorum.pass_time(5)
    leader = quorum.leader
    followers = [one for one in quorum.processes.values() if one not in (leader, observer)]
    return quorum, leader, followers, observer


def removed_key(case: RemoveVoterCase, leader: Process, followers: list[Process], observer: Process) -> ReplicaKey:
    """The replica key in the request."""
    if case.alone:
        return leader.key
    first, second = followers
    keys = {
        Removed.LEADER: leader.key,
        Removed.FIRST: first.key,
        Removed.FIRST_OTHER_DIRECTORY: key(first.meta.node_id, "o"),
        Removed.FIRST_ZERO_DIRECTORY: ReplicaKey(node_id=first.meta.node_id, directory_id=_ZERO),
        Removed.SECOND: second.key,
        Removed.OBSERVER: observer.key,
        Removed.STRANGER: key(9),
    }
    return keys[case.removed]


def removal_answer(quorum: Quorum, to: Process, body: RemoveVoter) -> str | None:
    """The name of the refusal, or None."""
    endpoint = Endpoint(node_id=NodeID(to.meta.node_id), host=to.address, port=to.port)
    try:
        ModelControllers(quorum.kraft).remove(endpoint, body)
    except KafkaRefused as refusal:
        return refusal.name
    return None


@pytest.mark.parametrize("case", REMOVE_VOTER, ids=lambda case: case.name)
def test_remove_voter_is_answered_like_kafka(case: RemoveVoterCase) -> None:
    """The same request gets the same error in the same order; the voter set shrinks where Kafka's does."""
    quorum, leader, followers, observer = removals_world(case)
    voter = removed_key(case, leader, followers, observer)
    before = leader.disk.voter_set
    if case.second is Second.DEAD:
        quorum.kraft.stop(followers[1])
    body = RemoveVoter(cluster_id=_FOREIGN if case.cluster is Cluster.FOREIGN else CLUSTER, voter=voter)
    asked = followers[0] if case.asked is Asked.FOLLOWER else leader
    assert removal_answer(quorum, asked, body) == case.refused
    assert leader.disk.voter_set == (before - {voter} if case.appended else before)


def test_while_a_change_is_uncommitted_every_other_one_is_refused() -> None:
    """While a removal is in flight every other change is refused, even one that names no voter."""
    quorum, leader, followers, observer = removals_world(RemoveVoterCase(name="in flight", refused=None))
    for follower in followers:
        follower.frozen = True
    first = RemoveVoter(cluster_id=CLUSTER, voter=followers[0].key)
    assert removal_answer(quorum, leader, first) == DURING_A_CHANGE
    for voter in (followers[0].key, followers[1].key, key(9)):
        assert removal_answer(quorum, leader, RemoveVoter(cluster_id=CLUSTER, voter=voter)) == DURING_A_CHANGE
    add = request(AddVoterCase(name="meanwhile", refused=None), followers[0], observer)
    assert answer(quorum, leader, add) == DURING_A_CHANGE


def test_a_leader_that_was_removed_leads_no_longer() -> None:
    """A leader resigns once its removal is committed; a remaining voter leads in a later epoch."""
    quorum, leader, followers, _ = removals_world(RemoveVoterCase(name="leader", refused=None))
    epoch = leader.disk.epoch
    assert removal_answer(quorum, leader, RemoveVoter(cluster_id=CLUSTER, voter=leader.key)) is None
    quorum.pass_time(5)
    assert quorum.leader in followers
    assert quorum.leader.disk.epoch > epoch
    assert not leader.leads
    assert quorum.kraft.is_caught_up(quorum.leader, leader.key, 1.0)


def test_a_leader_whose_removal_is_uncommitted_stands_among_the_observers() -> None:
    """A leader whose removal is uncommitted still leads, and its own row is an observer's with its clock."""
    quorum, leader, followers, _ = removals_world(RemoveVoterCase(name="leader", refused=None))
    for follower in followers:
        follower.frozen = True
    assert removal_answer(quorum, leader, RemoveVoter(cluster_id=CLUSTER, voter=leader.key)) == DURING_A_CHANGE
    endpoint = Endpoint(node_id=NodeID(leader.meta.node_id), host=leader.address, port=leader.port)
    shown = ModelControllers(quorum.kraft).quorum(endpoint)
    assert {row.key for row in shown.voters} == {follower.key for follower in followers}
    (own,) = (row for row in shown.observers if row.key == leader.key)
    assert own.last_fetch_ms >= max(row.last_fetch_ms for row in shown.voters)
    assert shown.high_watermark < own.log_end_offset
