"""The scripts that pods run, run by `sh` on a disk that something else may have changed before.

Only the fixed paths in the scripts are replaced. A script of ours replaces Kafka's tool, and writes the same files in
the same order: first the checkpoint, last `meta.properties`.
"""

import json
import os
import re
import shutil
import stat
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pytest
from tests.model.values import CLUSTER, OTHER_CLUSTER, directory

from kafka_quorum.observe.objects import pod_from
from kafka_quorum.resources import scripts
from kafka_quorum.resources.properties import DATA_PATH

OWN, OTHER = directory(3000), directory(3000, 2)
INTENT: Final = f"{CLUSTER} 3000 InitialControllers claim-uid 0"
SHELLS = [
    pytest.param(command.split(), id=command)
    for command in ("dash", "busybox sh", "bash --posix")
    if shutil.which(command.split()[0])
]

TOOL: Final = """\
#!/bin/sh
# Writes what kafka-storage.sh writes. TOOL_DOES sets where it stops.
echo "tool $*" >> "$CALLS"
case $TOOL_DOES in early) printf '%s' "$TOOL_SAYS"; exit 1;; esac
mkdir -p "$DISK/kraft/__cluster_metadata-0"
echo checkpoint > "$DISK/kraft/__cluster_metadata-0/00000000000000000000-0000000000.checkpoint"
case $TOOL_DOES in killed) kill -9 0;; late) printf '%s' "$TOOL_SAYS"; exit 1;; esac
printf 'version=1\\ncluster.id=%s\\nnode.id=3000\\ndirectory.id=%s\\n' "$TOOL_CLUSTER" "$TOOL_DIRECTORY" \\
  > "$DISK/kraft/meta.properties"
printf '%s' "$TOOL_SAYS"
case $TOOL_DOES in killed-after) kill -9 0;; esac
"""
MOUNTS: Final = """\
1041 1034 0:73 / /proc rw,nosuid,nodev,noexec,relatime - proc proc rw
1057 1034 8:1 {path} /elsewhere rw,relatime - ext4 /dev/sda1 rw
1058 1034 8:1 /pvc-1 {path} rw,relatime - ext4 /dev/sda1 rw
"""
SYNC: Final = """\
#!/bin/sh
echo "sync $(cat "$DISK"/.kafka-quorum-format* 2>/dev/null)" >> "$CALLS"
"""
_POWERLESS: Final = ("setpriv", "--bounding-set", "-all", "--inh-caps", "-all")
"""Runs a command as root without the capability to ignore permissions, which a pod's user does not have either."""
SCRIPT_NAMES: Final = ("format", "verify", "run", "adopt")
ALL_SCRIPTS: Final = (scripts.FORMAT, scripts.VERIFY, scripts.RUN, scripts.ADOPT)


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """How a script ended: its code, its report if there is one, and the calls that it made."""

    code: int
    report: dict[str, Any] | None
    calls: list[str]


