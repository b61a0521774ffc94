"""What shows how far a recovery is: pods that work on disks, claims with copies, and what the status says. Pure.

The report of a pod comes from a program of ours that has read files of a disk. Such a file may hold anything, so every
value is checked here, and a report that cannot be understood is no report.
"""

from itertools import pairwise
from typing import Any, Final, TypedDict

from kafka_quorum.model import formats, names
from kafka_quorum.model.disk_work import (
    COPY_ROLE,
    REPORT,
    ROLE,
    DiskCopy,
    Worker,
    WorkReport,
    is_copy_name,
    is_work_name,
)
from kafka_quorum.model.ids import DirectoryID, NodeID, ReplicaKey, parse_directory_id
from kafka_quorum.model.journal import RecoveryStage, epoch_from
from kafka_quorum.model.known import Knowable, Known, Unknown
from kafka_quorum.model.memory import Memory
from kafka_quorum.model.pods import Running, Terminated, Waiting
from kafka_quorum.model.quorum import QuorumAnswer
from kafka_quorum.model.surveyed import (
    Beyond,
    EmptyDisk,
    EpochRange,
    EpochStart,
    Found,
    LogEnd,
    LogRead,
    Watermark,
)
from kafka_quorum.resources.meta import foreign_controller
from kafka_quorum.resources.podstatus import (
    FINISHED,
    REPORT_MAX_CHARS,
    object_of,
    row_named,
    state_of,
    status_of,
    unschedulable,
)
from kafka_quorum.resources.recovery import WORK_CONTAINER
from kit.kube.protocol import Json
from kit.parsing import INT32_MAX, INT64_MAX, Malformed, json_object
from kit.stamps import seconds_of
from kit.text import MESSAGE_MAX_CHARS, clean, name

_VOTERS_MAX: Final = 64
_ROWS_MAX: Final = 100
"""The most epochs, types or topics in a report."""
_STAGES: Final = frozenset(stage.value for stage in RecoveryStage)


class _Recovery(TypedDict):
    recovery_epoch: int
    recovering: bool


def is_worker(item: Json, quorum: str) -> bool:
    """Whether a pod has the role and a name of those that work on disks of this quorum."""
    labels = item["metadata"].get("labels") or {}
    ours = is_work_name(quorum, item["metadata"]["name"]) and foreign_controller(item) is None
    return ours and labels.get(names.LABEL_ROLE) == ROLE


def is_copy(item: Json, quorum: str) -> bool:
    """Whether a claim has the role and the name of one that holds a copy."""
    labels = item["metadata"].get("labels") or {}
    ours = is_copy_name(quorum, item["metadata"]["name"]) and foreign_controller(item) is None
    return ours and labels.get(names.LABEL_ROLE) == COPY_ROLE


def worker_from(item: Json) -> Worker:
    """A pod that works on a disk. Raises `LaterFormat` if a later version made its report."""
    metadata, status = item["metadata"], status_of(item)
    row = row_named(status.get("containerStatuses"), WORK_CONTAINER)
    state = state_of(row)
    ended = state if isinstance(state, Terminated) else None
    return Worker(
        name=metadata["name"],
        uid=metadata["uid"],
        resource_version=metadata["resourceVersion"],
        deleting="deletionTimestamp" in metadata,
        finished=status.get("phase") in FINISHED,
        finished_at_s=0.0 if ended is None else seconds_of(ended.finished_at),
        node_name=(item.get("spec") or {}).get("nodeName", ""),
        why=_why(status, state if isinstance(state, Waiting) else None),
        report=None if ended is None else report_from(ended.message),
        running=isinstance(state, Running),
        created_at_s=seconds_of(str(metadata.get("creationTimestamp") or "")),
        bound_to=_bound_to(item.get("spec") or {}),
        unschedulable=bool(unschedulable(status)),
    )


