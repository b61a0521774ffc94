"""Reduces Kubernetes objects, as the API server writes them, to the few facts that decisions need. Pure."""

import re
from collections.abc import Iterable
from dataclasses import replace
from typing import Any, Final

from kafka_quorum.model import formats, names
from kafka_quorum.model.disk import SCRIPT
from kafka_quorum.model.identity import BootstrapPhase, FormatMode
from kafka_quorum.model.ids import DirectoryID, Member, NodeID
from kafka_quorum.model.journal import epoch_from
from kafka_quorum.model.memory import Soak
from kafka_quorum.model.migration import ROLLED_BACK, MigrationKind
from kafka_quorum.model.observed import Claim, KubeNode, RecordedController, RecordedStatus, SupportObject
from kafka_quorum.model.operation import VoterOperation
from kafka_quorum.model.pods import DiskFound, DiskReport, Pod, PodRole, Terminated
from kafka_quorum.observe.recovery import recovery_from, watermark_from
from kafka_quorum.resources.intent import operation_from
from kafka_quorum.resources.objects import facts_of
from kafka_quorum.resources.podstatus import (
    FINISHED,
    REPORT_MAX_CHARS,
    address,
    condition,
    effective_state,
    object_of,
    row_named,
    runs,
    status_of,
    unplaced,
    why_ended,
)
from kit.kube.protocol import Json
from kit.kube.quantities import bytes_of
from kit.parsing import INT32_MAX, Malformed, json_object, number
from kit.stamps import seconds_of
from kit.text import MESSAGE_MAX_CHARS, clean, name

_PLACE: Final = re.compile(r"[1-9][0-9]{0,19}:[1-9][0-9]{0,19}:0*[1-9a-f][0-9a-f]{0,15}")
"""Number and birth time (seconds since the epoch) of a directory, and the id of its file system (hexadecimal).

A file system without birth times, or without an id, shows 0. Every new file system has the same number, and may have
been made in the same second as another one.
"""


def pod_from(item: Json) -> Pod | None:
    """A pod of ours; None for a pod that only has our quorum label."""
    metadata, spec, status = item["metadata"], item.get("spec") or {}, status_of(item)
    labels, annotations = metadata.get("labels") or {}, metadata.get("annotations") or {}
    role = next((role for role in PodRole if role.value == labels.get(names.LABEL_ROLE)), None)
    node_id = _number(labels.get(names.LABEL_NODE))
    if role is None or node_id < 0:
        return None
    formats.check(annotations.get(names.SCHEMA), formats.POD, f"Pod {metadata['name']}")
    container = names.KAFKA_CONTAINER if role is PodRole.KAFKA else names.FORMAT_CONTAINER
    main = row_named(status.get("containerStatuses"), container)
    init = row_named(status.get("initContainerStatuses"), names.VERIFY_CONTAINER)
    state = effective_state(status, main, init)
    return Pod(
        name=metadata["name"],
        uid=metadata["uid"],
        resource_version=metadata["resourceVersion"],
        role=role,
        node_id=NodeID(node_id),
        owner_uid=owner_uid(item),
        deleting="deletionTimestamp" in metadata,
        finished=status.get("phase") in FINISHED,
        claim_name=_claim_name(spec),
        claim_uid=name(annotations.get(names.CLAIM_UID, "")),
        directory_id=DirectoryID(name(directory)) if (directory := annotations.get(names.DIRECTORY_ID)) else None,
        mode=_mode(annotations.get(names.MODE)),
        revision=name(annotations.get(names.REVISION, "")),
        config_name=name(annotations.get(names.CONFIG, "")),
        ip=address(status.get("podIP", "")),
        node_name=spec.get("nodeName", ""),
        scheduled=bool(spec.get("nodeName")),
        unschedulable=unplaced(status),
        container=state,
        report=_newest(() if runs(init) else (_report(main), _report(init))),
        marked_voter=labels.get(names.LABEL_VOTER) == "true",
        finished_at_s=seconds_of(state.finished_at) if isinstance(state, Terminated) else 0.0,
        gate=condition(status, names.GATE).get("status", ""),
        why_ended=why_ended(status),
    )


def kube_node_from(item: Json) -> KubeNode:
    """A node of Kubernetes; without a Ready condition it is not ready."""
    ready = condition(item.get("status", {}), "Ready").get("status") == "True"
    cordoned = bool((item.get("spec") or {}).get("unschedulable"))
    return KubeNode(name=item["metadata"]["name"], exists=True, ready=ready, cordoned=cordoned)


