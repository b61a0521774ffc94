"""The adoption of a StatefulSet or Deployment, act by act, each of which may be lost or repeated. Pure.

The record first; then what controls the pods goes, from above; the pods and claims get their labels last. A label that
changes under a ReplicaSet would make it create another pod.
"""

from collections.abc import Iterator
from dataclasses import replace

from kafka_quorum.model.permit import Permit, Verdict
from kafka_streams.model import names
from kafka_streams.model.actions import Action, RecordChange, Release, TakeClaim, TakePod, WriteRecord
from kafka_streams.model.adoption import Adoption, Candidate, Source, Workload
from kafka_streams.model.application import Desired
from kafka_streams.model.observed import Observed, Revision
from kafka_streams.model.plan import Part, Severity, Wait, waiting
from kafka_streams.model.record import Record, Slot
from kafka_streams.plan.facts import Situation
from kafka_streams.plan.guards.rule12_adoption import may_adopt, may_keep_adopting
from kafka_streams.plan.review import adopted_runtime, place, review, running, sets_of
from kafka_streams.plan.upkeep import new_revision


def adopts(desired: Desired, observed: Observed) -> Part:
    """The next act while nothing was touched: the revision, the record, and then the deletion without the pods."""
    source = observed.source
    verdict = may_adopt(desired, observed)
    if not isinstance(verdict, Permit) or source is None or source.workload is None:
        return _refused(desired, observed, verdict)
    runtime, value = adopted_runtime(desired, observed)
    name = names.revision_name(desired.name, runtime, value)
    made = new_revision(observed, name, Revision(name=name, number=0, runtime=runtime, upgrade_from=value))
    if made is not None:
        return Part(exclusive=made, verdicts=(verdict,))
    record = _record(desired, observed, source, source.workload, name)
    if observed.record is None or replace(observed.record, resource_version="") != record:
        version = "" if observed.record is None else observed.record.resource_version
        text = f"{desired.adopt} is adopted, with {len(record.slots)} pods, which run on"
        write = WriteRecord(
            record=replace(record, resource_version=version),
            change=RecordChange.ADOPTING,
            message=text,
            permit=verdict,
        )
        return Part(exclusive=write, verdicts=(verdict,))
    planned = review(desired, observed)
    if planned is None or source.shown != planned.hash:
        text = f"Waiting to adopt {desired.adopt}: its plan is not in status.adoption yet"
        return waiting(Severity.PROGRESS, "AdoptionWaits", text)
    return Part(exclusive=Release(target=source.workload, permit=verdict), verdicts=(verdict,))


def _record(desired: Desired, observed: Observed, source: Source, workload: Workload, revision: str) -> Record:
    runtime, _ = adopted_runtime(desired, observed)
    claims = {
        place(workload.kind, workload.name, workload.first, pod.name): pod.claim
        for pod in running(source)
        if desired.runtime.state_path
    }
    return Record(
        application_id=desired.application_id,
        release=runtime.release,
        protocol=runtime.protocol,
        slots=tuple(
            Slot(index=index, revision=revision, claim=claims.get(index, "")) for index in range(desired.replicas)
        ),
        adoption=Adoption(
            kind=workload.kind,
            name=workload.name,
            uid=workload.uid,
            selector=workload.selector,
            sets=tuple(sorted(one.uid for one in sets_of(source, workload))),
            first=workload.first,
        ),
    )


def _refused(desired: Desired, observed: Observed, verdict: Verdict) -> Part:
    planned = review(desired, observed)
    said = (*planned.objections, *planned.pending) if planned is not None else ()
    reason, severity = "AdoptionRefused", Severity.HELD
    if planned is not None and not planned.objections:
        reason, severity = (
            ("AdoptionWaits", Severity.PROGRESS) if planned.pending else ("ApprovalNeeded", Severity.HELD)
        )
    text = f"Did not adopt {desired.adopt}: {'; '.join(said) or verdict.reason}"
    wait = Wait(severity=severity, reason=reason, message=text)
    return Part(waits=(wait,), verdicts=(verdict,))


