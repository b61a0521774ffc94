"""The Prometheus JMX agent of a controller: it shows metrics over HTTP, to the operator and to Prometheus.

A controller that migrates from ZooKeeper shows four metrics of the migration's driver. With `spec.metrics.jmx` it shows
Kafka's own metrics of raft and of the controller as well (`resources.jmx`). One agent does both, at one port.

The jar is in the operator's image; a container of that image copies it into a volume of the pod (`kafka_quorum.agent`).
Only the named MBeans are read, so a scrape costs little, and the page shows nothing else of Kafka's.
"""

import copy
from collections.abc import Iterable
from typing import Final

from kafka_quorum.model.desired import Runtime
from kafka_quorum.model.names import JMX_PORT
from kafka_quorum.resources import jmx
from kafka_quorum.resources.meta import Json
from kafka_quorum.resources.podparts import RESTRICTED, SCRIPT_RESOURCES

AGENT_PORT: Final = JMX_PORT
AGENT_DIRECTORY: Final = "/opt/agent"
"""Where the jar is in the operator's image, and where the volume with its copy is mounted."""
AGENT_JAR: Final = f"{AGENT_DIRECTORY}/jmx_prometheus_javaagent.jar"
AGENT_FILE: Final = f"{AGENT_DIRECTORY}/agent.yaml"
"""Where the init container writes the agent's configuration."""
VOLUME: Final = "agent"
KAFKAS: Final = "kafka"
"""The argument of the init container with which the configuration has Kafka's own metrics, too."""

STATE: Final = "kafka_controller_zk_migration_state"
MIGRATING: Final = "kafka_controller_migrating_zk_broker_count"
LAG: Final = "kafka_controller_zk_write_behind_lag"
ACTIVE: Final = "kafka_controller_active_controller_count"
METRICS: Final = {
    "ZkMigrationState": STATE,
    "MigratingZkBrokerCount": MIGRATING,
    "ZkWriteBehindLag": LAG,
    "ActiveControllerCount": ACTIVE,
}
"""The name of each MBean of `kafka.controller:type=KafkaController`, and of the metric that is made of it.

The agent makes one metric of an attribute. So with Kafka's own metrics, `ACTIVE` has the name that it has there.
"""


def _migration() -> tuple[jmx.Shown, ...]:
    bean = "kafka.controller:type=KafkaController,name="
    return tuple(
        jmx.Shown(name=metric, bean=f"{bean}{name}", help=f"{name} of Kafka.") for name, metric in METRICS.items()
    )


def _config(shown: Iterable[jmx.Shown]) -> str:
    """The agent's configuration with these metrics; of two of one attribute the first counts."""
    rows = list({(each.bean, each.attribute): each for each in reversed(tuple(shown))}.values())[::-1]
    included = "".join(f'  - "{bean}"\n' for bean in dict.fromkeys(each.bean for each in rows))
    rules = "".join(map(jmx.rule, rows))
    return f"startDelaySeconds: 0\nlowercaseOutputName: true\nincludeObjectNames:\n{included}rules:\n{rules}"


AGENT_CONFIG: Final = _config(_migration())
"""The agent's configuration during a migration, YAML."""
KAFKAS_CONFIG: Final = _config((*jmx.SHOWN, *_migration()))
"""The agent's configuration with Kafka's own metrics, and those of a migration."""


PORT: Final = AGENT_PORT
MOUNT: Final[Json] = {"name": VOLUME, "mountPath": AGENT_DIRECTORY, "readOnly": True}
JAVA_OPTION: Final = f"-javaagent:{AGENT_JAR}={AGENT_PORT}:{AGENT_FILE}"
"""The option for Java that loads the agent."""
FILTER_OPTION: Final = "-Dio.prometheus.exporter.filter.metricNameMustStartWith=" + ",".join(("kafka_", *jmx.OF_JAVA))
"""The option for Java that leaves most of the agent's own metrics of the Java process out of the page."""
_TARGET: Final = "/agent"


def add_to(runtime: Runtime, spec: Json, container: Json, image: str, pull_policy: str) -> None:
    """Let Kafka report metrics: an init container of this image brings the agent, and the server loads it.

    The options are in EXTRA_ARGS, which only `kafka-server-start.sh` reads. In KAFKA_OPTS they would be those of every
    tool that a person starts in the container, and each would fail because the port is taken.
    """
    spec["volumes"].append({"name": VOLUME, "emptyDir": {"sizeLimit": "16Mi"}})
    spec["initContainers"].append(_init_container(image, pull_policy, kafkas=runtime.jmx))
    container["volumeMounts"] = [*container["volumeMounts"], MOUNT]
    container["ports"].append({"name": "jmx" if runtime.jmx else "metrics", "containerPort": AGENT_PORT})
    for entry in container["env"]:
        if entry["name"] == "EXTRA_ARGS":
            entry["value"] = f"{entry['value']} {JAVA_OPTION} {FILTER_OPTION}"


def _init_container(image: str, pull_policy: str, *, kafkas: bool) -> Json:
    """What copies the agent from the operator's image into the volume, with its configuration."""
    return {
        "name": "agent",
        "image": image,
        "imagePullPolicy": pull_policy,
        "command": ["python", "-m", "kafka_quorum.agent", _TARGET, *([KAFKAS] if kafkas else [])],
        "securityContext": copy.deepcopy(RESTRICTED),
        "resources": copy.deepcopy(SCRIPT_RESOURCES),
        "terminationMessagePolicy": "FallbackToLogsOnError",
        "volumeMounts": [{"name": VOLUME, "mountPath": _TARGET}],
    }
