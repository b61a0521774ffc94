"""An action in words: the reason and the note of its event. Pure."""

from collections.abc import Iterable

from kafka_brokers.model import actions
from kafka_brokers.model.actions import Action
from kafka_brokers.model.evidence import empty_in
from kafka_brokers.model.observed import Pod
from kafka_brokers.model.plan import Outcome
from kafka_brokers.plan.guards.availability import counted
from kit.report import told
from kit.report.notice import Notice


def notices(outcomes: Iterable[Outcome]) -> tuple[Notice, ...]:
    """The events of these outcomes, in order."""
    return told.notices(outcomes, lambda outcome: narrate(outcome.action)[0])


def narrate(action: Action) -> tuple[str, str]:  # noqa: C901, PLR0911, PLR0912 - one case per action, nothing else
    """A CamelCase reason and one sentence."""
    match action:
        case actions.WriteRecord(change=change, message=message):
            return change.value, message
        case actions.KeepSpec():
            return (
                "SpecKept",
                "the spec is stored as the last accepted one, and is used for repairs if a later one is not valid",
            )
        case actions.ApplyService(name=name):
            return "ServiceApplied", f"service {name} is up to date"
        case actions.DeleteService(name=name):
            return "ServiceDeleted", f"service {name} is deleted, because no listener needs it"
        case actions.ApplyBudget(min_available=count):
            return "BudgetApplied", f"the disruption budget keeps {count} brokers available"
        case actions.CreateRevision(revision=revision):
            return "RevisionCreated", f"revision {revision.name} stores what pods are made from"
        case actions.DeleteRevision(name=name):
            return "RevisionDeleted", f"revision {name} is deleted: it is an old one, and nothing is made from it"
        case actions.CreateConfig(name=name):
            return "ConfigCreated", f"config map {name} holds the server properties of the brokers"
        case actions.DeleteConfig(name=name):
            return "ConfigDeleted", f"config map {name} is deleted, because no pod uses it"
        case actions.CreateClaim(node_id=node_id, index=index, generation=generation):
            return "ClaimCreated", f"volume {index} of broker {node_id} has a new claim, of generation {generation}"
        case actions.AnnotateClaim(claim=claim, retired=True):
            return "ClaimRetired", f"claim {claim.name} is marked as retired: no broker will use it"
        case actions.AnnotateClaim(claim=claim, grow_to=None):
            return "ClaimAnnotated", f"claim {claim.name} has its copy of the identity"
        case actions.AnnotateClaim(claim=claim, grow_to=size):
            return "ClaimGrown", f"claim {claim.name} requests {size}"
        case actions.DeleteClaim(message=message):
            return "ClaimReleased", message
        case actions.CreateFormatter(node_id=node_id):
            return (
                "FormatterCreated",
                f"a formatter pod examines the volumes of broker {node_id}, and formats empty ones",
            )
        case actions.CreatePod(node_id=node_id, revision=revision):
            return "PodCreated", f"broker {node_id} starts from revision {revision.name}"
        case actions.GiveLate(pod=pod):
            return "PlaceTold", f"pod {pod.name} is told its rack and its addresses"
        case actions.NoteEmpty(pod=pod):
            return "VolumeLooksEmpty", f"{_run(pod)} in pod {pod.name} found {_empty(pod)} empty"
        case actions.DeletePod(reason=reason, message=message):
            return reason, message
        case actions.EvictPod(message=message):
            return "BrokerStopped", message
        case actions.MarkPod(pod=pod, gate=gate, message=message):
            return ("BrokerReady" if gate == "True" else "BrokerNotReady"), f"pod {pod.name}: {message}"
        case actions.TakeToken():
            return "TokenTaken", "this pool holds the disruption token of its quorum"
        case actions.GiveToken():
            return "TokenGivenBack", "the disruption token of the quorum is given back"
        case actions.AlterConfig(message=message):
            return "SettingsChanged", message
        case actions.MovePartitions(message=message):
            return "PartitionsMove", message
        case actions.EndThrottle(topics=topics):
            return "DrainLimitsRemoved", f"the limits of a drain are removed from {len(topics)} topics"
        case actions.CancelMoves(message=message):
            return "MovesCancelled", message
        case actions.Unregister(node_id=node_id):
            return "BrokerUnregistered", f"the registration of broker {node_id} is removed from the cluster"
        case actions.ElectPreferred(partitions=partitions):
            return "LeadersElected", f"{counted(partitions)} asked for their preferred leader"


def _run(pod: Pod) -> str:
    """The run by its number: the next one is no repetition of the same action."""
    run = None if pod.report is None else pod.report.run
    return "a run of the script" if run is None else f"run {run.number} of the script of container {run.container}"


def _empty(pod: Pod) -> str:
    return "no volume" if pod.report is None else ", ".join(f"volume {index}" for index in empty_in(pod.report))
