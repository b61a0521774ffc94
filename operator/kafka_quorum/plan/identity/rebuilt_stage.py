"""The stage of a migration from ZooKeeper, if the record was lost.

A record without its stage would let the controllers restart without ZooKeeper, and that cannot be undone. So the stage
follows from the broker contract, which is a step ahead of the brokers, and from what the controllers were made from.
What cannot be known is not guessed: the record is not rebuilt then.
"""

from kafka_quorum.model.contract import Contract
from kafka_quorum.model.desired import BootstrapMode, ControllerListener, Desired, Protocol
from kafka_quorum.model.known import Known, Unknown
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
    applied = observed.revision(revision)
    if desired.bootstrap is not BootstrapMode.ZOOKEEPER:
        if applied is None or not applied.runtime.measured:
            return None
        return "its controllers migrate from ZooKeeper: set spec.bootstrap.mode to ZooKeeper again"
    release = desired.runtime.release
    if observed.status.ended:
        return _why_not_ended(observed) or _at(BACK_TO_ZOOKEEPER, -1, release)
    if not started:
        return _at(ZOOKEEPER_TO_KRAFT, 0, release)
    if applied is None:
        return "it is not known what the controllers of the migration from ZooKeeper run. Restore it from a backup"
    release = applied.runtime.release
    if applied.runtime.zookeeper is None:
        return _at(ZOOKEEPER_TO_KRAFT, 3, release) if applied.runtime.measured else None
    if any(each.runtime.measured and each.runtime.zookeeper is None for each in observed.revisions):
        # Made for the last stage: a controller may run from it, and must not be elected in a roll back.
        return _at(ZOOKEEPER_TO_KRAFT, 3, release)
    published = observed.contract
    if isinstance(published, Unknown) or published.value is None:
        return "the stage of the migration from ZooKeeper is not known without the broker contract. Restore both"
    turned, runs, contract = _turned(desired, observed), _runs(observed), published.value.contract
    if contract.zookeeper is not None and not (turned or runs) and (why := _why_stopped(observed, contract)):
        return (
            f"no controller runs, and {why}: then none may start again. Restore it from a backup, or set "
            "spec.zookeeper.rollBack to true to go back to ZooKeeper"
        )
    return _by_contract(contract, release, turned=turned, runs=runs)


def rebuilt_listener(observed: Observed, revision: str | None, *, started: bool) -> ControllerListener | str | None:
    """The controllers' listener, None for one that always had PLAINTEXT, or why it cannot be known.

    A wrong one would cut every server off. So it follows from what the controllers were made from.
    """
    if not started:
        return None
    applied = observed.revision(revision)
    made = [observed.revision(pod.revision) for pod in observed.pods if pod.role is PodRole.KAFKA]
    if any(each is not None and each.runtime.other is not None for each in (applied, *made)):
        return "its controllers change their listener, and the stage of that is not known. Restore it from a backup"
    if applied is not None:
        present = applied.runtime.listener
        return None if present.protocol is Protocol.PLAINTEXT else present
    published = observed.contract
    if isinstance(published, Known) and published.value is not None and published.value.contract.secrets:
        return "it is not known which listener with TLS its controllers have. Restore it from a backup"
    return None


def _why_not_ended(observed: Observed) -> str:
    """Why the end in the status is not the present one: another attempt is under way, and the status is an old one."""
    said = "the status says that the cluster went back to ZooKeeper"
    if _runs(observed):
        return f"{said}, and a controller has a pod. Restore the ConfigMap from a backup"
    published = observed.contract
    if isinstance(published, Unknown) or published.value is None:
        return f"{said}, which is not certain without the broker contract. Restore both from a backup"
    contract = published.value.contract
    if contract.zookeeper is None or _migrates(contract):
        return f"{said}, and the broker contract says that brokers migrate. Restore the ConfigMap from a backup"
    return ""


def _why_stopped(observed: Observed, contract: Contract) -> str:
    """Why a roll back may have stopped the controllers. Empty if none did: a status may be old, so ZooKeeper decides.

    While brokers migrate `/migration` exists, until ZooKeeper is given back.
    """
    if not observed.status.migration:
        return "a roll back may have stopped them"
    if not _migrates(contract):
        return ""
    if isinstance(observed.zookeeper, Unknown):
        return f"a roll back may have stopped them: ZooKeeper is not known ({observed.zookeeper.reason})"
    seen = observed.zookeeper.value
    if seen.cluster_id != observed.status.cluster_id:
        return f"ZooKeeper has cluster id {seen.cluster_id or 'none'}, not that of the status"
    return "znode /migration is gone, so a roll back has stopped them" if seen.migration is None else ""


def _by_contract(contract: Contract, release: str, *, turned: bool, runs: bool) -> Reached | str:
    """The stage while the controllers write to ZooKeeper. `turned`: back to it. `runs`: a controller has a pod."""
    if contract.zookeeper is None:
        return _at(ZOOKEEPER_TO_KRAFT, 2, release)
    if not _migrates(contract):
        return _at(LEFT_ZOOKEEPER_ALONE, 0, release) if turned and not runs else _at(ZOOKEEPER_TO_KRAFT, 0, release)
    if turned:
        return _at(BACK_TO_ZOOKEEPER, 0 if runs else 1, release)
    return _at(ZOOKEEPER_TO_KRAFT, 1, release)


def _migrates(contract: Contract) -> bool:
    """Whether brokers have migration mode."""
    return (setting := contract.setting(MIGRATION)) is not None and setting.value == "true"


def _runs(observed: Observed) -> bool:
    return any(pod.role is PodRole.KAFKA for pod in observed.pods)


def _turned(desired: Desired, observed: Observed) -> bool:
    """Whether the migration goes back: the spec asks for it, or asked for it before, as the status says."""
    asked = desired.migrate is not None and desired.migrate.roll_back
    return asked or observed.status.migration in {each.kind.value for each in (BACK_TO_ZOOKEEPER, LEFT_ZOOKEEPER_ALONE)}


def _at(migration: Migration, stage: int, release: str) -> Reached:
    return Reached(kind=migration.kind, stage=migration.stages[stage].name, release=release, image="")
