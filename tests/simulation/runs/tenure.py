"""The lease in a storm: which of several operators may act, with the operator's own code over the same API server.

Its calls get faults by a random sequence of their own, so that the storms of one operator stay the same. Each operator
has a monotonic clock with its own zero and rate, as machines have.
"""

import random
from collections import Counter
from dataclasses import dataclass
from typing import Final

from tests.simulation.model.place import NAMESPACE
from tests.simulation.model.world import World
from tests.simulation.runs.edges import Life, Wire
from tests.simulation.runs.faults import Call, Strike
from tests.simulation.runs.kube_edge import KubeEdge

from kit.clock import Clock
from kit.kube.protocol import LEASES
from kit.lease import Lease

NAME: Final = "operator"
_CHANCE: Final = 0.05
_FAULT_CHANCE: Final = 0.02
_NOT_HERE: Final = (Strike.SLOW, Strike.DELAYED, Strike.CRASH_BEFORE, Strike.CRASH_AFTER)
"""The storm itself injects these faults."""


class UnforeseenError(Exception):
    """An error that no client of the API server is known to raise."""


class LeaseWire(Wire):
    """Injects random faults into the calls of the lease. Sometimes one ends in an unforeseen error."""

    def __init__(self, world: World, seed: object) -> None:
        """The sequence of this seed."""
        super().__init__(world=world)
        self._draw = random.Random(f"lease {seed}")
        self._unforeseen = random.Random(f"lease, unforeseen {seed}")
        self.chance = _CHANCE
        self.strikes: Counter[str] = Counter()

    def strike(self, call: Call) -> Strike | None:
        """What happens to this call (UnforeseenError)."""
        strike = self._struck(call)
        if self.chance and self._unforeseen.random() < _FAULT_CHANCE:
            self.strikes["lease unforeseen"] += 1
            raise UnforeseenError(str(call))
        return strike

    def _struck(self, call: Call) -> Strike | None:
        if self._draw.random() >= self.chance:
            return None
        strike = self._draw.choice([one for one in call.strikes() if one not in _NOT_HERE])
        self.strikes[f"lease {strike.value}"] += 1
        return strike


@dataclass(slots=True, kw_only=True)
class Tenure:
    """One incarnation's lease. Its task ends permanently with an error that `Lease` lets through."""

    lease: Lease
    holder: str
    due_s: float
    acquired: int = 0
    ended: bool = False

    async def go(self, now_s: float) -> bool:
        """Make an attempt, if it is due; returns whether it acquired the lease."""
        if self.ended or now_s < self.due_s:
            return False
        got: list[None] = []
        try:
            self.due_s = now_s + await self.lease.round(lambda: got.append(None))
        except UnforeseenError:
            self.ended = True
            return False
        self.acquired += len(got)
        return bool(got)


def tenure_of(wire: LeaseWire, life: Life, clock: Clock, holder: str, now_s: float) -> Tenure:
    """The lease of a new operator. `life` is the operator's: its lease reaches only what the operator reaches."""
    own = Life(unreached=life.unreached)
    lease = Lease(KubeEdge(wire, own), clock, namespace=NAMESPACE, name=NAME, holder=holder)
    return Tenure(lease=lease, holder=holder, due_s=now_s)


def holder_of(world: World) -> str:
    """The holder of the lease in the API server; empty if it was released, or never acquired."""
    body = world.kube.get(LEASES, NAMESPACE, NAME)
    return "" if body is None else str(body["spec"].get("holderIdentity") or "")
