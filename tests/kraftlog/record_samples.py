"""Makes the samples again: `python -m tests.kraftlog.record_samples [RELEASE …]`.

Real clusters of several releases run for a short time. Their logs and checkpoints are kept with the output of Kafka's
own tools, so that equality can be tested without Java.
"""

import gzip
import json
import shutil
import sys
import tempfile
from pathlib import Path

from tests.kraftlog import oracle
from tests.kraftlog.clusters import Cluster
from tests.live.jars import ensure_kafka

SAMPLES = Path(__file__).with_name("samples")
LIVES: dict[str, tuple[tuple[str, ...], tuple[int, ...]]] = {
    "3.3.2": (("--release-version", "3.3-IV0"), (5, 6, 7)),
    "3.9.2": ((), ()),
    "4.1.2": (("--release-version", "3.9"), (22, 23, 24, 25, 26, 27)),
    "4.3.1": ((), ()),
    "4.4.0": ((), ()),
}
"""Release to the arguments of its format and the metadata.version levels of its steps."""
_EXPECTED = "expected.jsonl.gz"


def expected_of(release: str, paths: list[Path]) -> list[oracle.Line]:
    """Kafka's output: of the release's own tool, or of the converters if that release has no published tool."""
    return oracle.converters(paths) if release == "4.4.0" else oracle.dump_log(release, paths)


def recorded(directory: Path) -> tuple[list[Path], list[oracle.Line]]:
    """The files of a sample in the order of their names, and Kafka's output for them."""
    lines = gzip.decompress((directory / _EXPECTED).read_bytes()).decode().split("\n")
    return files(directory), [json.loads(line) for line in lines if line]


def files(directory: Path) -> list[Path]:
    """Segments and checkpoints."""
    return sorted([*directory.rglob("*.log"), *directory.rglob("*.checkpoint")])


def record(release: str) -> None:
    """Makes one sample."""
    features, levels = LIVES[release]
    target = SAMPLES / release
    shutil.rmtree(target, ignore_errors=True)
    with tempfile.TemporaryDirectory() as home:
        cluster = Cluster(ensure_kafka(release), Path(home) / "cluster", first_features=features)
        try:
            cluster.live_a_life(levels)
        finally:
            cluster.close()
        for node in cluster.nodes.values():
            kept = target / f"node-{node.node_id}"
            _keep(cluster.logs(node), kept / "__cluster_metadata-0")
            shutil.copy(node.data / "meta.properties", kept / "meta.properties")
    lines = expected_of(release, files(target))
    packed = gzip.compress("".join(json.dumps(line) + "\n" for line in lines).encode(), mtime=0)
    (target / _EXPECTED).write_bytes(packed)


def _keep(source: Path, target: Path) -> None:
    """Keeps the segments, the first and the last two checkpoints, and the start of each epoch."""
    target.mkdir(parents=True)
    checkpoints = sorted(source.glob("*.checkpoint"))[-2:]
    first = sorted(source.glob("00000000000000000000-*.checkpoint"))
    for path in {*source.glob("*.log"), *first, *checkpoints, source / "leader-epoch-checkpoint"}:
        shutil.copy(path, target / path.name)


if __name__ == "__main__":
    for each in sys.argv[1:] or LIVES:
        record(each)
