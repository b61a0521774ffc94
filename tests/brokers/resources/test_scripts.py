"""The scripts of brokers' pods, run by `sh` on two volumes that something else may have changed before.

Only the fixed paths in the scripts are replaced. A script of ours replaces Kafka's tool. It formats what is empty, as
the tool does with `--ignore-formatted`, and writes `meta.properties` last.
"""

import contextlib
import json
import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pytest
from tests.brokers.values import CLUSTER, OTHER_CLUSTER, directory

from kafka_brokers.resources import scripts
from kafka_brokers.resources.properties import DATA_PATH, LATE_FILE, LATE_PATH
from kafka_quorum.model.contract import SASL_KEY, SECRET_PATH

OWN: Final = (directory(7, 0), directory(7, 1))
OTHER: Final = directory(7, 0, 2)
INTENTS: Final = tuple(f"{CLUSTER} 7 volume {index} claim-{index} 0" for index in (0, 1))
SHELLS = [
    pytest.param(command.split(), id=command)
    for command in ("dash", "busybox sh", "bash --posix")
    if shutil.which(command.split()[0])
]
TOOL: Final = """\
#!/bin/sh
# Formats every volume without meta.properties. TOOL_DOES sets where it stops.
echo "tool $*" >> "$CALLS"
case $TOOL_DOES in early) printf '%s' "$TOOL_SAYS"; exit 1;; esac
for i in 0 1; do
  [ ! -f "$PLACE/data-$i/kafka/meta.properties" ] || continue
  mkdir -p "$PLACE/data-$i/kafka"
  echo x > "$PLACE/data-$i/kafka/bootstrap.checkpoint"
  case $TOOL_DOES in killed-$i) kill -9 0;; late) printf '%s' "$TOOL_SAYS"; exit 1;; esac
  eval "id=\\$TOOL_DIRECTORY_$i"
  printf 'version=1\\ncluster.id=%s\\nnode.id=7\\ndirectory.id=%s\\n' "$TOOL_CLUSTER" "$id" \\
    > "$PLACE/data-$i/kafka/meta.properties"
done
"""
START: Final = '#!/bin/sh\necho "start $*" >> "$CALLS"\ncat "$1" >> "$CALLS"\nexit 9\n'
_POWERLESS: Final = ("setpriv", "--bounding-set", "-all", "--inh-caps", "-all")
ALL_SCRIPTS: Final = (scripts.FORMAT, scripts.VERIFY, scripts.RUN, scripts.RUN_LATE)
SCRIPT_NAMES: Final = ("format", "verify", "run", "run late")


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """How a script ended: its code, its report if there is one, and the calls that it made."""

    code: int
    report: dict[str, Any]
    calls: list[str]

    @property
    def found(self) -> list[str]:
        """What was found on the volumes, in order."""
        return [row["found"] for row in self.report["volumes"]]


