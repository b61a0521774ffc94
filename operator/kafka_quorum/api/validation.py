"""A `KafkaQuorum` as the API server holds it, turned into `Desired` or into the list of its faults.

Pure: the answer is a value either way. After it, no builder and no planner has an error path for bad input. Fields that
must not change are compared with the record of the quorum's identity if the caller has one, else with the status.
"""

from collections.abc import Iterator, Mapping
from itertools import chain, islice
from typing import Any, Final, TypeAlias

from kafka_quorum.api import checks, recovery, restarts, rules, words
from kafka_quorum.api.features import resolve_level
from kafka_quorum.api.release import OLDEST, parse_release
from kafka_quorum.api.shapes import FAULTS_MAX, canonical, parsed, part
from kafka_quorum.api.spec import ControllersSpec, FeaturesSpec, KafkaQuorumSpec
from kafka_quorum.api.trust import QuorumSecuritySpec
from kafka_quorum.model.desired import (
    BesideZooKeeper,
    BootstrapMode,
    ControllerListener,
    Cure,
    Desired,
    Downgrade,
    FeatureLevel,
    FeaturePolicy,
    FieldFault,
    Migrate,
    Protocol,
    Replacement,
    Runtime,
    Storage,
    VolumeFate,
)
from kafka_quorum.model.identity import BootstrapPhase, IdentityRecord
from kafka_quorum.model.ids import ClusterID, NodeID
from kafka_quorum.model.registered import BrokerAccess
from kafka_quorum.model.trust import Issuer, IssuerKind, IssuerRef, TrustPolicy
from kafka_quorum.model.zookeeper import ZooKeeperAccess
from kit.crd.rule import Rule
from kit.kept import Kept
from kit.kube.quantities import bytes_of

NEW_PROTOCOL: Final = Protocol.SSL
"""How the listener of a new quorum is secured if its spec does not say."""
_NOT_READ: Final = frozenset({"managedFields", "resourceVersion"})
"""Of the metadata: they change with every write of a status."""
_Validated: TypeAlias = Desired | tuple[FieldFault, ...]
_VALIDATED: Final[Kept[tuple[str, IdentityRecord | None, int | None, frozenset[str]], _Validated]] = Kept(
    8 << 20, lambda key, _: 1_000 + len(key[0])
)
"""Results of earlier passes: nearly every pass sees the spec of the pass before.

At most about eight million characters of what was read: a person decides how long that is.
"""
_PLAIN_MODES: Final = (BootstrapMode.ADOPT.value, BootstrapMode.ZOOKEEPER.value)


def validate(
    resource: Mapping[str, Any],
    *,
    record: IdentityRecord | None = None,
    claimed_bytes: int | None = None,
    allowed: frozenset[str] = frozenset(),
) -> Desired | tuple[FieldFault, ...]:
    """What the resource requests, or its faults, sorted by field and never empty.

    `record` is the quorum's recorded identity, None if there is none yet. `claimed_bytes` is the largest size that one
    of its volume claims requests, None if there are no claims. Fields that must not change are compared with both.
    `allowed` are the exceptions from the policy for pods that the operator is installed with.
    """
    known = (_read_of(resource), record, claimed_bytes, allowed)
    return _VALIDATED.of(known, lambda: _validated(resource, record, claimed_bytes, allowed))


def _read_of(resource: Mapping[str, Any]) -> str:
    """Everything that validation reads of a resource, as text: equal texts have equal results."""
    status = part(resource, "status")
    metadata = {name: value for name, value in part(resource, "metadata").items() if name not in _NOT_READ}
    return canonical([metadata, resource.get("spec"), status.get("clusterID"), status.get("bootstrap")])


def _validated(
    resource: Mapping[str, Any],
    record: IdentityRecord | None,
    claimed_bytes: int | None,
    allowed: frozenset[str],
) -> Desired | tuple[FieldFault, ...]:
    spec = parsed(KafkaQuorumSpec, resource)
    if not isinstance(spec, KafkaQuorumSpec):
        return spec
    name = str(part(resource, "metadata").get("name", ""))
    found = chain(
        checks.name_faults(name),
        checks.issuer_faults(name, spec),
        _trust_faults(spec, record),
        restarts.faults(part(resource, "metadata")),
        words.faults(part(resource, "metadata")),
        recovery.faults(spec.recovery, part(resource, "metadata")),
        _changed_faults(spec, part(resource, "status"), record, claimed_bytes),
        checks.spec_faults(spec, allowed),
    )
    faults = set(islice(found, FAULTS_MAX))
    return tuple(sorted(faults)) if faults else _desired(part(resource, "metadata"), spec)


