"""What the status says of the brokers: the contract that they must follow, and whether each registered one does."""

from typing import Any, TypeAlias

from kafka_quorum.api.features import metadata_version_name
from kafka_quorum.model.conformance import conforms
from kafka_quorum.model.known import Known, Unknown
from kafka_quorum.model.names import contract_name
from kafka_quorum.model.registered import BrokerSeen
from kafka_quorum.status.finding import Pass
from kit.conditions.merge import without_none

Json: TypeAlias = dict[str, Any]


def broker_contract(done: Pass, old: Json) -> Json:
    """The stored contract as this look showed it. If it is unknown, what was reported before stays."""
    stored = done.observed.contract
    if not isinstance(stored, Known) or stored.value is None:
        return {"brokerContract": old["brokerContract"]} if "brokerContract" in old else {}
    contract = stored.value.contract
    row = {
        "revision": contract.revision,
        "release": contract.release,
        "configMap": contract_name(done.desired.name),
        "nextStep": contract.next_step,
    }
    return {"brokerContract": row}


def brokers(done: Pass, old: Json) -> Json:
    """One row for each registered broker that is known of. If the list is unknown, the rows before it stay."""
    seen = done.observed.brokers
    if isinstance(seen, Unknown):
        return {"brokers": old["brokers"]} if old.get("brokers") else {}
    rows = [_row(done, broker) for broker in seen.value]
    return {"brokers": rows} if rows else {}


def _row(done: Pass, broker: BrokerSeen) -> Json:
    well, why = (None, "") if done.situation is None else conforms(done.situation, broker)
    row = {
        "nodeID": broker.node_id,
        "release": _release(broker.metadata_max),
        "fenced": broker.fenced,
        "conforms": "Unknown" if well is None else str(well),
        "reason": why or None,
    }
    return without_none(row)


def _release(level: int | None) -> str:
    """The release whose newest metadata.version this is, such as `4.4`; `Unknown` if it is not known."""
    found = None if level is None else metadata_version_name(level)
    return "Unknown" if found is None else found.split("-")[0]
