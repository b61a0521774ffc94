"""Pods that work on disks, as they are read back: a hostile or broken report is no report, and a later one stops."""

import json
from typing import Any

import pytest
from tests.model.values import CLUSTER, answer, directory, key

from kafka_quorum.model.formats import LaterFormat
from kafka_quorum.model.known import Known, Unknown
from kafka_quorum.model.memory import Memory
from kafka_quorum.model.surveyed import EpochStart, LogRead, Watermark
from kafka_quorum.observe.recovery import (
    copy_from,
    is_copy,
    is_worker,
    recovery_from,
    report_from,
    watermark_from,
    watermarked,
    worker_from,
)

Json = dict[str, Any]
LOG: Json = {
    "clusterID": CLUSTER,
    "nodeID": 3000,
    "directoryID": directory(3000),
    "leaderEpoch": 9,
    "lastEpoch": 7,
    "endOffset": 500,
    "checkpoint": {"offset": 400, "epoch": 6},
    "tornBytes": 0,
    "damagedAt": None,
    "voters": [{"nodeID": 3000, "directoryID": directory(3000)}],
    "kraftVersion": 1,
}
DONE: Json = {"report": 1, "done": True, "found": "log", "log": LOG}


def pod(message: str = "", **status: object) -> Json:
    """A pod that works on a disk, which has ended with this message."""
    ended = {"terminated": {"exitCode": 0, "message": message, "finishedAt": "2026-01-01T00:00:00Z"}}
    return {
        "metadata": {
            "name": "alpha-inspect-0123456789",
            "uid": "u",
            "resourceVersion": "1",
            "labels": {"kafkaquorum.io/role": "disk-worker"},
        },
        "spec": {"nodeName": "worker-1"},
        "status": {"phase": "Succeeded", "containerStatuses": [{"name": "work", "state": ended}], **status},
    }


BEYOND: Json = {
    "end": {"epoch": 7, "offset": 500},
    "shared": {"epoch": 7, "offset": 399},
    "records": 100,
    "undecided": 0,
    "unread": 0,
    "whole": True,
    "first": 400,
    "last": 499,
    "epochs": [[7, 400, 499, 100]],
    "types": [["TOPIC_RECORD", 100]],
    "topics": ["orders"],
    "topicsTotal": 1,
}
COMPARED: Json = {"report": 1, "done": True, "found": "compared", "beyond": BEYOND}


def test_a_comparison_is_read() -> None:
    """A pod that compared reports what a log has more, and nothing about the disk itself."""
    report = report_from(json.dumps(COMPARED))
    assert report is not None
    assert isinstance(report.found, Unknown)
    assert report.beyond is not None
    assert (report.beyond.records, report.beyond.topics) == (100, ("orders",))
    none: Json = {"shared": None, "first": None, "last": None, "epochs": [], "types": [], "topics": []}
    assert report_from(json.dumps(COMPARED | {"beyond": BEYOND | none})) is not None


@pytest.mark.parametrize(
    "changed",
    [
        {"records": -1},
        {"records": None},
        {"records": 2**63},
        {"end": None},
        {"shared": 7},
        {"first": "400"},
        {"epochs": [[7, 400, 499]]},
        {"epochs": [[7, 400, 499, True]]},
        {"epochs": [7]},
        {"types": [["TOPIC_RECORD", 1]] * 101},
        {"types": {"TOPIC_RECORD": 1}},
        {"topics": "orders"},
        {"topicsTotal": 1.5},
    ],
)
def test_an_impossible_comparison_is_no_report(changed: Json) -> None:
    """A value that no comparison has makes the whole report unreadable: it is not one without records."""
    assert report_from(json.dumps(COMPARED | {"beyond": BEYOND | changed})) is None
    for name in BEYOND:
        assert report_from(json.dumps(COMPARED | {"beyond": BEYOND | {name: {"x": 1}}})) is None or name == "whole"


def test_names_in_a_comparison_are_shown_safely() -> None:
    """A name from a disk that cannot be shown is never shown as it is."""
    report = report_from(
        json.dumps(COMPARED | {"beyond": BEYOND | {"topics": ["a\u202eb", 7], "types": [["\x1b[2J", 1]]}})
    )
    assert report is not None
    assert report.beyond is not None
    assert report.beyond.topics == ("?ab", "?int")
    assert report.beyond.types[0][0].startswith("?")


def test_the_epochs_of_a_log_are_in_order() -> None:
    """The leader epochs of a log and their offsets ascend; a report of before has none, which is unknown."""
    report = report_from(json.dumps(DONE | {"log": LOG | {"epochs": [[4, 0], [7, 30]]}}))
    assert report is not None
    assert isinstance(report.found, Known)
    assert isinstance(report.found.value, LogRead)
    assert report.found.value.epochs == (EpochStart(epoch=4, offset=0), EpochStart(epoch=7, offset=30))
    older = report_from(json.dumps(DONE))
    assert older is not None
    assert isinstance(older.found, Known)
    assert isinstance(older.found.value, LogRead)
    assert older.found.value.epochs == ()
    for wrong in ([[7, 0], [7, 30]], [[4, 30], [7, 30]], [[7, 30], [4, 40]], [[4]], 7, [[4, 0]] * 101):
        assert report_from(json.dumps(DONE | {"log": LOG | {"epochs": wrong}})) is None


