"""What a guard answers: a permit, without which its action cannot be constructed, or a refusal.

Each guard of docs/safety.md is a class here, and one function in `plan.guards` that is registered under it. A permit
names its guard in its type, so an action states which permits it needs: `RestartPod.permit` is a `Permit[Restart]`.
Only `plan.guards.registry` makes permits.
"""

from dataclasses import dataclass
from typing import ClassVar, Final, Generic, Literal, TypeAlias, TypeVar


class Guard:
    """A guard. `id` is the number of its safety rule and a word; logs, docs and the simulation use it."""

    id: ClassVar[str]


class InitialFormat(Guard):
    """An initial voter is formatted."""

    id = "1-initial-format"


class NewcomerFormat(Guard):
    """A disk is formatted to catch up with a quorum that has started."""

    id = "1-format-newcomer"


class Start(Guard):
    """The barrier is passed: the quorum may start."""

    id = "1-start"


class Run(Guard):
    """Kafka runs on a disk."""

    id = "2-run"


class RetireDisk(Guard):
    """A lost disk is given up."""

    id = "2-retire-disk"


class RetireNode(Guard):
    """A disk is given up with its lost Kubernetes node."""

    id = "2-retire-node"


class GiveUpDisk(Guard):
    """A person gives up the disk of a controller."""

    id = "2-give-up-disk"


class GiveUpFormatter(Guard):
    """A formatter on a lost Kubernetes node is given up."""

    id = "2-give-up-formatter"


class AddVoter(Guard):
    """An observer becomes a voter."""

    id = "3-add-voter"


class RemoveVoter(Guard):
    """A voter is removed."""

    id = "3-remove-voter"


class RemoveLeader(Guard):
    """The voter that is removed is not the leader of a pair."""

    id = "3-remove-leader"


class HandOver(Guard):
    """The leader of a pair is restarted, so that the other voter leads."""

    id = "3-hand-over"


class ReplacePod(Guard):
    """A pod in which Kafka does not run is deleted."""

    id = "3-replace-pod"


class StopRetired(Guard):
    """A pod on a retired disk is stopped."""

    id = "3-stop-retired"


class OneChange(Guard):
    """No other voter change is open or uncommitted."""

    id = "4-one-change"


class DropNode(Guard):
    """A controller leaves the record."""

    id = "4-drop-node"


class Restart(Guard):
    """A controller is restarted from another revision."""

    id = "5-restart"


class TakeToken(Guard):
    """The disruption token is taken, to stop a controller that serves."""

    id = "5-take-token"


class DeleteVolume(Guard):
    """A claim is deleted, and its volume with it."""

    id = "6-delete-volume"


class RunImage(Guard):
    """An image runs on the present feature levels."""

    id = "7-image"


class RaiseLevel(Guard):
    """A feature level goes up by one."""

    id = "7-raise"


class LowerLevel(Guard):
    """A feature level goes down by one."""

    id = "7-lower"


class CureGhost(Guard):
    """A removed controller's registration is changed so that it blocks nothing."""

    id = "7-cure-ghost"


class DropStatic(Guard):
    """The static voters are given up."""

    id = "7-drop-static"


class BeginMigration(Guard):
    """A migration begins."""

    id = "7-begin-migration"


class ControllersFollow(Guard):
    """Every controller has what the stage of a migration requires of controllers."""

    id = "7-controllers-follow"


class BrokersFollow(Guard):
    """Every broker has what the stage of a migration requires of brokers."""

    id = "7-brokers-follow"


class RevertMigration(Guard):
    """A migration goes back to where it began."""

    id = "7-revert-migration"


class MintBeside(Guard):
    """A new identity is made for a quorum beside ZooKeeper, with the cluster id of its cluster."""

    id = "8-mint-beside"


class CopyMetadata(Guard):
    """The brokers of a cluster of ZooKeeper are told to use migration mode: then the metadata is copied."""

    id = "7-copy-metadata"


class LeaveZooKeeper(Guard):
    """The brokers of a cluster of ZooKeeper are told to become KRaft brokers: the metadata is copied."""

    id = "7-leave-zookeeper"


