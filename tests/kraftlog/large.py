"""A large log of a controller's usual records, for benchmarks: a few megabytes, repeated.

The checksum of a batch does not cover its base offset, so every repetition continues the log before it.
"""

import random
from pathlib import Path

import numpy as np
from tests.kraftlog import synthetic

from kraftlog.schema import catalog
from kraftlog.values import Data
from kraftlog.writer import NewBatch, NewRecord, batch_of, record_of

_UNIT_BATCHES = 20_000
_ZERO_UUID = "AAAAAAAAAAAAAAAAAAAAAA"


def _record(rng: random.Random, release: str) -> NewRecord:
    """Mostly changes of partitions, then topics, partitions, configurations, registrations; sometimes a no-op."""
    types = {schema.type_name: schema for schema in catalog(release).schemas.values() if not schema.control}
    (kind,) = rng.choices(
        ["PARTITION_CHANGE_RECORD", "PARTITION_RECORD", "TOPIC_RECORD", "CONFIG_RECORD", "NO_OP_RECORD",
         "REGISTER_BROKER_RECORD", "BROKER_REGISTRATION_CHANGE_RECORD", "FEATURE_LEVEL_RECORD"],
        [50, 20, 5, 8, 10, 1, 5, 1],
    )  # fmt: skip
    data = synthetic.data_of(types[kind].fields, rng)
    return record_of(types[kind], _tame(kind, data, rng))


def _tame(kind: str, data: Data, rng: random.Random) -> Data:
    """Numbers and names as in real clusters."""
    brokers = [rng.randrange(12) for _ in range(3)]
    for name in ("replicas", "isr"):
        if data.get(name) is not None and name in data:
            data[name] = list(brokers)
    for name in ("partitionId", "leader", "leaderEpoch", "partitionEpoch", "brokerId", "featureLevel"):
        if name in data:
            data[name] = rng.randrange(50)
    for name in ("directories", "logDirs"):
        if name in data:
            data[name] = [_ZERO_UUID] * 3
    if kind in {"TOPIC_RECORD", "CONFIG_RECORD"}:
        data["name"] = f"topic-{rng.randrange(100_000)}"
    if kind == "CONFIG_RECORD":
        data |= {"resourceName": "orders", "value": str(rng.randrange(10**9))}
    return data


def write_log(path: Path, size_bytes: int, seed: int = 1, release: str = "4.3.1") -> int:
    """Writes at least this many bytes, and returns the number of records."""
    rng, unit, starts, offset = random.Random(seed), bytearray(), [], 0
    for number in range(_UNIT_BATCHES):
        records = [_record(rng, release) for _ in range(rng.choice([1, 1, 1, 2, 4, 20]))]
        starts.append(len(unit))
        unit += batch_of(NewBatch(base_offset=offset, timestamp_ms=1_700_000_000_000 + 500 * number), records)
        offset += len(records)
    array = np.frombuffer(bytes(unit), dtype=np.uint8).copy()
    places = np.array(starts)[:, None] + np.arange(8)
    bases = array[places].copy().view(">i8").astype(np.int64)
    repetitions = -(-size_bytes // array.size)
    with path.open("wb") as file:
        for repetition in range(repetitions):
            array[places] = (bases + repetition * offset).astype(">i8").view(np.uint8).reshape(-1, 8)
            file.write(array.tobytes())
    return repetitions * offset