def accepted_before(resource: Mapping[str, Any]) -> Desired | None:
    """A spec that was accepted once, read by its shape alone: a rule that was added later must not stop its repair.

    None if even its shape is not understood, as after a downgrade of the operator.
    """
    spec = parsed(KafkaQuorumSpec, resource)
    return _desired(part(resource, "metadata"), spec) if isinstance(spec, KafkaQuorumSpec) else None


def _changed_faults(
    spec: KafkaQuorumSpec, status: Mapping[str, Any], record: IdentityRecord | None, claimed_bytes: int | None
) -> Iterator[FieldFault]:
    """Changes that are not allowed, compared with the record; it overrides the status, which any user can edit."""
    cluster_id = status.get("clusterID") if record is None else record.cluster_id
    if cluster_id and _breaks(rules.CLUSTER_ID_CHANGED, spec.cluster_id, cluster_id):
        yield FieldFault(field="spec.clusterID", message=f"{rules.CLUSTER_ID_CHANGED.message} (in use: {cluster_id})")
    mode = part(status, "bootstrap").get("mode") if record is None else record.format.mode.value
    if mode and _breaks(rules.MODE_CHANGED, spec.bootstrap.mode, mode):
        yield FieldFault(field="spec.bootstrap.mode", message=f"{rules.MODE_CHANGED.message} (it was {mode})")
    size = spec.controllers.storage.size
    if claimed_bytes is not None and _breaks(rules.SIZE_SHRUNK, size, str(claimed_bytes)):
        yield FieldFault(
            field="spec.controllers.storage.size",
            message=f"{rules.SIZE_SHRUNK.message} (the volumes have {claimed_bytes} bytes)",
        )


def _trust_faults(spec: KafkaQuorumSpec, record: IdentityRecord | None) -> Iterator[FieldFault]:
    """What contradicts the protocol that the listener has, or gets: a spec without one leaves it as it is."""
    if not spec.controllers.listeners:
        return  # its rule says so
    said = spec.controllers.listeners[0].protocol
    plain = _protocol(spec) is Protocol.PLAINTEXT
    if said is None and record is not None and record.phase is BootstrapPhase.STARTED:
        plain = record.listener is None and record.migration is None
    if not plain:
        yield from checks.listener_faults(spec)
    elif said is None and spec.security.authorizer.type == "Standard":
        yield checks.anonymous()


def _breaks(rule: Rule, value: str, before: object) -> bool:
    return rule.holds_after is not None and not rule.holds_after(value, before)


def _desired(metadata: Mapping[str, Any], spec: KafkaQuorumSpec) -> Desired:
    controllers = spec.controllers
    allowed = controllers.allow_interruption
    return Desired(
        namespace=str(metadata.get("namespace", "")),
        name=str(metadata.get("name", "")),
        uid=str(metadata.get("uid", "")),
        generation=int(metadata.get("generation", 0)),
        paused=spec.paused,
        cluster_id=ClusterID(spec.cluster_id) if spec.cluster_id else None,
        bootstrap=BootstrapMode(spec.bootstrap.mode),
        replicas=controllers.replicas,
        node_ids=tuple(sorted(NodeID(node_id) for node_id in controllers.node_ids)),
        allow_interruption=controllers.replicas == 1 if allowed is None else allowed,
        storage=_storage(controllers),
        replacement=Replacement(
            lost_disk=Cure(controllers.replacement.lost_disk),
            lost_node=Cure(controllers.replacement.lost_node),
            lost_node_after_s=controllers.replacement.lost_node_after_seconds,
        ),
        feature_policy=FeaturePolicy(spec.kafka.features.policy),
        features=_features(spec.kafka.features, spec.kafka.version),
        downgrade=Downgrade(spec.kafka.features.downgrade),
        soak_s=spec.kafka.features.soak_seconds,
        runtime=_runtime(spec, restarts.restarted_at(metadata)),
        broker_access=BrokerAccess(
            bootstrap_servers=tuple(spec.broker_access.bootstrap_servers),
            secret_name=spec.broker_access.secret_name,
            confirmed_revision=spec.broker_access.confirmed_revision,
        ),
        says_protocol=controllers.listeners[0].protocol is not None,
        trust=_trust(spec.security),
        migrate=_migrate(spec),
        hold=words.held(metadata),
        give_up=words.given_up(metadata),
        recovery=recovery.requested(spec.recovery, metadata),
    )


