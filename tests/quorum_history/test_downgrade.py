"""The losses of a downgrade, compared with Kafka's own image writer."""

import subprocess
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.kraftlog.record_samples import SAMPLES
from tests.live.feature_answers import LOSSY
from tests.live.jars import ensure_kafka

from kraftlog import catalog
from kraftlog.writer import NewBatch, batch_of, record_of
from quorum_history.downgrade import CHANGED, LEVELS, all_losses, losses, verdicts
from quorum_history.files import find_files
from quorum_history.image import MIGRATING, Image
from quorum_history.lossy import lossy_image
from quorum_history.replicas import cluster_logs

if TYPE_CHECKING:
    from kraftlog.values import Data

_DIRECTORY = "1111111111111111111111"


def _image(*records: tuple[str, dict[str, Any]]) -> Image:
    image = Image()
    for record_type, data in records:
        image.replay(record_type, data)
    return image


def _broker(number: int, **more: Any) -> tuple[str, dict[str, Any]]:  # noqa: ANN401 -- fields of a record
    return "REGISTER_BROKER_RECORD", {"brokerId": number, **more}


def _what(image: Image, target: int) -> dict[str, tuple[int, tuple[str, ...]]]:
    return {loss.what: (loss.count, loss.examples) for loss in losses(image, target)}


def test_an_empty_cluster_loses_nothing() -> None:
    """An empty cluster loses nothing at any level."""
    assert not list(all_losses(Image()))


def test_broker_state_by_level() -> None:
    """Directories are lost below 3.7-IV2, cordoned ones below 4.3-IV0, an empty list of cordoned ones included."""
    image = _image(_broker(1, logDirs=[_DIRECTORY]), _broker(2), _broker(3, logDirs=[_DIRECTORY], cordonedLogDirs=[]))
    assert set(_what(image, 29)) == {"the cordoned log directories of one or more brokers"}
    assert _what(image, 16)["the online log directories of one or more brokers"] == (2, ("broker 1", "broker 3"))
    assert not _what(image, 30)


def test_changes_of_registrations_count() -> None:
    """A change of a registration adds directories; an unregistered broker loses nothing."""
    image = _image(
        _broker(1),
        ("BROKER_REGISTRATION_CHANGE_RECORD", {"brokerId": 1, "logDirs": [_DIRECTORY]}),
        _broker(2, logDirs=[_DIRECTORY]),
        ("UNREGISTER_BROKER_RECORD", {"brokerId": 2}),
    )
    assert _what(image, 10) == {"the online log directories of one or more brokers": (1, ("broker 1",))}


def test_partitions_by_their_directories() -> None:
    """Only assigned directories are lost; a removed topic loses none."""
    base = {"replicas": [1, 2], "partitionId": 0}
    image = _image(
        ("TOPIC_RECORD", {"name": "orders", "topicId": "A"}),
        ("PARTITION_RECORD", {**base, "topicId": "A", "directories": [MIGRATING, _DIRECTORY]}),
        ("PARTITION_RECORD", {**base, "topicId": "A", "partitionId": 1, "directories": [MIGRATING, MIGRATING]}),
        ("PARTITION_RECORD", {**base, "topicId": "B", "directories": [_DIRECTORY, _DIRECTORY]}),
        ("REMOVE_TOPIC_RECORD", {"topicId": "B"}),
        ("PARTITION_CHANGE_RECORD", {"topicId": "A", "partitionId": 0, "isr": [1]}),
    )
    assert _what(image, 16) == {"the directory assignment state of one or more replicas": (1, ("orders-0",))}


def test_secrets_and_controllers() -> None:
    """SCRAM is lost below 3.5-IV2, tokens below 3.6-IV2, controllers below 3.7-IV0; removed ones do not count."""
    image = _image(
        ("USER_SCRAM_CREDENTIAL_RECORD", {"name": "alice", "mechanism": 1}),
        ("USER_SCRAM_CREDENTIAL_RECORD", {"name": "bob", "mechanism": 1}),
        ("REMOVE_USER_SCRAM_CREDENTIAL_RECORD", {"name": "bob", "mechanism": 1}),
        ("DELEGATION_TOKEN_RECORD", {"tokenId": "t"}),
        ("REGISTER_CONTROLLER_RECORD", {"controllerId": 7}),
        ("REGISTER_CONTROLLER_RECORD", {"controllerId": 8}),
        ("UNREGISTER_CONTROLLER_RECORD", {"controllerId": 8}),
    )
    assert _what(image, 10)["ScramImage"] == (1, ("user alice",))
    assert set(_what(image, 13)) == {"DelegationTokenImage", "controller registration data"}
    assert _what(image, 14) == {"controller registration data": (1, ("controller 7",))}


