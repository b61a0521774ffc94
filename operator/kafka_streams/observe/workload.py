"""What is there of a StatefulSet or Deployment that is to be adopted, or was: it, its ReplicaSets, pods and claims.

An adopted one is still looked for by its name, because a tool may create it again.
"""

import asyncio
from collections.abc import Iterator, Mapping
from typing import Final

from kafka_quorum.api.podpolicy import user_of
from kafka_quorum.resources.podstatus import FINISHED, address, condition, object_of, status_of
from kafka_streams.model import names
from kafka_streams.model.adoption import Candidate, KeptClaim, OwnedSet, Source, Workload, WorkloadKind
from kafka_streams.model.record import Record
from kit.errors import KubeError
from kit.kube.protocol import (
    BUDGETS,
    CLAIMS,
    DEPLOYMENTS,
    PODS,
    REPLICA_SETS,
    SCALERS,
    STATEFUL_SETS,
    Json,
    KubeApi,
)
from kit.parsing import Malformed, number
from kit.text import NAME_MAX_CHARS, clean

_KINDS: Final = {WorkloadKind.STATEFUL_SET: STATEFUL_SETS, WorkloadKind.DEPLOYMENT: DEPLOYMENTS}
_PODS_MAX: Final = 500
_HELM: Final = "meta.helm.sh/release-name"
_TOOLS: Final = (
    ("labels", "argocd.argoproj.io/instance", "Argo CD application"),
    ("annotations", "argocd.argoproj.io/tracking-id", "Argo CD application"),
    ("labels", "kustomize.toolkit.fluxcd.io/name", "Flux Kustomization"),
    ("labels", "helm.toolkit.fluxcd.io/name", "Flux HelmRelease"),
    ("annotations", _HELM, "Helm release"),
)
"""Where a tool notes that it applies an object, and what its value is the name of."""


async def source(kube: KubeApi, namespace: str, resource: Json, record: Record | None) -> Source | None:
    """What is to be adopted, or was; None if nothing is asked for. Raises `KubeError`: unknown is not empty."""
    spec = object_of(resource.get("spec"))
    which = _which(spec, record)
    if which is None:
        return None
    kind, name = which
    item = await kube.get(_KINDS[kind], namespace, name)
    workload = None if item is None else workload_from(item, kind)
    adoption = None if record is None else record.adoption
    selector = adoption.selector if adoption is not None else workload.selector if workload is not None else ()
    if (adoption is not None and adoption.done) or not selector:
        return Source(workload=workload)
    labels = dict(selector)
    pods = await kube.list(PODS, namespace, labels)
    if len(pods) > _PODS_MAX:
        raise KubeError(f"{len(pods)} pods have the labels of {kind} {name}, at most {_PODS_MAX} are looked at")
    application = str(resource["metadata"]["name"])
    candidates = tuple(candidate_from(pod, application, spec) for pod in pods)
    sets = await kube.list(REPLICA_SETS, namespace, labels) if kind is WorkloadKind.DEPLOYMENT else []
    wanted = {pod.claim for pod in candidates} | {slot.claim for slot in (record.slots if record is not None else ())}
    found = await asyncio.gather(*(kube.get(CLAIMS, namespace, one) for one in sorted(wanted - {""})))
    first = pods[0] if pods and workload is not None else None
    return Source(
        workload=workload,
        sets=tuple(map(_set_from, sets)),
        pods=tuple(sorted(candidates, key=lambda pod: pod.name)),
        claims=tuple(_claim_from(claim, application) for claim in found if claim is not None),
        budgets=() if first is None else await _budgets(kube, namespace, first),
        scalers=() if first is None else await _scalers(kube, namespace, kind, name),
        shown=str(object_of(object_of(resource.get("status")).get("adoption")).get("hash") or ""),
    )


def _which(spec: Json, record: Record | None) -> tuple[WorkloadKind, str] | None:
    """What the record says, or the spec of an application that has no record yet."""
    if record is not None:
        return None if record.adoption is None else (record.adoption.kind, record.adoption.name)
    asked = object_of(spec.get("adopt"))
    kind, name = asked.get("kind", WorkloadKind.STATEFUL_SET.value), asked.get("name")
    known = {one.value: one for one in WorkloadKind}
    if not isinstance(name, str) or not name or kind not in known:
        return None
    return known[kind], name


