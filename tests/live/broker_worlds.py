"""Worlds of brokers for tests: one for each release and module, and a log of what was measured."""

import logging
from collections.abc import Callable

import pytest
from tests.live.jars import DEFAULT_VERSION, Kafka, ensure_kafka
from tests.live.waiting import wait_for

from kafka_quorum.errors import KafkaError
from kafka_quorum.model.quorum import Endpoint
from kafka_quorum.wire.brokers import Brokers

OLDEST = "4.0.2"
"""The oldest release of brokers; new clusters of it have no ELR."""
_LOG = logging.getLogger("measured")


def releases(*full: str) -> list[object]:
    """The newest release, and others that only a full run takes."""
    return [DEFAULT_VERSION, *(pytest.param(each, marks=pytest.mark.full) for each in full)]


def release(request: pytest.FixtureRequest) -> Kafka:
    """The release of a parametrized fixture."""
    return ensure_kafka(str(request.param))


def note(what: str, **values: object) -> None:
    """Logs a measured fact: `pytest -o log_cli=true -o log_cli_level=INFO` shows it."""
    _LOG.info("%s: %s", what, ", ".join(f"{name} {value}" for name, value in values.items()))


async def answers(client: Brokers, at: Endpoint) -> bool:
    """Whether this broker itself answers."""
    try:
        await client.describe_brokers(at)
    except KafkaError:
        return False
    return True


async def holds(what: str, condition: Callable[[], object], **more: float) -> None:
    """Waits until an asynchronous condition is true."""

    async def look() -> bool | None:
        result = condition()
        if hasattr(result, "__await__"):
            result = await result
        return True if result else None

    await wait_for(what, look, **more)
