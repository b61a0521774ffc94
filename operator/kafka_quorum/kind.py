"""The kind of resource that this package serves, and that of the pools beside it, as the API server names them."""

from typing import Final

from kit.kube.protocol import ResourceType

QUORUMS: Final = ResourceType(api_version="kafkaquorum.io/v1alpha1", kind="KafkaQuorum", plural="kafkaquorums")
POOLS: Final = ResourceType(api_version="kafkaquorum.io/v1alpha1", kind="KafkaBrokerPool", plural="kafkabrokerpools")
