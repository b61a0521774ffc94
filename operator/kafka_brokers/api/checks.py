"""Faults of a pool's spec that need more than its rules: several fields, the quorum's contract, or Kafka's behaviour.

Each function yields one `FieldFault` per fault, in one sentence.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from kafka_brokers.api import rules
from kafka_brokers.api.properties import owned
from kafka_brokers.api.spec import BrokerListenerSpec, KafkaBrokerPoolSpec, VolumeSpec
from kafka_brokers.model.names import service_prefixes
from kafka_brokers.model.superusers import AUTHORIZER
from kafka_quorum.api import properties, template
from kafka_quorum.api.jvm import refused
from kafka_quorum.api.release import parse_release
from kafka_quorum.api.rules import SMALLEST_SIZE
from kafka_quorum.model.contract import Contract
from kafka_quorum.model.desired import FieldFault
from kit.crd.model import wrongs
from kit.kube.quantities import bytes_of, whole_bytes

OLDEST: Final = (3, 9, 0)
"""The only earlier release from which a cluster migrates from ZooKeeper (KIP-866). What 4.0 answers about brokers and
partitions is put together from several answers there (`observe.metadata`).
"""
AFTER_ZOOKEEPER: Final = (4, 0, 0)
"""The first release without ZooKeeper."""
REPLACED: Final = frozenset({AUTHORIZER})
"""Properties of the spec that the contract replaces for a time: a migration from ZooKeeper changes the authorizer."""
_TEMPLATE: Final = "spec.template.spec"


def name_faults(name: str) -> Iterator[FieldFault]:
    """Whether host names and services can be made from the resource's name."""
    for rule in (rules.NAME_TOO_LONG, rules.NAME_NO_LABEL):
        for wrong in rule.broken(name, "metadata.name"):
            yield FieldFault(field=wrong.place, message=wrong.message)


def spec_faults(
    name: str, spec: KafkaBrokerPoolSpec, contract: Contract, allowed: frozenset[str] = frozenset()
) -> Iterator[FieldFault]:
    """Every fault of a spec as it stands, without a comparison with an earlier one.

    `allowed` are exceptions from the policy for pods (`podpolicy`).
    """
    for wrong in wrongs(spec, "spec"):
        yield FieldFault(field=wrong.place, message=wrong.message)
    for wrong in rules.NODE_IDS_COUNT.broken(spec, ""):
        yield FieldFault(field=wrong.place.removeprefix("."), message=wrong.message)
    yield from _range_faults(spec)
    yield from _listener_faults(name, spec)
    yield from _storage_faults(spec.storage)
    yield from _config_faults(spec)
    yield from _contract_faults(spec, contract)
    yield from _pod_faults(spec, allowed)


def rival_faults(name: str, spec: KafkaBrokerPoolSpec, rivals: Mapping[str, str]) -> Iterator[FieldFault]:
    """Services that an older pool has: pool `a` with listener `B`, and pool `a-b`, both want `a-b-bootstrap`."""
    for prefix in service_prefixes(name, ()):
        if prefix in rivals:
            said = (
                f"pool {rivals[prefix]} has an external listener whose services begin with {prefix}-: use another name"
            )
            yield _sentence("metadata.name", said)
    for index, listener in enumerate(spec.listeners):
        prefix = service_prefixes(name, (listener.name,))[-1]
        if listener.external != "None" and prefix in rivals:
            said = f"pool {rivals[prefix]} has services that begin with {prefix}-: choose another listener name"
            yield _sentence(f"spec.listeners[{index}].name", said)


