"""Whether the Secrets that brokers mount have room for the authorities of a change. The API server takes 1 MiB."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Self

from kafka_quorum.model.bundles import together
from kafka_quorum.model.certified import holders
from kafka_quorum.model.known import Knowable, Unknown
from kafka_quorum.model.material import BROKERS, LeafSeen
from kafka_quorum.model.migration import TrustChange
from kafka_quorum.model.names import trust_file
from kafka_quorum.model.situation import Situation

ROOM: Final = 900 * 1024
"""Bytes of a brokers' Secret that a change may need. The rest is for renewed certificates, which no change refuses."""
_EARLIER: Final = 3
"""How many files of earlier contracts a Secret keeps (`resources.secrets`)."""


def why_no_room(situation: Situation, change: TrustChange, present: TrustChange | None = None) -> str:
    """What a Secret has no room for, and what to do; empty if each has room. `present` is the change under way.

    Another one that needs no more than that is not refused: what it needs is there already.
    """
    material = situation.observed.material
    if material is None:
        return ""
    due, under_way = _Files.of(change), None if present is None else _Files.of(present)
    for holder in holders(situation.record, material.known_pools):
        seen = material.leaf(holder)
        if holder.role != BROKERS.role:
            continue
        needed = due.needed(seen)
        if needed > ROOM and (under_way is None or needed > under_way.needed(seen)):
            name, kib = holder.secret(situation.desired.name), -(-needed // 1024)
            what = f"with the authorities of before and after Secret {name} would need {kib} KiB"
            return f"{what}, and {ROOM // 1024} KiB is the most. Give fewer or smaller authorities"
    return ""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Files:
    """What a change needs in each Secret, in bytes: the files of its trusts, and `ca.crt` with what follows.

    The largest trust has the authorities of before and after: `both`.
    """

    trusts: Mapping[str, int]
    both: int
    ca: int

    @classmethod
    def of(cls, change: TrustChange) -> Self:
        """Worked out once for all Secrets, because the texts may be long."""
        both = together(change.before, change.after)
        trusts = {trust_file(each): len(each) for each in (change.before, change.after, both)}
        return cls(trusts=trusts, both=len(both), ca=max(len(both), 2 * len(change.after)))

    def needed(self, seen: Knowable[LeafSeen | None]) -> int:
        """The most bytes that this Secret would have during the change, and at the begin of a small one that follows.

        It has a file for each trust of the change, and `ca.crt`. The one that follows needs another file as large as
        the authorities of the end. All that is in the Secret now counts: brokers may still load it. A Secret that was
        not read may have some earlier files, each as large as all authorities of this change.
        """
        if isinstance(seen, Unknown):
            others = _EARLIER * self.both
        else:
            sizes = () if seen.value is None else seen.value.sizes
            others = sum(size for key, size in sizes if key not in self.trusts and key != "ca.crt")
        return others + sum(self.trusts.values()) + self.ca
