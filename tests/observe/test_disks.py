"""A disk that looks blank: only runs that follow each other, of one pod and one disk, add up."""

from dataclasses import replace

import pytest
from tests.model.values import at_rest, directory, empty_report, with_pod

from kafka_quorum.model.memory import Memory
from kafka_quorum.model.observed import DiskFound, DiskReport, Observed, Running, Waiting
from kafka_quorum.observe.disks import blank

WAITING = Waiting(reason="CrashLoopBackOff", message="", last_exit=None)


def empty_at(finished_at_s: float) -> DiskReport:
    """A run that found nothing, and ended then."""
    return replace(empty_report(), finished_at_s=finished_at_s)


def looked(*reports: DiskReport | None, **changes: object) -> Memory:
    """What is remembered after one look at each of these reports; `changes` come with the last one."""
    memory = Memory()
    for number, report in enumerate(reports):
        more = changes if number == len(reports) - 1 else {}
        look: Observed = with_pod(at_rest(), 3001, **{"container": WAITING, "report": report, **more})
        memory = blank(replace(look, memory=memory))
    return memory


def seconds(memory: Memory) -> list[float]:
    """For how long each disk has been blank."""
    return [row.for_s for row in memory.blank_disks]


def test_runs_add_up() -> None:
    """The time between the first and the last run counts; a look at the same run again adds nothing."""
    assert seconds(looked(empty_at(100.0))) == [0.0]
    assert seconds(looked(empty_at(100.0), empty_at(100.0))) == [0.0]
    assert seconds(looked(empty_at(100.0), empty_at(104.0), empty_at(120.0))) == [20.0]


def test_kept_while_it_looks_again() -> None:
    """While the script runs once more, nothing is known that is new."""
    assert seconds(looked(empty_at(100.0), None, empty_at(110.0))) == [10.0]


@pytest.mark.parametrize("found", [one for one in DiskFound if one is not DiskFound.EMPTY])
def test_anything_else_begins_it_anew(found: DiskFound) -> None:
    """A run that found something, or could not read the disk, ends it."""
    other = replace(empty_at(110.0), found=found)
    assert seconds(looked(empty_at(100.0), other)) == []
    assert seconds(looked(empty_at(100.0), other, empty_at(120.0))) == [0.0]


@pytest.mark.parametrize(
    "change",
    [{"uid": "another pod"}, {"claim_uid": "another claim"}, {"directory_id": directory(3001, 2)}],
    ids=["pod", "claim", "directory id"],
)
def test_of_one_pod_and_one_disk(change: dict[str, object]) -> None:
    """Another pod, or a pod of another disk, begins anew."""
    assert seconds(looked(empty_at(100.0), empty_at(120.0), **change)) == [0.0]


def test_a_pod_that_runs_has_its_disk() -> None:
    """Where Kafka runs, nothing is blank."""
    assert seconds(looked(empty_at(100.0), empty_at(120.0), container=Running(started_at=""))) == []


def test_a_clock_that_is_set_back_begins_it_anew() -> None:
    """Stamps of before and after do not make a span."""
    assert seconds(looked(empty_at(5000.0), empty_at(100.0))) == [0.0]


def test_without_a_stamp_there_is_no_evidence() -> None:
    """A run of which nobody knows when it ended counts for nothing."""
    assert seconds(looked(empty_at(0.0), empty_at(0.0))) == []
