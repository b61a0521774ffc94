"""An action in words: the reason and the note of its event. Pure."""

import re
from collections.abc import Iterable

from kafka_quorum.api.features import level_text
from kafka_quorum.model import actions
from kafka_quorum.model.actions import Action
from kafka_quorum.model.disk_work import CompareDisk, InspectDisk
from kafka_quorum.model.operation import CHANGE_WORDS, VoterAddition, VoterChange, VoterRemoval, VoterReplacement
from kafka_quorum.model.plan import Outcome
from kafka_quorum.status.together import together
from kit.report.notice import Notice


def notices(outcomes: Iterable[Outcome]) -> tuple[Notice, ...]:
    """The events of these outcomes, in order: one event for all controllers with the same action or failure.

    A postponed action is no event. Failures that differ only in their numbers are repetitions of each other.
    """
    done: dict[str, list[tuple[int | None, str]]] = {}
    failed: dict[str, list[tuple[int | None, str]]] = {}
    for outcome in outcomes:
        if outcome.done:
            done.setdefault(narrate(outcome.action)[0], []).append((_node_id(outcome.action), outcome.message))
        elif not outcome.held:
            failed.setdefault("ActionFailed", []).append((_node_id(outcome.action), outcome.message))
    normal = [Notice(reason=reason, message=said.message) for reason, rows in done.items() for said in together(rows)]
    warnings = [
        Notice(reason=reason, message=said.message, warning=True, subject=re.sub(r"\d+(\.\d+)?", "#", said.subject))
        for reason, rows in failed.items()
        for said in together(rows)
    ]
    return (*normal, *warnings)


def _node_id(action: Action) -> int | None:
    """The one controller that an action is about; None if it is about the quorum, or several."""
    subject = getattr(action, "pod", None) or getattr(action, "claim", None) or action
    found: int | None = getattr(subject, "node_id", None)
    return found


