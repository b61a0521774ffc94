"""Rule 8: unknown is not empty, so a new identity is made only if no trace of one exists."""

from kafka_quorum.model.desired import Desired
from kafka_quorum.model.observed import Observed
from kafka_quorum.model.permit import Adopt, Mint, MintBeside
from kafka_quorum.plan.facts.preflight import blockers, listed
from kafka_quorum.plan.guards.registry import Answer, guard, no, unless, yes


@guard(Mint)
def may_mint(observed: Observed) -> Answer:
    """Rule 8: a new identity is made only if there is no record, and no trace that there ever was one."""
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
        return no(f"Did not make a new identity: there are traces of an earlier one ({', '.join(traces)})")
    return yes("there is no record and no trace of an earlier quorum")


@guard(Adopt)
def may_adopt(desired: Desired, observed: Observed) -> Answer:
    """Rule 8: a quorum of another origin is adopted from all its disks at once, and never from fewer."""
    generation = "-g1"
    names = {f"{desired.name}-{node_id}{generation}" for node_id in desired.node_ids}
    there = {claim.name for claim in observed.claims if not claim.deleting}
    missing, more = ", ".join(sorted(names - there)), ", ".join(sorted(there - names))
    labels = f"with the labels kafkaquorum.io/quorum={desired.name} and kafkaquorum.io/node-id=<its node id>"
    way_out = f"Create each for the volume that holds its disk, {labels}"
    pods = ", ".join(pod.name for pod in observed.pods)
    first = f"Did not adopt quorum {desired.name}"
    return unless(
        (
            (
                desired.cluster_id is None or not desired.node_ids,
                "Did not adopt the quorum: set spec.clusterID and spec.controllers.nodeIDs",
            ),
            (
                bool(missing),
                f"{first}: these claims do not exist: {missing}. {way_out}",
            ),
            (bool(more), f"{first}: claims {more} have its label, and no controller in spec.controllers.nodeIDs"),
            (bool(pods), f"{first}: pods {pods} have its label. Stop what runs on these disks"),
        ),
        f"every disk of cluster {desired.cluster_id} exists",
    )


@guard(MintBeside)
def may_mint_beside(desired: Desired, observed: Observed) -> Answer:
    """Rules 7 and 8: a quorum beside ZooKeeper takes its cluster id, and there is no trace of another quorum."""
    first, migrate = "Did not begin the migration from ZooKeeper", desired.migrate
    verdict = may_mint(observed)
    if not verdict.allowed:
        return no(verdict.reason)
    if migrate is None:
        return no(f"{first}: set spec.zookeeper.connect")
    if migrate.dry_run:
        return no(f"{first}: spec.zookeeper.dryRun is true, so only the preflight is done")
    if migrate.roll_back:
        return no(f"{first}: spec.zookeeper.rollBack is true")
    wrong = [each for each in blockers(desired, observed, None) if each.code in {"ZooKeeper", "ClusterID", "Release"}]
    if wrong:
        return no(f"{first}: {listed(wrong)}")
    return yes("ZooKeeper has the cluster id, and there is no trace of an earlier quorum")
