"""What the modelled kubelet reads in the operator's pods and config maps: environment, arguments, images, settings."""

import base64
import re
from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import Final

from tests.simulation.model.kafka.disk import Disk
from tests.simulation.model.kafka.process import FETCH_TIMEOUT_S
from tests.simulation.model.kafka.releases import NEWEST, Levels, defaults, levels_of

from kafka_quorum.model.ids import DirectoryID, NodeID, ReplicaKey
from kit.kube.protocol import Json

VOTERS_SETTING: Final = "controller.quorum.voters"
MIGRATES_SETTING: Final = "zookeeper.metadata.migration.enable"
FETCH_TIMEOUT: Final = "controller.quorum.fetch.timeout.ms"
INITIAL: Final = "--initial-controllers"
_FLAGS: Final = frozenset({INITIAL, "--no-initial-controllers", "--standalone"})


def env_of(container: Json) -> dict[str, str]:
    """The environment of a container."""
    return {row["name"]: row.get("value", "") for row in container["env"]}


def accepts(env: dict[str, str], disk: Disk, *, any_directory: bool) -> bool:
    """What the scripts compare: cluster, node, the recovery, and the directory id if one is expected."""
    if not any_directory and env.get("KQ_RECOVERY", "0") != str(disk.recovery):
        return False
    if disk.meta is None or (disk.meta.cluster_id, str(disk.meta.node_id)) != (env["KQ_CLUSTER_ID"], env["KQ_NODE_ID"]):
        return False
    expected = env["KQ_DIRECTORY_ID"]
    return disk.meta.directory_id == expected or (any_directory and not expected)


def writable_of(pod: Json, claim_uids: tuple[str, ...]) -> tuple[str, ...]:
    """Those of the claims that a pod may write to: a pod that only reads shares a volume with another one."""
    spec = pod["spec"]
    mounts = {row["name"]: row for row in spec["containers"][0].get("volumeMounts") or ()}
    named = [row["name"] for row in spec.get("volumes") or () if "persistentVolumeClaim" in row]
    pairs = zip(named, claim_uids, strict=False)
    return tuple(uid for name, uid in pairs if not mounts.get(name, {}).get("readOnly", False))


def initial_voters(command: list[str]) -> frozenset[ReplicaKey]:
    """The voters that a format writes; empty without any."""
    if INITIAL not in command:
        return frozenset()
    return frozenset(_keys(command[command.index(INITIAL) + 1]))


def is_static_format(command: list[str]) -> bool:
    """Whether the arguments name no voters: the tool finds them in the properties, or refuses."""
    return not _FLAGS & set(command)


def refuses(command: list[str], static: frozenset[NodeID]) -> bool:
    """Whether the tool ends with an error: voters both in the properties and in the arguments, or in neither.

    Without initial controllers it ignores static voters, and its output is the same (4.1.2).
    """
    if is_static_format(command):
        return not static
    return bool(static) and "--no-initial-controllers" not in command


def levels_in(command: list[str], release: str) -> Levels:
    """The initial levels of a format: the release's defaults, changed by the arguments."""
    given = {one.name: one.level for one in defaults(release, static=is_static_format(command))}
    for word, value in pairwise(command):
        if word == "--feature":
            name, _, level = value.partition("=")
            given[name] = int(level)
    return levels_of(given)


def release_of(image: str, known: dict[str, str]) -> str:
    """The release in an image: the recorded one, else the one of its tag."""
    found = re.search(r"[0-9]+[.][0-9]+[.][0-9]+", image.rpartition(":")[2])
    return known.get(image) or (found.group() if found else NEWEST)


def static_voters(properties: str) -> frozenset[NodeID]:
    """The node ids in `controller.quorum.voters` of a properties file; empty without that line."""
    for line in properties.splitlines():
        name, _, value = line.partition("=")
        if name.strip() == VOTERS_SETTING:
            return frozenset(NodeID(int(entry.partition("@")[0])) for entry in value.split(",") if entry.strip())
    return frozenset()