def adopting(situation: Situation, *, repair_only: bool = False) -> Part | None:
    """The next act of an adoption that the record has; None if none is open, and nothing was created again."""
    adoption, source = situation.record.adoption, situation.observed.source
    if adoption is None or source is None:  # a look at a record with an adoption has its source
        return None
    if adoption.done:
        return _after(situation, adoption, source)
    if source.workload is None:
        return _sets(situation, adoption, source) or _pods(situation, adoption, source)
    if source.workload.uid != adoption.uid:
        return _recreated(situation, adoption)
    if source.workload.deleting:
        return waiting(Severity.PROGRESS, "Adopting", f"Waiting until Kubernetes has released the pods of {adoption}")
    return _untouched(situation, adoption, repair_only=repair_only)


def _untouched(situation: Situation, adoption: Adoption, *, repair_only: bool) -> Part:
    asked = situation.desired.adopt
    if asked is None or (asked.kind, asked.name) != (adoption.kind, adoption.name):
        text = (
            f"Did not adopt {adoption}: spec.adopt does not name it any more, and nothing of it was touched. Set it"
            " again, or delete this resource"
        )
        return waiting(Severity.HELD, "AdoptionRefused", text)
    if repair_only:
        text = f"Did not adopt {adoption}: the spec is not valid"
        return waiting(Severity.HELD, "AdoptionRefused", text)
    return adopts(situation.desired, situation.observed)


def _recreated(situation: Situation, adoption: Adoption) -> Part:
    """Something made it again. Its pods may be second copies, on the same volumes: nothing goes on beside it."""
    kind, namespace = adoption.kind.value.lower(), situation.desired.namespace
    other = f". If it has nothing to do with {situation.desired.name}, remove spec.adopt" if adoption.done else ""
    text = (
        f"Did not change or repair anything: {adoption} exists again. Take it out of the tool that created it, and"
        f" then: kubectl -n {namespace} delete {kind} {adoption.name} --cascade=orphan. Delete pods of it that are no"
        f" instances{other}"
    )
    return waiting(Severity.HELD, "Recreated", text)


def _sets(situation: Situation, adoption: Adoption, source: Source) -> Part | None:
    """The ReplicaSets of a Deployment go, each without its pods; None if there is none any more."""
    for one in source.sets:
        if one.uid not in adoption.sets:
            continue
        if one.deleting:
            text = f"Waiting until Kubernetes has released the pods of ReplicaSet {one.name}"
            return waiting(Severity.PROGRESS, "Adopting", text)
        verdict = may_keep_adopting(adoption, situation.observed, one)
        if not isinstance(verdict, Permit):
            text = f"Did not delete ReplicaSet {one.name}: {verdict.reason}"
            return Part(waits=(Wait(severity=Severity.HELD, reason="Recreated", message=text),), verdicts=(verdict,))
        return Part(exclusive=Release(target=one, permit=verdict), verdicts=(verdict,))
    return None


def _pods(situation: Situation, adoption: Adoption, source: Source) -> Part:
    """Nothing controls the pods any more: each gets its place, and its claim with it. Then the adoption is done."""
    waits = (*_pods_in_the_way(situation, adoption, source), *_claims_in_the_way(situation, adoption, source))
    if waits:
        return Part(waits=waits)
    actions = (*_taken_claims(situation, source), *_taken_pods(situation, adoption, source))
    if actions:
        return Part(actions=actions)
    there = {pod.index: pod.name for pod in running(source) if pod.index >= 0}
    slots = tuple(replace(slot, adopted=there.get(slot.index, "")) for slot in situation.record.slots)
    record = replace(situation.record, slots=slots, adoption=replace(adoption, done=True))
    text = f"{len(there)} pods of {adoption} are instances now, and none was restarted"
    return Part(exclusive=WriteRecord(record=record, change=RecordChange.ADOPTED, message=text))


