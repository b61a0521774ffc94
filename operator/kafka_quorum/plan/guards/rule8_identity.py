"""Rule 8: unknown is not empty, so a new identity is made only where no trace of one exists."""

from kafka_quorum.model.desired import Desired
from kafka_quorum.model.observed import Observed
from kafka_quorum.model.permit import Adopt, Mint
from kafka_quorum.plan.guards.registry import Answer, guard, no, unless, yes


@guard(Mint)
def may_mint(observed: Observed) -> Answer:
    """Rule 8: a new identity only where there is no record, and no trace that there ever was one."""
    traces = [
        *(f"claim {claim.name}" for claim in observed.claims),
        *(f"pod {pod.name}" for pod in observed.pods),
        *(str(stranger) for stranger in observed.strangers if stranger.identified),
    ]
    if observed.status.cluster_id is not None:
        traces.append(f"status.clusterID {observed.status.cluster_id}")
    if observed.record is not None or observed.record_fault:
        traces.append("the identity ConfigMap")
    if traces:
        return no(f"no new identity is made: there are traces of one ({', '.join(traces)})")
    return yes("there is no record and no trace of an earlier quorum")


@guard(Adopt)
def may_adopt(desired: Desired, observed: Observed) -> Answer:
    """Rule 8: a quorum of somebody else's is taken over from all its disks at once, and from nothing less."""
    generation = "-g1"
    names = {f"{desired.name}-{node_id}{generation}" for node_id in desired.node_ids}
    there = {claim.name for claim in observed.claims if not claim.deleting}
    missing, more = ", ".join(sorted(names - there)), ", ".join(sorted(there - names))
    labels = f"kafkaquorum.io/quorum={desired.name} and kafkaquorum.io/node-id=ID"
    pods = ", ".join(pod.name for pod in observed.pods)
    return unless(
        (
            (desired.cluster_id is None or not desired.node_ids, "name spec.clusterID and spec.controllers.nodeIDs"),
            (bool(missing), f"claims {missing} are not there: make them, with the labels {labels}"),
            (bool(more), f"claims {more} have this quorum's label, and no controller of spec.controllers.nodeIDs"),
            (bool(pods), f"pods {pods} have this quorum's label: stop what runs on these disks first"),
        ),
        f"every disk of cluster {desired.cluster_id} is there",
    )