def fetch_timeout_in(properties: str) -> float:
    """The fetch timeout in a properties file, in seconds; Kafka's default without that line."""
    for line in properties.splitlines():
        name, _, value = line.partition("=")
        if name.strip() == FETCH_TIMEOUT:
            return int(value) / 1000
    return FETCH_TIMEOUT_S


def migrates_in(properties: str) -> bool:
    """Whether a properties file lets a controller write to ZooKeeper as well."""
    lines = (line.partition("=") for line in properties.splitlines())
    found = {name.strip(): value for name, _, value in lines}
    return found.get(MIGRATES_SETTING) == "true" and bool(found.get("zookeeper.connect"))


def config_maps_of(pod: Json) -> list[str]:
    """The names of the config maps that a pod mounts."""
    return [volume["configMap"]["name"] for volume in pod["spec"].get("volumes") or [] if "configMap" in volume]


def secrets_of(pod: Json) -> list[str]:
    """The names of the Secrets that a pod mounts."""
    return [str(volume["secret"]["secretName"]) for volume in pod["spec"].get("volumes") or [] if "secret" in volume]


def secret_of(pod: Json) -> str:
    """The name of the Secret with the key that a controller mounts; empty without any."""
    volumes = pod["spec"].get("volumes") or []
    return next((str(one["secret"]["secretName"]) for one in volumes if one.get("name") == "tls"), "")


def brokers_secret_of(pod: Json) -> str:
    """The name of the Secret with files for brokers that a broker mounts; empty without any."""
    volumes = pod["spec"].get("volumes") or []
    return next((str(one["secret"]["secretName"]) for one in volumes if one.get("name") == "quorum-tls"), "")


def users_of(pod: Json) -> list[str]:
    """The name of the Secret with users that a controller mounts, if it mounts one."""
    volumes = pod["spec"].get("volumes") or []
    return [str(one["secret"]["secretName"]) for one in volumes if one.get("name") == "users"]


def content_of(secret: Json | None, key: str) -> str:
    """The text of a key of a Secret; empty without it."""
    return base64.b64decode(((secret or {}).get("data") or {}).get(key, "")).decode()


def trust_of(properties: str, configs: Iterable[Json | None]) -> str | None:
    """The authorities in the file that the properties name; None if they name none."""
    named = re.search(r"^listener\.name\.[a-z]+\.ssl\.truststore\.location=.*/([^/\n]+)$", properties, re.MULTILINE)
    if named is None:
        return None
    data = [(one or {}).get("data") or {} for one in configs]
    return next((str(one[named[1]]) for one in data if named[1] in one), "")


def listeners_in(properties: str) -> tuple[tuple[str, int], ...]:
    """The listeners of a controller, in the order of `controller.listener.names`."""
    found = dict(line.split("=", 1) for line in properties.splitlines() if "=" in line)
    ports = dict(re.findall(r"([A-Z][A-Z0-9_]*)://:(\d+)", found.get("listeners", "")))
    names = filter(None, found.get("controller.listener.names", "").split(","))
    return tuple((name, int(ports[name])) for name in names if name in ports)


def plain_in(properties: str) -> frozenset[str]:
    """The names of the listeners without TLS."""
    found = dict(line.split("=", 1) for line in properties.splitlines() if "=" in line)
    pairs = (each.partition(":") for each in found.get("listener.security.protocol.map", "").split(","))
    return frozenset(name for name, _, protocol in pairs if protocol in {"PLAINTEXT", "SASL_PLAINTEXT"})


def properties_of(config: Json | None, node_id: int) -> str:
    """A controller's properties in a config map; empty without any."""
    return str(((config or {}).get("data") or {}).get(f"{node_id}.properties", ""))


def _keys(text: str) -> Iterator[ReplicaKey]:
    for entry in text.split(","):
        node_id, _, rest = entry.partition("@")
        yield ReplicaKey(node_id=NodeID(int(node_id)), directory_id=DirectoryID(rest.rsplit(":", 1)[1]))
