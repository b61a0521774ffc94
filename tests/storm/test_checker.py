"""The checker of a storm finds each broken rule, and nothing else."""

from collections.abc import Callable
from typing import Any

import pytest

from kafka_quorum.model.ids import DirectoryID, NodeID, ReplicaKey
from kafka_quorum.model.quorum import QuorumAnswer, Replica
from storm.checker import Checker

Json = dict[str, Any]


def record(*, cluster: str = "c", phase: str = "Started", lost: tuple[str, ...] = (), **nodes: str) -> Json:
    """A record with these directory ids by node id (`n3000`)."""
    rows = [{"node_id": int(name[1:]), "directory_id": directory, "lost": []} for name, directory in nodes.items()]
    former = [{"node_id": 3009, "generation": 1, "lost": list(lost)}]
    return {"cluster_id": cluster, "phase": phase, "initial": ["i"], "nodes": rows, "former": former}


def answer(leader: int, epoch: int, **voters: str) -> QuorumAnswer:
    """A leader's answer with these voters."""
    rows = tuple(
        Replica(
            key=ReplicaKey(node_id=NodeID(int(name[1:])), directory_id=DirectoryID(directory)),
            log_end_offset=1,
            last_fetch_ms=1,
            last_caught_up_ms=1,
        )
        for name, directory in voters.items()
    )
    return QuorumAnswer(leader_id=NodeID(leader), leader_epoch=epoch, high_watermark=1, voters=rows, observers=())


def saw(*looks: Callable[[Checker], None]) -> list[str]:
    """The rules that these looks break."""
    checker = Checker()
    for look in looks:
        look(checker)
    return [failure.rule for failure in checker.failures]


def test_a_good_quorum_breaks_nothing() -> None:
    """One cluster id, one leader per epoch, and a disk replaced by a new one break no rule."""
    disks = {"q-3000": {"cluster.id": "c", "node.id": "3000", "directory.id": "b"}}
    assert not saw(
        lambda one: one.saw_record(record(n3000="a")),
        lambda one: one.saw_answer(answer(3000, 1, n3000="a")),
        lambda one: one.saw_answer(answer(3000, 1, n3000="a")),
        lambda one: one.saw_record(record(n3000="b", lost=("a",))),
        lambda one: one.saw_answer(answer(3000, 2, n3000="b")),
        lambda one: one.saw_cluster("c", "an answer"),
        lambda one: one.saw_disks(disks),
        lambda one: one.saw_first_voters([("u", "q-3000")]),
        lambda one: one.saw_first_voters([]),
        Checker.saw_rest,
    )


@pytest.mark.parametrize(
    "later",
    [
        pytest.param(record(cluster="d", n3000="a"), id="cluster-id"),
        pytest.param(record(n3000="a") | {"initial": ["j"]}, id="initial"),
        pytest.param(record(phase="Formatting", n3000="a"), id="phase"),
        pytest.param(record(n3001="a"), id="directory-id-moves"),
        pytest.param(record(n3000="a", lost=("a",)), id="retired-comes-back"),
    ],
)
def test_a_record_that_changes_what_is_decided_is_noticed(later: Json) -> None:
    """Cluster id, first voters, phase and the owner of a directory id must stay; a retired one must not return."""
    assert "identity" in saw(lambda one: one.saw_record(record(n3000="a")), lambda one: one.saw_record(later))


def test_a_second_leader_of_an_epoch_is_noticed() -> None:
    """Two leaders in one epoch break a rule; in two epochs they do not."""
    broken = saw(
        lambda one: one.saw_answer(answer(3000, 1, n3000="a", n3001="b")),
        lambda one: one.saw_answer(answer(3001, 1, n3000="a", n3001="b")),
    )
    assert broken == ["one quorum"]


def test_a_second_cluster_id_is_noticed() -> None:
    """A second cluster id is found wherever it is seen."""
    first: Callable[[Checker], None] = lambda one: one.saw_record(record(n3000="a"))  # noqa: E731 - one of many looks
    disks = {"q-3000": {"cluster.id": "d", "node.id": "3000", "directory.id": "a"}}
    assert "one quorum" in saw(first, lambda one: one.saw_cluster("d", "an answer"))
    assert "one quorum" in saw(first, lambda one: one.saw_disks(disks))
    assert "one quorum" in saw(first, lambda one: one.saw_resource(resource({"clusterID": "d"})))


def resource(status: Json) -> Json:
    """A resource with this status and no condition."""
    return {"metadata": {"generation": 1}, "spec": {}, "status": status}


def test_a_disk_that_the_record_has_and_nobody_holds_is_noticed() -> None:
    """At rest each directory id of the record must be on a disk, under its node id."""
    wrong = {"q-3000": {"cluster.id": "c", "node.id": "3001", "directory.id": "a"}}
    first: Callable[[Checker], None] = lambda one: one.saw_record(record(n3000="a"))  # noqa: E731 - one of many looks
    assert saw(first, lambda one: one.saw_disks({})) == ["identity"]
    assert saw(first, lambda one: one.saw_disks(wrong)) == ["identity"]


def test_a_late_format_with_first_voters_is_noticed() -> None:
    """Only claims that were formatted with first voters at the start may be."""
    first: Callable[[Checker], None] = lambda one: one.saw_first_voters([("u", "q-3000")])  # noqa: E731 - as above
    assert saw(first, lambda one: one.saw_first_voters([("v", "q-3000-g2")])) == ["identity"]


def test_a_voter_that_the_record_never_had_is_noticed() -> None:
    """A voter that the record never had is found, also after it stopped being one."""
    broken = saw(
        lambda one: one.saw_record(record(n3000="a")),
        lambda one: one.saw_answer(answer(3000, 1, n3000="a", n3007="x")),
        lambda one: one.saw_answer(answer(3000, 1, n3000="a")),
        Checker.saw_rest,
    )
    assert broken == ["one quorum"]


def test_a_breach_that_is_seen_again_is_counted() -> None:
    """A repeated breach has one line with its count in the report, and only some rules end a storm."""
    checker = Checker(round=3)
    for number in range(3):
        checker.fail("ready within two minutes", f"still not: {number}")
    assert [str(failure) for failure in checker.failures] == ["ready within two minutes (round 3): still not: 0"]
    assert checker.repeated["ready within two minutes", "still not"] == 3
    assert not checker.fatal
    checker.fail("acknowledged writes", "one is lost")
    assert checker.fatal
