"""The scripts that pods run, run for real by `sh`, with a stand-in for Kafka's tool and a directory for the volume."""

import json
import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from kafka_quorum.resources import scripts
from kafka_quorum.resources.properties import DATA_PATH

CLUSTER, DIRECTORY = "up13bG3eQDuGULOvFNd33g", "HSqUiwL7QCCgT2kgd9H0jQ"
INTENT = f"{CLUSTER} 3000 InitialControllers claim-uid 0"
SHELLS = [shell for shell in (["dash"], ["bash", "--posix"], ["busybox", "sh"]) if shutil.which(shell[0])]
TOOL = """#!/bin/sh
# Stands in for kafka-storage.sh: the checkpoint first, meta.properties last, as the real one does.
echo "$@" >> "$TOOL_LOG"
mkdir -p "$DISK/kraft/__cluster_metadata-0"
echo voters > "$DISK/kraft/__cluster_metadata-0/00000000000000000000-0000000000.checkpoint"
[ "$TOOL_FAILS" = half ] && { printf 'he said "no"\\n\\tbackslash \\\\ and done\\n' >&2; exit 1; }
printf 'node.id=3000\\ndirectory.id=%s\\nversion=1\\ncluster.id=%s\\n' "$TOOL_DIRECTORY" "$KQ_CLUSTER_ID" \\
  > "$DISK/kraft/meta.properties"
"""


@dataclass
class Volume:
    """A volume, the tool, and the last report."""

    root: Path
    shell: list[str]

    @property
    def disk(self) -> Path:
        """Where the claim is mounted."""
        return self.root / "disk"

    @property
    def intent(self) -> Path:
        """The formatter's intent."""
        return self.disk / ".kafka-quorum-format"

    @property
    def meta(self) -> Path:
        """Kafka's own mark of a formatted disk."""
        return self.disk / "kraft" / "meta.properties"

    def formatted(self, *, cluster: str = CLUSTER, node: int = 3000, directory: str = DIRECTORY) -> None:
        """Lay out a disk as a format leaves it."""
        self.meta.parent.mkdir(parents=True, exist_ok=True)
        self.meta.write_text(f"node.id={node}\ndirectory.id={directory}\nversion=1\ncluster.id={cluster}\n")

    def run(self, script: str, *arguments: str, **env: str) -> tuple[int, dict[str, Any]]:
        """Run a script of ours on this volume: its exit code and its report."""
        report = self.root / "termination-log"
        report.unlink(missing_ok=True)
        here = (
            script.replace(DATA_PATH, str(self.disk))
            .replace("/dev/termination-log", str(report))
            .replace("/opt/kafka/bin", str(self.root))
        )
        values = {
            "PATH": os.environ["PATH"],
            "DISK": str(self.disk),
            "TOOL_LOG": str(self.root / "tool.log"),
            "TOOL_FAILS": "",
            "TOOL_DIRECTORY": DIRECTORY,
            "KQ_MODE": "InitialControllers",
            "KQ_CLUSTER_ID": CLUSTER,
            "KQ_NODE_ID": "3000",
            "KQ_DIRECTORY_ID": DIRECTORY,
            "KQ_CLAIM_UID": "claim-uid",
            "KQ_CONFIG": "/etc/kafka-quorum/3000.properties",
            "KQ_INTENT": INTENT,
        }
        command = [*self.shell, "-c", here, "format", *arguments]
        done = subprocess.run(command, env={**values, **env}, capture_output=True, text=True, timeout=30, check=False)
        assert done.stderr == "", done.stderr
        said: dict[str, Any] = json.loads(report.read_text())
        return done.returncode, said

    def tool_calls(self) -> list[str]:
        """What Kafka's tool was asked."""
        log = self.root / "tool.log"
        return log.read_text().splitlines() if log.exists() else []


