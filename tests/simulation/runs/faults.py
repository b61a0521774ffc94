"""Everything that can go wrong between the operator and the world, and in the world, one at a time.

A call of the operator is numbered in the order in which it is made. An `Injection` says which call is struck and how;
an `Accident` says at which step of the world what is lost. Both are values that print as what replays them.
"""

from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias


class Strike(Enum):
    """What happens to one call."""

    CRASH_BEFORE = "crash-before"
    """The operator dies before it makes the call."""
    CRASH_AFTER = "crash-after"
    """The operator dies after the call had its effect, before it knows."""
    ERROR = "error"
    """The call fails, and has no effect."""
    LOST_ANSWER = "lost-answer"
    """The call has its effect; the operator hears that it failed."""
    LATE_EFFECT = "late-effect"
    """The operator hears that the call failed; three seconds later it has its effect all the same."""
    DOUBLED = "doubled"
    """The call has its effect and its answer; three seconds later it arrives once more."""
    LONG_AFTER = "long-after"
    """The operator hears that the call failed; twenty seconds later it has its effect all the same."""
    SLOW = "slow"
    """The call has its effect, and its answer takes three seconds."""
    DELAYED = "delayed"
    """The call takes three seconds to arrive; then it has its effect, and its answer at once."""
    CONFLICT = "conflict"
    """Somebody else writes the object just before."""
    STALE = "stale"
    """The answer is that of one write, or one question, ago."""
    APPENDED = "appended"
    """A change of voters or levels: the leader appends it, and answers with an error, for all others stand still."""


READ_STRIKES = (Strike.ERROR, Strike.SLOW)
"""A read that arrives late has a fresher answer than one that is answered late."""
WRITE_STRIKES = (
    Strike.CRASH_AFTER,
    Strike.ERROR,
    Strike.LOST_ANSWER,
    Strike.LATE_EFFECT,
    Strike.LONG_AFTER,
    Strike.DOUBLED,
    Strike.SLOW,
    Strike.DELAYED,
)
EVENT_STRIKES = (Strike.CRASH_AFTER, Strike.ERROR, Strike.SLOW)
"""Nobody reads what was written there: when it takes effect makes no difference."""
_APPENDS = ("AddRaftVoter", "RemoveRaftVoter", "UpdateFeatures")
DELAY_STEPS = 6
LONG_STEPS = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One call of the operator, as it is made. `conditional` says that another's write makes it a conflict.

    `first` says that it is the first of its pass; `fickle` that a moment ago its answer would have been another one.
    """

    verb: str
    what: str
    name: str
    writes: bool
    conditional: bool = False
    first: bool = False
    fickle: bool = False

    def strikes(self) -> tuple[Strike, ...]:
        """What can happen to it, without what comes to the very same as something else.

        A crash before a call is a crash after the write before it, or, without one, one at the beginning of the pass.
        """
        found = EVENT_STRIKES if self.what == "events" else WRITE_STRIKES if self.writes else READ_STRIKES
        rows = (
            (self.first, Strike.CRASH_BEFORE),
            (self.conditional, Strike.CONFLICT),
            (self.fickle, Strike.STALE),
            (self.writes and self.verb in _APPENDS, Strike.APPENDED),
        )
        return (*found, *(strike for holds, strike in rows if holds))

    def __str__(self) -> str:
        """For messages: `patch kafkaquorums/demo`."""
        return f"{self.verb} {self.what}/{self.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Injection:
    """Strike one call."""

    call: int
    strike: Strike

    def __str__(self) -> str:
        """As the command line takes it."""
        return f"call:{self.call}:{self.strike.value}"


class Loss(Enum):
    """What is lost in an accident."""

    POD_DELETED = "pod-deleted"
    """Somebody deletes the pods of a controller."""
    POD_FORGOTTEN = "pod-forgotten"
    """The pods are force-deleted; their containers end a step later."""
    POD_EVICTED = "pod-evicted"
    """The kubelet evicts the pods: they end as Failed."""
    SANDBOX = "sandbox"
    """The sandbox is killed: the same pod starts again, with another address."""
    PROCESS = "process"
    """Kafka alone is killed: the same container starts again."""
    FROZEN = "frozen"
    """Kafka stands still for five seconds."""
    EMPTIED = "emptied"
    """The volume is emptied under whatever runs on it."""
    EMPTIED_AND_KILLED = "emptied-and-killed"
    """The volume is emptied and the sandbox killed."""
    EMPTIED_AND_DELETED = "emptied-and-deleted"
    """The volume is emptied and the pods are deleted."""
    DISK_UNREADABLE = "disk-unreadable"
    """For twenty seconds nothing on the volume can be read: Kafka ends, and the scripts say so."""
    DISK_BLANK = "disk-blank"
    """For ten seconds an empty directory is mounted in the volume's place: Kafka ends, and the scripts find nothing."""
    DISK_ABSENT = "disk-absent"
    """For twenty seconds the volume cannot be mounted: Kafka ends, and its pod waits."""
    CLAIM_DELETED = "claim-deleted"
    """The claim and the pods are deleted: disk and claim are gone."""
    VOLUME_LOST = "volume-lost"
    """The volume is gone behind its claim, which says `Lost`, and the pods end."""
    NODE_KILLED = "node-killed"
    """The machine is gone for good, with the disks that are on it."""
    NODE_DELETED = "node-deleted"
    """The same, and its node object is deleted, too."""
    NODE_OFF = "node-off"
    """The machine is without power for twenty seconds."""
    NODE_FLAPS = "node-flaps"
    """The machine loses power three times, for three seconds each."""
    NODE_CUT = "node-cut"
    """For thirty seconds the machine reaches nobody, and nobody reaches it; its processes run on."""
    NODE_SILENT = "node-silent"
    """For thirty seconds the machine's kubelet does not reach the API server; its controller still fetches."""
    PEERS_CUT = "peers-cut"
    """For ten seconds the machine's controller does not reach the others, nor they it; all else works."""
    UNSEEN = "unseen"
    """For ten seconds the operator does not reach the controller; all others do."""
    SLOW = "slow-fetches"
    """For ten seconds the controller fetches, and what it fetches is next to nothing."""
    CLOCK_BACK = "clock-back"
    """The machine's clock is set back by an hour."""
    CLOCK_AHEAD = "clock-ahead"
    """The machine's clock is set ahead by an hour."""


