"""The answers of Kafka 4.4.0 to AddRaftVoter and RemoveRaftVoter, as data: compared with real servers and the model.

Every add begins with a dynamic quorum of two running voters and a newcomer: a controller that was formatted without
initial controllers, and has caught up as an observer. Every removal begins with three running voters and such an
observer. A case lists what is different, what is sent, the node that receives it, and the expected answer. Cases with
two faults show the order of Kafka's own checks.
"""

from dataclasses import dataclass
from enum import Enum, auto


class Asked(Enum):
    """The node that receives the request."""

    LEADER = auto()
    FOLLOWER = auto()


class Voter(Enum):
    """The replica key in the request."""

    NEWCOMER = auto()
    NEWCOMER_OTHER_DIRECTORY = auto()
    """The newcomer's id with a directory id that no disk has: no replica with this key has ever fetched."""
    NEWCOMER_ZERO_DIRECTORY = auto()
    SITTING = auto()
    """The replica key of the follower, which is a voter already."""
    SITTING_OTHER_DIRECTORY = auto()
    STRANGER = auto()
    """An id that no node has, at an address where none listens."""


class Listeners(Enum):
    """The listeners in the request."""

    OWN = auto()
    NONE = auto()
    WRONG_NAME = auto()


class Newcomer(Enum):
    """The state of the newcomer's process during the request."""

    RUNS = auto()
    FROZEN = auto()
    """Stopped by SIGSTOP: its sockets accept connections, and it does not answer."""
    DEAD = auto()


class Cluster(Enum):
    """The cluster id in the request."""

    OWN = auto()
    FOREIGN = auto()


@dataclass(frozen=True, slots=True, kw_only=True)
class AddVoterCase:
    """One request and its answer; `refused` is Kafka's name of the error, None is success.

    `at_most_s` bounds the answer's time in cases in which it comes at once, or in which the server waits.
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
"""Two adds at the same time, of two caught-up observers: one succeeds, the other is refused."""


class Removed(Enum):
    """The replica key in a removal: the leader's, or that of the first or second follower."""

    LEADER = auto()
    FIRST = auto()
    FIRST_OTHER_DIRECTORY = auto()
    FIRST_ZERO_DIRECTORY = auto()
    SECOND = auto()
    OBSERVER = auto()
    STRANGER = auto()
    """An id that no node has."""


class Second(Enum):
    """The state of the second follower's process during the request."""

    RUNS = auto()
    DEAD = auto()


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoveVoterCase:
    """One request and its answer; `refused` is Kafka's name of the error, None is success.

    `appended`: refused or not, the leader's own log has the smaller voter set afterwards. `alone`: the leader is the
    only voter. The answer comes within `at_most_s`, and not before `at_least_s`.
    """

    name: str
    asked: Asked = Asked.LEADER
    removed: Removed = Removed.FIRST
    cluster: Cluster = Cluster.OWN
    second: Second = Second.RUNS
    alone: bool = False
    refused: str | None
    appended: bool = False
    at_least_s: float = 0.0
    at_most_s: float = 1.5


REMOVE_VOTER = (
    RemoveVoterCase(name="a live follower", refused=None, appended=True),
    RemoveVoterCase(name="the leader itself", removed=Removed.LEADER, refused=None, appended=True),
    RemoveVoterCase(name="a dead follower", removed=Removed.SECOND, second=Second.DEAD, refused=None, appended=True),
    RemoveVoterCase(
        name="a live follower while the other one is dead",
        second=Second.DEAD,
        refused="REQUEST_TIMED_OUT",
        appended=True,
        at_least_s=1.5,
        at_most_s=4.0,
    ),
    RemoveVoterCase(
        name="the leader itself while a follower is dead",
        removed=Removed.LEADER,
        second=Second.DEAD,
        refused="REQUEST_TIMED_OUT",
        appended=True,
        at_least_s=1.5,
        at_most_s=4.0,
    ),
    RemoveVoterCase(name="the last voter", removed=Removed.LEADER, alone=True, refused="VOTER_NOT_FOUND"),
    RemoveVoterCase(
        name="a voter's id with another directory", removed=Removed.FIRST_OTHER_DIRECTORY, refused="VOTER_NOT_FOUND"
    ),
    RemoveVoterCase(name="an observer", removed=Removed.OBSERVER, refused="VOTER_NOT_FOUND"),
    RemoveVoterCase(name="an id that nobody has", removed=Removed.STRANGER, refused="VOTER_NOT_FOUND"),
    RemoveVoterCase(name="the zero directory id", removed=Removed.FIRST_ZERO_DIRECTORY, refused="INVALID_REQUEST"),
    RemoveVoterCase(name="a foreign cluster id", cluster=Cluster.FOREIGN, refused="INCONSISTENT_CLUSTER_ID"),
    RemoveVoterCase(name="asked of a follower", asked=Asked.FOLLOWER, refused="NOT_LEADER_OR_FOLLOWER"),
    RemoveVoterCase(
        name="a foreign cluster id, asked of a follower",
        asked=Asked.FOLLOWER,
        cluster=Cluster.FOREIGN,
        refused="INCONSISTENT_CLUSTER_ID",
    ),
    RemoveVoterCase(
        name="the zero directory id, asked of a follower",
        asked=Asked.FOLLOWER,
        removed=Removed.FIRST_ZERO_DIRECTORY,
        refused="NOT_LEADER_OR_FOLLOWER",
    ),
    RemoveVoterCase(
        name="the zero directory id, and a foreign cluster id",
        cluster=Cluster.FOREIGN,
        removed=Removed.FIRST_ZERO_DIRECTORY,
        refused="INCONSISTENT_CLUSTER_ID",
    ),
    RemoveVoterCase(
        name="an id that nobody has, asked of a follower",
        asked=Asked.FOLLOWER,
        removed=Removed.STRANGER,
        refused="NOT_LEADER_OR_FOLLOWER",
    ),
)

DURING_A_CHANGE = "REQUEST_TIMED_OUT"
"""While an earlier change is uncommitted, an add or removal is refused at once, even if it names no voter."""
