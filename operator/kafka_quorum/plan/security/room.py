"""Reports broker names that do not fit into the certificate of a pool: else a broker would wait without a reason."""

from collections.abc import Iterator

from kafka_quorum.model.known import Known
from kafka_quorum.model.material import Material, pool
from kafka_quorum.model.plan import Severity
from kafka_quorum.model.pools import PoolSeen, uncovered
from kafka_quorum.plan.part import Part
from kafka_quorum.plan.security.shared import waits
from kit.pki.certificate import NAMES_MAX, NAMES_MAX_CHARS


def without_room(material: Material) -> Iterator[Part]:
    """A wait for each pool with such names. The pool refuses specs that lead to them; a person may edit its record."""
    for each in material.known_pools:
        if lacking := _lacking(material, each):
            names = f"{lacking[0]} and {len(lacking) - 1} more" if len(lacking) > 1 else lacking[0]
            text = (
                f"The certificate of pool {each.name} has no room for {names}: it has at most {NAMES_MAX} names, of "
                f"{NAMES_MAX_CHARS} characters together. No pod is created for a broker with such a host. Use fewer "
                "listeners with {id} in the pool, shorter hosts, or fewer brokers"
            )
            yield waits(text, Severity.HELD)


def _lacking(material: Material, seen: PoolSeen) -> tuple[str, ...]:
    """The names without room that the certificate in use does not cover either."""
    leaf = material.leaf(pool(seen))
    has = leaf.value.certificate.dns_names if isinstance(leaf, Known) and leaf.value is not None else ()
    return uncovered(seen.left_out, has)
