"""What a person requests of the recovery of a lost majority: the spec, and an annotation. Values only."""

from dataclasses import dataclass

from kafka_quorum.model.ids import NodeID


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Seed:
    """A claim that has a copy of the metadata log, and the directory in it; empty for the volume's root."""

    claim: str
    path: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecoveryRequest:
    """What the spec says of a recovery.

    `inspect`: the disks are read. `plan` is the hash of the plan that a person approves, empty for none. `without`
    lists controllers whose unreachable disks are given up. `released` is the epoch of the recovery whose copies and
    old disks may be deleted, 0 for none.
    """

    inspect: bool = False
    plan: str = ""
    accept_loss: bool = False
    without: tuple[NodeID, ...] = ()
    seeds: tuple[Seed, ...] = ()
    released: int = 0