def test_an_aborted_transaction_never_happened() -> None:
    """Records between the beginning of a transaction and its abort do not count."""
    image = _image(
        _broker(1),
        ("BEGIN_TRANSACTION_RECORD", {}),
        _broker(2, logDirs=[_DIRECTORY]),
        ("ABORT_TRANSACTION_RECORD", {}),
        ("BEGIN_TRANSACTION_RECORD", {}),
        _broker(3, logDirs=[_DIRECTORY]),
        ("END_TRANSACTION_RECORD", {}),
    )
    assert sorted(image.brokers) == [1, 3]


def test_only_levels_below_the_finalized_one_are_targets() -> None:
    """Only levels below the finalized one are targets."""
    image = _image(
        _broker(1, cordonedLogDirs=[]), ("FEATURE_LEVEL_RECORD", {"name": "metadata.version", "featureLevel": 9})
    )
    assert {loss.target for loss in all_losses(image)} == {7, 8}


_RANGES = [{"name": "metadata.version", "minSupportedVersion": 7, "maxSupportedVersion": 33}]


def _at_level(level: int, *records: tuple[str, dict[str, Any]]) -> Image:
    return _image(*records, ("FEATURE_LEVEL_RECORD", {"name": "metadata.version", "featureLevel": level}))


def _said(image: Image, faults: int = 0) -> dict[int, tuple[bool | None, str]]:
    return {each.target: (each.accepted, each.reason) for each in verdicts(image, faults=faults)}


def test_a_level_that_changed_metadata_cannot_be_lowered() -> None:
    """Kafka accepts a target only above the last level that changed metadata, whether or not anything is lost."""
    found = _said(_at_level(25, _broker(1, features=_RANGES)))
    assert [target for target, (accepted, _) in found.items() if accepted] == [23, 24]
    assert found[22] == (False, "the format of metadata changed with 4.0-IV1 (23)")
    assert found[16] == (False, "the format of metadata changed with 3.7-IV2 (17), 4.0-IV1 (23)")
    assert set(found) == set(range(7, 25))


def test_a_registered_node_decides_too() -> None:
    """A registered node that does not support the target, or that has no range, makes Kafka refuse it."""
    newer = [{**_RANGES[0], "minSupportedVersion": 24}]
    image = _at_level(25, _broker(1, features=_RANGES), ("REGISTER_CONTROLLER_RECORD",
                      {"controllerId": 7, "features": newer}))  # fmt: skip
    assert _said(image)[23] == (False, "not supported by controller 7")
    assert _said(image)[24][0] is True
    assert _said(_at_level(25, _broker(1, features=[])))[24] == (False, "not supported by broker 1")


def test_a_verdict_without_its_facts_is_unknown() -> None:
    """A level that is unset or of a later release, and a log with faults, never give an accepted downgrade."""
    assert {accepted for accepted, _ in _said(Image()).values()} == {None}
    later = _said(_at_level(40))
    assert (later[33][0], later[29][0]) == (None, False)
    assert "levels 34 to 40" in later[33][1]
    damaged = _said(_at_level(25), faults=1)
    assert (damaged[24][0], damaged[22][0]) == (None, False)


@pytest.mark.parametrize(("state", "accepted"), [(0, True), (1, False), (2, False), (3, True)])
def test_no_level_changes_during_a_migration(state: int, accepted: bool) -> None:  # noqa: FBT001 -- a test's table
    """Kafka refuses every change while a migration from ZooKeeper is in progress."""
    image = _at_level(21, ("ZK_MIGRATION_STATE_RECORD", {"zkMigrationState": state}))
    assert _said(image)[20][0] is accepted


def test_the_changed_levels_are_those_of_real_controllers() -> None:
    """The levels that changed metadata are those from which real controllers refuse a downgrade by one."""
    assert CHANGED == LOSSY


@pytest.mark.full
@pytest.mark.timeout(600)
def test_every_pair_of_levels_against_kafka() -> None:
    """For all pairs of levels, a downgrade is accepted exactly if Kafka finds no changed metadata between them."""
    theirs = {}
    for line in _java("Verdicts.java").splitlines():
        present, target, changed = line.split("\t")
        if int(target) in LEVELS:
            theirs[int(present), int(target)] = changed == "false"
    mine = {
        (present, target): accepted for present in LEVELS for target, (accepted, _) in _said(_at_level(present)).items()
    }
    assert mine == theirs
    assert len(mine) == len(LEVELS) * (len(LEVELS) - 1) / 2


