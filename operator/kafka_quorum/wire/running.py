"""The running settings of brokers, each read from that very broker, with the security that a Secret's properties give.

The operator's own client has PLAINTEXT only; brokers of others may require TLS or SASL. So confluent-kafka asks here.
Its library sends DescribeConfigs for a broker to that broker, and a broker refuses the request for another id.

A read takes at most `READ_S`. It ends in an answer for each broker, known or Unknown with its reason. Or it is an error
for all of them: no broker answered, or the properties cannot be used. An empty answer is never returned.

**Which brokers are listed.** librdkafka lists those that are not fenced. If the connection needs no security, the
operator's own client adds the fenced ones, as Unknown. Otherwise a fenced broker is missing: compare with another list
of registered brokers, such as the observers of DescribeQuorum.
"""

import asyncio
import logging
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

from kafka_quorum.errors import KafkaError, KafkaProtocolError, KafkaUnreachable
from kafka_quorum.model.ids import NodeID
from kafka_quorum.model.known import Knowable, Known, Unknown
from kafka_quorum.model.quorum import Endpoint
from kafka_quorum.wire.bounds import MAX_BROKERS, MAX_NAME_BYTES, MAX_VALUE_BYTES
from kafka_quorum.wire.broker_admin import KafkaBrokers
from kafka_quorum.wire.connection import Limits
from kit.errors import Fault
from kit.text import WORDS_MAX_CHARS, clean, is_clean

READ_S: Final = 10.0
"""The limit of one read of all brokers of a cluster."""
_CLUSTER_S: Final = 4.0
"""How much of it the list of brokers may take."""
_FENCED_S: Final = 2.0
_SLACK_S: Final = 2.0
"""How much later than its limit a thread may end."""
_READS: Final = 4
"""How many reads run at once: each has a client with a thread for every broker that it knows."""
MAX_SETTINGS: Final = 2_000
ALLOWED: Final = frozenset(
    {
        "security.protocol",
        "sasl.mechanism",
        "sasl.mechanisms",
        "sasl.username",
        "sasl.password",
        "ssl.ca.pem",
        "ssl.certificate.pem",
        "ssl.key.pem",
        "ssl.key.password",
        "ssl.endpoint.identification.algorithm",
    }
)
"""librdkafka's properties that a Secret may set. Others name files of the operator, libraries to load, or commands."""
_SECRET: Final = frozenset({"sasl.password", "ssl.key.pem", "ssl.key.password"})
Settings = Mapping[str, str | None]
"""The running settings of one broker by name; None for a value that is sensitive, or not set."""
_LOG: Final = logging.getLogger("kafka_quorum.wire.librdkafka")


class RunningSettings(Protocol):
    """Reads what brokers run with."""

    async def read(
        self, bootstrap: tuple[str, ...], properties: Mapping[str, str]
    ) -> Mapping[NodeID, Knowable[Settings]]:
        """The running settings of each broker that is listed, from that very broker, within `READ_S`.

        `bootstrap` are addresses (`host:port`), `properties` those of `ALLOWED`. Raises KafkaError if no broker can be
        listed; whatever fails at one broker is its Unknown.
        """

    async def close(self) -> None:
        """End what is kept between reads."""


@dataclass(slots=True)
class ConfluentSettings:
    """`RunningSettings` with confluent-kafka's AdminClient: a new client for each read, in a thread."""

    _threads: ThreadPoolExecutor = field(
        default_factory=lambda: ThreadPoolExecutor(max_workers=_READS, thread_name_prefix="running-settings")
    )

    async def read(
        self, bootstrap: tuple[str, ...], properties: Mapping[str, str]
    ) -> Mapping[NodeID, Knowable[Settings]]:
        """As `RunningSettings` says."""
        config = client_config(bootstrap, properties)
        end_s = time.monotonic() + READ_S
        reading = asyncio.get_running_loop().run_in_executor(self._threads, _read, config, end_s)
        try:
            async with asyncio.timeout(READ_S + _SLACK_S):
                nodes, found = await reading
        except TimeoutError:
            raise unreachable(bootstrap, f"{READ_S:g} s had passed") from None
        if config["security.protocol"].upper() == "PLAINTEXT":
            for node_id in await _fenced(nodes):
                found.setdefault(node_id, Unknown(reason=_FENCED))
        return found

    async def close(self) -> None:
        """Reads that run end by themselves; no other one begins."""
        self._threads.shutdown(wait=False, cancel_futures=True)


_FENCED: Final = "the broker is registered but fenced: it does not run, or is starting"
_Node = tuple[int, str, int]
"""Node id, host and port of a broker."""


def client_config(bootstrap: tuple[str, ...], properties: Mapping[str, str]) -> dict[str, Any]:
    """The configuration of librdkafka (KafkaProtocolError, whose fault is OURS, for what must not be used)."""
    wrong = sorted(clean(name, max_chars=WORDS_MAX_CHARS) for name in set(properties) - ALLOWED)
    if wrong:
        raise _unusable(
            f"{', '.join(wrong)[:WORDS_MAX_CHARS]} cannot be set; what can be: {', '.join(sorted(ALLOWED))}"
        )
    if not bootstrap or any(not is_clean(each, max_chars=2 * MAX_NAME_BYTES) or "," in each for each in bootstrap):
        raise _unusable("the bootstrap servers are no list of host:port")
    return {
        "security.protocol": "PLAINTEXT",
        **properties,
        "bootstrap.servers": ",".join(bootstrap),
        "client.id": "kafka-quorum-operator",
        "log_level": 0,
        "socket.connection.setup.timeout.ms": 2_000,
        "socket.timeout.ms": int(_CLUSTER_S * 1000),
        "reconnect.backoff.ms": 100,
        "reconnect.backoff.max.ms": 500,
    }


