"""What Kafka 4.4.0 answers to AddRaftVoter, as data: held against real servers here, and against the model elsewhere.

The world of every case: a dynamic quorum with two voters, both up, and one controller that was formatted without
initial controllers, the newcomer, which has caught up as an observer. A case says what is different, what is sent, to
whom, and what has to come back. The order of Kafka's own checks shows in the cases that are wrong in two ways.
"""

from dataclasses import dataclass
from enum import Enum, auto


class Asked(Enum):
    """Whom the request is sent to."""

    LEADER = auto()
    FOLLOWER = auto()


class Voter(Enum):
    """The replica key in the request."""

    NEWCOMER = auto()
    NEWCOMER_OTHER_DIRECTORY = auto()
    """The newcomer's id with a directory id that no disk has: nothing under that key has ever fetched."""
    NEWCOMER_ZERO_DIRECTORY = auto()
    SITTING = auto()
    """The replica key of the follower, a voter already."""
    SITTING_OTHER_DIRECTORY = auto()
    STRANGER = auto()
    """An id that nobody has, at an address where nobody listens."""


class Listeners(Enum):
    """The listeners in the request."""

    OWN = auto()
    NONE = auto()
    WRONG_NAME = auto()


class Newcomer(Enum):
    """What the newcomer's process does meanwhile."""

    RUNS = auto()
    FROZEN = auto()
    """Stopped by SIGSTOP: its sockets accept and nothing answers."""
    DEAD = auto()


class Cluster(Enum):
    """The cluster id in the request."""

    OWN = auto()
    FOREIGN = auto()


@dataclass(frozen=True, slots=True, kw_only=True)
class AddVoterCase:
    """One request and its answer; `refused` is Kafka's name of the error, None is success.

    `at_most_s` bounds the answer's time where it is a fact that it comes at once, or that the server waits.
    """

    name: str
    asked: Asked = Asked.LEADER
    voter: Voter = Voter.NEWCOMER
    listeners: Listeners = Listeners.OWN
    newcomer: Newcomer = Newcomer.RUNS
    cluster: Cluster = Cluster.OWN
    refused: str | None
    at_most_s: float = 5.0


ADD_VOTER = (
    AddVoterCase(name="a caught-up observer", refused=None),
    AddVoterCase(name="a voter again", voter=Voter.SITTING, refused="DUPLICATE_VOTER"),
    AddVoterCase(
        name="a voter's id with another directory", voter=Voter.SITTING_OTHER_DIRECTORY, refused="DUPLICATE_VOTER"
    ),
    AddVoterCase(name="a foreign cluster id", cluster=Cluster.FOREIGN, refused="INCONSISTENT_CLUSTER_ID"),
    AddVoterCase(name="asked of a follower", asked=Asked.FOLLOWER, refused="NOT_LEADER_OR_FOLLOWER"),
    AddVoterCase(name="no listener", listeners=Listeners.NONE, refused="INVALID_REQUEST"),
    AddVoterCase(
        name="a listener of another name than the leader's", listeners=Listeners.WRONG_NAME, refused="INVALID_REQUEST"
    ),
    AddVoterCase(name="the zero directory id", voter=Voter.NEWCOMER_ZERO_DIRECTORY, refused="INVALID_REQUEST"),
    AddVoterCase(name="a dead newcomer", newcomer=Newcomer.DEAD, refused="REQUEST_TIMED_OUT"),
    AddVoterCase(name="a frozen newcomer", newcomer=Newcomer.FROZEN, refused="REQUEST_TIMED_OUT"),
    AddVoterCase(name="an id at an address where nobody listens", voter=Voter.STRANGER, refused="REQUEST_TIMED_OUT"),
    AddVoterCase(
        name="a directory that never fetched", voter=Voter.NEWCOMER_OTHER_DIRECTORY, refused="REQUEST_TIMED_OUT"
    ),
    AddVoterCase(
        name="a foreign cluster id, asked of a follower",
        asked=Asked.FOLLOWER,
        cluster=Cluster.FOREIGN,
        refused="INCONSISTENT_CLUSTER_ID",
    ),
    AddVoterCase(
        name="no listener, asked of a follower",
        asked=Asked.FOLLOWER,
        listeners=Listeners.NONE,
        refused="NOT_LEADER_OR_FOLLOWER",
    ),
    AddVoterCase(
        name="a voter again, without a listener",
        voter=Voter.SITTING,
        listeners=Listeners.NONE,
        refused="INVALID_REQUEST",
    ),
    AddVoterCase(
        name="a voter again, while the newcomer is frozen",
        voter=Voter.SITTING,
        newcomer=Newcomer.FROZEN,
        refused="DUPLICATE_VOTER",
    ),
)

CONCURRENT_ADDS = (None, "REQUEST_TIMED_OUT")
"""Two adds at once, of two caught-up observers: one succeeds, the other is refused."""
