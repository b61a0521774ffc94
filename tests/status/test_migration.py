"""`status.migration`: the stage, what is missing for the next one, and how to revert it."""

from dataclasses import replace

import pytest
from tests.model.values import SILENT, runtime
from tests.plan.test_migrations import BROKERS, CONTROLLERS, RAISE, look_at, wanted
from tests.status.passes import done

from kafka_quorum.model.ids import NodeID
from kafka_quorum.model.known import Known, Unknown
from kafka_quorum.model.observed import Observed
from kafka_quorum.model.registered import BrokerSeen
from kafka_quorum.status.build import readable
from kafka_quorum.status.features_settled import features_settled
from kafka_quorum.status.finding import Pass
from kafka_quorum.status.migration import Json, migration
from kafka_quorum.status.ready import ready
from kit.conditions.finding import Truth

OLD = {"migration": {"kind": "StaticToDynamic", "stage": 0, "stages": 3, "name": "NotBegun"}}
SILENT_BROKER = BrokerSeen(node_id=NodeID(7), settings=Unknown(reason="it does not answer"), metadata_max=None)


def told(of: Pass, old: Json | None = None) -> Json:
    """The row of the status; empty if there is none."""
    found: Json = migration(of, old or {}).get("migration", {})
    return found


def waiting() -> Observed:
    """The last stage, with a broker that cannot be asked."""
    return replace(look_at(BROKERS, kraft=1), brokers=Known(value=(SILENT_BROKER,)))


@pytest.mark.parametrize(("stage", "number"), [(RAISE, 1), (CONTROLLERS, 2), (BROKERS, 3)])
def test_a_stage(stage: str, number: int) -> None:
    """The row has kind, stage n of m, its name and sentence, and whether it can be reverted."""
    row = told(done(look_at(stage, kraft=int(number > 1)), wanted()))
    assert (row["kind"], row["stage"], row["stages"], row["name"]) == ("StaticToDynamic", number, 3, stage)
    assert row["message"]
    assert ("spec.kafka.features.levels" in row["revert"]) is (number == 1)


def test_what_is_missing() -> None:
    """A broker that holds the last stage is named in the row, and the quorum stays Ready."""
    found = done(waiting(), wanted())
    assert "broker 7" in told(found)["missing"]
    assert ready(found).truth is Truth.TRUE
    settled = features_settled(found)
    assert (settled.truth, settled.reason) == (Truth.FALSE, "Blocked")


def test_nothing_is_missing_when_a_gate_is_open() -> None:
    """A stage that is about to end waits for nothing."""
    assert "missing" not in told(done(look_at(BROKERS, kraft=1), wanted()))


def test_a_request_that_has_not_begun() -> None:
    """Stage 0 says what the beginning waits for, and how to take the request back."""
    look = replace(look_at(None, kraft=0), brokers=Unknown(reason="no broker answers"))
    row = told(done(look, wanted()))
    assert (row["stage"], row["name"]) == (0, "NotBegun")
    assert "no broker answers" in row["missing"]
    assert "kraft.version" in row["revert"]


def test_a_pause_is_what_is_missing() -> None:
    """A paused quorum shows the stage, and that it is paused."""
    row = told(done(look_at(CONTROLLERS, kraft=1), wanted(paused=True)))
    assert row["stage"] == 2
    assert "spec.paused" in row["missing"]


def test_without_a_leader_a_request_stays() -> None:
    """Whether a request has begun is not known without a leader: its row stays; one that had begun is in the record."""
    look = replace(look_at(None, kraft=0), quorum=SILENT, versions=())
    assert told(done(look, wanted()), OLD) == OLD["migration"]
    begun: Json = {"migration": {**OLD["migration"], "stage": 2}}
    assert told(done(look, wanted()), begun) == {}


def test_without_a_request_there_is_no_row() -> None:
    """A quorum without a migration has no row, whatever was there before."""
    assert told(done(look_at(None, kraft=0), wanted(features=())), OLD) == {}


def test_a_release_that_waits_for_the_migration_is_not_ready() -> None:
    """Who waits for Ready after asking for another release waits until it runs, however long the migration takes."""
    found = done(waiting(), wanted(runtime=runtime(release="4.5.0")))
    assert (ready(found).truth, ready(found).reason) == (Truth.FALSE, "AfterMigration")
    assert "4.5.0" in ready(found).message


def test_a_row_of_a_wrong_type_is_not_read() -> None:
    """Any user may write the status of an older CRD: text in place of the row is dropped."""
    assert "migration" not in readable({"migration": "StaticToDynamic"})


def test_what_follows_is_not_what_is_missing() -> None:
    """A release that waits for the end of the migration is not what the migration waits for."""
    roll = replace(look_at(CONTROLLERS, kraft=1), quorum=SILENT)
    row = told(done(roll, wanted(runtime=runtime(release="4.5.0"))))
    assert "4.5.0" not in row["missing"]
    assert "the quorum has no leader" in row["missing"]


def test_a_record_that_cannot_be_read_ends_no_migration() -> None:
    """Without a record the stage is not known, and the row stays as it was."""
    begun: Json = {"migration": {**OLD["migration"], "stage": 2}}
    found = done(replace(look_at(CONTROLLERS, kraft=1), record=None), wanted())
    assert told(found, begun) == begun["migration"]
    assert told(found) == {}
