"""Random identities, which only the outside world can give."""

import secrets
from typing import Protocol


class IdSource(Protocol):
    """Where random identities come from."""

    def uuid_bytes(self) -> bytes:
        """Sixteen random bytes, shaped as a version 4 UUID."""


class SystemIds:
    """The machine's source of randomness."""

    def uuid_bytes(self) -> bytes:
        """Sixteen random bytes, shaped as a version 4 UUID."""
        raw = bytearray(secrets.token_bytes(16))
        raw[6] = raw[6] & 0x0F | 0x40
        raw[8] = raw[8] & 0x3F | 0x80
        return bytes(raw)
