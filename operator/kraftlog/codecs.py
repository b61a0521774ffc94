"""The compression codecs of record batches, with a bound for unpacking: a few bytes must not take all memory.

Kafka's Java client has its own framing for snappy (a magic, then blocks with lengths); others write one bare block.
"""

import struct
from enum import IntEnum

import pyarrow as pa

from kraftlog.errors import KraftLogError

MAX_UNPACKED_BYTES = 32 << 20
"""Four times Kafka's limit for a batch of metadata (`KafkaRaftClient.MAX_BATCH_SIZE_BYTES`, 8 MiB)."""
_XERIAL = b"\x82SNAPPY\x00" + struct.pack(">ii", 1, 1)
_XERIAL_BLOCK_BYTES = 32 << 10
_LZ4_HEAD = bytes.fromhex("04224d18604082")
"""Version 1, independent blocks (Kafka refuses linked ones) of at most 64 KiB, no checksums."""
_LZ4_BLOCK_BYTES = 32 << 10  # incompressible content grows a little and must still fit the 64 KiB
_PIECE_BYTES = 1 << 16


class Codec(IntEnum):
    """The lowest three bits of a batch's attributes."""

    NONE = 0
    GZIP = 1
    SNAPPY = 2
    LZ4 = 3
    ZSTD = 4


class CodecError(KraftLogError):
    """Content that cannot be unpacked, or would be too large."""


_STREAMS = {Codec.GZIP: "gzip", Codec.LZ4: "lz4", Codec.ZSTD: "zstd"}


def unpack(codec: int, content: bytes, limit_bytes: int = MAX_UNPACKED_BYTES) -> bytes:
    """The records of a compressed batch (CodecError)."""
    try:
        if codec == Codec.SNAPPY:
            return _unpack_snappy(content, limit_bytes)
        stream = pa.CompressedInputStream(pa.BufferReader(content), _STREAMS[Codec(codec)])
        unpacked = _read(stream, limit_bytes)
    except (OSError, ValueError, KeyError, pa.ArrowException, struct.error) as error:
        raise CodecError(f"codec {codec}: {error}") from error
    return unpacked


def _read(stream: pa.CompressedInputStream, limit_bytes: int) -> bytes:
    out, piece = bytearray(), bytearray(_PIECE_BYTES)  # Arrow's own `read` loses a piece of memory at every error
    while size := stream.readinto(piece):
        out += memoryview(piece)[:size]
        if len(out) > limit_bytes:
            raise CodecError(f"more than {limit_bytes} bytes when unpacked")
    return bytes(out)


def pack(codec: Codec, content: bytes) -> bytes:
    """Compress in the same form as Kafka."""
    if codec is Codec.SNAPPY:
        blocks = [content[at : at + _XERIAL_BLOCK_BYTES] for at in range(0, len(content), _XERIAL_BLOCK_BYTES)]
        packed = [bytes(pa.compress(block, codec="snappy", asbytes=True)) for block in blocks]
        return _XERIAL + b"".join(struct.pack(">i", len(block)) + block for block in packed)
    if codec is Codec.LZ4:
        blocks = [content[at : at + _LZ4_BLOCK_BYTES] for at in range(0, len(content), _LZ4_BLOCK_BYTES)]
        packed = [bytes(pa.compress(block, codec="lz4_raw", asbytes=True)) for block in blocks]
        return _LZ4_HEAD + b"".join(struct.pack("<i", len(block)) + block for block in packed) + bytes(4)
    sink = pa.BufferOutputStream()
    with pa.CompressedOutputStream(sink, _STREAMS[codec]) as stream:
        stream.write(content)
    return bytes(sink.getvalue())


def _unpack_snappy(content: bytes, limit_bytes: int) -> bytes:
    if not content.startswith(_XERIAL[:8]):
        return _unpack_block(content, limit_bytes)
    out, at = bytearray(), len(_XERIAL)
    while at < len(content):
        (size,) = struct.unpack_from(">i", content, at)
        if not 0 < size <= len(content) - at - 4:
            raise CodecError(f"snappy: a block of {size} bytes in {len(content) - at - 4}")
        out += _unpack_block(content[at + 4 : at + 4 + size], limit_bytes - len(out))
        at += 4 + size
    return bytes(out)


def _unpack_block(block: bytes, limit_bytes: int) -> bytes:
    size = 0
    for place, byte in enumerate(block[:5]):
        size |= (byte & 0x7F) << 7 * place
        if byte < 0x80:
            break
    if size > limit_bytes:
        raise CodecError(f"snappy: more than {limit_bytes} bytes when unpacked")
    return bytes(pa.decompress(block, decompressed_size=size, codec="snappy", asbytes=True))