class Volume:
    """A volume, and a directory beside it for the tool and the output."""

    def __init__(self, place: Path, shell: list[str]) -> None:
        """Makes an empty volume, with the entries of a new file system."""
        self.place = place
        self.shell = shell
        self.disk = place / "data"
        self.log_dir = self.disk / "kraft"
        self.meta = self.log_dir / "meta.properties"
        self.intent = self.disk / ".kafka-quorum-format"
        self.mounts = place / "mountinfo"
        self.mounts.write_text(MOUNTS.format(path=self.disk))
        (self.disk / "lost+found").mkdir(parents=True)
        for name, text in (("kafka-storage.sh", TOOL), ("sync", SYNC)):
            program = place / "bin" / name
            program.parent.mkdir(exist_ok=True)
            program.write_text(text)
            program.chmod(0o755)

    def formatted(self, cluster: str = CLUSTER, node: int = 3000, directory_id: str = OWN) -> None:
        """Writes meta.properties, as another format would."""
        self.log_dir.mkdir(exist_ok=True)
        self.meta.write_text(
            f"#\n#Sat Jan 01\nversion=1\ncluster.id={cluster}\nnode.id={node}\ndirectory.id={directory_id}\n"
        )

    def partial(self) -> None:
        """Writes files without meta.properties."""
        (self.log_dir / "__cluster_metadata-0").mkdir(parents=True)

    def run(self, script: str, *, powerless: bool = False, **environment: str) -> Said:
        """Runs a script in a process group of its own, as a container would; `powerless` without root's privileges."""
        told, calls = self.place / "termination-log", self.place / "calls"
        for path in (told, calls):
            path.unlink(missing_ok=True)
        replaced = script.replace("/dev/termination-log", str(told)).replace(DATA_PATH, str(self.disk))
        replaced = replaced.replace("/opt/kafka/bin", str(self.place / "bin"))
        replaced = replaced.replace("/proc/self/mountinfo", str(self.mounts))
        replaced = re.sub(r"\bsync\b", str(self.place / "bin" / "sync"), replaced)  # busybox has one built in
        variables = {
            "PATH": os.environ["PATH"],
            "LC_ALL": "C",
            "CALLS": str(calls),
            "DISK": str(self.disk),
            "TOOL_DOES": "all",
            "TOOL_SAYS": "Formatting metadata directory",
            "TOOL_CLUSTER": CLUSTER,
            "TOOL_DIRECTORY": OWN,
            "KQ_MODE": "InitialControllers",
            "KQ_CLUSTER_ID": CLUSTER,
            "KQ_NODE_ID": "3000",
            "KQ_DIRECTORY_ID": OWN,
            "KQ_CONFIG": "/etc/kafka-quorum/3000.properties",
            "KQ_INTENT": INTENT,
        }
        arguments = ["format", "--initial-controllers", "3000@host:9093:id"]
        done = subprocess.run(
            [*(_POWERLESS if powerless and os.geteuid() == 0 else ()), *self.shell, "-c", replaced, *arguments],
            env=variables | environment,
            check=False,
            capture_output=True,
            start_new_session=True,
            timeout=30,
        )
        text = told.read_text() if told.exists() else ""
        return Said(
            code=done.returncode,
            report=json.loads(text) if text else None,
            calls=calls.read_text().splitlines() if calls.exists() else [],
        )

    def format(self, *, powerless: bool = False, **environment: str) -> Said:
        """Runs the formatter's script."""
        return self.run(scripts.FORMAT, powerless=powerless, **environment)

    def files(self) -> set[str]:
        """Everything on the volume, relative to it."""
        return {str(path.relative_to(self.disk)) for path in self.disk.rglob("*") if path.is_file()}


@pytest.fixture(params=SHELLS)
def volume(tmp_path: Path, request: pytest.FixtureRequest) -> Volume:
    """A volume and a shell."""
    return Volume(tmp_path, request.param)


def tool_calls(said: Said) -> list[str]:
    """The calls of Kafka's tool."""
    return [call for call in said.calls if call.startswith("tool ")]


def refused(said: Said, found: str, *words: str) -> None:
    """Checks that the script failed without calling Kafka's tool, and reported what it found."""
    assert said.code == 1
    assert tool_calls(said) == []
    assert said.report is not None
    assert (said.report["accepted"], said.report["found"]) == (False, found)
    for word in words:
        assert word in said.report["message"]


def accepted(said: Said) -> None:
    """Checks that the script succeeded, on the expected disk."""
    assert said.code == 0
    assert said.report == {
        "script": 2,
        "found": "formatted",
        "clusterID": CLUSTER,
        "nodeID": "3000",
        "directoryID": OWN,
        "place": said.report["place"] if said.report else "",
        "mode": "InitialControllers",
        "accepted": True,
        "message": said.report["message"] if said.report else "",
    }


# The formatter


def test_empty_disk(volume: Volume) -> None:
    """An empty disk is formatted once, with the given arguments, and reported."""
    said = volume.format()
    accepted(said)
    given = f"--cluster-id={CLUSTER} --initial-controllers 3000@host:9093:id"
    assert tool_calls(said) == [f"tool format --config /etc/kafka-quorum/3000.properties {given}"]
    assert volume.intent.read_text() == INTENT


def test_cluster_id_with_a_dash(volume: Volume) -> None:
    """A cluster id that looks like an option, as every 64th that ZooKeeper has, is formatted and recognised."""
    dashed = f"-{CLUSTER[1:]}"
    intent = INTENT.replace(CLUSTER, dashed)
    for _ in range(2):
        said = volume.format(KQ_CLUSTER_ID=dashed, TOOL_CLUSTER=dashed, KQ_INTENT=intent)
        assert (said.code, said.report and said.report["clusterID"]) == (0, dashed)


