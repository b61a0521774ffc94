"""Faults of a spec that need more than its rules: several fields, a table of releases, or Kafka's own behaviour.

Each function yields one `FieldFault` per fault, in one sentence.
"""

import re
from collections.abc import Iterator, Mapping

from kafka_quorum.api import properties, rules, template
from kafka_quorum.api.features import missing_dependency, resolve_level
from kafka_quorum.api.jvm import refused
from kafka_quorum.api.podfields import is_object_name
from kafka_quorum.api.release import OLDEST, parse_release
from kafka_quorum.api.spec import ControllersSpec, FeaturesSpec, JvmSpec, KafkaQuorumSpec, KafkaSpec, StorageSpec
from kafka_quorum.model.desired import FieldFault
from kafka_quorum.model.pools import RENAMING
from kit.crd.model import camel, wrongs
from kit.kube.quantities import bytes_of, whole_bytes

CONTROLLERS = "spec.controllers"
CERT_MANAGER_LIFE_S = 3600
CERT_MANAGER_BEFORE_S = 300
"""The shortest that cert-manager accepts."""


def spec_faults(spec: KafkaQuorumSpec, allowed: frozenset[str] = frozenset()) -> Iterator[FieldFault]:
    """Every fault of a spec as it stands, without a comparison with an earlier one.

    `allowed` are exceptions from the policy for pods (`podpolicy`).
    """
    for wrong in wrongs(spec, "spec"):
        yield FieldFault(field=wrong.place, message=wrong.message)
    if spec.bootstrap.mode == "Adopt":
        yield from _adopt_faults(spec)
    yield from _zookeeper_faults(spec)
    yield from _kafka_faults(spec.kafka)
    yield from _properties_faults(spec)
    yield from _security_faults(spec)
    if rules.JMX_PORT_TAKEN.holds is not None and not rules.JMX_PORT_TAKEN.holds(spec):
        yield _sentence(f"{CONTROLLERS}.listeners", rules.JMX_PORT_TAKEN.message)
    yield from _controllers_faults(spec.controllers, allowed)


def _adopt_faults(spec: KafkaQuorumSpec) -> Iterator[FieldFault]:
    """What is adopted must be named in the spec: nothing is guessed from disks."""
    if not spec.cluster_id:
        yield _sentence("spec.clusterID", "bootstrap mode Adopt needs the cluster id that the disks have: set it")
    if not spec.controllers.node_ids:
        needs = "bootstrap mode Adopt needs the node ids that the disks have: set them"
        yield _sentence(f"{CONTROLLERS}.nodeIDs", needs)


def _security_faults(spec: KafkaQuorumSpec) -> Iterator[FieldFault]:
    """An authorizer is configured in one place, and needs clients that are known."""
    if spec.security.authorizer.type != "Standard":
        return
    for where, config in (("spec.kafka.config", spec.kafka.config), (f"{CONTROLLERS}.config", spec.controllers.config)):
        for key in ("authorizer.class.name", "super.users"):
            if key in config:
                said = "spec.security.authorizer sets it: remove it, and list other super users in spec.security"
                yield _sentence(f"{where}.{key}", said)
        for key in sorted(RENAMING & config.keys()):
            said = "with an authorizer it would give the servers other names than those in super.users: remove it"
            yield _sentence(f"{where}.{key}", said)
    if any(one.protocol == "PLAINTEXT" for one in spec.controllers.listeners):
        yield anonymous()


def anonymous() -> FieldFault:
    """An authorizer whose clients have no names."""
    said = "with PLAINTEXT every client is anonymous: use SSL or SASL_SSL for the controllers, or None here"
    return _sentence("spec.security.authorizer.type", said)


def listener_faults(spec: KafkaQuorumSpec) -> Iterator[FieldFault]:
    """A setting of one listener is stronger than what the operator writes: the spec must not change its trust."""
    names = [one.name.lower() for one in spec.controllers.listeners]
    for where, config in (("spec.kafka.config", spec.kafka.config), (f"{CONTROLLERS}.config", spec.controllers.config)):
        for key in sorted(config):
            if any(key.startswith((f"listener.name.{name}.ssl.", f"listener.name.{name}.sasl.")) for name in names):
                said = "the operator alone sets what this listener trusts and who may log in: remove it"
                yield _sentence(f"{where}.{key}", said)


