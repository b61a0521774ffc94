"""What speaks against an adoption, and what a person must know before it. Pure."""

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from kafka_quorum.api.podpolicy import pod_security, user_of
from kafka_quorum.model.known import Known
from kafka_quorum.model.names import digest
from kafka_streams.model import names
from kafka_streams.model.adoption import Adopt, AdoptionPlan, Candidate, OwnedSet, Source, Workload, WorkloadKind
from kafka_streams.model.application import Desired, Runtime
from kafka_streams.model.membership import Group, GroupState
from kafka_streams.model.observed import Observed
from kafka_streams.plan.matrix import facts_of

_LISTED: Final = 5


def review(desired: Desired, observed: Observed) -> AdoptionPlan | None:
    """The plan of an adoption that has touched nothing yet; None if none is asked for."""
    adopt, source = desired.adopt, observed.source
    if adopt is None:
        return None
    workload = None if source is None else source.workload
    if source is None or workload is None:
        said = f"{adopt} does not exist: correct spec.adopt, or remove it to begin with new instances"
        return AdoptionPlan(steps=(), warnings=(), objections=(said,), pending=(), asks=False, hash="")
    runtime, value = adopted_runtime(desired, observed)
    live = running(source)
    warnings = tuple(_warnings(desired, source, workload, runtime, live))
    facts = [adopt.kind.value, adopt.name, workload.uid, str(runtime.release), value, runtime.image, *warnings]
    return AdoptionPlan(
        steps=tuple(_steps(desired, workload, live)),
        warnings=warnings,
        objections=(
            *_against_workload(desired, workload),
            *_against_pods(desired, source, workload),
            *_against_state(desired, source, workload),
            *_against_release(desired, observed, runtime, value),
        ),
        pending=(*_unready(workload, live), *_unsettled(desired, observed, live)),
        asks=bool(workload.tools),
        hash=digest([*facts, str(desired.runtime.release), desired.runtime.image]),
    )


def running(source: Source) -> tuple[Candidate, ...]:
    """The pods that have not ended. Those that did serve no more."""
    return tuple(pod for pod in source.pods if not pod.finished)


def sets_of(source: Source, workload: Workload) -> tuple[OwnedSet, ...]:
    """The ReplicaSets of a Deployment."""
    return tuple(one for one in source.sets if workload.uid in one.owners)


def adopted_runtime(desired: Desired, observed: Observed) -> tuple[Runtime, str]:
    """What the running pods count as made from, and their `upgrade.from`: the spec, with their own image and release.

    A pod that is lost later is created from it.
    """
    adopt, source = desired.adopt, observed.source
    live = () if source is None else running(source)
    image = next((pod.image for pod in live if pod.image), desired.runtime.image)
    group = observed.group.value if isinstance(observed.group, Known) else None
    protocol = group.protocol if group is not None and group.protocol is not None else desired.runtime.protocol
    release = (adopt.release if adopt is not None else None) or desired.runtime.release
    value = (adopt.upgrade_from if adopt is not None else "") or next((one.upgrade_from or "" for one in live), "")
    return replace(desired.runtime, release=release, image=image, protocol=protocol), value


def place(adopt_kind: WorkloadKind, name: str, first: int, pod: str) -> int | None:
    """The place of a pod of a StatefulSet, by its name; None for a pod of a Deployment, or of another name."""
    head, _, ordinal = pod.rpartition("-")
    if adopt_kind is not WorkloadKind.STATEFUL_SET or head != name or not (ordinal.isascii() and ordinal.isdigit()):
        return None
    return int(ordinal) - first if len(ordinal) < 10 else None  # noqa: PLR2004 - digits of a 32-bit number


def _against_workload(desired: Desired, workload: Workload) -> Iterator[str]:
    what = f"{workload.kind} {workload.name}"
    if workload.deleting:
        yield f"{what} is being deleted"
    if workload.controller:
        yield f"{workload.controller} controls {what}, and would create it again: delete {workload.controller} first"
    if workload.expressions or not workload.selector:
        yield f"the selector of {what} has more than matchLabels, which cannot be adopted"
    if workload.consent != desired.name:
        kind = workload.kind.value.lower()
        yield (
            f"{what} has no annotation that allows it: kubectl -n {desired.namespace} annotate {kind} {workload.name}"
            f" {names.ADOPT}={desired.name}"
        )
    if workload.replicas != desired.replicas:
        yield f"{what} has {workload.replicas} replicas, and spec.replicas is {desired.replicas}: make them equal"