def narrate(action: Action) -> tuple[str, str]:  # noqa: C901, PLR0911, PLR0912 - one case per action, nothing else
    """A CamelCase reason and one sentence."""
    match action:
        case actions.MintIdentity(initial=initial):
            return (
                "IdentityMade",
                f"the new quorum has its cluster id and directory ids, for initial controllers {_ids(initial)}",
            )
        case actions.WriteRecord(change=change, message=message):
            return change.value, message
        case actions.KeepSpec():
            return (
                "SpecKept",
                "the spec is stored as the last accepted one, and is used for repairs if a later one is not valid",
            )
        case actions.MakeAuthority(message=message):
            return "AuthorityMade", message
        case actions.MakeUsers(message=message):
            return "UsersMade", message
        case actions.PromoteAuthority(message=message):
            return "AuthorityEnded", message
        case actions.WithdrawAuthority(message=message):
            return "AuthorityWithdrawn", message
        case actions.ComposeLeaf(message=message):
            return "CertificateMade", message
        case actions.RequestLeaf(message=message):
            return "CertificateRequested", message
        case actions.ReloadListener(message=message):
            return "CertificateLoaded", message
        case actions.SetScramUser(replaces=replaces, message=message):
            return ("ScramUserReplaced" if replaces else "ScramUserMade"), message
        case actions.RemoveScramUser(message=message):
            return "ScramUserRemoved", message
        case actions.ApplyService():
            return "ServiceApplied", "the headless service is up to date"
        case actions.ApplyBudget(min_available=count):
            return "BudgetApplied", f"the disruption budget keeps {count} voters available"
        case actions.ApplyContract(name=name, contract=contract):
            of = f"revision {contract.revision}, Kafka {contract.release}"
            return "ContractPublished", f"ConfigMap {name} holds what brokers must have now: {of}"
        case actions.CreateRevision(name=name):
            return "RevisionCreated", f"revision {name} stores what pods are made from"
        case actions.DeleteRevision(name=name):
            return "RevisionDeleted", f"revision {name} is deleted: it is an old one, and nothing is made from it"
        case actions.CreateConfig(name=name, node_ids=node_ids):
            return "ConfigCreated", f"config map {name} holds the server properties of {_ids(node_ids)}"
        case actions.DeleteConfig(name=name):
            return "ConfigDeleted", f"config map {name} is deleted, because no pod uses it"
        case actions.AdoptConfig(name=name):
            return "ConfigAdopted", f"config map {name} belongs to this resource again"
        case actions.CreateClaim(node_id=node_id, generation=generation):
            return "ClaimCreated", f"controller {node_id} has a new claim, whose name ends in -g{generation}"
        case actions.AnnotateClaim(claim=claim, directory_id=directory_id, kept=True):
            found = f"claim {claim.name} has data of retired directory id {directory_id}"
            return "ClaimRetired", f"{found}: it is kept, and no controller will use it"
        case actions.AnnotateClaim(claim=claim, retired=True):
            return (
                "ClaimRetired",
                f"claim {claim.name} is marked as retired: directory id {claim.directory_id} will not run again",
            )
        case actions.AnnotateClaim(claim=claim, grow_to=None):
            return "ClaimAnnotated", f"claim {claim.name} has its copy of the identity"
        case actions.AnnotateClaim(claim=claim, grow_to=size):
            return "ClaimGrown", f"claim {claim.name} requests {size}"
        case actions.DeleteClaim(message=message):
            return "ClaimReleased", message
        case actions.SetRecordOwner():
            return (
                "RetentionApplied",
                "the identity ConfigMap is kept or deleted with this resource, as retentionPolicy.whenDeleted says",
            )
        case actions.CreateFormatter(node_id=node_id):
            return (
                "FormatterCreated",
                f"a formatter pod examines the disk of controller {node_id}, and formats it only if it is empty",
            )
        case actions.CreatePod(node_id=node_id, revision=revision):
            return "PodCreated", f"controller {node_id} starts from revision {revision.name}"
        case actions.DeletePod(reason=reason, message=message):
            return reason, message
        case actions.RestartPod(message=message):
            return "PodRestarted", message
        case actions.TakeToken(message=message):
            return "DisruptionBegun", message
        case actions.GiveToken():
            return "DisruptionEnded", "every voter is caught up, so the disruption token is given back"
        case actions.MarkPod(pod=pod, gate=gate, message=message):
            return ("ControllerReady" if gate == "True" else "ControllerNotReady"), f"pod {pod.name} is {message}"
        case actions.BeginOperation(change=change):
            return f"{CHANGE_WORDS[type(change)]}Begun", f"voter {change.target} will be {_becomes(change)}"
        case actions.AddRaftVoter(request=request, leader=leader):
            return "AddRaftVoter", f"voter {request.voter} was added at controller {leader.node_id}"
        case actions.RemoveRaftVoter(request=removal, leader=leader):
            return "RemoveRaftVoter", f"voter {removal.voter} was removed at controller {leader.node_id}"
        case actions.BeginFeatureStep(step=step, present=present):
            levels = f"from {level_text(step.name, present)} to {level_text(step.name, step.level)}"
            return "FeatureStepBegun", f"{step.name} will be {'lowered' if step.downgrade else 'raised'} {levels}"
        case actions.StepFeature(step=step, leader=leader):
            return (
                "StepFeature",
                f"{step.name} was set to {level_text(step.name, step.level)} at controller {leader.node_id}",
            )
        case actions.CureGhost(message=message):
            return "GhostCured", message
        case actions.FinishOperation(reason=reason, message=message):
            return f"Operation{reason}", message
        case _ if isinstance(action, actions.OnDisks):
            return _of_disk(action)
        case actions.GiveBackNodes():
            return (
                "ZooKeeperGivenBack",
                "what the migration left in ZooKeeper (/migration, and /controller of a KRaft controller) is deleted",
            )


def _of_disk(action: actions.OnDisks) -> tuple[str, str]:
    """The same of work on a disk."""
    match action:
        case actions.CreateInspector(work=reading):
            return _of_reading(reading)
        case actions.CreateCopy(name=name, claim=claim):
            return "CopyCreated", f"claim {name} will hold a copy of claim {claim.name}"
        case actions.CreateCopier(work=copying):
            return "DiskCopied", f"a pod copies {copying.source} to claim {copying.copy}, and compares every file"
        case actions.CreateRewriter(work=rewriting):
            key = rewriting.key
            return "LogRewritten", f"a pod makes {key} the only voter in its log, behind {rewriting.end}"
        case actions.DeleteWorker(message=message):
            return "DiskPodDeleted", message
        case actions.DeleteCopy(message=message):
            return "CopyReleased", message


def _becomes(change: VoterChange) -> str:
    match change:
        case VoterAddition():
            return "added"
        case VoterRemoval():
            return "removed"
        case VoterReplacement():
            return "added in place of a stale voter of its node id"


def _ids(node_ids: tuple[int, ...]) -> str:
    return ", ".join(map(str, node_ids))


def _of_reading(work: InspectDisk | CompareDisk) -> tuple[str, str]:
    """The same of a disk that is only read."""
    if isinstance(work, CompareDisk):
        return "DiskCompared", f"a pod compares {work.source} with the log that ends at {work.end}, and writes nothing"
    return "DiskInspected", f"a pod reads {work.source}, and writes nothing"
