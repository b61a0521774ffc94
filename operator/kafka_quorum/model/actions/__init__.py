"""What a plan may ask for, as data: a tagged union of frozen values, executed by `act` and counted by the simulation.

Creations in Kubernetes that do not depend on each other may stand in one plan and are sent together. An *exclusive*
action (a write of the record, of the operation, or an act on the quorum) stands alone: after it, a new look is taken.

A *guarded* action was allowed by what one look showed, so it is only sent while that look is fresh. The planner stamps
it with the time of the look, `judged_at_s`. An action without a stamp counts as judged on a look that is too old.
"""

from dataclasses import replace
from typing import Final, TypeAlias

from kafka_quorum.model.actions.disks import (
    CreateCopier,
    CreateCopy,
    CreateInspector,
    CreateRewriter,
    DeleteCopy,
    DeleteWorker,
    OnDisks,
)
from kafka_quorum.model.actions.objects import (
    AdoptConfig,
    AnnotateClaim,
    ApplyBudget,
    ApplyContract,
    ApplyService,
    CreateClaim,
    CreateConfig,
    CreateRevision,
    DeleteClaim,
    DeleteConfig,
    DeleteRevision,
)
from kafka_quorum.model.actions.pods import (
    CreateFormatter,
    CreatePod,
    DeletePod,
    MarkPod,
    RestartPod,
)
from kafka_quorum.model.actions.quorum import (
    AddRaftVoter,
    BeginFeatureStep,
    BeginOperation,
    CureGhost,
    FinishOperation,
    RemoveRaftVoter,
    StepFeature,
)
from kafka_quorum.model.actions.record import (
    DECISIONS,
    NEVER,
    DecideRecord,
    KeepSpec,
    MintIdentity,
    RecordChange,
    SetRecordOwner,
    WriteRecord,
)
from kafka_quorum.model.actions.secrets import (
    ComposeLeaf,
    MakeAuthority,
    MakeUsers,
    PromoteAuthority,
    ReloadListener,
    RequestLeaf,
    WithdrawAuthority,
)
from kafka_quorum.model.actions.token import GiveToken, TakeToken
from kafka_quorum.model.actions.users import RemoveScramUser, SetScramUser
from kafka_quorum.model.actions.zookeeper import GiveBackNodes

__all__ = [
    "DECISIONS",
    "EXCLUSIVE",
    "NEVER",
    "Action",
    "AddRaftVoter",
    "AdoptConfig",
    "AnnotateClaim",
    "ApplyBudget",
    "ApplyContract",
    "ApplyService",
    "BeginFeatureStep",
    "BeginOperation",
    "ComposeLeaf",
    "CreateClaim",
    "CreateConfig",
    "CreateCopier",
    "CreateCopy",
    "CreateFormatter",
    "CreateInspector",
    "CreatePod",
    "CreateRevision",
    "CreateRewriter",
    "CureGhost",
    "DecideRecord",
    "DeleteClaim",
    "DeleteConfig",
    "DeleteCopy",
    "DeletePod",
    "DeleteRevision",
    "DeleteWorker",
    "FinishOperation",
    "GiveBackNodes",
    "GiveToken",
    "Guarded",
    "KeepSpec",
    "MakeAuthority",
    "MakeUsers",
    "MarkPod",
    "MintIdentity",
    "OnDisks",
    "OnSecrets",
    "OnTrust",
    "OnUsers",
    "PromoteAuthority",
    "RecordChange",
    "ReloadListener",
    "RemoveRaftVoter",
    "RemoveScramUser",
    "RequestLeaf",
    "RestartPod",
    "SetRecordOwner",
    "SetScramUser",
    "StepFeature",
    "TakeToken",
    "WithdrawAuthority",
    "WriteRecord",
    "is_guarded",
    "one_object",
    "stamped",
    "stops_kafka",
]


Action: TypeAlias = (
    MintIdentity
    | WriteRecord
    | DecideRecord
    | KeepSpec
    | ApplyService
    | ApplyBudget
    | ApplyContract
    | CreateRevision
    | CreateConfig
    | DeleteConfig
    | DeleteRevision
    | AdoptConfig
    | CreateClaim
    | AnnotateClaim
    | DeleteClaim
    | SetRecordOwner
    | CreateFormatter
    | CreatePod
    | DeletePod
    | RestartPod
    | MarkPod
    | TakeToken
    | GiveToken
    | BeginOperation
    | AddRaftVoter
    | RemoveRaftVoter
    | BeginFeatureStep
    | StepFeature
    | CureGhost
    | FinishOperation
    | GiveBackNodes
    | MakeAuthority
    | MakeUsers
    | PromoteAuthority
    | WithdrawAuthority
    | ComposeLeaf
    | RequestLeaf
    | ReloadListener
    | SetScramUser
    | RemoveScramUser
    | CreateInspector
    | CreateCopier
    | CreateRewriter
    | DeleteWorker
    | CreateCopy
    | DeleteCopy
)

OnUsers: TypeAlias = SetScramUser | RemoveScramUser
"""Actions on the brokers' users."""
OnSecrets: TypeAlias = MakeAuthority | MakeUsers | PromoteAuthority | WithdrawAuthority | ComposeLeaf | RequestLeaf
"""Actions that write Secrets with certificates, or ask for one."""
OnTrust: TypeAlias = OnSecrets | ReloadListener | OnUsers
"""Actions on certificates and users."""

