"""The metadata at an offset: equal to Kafka's own checkpoints, and not shown if it is not known."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.kraftlog.record_samples import SAMPLES
from tests.quorum_history import clusters

from kraftlog import catalog
from kraftlog.writer import NewBatch, batch_of, record_of
from quorum_history.__main__ import main as quorum_history
from quorum_history.at import OffsetError, at, differences, state_of, text_of, text_of_differences
from quorum_history.files import LogFile, find_files
from quorum_history.image import Image
from quorum_history.replicas import ClusterLog, cluster_logs

RELEASES = ("3.3.2", "3.9.2", "4.1.2", "4.3.1", "4.4.0")


def _sample(release: str) -> ClusterLog:
    (log,) = cluster_logs(find_files(str(SAMPLES / release / "node-1")))
    return log


def _with(log: ClusterLog, *checkpoints: LogFile) -> ClusterLog:
    return ClusterLog(log.cluster, log.replicas, checkpoints)


def _checkpoints() -> Iterator[tuple[str, int]]:
    for release in RELEASES:
        yield from ((release, file.base_offset) for file in _sample(release).checkpoints if file.base_offset)


@pytest.mark.parametrize(("release", "end"), list(_checkpoints()))
def test_state_is_that_of_kafkas_own_checkpoint(release: str, end: int) -> None:
    """The state from the first record on equals Kafka's checkpoint at that offset, in each field of each entity."""
    log = _sample(release)
    first = [file for file in log.checkpoints if file.base_offset == 0]
    (checkpoint,) = (file for file in log.checkpoints if file.base_offset == end)
    replayed = at(_with(log, *first), end - 1)
    stored = at(ClusterLog(log.cluster, (), (checkpoint,)), end - 1)
    replayed.image.leader = None  # which is in no checkpoint
    assert replayed.image == stored.image
    assert not replayed.faults
    assert (replayed.leader_epoch, stored.records) == (stored.leader_epoch, 0)
    assert replayed.image.brokers
    assert replayed.image.partitions


@pytest.mark.parametrize("release", RELEASES)
def test_the_nearest_checkpoint_changes_nothing(release: str) -> None:
    """At the end of the log the state is the same from the first record and from the latest checkpoint."""
    log = _sample(release)
    first = [file for file in log.checkpoints if file.base_offset == 0]
    near, far = at(log, log.last_offset), at(_with(log, *first), log.last_offset)
    assert near.records < far.records
    assert near.checkpoint > far.checkpoint
    assert state_of(near.image) | {"quorum": {}} == state_of(far.image) | {"quorum": {}}


def _cluster(home: Path, records: list[tuple[int, int, dict[str, Any]]]) -> ClusterLog:
    """A log with these records, each in a batch of its own."""
    content = b""
    for offset, (key, version, data) in enumerate(records):
        schema = catalog("4.4").find(key, version)
        assert schema is not None
        batch = NewBatch(base_offset=offset, leader_epoch=3, timestamp_ms=1_760_000_000_000 + offset)
        content += batch_of(batch, [record_of(schema, data)])
    clusters.segment(clusters.replica(home, "made-up", 1), 0, content)
    (log,) = cluster_logs(find_files(str(home)))
    return log


_ID = "2222222222222222222222"
_PARTITION: dict[str, Any] = {
    "partitionId": 0, "topicId": _ID, "replicas": [1, 2], "isr": [1, 2], "removingReplicas": [], "addingReplicas": [],
    "leader": 1, "leaderEpoch": 0, "partitionEpoch": 0, "directories": ["1111111111111111111111"] * 2,
}  # fmt: skip
_CHANGE: dict[str, Any] = {"partitionId": 0, "topicId": _ID}


def _config(name: str, value: str | None, resource: str = "1") -> tuple[int, int, dict[str, Any]]:
    return (4, 0, {"resourceType": 4, "resourceName": resource, "name": name, "value": value})