def _zookeeper_faults(spec: KafkaQuorumSpec) -> Iterator[FieldFault]:
    """What a migration from ZooKeeper needs, and what contradicts it."""
    beside, where = spec.zookeeper, "spec.zookeeper"
    if spec.bootstrap.mode != "ZooKeeper":
        if beside.connect or beside.finalize or beside.roll_back or beside.dry_run:
            yield _sentence(where, "it is for bootstrap mode ZooKeeper only: remove it, or set spec.bootstrap.mode")
        return
    if re.fullmatch(CONNECT, beside.connect) is None:
        said = "write the brokers' zookeeper.connect, as zk-0:2181,zk-1:2181,zk-2:2181/kafka"
        yield _sentence(f"{where}.connect", f"{beside.connect!r} is no address of ZooKeeper: {said}")
    if beside.secret_name and not is_object_name(beside.secret_name):
        yield _sentence(f"{where}.secretName", "it is no name of a Secret: correct it")
    if beside.finalize and beside.roll_back:
        yield _sentence(where, "finalize and rollBack contradict each other: set one of them to false")


CONNECT = r"[A-Za-z0-9._-]+(:[0-9]{1,5})?(,[A-Za-z0-9._-]+(:[0-9]{1,5})?)*(/[A-Za-z0-9._/-]*[A-Za-z0-9._-])?"


def name_faults(name: str) -> Iterator[FieldFault]:
    """Whether host names and a service can be made from the resource's name."""
    for rule in (rules.NAME_TOO_LONG, rules.NAME_NO_LABEL):
        for wrong in rule.broken(name, "metadata.name"):
            yield FieldFault(field=wrong.place, message=wrong.message)


def issuer_faults(name: str, spec: KafkaQuorumSpec) -> Iterator[FieldFault]:
    """What cert-manager would refuse; and Secrets that the operator itself writes, which are no sources."""
    issuer = spec.security.controllers.issuer
    lives = spec.security.controllers
    short = lives.leaf_seconds < CERT_MANAGER_LIFE_S or 0 < lives.renew_before_seconds < CERT_MANAGER_BEFORE_S
    if issuer.type == "CertManager" and short:
        said = "cert-manager issues for an hour or longer, and renews 5 minutes before the end or earlier"
        enough = f"set {CERT_MANAGER_LIFE_S} or more, and {CERT_MANAGER_BEFORE_S} or more in renewBeforeSeconds, or 0"
        yield _sentence("spec.security.controllers.leafSeconds", f"{said}: {enough}")
    own = re.compile(rf"{re.escape(name)}-(ca|users|scram|(operator|brokers|[0-9]+)-(tls|cert)|brokers-(tls|cert)\..*)")
    for field in ("controllers_secret_name", "operator_secret_name", "brokers_secret_name", "trust_secret_name"):
        if own.fullmatch(getattr(issuer, field)):
            where = f"spec.security.controllers.issuer.{camel(field)}"
            yield _sentence(where, "the operator itself writes this Secret: name the one that the issuer fills")
    for where, named in (
        ("spec.security.controllers.usersSecretName", lives.users_secret_name),
        ("spec.security.brokers.scramUsersSecretName", spec.security.brokers.scram_users_secret_name),
    ):
        if own.fullmatch(named):
            yield _sentence(where, "the operator itself writes the Secret of this name: choose another one")


def _kafka_faults(kafka: KafkaSpec) -> Iterator[FieldFault]:
    release = parse_release(kafka.version)
    if release is not None and release >= OLDEST:
        yield from _feature_faults(kafka.features, release)
    if kafka.features.soak_seconds < 0:
        yield _sentence("spec.kafka.features.soakSeconds", "must be zero or more seconds")
    yield from _config_faults("spec.kafka.config", kafka.config)


def _feature_faults(features: FeaturesSpec, release: tuple[int, int, int]) -> Iterator[FieldFault]:
    resolved: dict[str, int] = {}
    for index, entry in enumerate(features.levels):
        field = f"spec.kafka.features.levels[{index}]"
        level = resolve_level(entry.name, entry.level, release)
        if isinstance(level, str):
            yield _sentence(field, level)
        elif entry.name in resolved:
            yield _sentence(field, f"{entry.name} is listed twice: keep one of the two levels")
        else:
            resolved[entry.name] = level
    missing = missing_dependency(resolved)
    if missing is not None:
        yield _sentence("spec.kafka.features.levels", missing)


