"""Small logs in files, and what a reader returns for them."""

import json
from pathlib import Path
from typing import Any

from kraftlog import Column, Fault, Options, RecordBlock, catalog, read_blocks
from kraftlog.codecs import Codec
from kraftlog.compiled import readable
from kraftlog.crc import crc32c
from kraftlog.lines import lines_of
from kraftlog.writer import NewBatch, NewRecord, batch_of, record_of

__all__ = ["Column", "NewRecord", "RecordBlock", "lines_of", "read_blocks"]

CATALOG = catalog()
SEGMENT = "00000000000000000000.log"


def topic(name: str) -> NewRecord:
    """A TOPIC_RECORD."""
    schema = CATALOG.find(2, 0)
    assert schema is not None
    return record_of(schema, {"name": name, "topicId": "AAAAAAAAAAAAAAAAAAAAAA"})


def batch(base_offset: int, *names: str, codec: Codec = Codec.NONE) -> bytes:
    """A batch of TOPIC_RECORDs."""
    return batch_of(NewBatch(base_offset=base_offset, codec=codec), [topic(name) for name in names])


def three_batches() -> list[bytes]:
    """Offsets 0 to 4 in three batches."""
    return [batch(0, "a", "b"), batch(2, "c"), batch(3, "d", "e")]


def write(directory: Path, content: bytes, name: str = SEGMENT) -> Path:
    """Writes a file with this content."""
    path = directory / name
    path.write_bytes(content)
    return path


def read(path: Path, options: Options | None = None) -> tuple[list[dict[str, Any]], list[Fault]]:
    """Every record as a dump prints it, and every fault."""
    records: list[dict[str, Any]] = []
    faults: list[Fault] = []
    for item in read_blocks(path, options):
        if isinstance(item, RecordBlock):
            rendered = item.render()
            faults += rendered.faults
            records += [json.loads(line) for line in bytes(lines_of(item, rendered)).decode().split("\n") if line]
        else:
            faults.append(item)
    return records, faults


def offsets(records: list[dict[str, Any]]) -> list[int]:
    """Their offsets."""
    return [record["offset"] for record in records]


def blocks(path: Path, options: Options | None = None) -> list[RecordBlock]:
    """The blocks of a file, without its faults."""
    return [item for item in read_blocks(path, options) if isinstance(item, RecordBlock)]


def crc(content: bytes) -> int:
    """The checksum that a batch must have, computed over its bytes from 21."""
    return crc32c(readable(content), 0, len(content))


def resummed(content: bytes | bytearray) -> bytes:
    """The same with valid checksums wherever a batch has a possible length, so that mutations reach the decoder."""
    data, at = bytearray(content), 0
    while at + 61 <= len(data):
        size = int.from_bytes(data[at + 8 : at + 12], "big", signed=True) + 12
        if not 61 <= size <= len(data) - at:
            break
        data[at + 17 : at + 21] = crc(bytes(data[at + 21 : at + size])).to_bytes(4, "big")
        at += size
    return bytes(data)
