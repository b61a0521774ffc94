"""What can be wrong with a spec, part by part: each function yields a `FieldFault` per thing wrong, in one sentence.

Everything that the CRD's rules say is said again here, with the same sentences: the CRD in the cluster may be older
than the operator, and the API server lets a value that was stored before a rule existed stand.
"""

import re
from collections.abc import Iterator, Mapping

from kafka_quorum.api import properties, rules, template
from kafka_quorum.api.features import missing_dependency, resolve_level
from kafka_quorum.api.jvm import refused
from kafka_quorum.api.podfields import is_object_name
from kafka_quorum.api.release import OLDEST, parse_release
from kafka_quorum.api.spec import (
    ControllersSpec,
    FeaturesSpec,
    JvmSpec,
    KafkaQuorumSpec,
    KafkaSpec,
    ListenerSpec,
    StorageSpec,
)
from kafka_quorum.model.desired import FieldFault
from kafka_quorum.model.ids import usable_uuid, uuid_to_bytes
from kit.crd.rule import Rule
from kit.kube.quantities import bytes_of, whole_bytes

CONTROLLERS = "spec.controllers"


def spec_faults(spec: KafkaQuorumSpec, allowed: frozenset[str] = frozenset()) -> Iterator[FieldFault]:
    """Everything wrong with a spec as it stands, without looking at what was there before.

    `allowed` are exceptions from the policy for pods (`podpolicy`).
    """
    if spec.cluster_id and not _usable_cluster_id(spec.cluster_id):
        yield _fault("spec.clusterID", rules.CLUSTER_ID_FORM)
    if spec.bootstrap.mode == "Adopt":
        yield from _adopt_faults(spec)
    yield from _kafka_faults(spec.kafka)
    yield from _controllers_faults(spec.controllers, allowed)


def _adopt_faults(spec: KafkaQuorumSpec) -> Iterator[FieldFault]:
    """What is taken over has to be named: nothing is guessed from disks."""
    if not spec.cluster_id:
        yield _sentence("spec.clusterID", "bootstrap mode Adopt needs the cluster id that the disks have: name it")
    if not spec.controllers.node_ids:
        needs = "bootstrap mode Adopt needs the node ids that the disks have: name them"
        yield _sentence(f"{CONTROLLERS}.nodeIDs", needs)


def name_faults(name: str) -> Iterator[FieldFault]:
    """Whether host names and a service can be made from the resource's name."""
    if len(name) > rules.NAME_LIMIT:
        yield _fault("metadata.name", rules.NAME_TOO_LONG)
    if re.fullmatch(rules.NAME_FORM, name) is None:
        yield _fault("metadata.name", rules.NAME_NO_LABEL)


def _usable_cluster_id(text: str) -> bool:
    try:
        return usable_uuid(uuid_to_bytes(text))
    except ValueError:
        return False


def _kafka_faults(kafka: KafkaSpec) -> Iterator[FieldFault]:
    release = parse_release(kafka.version)
    if release is None:
        yield _fault("spec.kafka.version", rules.VERSION_FORM)
    elif release < OLDEST:
        yield _fault("spec.kafka.version", rules.VERSION_TOO_OLD)
    else:
        yield from _feature_faults(kafka.features, release)
    if re.fullmatch(rules.IMAGE_SHAPE, kafka.image) is None:
        yield _fault("spec.kafka.image", rules.IMAGE_FORM)
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
            yield _sentence(field, f"{entry.name} is named twice: keep one of the two levels")
        else:
            resolved[entry.name] = level
    missing = missing_dependency(resolved)
    if missing is not None:
        yield _sentence("spec.kafka.features.levels", missing)


def _config_faults(field: str, config: Mapping[str, str]) -> Iterator[FieldFault]:
    for key, value in config.items():
        place = f"{field}.{key}" if properties.well_formed_key(key) else field
        if properties.owned(key):
            yield _sentence(
                place, f"{key} belongs to the operator: remove it; the spec has fields for what can be chosen"
            )
        elif not properties.well_formed_key(key):
            yield _sentence(place, f"{key!r}: {rules.CONFIG_KEYS.message}")
        if properties.has_line_break(value):
            yield _fault(place, rules.CONFIG_LINES)
        elif key in properties.MILLISECONDS and re.fullmatch(r"[1-9][0-9]{0,8}", value) is None:
            yield _sentence(place, f"{value!r} is no number of milliseconds above zero: write for example 2000")