def changed_faults(
    spec: KafkaBrokerPoolSpec,
    *,
    volumes: int,
    claimed_bytes: Mapping[int, int],
    classes: Mapping[int, str],
    directories: Mapping[int, str],
) -> Iterator[FieldFault]:
    """Changes of volumes that are not allowed, compared with what the brokers have.

    `volumes` is the largest number of volumes of a recorded broker, `claimed_bytes` the largest size that a claim of
    each index requests, `classes` a storage class that a claim of each index has, `directories` the name of the log
    directory that brokers were started with on each volume.
    """
    if len(spec.storage) < volumes:
        said = f"{rules.STORAGE_REMOVED.message} (the brokers have {volumes})"
        yield _sentence("spec.storage", said)
    for index, volume in enumerate(spec.storage):
        size, used = bytes_of(volume.size), claimed_bytes.get(index)
        if size is not None and used is not None and size < used:
            said = f"{rules.STORAGE_SHRUNK.message} (the volumes have {used} bytes)"
            yield _sentence(f"spec.storage[{index}].size", said)
        present = classes.get(index, "")
        if volume.storage_class and present and volume.storage_class != present:
            said = f"{rules.STORAGE_CLASS_CHANGED.message} (the volumes have {present})"
            yield _sentence(f"spec.storage[{index}].class", said)
        if volume.directory != directories.get(index, volume.directory):
            said = f"{rules.STORAGE_DIRECTORY_CHANGED.message} (the volumes have {directories[index]})"
            yield _sentence(f"spec.storage[{index}].directory", said)


def node_ids(spec: KafkaBrokerPoolSpec) -> tuple[int, ...]:
    """The node ids that a spec asks for, as far as it alone decides them."""
    return tuple(sorted(spec.node_ids)) or tuple(range(spec.first_node_id, spec.first_node_id + spec.replicas))


def _range_faults(spec: KafkaBrokerPoolSpec) -> Iterator[FieldFault]:
    """The ranges that the API server checks as minimum and maximum: an older definition may lack them."""
    if spec.throttle_bytes_per_second < 1024:  # noqa: PLR2004 - as in the spec
        yield _sentence("spec.throttleBytesPerSecond", "must be 1024 or more bytes per second")
    if not 1 <= spec.roll.max_unavailable <= rules.REPLICA_LIMIT:
        yield _sentence("spec.roll.maxUnavailable", f"must be 1 to {rules.REPLICA_LIMIT}")
    if spec.replacement.lost_node_after_seconds < rules.SHORTEST_NODE_LOSS_S:
        yield _sentence(
            "spec.replacement.lostNodeAfterSeconds",
            f"must be {rules.SHORTEST_NODE_LOSS_S} or more, because a Kubernetes node that restarts is not lost",
        )


def _listener_faults(name: str, spec: KafkaBrokerPoolSpec) -> Iterator[FieldFault]:
    ids = node_ids(spec)
    for index, listener in enumerate(spec.listeners):
        place = f"spec.listeners[{index}]"
        if listener.external == "None":
            continue
        if len(name) + len(listener.name) > rules.NAME_LIMIT:
            yield _sentence(f"{place}.name", rules.NAME_AND_LISTENERS.message)
        if listener.node_port and ids and listener.node_port + ids[-1] - ids[0] > rules.LARGEST_PORT:
            said = f"the node port of broker {ids[-1]} would be above {rules.LARGEST_PORT}: choose a lower one"
            yield _sentence(f"{place}.nodePort", said)
    yield from _overlap_faults(spec.listeners, ids)


def _overlap_faults(listeners: Sequence[BrokerListenerSpec], ids: tuple[int, ...]) -> Iterator[FieldFault]:
    """Two listeners that need one node port for two brokers: Kubernetes would refuse the second service."""
    taken: dict[int, str] = {}
    for index, listener in enumerate(listeners):
        ports = [listener.node_port + node_id - ids[0] for node_id in ids] if listener.node_port and ids else []
        other = next((taken[port] for port in ports if port in taken), None)
        if other is not None:
            said = f"its node ports and those of {other} are partly the same: choose another first one"
            yield _sentence(f"spec.listeners[{index}].nodePort", said)
        taken.update(dict.fromkeys(ports, listener.name))


def _storage_faults(volumes: Sequence[VolumeSpec]) -> Iterator[FieldFault]:
    for index, volume in enumerate(volumes):
        size_bytes = whole_bytes(volume.size)
        if size_bytes and size_bytes < (bytes_of(SMALLEST_SIZE) or 0):
            said = f"{volume.size} is too small for a log: set {SMALLEST_SIZE} or more (100Gi in production)"
            yield _sentence(f"spec.storage[{index}].size", said)


