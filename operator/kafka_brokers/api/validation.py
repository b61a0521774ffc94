"""A `KafkaBrokerPool` as the API server holds it, turned into `PoolDesired` or into the list of its faults.

Pure: the answer is a value either way. After it, no builder and no planner has an error path for bad input. What must
not change is compared with the brokers' record and claims, if the caller has them.
"""

from collections.abc import Iterator, Mapping
from itertools import chain, islice
from typing import Any

from kafka_brokers.api import checks
from kafka_brokers.api.properties import is_dynamic
from kafka_brokers.api.spec import KafkaBrokerPoolSpec
from kafka_brokers.model.contracted import needs_late, running_settings
from kafka_brokers.model.names import DIRECTORY
from kafka_brokers.model.pool import (
    BrokerListener,
    BrokerRuntime,
    Cure,
    Drain,
    External,
    Fate,
    PoolDesired,
    Unavailable,
    Volume,
)
from kafka_quorum.api import restarts
from kafka_quorum.api.shapes import FAULTS_MAX, canonical, parsed, part
from kafka_quorum.model.contract import Contract
from kafka_quorum.model.desired import FieldFault
from kafka_quorum.model.ids import NodeID
from kafka_quorum.settings import PodException
from kit.kube.quantities import bytes_of

__all__ = ["accepted_before", "needs_late", "validate"]


def validate(
    resource: Mapping[str, Any],
    contract: Contract,
    allowed: frozenset[PodException] = frozenset(),
    *,
    volumes: int = 0,
    claimed_bytes: Mapping[int, int] | None = None,
    classes: Mapping[int, str] | None = None,
    directories: Mapping[int, str] | None = None,
    rivals: Mapping[str, str] | None = None,
) -> PoolDesired | tuple[FieldFault, ...]:
    """What the resource requests under this contract, or its faults, sorted by field and never empty.

    `allowed` are the exceptions from the policy for pods that the operator is installed with. `volumes` is the largest
    number of volumes of a recorded broker, `claimed_bytes` the largest size in bytes that a claim of each volume's
    index requests, `classes` a storage class of such a claim, and `directories` the name of the log directory that
    brokers were started with. What must not change is compared with them. `rivals` are the prefixes of services that
    older pools use, and the names of these pools (`names.service_prefixes`).
    """
    spec = parsed(KafkaBrokerPoolSpec, resource)
    if not isinstance(spec, KafkaBrokerPoolSpec):
        return spec
    metadata = part(resource, "metadata")
    found: Iterator[FieldFault] = chain(
        checks.name_faults(str(metadata.get("name", ""))),
        restarts.faults(metadata),
        checks.changed_faults(
            spec,
            volumes=volumes,
            claimed_bytes=claimed_bytes or {},
            classes=classes or {},
            directories=directories or {},
        ),
        checks.rival_faults(str(metadata.get("name", "")), spec, rivals or {}),
        checks.spec_faults(str(metadata.get("name", "")), spec, contract, allowed),
    )
    faults = set(islice(found, FAULTS_MAX))
    return tuple(sorted(faults)) if faults else _desired(metadata, spec, contract)


def accepted_before(resource: Mapping[str, Any], contract: Contract) -> PoolDesired | None:
    """A spec that was accepted once, read by its shape alone: a rule that was added later must not stop its repair.

    None if even its shape is not understood, as after a downgrade of the operator.
    """
    spec = parsed(KafkaBrokerPoolSpec, resource)
    return _desired(part(resource, "metadata"), spec, contract) if isinstance(spec, KafkaBrokerPoolSpec) else None


def quorum_of(resource: Mapping[str, Any]) -> str:
    """The name of the quorum whose contract this pool follows; empty if the spec names none."""
    name = part(resource, "spec").get("quorum")
    return name if isinstance(name, str) else ""


def _desired(metadata: Mapping[str, Any], spec: KafkaBrokerPoolSpec, contract: Contract) -> PoolDesired:
    properties = sorted(spec.config.items())
    return PoolDesired(
        namespace=str(metadata.get("namespace", "")),
        name=str(metadata.get("name", "")),
        uid=str(metadata.get("uid", "")),
        generation=int(metadata.get("generation", 0)),
        paused=spec.paused,
        quorum=spec.quorum,
        replicas=spec.replicas,
        first_node_id=NodeID(spec.first_node_id),
        node_ids=tuple(sorted(NodeID(node_id) for node_id in spec.node_ids)),
        volumes=tuple(
            Volume(size=each.size, size_bytes=bytes_of(each.size) or 0, storage_class=each.storage_class)
            for each in spec.storage
        ),
        when_deleted=Fate(spec.retention_policy.when_deleted),
        when_scaled=Fate(spec.retention_policy.when_scaled),
        lost_disk=Cure(spec.replacement.lost_disk),
        lost_node=Cure(spec.replacement.lost_node),
        lost_node_after_s=spec.replacement.lost_node_after_seconds,
        max_unavailable=spec.roll.max_unavailable,
        unavailable=Unavailable(spec.roll.unavailable_partitions),
        drain=Drain(spec.drain),
        throttle_bytes_per_s=spec.throttle_bytes_per_second,
        dynamic=tuple((key, value) for key, value in properties if is_dynamic(key, contract.release)),
        runtime=_runtime(spec, contract, restarts.restarted_at(metadata)),
        adopt=spec.adopt,
    )


def _runtime(spec: KafkaBrokerPoolSpec, contract: Contract, restarted_at: str) -> BrokerRuntime:
    metadata = spec.template.metadata
    return BrokerRuntime(
        release=contract.release,
        image=contract.image,
        contract=running_settings(contract),
        config=tuple(
            (key, value)
            for key, value in sorted(spec.config.items())
            if not is_dynamic(key, contract.release) and key not in _replaced(contract)
        ),
        listeners=tuple(
            BrokerListener(
                name=each.name,
                port=each.port,
                protocol=each.protocol,
                external=External(each.external),
                host=each.host,
                node_port=each.node_port,
            )
            for each in spec.listeners
        ),
        volumes=len(spec.storage),
        heap=spec.jvm.heap,
        jvm_options=tuple(spec.jvm.options),
        template_metadata=canonical({"annotations": metadata.annotations, "labels": metadata.labels}),
        template_spec=canonical(spec.template.spec),
        rack_key=spec.rack.topology_key,
        secrets=contract.secrets,
        restarted_at=restarted_at,
        zookeeper=contract.zookeeper,
        directories=_directories(spec),
    )


def _replaced(contract: Contract) -> frozenset[str]:
    """The properties of which the contract has another value, which counts."""
    return frozenset(key for key in checks.REPLACED if contract.setting(key) is not None)


def _directories(spec: KafkaBrokerPoolSpec) -> tuple[str, ...]:
    """The names of the log directories; empty if all are the usual one."""
    found = tuple(each.directory for each in spec.storage)
    return found if set(found) - {DIRECTORY} else ()
