"""Actions on the brokers' users of SCRAM. No action holds a password, a salt or a key."""

from dataclasses import dataclass

from kafka_quorum.model.actions.record import NEVER
from kafka_quorum.model.permit import ChangeUser, Permit, required
from kafka_quorum.model.quorum import Endpoint


@dataclass(frozen=True, slots=True, kw_only=True)
class SetScramUser:
    """Make the credential of this user, or replace it: with the password that the Secret `source` has.

    It is written to the operator's own Secret `name`, over exactly the one that was read (`version`), before it is sent
    to the leader, and once more after that. `replaces`: the user was made before.
    """

    name: str
    user: str
    source: str
    version: str
    leader: Endpoint
    replaces: bool
    message: str
    judged_at_s: float = NEVER
    permit: Permit[ChangeUser]

    def __post_init__(self) -> None:
        """Refuse a permit that is not its own."""
        required(self.permit, ChangeUser)


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoveScramUser:
    """Remove the credential of a user that the operator made; `name` and `version` as above."""

    name: str
    user: str
    version: str
    leader: Endpoint
    message: str
    judged_at_s: float = NEVER
    permit: Permit[ChangeUser]

    def __post_init__(self) -> None:
        """Refuse a permit that is not its own."""
        required(self.permit, ChangeUser)