EXCLUSIVE = (
    MintIdentity,
    WriteRecord,
    RestartPod,
    TakeToken,
    GiveToken,
    BeginOperation,
    AddRaftVoter,
    RemoveRaftVoter,
    BeginFeatureStep,
    StepFeature,
    CureGhost,
    FinishOperation,
    GiveBackNodes,
    SetScramUser,
    RemoveScramUser,
)
"""Actions that stand alone in a plan."""

_RECORDED: Final = frozenset(
    {
        RecordChange.DISK_LOST,
        RecordChange.DISK_GIVEN_UP,
        RecordChange.DYNAMIC,
        RecordChange.MIGRATION_BEGUN,
        RecordChange.MIGRATION_DONE,
        RecordChange.MIGRATION_REVERTED,
        RecordChange.MIGRATION_STAGE,
        RecordChange.NODE_LOST,
        RecordChange.NODES_REMOVED,
        RecordChange.ROLL,
        RecordChange.COPY_METADATA,
        RecordChange.LEAVE_ZOOKEEPER,
        RecordChange.FINALIZE,
        RecordChange.FINALIZED,
        RecordChange.ROLL_BACK,
        RecordChange.STOP_CONTROLLERS,
        RecordChange.GIVE_BACK,
        RecordChange.ZOOKEEPER_LEADS,
        RecordChange.END_QUORUM,
        RecordChange.ATTEMPT_AGAIN,
        RecordChange.BEGIN_LISTENERS,
        RecordChange.BROKERS_TO_LISTENER,
        RecordChange.PREFER_LISTENER,
        RecordChange.DROP_LISTENER,
        RecordChange.LISTENERS_CHANGED,
        RecordChange.RETURN_TO_LISTENER,
        RecordChange.RECOVERY_BEGUN,
        RecordChange.RECOVERY_COPIES,
        RecordChange.RECOVERY_RETIRES,
        RecordChange.RECOVERY_REWRITES,
        RecordChange.RECOVERY_STARTS,
        RecordChange.RECOVERED,
    }
)
"""Changes of the record that give up a disk, a controller or a setting, or let a voter be stopped."""

Guarded: TypeAlias = (
    WriteRecord
    | DecideRecord
    | ApplyBudget
    | DeleteClaim
    | DeletePod
    | RestartPod
    | MarkPod
    | GiveBackNodes
    | ReloadListener
    | SetScramUser
    | RemoveScramUser
    | CreateCopier
    | CreateRewriter
    | DeleteCopy
)
"""Actions on Kubernetes that can carry the stamp of a look. Those on the quorum always do."""


def is_guarded(action: Action) -> bool:
    """Whether an action on Kubernetes may only be sent while the look that allowed it is fresh.

    Not guarded are creations, and deletions of pods whose Kafka does not run and whose disks stay. The uid and the
    resource version in such a request are enough. A readiness gate may be set to `False` or `Unknown` at any time. It
    is set to `True` only on a fresh look, because the disruption budget relies on it.
    """
    match action:
        case RestartPod() | DeleteClaim() | ApplyBudget() | GiveBackNodes() | ReloadListener():
            return True
        case SetScramUser() | RemoveScramUser() | CreateCopier() | CreateRewriter() | DeleteCopy():
            return True
        case DeletePod(pod=pod, force=force, takes_disk=takes_disk):
            return pod.running or force or takes_disk
        case WriteRecord(change=change):
            return change in _RECORDED
        case MarkPod(gate=gate):
            return gate == "True"
        case _:
            return False


def stamped(action: Action, looked_at_s: float) -> Action:
    """The action, with the time of the look that it was judged by (monotonic seconds of the operator's clock)."""
    return replace(action, judged_at_s=looked_at_s) if isinstance(action, Guarded) else action


_KINDS: Final[dict[type, str]] = {CreateRevision: "revision", RequestLeaf: "certificate"}


def one_object(action: Action) -> tuple[str, ...]:  # noqa: PLR0911 - one case per kind of object, nothing else
    """The claim, pod, config map or revision that an action makes, keeps or deletes; empty if it affects more than one.

    It contains no version, so that it stays the same as long as the action does.
    """
    match action:
        case CreateClaim(node_id=node_id, generation=generation):
            return "claim", str(node_id), str(generation)
        case AnnotateClaim(claim=claim) | DeleteClaim(claim=claim):
            return "claim", claim.uid
        case CreateFormatter(node_id=node_id) | CreatePod(node_id=node_id):
            return "pod", str(node_id)
        case CreateConfig(name=name) | DeleteConfig(name=name) | AdoptConfig(name=name) | ApplyContract(name=name):
            return "config map", name
        case CreateRevision() | ComposeLeaf() | MakeAuthority() | MakeUsers() | RequestLeaf():
            return _KINDS.get(type(action), "secret"), action.name
        case SetScramUser(user=user) | RemoveScramUser(user=user):
            return "user", user
        case CreateInspector(work=work) | CreateCopier(work=work) | CreateRewriter(work=work):
            return "disk", work.source.claim, work.source.path
        case _:
            return ()


def stops_kafka(action: Action) -> bool:
    """Whether this action stops a pod in which Kafka runs."""
    return isinstance(action, RestartPod | DeletePod) and action.pod.running