def test_intent_is_flushed_first(volume: Volume) -> None:
    """The intent is flushed, under its name, before Kafka's tool writes a byte; the format is flushed too."""
    calls = [call.split()[0] for call in volume.format().calls]
    assert calls == ["sync", "sync", "tool", "sync"]


def test_empty_log_dir(volume: Volume) -> None:
    """A log directory without files is an empty disk."""
    volume.log_dir.mkdir()
    accepted(volume.format())


def test_formatted_as_expected(volume: Volume) -> None:
    """A formatter that runs again on a disk that it has formatted reports the same, and formats nothing."""
    volume.format()
    again = volume.format()
    accepted(again)
    assert {call.split()[0] for call in again.calls} <= {"sync"}  # what an earlier run left may not be on the disk yet
    assert again.calls, "nothing was flushed"


def test_newcomer(volume: Volume) -> None:
    """Without an expected directory id, the one that Kafka's tool generated is reported."""
    said = volume.format(KQ_DIRECTORY_ID="", TOOL_DIRECTORY=OTHER, KQ_MODE="NoInitialControllers")
    assert said.code == 0
    assert said.report is not None
    assert (said.report["directoryID"], said.report["mode"]) == (OTHER, "NoInitialControllers")


@pytest.mark.parametrize(
    ("cluster", "node", "directory_id"),
    [(OTHER_CLUSTER, 3000, OWN), (CLUSTER, 3001, OWN), (CLUSTER, 3000, OTHER)],
    ids=["cluster", "node", "directory"],
)
def test_foreign_disk(volume: Volume, cluster: str, node: int, directory_id: str) -> None:
    """A disk of another cluster, node or directory is refused and not changed, even if our intent is on it."""
    volume.formatted(cluster, node, directory_id)
    volume.intent.write_text(INTENT)
    before = volume.meta.read_text()
    refused(volume.format(), "formatted", cluster, str(node), directory_id)
    assert volume.meta.read_text() == before


@pytest.mark.parametrize("intent", [None, INTENT.replace("claim-uid", "another-claim"), f"{INTENT}0"])
def test_formatted_by_somebody_else(volume: Volume, intent: str | None) -> None:
    """The expected identity without exactly our intent is refused: it may be a snapshot in another claim."""
    volume.formatted()
    if intent is not None:
        volume.intent.write_text(intent)
    refused(volume.format(), "formatted", "another format's")


@pytest.mark.parametrize("intent", [None, "another intent", ""])
def test_partial_of_somebody_else(volume: Volume, intent: str | None) -> None:
    """Files without meta.properties, and without our intent, are refused and not changed."""
    volume.partial()
    (volume.log_dir / "somebodys").write_text("data")
    if intent is not None:
        volume.intent.write_text(intent)
    refused(volume.format(), "partial", "no intent of this formatter")
    assert (volume.log_dir / "somebodys").read_text() == "data"


def test_log_dir_is_a_file(volume: Volume) -> None:
    """A file in place of the log directory is refused too."""
    volume.log_dir.write_text("data")
    refused(volume.format(), "partial")


def test_partial_of_ours(volume: Volume) -> None:
    """A partial format with exactly our intent is deleted, and the disk is formatted from the start."""
    volume.partial()
    (volume.log_dir / "half").write_text("")
    volume.intent.write_text(INTENT)
    accepted(volume.format())
    assert "kraft/half" not in volume.files()


def test_killed_after_the_intent(volume: Volume) -> None:
    """If a killed formatter left only the intent on the disk, the next one formats from the start."""
    volume.intent.write_text(INTENT)
    accepted(volume.format())


def test_killed_while_the_intent_is_written(volume: Volume) -> None:
    """If a killed formatter left half an intent under its temporary name, the next one formats from the start."""
    volume.intent.with_suffix(".new").write_text(INTENT[:10])
    accepted(volume.format())
    assert volume.intent.read_text() == INTENT


def test_killed_within_the_format(volume: Volume) -> None:
    """If a formatter is killed after the checkpoint, it reports nothing, and the next one deletes and formats again."""
    killed = volume.format(TOOL_DOES="killed")
    assert killed.code == -9
    assert killed.report is None
    assert not volume.meta.exists()
    accepted(volume.format())