def _java(source: str, *arguments: str) -> str:
    """The output of a program with Kafka's classes."""
    kafka = ensure_kafka("4.4.0")
    command = [kafka.java, "-cp", f"{kafka.libs}/*", str(Path(__file__).with_name(source)), *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, check=True).stdout


def _oracle(paths: Sequence[Path]) -> Counter[tuple[int, str]]:
    """How often Kafka's loss handler was called, by level and loss; names in losses are cut off."""
    rows = (line.split("\t") for line in _java("Losses.java", *map(str, paths)).splitlines() if line.count("\t") == 2)
    return Counter({(int(level), loss.split("(")[0]): int(count) for level, count, loss in rows})


def _mine(image: Image) -> Counter[tuple[int, str]]:
    """The same from this package; a loss that Kafka reports once for its whole kind counts once."""
    once = {"ScramImage", "DelegationTokenImage", "controller registration data"}
    found = (loss for target in LEVELS for loss in losses(image, target))
    return Counter({(loss.target, loss.what): 1 if loss.what in once else loss.count for loss in found})


@pytest.mark.full
@pytest.mark.timeout(600)
@pytest.mark.parametrize("release", ["3.9.2", "4.1.2", "4.3.1", "4.4.0"])
def test_real_clusters_against_kafkas_image_writer(release: str) -> None:
    """Every level, loss and count is the same, on the logs of real clusters from their first offset on."""
    folder = SAMPLES / release / "node-1"
    (log,) = cluster_logs(find_files(str(folder)))
    paths = [log.first_checkpoint(), *(segment.file for segment in log.replicas[0].segments)]
    assert _mine(lossy_image(log, [])) == _oracle([Path(file.path) for file in paths if file])


@pytest.mark.full
@pytest.mark.timeout(300)
@pytest.mark.parametrize("release", ["3.3.2", "4.1.2", "4.4.0"])
def test_checkpoints_against_kafkas_image_writer(release: str) -> None:
    """The newest checkpoint alone, because the log of 3.3 begins at a level that Kafka 4 does not read any more."""
    path = max((SAMPLES / release / "node-1").rglob("*.checkpoint"))
    (log,) = cluster_logs(find_files(str(path)))
    assert _mine(lossy_image(log, [])) == _oracle([path])


@pytest.mark.full
@pytest.mark.timeout(300)
def test_a_made_up_cluster_against_kafkas_image_writer(tmp_path: Path) -> None:
    """A cluster with everything that can be lost."""
    name = tmp_path / "00000000000000000000.log"
    name.write_bytes(_everything())
    (log,) = cluster_logs(find_files(str(name)))
    mine = _mine(lossy_image(log, []))
    assert {what for _, what in mine} == {
        loss.what for target in LEVELS for loss in losses(lossy_image(log, []), target)
    }
    assert len({what for _, what in mine}) == 7
    assert mine == _oracle([name])


def _everything() -> bytes:
    topic = "2222222222222222222222"
    broker: Data = {
        "brokerId": 1, "isMigratingZkBroker": True, "incarnationId": topic, "brokerEpoch": 1, "endPoints": [],
        "features": [], "rack": None, "fenced": False, "inControlledShutdown": False, "logDirs": [_DIRECTORY],
        "cordonedLogDirs": [_DIRECTORY],
    }  # fmt: skip
    partition: Data = {
        "partitionId": 0, "topicId": topic, "replicas": [1], "isr": [1], "removingReplicas": [], "addingReplicas": [],
        "leader": 1, "leaderEpoch": 0, "partitionEpoch": 0, "directories": [_DIRECTORY],
    }  # fmt: skip
    rows: list[tuple[int, int, Data]] = [
        (12, 0, {"name": "metadata.version", "featureLevel": 33}),
        (0, 4, broker),
        (0, 4, {**broker, "brokerId": 2, "isMigratingZkBroker": False}),
        (27, 0, {"controllerId": 9, "incarnationId": topic, "zkMigrationReady": False, "endPoints": [],
                 "features": []}),
        (2, 0, {"name": "orders", "topicId": topic}),
        (3, 2, partition),
        (3, 2, {**partition, "partitionId": 1}),
        (11, 0, {"name": "alice", "mechanism": 1, "salt": "AAAA", "storedKey": "AAAA", "serverKey": "AAAA",
                 "iterations": 4096}),
        (10, 0, {"owner": "User:a", "requester": "User:a", "renewers": [], "issueTimestamp": 1, "maxTimestamp": 2,
                 "expirationTimestamp": 2, "tokenId": "t"}),
    ]  # fmt: skip
    records = []
    for key, version, data in rows:
        schema = catalog("4.4").find(key, version)
        assert schema is not None
        records.append(record_of(schema, data))
    return batch_of(NewBatch(base_offset=0), records)
