"""The conditions of a pool: SpecAccepted, Ready, Available, Progressing, Degraded. Pure."""

from collections.abc import Iterator, Sequence

from kafka_brokers.model.disks import PoolRecord
from kafka_brokers.model.plan import Severity
from kafka_brokers.status.finding import Pass
from kafka_quorum.model.ids import NodeID
from kafka_quorum.model.known import Known, Unknown
from kit.conditions.finding import Finding, Truth
from kit.conditions.whole import sentence


def findings(done: Pass) -> tuple[Finding, ...]:
    """All conditions, in the order in which people read them."""
    return (ready(done), available(done), progressing(done), degraded(done), spec_accepted(done))


def spec_accepted(done: Pass) -> Finding:
    """Whether the present spec is valid and followed."""
    if done.faults:
        said = "; ".join(f"{fault.field}: {fault.message}" for fault in done.faults)
        return Finding(type="SpecAccepted", truth=Truth.FALSE, reason="InvalidSpec", message=said)
    if done.desired is None:
        said = "the spec is judged when the quorum has published its contract"
        return Finding(type="SpecAccepted", truth=Truth.UNKNOWN, reason="WaitingForQuorum", message=said)
    return Finding(type="SpecAccepted", truth=Truth.TRUE, reason="Valid", message="The spec is valid and followed")


def ready(done: Pass) -> Finding:
    """Whether every requested broker runs from the present spec, is unfenced, and is in every ISR."""
    reason, message = _not_ready(done)
    if reason:
        truth = Truth.UNKNOWN if reason == "Unknown" else Truth.FALSE
        return Finding(type="Ready", truth=truth, reason=reason, message=message)
    count = len(done.requested)
    text = f"{count} of {count} brokers are unfenced, in every ISR of their partitions, and as the spec says"
    return Finding(type="Ready", truth=Truth.TRUE, reason="AllBrokersBack", message=text)


def _not_ready(done: Pass) -> tuple[str, str]:
    """The reason and the sentence; an empty reason if nothing speaks against it."""
    if done.faults:
        return "InvalidSpec", "The spec is not valid: see the condition SpecAccepted"
    record = done.observed.record
    if record is None or done.desired is None:
        first = next(iter(done.plan.waits), None)
        return (first.reason, first.message) if first is not None else ("Starting", "The pool begins")
    if isinstance(done.observed.cluster, Unknown) and done.brokers and all(broker.ran for broker in done.brokers):
        return "Unknown", f"The state of the brokers is not known: {done.observed.cluster.reason}"
    return next(_against(done, record), ("", ""))


def _against(done: Pass, record: PoolRecord) -> Iterator[tuple[str, str]]:
    missing = [node_id for node_id in done.requested if record.broker(NodeID(node_id)) is None]
    if missing:
        yield "Starting", f"Brokers {_ids(missing)} are not made yet"
    for broker in done.brokers:
        if broker.node_id not in done.requested:
            yield "RemovingBroker", f"Broker {broker.node_id} leaves the pool"
        is_, why = done.back(broker)
        if not is_:
            yield "BrokerNotBack", f"Waiting: {why}"
    outdated = [broker.node_id for broker in done.brokers if not done.current(broker)]
    if outdated:
        yield "Rolling", f"Brokers {_ids(outdated)} run from an earlier revision"
    for wait in done.plan.waits:
        if wait.severity is not Severity.PROGRESS and wait.reason != "Paused":
            yield wait.reason, wait.message


def available(done: Pass) -> Finding:
    """Whether every partition that has a replica in this pool has a leader."""
    match done.observed.cluster:
        case Unknown(reason=reason):
            text = f"The partitions are not known: {reason}"
            return Finding(type="Available", truth=Truth.UNKNOWN, reason="PartitionsUnknown", message=text)
        case Known(value=view):
            pass
    ours = {broker.node_id for broker in done.brokers}
    rows = [partition for partition in view.partitions if ours & set(partition.replicas)]
    leaderless = [partition.at for partition in rows if partition.leader is None]
    if leaderless:
        first = ", ".join(map(str, sorted(leaderless)[:5]))
        text = f"{len(leaderless)} of {len(rows)} partitions have no leader ({first})"
        return Finding(type="Available", truth=Truth.FALSE, reason="PartitionsOffline", message=text)
    unfenced = [row.node_id for row in view.registered if row.node_id in ours and not row.fenced]
    if not unfenced:
        text = "No broker of this pool is unfenced"
        return Finding(type="Available", truth=Truth.FALSE, reason="NoBroker", message=text)
    under = [row.at for row in rows if (least := view.min_isr_of(row)) is not None and len(row.isr) < least]
    if under:
        first = ", ".join(map(str, sorted(under)[:5]))
        text = f"{len(under)} of {len(rows)} partitions have fewer in-sync replicas than min.insync.replicas ({first})"
        return Finding(type="Available", truth=Truth.FALSE, reason="PartitionsUnderMinISR", message=text)
    text = f"All {len(rows)} partitions with replicas here have a leader and enough in-sync replicas"
    return Finding(type="Available", truth=Truth.TRUE, reason="PartitionsAvailable", message=text)


def progressing(done: Pass) -> Finding:
    """What is under way, or what holds it."""
    failed = done.failed
    if failed is not None:
        return Finding(type="Progressing", truth=Truth.FALSE, reason="ActionFailed", message=failed.message)
    held = done.of(Severity.HELD)
    if held:
        same = [wait for wait in held if wait.reason == held[0].reason]
        return Finding(type="Progressing", truth=Truth.FALSE, reason=held[0].reason, message=sentence(same))
    moving = done.of(Severity.PROGRESS)
    if moving:
        same = [wait for wait in moving if wait.reason == moving[0].reason]
        return Finding(type="Progressing", truth=Truth.TRUE, reason=moving[0].reason, message=sentence(same))
    degraded_ = done.of(Severity.DEGRADED)
    if degraded_:
        return Finding(type="Progressing", truth=Truth.FALSE, reason=degraded_[0].reason, message=degraded_[0].message)
    return Finding(type="Progressing", truth=Truth.FALSE, reason="Done", message="Nothing is left to do")


def degraded(done: Pass) -> Finding:
    """Whether something is lost or broken."""
    rows = done.of(Severity.DEGRADED)
    if rows:
        same = [wait for wait in rows if wait.reason == rows[0].reason]
        return Finding(type="Degraded", truth=Truth.TRUE, reason=rows[0].reason, message=sentence(same))
    if isinstance(done.observed.leader, Unknown) and any(broker.ran for broker in done.brokers):
        text = f"It is not known who leads the quorum: {done.observed.leader.reason}"
        return Finding(type="Degraded", truth=Truth.UNKNOWN, reason="NoLeader", message=text)
    return Finding(type="Degraded", truth=Truth.FALSE, reason="Healthy", message="Nothing is lost or broken")


def _ids(node_ids: Sequence[int]) -> str:
    return ", ".join(map(str, node_ids))
