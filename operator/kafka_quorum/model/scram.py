"""SCRAM users of the brokers: their credentials as Kafka keeps them in the metadata log. No text of them has a secret.

Kafka keeps no password: only a salt, a number of iterations, and keys that are derived from both. Whoever reads these
can try passwords, so they are in Secrets and in requests only.
"""

from dataclasses import dataclass, field
from enum import Enum, IntEnum
from typing import Final, TypeAlias

from kafka_quorum.model.known import Knowable, Unknown


class ScramMechanism(IntEnum):
    """Kafka's numbers."""

    SHA_256 = 1
    SHA_512 = 2


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class ScramEntry:
    """What Kafka shows of one credential. Neither the salt nor a key is shown to anybody."""

    user: str
    mechanism: int
    iterations: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ScramCredential:
    """A credential that is made or replaced: the salted password is what Kafka derives its keys from."""

    user: str
    mechanism: ScramMechanism
    iterations: int
    salt: bytes = field(repr=False)
    salted_password: bytes = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class ScramRemoval:
    """A credential that is removed."""

    user: str
    mechanism: ScramMechanism


ScramChange: TypeAlias = ScramCredential | ScramRemoval
"""What one request does."""


WHERE: Final = "spec.security.brokers.scramUsersSecretName"
ITERATIONS: Final = 8192
"""Of credentials that are made here; Kafka allows 4096 to 16384."""
MOST_USERS: Final = 256
"""How many users one Secret may have: each takes milliseconds of a processor when the Secret is read."""


class UserState(Enum):
    """How far a user of ours is."""

    MAKING = "making"
    """The request may have been sent, or not."""
    MADE = "made"
    REMOVING = "removing"


@dataclass(frozen=True, slots=True, kw_only=True)
class GivenUser:
    """A user in the Secret of a person, without the password.

    `fault` says what is wrong with it, as a clause; empty if it can be made. `same`: the recorded credential is of its
    password.
    """

    user: str
    fault: str = ""
    same: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ScramHeld:
    """Which of the users in question have a credential in Kafka, by mechanism; whoever made it."""

    sha_256: frozenset[str]
    sha_512: frozenset[str]

    @property
    def users(self) -> frozenset[str]:
        """Those with any."""
        return self.sha_256 | self.sha_512


_NOT_ASKED: Final = Unknown(reason="the leader was not asked")


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedUsers:
    """The operator's own Secret, without salts and digests; an empty version if there is none yet."""

    users: tuple[tuple[str, UserState], ...] = ()
    version: str = ""

    def of(self, user: str) -> UserState | None:
        """How far this user is; None if it is not ours."""
        return dict(self.users).get(user)


@dataclass(frozen=True, slots=True, kw_only=True)
class ScramSeen:
    """What a look showed of the brokers' users of SCRAM."""

    given: Knowable[tuple[GivenUser, ...]]
    recorded: Knowable[RecordedUsers]
    held: Knowable[ScramHeld] = _NOT_ASKED