def _bound_to(spec: Json) -> str:
    """The only Kubernetes node on which a pod may run, as its required affinity names it; empty for any."""
    required: Any = spec
    for field in ("affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution", "nodeSelectorTerms"):
        required = required.get(field) if isinstance(required, dict) else None
    terms = required if isinstance(required, list) and len(required) == 1 else [{}]
    fields = terms[0].get("matchFields") if isinstance(terms[0], dict) else None
    values = [value for row in fields or () if row.get("key") == "metadata.name" for value in row.get("values") or ()]
    return str(values[0]) if len(values) == 1 else ""


def _why(status: Json, waiting: Waiting | None) -> str:
    """What keeps a pod from starting, in the scheduler's or the kubelet's words; empty if nothing does."""
    if text := unschedulable(status):
        return f"no Kubernetes node can run its pod: {text}"
    if status.get("phase") == "Failed" and not status.get("containerStatuses"):
        said = f"{status.get('reason') or 'no reason'} ({status.get('message') or 'and no message'})"
        return f"its pod was refused: {clean(said, max_chars=MESSAGE_MAX_CHARS)}"
    if waiting is None or waiting.reason in ("", "ContainerCreating", "PodInitializing"):
        return ""
    return f"its pod does not start: {waiting.reason}" + (f" ({waiting.message})" if waiting.message else "")


def copy_from(item: Json) -> DiskCopy:
    """A claim that holds a copy."""
    metadata = item["metadata"]
    annotations = metadata.get("annotations") or {}
    return DiskCopy(
        name=metadata["name"],
        uid=metadata["uid"],
        resource_version=metadata["resourceVersion"],
        epoch=epoch_from(annotations.get(names.RECOVERY)),
        deleting="deletionTimestamp" in metadata,
        bound=(item.get("status") or {}).get("phase") == "Bound",
    )


def report_from(text: str) -> WorkReport | None:
    """A report of a pod; None if the text is none. Raises `LaterFormat` for one of a later version."""
    try:
        body = json_object(text, max_chars=REPORT_MAX_CHARS)
    except Malformed:
        return None
    if type(body.get("report")) is int:
        formats.check(body["report"], REPORT, "the report of a pod that works on a disk")
    try:
        return WorkReport(
            done=body["done"] is True,
            found=_found(body),
            digest=name(body.get("digest") or ""),
            message=clean(str(body.get("message") or ""), max_chars=MESSAGE_MAX_CHARS),
            beyond=_beyond(object_of(body["beyond"])) if body["found"] == "compared" else None,
        )
    except (KeyError, TypeError, ValueError):
        return None


def _found(body: Json) -> Knowable[Found]:
    match body["found"]:
        case "log":
            return Known(value=_log(object_of(body["log"])))
        case "empty":
            return Known(value=EmptyDisk())
        case "compared":
            return Unknown(reason="its pod only compared it")
        case _:
            said = clean(str(body.get("message") or ""), max_chars=MESSAGE_MAX_CHARS)
            return Unknown(reason=said or "its pod could not read it")


def _log(body: Json) -> LogRead:
    """A log that was read; ValueError, KeyError or TypeError if a value is impossible."""
    checkpoint, damaged, directory = body["checkpoint"], body["damagedAt"], body["directoryID"]
    voters = body["voters"]
    if not isinstance(voters, list) or len(voters) > _VOTERS_MAX:
        raise ValueError(f"it lists more than {_VOTERS_MAX} voters")
    return LogRead(
        cluster_id=name(body["clusterID"]),
        node_id=NodeID(_whole(body["nodeID"], INT32_MAX)),
        directory_id=None if directory is None else parse_directory_id(directory),
        leader_epoch=_whole(body["leaderEpoch"], INT32_MAX),
        end=LogEnd(epoch=_whole(body["lastEpoch"], INT32_MAX), offset=_whole(body["endOffset"], INT64_MAX)),
        checkpoint=None if checkpoint is None else _end(checkpoint),
        torn_bytes=_whole(body["tornBytes"], INT64_MAX),
        damaged_at=None if damaged is None else _whole(damaged, INT64_MAX),
        voters=tuple(sorted(map(_key, voters))),
        kraft_version=_whole(body["kraftVersion"], INT32_MAX),
        epochs=_epochs(body.get("epochs", [])),
    )