def _trust(security: QuorumSecuritySpec) -> TrustPolicy:
    controllers = security.controllers
    issuer = controllers.issuer
    return TrustPolicy(
        issuer=Issuer(
            kind=IssuerKind(issuer.type),
            ref=IssuerRef(name=issuer.issuer_ref.name, kind=issuer.issuer_ref.kind, group=issuer.issuer_ref.group),
            controllers_secret=issuer.controllers_secret_name,
            operator_secret=issuer.operator_secret_name,
            brokers_secret=issuer.brokers_secret_name,
            trust_secret=issuer.trust_secret_name,
        ),
        leaf_s=controllers.leaf_seconds,
        authority_s=controllers.ca_seconds,
        renew_before_s=controllers.renew_before_seconds,
        renew_authority=controllers.renew_ca,
        users_secret=controllers.users_secret_name,
        scram_users_secret=security.brokers.scram_users_secret_name,
        authorizer=security.authorizer.type == "Standard",
        super_users=tuple(security.authorizer.super_users),
    )


def _migrate(spec: KafkaQuorumSpec) -> Migrate | None:
    """The migration from ZooKeeper; None for a quorum of another mode."""
    if spec.bootstrap.mode != BootstrapMode.ZOOKEEPER.value:
        return None
    beside, listener = spec.zookeeper, spec.zookeeper.inter_broker_listener
    access = ZooKeeperAccess(connect=beside.connect, secret_name=beside.secret_name)
    return Migrate(
        beside=BesideZooKeeper(access=access, listener=listener.name, protocol=listener.protocol),
        dry_run=beside.dry_run,
        finalize=beside.finalize,
        roll_back=beside.roll_back,
    )


def _runtime(spec: KafkaQuorumSpec, restarted_at: str) -> Runtime:
    controllers = spec.controllers
    listener = controllers.listeners[0]
    return Runtime(
        release=spec.kafka.version,
        image=spec.kafka.image,
        config=tuple(sorted({**spec.kafka.config, **controllers.config}.items())),
        listener=ControllerListener(name=listener.name, port=listener.port, protocol=_protocol(spec)),
        heap=controllers.jvm.heap,
        jvm_options=tuple(controllers.jvm.options),
        template_metadata=canonical(
            {
                "annotations": controllers.template.metadata.annotations,
                "labels": controllers.template.metadata.labels,
            }
        ),
        template_spec=canonical(controllers.template.spec),
        restarted_at=restarted_at,
        jmx=spec.metrics.jmx,
    )


def _protocol(spec: KafkaQuorumSpec) -> Protocol:
    """What the spec says, or what a new quorum has: those that it adopts, or puts beside ZooKeeper, have PLAINTEXT."""
    said = spec.controllers.listeners[0].protocol
    if said is not None:
        return Protocol(said)
    return Protocol.PLAINTEXT if spec.bootstrap.mode in _PLAIN_MODES else NEW_PROTOCOL


def _storage(controllers: ControllersSpec) -> Storage:
    storage = controllers.storage
    return Storage(
        size=storage.size,
        size_bytes=bytes_of(storage.size) or 0,
        storage_class=storage.storage_class_name,
        when_deleted=VolumeFate(storage.retention_policy.when_deleted),
        when_scaled=VolumeFate(storage.retention_policy.when_scaled),
    )


def _features(features: FeaturesSpec, version: str) -> tuple[FeatureLevel, ...]:
    release = parse_release(version) or OLDEST
    resolved = ((entry.name, resolve_level(entry.name, entry.level, release)) for entry in features.levels)
    return tuple(
        FeatureLevel(name=name, level=level) for name, level in sorted(resolved, key=_by_name) if isinstance(level, int)
    )


def _by_name(entry: tuple[str, int | str]) -> str:
    return entry[0]
