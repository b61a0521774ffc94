"""Pods like the operator's, reduced to what the modelled kubelet reads."""

from tests.simulation.model.world import World
from tests.simulation.tests.quorums import CLUSTER

from kafka_quorum.model.ids import DirectoryID, uuid_from_bytes
from kit.kube.protocol import CLAIMS, CONFIG_MAPS, PODS, Json

NS = "kafka"
DIRECTORY = DirectoryID(uuid_from_bytes(b"directory-3000.."))
INITIAL = f"3000@demo-3000.demo-controllers.kafka.svc:9093:{DIRECTORY}"


def prepare(world: World) -> None:
    """A claim and the config map that pods mount."""
    labels = {"kafkaquorum.io/quorum": "demo", "kafkaquorum.io/node-id": "3000"}
    world.kube.create(CLAIMS, NS, {"metadata": {"name": "demo-3000-g1", "labels": labels}, "spec": {}})
    world.kube.create(CONFIG_MAPS, NS, {"metadata": {"name": "demo-config"}})


def pod(name: str, role: str, *, directory: str = DIRECTORY, intent: str = "ours", initial: bool = True) -> Json:
    """A formatter or a Kafka pod of controller 3000."""
    env = {
        "KQ_MODE": "InitialControllers" if initial else "NoInitialControllers",
        "KQ_CLUSTER_ID": CLUSTER,
        "KQ_NODE_ID": "3000",
        "KQ_DIRECTORY_ID": directory,
        "KQ_INTENT": intent,
    }
    arguments = ["--initial-controllers", INITIAL] if initial else ["--no-initial-controllers"]
    container: Json = {
        "name": "format" if role == "formatter" else "kafka",
        "image": "apache/kafka:4.4.0",
        "env": [{"name": key, "value": value} for key, value in env.items()],
        "command": ["sh", "-c", "script", "format", *arguments],
        "ports": [{"containerPort": 9093}],
    }
    volumes = [
        {"name": "data", "persistentVolumeClaim": {"claimName": "demo-3000-g1"}},
        {"name": "config", "configMap": {"name": "demo-config"}},
    ]
    labels = {
        "kafkaquorum.io/quorum": "demo",
        "kafkaquorum.io/node-id": "3000",
        "kafkaquorum.io/role": role,
    }
    spec: Json = {
        "containers": [container],
        "volumes": volumes,
        "hostname": "demo-3000",
        "subdomain": "demo-controllers",
    }
    if role != "formatter":
        spec["initContainers"] = [{"name": "verify"}]
    return {"metadata": {"name": name, "labels": labels}, "spec": spec}


def make(world: World, body: Json) -> None:
    """Create a pod."""
    world.kube.create(PODS, NS, body)


def steps(world: World, count: int) -> None:
    """Let the world move."""
    for _ in range(count):
        world.step()
