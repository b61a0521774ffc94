"""Pods that compare disks, as the model runs them: their report is one that the operator reads, and it is right."""

import json

from tests.model.values import CLUSTER, directory
from tests.simulation.model.kafka.disk import Disk, Entry, Meta
from tests.simulation.model.kubernetes.disk_pods import _compared, _inspected

from kafka_quorum.model.ids import NodeID
from kafka_quorum.model.surveyed import EpochRange, LogEnd
from kafka_quorum.observe.recovery import report_from


def disk_of(*epochs: int) -> Disk:
    """A disk with one record of each of these epochs, in order."""
    meta = Meta(cluster_id=CLUSTER, node_id=NodeID(3000), directory_id=directory(3000))
    return Disk(serial=1, meta=meta, log=[Entry(epoch=epoch, what="noop") for epoch in epochs])


def test_what_parted_is_reported() -> None:
    """The records behind the last one that both logs have are reported, by epoch and by type."""
    best = _inspected(disk_of(1, 1, 3, 3))["log"]
    epochs = [{"epoch": epoch, "offset": offset} for epoch, offset in best["epochs"]]
    chosen = {"schema": 1, "epochs": epochs, "end_offset": best["endOffset"]}
    report = report_from(json.dumps({"report": 1, **_compared(disk_of(1, 1, 2, 2, 2), chosen)}))
    assert report is not None
    assert report.beyond is not None
    assert (report.beyond.shared, report.beyond.records) == (LogEnd(epoch=1, offset=1), 3)
    assert report.beyond.epochs == (EpochRange(epoch=2, first=2, last=4, records=3),)
    same = report_from(json.dumps({"report": 1, **_compared(disk_of(1, 1, 3), chosen)}))
    assert same is not None
    assert same.beyond is not None
    assert (same.beyond.records, same.beyond.first) == (0, None)
