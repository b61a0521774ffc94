"""Which generations of certificates are believed: a user who may write one Secret can write any number into it.

All leafs follow the newest generation. So one wrong number would reach every Secret, until none can be read. Those of
brokers are no evidence: what the controllers and the operator have counts.
"""

from dataclasses import replace
from typing import Final

from kafka_quorum.model.known import Knowable, Known, Unknown
from kafka_quorum.model.material import LeafSeen, Material

AHEAD_MAX: Final = 1_000_000
"""How far a generation may be above all lower ones: with a renewal in each hour, more than a hundred years."""


def believed(material: Material, quorum: str, made: int) -> Material:
    """The same, but leafs with a generation far above every lower one that counts are Unknown.

    `made` is the newest generation that a controller is made for. If that is not known (0), the lowest one counts.
    """
    generations = sorted({leaf.generation for leaf in material.leading_leafs(made)})
    highest = max(made or min(generations, default=1), 1)
    for generation in generations:
        highest = generation if highest < generation <= highest + AHEAD_MAX else highest
    most = highest + AHEAD_MAX
    return replace(
        material,
        leafs=tuple((holder, _judged(seen, holder.secret(quorum), highest, most)) for holder, seen in material.leafs),
    )


def _judged(seen: Knowable[LeafSeen | None], secret: str, highest: int, most: int) -> Knowable[LeafSeen | None]:
    if not isinstance(seen, Known) or seen.value is None or seen.value.generation <= most:
        return seen
    said = (
        f"key generation of Secret {secret} is {seen.value.generation}, and no other certificate of this quorum has "
        f"one above {highest}: write {highest} there, or delete the Secret, and it is made again"
    )
    return Unknown(reason=said)