def test_a_report_is_read() -> None:
    """A pod that has ended has a report with the log."""
    worker = worker_from(pod(json.dumps(DONE)))
    assert worker.finished
    assert worker.report is not None
    assert isinstance(worker.report.found, Known)
    assert isinstance(worker.report.found.value, LogRead)
    assert worker.report.found.value.voters == (key(3000),)


@pytest.mark.parametrize(
    "changed",
    [
        {"endOffset": -1},
        {"endOffset": 2**63},
        {"endOffset": "500"},
        {"endOffset": True},
        {"nodeID": 2**31},
        {"directoryID": "../../etc"},
        {"voters": [{"nodeID": 3000, "directoryID": None}]},
        {"voters": [{"nodeID": 1, "directoryID": directory(1)}] * 65},
        {"voters": {}},
        {"checkpoint": {"offset": 1}},
    ],
)
def test_an_impossible_log_is_no_report(changed: Json) -> None:
    """A value that no log can have makes the whole report unreadable."""
    assert report_from(json.dumps(DONE | {"log": LOG | changed})) is None


@pytest.mark.parametrize("text", ["", "not JSON", "[]", "{}", '{"done":true}', '{"done":true,"found":"log"}'])
def test_other_text_is_no_report(text: str) -> None:
    """A message that is no report says nothing about the disk."""
    assert report_from(text) is None


def test_a_failure_is_unknown() -> None:
    """Work that was not done has its reason, and shows no log."""
    report = report_from('{"report":1,"done":false,"found":"unknown","message":"it cannot be read"}')
    assert report is not None
    assert report.found == Unknown(reason="it cannot be read")


def test_a_later_report_stops() -> None:
    """A report of a later version is not guessed."""
    with pytest.raises(LaterFormat):
        report_from(json.dumps(DONE | {"report": 2}))


def test_what_keeps_a_pod_from_starting() -> None:
    """A pod that cannot be scheduled, or whose container does not start, says why."""
    unscheduled = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "no node"}
    worker = worker_from(pod(phase="Pending", containerStatuses=[], conditions=[unscheduled]))
    assert (worker.report, worker.finished) == (None, False)
    assert "no node" in worker.why
    waiting = {"name": "work", "state": {"waiting": {"reason": "ErrImagePull", "message": "gone"}}}
    assert "ErrImagePull" in worker_from(pod(phase="Pending", containerStatuses=[waiting])).why
    item = pod(phase="Failed", containerStatuses=[], reason="OutOfcpu")
    item["status"]["message"] = "no room"
    refused = worker_from(item)
    assert refused.why == "its pod was refused: OutOfcpu (no room)"
    assert refused.never_ran


def test_only_our_names_are_ours() -> None:
    """A pod or a claim with our role is ours only with a name that the operator makes."""
    assert is_worker(pod(), "alpha")
    assert not is_worker(pod(), "beta")
    item = pod()
    item["metadata"]["name"] = "alpha-inspect-me"
    assert not is_worker(item, "alpha")
    claim = {
        "metadata": {
            "name": "alpha-3000-g1-copy-0123456789",
            "uid": "u",
            "resourceVersion": "1",
            "labels": {"kafkaquorum.io/role": "disk-copy"},
            "annotations": {"kafkaquorum.io/recovery": "2"},
        }
    }
    assert is_copy(claim, "alpha")
    assert copy_from(claim).epoch == 2


def test_the_watermark_is_kept() -> None:
    """The last high watermark of a leader is remembered, and -1, which means none yet, changes nothing."""
    said = answer([key(3000)])
    assert watermarked(Memory(), said) == Watermark(epoch=5, offset=100)
    before = Memory(watermark=Watermark(epoch=4, offset=90))
    assert watermarked(before, answer([key(3000)], high_watermark=-1)) == before.watermark


@pytest.mark.parametrize("row", [{}, {"lastHighWatermark": "1", "lastLeaderEpoch": 1}, {"lastHighWatermark": -1}])
def test_a_broken_watermark_in_the_status_is_none(row: Json) -> None:
    """The status can be edited: what is no watermark counts as none."""
    assert watermark_from(row) is None
    assert watermark_from({"lastHighWatermark": 5, "lastLeaderEpoch": 1}) == Watermark(epoch=1, offset=5)


def test_what_the_status_says_of_a_recovery() -> None:
    """An open stage is one that the journal knows, and the epoch is a positive number."""
    assert recovery_from({"epoch": 2, "stage": "Copy"}) == {"recovery_epoch": 2, "recovering": True}
    assert recovery_from({"epoch": -1, "stage": "Recovered"}) == {"recovery_epoch": 0, "recovering": False}