def test_killed_after_the_format(volume: Volume) -> None:
    """If a formatter is killed before its report, the next one finds the finished format and reports it."""
    killed = volume.format(TOOL_DOES="killed-after")
    assert killed.report is None
    again = volume.format()
    accepted(again)
    assert tool_calls(again) == []


def test_second_format_of_the_same_claim(volume: Volume) -> None:
    """If the disk was lost in place, the intent differs, so an earlier format is refused."""
    volume.format()
    refused(volume.format(KQ_INTENT=f"{CLUSTER} 3000 NoInitialControllers claim-uid 1"), "formatted")


@pytest.mark.parametrize("does", ["early", "late"])
def test_failing_tool(volume: Volume, does: str) -> None:
    """If Kafka's tool fails, its output is reported, and the disk counts as empty, because only our files are on it."""
    said = volume.format(TOOL_DOES=does, TOOL_SAYS="Invalid feature level 99")
    assert said.code == 1
    assert said.report is not None
    assert (said.report["found"], said.report["accepted"]) == ("empty", False)
    assert "ended with 1: Invalid feature level 99" in said.report["message"]
    accepted(volume.format())


def test_tool_that_lies(volume: Volume) -> None:
    """If the tool succeeds, but the disk has another identity than requested, the format is not accepted."""
    said = volume.format(TOOL_CLUSTER=OTHER_CLUSTER)
    assert said.code == 1
    assert said.report is not None
    assert (said.report["accepted"], said.report["clusterID"]) == (False, OTHER_CLUSTER)


@pytest.mark.parametrize(
    "says",
    [
        'Exception: "quoted" and \\back\\slashed',
        "line one\nline two\tand a tab\n\n",
        "naïve, not ASCII ✓",
        "'single' $(echo no) `echo no` %s %d %n",
        "x" * 5000,
        "\x1b[31mred\x1b[0m\x00"[:-1],
    ],
    ids=["quotes", "lines", "unicode", "shell", "long", "control"],
)
def test_report_is_always_json(volume: Volume, says: str) -> None:
    """Whatever Kafka's tool prints, the report is one short line of JSON that the operator can read."""
    said = volume.format(TOOL_DOES="early", TOOL_SAYS=says)
    assert said.report is not None
    assert len(json.dumps(said.report)) < 4096
    assert isinstance(said.report["message"], str)


def test_malicious_meta(volume: Volume) -> None:
    """Any content of meta.properties is reported as short, plain values."""
    volume.log_dir.mkdir()
    volume.meta.write_text('cluster.id="},{"\\\nnode.id=3000; rm -rf /\ndirectory.id=' + "y" * 500 + "\n")
    said = volume.format()
    refused(said, "formatted")
    assert said.report is not None
    assert len(said.report["directoryID"]) == 64


def test_unwritable_intent(volume: Volume) -> None:
    """If the intent cannot be written, this is reported, and Kafka's tool is not called."""
    volume.intent.with_suffix(".new").mkdir()
    refused(volume.format(), "empty", "cannot be written")
    assert not volume.log_dir.exists()


def test_only_its_own_files_are_flushed(volume: Volume) -> None:
    """What other pods wrote on the same Kubernetes node is not flushed, unless `sync` takes no names."""
    for takes, expected in (("exit 0", {True}), ('[ -z "$1" ]', {True, False})):
        program = f'#!/bin/sh\necho "sync $*" >> "$CALLS"\n{takes}\n'
        (volume.place / "bin" / "sync").write_text(program)
        shutil.rmtree(volume.log_dir, ignore_errors=True)
        said = volume.format()
        accepted(said)
        named = [len(call.split()) > 1 for call in said.calls if call.startswith("sync")]
        assert {*named} == expected, said.calls


def test_place_of_a_volume(volume: Volume) -> None:
    """The place stays when the volume is emptied, and is another one for a directory that stands in for it."""
    (volume.place / "bin" / "stat").write_text(
        '#!/bin/sh\n[ "$1 $2" = "-c %i:%W" ] && ls -di "$3" | sed "s/ .*/:17/"\n'
        '[ "$1 $2 $3" = "-f -c %i" ] && echo f5\n'
    )
    (volume.place / "bin" / "stat").chmod(0o755)
    places = []
    for change in ("formatted", "emptied", "another"):
        match change:
            case "formatted":
                volume.formatted()
            case "emptied":
                shutil.rmtree(volume.log_dir)
            case _:
                volume.disk.rename(volume.place / "elsewhere")
                volume.disk.mkdir()
        said = volume.run(scripts.VERIFY, PATH=f"{volume.place / 'bin'}:{os.environ['PATH']}")
        assert said.report is not None
        places.append(said.report["place"])
    first, emptied, another = places
    assert first == emptied != another
    assert first.endswith(":17:f5")


