"""UpdateFeatures (57): one step of one feature level (KIP-584), or only its validation."""

from typing import Final

from kio.schema.update_features.v1 import request as update_features_v1
from kio.schema.update_features.v1.response import UpdateFeaturesResponse as UpdateFeaturesResponse1
from kio.schema.update_features.v2 import request as update_features_v2
from kio.schema.update_features.v2.response import UpdateFeaturesResponse as UpdateFeaturesResponse2
from kio.static.primitive import i8
from kio.static.protocol import ResponsePayload

from kafka_quorum.model.quorum import UpdateFeature
from kafka_quorum.wire.api import Api, Effect, VersionRange
from kafka_quorum.wire.bounds import Bound
from kafka_quorum.wire.request import Request, accept, unexpected
from kafka_quorum.wire.requests.api_versions import MAX_FEATURES
from kafka_quorum.wire.values import int16, timeout

API: Final = Api(
    key=57,
    name="UpdateFeatures",
    ours=VersionRange(low=1, high=2),
    effect=Effect.WRITES,
    lists={(UpdateFeaturesResponse1, "results"): Bound(count=MAX_FEATURES, plural="features")},
)
"""Version 0 has neither safe downgrades nor validate-only; version 2, since 4.0, has no results per feature."""
VALIDATE: Final = Api(key=57, name="UpdateFeatures (validate only)", ours=API.ours, effect=Effect.READS)
"""The same request as one that changes nothing: it may always be sent again, and has no unknown outcome."""
UPGRADE, SAFE_DOWNGRADE = 1, 2
"""Kafka's upgrade types; its third, the unsafe downgrade, is never used."""


def request(body: UpdateFeature) -> Request[None]:
    """Take one step, at the active controller.

    Unless it only validates, an error does not mean that it was not taken.
    """
    return Request(
        api=VALIDATE if body.validate_only else API,
        build=lambda version: message(body, version),
        read=_read,
        extra_s=body.timeout_ms / 1000,
    )


def _read(response: ResponsePayload) -> None:
    if not isinstance(response, UpdateFeaturesResponse1 | UpdateFeaturesResponse2):
        raise unexpected(response)
    accept(response.error_code, response.error_message)
    if isinstance(response, UpdateFeaturesResponse1):
        for result in response.results:
            accept(result.error_code, result.error_message)


def message(
    request: UpdateFeature, version: int
) -> update_features_v1.UpdateFeaturesRequest | update_features_v2.UpdateFeaturesRequest:
    """KIP-584's request with one step; a safe downgrade to level 0 disables the feature."""
    name, only = request.step.name, request.validate_only
    level, answer_within = int16(f"level of {name}", request.step.level), timeout(request.timeout_ms)
    kind = i8(SAFE_DOWNGRADE if request.step.downgrade else UPGRADE)
    if version == 1:
        update1 = update_features_v1.FeatureUpdateKey(feature=name, max_version_level=level, upgrade_type=kind)
        return update_features_v1.UpdateFeaturesRequest(
            timeout=answer_within, feature_updates=(update1,), validate_only=only
        )
    update2 = update_features_v2.FeatureUpdateKey(feature=name, max_version_level=level, upgrade_type=kind)
    return update_features_v2.UpdateFeaturesRequest(
        timeout=answer_within, feature_updates=(update2,), validate_only=only
    )