def _config_faults(spec: KafkaBrokerPoolSpec) -> Iterator[FieldFault]:
    """Server properties that no ConfigMap can hold: one ConfigMap holds those of every broker."""
    size_bytes = properties.most_bytes(spec.config) * spec.replicas
    if size_bytes > properties.MAX_BYTES:
        yield _sentence(
            "spec.config",
            f"the server properties of {spec.replicas} brokers take up to {size_bytes} bytes, and their ConfigMap has "
            f"room for {properties.MAX_BYTES}: shorten them",
        )


def _contract_faults(spec: KafkaBrokerPoolSpec, contract: Contract) -> Iterator[FieldFault]:
    """What the quorum's contract rules, and this spec contradicts."""
    release = parse_release(contract.release)
    if release is not None and release < OLDEST:
        said = f"the quorum runs Kafka {contract.release}, and a pool needs 3.9.0 or later: raise the quorum's release"
        yield _sentence("spec.quorum", said)
    if contract.zookeeper is not None and (release is None or not OLDEST <= release < AFTER_ZOOKEEPER):
        said = (
            f"the quorum's brokers use ZooKeeper, and its release is {contract.release}: only Kafka 3.9 can be a "
            "broker that uses ZooKeeper here. Set the quorum's release to 3.9.2 until its migration has ended"
        )
        yield _sentence("spec.quorum", said)
    ruled = {setting.key for setting in contract.settings}
    for key in sorted(ruled & spec.config.keys()):
        if owned(key) is None and key not in REPLACED:
            said = f"{key} is ruled by quorum {spec.quorum} for every broker: remove it"
            yield _sentence(f"spec.config.{key}", said)
    used = sorted(set(node_ids(spec)) & set(contract.controller_ids))
    if used:
        ids = ", ".join(map(str, used))
        field = "spec.nodeIDs" if spec.node_ids else "spec.firstNodeID"
        yield _sentence(field, f"node id {ids} belongs to a controller of quorum {spec.quorum}: choose other ids")
    names = controller_listeners(contract)
    for index, listener in enumerate(spec.listeners):
        if listener.name in names:
            said = f"{listener.name} is a listener of the controllers of quorum {spec.quorum}: choose another name"
            yield _sentence(f"spec.listeners[{index}].name", said)


def controller_listeners(contract: Contract) -> frozenset[str]:
    """The names of the controllers' listeners, which no listener of a broker may have."""
    texts = (each.value for each in contract.settings if each.key == "controller.listener.names")
    return frozenset(name.strip() for text in texts for name in text.split(",") if name.strip())


def _pod_faults(spec: KafkaBrokerPoolSpec, allowed: frozenset[str]) -> Iterator[FieldFault]:
    metadata, pod = spec.template.metadata, spec.template.spec
    yield from template.metadata_faults("spec.template.metadata", metadata.labels, metadata.annotations)
    yield from template.spec_faults(_TEMPLATE, pod, allowed)
    yield from template.options_faults("spec.jvm.options", spec.jvm.options, pod, allowed)
    for index, option in enumerate(spec.jvm.options):
        if (why := refused(option)) is not None:
            yield _sentence(f"spec.jvm.options[{index}]", f"{option}: {why}")
    yield from _grace_faults(pod)
    heap_bytes, limit_bytes = bytes_of(spec.jvm.heap), template.memory_limit_bytes(pod)
    if heap_bytes is not None and limit_bytes is not None and heap_bytes >= limit_bytes:
        place = f"{_TEMPLATE}.containers[0].resources.limits.memory"
        yield _sentence(
            "spec.jvm.heap",
            f"the heap of {spec.jvm.heap} does not fit in {place} ({limit_bytes} bytes), and Java needs memory "
            "beside the heap: lower the heap, or raise the limit",
        )


def _grace_faults(pod: Mapping[str, Any]) -> Iterator[FieldFault]:
    """A grace period that ends before Kafka's own: the broker would be killed, and recover its logs when it starts."""
    grace = pod.get("terminationGracePeriodSeconds")
    if isinstance(grace, int) and not isinstance(grace, bool) and 1 <= grace < rules.SHORTEST_GRACE_S:
        yield _sentence(
            f"{_TEMPLATE}.terminationGracePeriodSeconds",
            f"must be {rules.SHORTEST_GRACE_S} or more: a broker hands its partitions over for up to 300 seconds "
            "before it stops",
        )


def _sentence(field: str, message: str) -> FieldFault:
    return FieldFault(field=field, message=message)
