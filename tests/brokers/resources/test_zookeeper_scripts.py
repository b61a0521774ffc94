"""The scripts of brokers that use ZooKeeper, or did: formats, adoption and the start, run by `sh` on two volumes."""

from pathlib import Path
from typing import Final

import pytest
from tests.brokers.resources.test_scripts import INTENTS, OTHER, OWN, SHELLS, Said, Volumes, accepted, refused
from tests.brokers.values import CLUSTER, OTHER_CLUSTER

from kafka_brokers.resources import scripts
from kafka_quorum.model.zookeeper import ZooKeeperAccess
from kafka_quorum.resources.zookeeper import FILES_PATH, SECRET_PATH

OPEN: Final = ZooKeeperAccess(connect="zoo:2181")
SECRET: Final = ZooKeeperAccess(connect="zoo:2181", secret_name="zoo")  # noqa: S106 - a name
IDS_TOOL: Final = """\
#!/bin/sh
# Prints the directory id of the next volume, as `random-uuid` does; TOOL_DOES ends it early.
echo "tool $*" >> "$CALLS"
[ "$TOOL_DOES" != early ] || { echo "no memory"; exit 1; }
count=$(grep -c random-uuid "$CALLS")
eval "echo \\"\\$TOOL_DIRECTORY_$((count - 1))\\""
"""


@pytest.fixture(params=SHELLS)
def volumes(tmp_path: Path, request: pytest.FixtureRequest) -> Volumes:
    """Two volumes, a shell, and Kafka's tool for directory ids."""
    made = Volumes(tmp_path, request.param)
    (made.place / "bin" / "kafka-storage.sh").write_text(IDS_TOOL)
    return made


def first(volumes: Volumes, script: str, **environment: str) -> Said:
    """Runs a script that knows no directory id yet."""
    unknown = {"KQ_DIRECTORY_ID_0": "", "KQ_DIRECTORY_ID_1": ""}
    return volumes.run(script, powerless=False, **(unknown | environment))


def meta(volumes: Volumes, index: int) -> dict[str, str]:
    """The meta.properties of a volume."""
    lines = (volumes.log_dir(index) / "meta.properties").read_text().splitlines()
    return dict(line.split("=", maxsplit=1) for line in lines if not line.startswith("#"))


def old(volumes: Volumes, index: int, *, directory: str = "", version: str = "version=0\n", **changes: str) -> None:
    """Writes the meta.properties of a broker that used ZooKeeper, whose directory id may be missing."""
    known = {"cluster": CLUSTER, "node": "7"} | changes
    volumes.log_dir(index).mkdir(exist_ok=True)
    text = f"{version}broker.id={known['node']}\ncluster.id={known['cluster']}\n"
    more = f"directory.id={directory}\n" if directory else ""
    (volumes.log_dir(index) / "meta.properties").write_text(text + more)
    (volumes.log_dir(index) / "orders-0").mkdir(exist_ok=True)


def test_a_format_for_zookeeper(volumes: Volumes) -> None:
    """Empty volumes get version 0 and ids of Kafka's tool, and the intent; a second run changes nothing."""
    said = first(volumes, scripts.FORMAT_ZOOKEEPER)
    accepted(said)
    assert said.calls == ["tool random-uuid"] * 2
    assert meta(volumes, 1) == {"version": "0", "broker.id": "7", "cluster.id": CLUSTER, "directory.id": OWN[1]}
    assert [volumes.intent(index).read_text() for index in (0, 1)] == list(INTENTS)
    again = first(volumes, scripts.FORMAT_ZOOKEEPER)
    accepted(again)
    assert again.calls == []


def test_a_format_for_zookeeper_refuses_what_it_did_not_format(volumes: Volumes) -> None:
    """The disk of an earlier broker is never written by a formatter, and data without its intent is kept."""
    old(volumes, 0, directory=OWN[0])
    before = volumes.files()
    refused(first(volumes, scripts.FORMAT_ZOOKEEPER), "volume 0")
    assert volumes.files() == before
    (volumes.log_dir(0) / "meta.properties").unlink()
    refused(first(volumes, scripts.FORMAT_ZOOKEEPER), "no meta.properties")


def test_a_format_for_zookeeper_that_fails(volumes: Volumes) -> None:
    """Without an id nothing is accepted, and the next run formats the same volumes."""
    said = first(volumes, scripts.FORMAT_ZOOKEEPER, TOOL_DOES="early")
    assert (said.code, said.report["accepted"]) == (1, False)
    assert "no memory" in said.report["message"]
    (volumes.log_dir(0) / "meta.properties.new").write_text("half")
    accepted(first(volumes, scripts.FORMAT_ZOOKEEPER))


@pytest.mark.parametrize("version", ["version=0\n", ""])
def test_a_disk_of_version_0_is_understood(volumes: Volumes, version: str) -> None:
    """Kafka keeps version 0 of a broker that goes from ZooKeeper to KRaft: its start in KRaft accepts it."""
    for index in (0, 1):
        old(volumes, index, directory=OWN[index], version=version)
    accepted(volumes.run(scripts.VERIFY))
    assert volumes.run(scripts.RUN).calls == [f"start {volumes.config}", "node.id=7"]


def test_volumes_of_an_earlier_broker_are_adopted(volumes: Volumes) -> None:
    """What is there stays: one that has a directory id keeps it, the other one gets one."""
    old(volumes, 0)
    old(volumes, 1, directory=OTHER)
    said = first(volumes, scripts.ADOPT)
    assert (said.code, said.report["accepted"], said.report["adopted"]) == (0, True, True)
    assert [row["directoryID"] for row in said.report["volumes"]] == [OWN[0], OTHER]
    assert meta(volumes, 0) == {"version": "0", "broker.id": "7", "cluster.id": CLUSTER, "directory.id": OWN[0]}
    assert (volumes.log_dir(0) / "orders-0").is_dir()
    again = first(volumes, scripts.ADOPT)
    assert [row["directoryID"] for row in again.report["volumes"]] == [OWN[0], OTHER]
    assert again.calls == []


