"""Voters that are not caught up: those that are down or behind, and those that have just started.

A voter needs some seconds after its start to catch up, and a voter that a roll restarts is down on purpose. Neither is
a fault, so both are progress. After `STARTING_S`, a voter that is still behind is a fault.
"""

from dataclasses import dataclass
from typing import Final

from kafka_quorum.model.ids import ReplicaKey
from kafka_quorum.model.known import Unknown
from kafka_quorum.model.pods import PodRole, Running
from kafka_quorum.status.finding import Pass
from kit.stamps import seconds_of

STARTING_S: Final = 20.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Lag:
    """The voters that are not caught up, sorted. `faulty`: down or behind; `starting`: catching up or restarted."""

    faulty: tuple[ReplicaKey, ...] = ()
    starting: tuple[ReplicaKey, ...] = ()


def lag_of(done: Pass) -> Lag:
    """Sort the voters that are not caught up; none without a leader, because then they are unknown."""
    if isinstance(done.observed.quorum, Unknown):
        return Lag()
    view = done.observed.quorum.value
    behind = sorted(view.voters - view.shown, key=str)
    starting = tuple(key for key in behind if _starts(done, key))
    return Lag(faulty=tuple(key for key in behind if key not in starting), starting=starting)


def _starts(done: Pass, key: ReplicaKey) -> bool:
    record = done.observed.record
    node = record.node(key.node_id) if record is not None else None
    if node is None or node.key != key:
        return False
    pods = done.observed.pods_of(key.node_id, PodRole.KAFKA)
    stamps = [pod.container.started_at for pod in pods if isinstance(pod.container, Running) and not pod.deleting]
    if stamps:
        return any(0.0 <= done.now_s - started_s <= STARTING_S for started_s in map(seconds_of, stamps))
    return node.revision is not None  # a roll has moved it to another revision, and restarts it