def _config_faults(field: str, config: Mapping[str, str]) -> Iterator[FieldFault]:
    for key in properties.MILLISECONDS & config.keys():
        value = config[key]
        if not properties.has_line_break(value) and re.fullmatch(r"[1-9][0-9]{0,8}", value) is None:
            said = f"{value!r} is not a number of milliseconds above zero: write for example 2000"
            yield _sentence(f"{field}.{key}", said)


def _properties_faults(spec: KafkaQuorumSpec) -> Iterator[FieldFault]:
    """Server properties that no ConfigMap can hold: one ConfigMap holds those of every controller."""
    config = {**spec.kafka.config, **spec.controllers.config}
    size_bytes = properties.most_bytes(config) * spec.controllers.replicas
    if size_bytes > properties.MAX_BYTES:
        yield _sentence(
            f"{CONTROLLERS}.config",
            f"the server properties of {spec.controllers.replicas} controllers take up to {size_bytes} bytes, and "
            f"their ConfigMap has room for {properties.MAX_BYTES}: shorten them, here or in spec.kafka.config",
        )


def _controllers_faults(controllers: ControllersSpec, allowed: frozenset[str]) -> Iterator[FieldFault]:
    yield from _config_faults(f"{CONTROLLERS}.config", controllers.config)
    yield from _storage_faults(controllers.storage)
    yield from _jvm_faults(controllers.jvm)
    yield from _template_faults(controllers.template.metadata.labels, controllers.template.metadata.annotations)
    yield from template.spec_faults(f"{CONTROLLERS}.template.spec", controllers.template.spec, allowed)
    yield from template.options_faults(
        f"{CONTROLLERS}.jvm.options", controllers.jvm.options, controllers.template.spec, allowed
    )
    yield from _memory_faults(controllers)
    if controllers.replacement.lost_node_after_seconds < rules.SHORTEST_NODE_LOSS_S:
        yield _sentence(
            f"{CONTROLLERS}.replacement.lostNodeAfterSeconds",
            f"must be {rules.SHORTEST_NODE_LOSS_S} or more, because a Kubernetes node that restarts is not lost",
        )


def _storage_faults(storage: StorageSpec) -> Iterator[FieldFault]:
    size_bytes = whole_bytes(storage.size)
    if size_bytes and size_bytes < (bytes_of(rules.SMALLEST_SIZE) or 0):
        yield _sentence(
            f"{CONTROLLERS}.storage.size",
            f"{storage.size} is too small for a log: set {rules.SMALLEST_SIZE} or more (10Gi in production)",
        )
    if storage.storage_class_name and not is_object_name(storage.storage_class_name):
        yield _sentence(
            f"{CONTROLLERS}.storage.storageClassName",
            "the name of a storage class has only lower-case letters, digits, '-' and '.': correct it",
        )


def _memory_faults(controllers: ControllersSpec) -> Iterator[FieldFault]:
    """A heap that its container cannot hold: the kernel would kill Kafka as soon as the heap is used."""
    heap_bytes = bytes_of(controllers.jvm.heap)
    limit_bytes = template.memory_limit_bytes(controllers.template.spec)
    if heap_bytes is not None and limit_bytes is not None and heap_bytes >= limit_bytes:
        place = f"{CONTROLLERS}.template.spec.containers[0].resources.limits.memory"
        yield _sentence(
            f"{CONTROLLERS}.jvm.heap",
            f"the heap of {controllers.jvm.heap} does not fit in {place} ({limit_bytes} bytes), and Java needs memory "
            "beside the heap: lower the heap, or raise the limit",
        )


def _jvm_faults(jvm: JvmSpec) -> Iterator[FieldFault]:
    for index, option in enumerate(jvm.options):
        if (why := refused(option)) is not None:
            yield _sentence(f"{CONTROLLERS}.jvm.options[{index}]", f"{option}: {why}")


def _template_faults(labels: Mapping[str, str], annotations: Mapping[str, str]) -> Iterator[FieldFault]:
    field = f"{CONTROLLERS}.template.metadata"
    yield from template.metadata_faults(field, labels, annotations)


def _sentence(field: str, message: str) -> FieldFault:
    return FieldFault(field=field, message=message)