@pytest.fixture(params=SHELLS, ids=[" ".join(shell) for shell in SHELLS])
def volume(tmp_path: Path, request: pytest.FixtureRequest) -> Volume:
    """An empty volume with a `lost+found`, as file systems have it."""
    made = Volume(tmp_path, request.param)
    (made.disk / "lost+found").mkdir(parents=True)
    for name in ("kafka-storage.sh", "kafka-server-start.sh"):
        tool = tmp_path / name
        tool.write_text(TOOL if name.startswith("kafka-storage") else '#!/bin/sh\necho "started $1" >> "$TOOL_LOG"\n')
        tool.chmod(0o755)
    return made


def test_an_empty_disk_is_formatted_once(volume: Volume) -> None:
    """The formatter leaves its intent, calls the tool with exactly the given arguments, and reports the identity."""
    code, said = volume.run(scripts.FORMAT, "--initial-controllers", "3000@h:9093:x")
    assert (code, said["found"], said["accepted"]) == (0, "formatted", True)
    assert (said["clusterID"], said["nodeID"], said["directoryID"]) == (CLUSTER, "3000", DIRECTORY)
    assert volume.intent.read_text() == INTENT
    config = "--config /etc/kafka-quorum/3000.properties"
    assert volume.tool_calls() == [f"format {config} --cluster-id {CLUSTER} --initial-controllers 3000@h:9093:x"]


def test_a_second_formatter_only_reports(volume: Volume) -> None:
    """Where the first report was lost, the disk is not touched again."""
    volume.run(scripts.FORMAT)
    before = volume.meta.stat().st_mtime_ns
    code, said = volume.run(scripts.FORMAT)
    assert (code, said["accepted"], said["message"]) == (0, True, "formatted already")
    assert volume.meta.stat().st_mtime_ns == before
    assert len(volume.tool_calls()) == 1


@pytest.mark.parametrize("left", ["intent", "intent and directory", "intent and checkpoint"])
def test_a_format_cut_short_is_begun_again(volume: Volume, left: str) -> None:
    """Whatever a killed formatter of this very claim left, the next one wipes it and formats."""
    volume.intent.write_text(INTENT)
    if left != "intent":
        (volume.disk / "kraft").mkdir()
    if left == "intent and checkpoint":
        (volume.disk / "kraft" / "half.checkpoint").write_text("half")
    code, said = volume.run(scripts.FORMAT)
    assert (code, said["accepted"]) == (0, True)
    assert not (volume.disk / "kraft" / "half.checkpoint").exists()


@pytest.mark.parametrize("intent", [None, INTENT.replace("claim-uid 0", "claim-uid 1")])
def test_files_of_somebody_else_are_left_alone(volume: Volume, intent: str | None) -> None:
    """Files without meta.properties are wiped only under this formatter's own intent: Kafka's tool would not refuse."""
    if intent is not None:
        volume.intent.write_text(intent)
    log = volume.disk / "kraft" / "__cluster_metadata-0" / "00000000000000000000.log"
    log.parent.mkdir(parents=True)
    log.write_text("records")
    code, said = volume.run(scripts.FORMAT)
    assert (code, said["found"], said["accepted"]) == (1, "partial", False)
    assert log.read_text() == "records"
    assert volume.tool_calls() == []


@pytest.mark.parametrize(
    "other", [{"cluster": "AAAAAAAAQACAAAAAAAAAAQ"}, {"node": 3001}, {"directory": "AAAAAAAAQACAAAAAAAAAAg"}]
)
def test_a_disk_of_another_identity_is_refused(volume: Volume, other: dict[str, Any]) -> None:
    """Another cluster, node or directory id is named and not touched, even under our intent."""
    volume.intent.write_text(INTENT)
    volume.formatted(**other)
    before = volume.meta.read_text()
    code, said = volume.run(scripts.FORMAT)
    assert (code, said["accepted"], said["found"]) == (1, False, "formatted")
    assert str(next(iter(other.values()))) in said["message"]
    assert volume.meta.read_text() == before
    assert volume.tool_calls() == []