def workload_from(item: Json, kind: WorkloadKind) -> Workload:
    """A StatefulSet or Deployment."""
    metadata, spec, status = item["metadata"], object_of(item.get("spec")), object_of(item.get("status"))
    selector, owner = object_of(spec.get("selector")), _controller(metadata)
    annotations = metadata.get("annotations") or {}
    return Workload(
        kind=kind,
        name=metadata["name"],
        uid=metadata["uid"],
        resource_version=metadata["resourceVersion"],
        deleting="deletionTimestamp" in metadata,
        replicas=_count(spec.get("replicas", 1)),
        unsettled=next(_unsettled(kind, metadata, spec, status), ""),
        selector=tuple(sorted((selector.get("matchLabels") or {}).items())),
        expressions=bool(selector.get("matchExpressions")),
        first=_count(object_of(spec.get("ordinals")).get("start", 0)),
        templates=tuple(one["metadata"]["name"] for one in spec.get("volumeClaimTemplates") or ()),
        controller=owner,
        tools=tuple(dict.fromkeys(_tools(metadata))),
        consent=clean(str(annotations.get(names.ADOPT, "")), max_chars=NAME_MAX_CHARS),
    )


def _unsettled(kind: WorkloadKind, metadata: Json, spec: Json, status: Json) -> Iterator[str]:
    wanted = _count(spec.get("replicas", 1))
    if _count(status.get("observedGeneration", 0)) < _count(metadata.get("generation", 0)):
        yield "Kubernetes has not looked at its last change yet"
    ready, there = _count(status.get("readyReplicas", 0)), _count(status.get("replicas", 0))
    if ready != wanted or there != wanted:
        yield f"it has {there} pods, of which {ready} are ready, and {wanted} replicas"
    # With OnDelete, Kubernetes may leave the current revision of a StatefulSet at an earlier one for good.
    one_revision = kind is WorkloadKind.STATEFUL_SET and status.get("currentRevision") == status.get("updateRevision")
    if not one_revision and _count(status.get("updatedReplicas", 0)) != wanted:
        yield "its pods are not all of one revision: an update of it is under way"


def _tools(metadata: Json) -> Iterator[str]:
    for place, key, what in _TOOLS:
        value = (metadata.get(place) or {}).get(key)
        if value:
            yield f"{what} {clean(str(value), max_chars=NAME_MAX_CHARS)}"
    managed = (metadata.get("labels") or {}).get("app.kubernetes.io/managed-by")
    if managed == "Helm" and not (metadata.get("annotations") or {}).get(_HELM):
        yield "Helm"


def candidate_from(item: Json, application: str, spec: Json) -> Candidate:
    """A pod that has the labels. `spec` is that of the resource: it names the container, the variable and the state."""
    metadata, body, status = item["metadata"], object_of(item.get("spec")), status_of(item)
    labels = metadata.get("labels") or {}
    container = str(spec.get("container") or "app")
    row = next((one for one in body.get("containers") or () if one.get("name") == container), None)
    ours = labels.get(names.LABEL_APPLICATION, "") == application
    claim, sub_path = _state(body, row, object_of(spec.get("state")))
    return Candidate(
        name=metadata["name"],
        uid=metadata["uid"],
        resource_version=metadata["resourceVersion"],
        index=_count(labels.get(names.LABEL_INSTANCE)) if ours else -1,
        deleting="deletionTimestamp" in metadata,
        finished=status.get("phase") in FINISHED,
        ready=condition(status, "Ready").get("status") == "True",
        ip=address(status.get("podIP", "")),
        owners=_owners(metadata),
        owner_text=_controller(metadata),
        application=str(labels.get(names.LABEL_APPLICATION, "")),
        image=clean(str((row or {}).get("image", "")), max_chars=1000),
        missing=row is None,
        upgrade_from=_variable(row, str(object_of(spec.get("upgradeFrom")).get("variable") or "")),
        claim=claim,
        sub_path=sub_path,
        claims=tuple(sorted(_claims(body).values())),
        subdomain=str(body.get("subdomain") or ""),
        user=user_of(object_of(body.get("securityContext")), object_of((row or {}).get("securityContext"))),
    )


