"""Reduces Kubernetes objects, as the API server writes them, to the few facts that decisions need. Pure."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from kafka_brokers.kind import POOLS
from kafka_brokers.model import names
from kafka_brokers.model.found import Run
from kafka_brokers.model.observed import Claim, DiskRow, DisksReport, KubeNode, Pod, Support
from kafka_brokers.resources.meta import foreign_controller
from kafka_brokers.resources.notes import note_of
from kafka_brokers.resources.objects import facts_of
from kafka_brokers.resources.scripts import SCRIPT
from kafka_quorum.model import formats
from kafka_quorum.model.ids import NodeID
from kafka_quorum.model.names import (
    CLUSTER_ID,
    CONFIG,
    DIRECTORY_ID,
    FORMAT_CONTAINER,
    KAFKA_CONTAINER,
    PHASE,
    RETIRED,
    REVISION,
    VERIFY_CONTAINER,
)
from kafka_quorum.model.pods import DiskFound
from kafka_quorum.model.pools import REPLICATION_TLS
from kafka_quorum.resources.podstatus import (
    FINISHED,
    REPORT_MAX_CHARS,
    address,
    condition,
    effective_state,
    row_named,
    runs,
    status_of,
    unplaced,
    why_ended,
)
from kit.kube.protocol import Json
from kit.kube.quantities import bytes_of
from kit.parsing import Malformed, json_object, number
from kit.stamps import seconds_of
from kit.text import MESSAGE_MAX_CHARS, clean, name

_HELD: Final = "true"


def pod_from(item: Json) -> Pod | None:
    """A pod of a pool; None for one of another role."""
    metadata, spec, status = item["metadata"], item.get("spec") or {}, status_of(item)
    labels, annotations = metadata.get("labels") or {}, metadata.get("annotations") or {}
    role, node_id = labels.get(names.LABEL_ROLE), _number(labels.get(names.LABEL_NODE))
    if role not in (names.BROKER_ROLE, names.FORMATTER_ROLE) or node_id < 0:
        return None
    formats_ = role == names.FORMATTER_ROLE
    main = row_named(status.get("containerStatuses"), FORMAT_CONTAINER if formats_ else KAFKA_CONTAINER)
    init = row_named(status.get("initContainerStatuses"), VERIFY_CONTAINER)
    reports = _reports(main, init)
    return Pod(
        name=metadata["name"],
        uid=metadata["uid"],
        resource_version=metadata["resourceVersion"],
        formats=formats_,
        node_id=NodeID(node_id),
        owner_uid=owner_uid(item),
        deleting="deletionTimestamp" in metadata,
        finished=status.get("phase") in FINISHED,
        claim_uids=_listed(annotations.get(names.CLAIM_UIDS)),
        directory_ids=_listed(annotations.get(names.DIRECTORY_IDS)),
        revision=name(annotations.get(REVISION, "")),
        config_name=name(annotations.get(CONFIG, "")),
        ip=address(status.get("podIP", "")),
        host_ip=address(status.get("hostIP", "")),
        node_name=spec.get("nodeName", ""),
        unschedulable=unplaced(status),
        container=effective_state(status, main, init),
        report=next(iter(reports), None),
        beside=next(iter(reports[1:]), _of_kafka(main)),
        gate=str(condition(status, names.UNFENCED_GATE).get("status", "")),
        late=annotations.get(names.LATE) or None,
        needs_late=names.LATE in annotations,
        held=annotations.get(names.HOLD) == _HELD,
        ready=condition(status, "Ready").get("status") == "True",
        replication_tls=annotations.get(REPLICATION_TLS) == "true",
        noted=note_of(annotations.get(names.FOUND_EMPTY)),
        why_ended=why_ended(status),
    )


def _listed(text: object) -> tuple[str, ...]:
    return tuple(name(part) for part in text.split(",")) if isinstance(text, str) else ()


def claim_from(item: Json) -> Claim | None:
    """A claim of a pool; its name identifies its volume, because a restore may lose labels, and never names."""
    metadata, spec = item["metadata"], item.get("spec") or {}
    parts = names.claim_parts(metadata["name"])
    if parts is None:
        return None
    annotations = metadata.get("annotations") or {}
    text = spec.get("resources", {}).get("requests", {}).get("storage", "0")
    size_bytes = bytes_of(text)
    if size_bytes is None:
        raise ValueError(f"its size {text[:60]!r} is not a quantity that this operator can read")
    return Claim(
        name=metadata["name"],
        uid=metadata["uid"],
        resource_version=metadata["resourceVersion"],
        node_id=parts[1],
        index=parts[2],
        generation=parts[3],
        owner_uid=owner_uid(item),
        deleting="deletionTimestamp" in metadata,
        volume_gone=(item.get("status") or {}).get("phase") == "Lost",
        cluster_id=_id(annotations.get(CLUSTER_ID)),
        directory_id=_id(annotations.get(DIRECTORY_ID)),
        requested_bytes=size_bytes,
        retired=annotations.get(PHASE) == RETIRED,
        storage_class=name(spec.get("storageClassName") or ""),
        volume=name(spec.get("volumeName") or ""),
        selected_node=name(annotations.get("volume.kubernetes.io/selected-node", "")),
    )


def kube_node_from(item: Json) -> KubeNode:
    """A node of Kubernetes; without a Ready condition it is not ready."""
    labels = item["metadata"].get("labels") or {}
    return KubeNode(
        name=item["metadata"]["name"],
        ready=condition(item.get("status") or {}, "Ready").get("status") == "True",
        cordoned=bool((item.get("spec") or {}).get("unschedulable")),
        labels=tuple(sorted((key, name(value)) for key, value in labels.items() if isinstance(value, str))),
    )


def support_from(items: Iterable[Json]) -> tuple[Support, ...]:
    """Services, budgets, config maps and revisions: what they are, and which resource owns them."""
    return tuple(_support(item) for item in items)


def _support(item: Json) -> Support:
    metadata = item["metadata"]
    ports = (item.get("spec") or {}).get("ports") or () if item["kind"] == "Service" else ()
    return Support(
        kind=item["kind"],
        name=metadata["name"],
        uid=metadata["uid"],
        resource_version=metadata["resourceVersion"],
        owner_uid=owner_uid(item),
        facts=facts_of(item) if item["kind"] in ("Service", "PodDisruptionBudget") else "",
        foreign=foreign_controller(item) is not None,
        deleting="deletionTimestamp" in metadata,
        node_ports=tuple((str(port.get("name")), int(port["nodePort"])) for port in ports if port.get("nodePort")),
        ingress=_ingress(item) if item["kind"] == "Service" else "",
    )


def _ingress(item: Json) -> str:
    """The address of a load balancer: its host name, or its IP address."""
    rows = ((item.get("status") or {}).get("loadBalancer") or {}).get("ingress") or ()
    row: Json = rows[0] if rows else {}
    return name(row.get("hostname") or "") or address(row.get("ip") or "")


def owner_uid(item: Json) -> str | None:
    """The uid of the pool that controls an object, or None for an object without an owner."""
    owners = item["metadata"].get("ownerReferences") or []
    return next((owner["uid"] for owner in owners if owner.get("kind") == POOLS.kind), None)


def _reports(main: Json | None, init: Json | None) -> list[DisksReport]:
    """What the newest run of each script found, the last one first; of two in one second, Kafka's own container."""
    found = [] if runs(init) else [one for one in (_report(main), _report(init)) if one is not None]
    return sorted(found, key=lambda report: -report.finished_at_s)


