"""Reduces Kubernetes objects, as the API server writes them, to the few facts that decisions need. Pure."""

import re
from typing import Final

from kafka_quorum.model.names import REVISION
from kafka_quorum.resources.podstatus import (
    FINISHED,
    address,
    condition,
    effective_state,
    row_named,
    status_of,
    unplaced,
    why_ended,
)
from kafka_streams.model import names
from kafka_streams.model.observed import Claim, Pod
from kit.kube.protocol import Json
from kit.parsing import Malformed, number
from kit.text import name

_HELD: Final = "true"


def pod_from(item: Json, container: str) -> Pod | None:
    """A pod of an instance, in which `container` runs the application; None if it is none."""
    metadata, status = item["metadata"], status_of(item)
    labels, annotations = metadata.get("labels") or {}, metadata.get("annotations") or {}
    index = _number(labels.get(names.LABEL_INSTANCE))
    if index < 0:
        return None
    return Pod(
        name=metadata["name"],
        uid=metadata["uid"],
        resource_version=metadata["resourceVersion"],
        index=index,
        revision=name(annotations.get(REVISION, "")),
        generation=_number(annotations.get(names.GENERATION)),
        deleting="deletionTimestamp" in metadata,
        finished=status.get("phase") in FINISHED,
        ready=condition(status, "Ready").get("status") == "True",
        ip=address(status.get("podIP", "")),
        container=effective_state(status, row_named(status.get("containerStatuses"), container), None),
        held=annotations.get(names.HOLD) == _HELD,
        unschedulable=unplaced(status),
        why_ended=why_ended(status),
    )


def claim_from(item: Json, application: str) -> Claim | None:
    """A claim of an instance's state; None for one that is neither made nor adopted by us."""
    metadata = item["metadata"]
    found = re.fullmatch(
        rf"{re.escape(application)}-streams-(0|[1-9][0-9]{{0,3}})-g([1-9][0-9]{{0,8}})", metadata["name"]
    )
    if found is None:
        return _adopted_claim(metadata)
    return Claim(
        name=metadata["name"],
        uid=metadata["uid"],
        resource_version=metadata["resourceVersion"],
        index=int(found[1]),
        generation=int(found[2]),
        deleting="deletionTimestamp" in metadata,
    )


def _adopted_claim(metadata: Json) -> Claim | None:
    """A claim with the name that a StatefulSet gave it, and our label and annotation."""
    index = _number((metadata.get("labels") or {}).get(names.LABEL_INSTANCE))
    generation = _number((metadata.get("annotations") or {}).get(names.GENERATION))
    if index < 0 or generation < 0:
        return None
    return Claim(
        name=metadata["name"],
        uid=metadata["uid"],
        resource_version=metadata["resourceVersion"],
        index=index,
        generation=generation,
        deleting="deletionTimestamp" in metadata,
        adopted=True,
    )


def _number(text: object) -> int:
    """A number that we wrote; -1 if the object is not ours."""
    try:
        return number(text)
    except Malformed:
        return -1