class Volumes:
    """Two volumes, and a directory beside them for the tool and the output."""

    def __init__(self, place: Path, shell: list[str]) -> None:
        """Makes empty volumes, with the entries of a new file system."""
        self.place, self.shell = place, shell
        self.disks = tuple(place / f"data-{index}" for index in (0, 1))
        self.mounts = place / "mountinfo"
        self.mounts.write_text("".join(f"1 1 8:1 /pvc {disk} rw - ext4 /dev/sda1 rw\n" for disk in self.disks))
        self.config = place / "server.properties"
        self.config.write_text("node.id=7\n")
        self.late = place / LATE_FILE
        self.secret = place / "quorum-tls"
        self.secret.mkdir()
        for disk in self.disks:
            (disk / "lost+found").mkdir(parents=True)
        for name, text in (("kafka-storage.sh", TOOL), ("kafka-server-start.sh", START)):
            program = place / "bin" / name
            program.parent.mkdir(exist_ok=True)
            program.write_text(text)
            program.chmod(0o755)

    def log_dir(self, index: int) -> Path:
        """The log directory of a volume."""
        return self.disks[index] / "kafka"

    def formatted(self, index: int, *, cluster: str = CLUSTER, node: int = 7, directory_id: str | None = None) -> None:
        """Writes meta.properties, as another format would."""
        self.log_dir(index).mkdir(exist_ok=True)
        text = f"#\nversion=1\ncluster.id={cluster}\nnode.id={node}\ndirectory.id={directory_id or OWN[index]}\n"
        (self.log_dir(index) / "meta.properties").write_text(text)

    def partial(self, index: int) -> None:
        """Writes files without meta.properties."""
        (self.log_dir(index) / "topic-0").mkdir(parents=True)

    def intent(self, index: int) -> Path:
        """The intent of a volume."""
        return self.disks[index] / ".kafka-quorum-format"

    def run(self, script: str, *, powerless: bool = False, **environment: str) -> Said:
        """Runs a script in a process group of its own, as a container would; `powerless` without root's privileges."""
        told, calls = self.place / "termination-log", self.place / "calls"
        for old in (told, calls):
            old.unlink(missing_ok=True)
        for path, instead in (
            ("/dev/termination-log", told),
            (DATA_PATH, self.place / "data"),
            ("/opt/kafka/bin", self.place / "bin"),
            ("/proc/self/mountinfo", self.mounts),
            (f"{LATE_PATH}/{LATE_FILE}", self.late),
            (scripts.RUN_CONFIG, self.place / "run.properties"),
            (scripts.SECURED_CONFIG, self.place / "secured.properties"),
            (SECRET_PATH, self.secret),
        ):
            script = script.replace(path, f"{instead}")
        script = re.sub(r"\bsync\b", "true", script)
        variables = {
            "PATH": os.environ["PATH"],
            "LC_ALL": "C",
            "CALLS": str(calls),
            "PLACE": str(self.place),
            "TOOL_DOES": "all",
            "TOOL_SAYS": "Formatting",
            "TOOL_CLUSTER": CLUSTER,
            "TOOL_DIRECTORY_0": OWN[0],
            "TOOL_DIRECTORY_1": OWN[1],
            "KQ_VOLUMES": "2",
            "KQ_CLUSTER_ID": CLUSTER,
            "KQ_NODE_ID": "7",
            "KQ_DIRECTORY_ID_0": OWN[0],
            "KQ_DIRECTORY_ID_1": OWN[1],
            "KQ_INTENT_0": INTENTS[0],
            "KQ_INTENT_1": INTENTS[1],
            "KQ_CONFIG": str(self.config),
        }
        done = subprocess.run(
            [*(_POWERLESS if powerless and os.geteuid() == 0 else ()), *self.shell, "-c", script],
            env=variables | environment,
            check=False,
            capture_output=True,
            start_new_session=True,
            timeout=30,
        )
        text = told.read_text() if told.exists() else "{}"
        assert text.count("\n") <= 1
        return Said(
            code=done.returncode,
            report=json.loads(text),
            calls=calls.read_text().splitlines() if calls.exists() else [],
        )

    def format(self, *, powerless: bool = False, known: tuple[int, ...] = (), **environment: str) -> Said:
        """Runs the formatter's script; the directory ids of the `known` volumes are expected."""
        expected = {f"KQ_DIRECTORY_ID_{index}": OWN[index] if index in known else "" for index in (0, 1)}
        return self.run(scripts.FORMAT, powerless=powerless, **(expected | environment))

    def files(self) -> set[str]:
        """Everything on the volumes, relative to their parent."""
        return {str(path.relative_to(self.place)) for disk in self.disks for path in disk.rglob("*") if path.is_file()}


@pytest.fixture(params=SHELLS)
def volumes(tmp_path: Path, request: pytest.FixtureRequest) -> Volumes:
    """Two volumes and a shell."""
    return Volumes(tmp_path, request.param)


def refused(said: Said, *words: str) -> None:
    """Checks that a script failed, called nothing of Kafka's, and said why."""
    assert said.code == 1
    assert said.calls == []
    assert said.report["accepted"] is False
    for word in words:
        assert word in said.report["message"], said.report["message"]


def rows(found: str = "formatted") -> list[dict[str, object]]:
    """The rows of a report about two volumes of broker 7."""
    return [
        {"index": index, "found": found, "clusterID": CLUSTER, "nodeID": "7", "directoryID": OWN[index]}
        for index in (0, 1)
    ]


def accepted(said: Said) -> None:
    """Checks that a script succeeded, with both expected volumes in its report."""
    assert said.code == 0, said
    assert said.report == {
        "script": scripts.SCRIPT,
        "volumes": rows(),
        "accepted": True,
        "message": said.report["message"],
    }


# The formatter


def test_empty_volumes(volumes: Volumes) -> None:
    """Empty volumes are formatted by one call of Kafka's tool, each with its own intent beside it."""
    said = volumes.format()
    accepted(said)
    assert said.calls == [f"tool format --config {volumes.config} --cluster-id={CLUSTER} --ignore-formatted"]
    assert [volumes.intent(index).read_text() for index in (0, 1)] == list(INTENTS)


