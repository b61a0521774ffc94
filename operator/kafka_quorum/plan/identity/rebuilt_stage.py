"""The stage of a migration from ZooKeeper, if the record was lost.

A record without its stage would let the controllers restart without ZooKeeper, and that cannot be undone. So the stage
follows from the broker contract, which is a step ahead of the brokers, and from what the controllers were made from.
What cannot be known is not guessed: the record is not rebuilt then.
"""

from kafka_quorum.model.contract import Contract
from kafka_quorum.model.desired import BootstrapMode, Desired
from kafka_quorum.model.known import Unknown
from kafka_quorum.model.migration import (
    BACK_TO_ZOOKEEPER,
    LEFT_ZOOKEEPER_ALONE,
    ZOOKEEPER_TO_KRAFT,
    Migration,
    Reached,
)
from kafka_quorum.model.observed import Observed
from kafka_quorum.model.pods import PodRole
from kafka_quorum.plan.facts.contract import MIGRATION


def rebuilt_migration(  # noqa: PLR0911 - one answer for each stage
    desired: Desired, observed: Observed, revision: str | None, *, started: bool
) -> Reached | str | None:
    """The migration that was under way, None if there was none, or why it cannot be known.

    `revision` is the one that the controllers are made from.
    """
    if desired.bootstrap is not BootstrapMode.ZOOKEEPER:
        return None
    release = desired.runtime.release
    if observed.status.ended:
        return _at(BACK_TO_ZOOKEEPER, -1, release)
    if not started:
        return _at(ZOOKEEPER_TO_KRAFT, 0, release)
    applied = observed.revision(revision)
    if applied is None:
        return "it is not known what the controllers of the migration from ZooKeeper run. Restore it from a backup"
    release = applied.runtime.release
    if applied.runtime.zookeeper is None:
        return _at(ZOOKEEPER_TO_KRAFT, 3, release) if applied.runtime.measured else None
    published = observed.contract
    if isinstance(published, Unknown) or published.value is None:
        return "the stage of the migration from ZooKeeper is not known without the broker contract. Restore both"
    turned, runs = _turned(desired, observed), _runs(observed)
    if published.value.contract.zookeeper is not None and not (turned or runs or observed.status.migration):
        return (
            "no controller runs, and a roll back may have stopped them: then none may start again. Restore it from a "
            "backup, or set spec.zookeeper.rollBack to true to go back to ZooKeeper"
        )
    return _by_contract(published.value.contract, release, turned=turned, runs=runs)


def _by_contract(contract: Contract, release: str, *, turned: bool, runs: bool) -> Reached | str:
    """The stage while the controllers write to ZooKeeper. `turned`: back to it. `runs`: a controller has a pod."""
    if contract.zookeeper is None:
        return _at(ZOOKEEPER_TO_KRAFT, 2, release)
    migrates = (setting := contract.setting(MIGRATION)) is not None and setting.value == "true"
    if not migrates:
        return _at(LEFT_ZOOKEEPER_ALONE, 0, release) if turned and not runs else _at(ZOOKEEPER_TO_KRAFT, 0, release)
    if turned:
        return _at(BACK_TO_ZOOKEEPER, 0 if runs else 1, release)
    return _at(ZOOKEEPER_TO_KRAFT, 1, release)


def _runs(observed: Observed) -> bool:
    return any(pod.role is PodRole.KAFKA for pod in observed.pods)


def _turned(desired: Desired, observed: Observed) -> bool:
    """Whether the migration goes back: the spec asks for it, or asked for it before, as the status says."""
    asked = desired.migrate is not None and desired.migrate.roll_back
    return asked or observed.status.migration in {each.kind.value for each in (BACK_TO_ZOOKEEPER, LEFT_ZOOKEEPER_ALONE)}


def _at(migration: Migration, stage: int, release: str) -> Reached:
    return Reached(kind=migration.kind, stage=migration.stages[stage].name, release=release, image="")