def _unusable(why: str) -> KafkaProtocolError:
    return KafkaProtocolError(
        f"The brokers were not asked for their settings: {why}",
        fault=Fault.OURS,
        retry_safe=False,
        outcome_unknown=False,
    )


def unreachable(bootstrap: tuple[str, ...] | str, why: str) -> KafkaUnreachable:
    """No broker answered."""
    servers = bootstrap if isinstance(bootstrap, str) else ",".join(bootstrap)
    return KafkaUnreachable(
        f"No broker at {clean(servers, max_chars=WORDS_MAX_CHARS)} listed the brokers of its cluster: {why}",
        fault=Fault.PATH,
        retry_safe=True,
        outcome_unknown=False,
    )


def _read(config: dict[str, Any], end_s: float) -> tuple[list[_Node], dict[NodeID, Knowable[Settings]]]:
    """In a thread: list the brokers, then ask all of them at once (KafkaError)."""
    import confluent_kafka  # noqa: PLC0415 - librdkafka is loaded when it is needed
    import confluent_kafka.admin  # noqa: PLC0415

    admin: Any = confluent_kafka.admin  # typed in part
    said: list[str] = []
    hidden = [str(config[name]) for name in _SECRET if config.get(name)]

    def words(error: object) -> str:
        return _without(hidden, error)

    try:
        client = admin.AdminClient({**config, "error_cb": lambda error: said.append(words(error))}, logger=_LOG)
    except (confluent_kafka.KafkaException, ValueError, TypeError) as error:
        raise _unusable(f"the client's properties are refused: {words(error)}") from None
    try:
        # Not describe_cluster, which asks the broker that is named as the controller: any one, perhaps a frozen one.
        listed = client.list_topics(timeout=_CLUSTER_S)
    except confluent_kafka.KafkaException as error:
        client.poll(0)
        raise unreachable(config["bootstrap.servers"], _reason(words(error), said)) from None
    nodes = [(int(node.id), str(node.host), int(node.port)) for node in listed.brokers.values()]
    if not 0 < len(nodes) <= MAX_BROKERS:
        raise unreachable(config["bootstrap.servers"], f"{len(nodes)} brokers are listed")
    left_s = max(end_s - time.monotonic(), 0.5)
    asked: dict[NodeID, Future[Any]] = {}
    for node_id, _, _ in nodes:
        resource = admin.ConfigResource(admin.ConfigResource.Type.BROKER, str(node_id))
        asked |= dict.fromkeys([NodeID(node_id)], client.describe_configs([resource], request_timeout=left_s)[resource])
    found = {node_id: _settings(node_id, future, end_s, words) for node_id, future in asked.items()}
    return nodes, found


def _settings(
    node_id: NodeID, future: "Future[Any]", end_s: float, words: Callable[[object], str]
) -> Knowable[Settings]:
    """One broker's answer, whatever it is."""
    try:
        entries = future.result(max(end_s - time.monotonic(), 0.1))
    except TimeoutError:
        return Unknown(reason=f"broker {node_id} did not answer within {READ_S:g} s")
    except Exception as error:  # noqa: BLE001 - the library's own errors, each of which concerns one broker
        return Unknown(reason=f"broker {node_id} did not report its settings: {words(error)}")
    rows = list(entries.values())
    if not 0 < len(rows) <= MAX_SETTINGS:
        return Unknown(reason=f"broker {node_id} reports {len(rows)} settings")
    if not all(is_clean(row.name, max_chars=MAX_NAME_BYTES) for row in rows):
        return Unknown(reason=f"broker {node_id} reports a setting whose name cannot be shown")
    return Known(value={row.name: _value(row) for row in rows})


def _value(row: Any) -> str | None:  # noqa: ANN401 - a ConfigEntry, which the library does not type
    return None if row.is_sensitive or row.value is None else clean(row.value, max_chars=MAX_VALUE_BYTES)


def _without(hidden: list[str], error: object) -> str:
    """The library's words, on one line, without the secrets of the configuration."""
    inner = error.args[0] if isinstance(error, Exception) and error.args else error
    text = inner.str() if hasattr(inner, "str") else str(inner)
    for secret in hidden:
        text = text.replace(secret, "***")
    return clean(text, max_chars=WORDS_MAX_CHARS) or type(error).__name__


def _reason(words: str, said: list[str]) -> str:
    return f"{words} ({said[0]})" if said else words


async def _fenced(nodes: list[_Node]) -> set[NodeID]:
    """The fenced brokers, from the first broker that answers; none if no broker does."""
    client = KafkaBrokers(Limits(connect_timeout_s=1.0, request_timeout_s=1.0))
    try:
        async with asyncio.timeout(_FENCED_S):
            for node_id, host, port in nodes:
                try:
                    answer = await client.describe_brokers(Endpoint(node_id=NodeID(node_id), host=host, port=port))
                except KafkaError:
                    continue
                return {row.node_id for row in answer.brokers if row.fenced}
    except TimeoutError:
        pass
    finally:
        await client.close()
    return set()
