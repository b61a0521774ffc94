"""Everything that can go wrong between the operator and the world, and in the world, one at a time.

A call of the operator has a number, in the order of the calls. An `Injection` names the call and its fault; an
`Accident` names the step of the world and the loss. Both are values whose text replays them.
"""

from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias


class Strike(Enum):
    """What happens to one call."""

    CRASH_BEFORE = "crash-before"
    """The operator is killed before it makes the call."""
    CRASH_AFTER = "crash-after"
    """The operator is killed after the effect of the call, before it gets the answer."""
    ERROR = "error"
    """The call fails, and has no effect."""
    LOST_ANSWER = "lost-answer"
    """The call has its effect; the operator sees a failure."""
    LATE_EFFECT = "late-effect"
    """The operator sees a failure; three seconds later the call still has its effect."""
    DOUBLED = "doubled"
    """The call has its effect and its answer; three seconds later it arrives once more."""
    LONG_AFTER = "long-after"
    """The operator sees a failure; twenty seconds later the call still has its effect."""
    SLOW = "slow"
    """The call has its effect, and its answer takes three seconds."""
    DELAYED = "delayed"
    """The call takes three seconds to arrive; then it has its effect, and its answer at once."""
    CONFLICT = "conflict"
    """Another writer changes the object just before."""
    STALE = "stale"
    """The answer is the one before the last write, or the last answer to the same question."""
    APPENDED = "appended"
    """A change of voters or levels: the leader appends it and answers with an error, because all others are frozen."""


READ_STRIKES = (Strike.ERROR, Strike.SLOW)
"""A delayed read has a fresher answer than a read with a late answer."""
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
"""No component reads these writes: the time of their effect makes no difference."""
_APPENDS = ("AddRaftVoter", "RemoveRaftVoter", "UpdateFeatures")
DELAY_STEPS = 6
LONG_STEPS = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One call of the operator. `conditional`: another's write makes it a conflict.

    `first`: it is the first of its pass. `fickle`: a moment ago its answer would have been different.
    """

    verb: str
    what: str
    name: str
    writes: bool
    conditional: bool = False
    first: bool = False
    fickle: bool = False

    def strikes(self) -> tuple[Strike, ...]:
        """The faults of this call, without those that have the same result as another one.

        A crash before a call is the same as a crash after the write before it, or at the beginning of the pass.
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
    """A person deletes the pods of a controller."""
    POD_FORGOTTEN = "pod-forgotten"
    """The pods are force-deleted; their containers end a step later."""
    POD_EVICTED = "pod-evicted"
    """The kubelet evicts the pods: they end as Failed."""
    SANDBOX = "sandbox"
    """The sandbox is killed: the same pod starts again, with another address."""
    PROCESS = "process"
    """Kafka alone is killed: the same container starts again."""
    FROZEN = "frozen"
    """Kafka is frozen for five seconds."""
    EMPTIED = "emptied"
    """The volume is emptied under its running pod."""
    EMPTIED_AND_KILLED = "emptied-and-killed"
    """The volume is emptied and the sandbox killed."""
    EMPTIED_AND_DELETED = "emptied-and-deleted"
    """The volume is emptied and the pods are deleted."""
    DISK_UNREADABLE = "disk-unreadable"
    """For twenty seconds nothing on the volume can be read: Kafka ends, and the scripts report that."""
    DISK_BLANK = "disk-blank"
    """For ten seconds an empty directory is mounted in the volume's place: Kafka ends, and the scripts find nothing."""
    DISK_ABSENT = "disk-absent"
    """For twenty seconds the volume cannot be mounted: Kafka ends, and its pod waits."""
    CLAIM_DELETED = "claim-deleted"
    """The claim and the pods are deleted: disk and claim are gone."""
    VOLUME_LOST = "volume-lost"
    """The volume of a claim is gone, the claim is in phase `Lost`, and the pods end."""
    NODE_KILLED = "node-killed"
    """The machine is gone permanently, with its disks."""
    NODE_DELETED = "node-deleted"
    """The same, and its node object is deleted."""
    NODE_OFF = "node-off"
    """The machine is without power for twenty seconds."""
    NODE_FLAPS = "node-flaps"
    """The machine loses power three times, for three seconds each."""
    NODE_CUT = "node-cut"
    """For thirty seconds the machine has no connection to any other; its processes run on."""
    NODE_SILENT = "node-silent"
    """For thirty seconds the machine's kubelet does not reach the API server; its controller still fetches."""
    PEERS_CUT = "peers-cut"
    """For ten seconds the machine's controller has no connection to the others; all other connections work."""
    UNSEEN = "unseen"
    """For ten seconds the operator does not reach the controller; all others do."""
    SLOW = "slow-fetches"
    """For ten seconds the controller fetches, and each fetch brings almost nothing."""
    CLOCK_BACK = "clock-back"
    """The machine's clock is set back by an hour."""
    CLOCK_AHEAD = "clock-ahead"
    """The machine's clock is set forward by an hour."""


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
"""After these the disk returns unchanged."""
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
CLOCK_LOSSES = frozenset({Loss.CLOCK_AHEAD, Loss.CLOCK_BACK})
"""After these no certificate that lives minutes is valid by the machine's clock, until a person corrects it."""
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