@pytest.mark.parametrize(("other", "known"), [("lost+found", True), ("kraft.bak", False), ("tqGkCOVG", False)])
def test_a_volume_that_holds_something_else_has_no_place(volume: Volume, other: str, *, known: bool) -> None:
    """Without the log directory, another name may be the data: it was moved, or a lock hides its name."""
    (volume.place / "bin" / "stat").write_text('#!/bin/sh\n[ "$1" = -f ] && echo f5 || echo 12:17\n')
    (volume.place / "bin" / "stat").chmod(0o755)
    (volume.disk / other).mkdir(exist_ok=True)
    said = volume.run(scripts.VERIFY, PATH=f"{volume.place / 'bin'}:{os.environ['PATH']}")
    assert said.report is not None
    assert (said.report["found"], said.report["place"]) == ("empty", "12:17:f5" if known else "")


@pytest.mark.parametrize(
    "says",
    [
        "[ $1 = -f ] && echo f5 || echo 12:0",
        "[ $1 = -f ] && echo f5 || echo 12:?",
        "[ $1 = -f ] && echo f5 || echo 12:-",
        "[ $1 = -f ] && echo f5",
        "[ $1 = -f ] && echo 0 || echo 12:17",
        "[ $1 = -f ] || echo 12:17",
        "exit 1",
    ],
)
def test_unknown_place(volume: Volume, says: str) -> None:
    """The number of the directory alone shows nothing: every new file system has the same, made in the same second."""
    (volume.place / "bin" / "stat").write_text(f"#!/bin/sh\n{says}\n")
    (volume.place / "bin" / "stat").chmod(0o755)
    said = volume.run(scripts.VERIFY, PATH=f"{volume.place / 'bin'}:{os.environ['PATH']}")
    assert said.report is not None
    assert (said.report["found"], said.report["place"]) == ("empty", "")


def test_failing_flush(volume: Volume) -> None:
    """If the intent cannot be flushed, Kafka's tool is not called."""
    (volume.place / "bin" / "sync").write_text("#!/bin/sh\nexit 1\n")
    refused(volume.format(), "empty", "cannot be written")


# Disks that cannot be read


@pytest.mark.parametrize("script", ALL_SCRIPTS, ids=SCRIPT_NAMES)
@pytest.mark.parametrize(("what", "mode"), [("disk", 0), ("log_dir", 0), ("log_dir", 0o444), ("meta", 0)])
def test_no_permission(volume: Volume, script: str, what: str, mode: int) -> None:
    """Without permission to read the volume, the log directory or meta.properties, the disk is unreadable."""
    volume.formatted()
    before = volume.files()
    path: Path = getattr(volume, what)
    own = stat.S_IMODE(path.stat().st_mode)
    path.chmod(mode)
    said = volume.run(script, powerless=True)
    path.chmod(own)
    refused(said, "unreadable")
    assert volume.files() == before


@pytest.mark.parametrize("script", ALL_SCRIPTS, ids=SCRIPT_NAMES)
@pytest.mark.parametrize("blind", ["volume", "log directory"])
@pytest.mark.parametrize("what", ["fails", "shows nothing"])
def test_listing_fails(volume: Volume, script: str, blind: str, what: str) -> None:
    """If a listing fails, or lacks the directory's own name, the disk does not count as empty."""
    volume.formatted()
    path = volume.disk if blind == "volume" else volume.log_dir
    answer = "echo 'Stale file handle' >&2; exit 2" if what == "fails" else "exit 0"
    ls = volume.place / "bin" / "ls"
    ls.write_text(f'#!/bin/sh\ncase "$2" in {path}/) {answer};; *) exec {shutil.which("ls")} "$@";; esac\n')
    ls.chmod(0o755)
    before = volume.files()
    refused(volume.run(script, PATH=f"{volume.place / 'bin'}:{os.environ['PATH']}"), "unreadable", str(path))
    assert volume.files() == before


