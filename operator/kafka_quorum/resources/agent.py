"""The Prometheus JMX agent of a controller that migrates: it shows four metrics of the migration's driver over HTTP.

The jar is in the operator's image; a container of that image copies it into a volume of the pod (`kafka_quorum.agent`).
Only the named MBeans are read, so a scrape costs little, and the page shows nothing else of Kafka's.
"""

import copy
from typing import Final

from kafka_quorum.resources.meta import Json
from kafka_quorum.resources.podparts import RESTRICTED, SCRIPT_RESOURCES

AGENT_PORT: Final = 9404
AGENT_DIRECTORY: Final = "/opt/agent"
"""Where the jar is in the operator's image, and where the volume with its copy is mounted."""
AGENT_JAR: Final = f"{AGENT_DIRECTORY}/jmx_prometheus_javaagent.jar"
AGENT_FILE: Final = f"{AGENT_DIRECTORY}/agent.yaml"
"""Where the init container writes `AGENT_CONFIG`."""
VOLUME: Final = "agent"

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
"""The name of each MBean of `kafka.controller:type=KafkaController`, and of the metric that is made of it."""


def _config() -> str:
    included = "".join(f'  - "kafka.controller:type=KafkaController,name={name}"\n' for name in METRICS)
    rules = "".join(
        f'  - pattern: "kafka.controller<type=KafkaController, name={name}><>Value"\n'
        f'    name: "{metric}"\n    type: GAUGE\n'
        for name, metric in METRICS.items()
    )
    return f"startDelaySeconds: 0\nlowercaseOutputName: true\nincludeObjectNames:\n{included}rules:\n{rules}"


AGENT_CONFIG: Final = _config()
"""The agent's configuration, YAML."""


PORT: Final = AGENT_PORT
MOUNT: Final[Json] = {"name": VOLUME, "mountPath": AGENT_DIRECTORY, "readOnly": True}
JAVA_OPTION: Final = f"-javaagent:{AGENT_JAR}={AGENT_PORT}:{AGENT_FILE}"
"""The option for Java that loads the agent."""
_TARGET: Final = "/agent"


def init_container(image: str, pull_policy: str) -> Json:
    """What copies the agent from the operator's image into the volume, with its configuration."""
    return {
        "name": "agent",
        "image": image,
        "imagePullPolicy": pull_policy,
        "command": ["python", "-m", "kafka_quorum.agent", _TARGET],
        "securityContext": copy.deepcopy(RESTRICTED),
        "resources": copy.deepcopy(SCRIPT_RESOURCES),
        "terminationMessagePolicy": "FallbackToLogsOnError",
        "volumeMounts": [{"name": VOLUME, "mountPath": _TARGET}],
    }