def test_formatted_again(volumes: Volumes) -> None:
    """A formatter that runs again on what it has formatted reports the same, and formats nothing."""
    volumes.format()
    again = volumes.format()
    accepted(again)
    assert again.calls == []


def test_one_volume_is_new(volumes: Volumes) -> None:
    """A volume that was appended, or lost, is formatted beside one that keeps its directory id and its data."""
    volumes.formatted(0)
    (volumes.log_dir(0) / "data").write_text("kept")
    accepted(volumes.format(known=(0,)))
    assert (volumes.log_dir(0) / "data").read_text() == "kept"
    assert not volumes.intent(0).exists()


@pytest.mark.parametrize("index", [0, 1])
def test_a_known_volume_is_not_as_expected(volumes: Volumes, index: int) -> None:
    """Nothing is formatted while a volume with a recorded directory id is empty, or holds another one."""
    refused(volumes.format(known=(index,)), f"volume {index}", OWN[index], "it is empty")
    volumes.formatted(index, directory_id=OTHER)
    refused(volumes.format(known=(index,)), f"volume {index}", OTHER)
    assert not volumes.intent(1 - index).exists()


@pytest.mark.parametrize("fields", [{"cluster": OTHER_CLUSTER}, {"node": 8}, {}], ids=["cluster", "node", "no intent"])
def test_a_disk_of_others(volumes: Volumes, fields: dict[str, Any]) -> None:
    """A formatted volume without exactly our intent, or of another cluster or node, stops the format of all."""
    volumes.formatted(1, **fields)
    if fields:
        volumes.intent(1).write_text(INTENTS[1])
    before = volumes.files()
    refused(volumes.format(), "volume 1", "found node")
    assert volumes.files() == before


def test_a_second_format_after_a_loss(volumes: Volumes) -> None:
    """After a loss in place the intent differs, so an earlier format is refused."""
    volumes.format()
    said = volumes.format(KQ_INTENT_0=f"{CLUSTER} 7 volume 0 claim-0 1", known=(1,))
    refused(said, "volume 0", "found node 7")


@pytest.mark.parametrize("intent", [None, "another", INTENTS[0]])
def test_partial_of_others(volumes: Volumes, intent: str | None) -> None:
    """Files without meta.properties, and without the intent of this very volume, are neither wiped nor formatted."""
    volumes.partial(1)
    if intent is not None:
        volumes.intent(1).write_text(intent)
    refused(volumes.format(), "volume 1", "found files")
    assert (volumes.log_dir(1) / "topic-0").exists()


@pytest.mark.parametrize("index", [0, 1])
def test_killed_within_the_format(volumes: Volumes, index: int) -> None:
    """A formatter that was killed on either volume reports nothing, and the next one finishes from there."""
    killed = volumes.format(TOOL_DOES=f"killed-{index}")
    assert (killed.code, killed.report) == (-9, {})
    (volumes.log_dir(index) / "half").write_text("")
    accepted(volumes.format())
    assert f"data-{index}/kafka/half" not in volumes.files()


@pytest.mark.parametrize("does", ["early", "late"])
def test_failing_tool(volumes: Volumes, does: str) -> None:
    """If Kafka's tool fails, its output is in the report, and the next formatter starts over."""
    said = volumes.format(TOOL_DOES=does, TOOL_SAYS='no "disk" \\ left\n')
    assert said.code == 1
    assert said.report["accepted"] is False
    assert "ended with 1: no disk" in said.report["message"]
    accepted(volumes.format())


def test_tool_that_lies(volumes: Volumes) -> None:
    """If the tool succeeds, but a volume has another identity than requested, the format is not accepted."""
    said = volumes.format(TOOL_CLUSTER=OTHER_CLUSTER)
    assert (said.code, said.report["accepted"]) == (1, False)
    assert said.report["volumes"][0]["clusterID"] == OTHER_CLUSTER


def test_unwritable_intent(volumes: Volumes) -> None:
    """If an intent cannot be written, Kafka's tool is not called."""
    volumes.intent(1).with_suffix(".new").mkdir()
    refused(volumes.format(), "volume 1 cannot be written")


