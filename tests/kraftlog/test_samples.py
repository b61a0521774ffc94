"""The logs of real clusters are read as Kafka's own tools printed them at the recording."""

from pathlib import Path

import pytest
from tests.kraftlog import logs, oracle
from tests.kraftlog.record_samples import LIVES, SAMPLES, expected_of, recorded

from kraftlog import FaultKind, Options


def assert_same(mine: list[oracle.Line], theirs: list[oracle.Line]) -> None:
    """Checks that all records are equal, in order; data that the tool does not print is not compared."""
    assert len(mine) == len(theirs)
    for ours, said in zip(mine, theirs, strict=True):
        silent = said["data"] is None
        assert (ours | {"data": None, "version": None} if silent else ours) == said


def read_all(paths: list[Path], release: str) -> list[oracle.Line]:
    """Every record of these files; the only allowed fault is an empty segment."""
    found: list[oracle.Line] = []
    for path in paths:
        records, faults = logs.read(path, Options(release=release))
        assert {fault.kind for fault in faults} <= {FaultKind.EMPTY}
        found += records
    return found


@pytest.mark.parametrize("release", LIVES)
def test_samples_read_as_recorded(release: str) -> None:
    """Each record equals the recorded one, on segments and checkpoints of every replica."""
    paths, expected = recorded(SAMPLES / release)
    assert_same(read_all(paths, release), expected)


@pytest.mark.parametrize(
    ("release", "types"),
    [
        ("3.3.2", {"FEATURE_LEVEL_RECORD", "CLIENT_QUOTA_RECORD", "ACCESS_CONTROL_ENTRY_RECORD", "LeaderChange"}),
        ("3.9.2", {"KRaftVoters", "USER_SCRAM_CREDENTIAL_RECORD", "REGISTER_CONTROLLER_RECORD", "SnapshotFooter"}),
        ("4.1.2", {"FEATURE_LEVEL_RECORD", "KRaftVoters", "PARTITION_CHANGE_RECORD", "CONFIG_RECORD"}),
        ("4.3.1", {"KRaftVoters", "REMOVE_TOPIC_RECORD", "REMOVE_USER_SCRAM_CREDENTIAL_RECORD"}),
        ("4.4.0", {"KRaftVoters", "BEGIN_TRANSACTION_RECORD", "END_TRANSACTION_RECORD", "SnapshotHeader"}),
    ],
)
def test_samples_hold_what_they_are_for(release: str, types: set[str]) -> None:
    """The samples have the record types that they are meant to show."""
    _, expected = recorded(SAMPLES / release)
    assert types <= {line["type"] for line in expected}


@pytest.mark.full
@pytest.mark.timeout(300)
@pytest.mark.parametrize("release", LIVES)
def test_the_recorded_output_is_what_kafka_prints(release: str) -> None:
    """The tools print today what was recorded."""
    paths, expected = recorded(SAMPLES / release)
    assert expected_of(release, paths) == expected
