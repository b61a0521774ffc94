"""How many different states of the world many runs have seen, in bounded memory.

A state is what an operator could find and a rule could judge: each disk and what is on it, each process with its
voters and its release, the pods with their phases, the conditions of the resources, ZooKeeper. The time, the number of
writes and the length of logs are no part of it. The number is an estimate (HyperLogLog with 16,384 registers, of which
the standard error is 0.8 %): it needs 16 KiB for any number of states, and two counts can be joined.
"""

import hashlib
import math
from collections.abc import Iterable
from typing import Final

from tests.simulation.model.world import World

from kafka_brokers.kind import POOLS
from kafka_quorum.kind import QUORUMS
from kafka_streams.kind import APPLICATIONS
from kit.kube.protocol import PODS, Json

_BITS: Final = 14
_REGISTERS: Final = 1 << _BITS
_ALPHA: Final = 0.7213 / (1 + 1.079 / _REGISTERS)
_KINDS: Final = (QUORUMS, POOLS, APPLICATIONS)


class Distinct:
    """An estimate of how many different texts were added."""

    def __init__(self, registers: bytes = b"") -> None:
        """Begin with nothing, or with the registers of an earlier count."""
        self._registers = bytearray(registers or bytes(_REGISTERS))

    def add(self, text: str) -> None:
        """Count this text, if it is new."""
        number = int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest())
        place, rest = number & (_REGISTERS - 1), number >> _BITS
        rank = 64 - _BITS - rest.bit_length() + 1
        self._registers[place] = max(self._registers[place], rank)

    def join(self, registers: bytes) -> None:
        """Add all texts of another count."""
        self._registers = bytearray(map(max, self._registers, registers))

    @property
    def registers(self) -> bytes:
        """What another count can be begun with, or joined with."""
        return bytes(self._registers)

    def number(self) -> int:
        """The estimate."""
        raw = _ALPHA * _REGISTERS**2 / sum(2.0**-rank for rank in self._registers)
        empty = self._registers.count(0)
        if raw <= 2.5 * _REGISTERS and empty:
            raw = _REGISTERS * math.log(_REGISTERS / empty)
        return round(raw)


class States:
    """Counts the states of every world that begins while it listens."""

    def __init__(self) -> None:
        """Listen to all worlds of this process from now on."""
        self.distinct = Distinct()
        World.begun.append(lambda world: world.lookers.append(lambda: self.distinct.add(state_of(world))))


def state_of(world: World) -> str:
    """The state of a world, as text: equal states have equal texts in every run and process.

    Ids that each run draws anew are left out: a voter is its node id, and whether the running disk is that voter.
    """
    disks = [
        (volume.claim, str(volume.disk.content), volume.disk.intent is not None, volume.dead, volume.hidden)
        for _, volume in sorted(world.volumes.by_claim.items())
    ]
    processes = [
        (
            (one.meta.node_id, one.broker, one.release, one.leads, one.frozen, one.slow, one.high_watermark >= 0),
            (sorted(key.node_id for key in one.voters), one.known(one.key) in one.voters, one.leader is None),
            (one.history.next_offset > one.disk.end, world.kraft.uncommitted_change(one), one.disk.image.levels),
        )
        for one in world.kraft.processes
    ]
    pods = [
        (pod["metadata"]["name"], pod["status"].get("phase"), "deletionTimestamp" in pod["metadata"])
        for pod in world.kube.all(PODS)
    ]
    resources = [
        (body["metadata"]["name"], [(row["type"], row["status"], row.get("reason")) for row in _conditions(body)])
        for kind in _KINDS
        for body in world.kube.all(kind)
    ]
    return repr((disks, processes, pods, resources, world.zookeeper.digest()))


def _conditions(body: Json) -> Iterable[Json]:
    found: Iterable[Json] = (body.get("status") or {}).get("conditions") or ()
    return found
