"""What Kafka's StorageTool does and refuses: everything on which the formatter pod and its report depend."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.live.jars import Kafka
from tests.live.quorum import LiveNode, LiveQuorum, new_uuid
from tests.live.storage import (
    InitialControllers,
    Mode,
    ModeMissing,
    NoInitialControllers,
    Standalone,
    ToolResult,
)

from kafka_quorum.model.ids import ClusterID, DirectoryID

pytestmark = [pytest.mark.live, pytest.mark.timeout(120)]

CHECKPOINT = "__cluster_metadata-0/00000000000000000000-0000000000.checkpoint"
META = "meta.properties"


class Bench:
    """One controller whose directory a test formats."""

    def __init__(self, kafka: Kafka, directory: Path) -> None:
        """Writes the configuration; the directory does not exist yet."""
        self.quorum = LiveQuorum(kafka=kafka, directory=directory)
        self.node: LiveNode = self.quorum.add_node(3000)
        self.initial: InitialControllers = self.quorum.initial_controllers([self.node])

    @property
    def premade(self) -> DirectoryID | None:
        """The directory id that was generated before the format."""
        return self.initial.voters[0][0].directory_id

    def format(self, mode: Mode | None = None, *more: str, features: tuple[str, ...] = ()) -> ToolResult:
        """Runs the tool once, with initial controllers unless another mode is given."""
        (result,) = self.quorum.format([self.node], mode or self.initial, features=features, more=more)
        return result

    def files(self) -> set[str]:
        """Every file under the directory."""
        data = self.node.data
        return {str(path.relative_to(data)) for path in data.rglob("*") if path.is_file()}


@pytest.fixture
def bench(kafka: Kafka, tmp_path: Path) -> Iterator[Bench]:
    """A new one per test; nothing is started."""
    made = Bench(kafka, tmp_path)
    yield made
    made.quorum.close()


def test_a_format_writes_identity_and_checkpoint(bench: Bench) -> None:
    """An initial format writes only meta.properties and the bootstrap checkpoint, with the pre-made directory id."""
    assert bench.format().exit_code == 0
    assert bench.files() == {CHECKPOINT, META}
    assert bench.node.meta == {
        "cluster.id": bench.quorum.cluster_id,
        "node.id": "3000",
        "directory.id": bench.premade,
        "version": "1",
    }


def test_the_checkpoint_is_written_before_the_identity(bench: Bench) -> None:
    """A format that fails at meta.properties leaves a checkpoint without an identity."""
    (bench.node.data / f"{META}.tmp").mkdir(parents=True)  # Kafka writes there first, and cannot
    result = bench.format()
    assert result.exit_code == 1
    assert "Error while writing meta.properties" in result.output
    assert bench.files() == {CHECKPOINT}


@pytest.mark.parametrize("more", [(), ("--ignore-formatted",)], ids=["plain", "ignore-formatted"])
def test_files_without_identity_are_formatted_over(bench: Bench, more: tuple[str, ...]) -> None:
    """Kafka formats a directory with files but without meta.properties, so the operator must refuse it."""
    assert bench.format().exit_code == 0
    (bench.node.data / META).unlink()
    (bench.node.data / "somebody-elses-file").write_text("x")
    assert bench.format(NoInitialControllers(), *more).exit_code == 0
    assert bench.files() == {CHECKPOINT, META, "somebody-elses-file"}
    assert bench.node.meta["directory.id"] != bench.premade


def test_a_second_format_is_refused(bench: Bench) -> None:
    """A second format ends with exit code 1 and keeps the first identity."""
    assert bench.format().exit_code == 0
    before = bench.node.meta
    again = bench.format()
    assert again.exit_code == 1
    assert "is already formatted" in again.output
    assert bench.node.meta == before


def test_ignore_formatted_is_a_success_that_changes_nothing(bench: Bench) -> None:
    """With --ignore-formatted a second format ends with 0, so its exit code proves no identity and no mode."""
    assert bench.format(NoInitialControllers()).exit_code == 0
    before = bench.node.meta
    again = bench.format(bench.initial, "--ignore-formatted")
    assert again.exit_code == 0
    assert bench.node.meta == before
    assert before["directory.id"] != bench.premade


@pytest.mark.parametrize("more", [(), ("--ignore-formatted",)], ids=["plain", "ignore-formatted"])
def test_another_cluster_id_is_refused(bench: Bench, more: tuple[str, ...]) -> None:
    """A formatted directory is never given another cluster id, not even with --ignore-formatted."""
    assert bench.format().exit_code == 0
    before = bench.node.meta
    bench.quorum.cluster_id = ClusterID(new_uuid())
    again = bench.format(bench.initial, *more)
    assert again.exit_code == 1
    assert "Invalid cluster.id" in again.output
    assert bench.node.meta == before


def test_a_format_without_a_mode_is_refused(bench: Bench) -> None:
    """Without a mode the tool ends with 1 and writes nothing."""
    result = bench.format(ModeMissing())
    assert result.exit_code == 1
    assert "--no-initial-controllers" in result.output
    assert not bench.node.data.exists()


def test_what_kafka_does_not_check(bench: Bench) -> None:
    """Kafka accepts a cluster id that is no UUID, and initial controllers without this node."""
    stranger = bench.quorum.add_node(3009)
    bench.quorum.cluster_id = ClusterID("no-uuid")
    assert bench.format(bench.quorum.initial_controllers([stranger])).exit_code == 0
    assert bench.node.meta["cluster.id"] == "no-uuid"


def test_standalone_makes_up_a_directory_id(bench: Bench) -> None:
    """--standalone does not use the pre-made directory id, but generates one."""
    assert bench.format(Standalone()).exit_code == 0
    assert bench.files() == {CHECKPOINT, META}
    assert bench.node.meta["directory.id"] != bench.premade


REFUSED_FEATURES = {
    "metadata.version=4.1-IV1": "Can't parse feature=level string",
    "metadata.version=6": "Valid feature levels are from 7",
    "metadata.version=34": "is not yet stable",
    "kraft.version=0": "Cannot set kraft.version to 0",
    "nonsense.version=1": "Unsupported feature",
}


@pytest.mark.parametrize(("feature", "words"), REFUSED_FEATURES.items(), ids=list(REFUSED_FEATURES))
def test_features_that_the_tool_refuses(bench: Bench, feature: str, words: str) -> None:
    """A level must be a number within the stable range of a known feature; a refused format writes nothing."""
    result = bench.format(features=(feature,))
    assert result.exit_code == 1
    assert words in result.output
    assert not bench.node.data.exists()


def test_release_version_and_metadata_version_exclude_each_other(bench: Bench) -> None:
    """--release-version together with --feature metadata.version is refused, so the operator uses only the feature."""
    result = bench.format(bench.initial, "--release-version", "4.1", features=("metadata.version=27",))
    assert result.exit_code == 1
    assert "to avoid ambiguity" in result.output