class Finalize(Guard):
    """The controllers stop to write to ZooKeeper, for good."""

    id = "7-finalize"


class Finalized(Guard):
    """The migration from ZooKeeper has ended."""

    id = "7-finalized"


class RollBack(Guard):
    """A migration from ZooKeeper turns round."""

    id = "7-roll-back"


class StopControllers(Guard):
    """The controllers of a roll back stop: ZooKeeper holds everything."""

    id = "7-stop-controllers"


class GiveBackZooKeeper(Guard):
    """ZooKeeper is given back to a controller of its own: two znodes are deleted."""

    id = "7-give-back"


class ZooKeeperLeads(Guard):
    """ZooKeeper's controller leads, and brokers need the settings of the migration no more."""

    id = "7-zookeeper-leads"


class EndQuorum(Guard):
    """A quorum ends after a roll back: its disks hold nothing that is needed."""

    id = "7-end-quorum"


class AttemptAgain(Guard):
    """A migration that was rolled back begins again, on new disks."""

    id = "7-attempt-again"


class Adopt(Guard):
    """A quorum of another origin is adopted from its disks."""

    id = "8-adopt"


class Mint(Guard):
    """A new identity is made."""

    id = "8-mint"


class BeginListeners(Guard):
    """A change of the controllers' listener begins: every controller gets a second one."""

    id = "7-begin-listeners"


class BrokersToListener(Guard):
    """Brokers are told to use the new listener."""

    id = "7-brokers-to-listener"


class PreferListener(Guard):
    """Controllers reach each other by the new listener."""

    id = "7-prefer-listener"


class DropListener(Guard):
    """A listener of the controllers is dropped: nobody needs it."""

    id = "7-drop-listener"


class ListenersChanged(Guard):
    """A change of the controllers' listener is complete."""

    id = "7-listeners-changed"


class ReturnToListener(Guard):
    """A change of the controllers' listener goes one stage back."""

    id = "7-return-to-listener"


class ShowLeaf(Guard):
    """A certificate is put into the Secret of a server or a client."""

    id = "13-show-leaf"


class GiveUsers(Guard):
    """The Secret with the users of the controllers' listeners is written."""

    id = "13-give-users"


class EndAuthority(Guard):
    """An authority ends: nobody trusts it any more, and nothing is signed by it."""

    id = "13-end-authority"


class Reload(Guard):
    """A listener loads the certificate of its Secret again."""

    id = "13-reload"


class TrustNew(Guard):
    """The new authority signs: every server trusts it."""

    id = "13-trust-new"


class DropOld(Guard):
    """The earlier authority is not trusted any more: no server shows a leaf of it."""

    id = "13-drop-old"


class ChangedTrust(Guard):
    """The change of authorities is complete."""

    id = "13-changed-trust"


class TurnTrust(Guard):
    """The change of authorities turns to another one, or back to the earlier one."""

    id = "13-turn-trust"


class ChangeUser(Guard):
    """A user of SCRAM is made, replaced or removed."""

    id = "13-change-user"


G_co = TypeVar("G_co", bound=Guard, covariant=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Permit(Generic[G_co]):
    """A guard allows its action. `reason` is one sentence, used in the log, the event and the condition."""

    rule: str
    """The id of the guard."""
    reason: str
    allowed: ClassVar[Literal[True]] = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """A guard refuses its action, or refuses it now; the reason says what would change that."""

    rule: str
    reason: str
    allowed: ClassVar[Literal[False]] = False


AnyPermit: TypeAlias = Permit[Guard]
Verdict: TypeAlias = AnyPermit | Refusal


class WrongPermitError(TypeError):
    """An action was constructed with a permit that is not its own: a fault of this operator."""


def required(permit: AnyPermit, *guards: type[Guard]) -> None:
    """Raise `WrongPermitError` unless one of these guards gave the permit. mypy finds the same before."""
    ids: Final = tuple(guard.id for guard in guards)
    if permit.rule not in ids:
        raise WrongPermitError(f"a permit of guard {' or '.join(ids)} is needed, and not one of {permit.rule}")
