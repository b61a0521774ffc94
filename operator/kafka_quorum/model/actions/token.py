"""The disruption token: taken before a controller that serves is stopped, given back when all of them serve again."""

from dataclasses import dataclass

from kafka_quorum.model import permit as permits
from kafka_quorum.model.permit import Permit, required
from kit.token import Token


@dataclass(frozen=True, slots=True, kw_only=True)
class TakeToken:
    """Take the disruption token, which was free when it was `seen`, or had this quorum as holder and an end."""

    seen: Token
    message: str
    permit: Permit[permits.TakeToken]

    def __post_init__(self) -> None:
        """Refuse a permit that is not its own."""
        required(self.permit, permits.TakeToken)


@dataclass(frozen=True, slots=True, kw_only=True)
class GiveToken:
    """Give the disruption token back, which this quorum had when it was `seen`."""

    seen: Token
