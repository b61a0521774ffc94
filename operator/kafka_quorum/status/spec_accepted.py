"""SpecAccepted: every fault of the spec, by field. A spec with faults blocks changes, never repair."""

from collections.abc import Iterable
from dataclasses import replace

from kafka_quorum.model.desired import FieldFault
from kafka_quorum.status.finding import Pass
from kit.conditions.finding import Finding, Truth


def spec_accepted(done: Pass) -> Finding:
    """Whether the spec is valid. An autoscaler that sets the replicas is accepted, and named."""
    found = finding(done.faults)
    if done.autoscaler and not done.faults:
        return replace(found, reason="Autoscaled", message=f"the spec is valid, but {done.autoscaler}")
    return found


def finding(faults: Iterable[FieldFault]) -> Finding:
    """The condition for these faults; it may be the only statement about a resource that never was valid."""
    listed = "; ".join(f"{fault.field}: {fault.message}" for fault in faults)
    if listed:
        return Finding(type="SpecAccepted", truth=Truth.FALSE, reason="InvalidSpec", message=listed)
    return Finding(type="SpecAccepted", truth=Truth.TRUE, reason="Valid", message="the spec is valid")
