"""Dynamic settings of brokers, requests 32 and 44, also those of all brokers: confluent-kafka cannot name the default.

A broker is named by its id as a text, the default of all brokers by an empty one.
"""

from collections.abc import Iterable, Mapping
from typing import Final

from kio.schema.describe_configs.v4.request import DescribeConfigsRequest, DescribeConfigsResource
from kio.schema.describe_configs.v4.response import DescribeConfigsResponse
from kio.schema.errors import ErrorCode
from kio.schema.incremental_alter_configs.v1 import request as altered
from kio.schema.incremental_alter_configs.v1.response import IncrementalAlterConfigsResponse
from kio.static.primitive import i8

from harness import rpc

_BROKER: Final = i8(4)
_SET, _DELETE = i8(0), i8(1)
_DYNAMIC_BROKER, _DYNAMIC_DEFAULT = 2, 3
"""Kafka's sources of a setting."""
HIDDEN: Final = "<hidden>"


def read(address: str, broker: str) -> dict[str, str]:
    """The dynamic settings of the broker at `address`, or of all brokers (OSError); a secret is `<hidden>`."""
    resource = DescribeConfigsResource(resource_type=_BROKER, resource_name=broker, configuration_keys=None)
    (row,) = rpc.ask(address, DescribeConfigsRequest(resources=(resource,)), DescribeConfigsResponse).results
    if row.error_code is not ErrorCode.none:
        raise OSError(f"DescribeConfigs of broker '{broker}' at {address}: {row.error_code.name} {row.error_message}")
    source = _DYNAMIC_BROKER if broker else _DYNAMIC_DEFAULT
    entries = (entry for entry in row.configs if entry.config_source == source)
    return {entry.name: HIDDEN if entry.value is None else entry.value for entry in entries}


def write(address: str, broker: str, settings: Mapping[str, str]) -> None:
    """Set dynamic settings of the broker at `address`, or of all brokers (OSError)."""
    _alter(address, broker, ((key, _SET, value) for key, value in settings.items()))


def delete(address: str, broker: str, settings: Iterable[str]) -> None:
    """Delete dynamic settings of the broker at `address`, or of all brokers (OSError)."""
    _alter(address, broker, ((key, _DELETE, None) for key in settings))


def _alter(address: str, broker: str, changes: Iterable[tuple[str, i8, str | None]]) -> None:
    rows = tuple(altered.AlterableConfig(name=key, config_operation=act, value=value) for key, act, value in changes)
    resource = altered.AlterConfigsResource(resource_type=_BROKER, resource_name=broker, configs=rows)
    question = altered.IncrementalAlterConfigsRequest(resources=(resource,), validate_only=False)
    (row,) = rpc.ask(address, question, IncrementalAlterConfigsResponse).responses
    if row.error_code is not ErrorCode.none:
        where = f"broker '{broker}' at {address}"
        raise OSError(f"IncrementalAlterConfigs of {where}: {row.error_code.name} {row.error_message}")
