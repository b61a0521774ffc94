"""Mutated segments never cause a crash, a hang or unbounded memory. Every failure names its seed."""

import random
import resource
import time
from pathlib import Path

import pytest
from tests.kraftlog import logs, synthetic

from kraftlog import NotALogError, catalog
from kraftlog.codecs import Codec
from kraftlog.errors import Fault

_SHARE = 8_000
_ALL = 200_000
_SLOWEST_S = 5.0
_GROWTH_BYTES = 1 << 28
_CODECS = (Codec.NONE, Codec.NONE, *Codec)


def _segments() -> list[bytes]:
    """Small logs that together have every record type."""
    rng = random.Random(11)
    schemas = list(catalog().schemas.values())
    return [b"".join(synthetic.batches(schemas[at:] + schemas[:at], rng, 6, _CODECS)) for at in range(0, 45, 3)]


def _mutated(content: bytes, rng: random.Random) -> bytes:
    """One to four changes, as disks, networks and attackers make them."""
    data = bytearray(content)
    for _ in range(rng.randint(1, 4)):
        if not data:
            break
        at, size = rng.randrange(len(data)), rng.randrange(1, 40)
        match rng.randrange(8):
            case 0 | 1:
                data[at] ^= 1 << rng.randrange(8)
            case 2:
                data[at : at + size] = rng.randbytes(size)
            case 3:
                data[at : at + size] = bytes(size)
            case 4:
                data[at : at + 4] = rng.choice(
                    [b"\x7f\xff\xff\xff", b"\xff\xff\xff\xff", b"\x80\0\0\0", b"\xfe\xff\xff\xff"]
                )
            case 5:
                del data[at : at + size]
            case 6:
                data[at:at] = data[at : at + size]
            case _:
                del data[max(at, 1) :]
    return bytes(data) if data else b"\0"


def _read(path: Path, content: bytes) -> None:
    """Reads a mutated segment completely; only errors of ours are allowed."""
    path.write_bytes(content)
    try:
        for item in logs.read_blocks(path):
            if isinstance(item, Fault):
                assert 0 <= item.position <= len(content)
                assert item.reason
            else:
                logs.lines_of(item, item.render())
    except NotALogError:
        return


@pytest.mark.parametrize("count", [_SHARE, pytest.param(_ALL, marks=[pytest.mark.full, pytest.mark.timeout(1800)])])
def test_mutated_segments(tmp_path: Path, count: int) -> None:
    """Seeded mutations are read, or refused, quickly and in bounded memory."""
    segments, path = _segments(), tmp_path / "mutated.log"
    for segment in segments:  # what is compiled and loaded once is no growth
        _read(path, segment)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for seed in range(count):
        rng = random.Random(seed)
        content = _mutated(rng.choice(segments), rng)
        if seed % 2:
            content = logs.resummed(content)
        begun = time.monotonic()
        try:
            _read(path, content)
        except Exception as error:
            raise AssertionError(f"seed {seed}") from error
        assert time.monotonic() - begun < _SLOWEST_S, f"seed {seed}"
    grown_bytes = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) << 10
    assert grown_bytes < _GROWTH_BYTES


def test_hostile_lengths_are_not_quadratic(tmp_path: Path) -> None:
    """Bytes in which a batch could begin everywhere are refused in bounded time."""
    header = (bytes(8) + (1 << 18).to_bytes(4, "big") + bytes(4) + b"\2") * 60_000
    begun = time.monotonic()
    _read(tmp_path / "hostile.log", header)
    assert time.monotonic() - begun < 4 * _SLOWEST_S
