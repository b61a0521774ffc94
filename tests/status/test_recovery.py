"""What the status says of a recovery."""

from dataclasses import replace
from typing import Any

from tests.model.values import running
from tests.plan.reading import planned
from tests.plan.recovery.lost import (
    approved,
    asked,
    copied,
    copy,
    failed,
    inspected,
    log,
    open_record,
    stopped,
    without_leader,
)
from tests.plan.recovery.test_tails import beyond, compared, parted
from tests.status.passes import done

from kafka_quorum.model.desired import Desired
from kafka_quorum.model.observed import Observed
from kafka_quorum.status.build import build
from kafka_quorum.status.recovery import recovery

Json = dict[str, Any]


def status(wanted: Desired, look: Observed) -> dict[str, object]:
    """The row of a pass."""
    row = recovery(replace(done(look, wanted), plan=planned(look, wanted)), {})
    found: dict[str, object] = row.get("recovery", {})
    return found


def test_nothing_without_a_request() -> None:
    """A quorum that nobody recovers has no row."""
    assert status(asked(inspect=False), without_leader()) == {}


def test_a_proposal_has_everything_that_a_person_needs() -> None:
    """The verdict, the hash, each disk, each step, and the disk that survives."""
    row = status(asked(), inspected(without_leader(), log()))
    assert (row["stage"], row["verdict"], row["controller"]) == ("Proposed", "NoLossUpToWatermark", 3000)
    assert len(str(row["plan"])) == 10
    assert row["disks"] == [
        {
            "claimName": "alpha-3000-g1",
            "nodeID": 3000,
            "state": "Read",
            "directoryID": log().directory_id,
            "lastEpoch": 7,
            "endOffset": 500,
            "checkpointOffset": 400,
            "best": True,
        }
    ]
    assert "Stop every controller" in str(row["steps"])


def test_a_disk_that_cannot_be_read_says_why() -> None:
    """An unknown disk has its reason, and no end."""
    row = status(asked(), inspected(without_leader(lost=(3002,)), log(), of3001=failed("the volume is away")))
    assert row["verdict"] == "MajorityMayReturn"
    assert "plan" not in row
    assert {"claimName": "alpha-3001-g1", "nodeID": 3001, "state": "Unknown", "reason": "the volume is away"} in row[
        "disks"
    ]  # type: ignore[operator]


def lost(look: Observed) -> list[Json]:
    """What would be lost, as the status says."""
    rows: Any = status(asked(), look)["wouldBeLost"]
    return list(rows)


def test_what_no_log_has_is_in_the_status() -> None:
    """Even if nothing is known to be lost, a row says that what no log has is unknown."""
    (only,) = lost(inspected(without_leader(), log()))
    assert set(only) == {"state", "message"}
    assert only["state"] == "Unknown"
    assert "wouldBeLost" not in status(asked(), inspected(without_leader(lost=(3002,)), log(3000), log(3001)))


def test_what_another_log_has_is_in_the_status() -> None:
    """A log that has more is listed with its records by type and its topics by name; before, it is unknown."""
    row, _ = lost(parted())
    assert (row["claimName"], row["nodeID"], row["state"]) == ("alpha-3001-g1", 3001, "Unknown")
    assert "records" not in row
    row, _ = lost(compared(parted(), beyond()))
    message = row.pop("message")
    assert "topics: orders" in message
    assert row == {
        "claimName": "alpha-3001-g1",
        "nodeID": 3001,
        "state": "Known",
        "records": 420,
        "firstOffset": 480,
        "lastOffset": 899,
        "types": [
            {"type": "NO_OP_RECORD", "records": 416},
            {"type": "PARTITION_RECORD", "records": 3},
            {"type": "TOPIC_RECORD", "records": 1},
        ],
        "topics": ["orders"],
        "topicsTotal": 1,
    }
    for least in (beyond(whole=False), beyond(undecided=1)):
        row, _ = lost(compared(parted(), least))
        assert row["state"] == "AtLeast"


def test_an_open_recovery_shows_its_stage() -> None:
    """The stage is that of the journal, with what it waits for, and the claims with copies."""
    record = open_record()
    row = status(approved(record), copied(stopped(record), log()))
    assert (row["epoch"], row["stage"]) == (1, "Stop")
    assert row["copies"] == [f"alpha-3000-g1-copy-{record.recovery.plan}"]  # type: ignore[union-attr]


def test_a_pause_stops_an_open_recovery_and_says_so() -> None:
    """The row does not say that the recovery goes on."""
    record = open_record()
    wanted = replace(approved(record), paused=True)
    assert "spec.paused is true" in str(status(wanted, copied(stopped(record), log()))["message"])
    assert "spec.paused" not in str(status(approved(record), copied(stopped(record), log()))["message"])


def test_afterwards_the_epoch_stays() -> None:
    """After a recovery the status has its number, which a person needs to release the copies."""
    row = status(asked(), without_leader(replace(running(), recovery_epoch=1), lost=()))
    assert row["epoch"] == 1


def test_the_last_watermark_stays_in_the_status() -> None:
    """While no leader answers, the last high watermark is in the status, so that the next operator knows it."""
    look = without_leader()
    shown = build(done(look, asked()), {}, generation=1, now="t")
    assert (shown["quorum"]["lastHighWatermark"], shown["quorum"]["lastLeaderEpoch"]) == (500, 7)


def test_without_a_record_the_row_stays() -> None:
    """If the identity record cannot be read, the row says as before whether a recovery is open."""
    before = {"recovery": {"epoch": 1, "stage": "Copy"}}
    assert recovery(done(replace(without_leader(), record=None), asked()), before) == before


def test_copies_of_a_recovery_that_was_taken_back_are_shown() -> None:
    """They are left when the quorum works again, and a person may delete them: the message has the command."""
    left = copy("alpha-3000-g1-copy-0123456789")
    row = status(asked(inspect=False), without_leader(lost=(), copies=(left,)))
    assert (row["stage"], row["copies"]) == ("Abandoned", [left.name])
    assert f"kubectl -n kafka delete pvc {left.name}" in str(row["message"])
    after = replace(running(), recovery_epoch=1)
    other = copy("alpha-3000-g1-copy-1123456789", epoch=2)
    row = status(asked(inspect=False), without_leader(after, lost=(), copies=(other,)))
    assert (row["stage"], row["epoch"]) == ("Recovered", 1)
    assert "Recovery 2 was taken back" in str(row["message"])
