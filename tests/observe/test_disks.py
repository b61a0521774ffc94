"""A disk that looks blank: only successive runs in one pod on one disk add up, and they become too old."""

import math
from dataclasses import replace

import pytest
from tests.model.values import (
    OTHER_CLUSTER,
    at_rest,
    claim_uid,
    directory,
    empty_report,
    node,
    report,
    running,
    with_pod,
    with_the_claim,
)

from kafka_quorum.model.identity import with_disk_lost, with_report
from kafka_quorum.model.ids import NodeID
from kafka_quorum.model.known import Unknown
from kafka_quorum.model.memory import BlankDisk, Memory
from kafka_quorum.model.observed import Observed
from kafka_quorum.model.pods import DiskFound, DiskReport, Running, Waiting
from kafka_quorum.observe.disks import FORGOTTEN_AFTER_S, STARTED_AFTER_S, remembered

WAITING = Waiting(reason="CrashLoopBackOff", message="", last_exit=None)
RUNS: dict[str, object] = {"container": Running(started_at="", container="1"), "report": None}
SILENT_QUORUM = Unknown(reason="nobody leads")


def empty_at(finished_at_s: float) -> DiskReport:
    """A run that found an empty disk, and ended at this time."""
    return replace(empty_report(), finished_at_s=finished_at_s)


def waits(said: DiskReport | None) -> dict[str, object]:
    """A pod that does not run Kafka, with this report."""
    return {"container": WAITING, "report": said}


def after(*looks: tuple[float, dict[str, object]], base: Observed | None = None) -> Memory:
    """What is remembered after these looks at controller 3001's pod, each at its monotonic second."""
    memory = Memory()
    for at_s, changes in looks:
        look = with_pod(base or replace(at_rest(), quorum=SILENT_QUORUM), 3001, **changes)
        memory = remembered(replace(look, memory=memory), at_s)
    return memory


def looked(*reports: DiskReport | None, **changes: object) -> Memory:
    """The memory after one look at each of these reports, when its run ended; `changes` apply to the last look."""
    looks: list[tuple[float, dict[str, object]]] = []
    for number, said in enumerate(reports):
        at_s = said.finished_at_s if said else looks[-1][0] + 1.0
        looks.append((at_s, waits(said) | (changes if number == len(reports) - 1 else {})))
    return after(*looks)


def seconds(memory: Memory) -> list[float]:
    """For how long each disk has been blank."""
    return [row.for_s for row in memory.blank_disks]


def only(memory: Memory) -> BlankDisk:
    """The one blank disk."""
    (row,) = memory.blank_disks
    return row


def test_runs_add_up() -> None:
    """The time between the first and the last run counts; a look at the same run again adds nothing."""
    assert seconds(looked(empty_at(100.0))) == [0.0]
    assert seconds(looked(empty_at(100.0), empty_at(100.0))) == [0.0]
    assert seconds(looked(empty_at(100.0), empty_at(104.0), empty_at(120.0))) == [20.0]


def test_kept_while_it_looks_again() -> None:
    """While the script runs again, the memory stays as it is."""
    assert seconds(looked(empty_at(100.0), None, empty_at(110.0))) == [10.0]


@pytest.mark.parametrize("found", [one for one in DiskFound if one is not DiskFound.EMPTY])
def test_anything_else_begins_it_anew(found: DiskFound) -> None:
    """A run that found something, or could not read the disk, ends the series."""
    other = replace(empty_at(110.0), found=found)
    assert seconds(looked(empty_at(100.0), other)) == []
    assert seconds(looked(empty_at(100.0), other, empty_at(120.0))) == [0.0]


@pytest.mark.parametrize(
    "change",
    [{"uid": "another pod"}, {"claim_uid": "another claim"}, {"directory_id": directory(3001, 2)}],
    ids=["pod", "claim", "directory id"],
)
def test_of_one_pod_and_one_disk(change: dict[str, object]) -> None:
    """Another pod, or a pod of another disk, begins a new series."""
    assert seconds(looked(empty_at(100.0), empty_at(120.0), **change)) == [0.0]


def test_a_clock_that_is_set_back_begins_it_anew() -> None:
    """If the clock is set back, the series begins again."""
    assert seconds(after((0.0, waits(empty_at(5000.0))), (20.0, waits(empty_at(100.0))))) == [0.0]