def _claims(body: Json) -> dict[str, str]:
    """The claims of a pod, by the names of their volumes."""
    volumes = body.get("volumes") or ()
    return {
        str(one.get("name")): str(one["persistentVolumeClaim"].get("claimName", ""))
        for one in volumes
        if isinstance(one.get("persistentVolumeClaim"), Mapping)
    }


def _state(body: Json, row: Json | None, state: Json) -> tuple[str, bool]:
    """The claim that is mounted where the spec has the state, and whether only a part of it is."""
    path, claims = state.get("path"), _claims(body)
    if state.get("type") != "VolumeClaim" or row is None:
        return "", False
    for mount in row.get("volumeMounts") or ():
        if str(mount.get("mountPath", "")).rstrip("/") == str(path).rstrip("/") and mount.get("name") in claims:
            return claims[mount["name"]], bool(mount.get("subPath") or mount.get("subPathExpr"))
    return "", False


def _variable(row: Json | None, variable: str) -> str | None:
    """The value of a variable of the container; empty without one, None if it comes from elsewhere."""
    rows = (row or {}).get("env") or ()
    found = next((one for one in rows if variable and one.get("name") == variable), None)
    if found is None:
        return ""
    return None if "valueFrom" in found else clean(str(found.get("value", "")), max_chars=NAME_MAX_CHARS)


def _set_from(item: Json) -> OwnedSet:
    metadata = item["metadata"]
    return OwnedSet(
        name=metadata["name"],
        uid=metadata["uid"],
        resource_version=metadata["resourceVersion"],
        deleting="deletionTimestamp" in metadata,
        owners=_owners(metadata),
        replicas=_count(object_of(item.get("spec")).get("replicas", 1)),
    )


def _claim_from(item: Json, application: str) -> KeptClaim:
    metadata, labels = item["metadata"], item["metadata"].get("labels") or {}
    ours = labels.get(names.LABEL_APPLICATION, "") == application
    return KeptClaim(
        name=metadata["name"],
        uid=metadata["uid"],
        resource_version=metadata["resourceVersion"],
        index=_count(labels.get(names.LABEL_INSTANCE)) if ours else -1,
        deleting="deletionTimestamp" in metadata,
        bound=status_of(item).get("phase") == "Bound",
        owners=_owners(metadata),
        application=str(labels.get(names.LABEL_APPLICATION, "")),
    )


def _owners(metadata: Json) -> tuple[str, ...]:
    return tuple(str(one.get("uid", "")) for one in metadata.get("ownerReferences") or ())


def _controller(metadata: Json) -> str:
    """What owns an object, as a sentence names it; empty if nothing does."""
    rows = metadata.get("ownerReferences") or ()
    one = next((row for row in rows if row.get("controller")), next(iter(rows), None))
    return "" if one is None else clean(f"{one.get('kind')} {one.get('name')}", max_chars=NAME_MAX_CHARS)


async def _budgets(kube: KubeApi, namespace: str, pod: Json) -> tuple[str, ...]:
    """The disruption budgets that select a pod by its labels."""
    labels = pod["metadata"].get("labels") or {}
    found = []
    for item in await kube.list(BUDGETS, namespace, {}):
        wanted = object_of(object_of(item.get("spec")).get("selector")).get("matchLabels") or {}
        if wanted and wanted.items() <= labels.items():
            found.append(str(item["metadata"]["name"]))
    return tuple(found)


async def _scalers(kube: KubeApi, namespace: str, kind: WorkloadKind, name: str) -> tuple[str, ...]:
    """The autoscalers of a workload."""
    rows = await kube.list(SCALERS, namespace, {})
    target = {"kind": kind.value, "name": name}
    return tuple(
        str(item["metadata"]["name"])
        for item in rows
        if target.items() <= object_of(object_of(item.get("spec")).get("scaleTargetRef")).items()
    )


def _count(value: object) -> int:
    """A number that is none counts as -1: no number of pods equals it."""
    try:
        return value if type(value) is int else number(value)
    except Malformed:
        return -1
