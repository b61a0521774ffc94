"""Log directories of artificial clusters, with any number of replicas, written batch by batch."""

from collections.abc import Iterable
from pathlib import Path

from kraftlog.schema import catalog
from kraftlog.writer import NewBatch, batch_of, record_of

_START_MS = 1_760_000_000_000


def batch(offset: int, epoch: int, names: Iterable[str]) -> bytes:
    """TOPIC_RECORDs."""
    schema = catalog().find(2, 0)
    assert schema is not None
    records = [record_of(schema, {"name": name, "topicId": "AAAAAAAAAAAAAAAAAAAAAA"}) for name in names]
    return batch_of(NewBatch(base_offset=offset, leader_epoch=epoch, timestamp_ms=_START_MS + offset), records)


def single(offset: int, epoch: int) -> bytes:
    """One record, named by its offset and epoch."""
    return batch(offset, epoch, [f"t-{offset}-{epoch}"])


def run(first: int, end: int, epoch: int) -> bytes:
    """Single-record batches for these offsets."""
    return b"".join(single(offset, epoch) for offset in range(first, end))


def replica(home: Path, cluster: str, node_id: int) -> Path:
    """The folder of a replica's log."""
    log = home / cluster / f"node-{node_id}" / "__cluster_metadata-0"
    log.mkdir(parents=True, exist_ok=True)
    meta = f"version=1\ncluster.id={cluster}\nnode.id={node_id}\ndirectory.id=dir-{node_id}\n"
    (log.parent / "meta.properties").write_text(meta)
    return log


def segment(folder: Path, base_offset: int, content: bytes) -> Path:
    """Writes a segment of it."""
    path = folder / f"{base_offset:020d}.log"
    path.write_bytes(content)
    return path
