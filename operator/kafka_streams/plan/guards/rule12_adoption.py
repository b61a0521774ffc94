"""Rule 12, before the first record: a workload that runs is adopted so that nothing restarts or runs twice."""

from kafka_streams.model.adoption import Adoption, OwnedSet
from kafka_streams.model.application import Approve, Desired
from kafka_streams.model.observed import Observed
from kafka_streams.model.permit import AdoptWorkload, KeepAdopting
from kafka_streams.plan.guards.registry import Answer, guard, no, unless, yes
from kafka_streams.plan.review import review


@guard(AdoptWorkload)
def may_adopt(desired: Desired, observed: Observed) -> Answer:
    """Its pods are ready and are this application, nothing else owns it, and what needs approval is approved."""
    planned = review(desired, observed)
    if planned is None:
        return no("spec.adopt names nothing")
    asked = planned.asks or desired.approve is Approve.MANUAL
    said = next(iter((*planned.objections, *planned.pending)), None)
    return unless(
        (
            (said is not None, said or ""),
            (asked and desired.approved != planned.hash, f"it waits for approval: set spec.approved to {planned.hash}"),
        ),
        f"every pod of {desired.adopt} is ready and in the group",
    )


@guard(KeepAdopting)
def may_keep_adopting(adoption: Adoption, observed: Observed, owned: OwnedSet) -> Answer:
    """The Deployment is gone, and the record has its ReplicaSet: nothing else owns that now."""
    source = observed.source
    if source is None or source.workload is not None:
        return no(f"{adoption} is not gone yet")
    if owned.uid not in adoption.sets:
        return no(f"ReplicaSet {owned.name} is none of those that {adoption} had")
    if set(owned.owners) - {adoption.uid}:
        return no(f"ReplicaSet {owned.name} has an owner again: something created {adoption} again")
    return yes(f"{adoption} is adopted, and gone")