def test_long_reports_fit(volumes: Volumes) -> None:
    """The report of 16 volumes with any content has at most 4096 characters, which is what Kubernetes keeps."""
    for index in range(16):
        log_dir = volumes.place / f"data-{index}" / "kafka"
        log_dir.mkdir(parents=True, exist_ok=True)
        text = f"cluster.id={'x' * 500}\nnode.id={'y' * 500}\ndirectory.id={'z' * 500}\n"
        (log_dir / "meta.properties").write_text(text)
    mounts = (f"1 1 8:1 /pvc {volumes.place}/data-{index} rw - ext4 /dev/sda1 rw\n" for index in range(16))
    volumes.mounts.write_text("".join(mounts))
    said = volumes.run(scripts.VERIFY, KQ_VOLUMES="16")
    refused(said)
    assert len(said.report["volumes"]) == 16
    assert len((volumes.place / "termination-log").read_bytes()) <= 4096


# Volumes that cannot be read


@pytest.mark.parametrize("script", ALL_SCRIPTS, ids=SCRIPT_NAMES)
def test_no_mount(volumes: Volumes, script: str) -> None:
    """A directory without a mounted volume is never an empty disk, and nothing is written to any volume."""
    volumes.formatted(0)
    volumes.mounts.write_text(f"1 1 8:1 /pvc {volumes.disks[0]} rw - ext4 /dev/sda1 rw\n")
    before = volumes.files()
    said = volumes.run(script)
    refused(said, "volume 1", "no volume is mounted")
    assert said.found == ["formatted", "unreadable"]
    assert volumes.files() == before


@pytest.mark.parametrize("script", ALL_SCRIPTS, ids=SCRIPT_NAMES)
@pytest.mark.parametrize("what", ["volume", "log directory", "meta"])
def test_no_permission(volumes: Volumes, script: str, what: str) -> None:
    """Without permission to read a volume, its log directory or meta.properties, it is unreadable."""
    for index in (0, 1):
        volumes.formatted(index)
    meta = volumes.log_dir(1) / "meta.properties"
    path = {"volume": volumes.disks[1], "log directory": volumes.log_dir(1), "meta": meta}[what]
    mode = path.stat().st_mode & 0o777
    path.chmod(0)
    said = volumes.run(script, powerless=True)
    path.chmod(mode)
    refused(said, "volume 1")
    assert said.found == ["formatted", "unreadable"]


def test_half_a_format_that_cannot_be_read(volumes: Volumes) -> None:
    """A log directory that cannot be listed is not deleted, even with exactly our intent beside it."""
    volumes.formatted(1)
    volumes.intent(1).write_text(INTENTS[1])
    volumes.log_dir(1).chmod(0)
    said = volumes.format(powerless=True)
    volumes.log_dir(1).chmod(0o755)
    refused(said, "cannot be listed")
    assert "data-1/kafka/meta.properties" in volumes.files()


# The comparing init container, and Kafka's own container


def test_verify_accepts(volumes: Volumes) -> None:
    """The expected volumes are accepted, and nothing is written."""
    for index in (0, 1):
        volumes.formatted(index)
    before = volumes.files()
    accepted(volumes.run(scripts.VERIFY))
    assert volumes.files() == before


@pytest.mark.parametrize("script", ALL_SCRIPTS[1:], ids=SCRIPT_NAMES[1:])
@pytest.mark.parametrize("index", [0, 1])
@pytest.mark.parametrize(
    "fields", [{"cluster": OTHER_CLUSTER}, {"node": 8}, {"directory_id": OTHER}], ids=["cluster", "node", "directory"]
)
def test_one_wrong_volume_is_enough(volumes: Volumes, script: str, index: int, fields: dict[str, Any]) -> None:
    """Kafka is not started if any volume has another identity; the message has both identities."""
    volumes.formatted(1 - index)
    volumes.formatted(index, **fields)
    refused(volumes.run(script), f"volume {index}", OWN[index], *map(str, fields.values()))


@pytest.mark.parametrize("script", ALL_SCRIPTS[1:], ids=SCRIPT_NAMES[1:])
def test_swapped_volumes(volumes: Volumes, script: str) -> None:
    """Two volumes of one broker in each other's place are refused."""
    volumes.formatted(0, directory_id=OWN[1])
    volumes.formatted(1, directory_id=OWN[0])
    refused(volumes.run(script), "volume 0", "volume 1")


@pytest.mark.parametrize("script", ALL_SCRIPTS[1:], ids=SCRIPT_NAMES[1:])
def test_an_empty_volume(volumes: Volumes, script: str) -> None:
    """On an empty volume, or one with files but no meta.properties, Kafka is not started, and nothing is written."""
    volumes.formatted(0)
    said = volumes.run(script)
    refused(said, "volume 1", "it is empty")
    volumes.partial(1)
    refused(volumes.run(script), "found files and no meta.properties")


