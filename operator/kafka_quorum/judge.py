"""Which spec a pass acts on: the present one, or the last accepted one if the present one has faults. Pure.

An invalid spec blocks changes, never repair. Its fields for pausing, replacing and keeping take effect at once all the
same.
"""

from dataclasses import dataclass, field, replace
from typing import Final

from kafka_quorum.api.validation import accepted_before, validate
from kafka_quorum.model.desired import Desired, FieldFault
from kafka_quorum.model.identity import IdentityRecord
from kafka_quorum.model.names import record_name
from kafka_quorum.model.observed import revision_named
from kafka_quorum.observe.snapshot import Snapshot
from kafka_quorum.resources.stored import ACCEPTED_KEY
from kit.kube.protocol import Json

_CAUTIOUS: Final[Json] = {
    "controllers": {
        "replacement": {"lostDisk": "Manual", "lostNode": "Manual"},
        "storage": {"retentionPolicy": {"whenDeleted": "Retain", "whenScaled": "Retain"}},
    }
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """What is acted on: the valid spec, or with `faults` the last accepted one, or nothing."""

    desired: Desired | None
    faults: tuple[FieldFault, ...]
    spec: Json = field(default_factory=dict)
    """The spec that it came from, as a person wrote it."""


def judge(taken: Snapshot, allowed: frozenset[str]) -> Judged:
    """Validate a resource against what is recorded and claimed; `allowed` are exceptions for pods."""
    ours = (None, taken.resource["metadata"]["uid"])  # what an earlier resource of this name owns has no effect here
    record = taken.record if taken.record_owner_uid in ours else None
    claimed = max((claim.requested_bytes for claim in taken.claims if claim.owner_uid in ours), default=None)
    valid = validate(taken.resource, record=record, claimed_bytes=claimed, allowed=allowed)
    if isinstance(valid, Desired):
        return Judged(desired=_as_it_began(valid, taken, record), faults=(), spec=taken.resource.get("spec") or {})
    applied = taken.spec_of(record.applied_revision if record else None)
    if applied is None:
        return Judged(desired=None, faults=valid)
    present = taken.resource.get("spec") or {}
    if why := taken.accepted_fault or _new_faults(taken, applied, allowed):
        return Judged(desired=None, faults=(*valid, FieldFault(field="spec", message=_no_way_back(why))))
    last = applied if taken.accepted_spec is None else taken.accepted_spec
    earlier = accepted_before({**taken.resource, "spec": _with_policies(last, present)})
    if earlier is None:  # the fault is in the policies: nothing is given up or deleted until they are understood
        earlier = accepted_before({**taken.resource, "spec": _with_policies(last, _CAUTIOUS | _paused(present))})
    if earlier is None:
        return Judged(desired=None, faults=valid)
    return Judged(desired=_as_it_began(earlier, taken, record), faults=valid, spec=last)


def _as_it_began(desired: Desired, taken: Snapshot, record: IdentityRecord | None) -> Desired:
    """The spec; where it does not say how the listener is secured, a quorum that has begun keeps what it began with.

    What a new quorum gets may be another protocol after an upgrade of the operator, before this one has started.
    """
    if record is None or desired.says_protocol:
        return desired
    applied = revision_named(taken.revisions, record.applied_revision)
    began = record.listener or (None if applied is None else applied.runtime.listener)
    if began is None:
        return desired
    listener = replace(desired.runtime.listener, protocol=began.protocol)
    return replace(desired, runtime=replace(desired.runtime, listener=listener))


def _no_way_back(why: str) -> str:
    said = f"this spec is not valid, and the spec accepted before it cannot be used ({why})"
    return f"Did not repair anything: {said}. Correct this spec"


def _new_faults(taken: Snapshot, applied: Json, allowed: frozenset[str]) -> str:
    """What is wrong with the stored spec, and not with the applied one or one that is being rolled; empty if nothing.

    A rule that was added later is broken by these, too, and does not stop a repair. A stored spec with a fault of its
    own was never accepted: it was written into the ConfigMap by hand.
    """
    if taken.accepted_spec is None:
        return ""
    faults = _faults(taken.resource, taken.accepted_spec, allowed)
    nodes = () if taken.record is None else taken.record.nodes
    rolled = {pod.revision for pod in taken.pods} | {node.revision for node in nodes}
    specs = [applied, *(spec for name, spec in taken.specs if name in rolled)]
    known = {field for spec in specs for field in _faults(taken.resource, spec, allowed)} if faults else set()
    new = next((field for field in sorted(faults) if field not in known), None)
    where = f"{ACCEPTED_KEY} in ConfigMap {record_name(taken.resource['metadata']['name'])}"
    return "" if new is None else f"{where} has a spec that this operator does not accept: {new}: {faults[new]}"


def _faults(resource: Json, spec: Json, allowed: frozenset[str]) -> dict[str, str]:
    """The faults of this spec alone, by field."""
    valid = validate({"metadata": resource["metadata"], "spec": spec}, allowed=allowed)
    return {} if isinstance(valid, Desired) else {fault.field: fault.message for fault in valid}


def _paused(spec: Json) -> Json:
    return {"paused": spec.get("paused") is True}


def _with_policies(applied: Json, present: Json) -> Json:
    """The last accepted spec, with the present fields for pausing, replacing and keeping: those take effect at once."""
    earlier, now = _object(applied, "controllers"), _object(present, "controllers")
    storage = {**_object(earlier, "storage"), **_only(_object(now, "storage"), "retentionPolicy")}
    controllers = {**earlier, **_only(now, "replacement"), "storage": storage}
    return {**applied, **_paused(present), "controllers": controllers}


def _object(parent: Json, name: str) -> Json:
    value = parent.get(name)
    return value if isinstance(value, dict) else {}


def _only(parent: Json, name: str) -> Json:
    return {name: parent[name]} if name in parent else {}