def _against_pods(desired: Desired, source: Source, workload: Workload) -> Iterator[str]:
    what, live = f"{workload.kind} {workload.name}", running(source)
    sets = sets_of(source, workload)
    owners = {one.uid for one in sets if one.replicas} if sets else {workload.uid}
    if len(owners) > 1:
        yield f"{what} has pods of {len(owners)} ReplicaSets: let its update end first"
    for pod in live:
        if not set(pod.owners) <= owners or not pod.owners:
            whose = f"is controlled by {pod.owner_text}" if pod.owner_text else "has no owner"
            yield f"pod {pod.name} has the labels of {what}, and {whose}: take the labels away from it"
        if pod.application not in ("", desired.name):
            yield f"pod {pod.name} belongs to KafkaStreamsApplication {pod.application}"
        if pod.missing:
            yield f"pod {pod.name} has no container {desired.runtime.container}: correct spec.container"
        index = place(workload.kind, workload.name, workload.first, pod.name)
        if workload.kind is WorkloadKind.STATEFUL_SET and (index is None or not 0 <= index < desired.replicas):
            yield f"pod {pod.name} has no place among {desired.replicas} instances"
    addresses = [pod.ip for pod in live if pod.ip]
    if len(set(addresses)) < len(addresses):
        yield f"pods of {what} share an address (hostNetwork), by which members of the group are told apart"
    images = sorted({pod.image for pod in live if pod.image})
    if len(images) > 1:
        yield f"the pods of {what} run {' and '.join(images[:_LISTED])}: let its update end first"


def _against_state(desired: Desired, source: Source, workload: Workload) -> Iterator[str]:
    live = running(source)
    if not desired.runtime.state_path:
        for pod in live:
            if pod.claims:
                yield (
                    f"pod {pod.name} mounts claim {pod.claims[0]}, and spec.state is Ephemeral: set state.type to"
                    " VolumeClaim, and state.path to where it is mounted"
                )
    elif workload.kind is not WorkloadKind.STATEFUL_SET:
        yield (
            f"pods of {workload.kind} {workload.name} have no claim of their own: set state.type to Ephemeral, and"
            " change it after the adoption"
        )
    else:
        for pod in live:
            yield from _against_claim(desired, source, workload, pod)
        yield from _against_user(desired, live)


def _against_user(desired: Desired, live: tuple[Candidate, ...]) -> Iterator[str]:
    """The files of the state belong to the user of the pods: another user may not write them."""
    template = json.loads(desired.runtime.template_spec)
    own: dict[str, object] = {}
    for one in template.get("containers") or ():
        if one.get("name") == desired.runtime.container:
            own = one.get("securityContext") or {}
    user = user_of(pod_security(template.get("securityContext") or {}), own)
    other = next((pod for pod in live if pod.user != user), None)
    if other is not None:
        runs = "the user of its image" if other.user is None else f"user {other.user}"
        yield (
            f"pod {other.name} runs as {runs}, and instances would run as user {user}, which may not write the state:"
            " set template.spec.securityContext.runAsUser (and runAsGroup, fsGroup) to that of the pods"
        )


def _against_claim(desired: Desired, source: Source, workload: Workload, pod: Candidate) -> Iterator[str]:
    claim = next((one for one in source.claims if one.name == pod.claim), None)
    if pod.claim not in {f"{template}-{pod.name}" for template in workload.templates}:
        path = desired.runtime.state_path
        yield f"pod {pod.name} has no claim of its own mounted at {path}: correct spec.state.path"
    elif pod.sub_path:
        yield f"pod {pod.name} mounts only a directory of claim {pod.claim} (subPath), which instances do not"
    elif len(pod.claims) > 1:
        yield f"pod {pod.name} mounts {len(pod.claims)} claims, and an instance has one: {', '.join(pod.claims)}"
    elif claim is None or not claim.bound or claim.deleting:
        yield f"claim {pod.claim} of pod {pod.name} is not bound, or is being deleted"
    elif claim.application not in ("", desired.name):
        yield f"claim {pod.claim} belongs to KafkaStreamsApplication {claim.application}"


def _against_release(desired: Desired, observed: Observed, runtime: Runtime, value: str) -> Iterator[str]:
    adopt, source = desired.adopt, observed.source
    if adopt is None or source is None:
        return
    if adopt.release is None and runtime.image != desired.runtime.image:
        yield (
            f"the pods run image {runtime.image}, and spec.image is {desired.runtime.image}: spec.adopt.release must be"
            " the Kafka Streams release in the first one"
        )
    yield from _against_upgrade_from(adopt, running(source), desired.runtime.upgrade_variable)
    if value and runtime.release != desired.runtime.release:
        yield (
            f"the pods have upgrade.from={value}, so an upgrade to {runtime.release} is half done: set spec.release to"
            f" {runtime.release}, and change it after the adoption"
        )
    facts = facts_of(runtime.release)
    group = observed.group.value if isinstance(observed.group, Known) else None
    for member in () if group is None else group.members:
        if facts is not None and member.supported_version not in (None, facts.subscription_version):
            yield (
                f"a member at {member.host} supports version {member.supported_version} of the subscription, and"
                f" Kafka Streams {runtime.release} has {facts.subscription_version}: correct spec.adopt.release"
            )
            return