def test_a_clock_that_is_set_forward_makes_no_span() -> None:
    """If the clock of the Kubernetes node is set ahead between two runs, the time between the looks counts."""
    assert seconds(after((10.0, waits(empty_at(100.0))), (11.0, waits(empty_at(161.0))))) == [1.0]


def test_without_a_stamp_there_is_no_evidence() -> None:
    """A run whose end has no stamp does not count."""
    assert seconds(after((10.0, waits(empty_at(0.0))), (30.0, waits(empty_at(0.0))))) == []


def test_forgotten_where_nobody_looked() -> None:
    """After a long gap between two looks the series begins again, because runs in the gap are unknown."""
    away_s = FORGOTTEN_AFTER_S + 1.0
    assert seconds(after((0.0, waits(empty_at(100.0))), (away_s, waits(empty_at(100.0 + away_s))))) == [0.0]


# Kafka between two runs


def test_a_pod_that_fetches_has_its_disk() -> None:
    """A pod in which Kafka runs and fetches has no blank disk."""
    assert seconds(after((0.0, waits(empty_at(100.0))), (9.0, RUNS), base=at_rest())) == []


def test_kafka_that_ran_between_two_runs_ends_it() -> None:
    """If Kafka ran on the disk between two runs, even without a leader, the series begins again."""
    ran = ((1.0, RUNS), (1.0 + STARTED_AFTER_S, RUNS), (1.1 + STARTED_AFTER_S, RUNS))
    assert seconds(after((0.0, waits(empty_at(100.0))), *ran)) == []
    assert seconds(after((0.0, waits(empty_at(100.0))), *ran, (20.0, waits(empty_at(120.0))))) == [0.0]


def test_a_container_that_only_compares_the_disk_is_no_kafka() -> None:
    """A container of Kafka that ends within a moment, because it only checks the disk, does not end the series."""
    another = RUNS | {"container": Running(started_at="", container="2")}
    looks = ((1.0, RUNS), (2.0, waits(None)), (11.0, RUNS), (12.0, waits(None)), (13.0, RUNS), (18.5, another))
    memory = after((0.0, waits(empty_at(100.0))), *looks, (19.0, waits(empty_at(119.0))))
    assert seconds(memory) == [19.0]


# How old the last run is


def test_age_of_the_last_run() -> None:
    """The age of the last run counts from the last look before it; after a single run the age is infinite."""
    assert only(looked(empty_at(100.0))).age_s(101.0) == math.inf
    looks = ((100.0, waits(empty_at(100.0))), (119.0, waits(empty_at(100.0))), (121.0, waits(empty_at(120.0))))
    assert only(after(*looks)).age_s(125.0) == 6.0
    again = (*looks, (130.0, waits(empty_at(120.0))))
    assert only(after(*again)).age_s(130.0) == 11.0, "another look at the same run makes it no younger"


def test_a_report_that_arrives_late_is_old() -> None:
    """A run that the kubelet reports minutes later is old."""
    waiting = tuple((100.0 + 10.0 * number, waits(empty_at(100.0))) for number in range(30))
    assert only(after(*waiting, (400.0, waits(empty_at(120.0))))).age_s(400.0) == 280.0


# An earlier disk


def test_a_retired_disk_is_as_good_as_an_empty_one() -> None:
    """An earlier disk of this controller, with a retired directory id, counts like an empty one."""
    lost = with_disk_lost(running(), NodeID(3001), new_claim=False)
    record = with_report(lost, NodeID(3001), directory(3001, 2))
    base = replace(at_rest(record), quorum=SILENT_QUORUM)
    old = report(record, node(record, 3001), directory_id=directory(3001), accepted=False)
    seen = (waits(replace(old, finished_at_s=100.0)), waits(replace(old, finished_at_s=120.0)))
    assert seconds(after((0.0, seen[0]), (20.0, seen[1]), base=base)) == [20.0]
    for change in ({"cluster_id": OTHER_CLUSTER}, {"node_id": 3000}, {"directory_id": directory(3000)}):
        assert seconds(after((0.0, waits(replace(old, finished_at_s=100.0, **change))), base=base)) == [], change


# Claims whose volume is lost


def lost_for(*looks: tuple[float, bool]) -> float:
    """For how long controller 3001's volume was lost after these looks, each at its monotonic second."""
    memory = Memory()
    for at_s, lost in looks:
        memory = remembered(replace(with_the_claim(at_rest(), 3001, volume_gone=lost), memory=memory), at_s)
    return memory.volume_gone_for_s(claim_uid(3001))


