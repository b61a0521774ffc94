"""Which spec a pass over a pool acts on: the present one, or the last accepted one if the present one has faults. Pure.

An invalid spec blocks changes, never repair. Its `paused` takes effect at once all the same.
"""

from dataclasses import dataclass

from kafka_brokers.api.validation import Present, accepted_before, validate
from kafka_brokers.model.names import DIRECTORY
from kafka_brokers.model.pool import PoolDesired
from kafka_brokers.model.room import Members
from kafka_brokers.observe.snapshot import Snapshot
from kafka_quorum.model.contract import Contract
from kafka_quorum.model.desired import FieldFault
from kafka_quorum.model.pools import tls_hosts
from kafka_quorum.settings import PodException


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """What is acted on: the valid spec, or with `faults` the last accepted one, or nothing."""

    desired: PoolDesired | None
    faults: tuple[FieldFault, ...]


def judge(taken: Snapshot, contract: Contract, allowed: frozenset[PodException]) -> Judged:
    """Validate a resource against its contract, its record and its claims; `allowed` are exceptions for pods."""
    record = taken.record
    tls = record is not None and record.replication_tls
    claimed: dict[int, int] = {}
    for claim in taken.claims:
        if not claim.retired:
            claimed[claim.index] = max(claimed.get(claim.index, 0), claim.requested_bytes)
    volumes = max((len(broker.disks) for broker in record.brokers), default=0) if record is not None else 0
    classes = {claim.index: claim.storage_class for claim in taken.claims if not claim.retired}
    valid = validate(
        taken.resource,
        contract,
        allowed,
        present=Present(
            volumes=volumes,
            claimed_bytes=claimed,
            classes=classes,
            directories=_directories(taken),
            replication_tls=None if record is None else tls,
            members=_members(taken, contract),
        ),
        rivals=dict(taken.rivals),
    )
    if isinstance(valid, PoolDesired):
        return Judged(desired=valid, faults=())
    if taken.accepted_spec is None:
        return Judged(desired=None, faults=valid)
    paused = (taken.resource.get("spec") or {}).get("paused") is True
    earlier = {**taken.resource, "spec": {**taken.accepted_spec, "paused": paused}}
    return Judged(desired=accepted_before(earlier, contract, replication_tls=tls), faults=valid)


def _members(taken: Snapshot, contract: Contract) -> Members:
    """The brokers of the pool for its certificate: those that leave come last, as they do in a plan."""
    brokers = taken.record.brokers if taken.record is not None else ()
    listed = sorted(brokers, key=lambda broker: (broker.leaving, broker.node_id))
    return Members(
        recorded=tuple(broker.node_id for broker in listed),
        taken=frozenset({*dict(taken.taken_ids), *contract.controller_ids}),
        hosts=None if taken.accepted_spec is None else frozenset(tls_hosts(taken.accepted_spec)),
    )


def _directories(taken: Snapshot) -> dict[int, str]:
    """The names of the log directories that brokers which have run were started with, by the index of the volume."""
    started = {broker.revision for broker in taken.record.brokers if broker.ran} if taken.record is not None else set()
    found: dict[int, str] = {}
    for revision in taken.revisions:
        if revision.name in started:
            named = revision.runtime.directories
            found |= {index: named[index] if named else DIRECTORY for index in range(revision.runtime.volumes)}
    return found