def _controllers_faults(controllers: ControllersSpec, allowed: frozenset[str]) -> Iterator[FieldFault]:
    if not 1 <= controllers.replicas <= rules.REPLICA_LIMIT:
        yield _fault(f"{CONTROLLERS}.replicas", rules.REPLICAS_RANGE)
    yield from _node_id_faults(controllers)
    yield from _config_faults(f"{CONTROLLERS}.config", controllers.config)
    yield from _listener_faults(controllers.listeners)
    yield from _storage_faults(controllers.storage)
    yield from _jvm_faults(controllers.jvm)
    yield from _template_faults(controllers.template.metadata.labels, controllers.template.metadata.annotations)
    yield from template.spec_faults(f"{CONTROLLERS}.template.spec", controllers.template.spec, allowed)
    yield from _memory_faults(controllers)
    if controllers.replacement.lost_node_after_seconds < rules.SHORTEST_NODE_LOSS_S:
        yield _sentence(
            f"{CONTROLLERS}.replacement.lostNodeAfterSeconds",
            f"must be {rules.SHORTEST_NODE_LOSS_S} or more: a node that restarts is not lost",
        )


def _node_id_faults(controllers: ControllersSpec) -> Iterator[FieldFault]:
    field = f"{CONTROLLERS}.nodeIDs"
    ids = controllers.node_ids
    if ids and len(ids) != controllers.replicas:
        yield _fault(field, rules.NODE_IDS_COUNT)
    if len(set(ids)) != len(ids):
        yield _fault(field, rules.NODE_IDS_UNIQUE)
    if any(not 0 <= node_id <= rules.NODE_ID_LIMIT for node_id in ids):
        yield _fault(field, rules.NODE_IDS_RANGE)


def _listener_faults(listeners: list[ListenerSpec]) -> Iterator[FieldFault]:
    field = f"{CONTROLLERS}.listeners"
    if len(listeners) != 1:
        yield _fault(field, rules.LISTENERS_ONE)
    for index, listener in enumerate(listeners):
        if re.fullmatch(rules.LISTENER_FORM, listener.name) is None:
            yield _fault(f"{field}[{index}].name", rules.LISTENER_NAME)
        if not rules.PORTS[0] <= listener.port <= rules.PORTS[1]:
            yield _fault(f"{field}[{index}].port", rules.LISTENER_PORT)
        if listener.protocol != "PLAINTEXT":
            yield _fault(f"{field}[{index}].protocol", rules.PROTOCOL_LATER)


def _storage_faults(storage: StorageSpec) -> Iterator[FieldFault]:
    size_bytes = bytes_of(storage.size)
    if not size_bytes:
        yield _fault(f"{CONTROLLERS}.storage.size", rules.SIZE_FORM)
    elif whole_bytes(storage.size) is None:
        yield _fault(f"{CONTROLLERS}.storage.size", rules.SIZE_WHOLE)
    elif size_bytes < (bytes_of(rules.SMALLEST_SIZE) or 0):
        yield _sentence(
            f"{CONTROLLERS}.storage.size",
            f"{storage.size} holds no metadata log: set {rules.SMALLEST_SIZE} or more, and 10Gi in production",
        )
    if storage.storage_class_name and not is_object_name(storage.storage_class_name):
        yield _sentence(
            f"{CONTROLLERS}.storage.storageClassName",
            "a storage class has a name of lower-case letters, digits, '-' and '.': correct it",
        )


def _memory_faults(controllers: ControllersSpec) -> Iterator[FieldFault]:
    """A heap that its container cannot hold: the kernel would end Kafka as soon as it is used."""
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
    heap_bytes, smallest = bytes_of(jvm.heap), bytes_of(rules.SMALLEST_HEAP)
    shaped = re.fullmatch(rules.HEAP_SHAPE, jvm.heap) is not None
    if not shaped or heap_bytes is None or smallest is None or heap_bytes < smallest:
        yield _fault(f"{CONTROLLERS}.jvm.heap", rules.HEAP_FORM)
    if any(re.fullmatch(r"-[^\s\x00-\x1f\x7f]+", option) is None for option in jvm.options):
        yield _fault(f"{CONTROLLERS}.jvm.options", rules.OPTION_FORM)
    if any(option.startswith(("-Xmx", "-Xms")) for option in jvm.options):
        yield _fault(f"{CONTROLLERS}.jvm.options", rules.OPTION_HEAP)
    for index, option in enumerate(jvm.options):
        if (why := refused(option)) is not None:
            yield _sentence(f"{CONTROLLERS}.jvm.options[{index}]", f"{option}: {why}")


def _template_faults(labels: Mapping[str, str], annotations: Mapping[str, str]) -> Iterator[FieldFault]:
    field = f"{CONTROLLERS}.template.metadata"
    for part, keys in (("labels", labels), ("annotations", annotations)):
        if any(template.owned_label(key) for key in keys):
            yield _fault(f"{field}.{part}", rules.TEMPLATE_LABELS)
    yield from template.metadata_faults(field, labels, annotations)


def _fault(field: str, rule: Rule) -> FieldFault:
    return FieldFault(field=field, message=rule.message)


def _sentence(field: str, message: str) -> FieldFault:
    return FieldFault(field=field, message=message)