DISK_LOSSES = frozenset(
    {
        Loss.EMPTIED,
        Loss.EMPTIED_AND_KILLED,
        Loss.EMPTIED_AND_DELETED,
        Loss.CLAIM_DELETED,
        Loss.VOLUME_LOST,
    }
)
HIDDEN_DISKS = frozenset({Loss.DISK_UNREADABLE, Loss.DISK_BLANK, Loss.DISK_ABSENT})
"""After these the disk is back, as it was."""
MACHINE_LOSSES = frozenset(
    {
        Loss.NODE_KILLED,
        Loss.NODE_DELETED,
        Loss.NODE_OFF,
        Loss.NODE_FLAPS,
        Loss.NODE_CUT,
        Loss.NODE_SILENT,
    }
)
FINAL_LOSSES = DISK_LOSSES | {Loss.NODE_KILLED, Loss.NODE_DELETED}
"""After these a disk is gone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Accident:
    """Something of one controller is lost before a step of the world."""

    step: int
    loss: Loss
    node_id: int

    def __str__(self) -> str:
        """As the command line takes it."""
        return f"step:{self.step}:{self.loss.value}:{self.node_id}"


Fault: TypeAlias = Injection | Accident


def parse_fault(text: str) -> Fault:
    """The inverse of `str`: ValueError on anything else."""
    kind, _, rest = text.partition(":")
    parts = rest.split(":")
    match kind, parts:
        case "call", [call, strike]:
            return Injection(call=int(call), strike=Strike(strike))
        case "step", [step, loss, node_id]:
            return Accident(step=int(step), loss=Loss(loss), node_id=int(node_id))
        case _:
            raise ValueError(f"{text!r} is neither call:NUMBER:STRIKE nor step:NUMBER:LOSS:NODE")
