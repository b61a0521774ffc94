"""Client quotas, which confluent-kafka can neither set nor read: requests 48 and 49, sent to a broker.

An entity is a text such as `user=alice, client-id=<default>`; `<default>` is Kafka's default entity of that type.
"""

from collections.abc import Mapping
from typing import Final

from kio.schema.alter_client_quotas.v1 import request as altered
from kio.schema.alter_client_quotas.v1.response import AlterClientQuotasResponse
from kio.schema.describe_client_quotas.v1.request import DescribeClientQuotasRequest
from kio.schema.describe_client_quotas.v1.response import DescribeClientQuotasResponse
from kio.schema.errors import ErrorCode
from kio.static.primitive import f64

from harness import rpc

Quotas = Mapping[str, Mapping[str, float]]
"""By entity, then by key (`producer_byte_rate`)."""

DEFAULT: Final = "<default>"


def read(address: str) -> dict[str, dict[str, float]]:
    """Every quota, as one broker reports it (OSError if it does not)."""
    answer = rpc.ask(address, DescribeClientQuotasRequest(components=(), strict=False), DescribeClientQuotasResponse)
    if answer.error_code is not ErrorCode.none or answer.entries is None:
        raise OSError(f"DescribeClientQuotas at {address}: {answer.error_code.name} {answer.error_message}")
    return {
        _entity({part.entity_type: part.entity_name for part in row.entity}): {
            value.key: float(value.value) for value in row.values
        }
        for row in answer.entries
    }


def write(address: str, quotas: Quotas) -> None:
    """Set these quotas and leave all others (OSError if a broker refuses one of them)."""
    entries = tuple(
        altered.EntryData(
            entity=tuple(altered.EntityData(entity_type=kind, entity_name=name) for kind, name in parts(entity)),
            ops=tuple(altered.OpData(key=key, value=f64(value), remove=False) for key, value in values.items()),
        )
        for entity, values in quotas.items()
    )
    question = altered.AlterClientQuotasRequest(entries=entries, validate_only=False)
    for row in rpc.ask(address, question, AlterClientQuotasResponse).entries:
        if row.error_code is not ErrorCode.none:
            where = _entity({part.entity_type: part.entity_name for part in row.entity})
            raise OSError(f"AlterClientQuotas of {where} at {address}: {row.error_code.name} {row.error_message}")


def parts(entity: str) -> list[tuple[str, str | None]]:
    """Types and names of an entity's text, None for the default."""
    pairs = (part.partition("=") for part in entity.split(", "))
    return [(kind, None if name == DEFAULT else name) for kind, _, name in pairs]


def _entity(named: Mapping[str, str | None]) -> str:
    """The text of an entity: its types always in the same order, which brokers do not promise."""
    return ", ".join(
        f"{kind}={DEFAULT if named[kind] is None else named[kind]}" for kind in sorted(named, reverse=True)
    )