def _rows(rows: object) -> list[Any]:
    if not isinstance(rows, list) or len(rows) > _ROWS_MAX:
        raise ValueError(f"it lists more than {_ROWS_MAX} rows")
    return rows


def _epochs(rows: object) -> tuple[EpochStart, ...]:
    """The leader epochs of a log, both numbers ascending; ValueError if they are not, as in no log."""
    found = tuple(
        EpochStart(epoch=_whole(epoch, INT32_MAX), offset=_whole(offset, INT64_MAX)) for epoch, offset in _rows(rows)
    )
    if any(next_.epoch <= one.epoch or next_.offset <= one.offset for one, next_ in pairwise(found)):
        raise ValueError("its leader epochs are not in order")
    return found


def _beyond(body: Json) -> Beyond:
    """What a log has more than another one; ValueError, KeyError or TypeError if a value is impossible."""
    shared, first, last = body["shared"], body["first"], body["last"]
    return Beyond(
        end=_end(body["end"]),
        shared=None if shared is None else _end(shared),
        records=_whole(body["records"], INT64_MAX),
        undecided=_whole(body["undecided"], INT64_MAX),
        unread=_whole(body["unread"], INT64_MAX),
        whole=body["whole"] is True,
        first=None if first is None else _whole(first, INT64_MAX),
        last=None if last is None else _whole(last, INT64_MAX),
        epochs=tuple(map(_range, _rows(body["epochs"]))),
        types=tuple((name(kind), _whole(records, INT64_MAX)) for kind, records in _rows(body["types"])),
        topics=tuple(name(each) for each in _rows(body["topics"])),
        topics_total=_whole(body["topicsTotal"], INT64_MAX),
    )


def _range(row: Any) -> EpochRange:  # noqa: ANN401 - any JSON
    epoch, first, last, records = row
    return EpochRange(
        epoch=_whole(epoch, INT32_MAX),
        first=_whole(first, INT64_MAX),
        last=_whole(last, INT64_MAX),
        records=_whole(records, INT64_MAX),
    )


def _end(row: Any) -> LogEnd:  # noqa: ANN401 - any JSON
    return LogEnd(epoch=_whole(row["epoch"], INT32_MAX), offset=_whole(row["offset"], INT64_MAX))


def _key(row: Any) -> ReplicaKey:  # noqa: ANN401 - any JSON
    directory: DirectoryID = parse_directory_id(row["directoryID"])
    return ReplicaKey(node_id=NodeID(_whole(row["nodeID"], INT32_MAX)), directory_id=directory)


def _whole(value: object, high: int) -> int:
    if type(value) is not int or not 0 <= value <= high:
        raise ValueError("a number is missing, or out of its range")
    return value


def watermark_from(row: Json) -> Watermark | None:
    """The last high watermark in the status of the quorum."""
    epoch, offset = row.get("lastLeaderEpoch"), row.get("lastHighWatermark")
    if type(epoch) is not int or type(offset) is not int or not (0 <= epoch <= INT32_MAX and 0 <= offset <= INT64_MAX):
        return None
    return Watermark(epoch=epoch, offset=offset)


def recovery_from(row: Json) -> _Recovery:
    """How far a recovery was, as the status says: it matters if the identity record is lost."""
    epoch = row.get("epoch")
    return {
        "recovery_epoch": epoch if type(epoch) is int and 0 < epoch <= INT32_MAX else 0,
        "recovering": isinstance(stage := row.get("stage"), str) and stage in _STAGES,
    }


def watermarked(memory: Memory, answer: QuorumAnswer) -> Watermark | None:
    """The last high watermark, after this answer of a leader; -1 means that the leader does not have one yet."""
    if answer.high_watermark < 0:
        return memory.watermark
    return Watermark(epoch=answer.leader_epoch, offset=answer.high_watermark)
