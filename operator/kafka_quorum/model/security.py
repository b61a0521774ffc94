"""How connections to the controllers of a quorum are secured, as part of each endpoint: two quorums may differ.

A union with one member so far. Another protocol of Kafka's is another frozen value here, with what a connection needs
of it; `wire.security` then does not pass the type checker until it says how such a connection is opened.
"""

from dataclasses import dataclass
from typing import Final, TypeAlias


@dataclass(frozen=True, slots=True)
class Plaintext:
    """Kafka's PLAINTEXT: no encryption, no authentication."""


Security: TypeAlias = Plaintext
PLAINTEXT: Final = Plaintext()
