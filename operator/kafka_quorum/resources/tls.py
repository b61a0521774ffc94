"""What secures the listeners of controllers: properties, volumes, and shell lines that the start script runs. Pure.

The authorities that are trusted are public: they are a file of the config map, whose name has a hash of them. A process
that runs with this path has loaded them, as a server and as a client. DescribeConfigs shows the path. The keys are in a
Secret of the controller, mounted as a directory, so that a renewed certificate arrives in it. Its path stays the same:
Kafka loads the file again if it is set to the same path.

Passwords are in a Secret as lines of properties; the start script puts them behind the others, in a volume in memory.
"""

from collections.abc import Iterator
from datetime import datetime
from typing import Final

from kafka_quorum.model.desired import Protocol, Runtime
from kafka_quorum.model.names import tls_name, trust_file, users_name
from kafka_quorum.resources.meta import Json

KEYS_PATH: Final = "/etc/kafka-tls"
"""Where the Secret with the key is mounted."""
KEYSTORE_KEY: Final = "keystore.pem"
_PATH_S, _PATHS = 4, 16
KEYSTORE: Final = f"{KEYS_PATH}/{KEYSTORE_KEY}"
USERS_PATH: Final = "/etc/kafka-users"
"""Where the Secret with the users is mounted."""
USERS_KEY: Final = "controllers.properties"
"""The lines of properties in that Secret that controllers need."""
AUTHORIZER: Final = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"


def keystore_path(now: datetime) -> str:
    """Another text for the path of the key than some seconds before: Kafka loads a file again if its path changes.

    A follower does not see that the leader was asked for the same path once more (measured on 4.4.0). Every text leads
    to the same file, so the setting, which stays, is always right.
    """
    return f"{KEYS_PATH}/{'./' * (int(now.timestamp() / _PATH_S) % _PATHS)}{KEYSTORE_KEY}"


def properties(runtime: Runtime, config_path: str) -> Iterator[tuple[str, str]]:
    """The properties of every secured listener, and of the authorizer. None of them is secret."""
    for each in runtime.listeners:
        if each.protocol.encrypted:
            prefix = f"listener.name.{each.name.lower()}"
            yield f"{prefix}.ssl.keystore.type", "PEM"
            yield f"{prefix}.ssl.keystore.location", KEYSTORE
            yield f"{prefix}.ssl.truststore.type", "PEM"
            yield f"{prefix}.ssl.truststore.location", f"{config_path}/{trust_file(runtime.trust)}"
            yield f"{prefix}.ssl.client.auth", "required" if each.protocol is Protocol.SSL else "none"
        if each.protocol is Protocol.SASL_SSL:
            yield f"{prefix}.sasl.enabled.mechanisms", "PLAIN"
    if runtime.needs_users:
        yield "sasl.mechanism.controller.protocol", "PLAIN"
    if runtime.super_users:
        yield "authorizer.class.name", AUTHORIZER
        yield "super.users", ";".join(runtime.super_users)


def files(runtime: Runtime) -> dict[str, str]:
    """The files of the config map."""
    return {trust_file(runtime.trust): runtime.trust} if runtime.encrypted else {}


def volumes(runtime: Runtime, quorum: str, node_id: int) -> list[Json]:
    """The Secrets that a controller mounts. Its container waits until they exist."""
    found: list[Json] = []
    if runtime.encrypted:
        found.append({"name": "tls", "secret": {"secretName": tls_name(quorum, node_id), "defaultMode": 0o440}})
    if runtime.needs_users:
        found.append({"name": "users", "secret": {"secretName": users_name(quorum), "defaultMode": 0o440}})
    return found


def mounts(runtime: Runtime) -> list[Json]:
    """Where it mounts them: as directories, because a file alone would never be renewed."""
    found: list[Json] = []
    if runtime.encrypted:
        found.append({"name": "tls", "mountPath": KEYS_PATH, "readOnly": True})
    if runtime.needs_users:
        found.append({"name": "users", "mountPath": USERS_PATH, "readOnly": True})
    return found


def secret_files(runtime: Runtime) -> tuple[str, ...]:
    """The files whose lines the start script puts behind the properties."""
    return (f"{USERS_PATH}/{USERS_KEY}",) if runtime.needs_users else ()
