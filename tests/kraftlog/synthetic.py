"""Logs generated from schemas: every record type and version of a release, with values drawn from a seed."""

import base64
import random
import string
from collections.abc import Iterable, Iterator

from kraftlog.codecs import Codec
from kraftlog.schema import Catalog, Field, Kind, Schema
from kraftlog.values import Data, Value, is_default
from kraftlog.writer import NewBatch, NewRecord, batch_of, record_of

_RANGES = {
    Kind.INT8: (-128, 127),
    Kind.INT16: (-32768, 32767),
    Kind.UINT16: (0, 65535),
    Kind.INT32: (-(2**31), 2**31 - 1),
    Kind.UINT32: (0, 2**32 - 1),
    Kind.INT64: (-(2**63), 2**63 - 1),
}
_TEXT = string.ascii_letters + string.digits + '.-_"\\/\n\t\x01 '
_BEYOND_ASCII = "äß漢字🚀\u2028\u007f"
_BASE_MS = 1_700_000_000_000


def value_of(field: Field, rng: random.Random) -> Value:  # noqa: PLR0911 -- one answer a kind
    """A value for one element of a field."""
    if field.kind in _RANGES:
        low, high = _RANGES[field.kind]
        return rng.choice([low, high, 0, rng.randint(low, high), rng.randint(0, min(high, 1000))])
    match field.kind:
        case Kind.STRUCT:
            return data_of(field.fields, rng)
        case Kind.BOOL:
            return rng.random() < 0.5
        case Kind.UUID:
            return base64.urlsafe_b64encode(rng.choice([rng.randbytes(16), bytes(16)])).decode().rstrip("=")
        case Kind.FLOAT64:
            return rng.choice([0.0, 1.0, -1048576.0, 2.0**53, 0.1, -1.5e300, 5e-324, rng.uniform(-1e9, 1e9)])
        case Kind.BYTES:
            return base64.b64encode(rng.randbytes(rng.randrange(40))).decode()
        case _:
            alphabet = _TEXT if rng.random() < 0.8 else _TEXT + _BEYOND_ASCII
            return "".join(rng.choices(alphabet, k=rng.choice([0, 1, 7, 40, 300])))


def field_of(field: Field, rng: random.Random) -> Value:
    """A value for a whole field: sometimes null if allowed, and arrays of a few elements."""
    if field.nullable and rng.random() < 0.3:
        return None
    if not field.array:
        return value_of(field, rng)
    return [value_of(field, rng) for _ in range(rng.choice([0, 1, 2, 5]))]


def data_of(fields: Iterable[Field], rng: random.Random) -> Data:
    """Values for a struct; each tagged field is there half the time, and never with its default."""
    data: Data = {}
    for field in fields:
        value = field_of(field, rng)
        if not field.tagged or (rng.random() < 0.5 and not is_default(field, value)):
            data[field.name] = value
    return data


def record(schema: Schema, rng: random.Random) -> NewRecord:
    """A record of a schema; a control record contains its own version, by which Kafka's tools read it."""
    data = data_of(schema.fields, rng)
    if schema.control:
        data["version"] = schema.version
    return record_of(schema, data)


def schemas_for_tools(catalog: Catalog) -> list[Schema]:
    """The catalog without schemas that Kafka's tools read by another version than they were written by."""
    return [schema for schema in catalog.schemas.values() if not schema.control or schema.version == 0]


def batches(schemas: list[Schema], rng: random.Random, count: int, codecs: tuple[Codec, ...]) -> Iterator[bytes]:
    """Batches of a log with the schemas in turn, so that `count` batches of up to five records have each of them."""
    offset = 0
    for number in range(count):
        first = schemas[number % len(schemas)]
        alike = [schema for schema in schemas if schema.control == first.control]
        size = rng.randint(1, 5)
        chosen = [first, *rng.choices(alike, k=size - 1)]
        place = NewBatch(
            base_offset=offset,
            leader_epoch=1 + number // 50,
            timestamp_ms=_BASE_MS + 500 * number,
            control=first.control,
            codec=rng.choice(codecs),
            append_time=rng.random() < 0.1,
        )
        yield batch_of(place, [record(schema, rng) for schema in chosen])
        offset += size


def log(catalog: Catalog, seed: int, count: int, codecs: tuple[Codec, ...] = tuple(Codec)) -> bytes:
    """A log of `count` batches that Kafka's tools of the catalog's release can read."""
    rng = random.Random(seed)
    return b"".join(batches(schemas_for_tools(catalog), rng, count, codecs))
