"""The rules of safety behind a wait, and what to do about each reason. Pure, but for reading the package's own file.

`reasons.json` is made from the tables of docs/operations.md and docs/pools.md, and compared with them by a test.
"""

import json
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Final

QUORUM: Final = "KafkaQuorum"
POOL: Final = "KafkaBrokerPool"
_CONDITION: Final = "Condition"
_PAGE: Final = {QUORUM: "docs/operations.md", POOL: "docs/pools.md"}
_STAGES: Final = {"MigratedFromZooKeeper": "Migrating"}
"""Conditions whose reasons are stages that have no row of their own, with the reason that stands for all of them."""

RULES: Final[dict[int, str]] = {
    1: "the first voters are formatted once, and never after the quorum may have started",
    2: "a controller runs on its own disk only, and a disk is given up on evidence only",
    3: "no change may leave the voters without a caught-up majority",
    4: "one voter change at a time, and none soon after an election",
    5: "one controller restarts at a time, when the others are caught up; the active one is the last",
    6: "no volume is deleted that a voter, or the only caught-up copy, still needs",
    7: "no feature level, image or stage of a migration that some server does not support",
    8: "unknown is not empty: what cannot be read stops the act that needs it",
    10: "no act loses an acknowledged record of a partition",
    11: "no stop makes a partition unavailable that could stay available",
    13: "no running server loses the trust that it needs, and keys stay in Secrets",
    14: "no second quorum of a cluster forms, and a recovery loses no record that its verdict does not announce",
}
"""The rules of docs/safety.md in short."""
_REASONS: Final[dict[int, tuple[str, ...]]] = {
    1: ("Formatting", "Starting", "FormatFailed", "BootstrapFailed"),
    2: (
        *("LostDisk", "LostNode", "DiskUnreadable", "ForeignDisk", "ClaimDeleting", "DiskNotReplaced", "NodeDown"),
        *("ReplaceRefused", "ReplacingDisk"),
    ),
    3: ("RestartHeld", "NoLeader", "VotersLag", "StaleVoter", "ForeignVoter"),
    4: ("AddingVoter", "RemovingVoter", "ReplacingVoter", "RemovingController", "VoterSetUncommitted"),
    5: ("Rolling", "RollHeld", "DisruptionElsewhere"),
    7: (
        *("OlderImage", "SteppingFeature", "Soaking", "FeatureBlocked", "DowngradeRefused", "StaticQuorum"),
        *("Migrating", "MigrationHeld", "AfterMigration", "Preflight", "DualWrite", "ControllersStop", "RollingBack"),
    ),
    8: (
        *("IdentityMissing", "IdentityUnreadable", "IdentityConflict", "IdentityLost", "Unreadable", "CannotLook"),
        *("UnknownOperation", "LaterFormat", "ContractUnreadable", "AdoptWaits", "RevisionMissing"),
    ),
    13: (
        *("Certificates", "CertificatesHeld", "ScramUsers", "ScramUsersHeld"),
        *("ContractCertificateEnded", "ContractFilesMissing"),
    ),
    14: ("RecoveryReads", "RecoveryHeld", "RecoveryProposed", "Recovering", "RecoveryStuck"),
}
_POOL_REASONS: Final[dict[int, tuple[str, ...]]] = {
    2: ("FormatRefused",),
    8: ("RecordUnreadable", "LaterFormat", "Unreadable", "ClusterConflict", "PartitionsUnknown"),
    10: ("LostDisk", "BrokerNotEmpty", "Draining", "RemovingBroker"),
    11: ("RollHeld", "Rolling", "RestartingBroker", "Stopping", "BrokerNotBack"),
    13: ("WaitingForSecret", "CertificateFull"),
}
RULE_OF: Final[dict[str, dict[str, int]]] = {
    kind: {reason: rule for rule, reasons in table.items() for reason in reasons}
    for kind, table in ((QUORUM, _REASONS), (POOL, _POOL_REASONS))
}
"""By kind and reason: the rule that a wait keeps. Other reasons keep none, or several."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Advice:
    """What a reason means, and what to do."""

    happened: str
    todo: str


@cache
def _stored() -> dict[str, dict[str, dict[str, str]]]:
    found: dict[str, dict[str, dict[str, str]]] = json.loads(
        files("kubectl_kq").joinpath("reasons.json").read_text(encoding="utf-8")
    )
    return found


def advice(kind: str, reason: str) -> Advice | None:
    """What the documentation says about a reason; None if this version does not know it."""
    row = _stored().get(kind, {}).get(reason)
    return None if row is None else Advice(happened=row["happened"], todo=row["do"])


def unblocks(kind: str, reason: str) -> str:
    """What to do about a reason of a wait."""
    found = advice(kind, reason)
    if found is None:
        return "this version of the plugin does not know the reason: do what the message says"
    return found.todo or f"{_PAGE[kind]} has more about it"


def mends(kind: str, reason: str) -> str:
    """What to do about a condition of a quorum with this type and reason: some reasons only conditions have."""
    found = advice(_CONDITION, f"{kind}/{reason}")
    if found is not None:
        return found.todo
    known_too = advice(QUORUM, reason) is not None
    return unblocks(QUORUM, reason if known_too else _STAGES.get(kind, reason))


def known(kind: str) -> frozenset[str]:
    """Every reason of a kind that this version has advice for."""
    return frozenset(_stored().get(kind, {}))


def rule(kind: str, reason: str) -> str | None:
    """The rule behind a reason, with its number in docs/safety.md."""
    number = RULE_OF[kind].get(reason)
    return None if number is None else f"{number}, {RULES[number]}"
