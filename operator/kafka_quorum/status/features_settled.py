"""FeaturesSettled: whether every feature is at the level that the spec requests, and what blocks it."""

from typing import Final

from kafka_quorum.api.features import level_text
from kafka_quorum.model.known import Unknown
from kafka_quorum.model.plan import (
    EARLIER_RESOURCE,
    IDENTITY_CONFLICT,
    LATER_FORMAT,
    UNKNOWN_OPERATION,
    FeaturePlan,
)
from kafka_quorum.status.finding import Pass
from kit.conditions.finding import Finding, Truth

_REASONS: Final = {
    "MigrationHeld": "Blocked",
    "FeatureBlocked": "Blocked",
    "DowngradeRefused": "Refused",
    "Soaking": "Soaking",
    "SteppingFeature": "Raising",
    "Migrating": "Raising",
    "DualWrite": "Migrating",
}
"""The waits about features, with the condition's own words; the most severe first."""

_FOLLOWS: Final = ("SteppingFeature", "Migrating", "MigrationHeld")
"""Waits for what belongs to a level that is finalized already."""

_NOT_COMPARED: Final = (
    "Paused",
    LATER_FORMAT,
    UNKNOWN_OPERATION,
    EARLIER_RESOURCE,
    IDENTITY_CONFLICT,
    "IdentityUnreadable",
    "IdentityLost",
)
"""Waits that end planning before the levels are compared with the spec."""


def features_settled(done: Pass) -> Finding:
    """Settled, or held if levels could be raised; else what is waited for, in the words of the wait that blocks it."""
    look = done.observed
    if look.record is None or isinstance(look.quorum, Unknown) or not look.finalized:
        return _finding(Truth.UNKNOWN, "NoAnswer", "no active controller reports which levels are finalized")
    for reason in _NOT_COMPARED:
        for wait in done.plan.waits:
            if wait.reason == reason:
                return _finding(
                    Truth.UNKNOWN, reason, f"the feature levels are not compared with the spec: {wait.message}"
                )
    requested = tuple(feature for feature in done.plan.features if feature.requested)
    if (operation := done.observed.status.feature_operation) is not None and not requested:
        return _finding(Truth.FALSE, "Raising", f"Completing the step {operation.step}")
    if not requested:
        follows = next((wait for wait in done.plan.waits if wait.reason in _FOLLOWS), None)
        return _settled(done) if follows is None else _finding(Truth.FALSE, _REASONS[follows.reason], follows.message)
    for word, reason in _REASONS.items():
        for wait in done.plan.waits:
            if wait.reason == word:
                return _finding(Truth.FALSE, reason, wait.message)
    text = "; ".join(_way(feature) for feature in requested)
    against = next((feature.against for feature in requested if feature.against), "")
    return _finding(Truth.FALSE, "Raising", f"{text}: {against}" if against else text)


def _settled(done: Pass) -> Finding:
    could = [_way(feature) for feature in done.plan.features]
    if not could:
        return _finding(Truth.TRUE, "Settled", "every feature is at its requested level")
    against = list(dict.fromkeys(feature.against for feature in done.plan.features if feature.against))
    ask = "Set spec.kafka.features.policy to Follow, or list higher levels, to raise them"
    blocked = f", but not yet: {'; '.join(against)}" if against else f". {ask}"
    return _finding(Truth.TRUE, "Held", f"these levels can be raised: {', '.join(could)}{blocked}")


def _way(feature: FeaturePlan) -> str:
    present, level = (level_text(feature.name, each) for each in (feature.present, feature.level))
    return f"{feature.name} from {present} to {level}"


def _finding(truth: Truth, reason: str, message: str) -> Finding:
    return Finding(type="FeaturesSettled", truth=truth, reason=reason, message=message)
