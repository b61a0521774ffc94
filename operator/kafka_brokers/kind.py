"""The kind of resource that this package serves, as the API server names it. A quorum sees its pools by it, too."""

from kafka_quorum.kind import POOLS

__all__ = ["POOLS"]