@pytest.mark.parametrize("script", ALL_SCRIPTS[1:], ids=SCRIPT_NAMES[1:])
def test_nothing_expected(volumes: Volumes, script: str) -> None:
    """A pod without an expected identity, or without volumes, accepts nothing."""
    volumes.formatted(0)
    volumes.formatted(1)
    refused(volumes.run(script, KQ_VOLUMES="0"))
    refused(volumes.run(script, KQ_DIRECTORY_ID_1=""), "volume 1")


def test_run_starts_kafka(volumes: Volumes) -> None:
    """On the expected volumes Kafka replaces the script's process, with its own properties, and there is no report."""
    for index in (0, 1):
        volumes.formatted(index)
    said = volumes.run(scripts.RUN)
    assert (said.code, said.report) == (9, {})
    assert said.calls == [f"start {volumes.config}", "node.id=7"]


def test_run_with_late_properties(volumes: Volumes) -> None:
    """Late properties stand after the others, where they count more."""
    for index in (0, 1):
        volumes.formatted(index)
    volumes.late.write_text("broker.rack=a\n")
    said = volumes.run(scripts.RUN_LATE)
    assert said.calls == [f"start {volumes.place / 'run.properties'}", "node.id=7", "broker.rack=a"]


@pytest.mark.parametrize("late", [False, True])
def test_run_with_a_password(volumes: Volumes, late: bool) -> None:  # noqa: FBT001 - a parameter
    """The lines with the password stand behind all others, in a file of their own; the properties stay as they were."""
    for index in (0, 1):
        volumes.formatted(index)
    volumes.late.write_text("broker.rack=a\n")
    (volumes.secret / "trust-1.pem").write_text("trust")
    (volumes.secret / SASL_KEY).write_text("jaas=word\n")
    said = volumes.run(scripts.run_secured(("trust-1.pem", SASL_KEY), late=late))
    added = ["broker.rack=a"] if late else []
    assert said.calls == [f"start {volumes.place / 'secured.properties'}", "node.id=7", *added, "jaas=word"]
    assert volumes.config.read_text() == "node.id=7\n"


def test_run_with_files(volumes: Volumes) -> None:
    """Without a password the properties are used as they are."""
    for index in (0, 1):
        volumes.formatted(index)
    (volumes.secret / "keystore-1.pem").write_text("key")
    said = volumes.run(scripts.run_secured(("keystore-1.pem",), late=False))
    assert said.calls == [f"start {volumes.config}", "node.id=7"]


def test_waiting_for_a_file(volumes: Volumes) -> None:
    """Kafka starts once the volume shows the file, and not before: a change of a Secret arrives a minute later."""
    for index in (0, 1):
        volumes.formatted(index)
    appears = f"echo key > {volumes.secret}/keystore-2.pem"
    script = scripts.run_secured(("keystore-2.pem",), late=False)
    assert script.count("sleep 1") == 1
    said = volumes.run(script.replace("sleep 1", f'echo waited >> "$CALLS"; {appears}'))
    assert said.calls == ["waited", f"start {volumes.config}", "node.id=7"]


def test_waiting_for_late_properties(volumes: Volumes) -> None:
    """The init container ends once the file has something in it, and not before."""
    volumes.late.write_text("")
    script = scripts.LATE.replace(f"{LATE_PATH}/{LATE_FILE}", str(volumes.late)).replace("sleep 1", "read -r line")
    with subprocess.Popen([*volumes.shell, "-c", script], stdin=subprocess.PIPE) as waits:
        assert waits.stdin is not None
        waits.stdin.write(b"again\n")  # it looked once, and the file is empty
        waits.stdin.flush()
        assert waits.poll() is None
        volumes.late.write_text("broker.rack=a\n")
        with contextlib.suppress(BrokenPipeError):  # it may have seen the file already
            waits.stdin.write(b"again\n")
            waits.stdin.close()
        assert waits.wait(timeout=20) == 0


def test_no_script_formats_and_runs() -> None:
    """The script that formats does not start Kafka, and the scripts that start Kafka neither format nor delete."""
    assert "kafka-server-start" not in scripts.FORMAT
    for script in ALL_SCRIPTS[1:]:
        assert "kafka-storage" not in script
        assert "rm -rf" not in script
