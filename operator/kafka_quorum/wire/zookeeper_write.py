"""The one write of a roll back, a transaction: it happens as a whole or not at all.

Versions alone would not be enough: a node that is deleted and created again has version 0 again. But every controller,
of a broker or of KRaft, raises `/controller_epoch` in the same transaction in which it creates `/controller`. So the
transaction always requires the version of `/controller_epoch` that was seen, also if it does not change it. That also
covers a `/controller` that was absent and appears meanwhile, for which ZooKeeper has no check.

The driver creates `/migration` without raising the epoch. So if `/migration` or `/controller_epoch` was absent, the
transaction creates it and deletes it: that fails if it exists, and changes nothing if not. (Its watchers are notified;
nothing in Kafka watches these two.)
"""

from typing import Any, Final

from kazoo.exceptions import BadVersionError, KazooException, NoAuthError, NodeExistsError, NoNodeError

from kafka_quorum.errors import (
    ZooKeeperChanged,
    ZooKeeperDenied,
    ZooKeeperError,
    ZooKeeperUnreachable,
    ZooKeeperUnusable,
)
from kafka_quorum.model.zookeeper import ControllerNode, EpochNode, GiveBack, MigrationNode, SavedNodes
from kafka_quorum.wire.zookeeper_reader import Reader
from kafka_quorum.wire.zookeeper_session import Session
from kit.errors import Fault
from kit.parsing import INT32_MAX
from kit.text import WORDS_MAX_CHARS, clean


def give_back(session: Session, what: GiveBack) -> SavedNodes:
    """Write it if nothing has changed since the look, as `ZooKeepers.give_back` says (ZooKeeperError)."""
    if what.epoch is not None and what.controller_epoch is None:
        raise ZooKeeperUnusable(
            f"{session.where} was not written: the look found no /controller_epoch to raise, so look again",
            fault=Fault.OURS,
            retry_safe=False,
            outcome_unknown=False,
        )
    if what.epoch is not None and what.epoch > INT32_MAX:
        raise ZooKeeperUnusable(
            f"{session.where} was not written: /controller_epoch would become {what.epoch}, which no broker can read;"
            f" a partition's state or /migration has the epoch {what.epoch - 1}, which no controller wrote: correct it",
            fault=Fault.THEIRS,
            retry_safe=False,
            outcome_unknown=False,
        )
    found = Reader(session).claims()
    for path, seen, now in zip(_CLAIMS, (what.controller, what.controller_epoch, what.migration), found, strict=True):
        if seen != now and not _stays(seen, now):
            raise _changed(session, path, f"it was {_shown(seen)}, and is {_shown(now)}")
    if not session.in_time():
        raise ZooKeeperUnreachable(
            f"{session.where} was not written: the time was over before",
            fault=Fault.PATH,
            retry_safe=True,
            outcome_unknown=False,
        )
    transaction, paths = steps(session, what)
    try:
        ((_, results),) = session.transactions([(None, transaction)])
    except ZooKeeperError as error:
        raise ZooKeeperUnreachable(
            f"{session.where} did not answer whether it deleted /controller and /migration, so look again: {error}",
            fault=Fault.PATH,
            retry_safe=False,
            outcome_unknown=True,
        ) from None
    _judge(session, paths, results)
    controller, epoch, migration = what.controller, what.controller_epoch, what.migration
    return SavedNodes(
        controller="" if controller is None else controller.raw,
        controller_epoch="" if epoch is None else str(epoch.epoch),
        migration="" if migration is None else migration.raw,
    )


def _stays(seen: object, now: object) -> bool:
    """Whether a broker leads, which is not to be deleted. One that was elected since the look has raised the epoch."""
    return seen is None and isinstance(now, ControllerNode) and now.kraft_epoch is None


_CLAIMS: Final = ("/controller", "/controller_epoch", "/migration")


def steps(session: Session, what: GiveBack) -> tuple[Any, list[str]]:
    """The transaction, and the path of each of its operations. The epoch first: it decides about all others."""
    transaction = session.client.transaction()
    paths: list[str] = []
    absent = []
    if what.controller_epoch is None:
        absent.append("/controller_epoch")
    elif what.epoch is None:
        transaction.check("/controller_epoch", what.controller_epoch.version)
        paths.append("/controller_epoch")
    else:
        transaction.set_data("/controller_epoch", str(what.epoch).encode(), what.controller_epoch.version)
        paths.append("/controller_epoch")
    if what.controller is not None:
        transaction.delete("/controller", what.controller.version)
        paths.append("/controller")
    if what.migration is None:
        absent.append("/migration")
    else:
        transaction.delete("/migration", what.migration.version)
        paths.append("/migration")
    for path in absent:
        transaction.create(path, b"")
        transaction.delete(path)
        paths += [path, path]
    return transaction, paths


def _judge(session: Session, paths: list[str], results: list[Any]) -> None:
    """Return if all was done; otherwise nothing was, and the error names the node."""
    for path, result in zip(paths, results, strict=True):
        if isinstance(result, BadVersionError | NoNodeError | NodeExistsError):
            raise _changed(session, path, "it changed while it was to be written")
        if isinstance(result, NoAuthError):
            raise ZooKeeperDenied(
                f"{session.where} does not let {session.who} delete or write {path}: allow it with setAcl, or give the"
                " operator's Secret the user that the brokers have; nothing was changed",
                fault=Fault.OURS,
                retry_safe=True,
                outcome_unknown=False,
            )
    if failed := [type(result).__name__ for result in results if isinstance(result, KazooException)]:
        raise ZooKeeperError(
            f"{session.where} refused the roll back's write ({', '.join(failed)}); nothing was changed: look again",
            fault=Fault.THEIRS,
            retry_safe=True,
            outcome_unknown=False,
        )


def _changed(session: Session, path: str, how: str) -> ZooKeeperChanged:
    return ZooKeeperChanged(
        f"{session.where} has another {path} than the last look found: {how}; nothing was changed, so look again",
        fault=Fault.THEIRS,
        retry_safe=True,
        outcome_unknown=False,
    )


def _shown(node: ControllerNode | EpochNode | MigrationNode | None) -> str:
    match node:
        case None:
            return "absent"
        case EpochNode():
            return f"{node.epoch} (version {node.version})"
        case _:
            return f"{clean(node.raw, max_chars=WORDS_MAX_CHARS)} (version {node.version})"