def test_a_lost_volume_is_looked_at_again() -> None:
    """Time counts between looks that both show the volume as lost; of a long gap only a part counts."""
    assert lost_for((0.0, True)) == 0.0
    assert lost_for((0.0, True), (5.0, True), (12.0, True)) == 12.0
    assert lost_for((0.0, True), (500.0, True)) == 10.0
    assert lost_for((0.0, True), (5.0, True), (6.0, False)) == 0.0
    assert lost_for((0.0, True), (5.0, True), (6.0, False), (7.0, True)) == 0.0


# A disk that was emptied: its own root directory is there, and nothing in it

ACCEPTED = replace(report(running(), node(running(), 3001)), place="12:17:f5")
"""The report of the script that saw the data of controller 3001."""


def emptied_at(finished_at_s: float, run: str, place: str = "12:17:f5") -> DiskReport:
    """A run that found this place empty."""
    return replace(empty_at(finished_at_s), place=place, run=run)


def runs_of(*reports: DiskReport, before: DiskReport | None = ACCEPTED) -> list[int]:
    """How many runs count as those of an emptied disk, after these reports; `before` is that of Kafka's pod."""
    first: tuple[tuple[float, dict[str, object]], ...] = () if before is None else ((1.0, {"report": before}),)
    looks = ((2.0 + number, waits(said)) for number, said in enumerate(reports))
    return [row.emptied_runs for row in after(*first, *looks).blank_disks]


def test_runs_in_the_place_of_the_data_count() -> None:
    """Each run counts that finds the place of the data empty, also two within one second; one run counts once."""
    assert runs_of(emptied_at(100.0, "a")) == [1]
    assert runs_of(emptied_at(100.0, "a"), emptied_at(100.0, "a")) == [1]
    assert runs_of(emptied_at(100.0, "a"), emptied_at(100.0, "b")) == [2]
    assert runs_of(emptied_at(100.0, "a"), emptied_at(101.0, "b")) == [2]


def test_a_run_is_known_by_its_container() -> None:
    """One container is one run, whatever its stamps say; a run without an id counts for nothing here."""
    assert runs_of(emptied_at(100.0, "a"), emptied_at(101.0, "a")) == [1]
    assert runs_of(emptied_at(100.0, ""), emptied_at(101.0, "")) == [0]
    assert runs_of(emptied_at(100.0, "a"), emptied_at(101.0, "")) == [0]


def test_runs_in_another_place_do_not_count() -> None:
    """A directory that stands in for the volume is no emptied disk, and ends the count."""
    assert runs_of(emptied_at(100.0, "a", "13:18:f5"), emptied_at(101.0, "b", "13:18:f5")) == [0]
    assert runs_of(emptied_at(100.0, "a"), emptied_at(101.0, "b", "13:18:f5"), emptied_at(102.0, "c")) == [1]


@pytest.mark.parametrize(
    "before",
    [
        None,
        replace(ACCEPTED, place=""),
        replace(ACCEPTED, accepted=False),
        replace(ACCEPTED, directory_id=directory(3001, 2)),
    ],
    ids=["never seen", "unknown place", "refused", "another directory id"],
)
def test_the_place_must_be_known(before: DiskReport | None) -> None:
    """Only the place counts where a script saw the data of this directory id, and accepted it."""
    assert runs_of(emptied_at(100.0, "a"), emptied_at(101.0, "b"), before=before) == [0]


def test_an_unknown_place_is_no_place() -> None:
    """Two reports without a place show nothing together."""
    assert runs_of(emptied_at(100.0, "a", ""), before=replace(ACCEPTED, place="")) == [0]


def test_a_container_that_runs_between_ends_the_count() -> None:
    """If a container of Kafka was seen to run, the data may have been there: the runs before it do not count."""
    first: tuple[float, dict[str, object]] = (1.0, {"report": ACCEPTED})
    looks = (first, (2.0, waits(emptied_at(100.0, "a"))), (2.5, RUNS))
    assert [row.emptied_runs for row in after(*looks, (3.0, waits(emptied_at(101.0, "b")))).blank_disks] == [1]


def test_places_are_forgotten_with_their_claims() -> None:
    """The place is remembered as long as the claim exists."""
    memory = after((1.0, {"report": ACCEPTED}))
    assert [row.place for row in memory.data_places] == ["12:17:f5"]
    look = replace(at_rest(), memory=memory, claims=())
    assert remembered(look, 2.0).data_places == ()