def test_volumes_of_a_kraft_broker_are_adopted(volumes: Volumes) -> None:
    """A disk that was formatted for KRaft is only read."""
    for index in (0, 1):
        volumes.formatted(index)
    before = meta(volumes, 0)
    said = first(volumes, scripts.ADOPT)
    assert said.report["adopted"] is True
    assert meta(volumes, 0) == before
    assert meta(volumes, 0)["version"] == "1"


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"node": "8"}, "found node 8"),
        ({"cluster": OTHER_CLUSTER}, OTHER_CLUSTER),
        ({}, "empty"),
        ({"half": ""}, "no meta.properties"),
        ({"directory": OTHER}, OTHER),
    ],
)
def test_what_is_not_adopted(volumes: Volumes, wrong: dict[str, str], words: str) -> None:
    """Another broker, another cluster, an empty volume, half a disk: nothing on any volume is changed."""
    old(volumes, 0)
    if "half" in wrong:
        volumes.partial(1)
    elif wrong:
        old(volumes, 1, **wrong)
    before = volumes.files()
    expected = OWN[1] if "directory" in wrong else ""
    refused(first(volumes, scripts.ADOPT, KQ_DIRECTORY_ID_1=expected), "volume 1", words)
    assert volumes.files() == before
    assert "directory.id" not in meta(volumes, 0)


def test_a_log_directory_of_another_name(volumes: Volumes) -> None:
    """The name of the log directory can be another one for each volume."""
    old(volumes, 0)
    volumes.log_dir(0).rename(volumes.disks[0] / "kafka-log7")
    old(volumes, 1)
    said = first(volumes, scripts.ADOPT, KQ_LOG_DIR_0="kafka-log7", KQ_LOG_DIR_1="kafka")
    assert said.report["adopted"] is True
    assert (volumes.disks[0] / "kafka-log7" / "meta.properties").exists()
    assert not volumes.log_dir(0).exists()


def test_the_start_with_zookeeper(volumes: Volumes) -> None:
    """The copy of the metadata log goes, a disk of version 1 becomes one of version 0, and all else stays."""
    volumes.formatted(0)
    old(volumes, 1, directory=OWN[1])
    for index in (0, 1):
        (volumes.log_dir(index) / "__cluster_metadata-0").mkdir()
        (volumes.log_dir(index) / "__cluster_metadata-0" / "0.log").write_text("x")
        (volumes.log_dir(index) / "orders-0").mkdir(exist_ok=True)
        (volumes.log_dir(index) / "orders-0" / "0.log").write_text("kept")
    for _ in range(2):
        said = volumes.run(scripts.run_with_zookeeper(OPEN, late=False))
        assert said.calls == [f"start {volumes.config}", "node.id=7"]
        for index in (0, 1):
            assert meta(volumes, index) == {
                "version": "0",
                "broker.id": "7",
                "cluster.id": CLUSTER,
                "directory.id": OWN[index],
            }
            assert sorted(path.name for path in volumes.log_dir(index).iterdir()) == ["meta.properties", "orders-0"]
            assert (volumes.log_dir(index) / "orders-0" / "0.log").read_text() == "kept"


def test_the_start_with_zookeeper_on_another_disk(volumes: Volumes) -> None:
    """Nothing is removed from a disk that is not the expected one."""
    volumes.formatted(0)
    volumes.formatted(1, directory_id=OTHER)
    (volumes.log_dir(0) / "__cluster_metadata-0").mkdir()
    refused(volumes.run(scripts.run_with_zookeeper(OPEN, late=False)), "volume 1")
    assert (volumes.log_dir(0) / "__cluster_metadata-0").exists()
    assert meta(volumes, 0)["version"] == "1"


@pytest.mark.parametrize("late", [False, True])
def test_the_start_with_a_secret(volumes: Volumes, *, late: bool) -> None:
    """Properties of the connection stand after the others; late ones come last. No secret is in what Kafka is given."""
    for index in (0, 1):
        volumes.formatted(index)
    secret, made = volumes.place / "secret", volumes.place / "made"
    secret.mkdir()
    made.mkdir()
    for key, text in {"username": "ada", "password": "hidden", "ca.crt": "CA"}.items():
        (secret / key).write_text(text)
    volumes.late.write_text("broker.rack=a\n")
    script = scripts.run_with_zookeeper(SECRET, late=late)
    said = volumes.run(script.replace(SECRET_PATH, str(secret)).replace(FILES_PATH, str(made)))
    keys = [line.partition("=")[0] for line in said.calls[1:]]
    assert keys[:3] == ["node.id", "zookeeper.clientCnxnSocket", "zookeeper.ssl.client.enable"]
    assert (keys[-1] == "broker.rack") == late
    assert not any("hidden" in line for line in said.calls)
    assert "hidden" in (made / "jaas.conf").read_text()
    (secret / "password").unlink()
    ended = volumes.run(script.replace(SECRET_PATH, str(secret)).replace(FILES_PATH, str(made)))
    assert (ended.code, ended.calls) == (1, [])


def test_no_script_for_zookeeper_formats_and_runs() -> None:
    """What formats or adopts does not start Kafka; adoption calls no format, and removes nothing."""
    for script in (scripts.FORMAT_ZOOKEEPER, scripts.ADOPT):
        assert "kafka-server-start" not in script
    assert "kafka-storage.sh format" not in scripts.ADOPT
    assert "rm " not in scripts.ADOPT