def test_a_newcomers_disk_is_known_by_its_intent(volume: Volume) -> None:
    """A newcomer has no id in advance: its formatted disk is reported again only under the very same intent."""
    ours = INTENT.replace("InitialControllers", "NoInitialControllers")
    newcomer = {"KQ_MODE": "NoInitialControllers", "KQ_DIRECTORY_ID": "", "KQ_INTENT": ours}
    assert volume.run(scripts.FORMAT, "--no-initial-controllers", **newcomer)[1]["directoryID"] == DIRECTORY
    assert volume.run(scripts.FORMAT, "--no-initial-controllers", **newcomer)[1]["accepted"]
    later = {**newcomer, "KQ_INTENT": ours.replace("claim-uid 0", "claim-uid 1")}
    code, said = volume.run(scripts.FORMAT, "--no-initial-controllers", **later)
    assert (code, said["accepted"]) == (1, False)


def test_a_failed_tool_is_quoted_in_valid_json(volume: Volume) -> None:
    """Quotes, newlines and backslashes of the tool's words do not break the report; the half format counts as empty."""
    code, said = volume.run(scripts.FORMAT, TOOL_FAILS="half")
    assert (code, said["found"], said["accepted"]) == (1, "empty", False)
    assert "kafka-storage.sh ended with 1: he said no" in said["message"]
    assert volume.run(scripts.FORMAT)[1]["accepted"]


def test_a_tool_that_writes_another_id_is_not_believed(volume: Volume) -> None:
    """Exit code 0 proves nothing: the disk is read again."""
    code, said = volume.run(scripts.FORMAT, TOOL_DIRECTORY="AAAAAAAAQACAAAAAAAAAAg")
    assert (code, said["accepted"]) == (1, False)


def test_an_emptied_disk_may_be_formatted_by_a_new_intent(volume: Volume) -> None:
    """The old intent on an emptied disk stands in nobody's way."""
    volume.intent.write_text("some earlier intent")
    assert volume.run(scripts.FORMAT)[1]["accepted"]
    assert volume.intent.read_text() == INTENT


@pytest.mark.parametrize("script", [scripts.VERIFY, scripts.RUN], ids=["verify", "run"])
def test_the_expected_disk_is_accepted(volume: Volume, script: str) -> None:
    """Only the very identity lets Kafka start."""
    volume.formatted()
    if script is scripts.VERIFY:
        code, said = volume.run(script)
        assert (code, said["accepted"]) == (0, True)
        assert volume.tool_calls() == []
    else:
        with pytest.raises(FileNotFoundError):  # nothing to report: the server has taken over
            volume.run(script)
        assert volume.tool_calls() == ["started /etc/kafka-quorum/3000.properties"]


@pytest.mark.parametrize("script", [scripts.VERIFY, scripts.RUN], ids=["verify", "run"])
@pytest.mark.parametrize(
    ("found", "other"),
    [
        ("empty", None),
        ("partial", {}),
        ("formatted", {"cluster": "AAAAAAAAQACAAAAAAAAAAQ"}),
        ("formatted", {"node": 3001}),
        ("formatted", {"directory": "AAAAAAAAQACAAAAAAAAAAg"}),
    ],
)
def test_every_other_disk_is_refused(volume: Volume, script: str, found: str, other: dict[str, Any] | None) -> None:
    """Kafka does not start, nothing is written, and the report says what was found."""
    if other is not None:
        volume.formatted(**other)
    if found == "partial":
        volume.meta.unlink()
        (volume.disk / "kraft" / "some.log").write_text("records")
    before = sorted(volume.disk.rglob("*"))
    code, said = volume.run(script)
    assert (code, said["found"], said["accepted"]) == (1, found, False)
    assert DIRECTORY in said["message"]
    assert sorted(volume.disk.rglob("*")) == before
    assert volume.tool_calls() == []
