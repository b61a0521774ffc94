"""A `KafkaBrokerPool` as the API server holds it, turned into `PoolDesired` or into the list of its faults.

Pure: the answer is a value either way. After it, no builder and no planner has an error path for bad input. What must
not change is compared with the brokers' record and claims, if the caller has them.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import chain, islice
from typing import Any, Final

from kafka_brokers.api import checks, tls_checks
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
from kafka_brokers.model.room import Members
from kafka_quorum.api import restarts
from kafka_quorum.api.shapes import FAULTS_MAX, canonical, parsed, part
from kafka_quorum.model.contract import Contract
from kafka_quorum.model.desired import FieldFault
from kafka_quorum.model.ids import NodeID
from kafka_quorum.model.pools import pool_tls_name
from kafka_quorum.settings import PodException
from kit.kube.quantities import bytes_of

__all__ = ["Present", "accepted_before", "needs_late", "validate"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Present:
    """What the brokers of a pool have, and what must not change is compared with.

    `volumes` is the largest number of volumes of a recorded broker, `claimed_bytes` the largest size in bytes that a
    claim of each volume's index requests, `classes` a storage class of such a claim, and `directories` the name of the
    log directory that brokers were started with. `replication_tls` is the record's; None without a record. `members`
    are the brokers for whose names its certificate must have room.
    """

    volumes: int = 0
    claimed_bytes: Mapping[int, int] = field(default_factory=dict)
    classes: Mapping[int, str] = field(default_factory=dict)
    directories: Mapping[int, str] = field(default_factory=dict)
    replication_tls: bool | None = False
    members: Members = field(default_factory=Members)


NOTHING: Final = Present()


def validate(
    resource: Mapping[str, Any],
    contract: Contract,
    allowed: frozenset[PodException] = frozenset(),
    *,
    present: Present = NOTHING,
    rivals: Mapping[str, str] | None = None,
) -> PoolDesired | tuple[FieldFault, ...]:
    """What the resource requests under this contract, or its faults, sorted by field and never empty.

    `allowed` are the exceptions from the policy for pods that the operator is installed with. `rivals` are the prefixes
    of services that older pools use, and the names of these pools (`names.service_prefixes`).
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
            volumes=present.volumes,
            claimed_bytes=present.claimed_bytes,
            classes=present.classes,
            directories=present.directories,
        ),
        checks.rival_faults(str(metadata.get("name", "")), spec, rivals or {}),
        checks.spec_faults(str(metadata.get("name", "")), spec, contract, allowed),
        tls_checks.faults(metadata, spec, contract, replication_tls=present.replication_tls, members=present.members),
    )
    faults = set(islice(found, FAULTS_MAX))
    if faults:
        return tuple(sorted(faults))
    return _desired(metadata, spec, contract, replication_tls=bool(present.replication_tls))


def accepted_before(
    resource: Mapping[str, Any], contract: Contract, *, replication_tls: bool = False
) -> PoolDesired | None:
    """A spec that was accepted once, read by its shape alone: a rule that was added later must not stop its repair.

    None if even its shape is not understood, as after a downgrade of the operator.
    """
    spec = parsed(KafkaBrokerPoolSpec, resource)
    if not isinstance(spec, KafkaBrokerPoolSpec):
        return None
    return _desired(part(resource, "metadata"), spec, contract, replication_tls=replication_tls)


def quorum_of(resource: Mapping[str, Any]) -> str:
    """The name of the quorum whose contract this pool follows; empty if the spec names none."""
    name = part(resource, "spec").get("quorum")
    return name if isinstance(name, str) else ""


def _desired(
    metadata: Mapping[str, Any], spec: KafkaBrokerPoolSpec, contract: Contract, *, replication_tls: bool
) -> PoolDesired:
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
        runtime=_certified(
            replace(_runtime(spec, contract, restarts.restarted_at(metadata)), replication_tls=replication_tls),
            contract,
            pool_tls_name(spec.quorum, str(metadata.get("name", ""))),
        ),
        adopt=spec.adopt,
        certificate_secret=spec.certificate_secret_name,
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
                client_auth=each.client_auth == "Required",
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


def _certified(runtime: BrokerRuntime, contract: Contract, secret: str) -> BrokerRuntime:
    """The same with a certificate of the pool's own, if a listener has TLS.

    Its Secret has all that the contract's has, under the same names. So it is mounted in its place.
    """
    if not (runtime.encrypted and contract.secrets):
        return runtime
    return replace(runtime, secrets=(secret,), certificates=contract.certificates)


def _replaced(contract: Contract) -> frozenset[str]:
    """The properties of which the contract has another value, which counts."""
    return frozenset(key for key in checks.REPLACED if contract.setting(key) is not None)


def _directories(spec: KafkaBrokerPoolSpec) -> tuple[str, ...]:
    """The names of the log directories; empty if all are the usual one."""
    found = tuple(each.directory for each in spec.storage)
    return found if set(found) - {DIRECTORY} else ()
