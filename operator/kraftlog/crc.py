"""CRC-32C, as record batches use it: eight bytes a step by eight tables."""

import numpy as np

from kraftlog.compiled import Bytes, compiled, wide

_POLYNOMIAL = 0x82F63B78  # Castagnoli, reflected


def _tables() -> np.ndarray[tuple[int, int], np.dtype[np.uint32]]:
    first = np.arange(256, dtype=np.uint32)
    for _ in range(8):
        first = np.where(first & 1, (first >> 1) ^ np.uint32(_POLYNOMIAL), first >> 1).astype(np.uint32)
    tables = np.empty((8, 256), dtype=np.uint32)
    tables[0] = first
    for row in range(1, 8):
        tables[row] = first[tables[row - 1] & 0xFF] ^ (tables[row - 1] >> 8)
    return tables


_TABLES = _tables()


@compiled
def crc32c(data: Bytes, start: int, stop: int) -> int:
    """The checksum of `data[start:stop]`."""
    crc = np.uint32(0xFFFFFFFF)
    position = start
    while position + 8 <= stop:
        low = crc ^ (
            np.uint32(data[position])
            | np.uint32(data[position + 1]) << np.uint32(8)
            | np.uint32(data[position + 2]) << np.uint32(16)
            | np.uint32(data[position + 3]) << np.uint32(24)
        )
        crc = (
            _TABLES[7, low & np.uint32(0xFF)]
            ^ _TABLES[6, (low >> np.uint32(8)) & np.uint32(0xFF)]
            ^ _TABLES[5, (low >> np.uint32(16)) & np.uint32(0xFF)]
            ^ _TABLES[4, low >> np.uint32(24)]
            ^ _TABLES[3, data[position + 4]]
            ^ _TABLES[2, data[position + 5]]
            ^ _TABLES[1, data[position + 6]]
            ^ _TABLES[0, data[position + 7]]
        )
        position += 8
    while position < stop:
        crc = _TABLES[0, (crc ^ np.uint32(data[position])) & np.uint32(0xFF)] ^ (crc >> np.uint32(8))
        position += 1
    return wide(crc ^ np.uint32(0xFFFFFFFF))