def _of_kafka(main: Json | None) -> DisksReport | None:
    """What Kafka's end shows beside a report of the init container: no volume was empty. None if a script ended."""
    row = main or {}
    ended = (row.get("state") or {}).get("terminated") or (row.get("lastState") or {}).get("terminated") or {}
    ended_s = seconds_of(ended.get("finishedAt"))
    if not ended_s or _parsed(ended.get("message", ""), ended_s) is not None:
        return None
    return DisksReport(disks=(), accepted=True, message="", finished_at_s=ended_s)


def _report(row: Json | None) -> DisksReport | None:
    """What the newest run of a script of ours reported; None if it is not known, or Kafka ran, which leaves a log line.

    While a container waits, its last state is that of its newest run, if it is the container that the row is about.
    Otherwise another one was made since then, and has not started, or is lost: then the row has no container.
    """
    if row is None or runs(row):
        return None
    ended = (row.get("state") or {}).get("terminated")
    if ended is None:
        ended = (row.get("lastState") or {}).get("terminated") or {}
        if not row.get("containerID") or ended.get("containerID") != row.get("containerID"):
            return None
    report, count = _parsed(ended.get("message", ""), seconds_of(ended.get("finishedAt", ""))), row.get("restartCount")
    if report is None or not isinstance(count, int) or count < 0:
        return report
    return replace(report, run=Run(container=row["name"], number=count))


def _parsed(text: str, finished_at_s: float) -> DisksReport | None:
    try:
        body = json_object(text, max_chars=REPORT_MAX_CHARS)
        script = body.get("script")
        if "volumes" in body and type(script) is int and script > SCRIPT:
            formats.check(script, SCRIPT, "the report of the script that looked at its volumes")
        return DisksReport(
            disks=tuple(map(_row, body["volumes"])),
            accepted=body["accepted"] is True,
            message=clean(str(body["message"]), max_chars=MESSAGE_MAX_CHARS),
            finished_at_s=finished_at_s,
            adopted=body.get("adopted") is True,
        )
    except formats.LaterFormat:
        raise
    except (ValueError, KeyError, TypeError):
        return None


def _row(row: Json) -> DiskRow:
    node_id = _number(str(row["nodeID"]))
    return DiskRow(
        index=number(str(row["index"])),
        found=DiskFound(row["found"]),
        cluster_id=_id(row["clusterID"] or None),
        node_id=node_id if node_id >= 0 else None,
        directory_id=_id(row["directoryID"] or None),
    )


def _number(text: object) -> int:
    """A number that we wrote; -1 if the object is not ours."""
    try:
        return number(text)
    except Malformed:
        return -1


def _id(text: object) -> str | None:
    """An id that we wrote. A malformed one is kept as a value that equals no id, because it is a difference."""
    return None if text is None else name(text)