def claim_from(item: Json) -> Claim:
    """A claim of ours. Its name identifies its controller: a restore may lose labels and annotations, never names."""
    metadata, spec = item["metadata"], item.get("spec", {})
    annotations = metadata.get("annotations") or {}
    formats.check(annotations.get(names.SCHEMA), formats.CLAIM, f"PersistentVolumeClaim {metadata['name']}")
    member, generation = names.claim_parts(metadata["name"]) or (Member("", NodeID(-1)), -1)
    labels = {names.LABEL_QUORUM: member.pool, names.LABEL_NODE: str(member.node_id)}
    size = spec.get("resources", {}).get("requests", {}).get("storage", "0")
    return Claim(
        name=metadata["name"],
        uid=metadata["uid"],
        resource_version=metadata["resourceVersion"],
        node_id=member.node_id,
        generation=generation,
        labelled=labels.items() <= (metadata.get("labels") or {}).items(),
        owner_uid=owner_uid(item),
        deleting="deletionTimestamp" in metadata,
        volume_gone=item.get("status", {}).get("phase") == "Lost",
        cluster_id=_id(annotations.get(names.CLUSTER_ID)),
        directory_id=_id(annotations.get(names.DIRECTORY_ID)),
        phase=_id(annotations.get(names.PHASE)),
        requested_bytes=_size_bytes(size),
        storage_class=name(spec.get("storageClassName") or ""),
        volume=name(spec.get("volumeName") or ""),
        kept=annotations.get(names.KEPT) == "true",
        recovery=epoch_from(annotations.get(names.RECOVERY)),
        selected_node=name(annotations.get("volume.kubernetes.io/selected-node", "")),
    )


def _size_bytes(text: str) -> int:
    """A size that the API server accepted; ValueError if this operator cannot read it."""
    size_bytes = bytes_of(text)
    if size_bytes is None:
        raise ValueError(f"its size {text[:60]!r} is not a quantity that this operator can read")
    return size_bytes


def support_from(items: Iterable[Json]) -> tuple[SupportObject, ...]:
    """Services, budgets, config maps and revisions: what they are, and which resource owns them."""
    return tuple(
        SupportObject(
            kind=item["kind"],
            name=item["metadata"]["name"],
            uid=item["metadata"]["uid"],
            owner_uid=owner_uid(item),
            resource_version=item["metadata"]["resourceVersion"],
            facts=facts_of(item) if item["kind"] in ("Service", "PodDisruptionBudget") else "",
        )
        for item in items
    )


_READ_BACK: Final = (
    *("bootstrap", "brokerContract", "clusterID", "controllers", "migration", "operation", "quorum", "recovery"),
    "soak",
)
"""The parts of a status that say something to a later pass; the others are for persons, and are not even cleaned."""


def status_from(resource: Json) -> RecordedStatus:
    """The identity and the open operation in a resource's status; a malformed part counts as absent."""
    status = _parts(resource, _READ_BACK)
    bootstrap = object_of(status.get("bootstrap"))
    phase = next((phase for phase in BootstrapPhase if phase.value == bootstrap.get("phase")), None)
    return RecordedStatus(
        cluster_id=_id(status.get("clusterID") or None),
        phase=phase,
        initial=_controllers(bootstrap.get("initialControllers")),
        controllers=_controllers(status.get("controllers")),
        open=operation_from(status.get("operation")),
        soak=_soak(status.get("soak")),
        contract_revision=_revision(object_of(status.get("brokerContract")).get("revision")),
        migration=_kind(object_of(status.get("migration")).get("kind")),
        ended=bootstrap.get("phase") == ROLLED_BACK,
        watermark=watermark_from(object_of(status.get("quorum"))),
        **recovery_from(object_of(status.get("recovery"))),
    )


def voter_operation(resource: Json) -> VoterOperation | None:
    """The change of the voter set that is open, as `status_from` reads it."""
    found = operation_from(_parts(resource, ("operation",)).get("operation"))
    return found if isinstance(found, VoterOperation) else None


def _parts(resource: Json, names: Iterable[str]) -> Json:
    """These parts of a status, cleaned."""
    said = object_of(resource.get("status"))
    return status_of({"status": {name: said[name] for name in names if name in said}})


def owner_uid(item: Json) -> str | None:
    """The uid of the resource that controls an object, or None for an object without an owner."""
    owners = item["metadata"].get("ownerReferences") or []
    return next((owner["uid"] for owner in owners if owner.get("kind") == "KafkaQuorum"), None)


