"""ApiVersions (18): a node's request versions and feature ranges, and the finalized features (KIP-35, KIP-584)."""

from typing import Final

from kio.schema.api_versions.v0 import response as v0
from kio.schema.api_versions.v4 import response as v4
from kio.schema.api_versions.v4.request import ApiVersionsRequest
from kio.schema.api_versions.v4.response import ApiVersionsResponse
from kio.static.protocol import ResponsePayload

from kafka_quorum.model.quorum import FeatureRange, FinalizedFeature, NodeVersions
from kafka_quorum.wire.api import Api, Effect, VersionRange
from kafka_quorum.wire.bounds import Bound
from kafka_quorum.wire.request import Request, accept, typed
from kafka_quorum.wire.values import at_least, once
from kit.kept import Kept

MAX_FEATURES: Final = 64
"""The limit of features that one node supports, or a cluster has finalized; Kafka 4.4 has eight."""
MAX_APIS: Final = 512
"""The limit of requests that one node supports; Kafka 4.4 has about a hundred."""
API: Final = Api(
    key=18,
    name="ApiVersions",
    ours=VersionRange(low=4, high=4),
    effect=Effect.READS,
    lists={
        (v0.ApiVersionsResponse, "api_keys"): Bound(count=MAX_APIS, plural="requests"),
        (v4.ApiVersionsResponse, "api_keys"): Bound(count=MAX_APIS, plural="requests"),
        (v4.ApiVersionsResponse, "supported_features"): Bound(count=MAX_FEATURES, plural="supported features"),
        (v4.ApiVersionsResponse, "finalized_features"): Bound(count=MAX_FEATURES, plural="finalized features"),
    },
)
"""Version 3 hides every feature whose lowest level is 0, so its answer is incomplete. 3.9 and later support 4."""
_SUPPORTED: Final = Kept[tuple[FeatureRange, ...], tuple[FeatureRange, ...]](200)
_FINALIZED: Final = Kept[tuple[FinalizedFeature, ...], tuple[FinalizedFeature, ...]](200)
"""Thousands of controllers say the same, and it is remembered of each: then it is one value."""
CLIENT_SOFTWARE: Final = "kafka-quorum-operator"
CLIENT_SOFTWARE_VERSION: Final = "0.1.0"


def request() -> Request[NodeVersions]:
    """Supported ranges and finalized levels, as this node reports them."""
    sent = message()
    return Request(api=API, build=lambda _: sent, read=_read)


def _read(response: ResponsePayload) -> NodeVersions:
    answer = typed(response, ApiVersionsResponse)
    accept(answer.error_code, None)
    return node_versions(answer)


def message() -> ApiVersionsRequest:
    """Ask for the node's request versions and feature ranges, and for the finalized features."""
    return ApiVersionsRequest(client_software_name=CLIENT_SOFTWARE, client_software_version=CLIENT_SOFTWARE_VERSION)


def node_versions(response: ApiVersionsResponse) -> NodeVersions:
    """Features by name; a finalized feature has one level, its maximum.

    A node that has not loaded any metadata reports epoch -1. Before 4.4 it also names the lowest metadata.version that
    it supports, which is not finalized: then no level is passed on.
    """
    epoch = at_least(-1, "the epoch of the finalized features", response.finalized_features_epoch)
    supported = tuple(
        sorted(
            FeatureRange(name=row.name, min_level=int(row.min_version), max_level=int(row.max_version))
            for row in response.supported_features
        )
    )
    finalized = tuple(
        sorted(FinalizedFeature(name=row.name, level=int(row.max_version_level)) for row in response.finalized_features)
    )
    for each in supported:
        if not 0 <= each.min_level <= each.max_level:
            raise ValueError(f"feature {each.name} is supported from level {each.min_level} to {each.max_level}")
    for level in finalized:
        at_least(0, f"the finalized level of {level.name}", level.level)
    once("supported feature", [each.name for each in supported])
    once("finalized feature", [each.name for each in finalized])
    return NodeVersions(
        supported=_SUPPORTED.of(supported, lambda: supported),
        finalized=_FINALIZED.of(finalized, lambda: finalized) if epoch >= 0 else (),
        finalized_epoch=epoch,
    )
