"""How connections to the controllers of a quorum are secured, as part of each endpoint: two quorums may differ.

This is a union with one member so far. Another protocol of Kafka is another frozen value here, with what a connection
needs for it. The type checker then rejects `wire.security` until it opens such a connection.
"""

from dataclasses import dataclass
from typing import Final, TypeAlias


@dataclass(frozen=True, slots=True)
class Plaintext:
    """Kafka's PLAINTEXT: no encryption, no authentication."""


Security: TypeAlias = Plaintext
PLAINTEXT: Final = Plaintext()