def test_each_offset_has_its_own_state(tmp_path: Path) -> None:
    """A record counts from its offset on, and what it removes exists before that offset."""
    log = _cluster(
        tmp_path,
        [
            (2, 0, {"name": "orders", "topicId": _ID}),
            (3, 2, _PARTITION),
            (5, 2, {**_CHANGE, "isr": [2], "leader": 2}),
            (5, 2, {**_CHANGE, "isr": [2, 1]}),
            (9, 0, {"topicId": _ID}),
        ],
    )
    states = [state_of(at(log, offset).image) for offset in range(5)]
    assert [list(state["topics"]) for state in states] == [["orders"]] * 4 + [[]]
    (first, second, third) = (states[offset]["partitions"]["orders-0"] for offset in (1, 2, 3))
    assert (first["leader"], first["isr"], first["leaderEpoch"], first["partitionEpoch"]) == (1, [1, 2], 0, 0)
    assert (second["leader"], second["isr"], second["leaderEpoch"], second["partitionEpoch"]) == (2, [2], 1, 1)
    assert (third["leader"], third["isr"], third["leaderEpoch"], third["partitionEpoch"]) == (2, [2, 1], 1, 2)
    assert states[4]["partitions"] == {}


def test_secrets_stay_in_the_log(tmp_path: Path) -> None:
    """No value that may be a secret is shown, but a change of it is."""
    user = {"name": "alice", "mechanism": 1, "salt": "c2FsdA==", "storedKey": "a2V5", "serverKey": "a2V5"}
    log = _cluster(
        tmp_path,
        [
            _config("ssl.keystore.password", "hunter2"),
            _config("listener.name.x.sasl.jaas.config", "hunter2;"),
            _config("log.retention.ms", "1"),
            (11, 0, {**user, "iterations": 4096}),
            _config("ssl.keystore.password", "hunter3"),
        ],
    )
    before, after = at(log, 3), at(log, 4)
    shown = "\n".join([json.dumps(after.as_json()), *text_of(after), *text_of_differences(before, after)])
    assert all(secret not in shown for secret in ("hunter", "c2FsdA", "a2V5"))
    assert "log.retention.ms" in shown
    assert "iterations 4096" in shown
    (found,) = differences(before.image, after.image)
    assert (found.section, found.key) == ("configurations", "broker 1: ssl.keystore.password")
    assert found.before != found.after


def test_differences_name_what_came_went_and_changed(tmp_path: Path) -> None:
    """Differences are listed by section and key, in either direction."""
    log = _cluster(
        tmp_path,
        [
            _config("a", "1"),
            _config("b", "1"),
            (12, 0, {"name": "metadata.version", "featureLevel": 30}),
            _config("a", None),
            _config("b", "2"),
            _config("c", "1", ""),
            (12, 0, {"name": "metadata.version", "featureLevel": 31}),
        ],
    )
    found = {one.key: (one.before, one.after) for one in differences(at(log, 2).image, at(log, 6).image)}
    assert found == {
        "metadata.version": ("4.3-IV0 (30)", "4.4-IV0 (31)"),
        "broker 1: a": ("1", None),
        "broker 1: b": ("1", "2"),
        "broker default: c": (None, "1"),
    }
    assert {one.key for one in differences(at(log, 6).image, at(log, 2).image)} == set(found)
    assert not differences(at(log, 6).image, at(log, 6).image)
    text = "\n".join(text_of_differences(at(log, 2), at(log, 6)))
    assert "  ~ metadata.version: 4.3-IV0 (30) -> 4.4-IV0 (31)" in text
    assert "  - broker 1: a" in text


def test_an_aborted_transaction_never_was(tmp_path: Path) -> None:
    """In a transaction its records count, and the open transaction is reported; after the abort they do not count."""
    log = _cluster(tmp_path, [(23, 0, {"name": "t"}), (2, 0, {"name": "orders", "topicId": _ID}), (25, 0, {})])
    inside, after = at(log, 1), at(log, 2)
    assert inside.image.topics
    assert "a transaction has begun" in "\n".join(text_of(inside))
    assert after.image == Image()
    assert "a transaction has begun" not in "\n".join(text_of(after))


def test_what_is_not_known_is_no_state(tmp_path: Path) -> None:
    """Before the log, behind it, and behind a gap there is no state, and the error names the known offsets."""
    folder = clusters.replica(tmp_path, "gap", 1)
    clusters.segment(folder, 5, clusters.run(5, 8, 1))
    clusters.segment(folder, 10, clusters.run(10, 12, 1))
    (log,) = cluster_logs(find_files(str(tmp_path)))
    for offset, why in ((-1, "the first one is 0"), (12, "last offset is 11"), (7, "offsets 0 to 4 are in no file")):
        with pytest.raises(OffsetError, match=why):
            at(log, offset)