def _against_upgrade_from(adopt: Adopt, live: tuple[Candidate, ...], variable: str) -> Iterator[str]:
    for pod in live:
        if pod.upgrade_from is None and not adopt.upgrade_from:
            yield f"variable {variable} of pod {pod.name} comes from elsewhere: say its value in spec.adopt.upgradeFrom"
            return
    values = sorted({pod.upgrade_from for pod in live if pod.upgrade_from is not None})
    if len(values) > 1:
        yield f"the pods have different values of {variable}: {', '.join(one or 'none' for one in values)}"
    elif values and adopt.upgrade_from and values[0] != adopt.upgrade_from and variable:
        yield f"the pods have {variable}={values[0] or 'none'}, and spec.adopt.upgradeFrom is {adopt.upgrade_from}"


def _unready(workload: Workload, live: tuple[Candidate, ...]) -> Iterator[str]:
    what = f"{workload.kind} {workload.name}"
    if workload.unsettled:
        yield f"{what}: {workload.unsettled}"
    if len(live) != workload.replicas:
        yield f"{what} has {len(live)} pods that run, and {workload.replicas} replicas"
    for pod in live:
        if pod.deleting or not pod.ready:
            yield f"pod {pod.name} is {'being deleted' if pod.deleting else 'not ready'}"


def _unsettled(desired: Desired, observed: Observed, live: tuple[Candidate, ...]) -> Iterator[str]:
    """The group shows whether these pods are this application: each has members, and no other client has any."""
    if not isinstance(observed.group, Known):
        yield f"the group {desired.application_id} is not known: {observed.group.reason}"
        return
    group: Group = observed.group.value
    if group.state is not GroupState.STABLE:
        yield (
            f"the group {desired.application_id} is {group.state.value}, and not Stable. Is spec.applicationID that of"
            " the pods?"
        )
        return
    hosts = {pod.ip for pod in live if pod.ip}
    strange = sorted(member.host for member in group.members if member.host not in hosts)
    if strange:
        yield f"the group {desired.application_id} has a member at {strange[0]}, which is none of these pods"
    threads = desired.gates.threads
    for pod in live:
        there = len(group.at(pod.ip))
        if there == 0 or (threads and there != threads):
            yield f"pod {pod.name} has {there} of {threads or 'its'} members in the group {desired.application_id}"
    since_s = observed.memory.stable_since_s
    if since_s is None or observed.looked_at_s - since_s < desired.gates.stable_s:
        yield f"the group has not been stable with the same members for {desired.gates.stable_s:g} s yet"


def _steps(desired: Desired, workload: Workload, live: tuple[Candidate, ...]) -> Iterator[str]:
    what = f"{workload.kind} {workload.name}"
    yield f"The record says that {what} is adopted"
    yield f"{what} is deleted so that its pods run on (propagationPolicy Orphan)"
    if workload.kind is WorkloadKind.DEPLOYMENT:
        yield "Its ReplicaSets are deleted in the same way"
    pods = ", ".join(pod.name for pod in live[:_LISTED]) + (" and others" if len(live) > _LISTED else "")
    yield f"Pods {pods} get labels and an owner, and are the instances of {desired.name}. None of them restarts"
    if desired.runtime.state_path:
        yield "Their claims keep their names"


def _warnings(
    desired: Desired, source: Source, workload: Workload, runtime: Runtime, live: tuple[Candidate, ...]
) -> Iterator[str]:
    what = f"{workload.kind} {workload.name}"
    for tool in workload.tools:
        yield (
            f"{tool} has {what}, and may create it again: take it out of there first, so that the tool does not delete"
            " it (Argo CD: Prune=false, Flux: prune disabled, Helm: helm.sh/resource-policy keep), then approve"
        )
    if (runtime.release, runtime.image) != (desired.runtime.release, desired.runtime.image):
        yield (
            f"The pods run {runtime.release} ({runtime.image}). After the adoption the change to"
            f" {desired.runtime.release} ({desired.runtime.image}) begins, as any other"
        )
    yield "What else the template has differently applies when an instance next starts"
    for name in source.scalers:
        yield f"HorizontalPodAutoscaler {name} scales {what}: let it scale KafkaStreamsApplication {desired.name}"
    for name in source.budgets:
        yield (
            f"PodDisruptionBudget {name} selects the pods by their labels: put these into"
            " spec.template.metadata.labels, so that it selects new ones"
        )
    if any(pod.subdomain for pod in live):
        yield f"The pods have host names in service {live[0].subdomain}, which new pods of an instance do not have"