def _pods_in_the_way(situation: Situation, adoption: Adoption, source: Source) -> Iterator[Wait]:
    released, free = {adoption.uid, *adoption.sets}, _free(situation, source)
    new = [pod for pod in running(source) if pod.index < 0]
    for pod in new:
        if pod.owners and set(pod.owners) <= released:
            text = f"Waiting until Kubernetes has released pod {pod.name}"
            yield Wait(severity=Severity.PROGRESS, reason="Adopting", message=text)
        elif pod.owners or pod.application not in ("", situation.desired.name):
            whose = pod.owner_text or f"KafkaStreamsApplication {pod.application}"
            text = (
                f"Did not adopt pod {pod.name}: {whose} has it. Take {whose} out of the tool that created it, and"
                " delete it with --cascade=orphan"
            )
            yield Wait(severity=Severity.HELD, reason="Recreated", message=text)
        elif pod.deleting:
            text = f"Waiting until pod {pod.name}, which is being deleted, is gone"
            yield Wait(severity=Severity.PROGRESS, reason="Adopting", message=text)
    misplaced = [pod for pod in new if (at := _place(adoption, pod)) is not None and at not in free]
    if misplaced or len(new) > len(free):
        pod = (misplaced or sorted(new, key=lambda one: (one.ready, one.name)))[0]
        text = (
            f"Did not adopt pod {pod.name}: {len(new)} pods are left for {len(free)} instances. Delete those that are"
            " too many"
        )
        yield Wait(severity=Severity.HELD, reason="TooManyPods", message=text)


def _claims_in_the_way(situation: Situation, adoption: Adoption, source: Source) -> Iterator[Wait]:
    wanted = {slot.claim for slot in situation.record.slots}
    for claim in source.claims:
        if claim.name not in wanted or claim.index >= 0 or not claim.owners:
            continue
        if set(claim.owners) <= {adoption.uid}:
            text = f"Waiting until Kubernetes has released claim {claim.name}"
            yield Wait(severity=Severity.PROGRESS, reason="Adopting", message=text)
        else:
            text = f"Did not adopt claim {claim.name}: it has an owner, with which it would go. Remove ownerReferences"
            yield Wait(severity=Severity.HELD, reason="ClaimOwned", message=text)


def _place(adoption: Adoption, pod: Candidate) -> int | None:
    return place(adoption.kind, adoption.name, adoption.first, pod.name)


def _free(situation: Situation, source: Source) -> list[int]:
    """The places without a pod."""
    taken = {pod.index for pod in running(source)}
    return [slot.index for slot in situation.record.slots if slot.index not in taken]


def _taken_pods(situation: Situation, adoption: Adoption, source: Source) -> Iterator[Action]:
    free = _free(situation, source)
    new = sorted((pod for pod in running(source) if pod.index < 0), key=lambda pod: pod.name)
    for pod in new:
        at = _place(adoption, pod)
        index = free[0] if at is None else at
        free.remove(index)
        slot = situation.record.slot(index)
        if slot is not None:
            yield TakePod(pod=pod, slot=slot)


def _taken_claims(situation: Situation, source: Source) -> Iterator[Action]:
    known = {claim.name: claim for claim in source.claims if not claim.deleting and claim.index < 0}
    for slot in situation.record.slots:
        if slot.claim in known:
            yield TakeClaim(claim=known[slot.claim], slot=slot)


def _after(situation: Situation, adoption: Adoption, source: Source) -> Part | None:
    """It is done. While the spec names it, it must not come back; then the record forgets it."""
    if situation.desired.adopt is not None:
        return None if source.workload is None else _recreated(situation, adoption)
    slots = tuple(
        slot if (pod := situation.observed.pod(slot)) is None or pod.name == slot.adopted else replace(slot, adopted="")
        for slot in situation.record.slots
    )
    record = replace(situation.record, slots=slots, adoption=None)
    text = f"spec.adopt is empty: {adoption} is not looked for any more"
    return Part(exclusive=WriteRecord(record=record, change=RecordChange.ADOPTION_OVER, message=text))
