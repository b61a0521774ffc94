"""A process that lost a tail of its log misses voter changes below the end of that tail, as the servers do.

`tests/live/test_removals.py` has the same run on real servers.
"""

import pytest
from tests.simulation.model.kafka.disk import Entry
from tests.simulation.model.kafka.kraft_api import ModelControllers
from tests.simulation.model.kafka.kraft_model import CannotStartError
from tests.simulation.model.kafka.process import Process
from tests.simulation.model.kafka.voter_history import VoterHistory
from tests.simulation.tests.quorums import CLUSTER, Quorum, key

from kafka_quorum.errors import KafkaRefused
from kafka_quorum.model.ids import ReplicaKey
from kafka_quorum.model.quorum import Endpoint, RemoveVoter


def _endpoint(process: Process) -> Endpoint:
    return Endpoint(node_id=process.meta.node_id, host=process.address, port=process.port)


def _removes(quorum: Quorum, leader: Process, gone: Process) -> None:
    ModelControllers(quorum.kraft).remove(_endpoint(leader), RemoveVoter(cluster_id=CLUSTER, voter=gone.key))


def _shown(quorum: Quorum, leader: Process) -> set[ReplicaKey]:
    return {row.key for row in ModelControllers(quorum.kraft).quorum(_endpoint(leader)).voters}


def _entries(*sets: frozenset[ReplicaKey] | None) -> list[Entry]:
    return [Entry(epoch=1, what="record", voters=voters) for voters in sets]


def _with_a_lost_tail() -> tuple[Quorum, Process, Process, Process]:
    """Three voters: the first led, and lost a tail with its own removal; the second leads now."""
    quorum = Quorum()
    quorum.voters(1, 2, 3)
    quorum.pass_time(5)
    stale = quorum.leader
    others = [one for one in quorum.processes.values() if one is not stale]
    for one in others:
        one.frozen = True
    with pytest.raises(KafkaRefused, match="REQUEST_TIMED_OUT"):
        _removes(quorum, stale, stale)
    quorum.pass_time(4)
    for one in others:
        one.frozen = False
    for _ in range(20):
        quorum.pass_time(0.5)
        if quorum.kraft.leader_of(CLUSTER) in others and quorum.leader.high_watermark > 0:
            break
    second = quorum.leader
    (third,) = (one for one in others if one is not second)
    assert stale.history.next_offset > stale.disk.end
    return quorum, stale, second, third


def test_a_leader_that_lost_its_tail_misses_a_voter_change() -> None:
    """A removal below the end of the lost tail is in its log, and not in the set by which it leads and answers."""
    quorum, stale, second, third = _with_a_lost_tail()
    before = _shown(quorum, second)
    assert before == {key(1), key(2), key(3)}
    _removes(quorum, second, second)
    assert stale.disk.voter_set == third.disk.voter_set == {stale.key, third.key}
    quorum.kraft.stop(third)
    for _ in range(10):
        quorum.pass_time(0.5)
        if stale.leads:
            break
    assert quorum.leader is stale
    assert _shown(quorum, stale) == before, "it is elected by the vote of a replica that is no voter any more"
    _removes(quorum, stale, second)
    assert _shown(quorum, stale) == before, "acknowledged, and without effect"
    quorum.start(third.disk)
    for _ in range(20):
        quorum.pass_time(0.5)
        _removes(quorum, stale, second)
        if _shown(quorum, stale) == {stale.key, third.key}:
            return
    pytest.fail("a removal beyond the end of the lost tail was not read either")


def test_a_restart_reads_the_whole_log() -> None:
    """The same process, started again, has the voter set of its log."""
    quorum, stale, second, third = _with_a_lost_tail()
    _removes(quorum, second, second)
    quorum.kraft.stop(stale)
    assert quorum.start(stale.disk).voters == {stale.key, third.key}


def test_a_change_beyond_the_lost_tail_is_read() -> None:
    """The first change after the log has become longer than the lost tail corrects the set in memory."""
    quorum, stale, second, third = _with_a_lost_tail()
    quorum.pass_time(10)
    assert stale.history.next_offset == stale.disk.end
    _removes(quorum, second, second)
    assert stale.voters == {stale.key, third.key}


def test_two_missed_changes_end_a_process_at_the_next_one() -> None:
    """Kafka ends if two sets in a row differ by more than one voter; the set of the format does not count."""
    three = frozenset({key(1), key(2), key(3)})
    four, five = three | {key(4)}, three | {key(4), key(5)}
    history = VoterHistory()
    assert history.read(_entries(None, three, None, None)) == ""
    history.truncated(2)
    assert history.read(_entries(None, three, four)) == ""
    assert history.newest == three
    assert "overlapping majorities" in history.read(_entries(None, three, four, None, five))


def test_a_log_with_two_sets_too_far_apart_starts_no_process() -> None:
    """Kafka reads the whole log at its start, and ends for the same reason."""
    quorum = Quorum()
    quorum.voters(1, 2, 3)
    quorum.pass_time(5)
    stopped = quorum.leader
    quorum.kraft.stop(stopped)
    three = stopped.voters
    stopped.disk.log.extend(_entries(three, three | {key(4), key(5)}))
    with pytest.raises(CannotStartError, match="overlapping majorities"):
        quorum.start(stopped.disk)
