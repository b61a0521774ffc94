"""Whether a claim of `spec.recovery.seeds` may be mounted for this quorum. Pure.

The operator may mount every claim of a namespace. A person who may write a KafkaQuorum there need not have any right on
claims. So a claim lists, in the same annotation as a Secret, which quorums may name it. Claims that the operator made
for this quorum and for its pools need none.
"""

from typing import Final

from kafka_quorum.kind import POOLS
from kafka_quorum.model import names
from kafka_quorum.model.disk_work import is_copy_name
from kafka_quorum.model.pools import LABEL_POOL
from kafka_quorum.resources.meta import Json, foreign_controller
from kit.kube.secrets import Use, allows

WHERE: Final = "spec.recovery.seeds"


def pool_of(claim: Json | None) -> str:
    """The pool that a claim belongs to, by its label; empty for any other claim."""
    return "" if claim is None else str(_labels(claim).get(LABEL_POOL) or "")


def why_refused(claim: Json | None, pool: Json | None, *, name: str, namespace: str, quorum: str) -> str:
    """Why this claim is not mounted, and what to do; empty if it may be. `pool` is the resource that `pool_of` names.

    The sentence is the same for a claim that does not exist: a name in a spec shows nothing about the claims of others.
    """
    use = Use(reader=names.reader(quorum), where=WHERE, annotation=names.USED_BY)
    if claim is not None and (allows(claim, use) or _is_own(claim, quorum) or _is_of_pool(claim, pool, quorum)):
        return ""
    command = f"kubectl -n {namespace} annotate pvc {name} {use.annotation}={use.reader}"
    return (
        f"claim {name} of {WHERE} does not exist, or its annotation {use.annotation} does not list {use.reader}: create"
        f" it, or let a person who may change it run {command}"
    )


def _is_own(claim: Json, quorum: str) -> bool:
    """Whether the operator made it for a controller of this quorum, or for a copy."""
    name = str(claim["metadata"]["name"])
    parts = names.claim_parts(name)
    named = is_copy_name(quorum, name) or (parts is not None and parts[0].pool == quorum)
    return named and _labels(claim).get(names.LABEL_QUORUM) == quorum and foreign_controller(claim) is None


def _is_of_pool(claim: Json, pool: Json | None, quorum: str) -> bool:
    """Whether it belongs to a pool whose spec names this quorum. A claim that outlives its pool has no owner."""
    if pool is None or pool["metadata"]["name"] != pool_of(claim):
        return False
    spec, owners = pool.get("spec"), claim["metadata"].get("ownerReferences") or ()
    controller = next((one for one in owners if one.get("controller")), None)
    owned = controller is None or (
        (controller.get("kind"), controller.get("uid")) == (POOLS.kind, pool["metadata"]["uid"])
    )
    return owned and isinstance(spec, dict) and spec.get("quorum") == quorum


def _labels(item: Json) -> Json:
    found: Json = item["metadata"].get("labels") or {}
    return found
