"""What the status says of the brokers: the contract that they must follow."""

from typing import Any, TypeAlias

from kafka_quorum.model.known import Known
from kafka_quorum.model.names import contract_name
from kafka_quorum.status.finding import Pass

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