def test_a_gap_within_the_log_ends_what_is_known(tmp_path: Path) -> None:
    """Up to a gap the state is known, and behind it no state is."""
    folder = clusters.replica(tmp_path, "gap", 1)
    clusters.segment(folder, 0, clusters.run(0, 3, 1))
    clusters.segment(folder, 5, clusters.run(5, 8, 1))
    (log,) = cluster_logs(find_files(str(tmp_path)))
    assert at(log, 2).records == 3
    with pytest.raises(OffsetError, match="offsets 3 to 4 are in no file"):
        at(log, 3)
    with pytest.raises(OffsetError, match="offsets 3 to 4 are in no file"):
        at(log, 7)


def test_nothing_is_known_between_the_log_and_a_later_checkpoint(tmp_path: Path) -> None:
    """A checkpoint of another replica gives no state for the offsets before it."""
    log = _sample("4.4.0")
    end = log.checkpoints[-1].base_offset
    folder = clusters.replica(tmp_path, log.cluster, 1)
    clusters.segment(folder, 0, clusters.run(0, 3, 1))
    (short,) = cluster_logs(find_files(str(tmp_path)))
    between = ClusterLog(short.cluster, short.replicas, (log.checkpoints[-1],))
    with pytest.raises(OffsetError, match=f"offsets 3 to {end - 2} are in no file"):
        at(between, end - 2)
    assert at(between, end - 1).image.brokers
    assert at(between, 2).records == 3


def test_an_offset_within_a_batch(tmp_path: Path) -> None:
    """Records of one batch count one by one."""
    folder = clusters.replica(tmp_path, "one", 1)
    names = ["a", "b", "c"]
    schema = catalog().find(12, 0)
    assert schema is not None
    records = [record_of(schema, {"name": name, "featureLevel": 1}) for name in names]
    clusters.segment(folder, 0, batch_of(NewBatch(base_offset=0, leader_epoch=1), records))
    (log,) = cluster_logs(find_files(str(tmp_path)))
    assert [list(at(log, offset).image.features) for offset in range(3)] == [["a"], ["a", "b"], ["a", "b", "c"]]


def test_the_command_says_which_cluster_it_wants(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Logs of several clusters need a choice, and the refusal of an unknown cluster lists the known ones."""
    for name in ("one", "two"):
        clusters.segment(clusters.replica(tmp_path, name, 1), 0, clusters.run(0, 2, 1))
    assert quorum_history(["at", "--logs", str(tmp_path)]) == 2
    assert "--cluster: there are logs of 2 clusters: one, two" in capsys.readouterr().err
    assert quorum_history(["at", "--logs", str(tmp_path), "--cluster", "three"]) == 2
    assert "but of one, two" in capsys.readouterr().err
    assert quorum_history(["at", "--logs", str(tmp_path), "--cluster", "two", "--offset", "0"]) == 0
    said = capsys.readouterr().out
    assert "cluster two, offset 0" in said
    assert max(map(len, said.splitlines())) <= 100


def test_the_command_for_machines(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The JSON output is the whole state, or the differences; damage shows on standard error and in the exit code."""
    folder = clusters.replica(tmp_path, "one", 1)
    path = clusters.segment(folder, 0, clusters.run(0, 2, 1))
    arguments = ["at", "--logs", str(tmp_path), "-o", "json"]
    assert quorum_history(arguments) == 0
    whole = json.loads(capsys.readouterr().out)
    assert (whole["cluster"], whole["offset"], whole["faults"]) == ("one", 1, [])
    assert list(whole["state"]["topics"]) == ["t-1-1"]
    assert quorum_history([*arguments, "--against", "0"]) == 0
    found = json.loads(capsys.readouterr().out)["differences"]
    assert [(each["section"], each["key"]) for each in found] == [("topics", "t-0-1"), ("topics", "t-1-1")]
    path.write_bytes(clusters.single(0, 1) + b"garbage" + clusters.single(1, 1))
    assert quorum_history(arguments) == 3
    said = capsys.readouterr()
    assert "corrupt-batch" in said.err
    assert json.loads(said.out)["faults"]
