"""Which quorum is this? Settled before anything else: minted once, rebuilt from its copies, or stopped by a conflict.

The ConfigMap decides. A copy that is missing, or whose phase lags, is repaired from it (`Started` overrides
`Formatting`). Only differing cluster ids, directory ids or claim uids stop the operator, which then names both. If the
ConfigMap is gone, it is rebuilt from the copies. Kafka pods are made only after every copy says `Started`. So in a
quorum without Kafka pods, a single copy that still says `Formatting` proves that none ever ran.
"""

from dataclasses import replace

from kafka_quorum.model.actions import MintIdentity, RecordChange, WriteRecord
from kafka_quorum.model.desired import BootstrapMode, Desired
from kafka_quorum.model.identity import BootstrapPhase
from kafka_quorum.model.ids import ClusterID
from kafka_quorum.model.known import Unknown
from kafka_quorum.model.names import record_name
from kafka_quorum.model.nodes import initial_node_ids, requested_node_ids
from kafka_quorum.model.observed import Observed
from kafka_quorum.model.permit import Permit, Refusal
from kafka_quorum.model.plan import EARLIER_RESOURCE, IDENTITY_CONFLICT, Severity, Wait
from kafka_quorum.plan.facts.formats import format_of, somebody_started
from kafka_quorum.plan.guards.rule8_identity import may_adopt, may_mint, may_mint_beside
from kafka_quorum.plan.identity.conflicts import conflicts_with
from kafka_quorum.plan.identity.rebuilt import forced_start, rebuilt_record
from kafka_quorum.plan.part import Part


def unsettled(desired: Desired, observed: Observed, *, repair_only: bool) -> Part | None:
    """What must happen, or stop, before the identity is settled; None if it is: no copy contradicts the record."""
    if waits := _older_resource(desired, observed):
        return Part(waits=waits)
    if observed.record_fault:
        return _stop("IdentityUnreadable", observed.record_fault)
    record = observed.record
    if record is None:
        return _without_record(desired, observed, repair_only=repair_only)
    if conflicts := conflicts_with(desired, observed, record):
        return _stop(IDENTITY_CONFLICT, "; ".join(conflicts))
    if record.phase is BootstrapPhase.FORMATTING and somebody_started(observed):
        message = "a copy of the identity, or a pod, shows that the quorum has started"
        return Part(exclusive=WriteRecord(record=forced_start(record), change=RecordChange.REBUILT, message=message))
    return None


def _without_record(desired: Desired, observed: Observed, *, repair_only: bool) -> Part:
    if desired.bootstrap is BootstrapMode.ADOPT and not _is_known(observed):
        return _adopted(desired, observed, repair_only=repair_only)
    if desired.bootstrap is BootstrapMode.ZOOKEEPER and not _is_known(observed):
        return _beside_zookeeper(desired, observed, repair_only=repair_only)
    verdict = may_mint(observed)
    if isinstance(verdict, Permit):
        if repair_only:
            return Part(verdicts=(verdict,))
        initial = initial_node_ids(desired)
        action = MintIdentity(
            cluster_id=desired.cluster_id,
            format=format_of(desired),
            initial=initial,
            others=tuple(each for each in requested_node_ids(desired, None) if each not in initial),
            permit=verdict,
        )
        return Part(exclusive=action, verdicts=(verdict,))
    rebuilt = rebuilt_record(desired, observed)
    if isinstance(rebuilt, str):
        gone = f"the identity ConfigMap {record_name(desired.name)} is gone, and cannot be rebuilt"
        stopped = _stop("IdentityLost", f"{gone}: {rebuilt}")
        return replace(stopped, verdicts=(verdict,))
    message = "the identity ConfigMap was gone, and is rebuilt from the status, the claims and the pods"
    action_ = WriteRecord(record=rebuilt, change=RecordChange.REBUILT, message=message)
    return Part(exclusive=action_, verdicts=(verdict,))


def _is_known(observed: Observed) -> bool:
    """Whether a copy of an identity of ours exists: then the record is rebuilt from the copies, not from the disks."""
    return observed.status.cluster_id is not None or any(claim.cluster_id is not None for claim in observed.claims)


def _adopted(desired: Desired, observed: Observed, *, repair_only: bool) -> Part:
    """Adopt the claims that a person has prepared; their disks are identified before anything runs on them."""
    verdict = may_adopt(desired, observed)
    if repair_only:
        return Part(verdicts=(verdict,))
    if isinstance(verdict, Refusal):
        wait = Wait(severity=Severity.HELD, reason="AdoptWaits", message=verdict.reason)
        return Part(verdicts=(verdict,), waits=(wait,))
    action = MintIdentity(
        cluster_id=desired.cluster_id, format=format_of(desired), initial=desired.node_ids, others=(), permit=verdict
    )
    return Part(exclusive=action, verdicts=(verdict,))


def _beside_zookeeper(desired: Desired, observed: Observed, *, repair_only: bool) -> Part:
    """A quorum beside ZooKeeper takes the cluster id of its cluster; until it has one, only the preflight is done."""
    verdict = may_mint_beside(desired, observed)
    if repair_only:
        return Part(verdicts=(verdict,))
    seen = observed.zookeeper
    if isinstance(verdict, Refusal) or isinstance(seen, Unknown):
        wait = Wait(severity=Severity.HELD, reason="Preflight", message=verdict.reason)
        return Part(verdicts=(verdict,), waits=(wait,))
    action = MintIdentity(
        cluster_id=ClusterID(seen.value.cluster_id),
        format=format_of(desired),
        initial=requested_node_ids(desired, None),
        others=(),
        permit=verdict,
    )
    return Part(exclusive=action, verdicts=(verdict,))


def _older_resource(desired: Desired, observed: Observed) -> tuple[Wait, ...]:
    """Objects of an older resource of this name are being deleted: they are waited for, never adopted."""
    owned = [
        *((f"claim {claim.name}", claim.owner_uid) for claim in observed.claims),
        *((f"pod {pod.name}", pod.owner_uid) for pod in observed.pods),
        *((f"{item.kind} {item.name}", item.owner_uid) for item in observed.support),
        ("the identity ConfigMap", observed.record_owner_uid),
    ]
    foreign = [name for name, owner in owned if owner is not None and owner != desired.uid]
    if not foreign:
        return ()
    message = f"Waiting for Kubernetes to delete the objects of an earlier resource of this name: {', '.join(foreign)}"
    return (Wait(severity=Severity.PROGRESS, reason=EARLIER_RESOURCE, message=message),)


def _stop(reason: str, message: str) -> Part:
    return Part(waits=(Wait(severity=Severity.DEGRADED, reason=reason, message=f"Did not change anything: {message}"),))