def _controllers(rows: Any) -> tuple[RecordedController, ...]:  # noqa: ANN401 - any JSON that the status holds
    if not isinstance(rows, list):
        return ()
    return tuple(
        RecordedController(
            node_id=NodeID(row["nodeID"]),
            directory_id=_id(row.get("directoryID") or None),
            claim_uid=_id(row.get("claimUID") or None),
        )
        for row in rows
        if isinstance(row, dict) and type(row.get("nodeID")) is int and 0 <= row["nodeID"] <= INT32_MAX
    )


def _soak(row: Any) -> Soak | None:  # noqa: ANN401 - any JSON that the status holds
    if not isinstance(row, dict):
        return None
    epoch, seconds = row.get("finalizedEpoch"), row.get("seconds")
    if type(epoch) is not int or type(seconds) is not int or not 0 <= seconds <= INT32_MAX:
        return None
    return Soak(epoch=epoch, healthy_s=float(seconds))


def _kind(found: object) -> str:
    return found if any(found == kind.value for kind in MigrationKind) and isinstance(found, str) else ""


def _revision(found: object) -> int:
    """A revision of the contract that we reported; 0 if it is none."""
    return found if type(found) is int and 0 < found < INT32_MAX else 0


def _newest(reports: Iterable[DiskReport | None]) -> DiskReport | None:
    """The report that was written last; of two in the same second, that of Kafka's own container."""
    return max(filter(None, reports), key=lambda report: report.finished_at_s, default=None)


def _report(row: Json | None) -> DiskReport | None:
    """The newest report of a script of ours, unless the script runs again at this moment."""
    return None if runs(row) else _last_report(row)


def _last_report(row: Json | None) -> DiskReport | None:
    """What the newest run that ended reported; None if it was Kafka's, which leaves a log line.

    The last state is of an earlier run, unless the container waits: Kafka has run on the disk since then.
    """
    if row is None:
        return None
    ended = (row.get("state") or {}).get("terminated") or (row.get("lastState") or {}).get("terminated") or {}
    report = _parse_report(ended.get("message", ""), seconds_of(ended.get("finishedAt", "")))
    return None if report is None else replace(report, run=str(ended.get("containerID") or ""))


def _parse_report(text: str, finished_at_s: float) -> DiskReport | None:
    try:
        body = json_object(text, max_chars=REPORT_MAX_CHARS)
        _check_script(body)
        found = DiskFound(body["found"])
        outdated = found is DiskFound.EMPTY and body.get("script") != SCRIPT
        node_id = _number(str(body["nodeID"]))
        return DiskReport(
            found=DiskFound.UNREADABLE if outdated else found,
            cluster_id=_id(body["clusterID"] or None),
            node_id=node_id if node_id >= 0 else None,
            directory_id=_id(body["directoryID"] or None),
            accepted=body["accepted"] is True,
            message=clean(str(body["message"]), max_chars=MESSAGE_MAX_CHARS),
            finished_at_s=finished_at_s,
            place=_place(body.get("place")),
            outdated=outdated,
        )
    except formats.LaterFormat:
        raise
    except (ValueError, KeyError, TypeError):
        return None


def _check_script(body: Json) -> None:
    """Raise `LaterFormat` for the report of a script that only a later version of this operator puts into pods."""
    number = body.get("script")
    if "found" in body and type(number) is int and number > SCRIPT:
        formats.check(number, SCRIPT, "the report of the script that looked at its disk")


def _place(text: object) -> str:
    """A place as our scripts write it; empty if it is none, as in the reports of earlier scripts."""
    return text if isinstance(text, str) and _PLACE.fullmatch(text) else ""


def _number(text: object) -> int:
    """A number that we wrote; -1 if the object is not ours."""
    try:
        return number(text)
    except Malformed:
        return -1


def _id(text: object) -> str | None:
    """An id that we wrote. A malformed one is kept as a value that equals no id, because it is a difference."""
    return None if text is None else name(text)


def _claim_name(spec: Json) -> str:
    volumes = spec.get("volumes") or []
    return next(
        (volume["persistentVolumeClaim"]["claimName"] for volume in volumes if volume.get("name") == "data"), ""
    )


def _mode(text: str | None) -> FormatMode:
    return next((mode for mode in FormatMode if mode.value == text), FormatMode.NO_INITIAL_CONTROLLERS)