@pytest.mark.parametrize("script", ALL_SCRIPTS, ids=SCRIPT_NAMES)
@pytest.mark.parametrize("mounts", ["", MOUNTS.format(path="/another"), None], ids=["none", "others", "unknown"])
def test_no_mount(volume: Volume, script: str, mounts: str | None) -> None:
    """A directory without a mounted volume is never an empty disk, and nothing is written to it."""
    volume.mounts.unlink()
    if mounts is not None:
        volume.mounts.write_text(mounts)
    refused(volume.run(script), "unreadable", "no volume is mounted")
    assert volume.files() == set()


def test_half_a_format_that_cannot_be_read(volume: Volume) -> None:
    """A log directory that cannot be listed is not deleted, even if exactly our intent is on the disk."""
    volume.formatted()
    volume.intent.write_text(INTENT)
    volume.log_dir.chmod(0)
    said = volume.format(powerless=True)
    volume.log_dir.chmod(0o755)
    refused(said, "unreadable", "cannot be listed")
    assert "kraft/meta.properties" in volume.files()


# The comparing init container, and Kafka's own container


def test_verify_accepts(volume: Volume) -> None:
    """The expected disk is accepted with any intent, or with none."""
    volume.formatted()
    before = volume.files()
    accepted(volume.run(scripts.VERIFY))
    assert volume.files() == before


@pytest.mark.parametrize("script", [scripts.VERIFY, scripts.RUN], ids=["verify", "run"])
@pytest.mark.parametrize(
    ("cluster", "node", "directory_id"),
    [(OTHER_CLUSTER, 3000, OWN), (CLUSTER, 3001, OWN), (CLUSTER, 3000, OTHER), (CLUSTER, 3000, "")],
    ids=["cluster", "node", "directory", "no directory"],
)
def test_verify_refuses(volume: Volume, script: str, cluster: str, node: int, directory_id: str) -> None:
    """Any other identity is refused, with both identities in the message, and Kafka is not started."""
    volume.formatted(cluster, node, directory_id)
    refused(volume.run(script), "formatted", CLUSTER, OWN, cluster, str(node), directory_id)


@pytest.mark.parametrize("script", [scripts.VERIFY, scripts.RUN], ids=["verify", "run"])
@pytest.mark.parametrize("found", ["empty", "partial"])
def test_verify_refuses_without_an_identity(volume: Volume, script: str, found: str) -> None:
    """On an empty disk, or files without meta.properties, Kafka is not started, and nothing is written."""
    if found == "partial":
        volume.partial()
    before = volume.files()
    refused(volume.run(script), found, "the disk is empty" if found == "empty" else "no meta.properties")
    assert volume.files() == before


def test_expected_nothing_finds_nothing(volume: Volume) -> None:
    """A pod without an expected identity does not accept a disk without one."""
    refused(volume.run(scripts.VERIFY, KQ_CLUSTER_ID="", KQ_NODE_ID="", KQ_DIRECTORY_ID=""), "empty")


def test_run_starts_kafka(volume: Volume) -> None:
    """On the expected disk Kafka replaces the script's process, with its own properties, and there is no report."""
    volume.formatted()
    start = volume.place / "bin" / "kafka-server-start.sh"
    start.write_text('#!/bin/sh\necho "start $* as $$" >> "$CALLS"\nexit 7\n')
    start.chmod(0o755)
    said = volume.run(scripts.RUN)
    assert said.code == 7
    assert said.report is None
    assert said.calls[0].startswith("start /etc/kafka-quorum/3000.properties")


def test_the_operator_reads_the_report(volume: Volume) -> None:
    """The operator reads from the pod's status what the script wrote."""
    volume.formatted(OTHER_CLUSTER)
    said = volume.run(scripts.VERIFY)
    message = json.dumps(said.report)
    pod = pod_from(
        {
            "metadata": {
                "name": "alpha-3000-g1",
                "uid": "u",
                "resourceVersion": "1",
                "labels": {"kafkaquorum.io/role": "controller", "kafkaquorum.io/node-id": "3000"},
            },
            "status": {
                "initContainerStatuses": [
                    {"name": "verify", "state": {"terminated": {"exitCode": 1, "message": message}}}
                ]
            },
        }
    )
    assert pod is not None
    assert pod.report is not None
    assert (pod.report.cluster_id, pod.report.node_id, pod.report.accepted) == (OTHER_CLUSTER, 3000, False)


# Adoption


