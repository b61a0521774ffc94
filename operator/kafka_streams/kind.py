"""The kind of resource that this package serves, as the API server names it."""

from typing import Final

from kit.kube.protocol import ResourceType

APPLICATIONS: Final = ResourceType(
    api_version="kafkaquorum.io/v1alpha1", kind="KafkaStreamsApplication", plural="kafkastreamsapplications"
)