def test_adoption_reads_and_writes_nothing(volume: Volume) -> None:
    """On a disk of the expected cluster and node the script reports the directory id, and changes nothing."""
    volume.formatted()
    before = volume.files()
    said = volume.run(scripts.ADOPT, KQ_DIRECTORY_ID="")
    accepted(said)
    assert said.calls == []
    assert volume.files() == before


@pytest.mark.parametrize(
    ("cluster", "node", "directory_id", "expected"),
    [(OTHER_CLUSTER, 3000, OWN, ""), (CLUSTER, 3001, OWN, ""), (CLUSTER, 3000, OTHER, OWN)],
    ids=["another cluster", "another node", "another disk than before"],
)
def test_adoption_of_a_stranger(volume: Volume, cluster: str, node: int, directory_id: str, expected: str) -> None:
    """A disk of another cluster or node, or with another directory id than before, is refused with the reason."""
    volume.formatted(cluster, node, directory_id)
    said = volume.run(scripts.ADOPT, KQ_DIRECTORY_ID=expected)
    refused(said, "formatted", cluster, str(node), directory_id)


def test_adoption_of_an_empty_disk(volume: Volume) -> None:
    """An empty disk is refused for adoption, and stays empty."""
    said = volume.run(scripts.ADOPT, KQ_DIRECTORY_ID="")
    refused(said, "empty", "was to be taken over")
    assert volume.files() == set()


def test_no_pod_of_ours_formats_and_runs() -> None:
    """The script that formats does not start Kafka, and the scripts that start Kafka do not format."""
    assert "kafka-server-start" not in scripts.FORMAT
    assert "kafka-server-start" not in scripts.ADOPT
    for script in (scripts.VERIFY, scripts.RUN, scripts.ADOPT):
        assert "kafka-storage" not in script
        assert "rm -rf" not in script
    for script in (scripts.FORMAT, scripts.VERIFY, scripts.RUN, scripts.ADOPT):
        assert "--release-version" not in script
        assert "quorum-state" not in script


@pytest.mark.parametrize(
    ("on_disk", "made_for", "accepted"),
    [
        (None, None, True),
        ("2", "2", True),
        (None, "2", False),
        ("1", "2", False),
        ("2", None, False),
        ("3", "2", False),
    ],
)
def test_a_disk_of_another_recovery_does_not_run(
    volume: Volume, on_disk: str | None, made_for: str | None, *, accepted: bool
) -> None:
    """Kafka starts only on a disk of the recovery that its pod is made for, neither on an earlier nor a later one."""
    volume.formatted()
    if on_disk is not None:
        (volume.disk / ".kafka-quorum-recovery").write_text(on_disk)
    said = volume.run(scripts.VERIFY, KQ_RECOVERY=made_for) if made_for else volume.run(scripts.VERIFY)
    assert said.report is not None
    assert (said.code == 0, said.report["accepted"], said.report["found"]) == (accepted, accepted, "formatted")


def test_a_disk_that_is_formatted_in_a_recovery_is_marked(volume: Volume) -> None:
    """The formatter writes the number before it formats, so that a formatted disk always has it."""
    volume.run(scripts.FORMAT, KQ_RECOVERY="2", TOOL_DOES="early")
    assert (volume.disk / ".kafka-quorum-recovery").read_text() == "2"
    assert volume.run(scripts.FORMAT, KQ_RECOVERY="2").code == 0
    said = volume.run(scripts.VERIFY, KQ_RECOVERY="2")
    assert said.code == 0


def test_a_format_writes_through_no_link(volume: Volume) -> None:
    """Links with the names of intent and mark are replaced, and what they lead to stays as it was."""
    other = volume.place / "other"
    other.write_text("other")
    volume.disk.mkdir(exist_ok=True)
    for name in ("format", "format.new", "recovery", "recovery.new"):
        (volume.disk / f".kafka-quorum-{name}").symlink_to(other)
    other.write_text("0")
    said = volume.run(scripts.FORMAT, KQ_RECOVERY="2")
    assert said.report is not None, said
    assert said.report["accepted"]
    assert other.read_text() == "0"
    assert (volume.disk / ".kafka-quorum-recovery").read_text() == "2"


def test_a_disk_without_a_recovery_has_no_mark(volume: Volume) -> None:
    """A quorum that was never recovered has no such file."""
    assert volume.run(scripts.FORMAT).code == 0
    assert not (volume.disk / ".kafka-quorum-recovery").exists()
