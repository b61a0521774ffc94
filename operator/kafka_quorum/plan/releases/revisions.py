"""The inputs that pods are made from. A controller that cannot start gets the spec's at once; running ones are rolled.

The roll itself is in `rolls`. Before the barrier nothing runs, so the spec applies at once.
"""

from dataclasses import replace

from kafka_quorum.model.actions import CreateRevision, RecordChange, WriteRecord
from kafka_quorum.model.beside import keeper
from kafka_quorum.model.certified import why_no_trust, why_no_users, why_trust_unknown
from kafka_quorum.model.identity import BootstrapPhase, FormatMode, NodeIdentity, with_revision
from kafka_quorum.model.migration import Keeper
from kafka_quorum.model.names import inputs_hash
from kafka_quorum.model.observed import Observed
from kafka_quorum.model.permit import Verdict
from kafka_quorum.model.plan import Severity, Wait
from kafka_quorum.model.pods import Pod, PodRole
from kafka_quorum.model.situation import Situation
from kafka_quorum.plan.facts.formats import format_begun, format_of, format_pending
from kafka_quorum.plan.facts.podstate import has_crashed, is_stuck
from kafka_quorum.plan.guards.rule5_restarts import may_restart
from kafka_quorum.plan.guards.rule7_releases import may_run_image
from kafka_quorum.plan.part import Part, merged
from kafka_quorum.plan.releases.refused import moved


def revisions(situation: Situation) -> Part:
    """Bring the applied revision to the spec, if this stops no running controller.

    With an invalid spec a controller without a pod, whose pod is refused, moves to another revision, and renewed
    certificates get one. Nothing else does.
    """
    if situation.repair_only and not _renews(situation):
        return moved(situation)
    if (held := _without_trust(situation)) is not None:
        return held
    record = situation.record
    if record.applied_revision == situation.target and _follows(situation) and not format_pending(situation):
        return Part()
    if situation.observed.revision(record.applied_revision) is None:
        return _adopt_revision(situation)
    if record.phase is BootstrapPhase.FORMATTING:
        return _correct_format(situation)
    return _correct_pods(situation)


def _renews(situation: Situation) -> bool:
    """Whether the target differs from the applied revision, in renewed certificates alone."""
    started = situation.record.phase is BootstrapPhase.STARTED
    return started and situation.renews_only and situation.record.applied_revision != situation.target


def _without_trust(situation: Situation) -> Part | None:
    """The wait for what every controller trusts; None if that is known, or not needed."""
    if why := why_trust_unknown(situation.runtime, situation.observed, situation.record):
        return Part(waits=(Wait(severity=Severity.DEGRADED, reason="RevisionLost", message=why),))
    if why := why_no_trust(situation.runtime) or _why_no_users(situation):
        return Part(waits=(Wait(severity=Severity.PROGRESS, reason="Certificates", message=why),))
    return None


def unsupported(situation: Situation) -> Part:
    """Changes that this version shows and does not make."""
    if situation.record.phase is not BootstrapPhase.STARTED:
        return Part()
    waits = []
    if _leads_elsewhere(situation):
        way_out = "Restore connect, secretName and interBrokerListener in spec.zookeeper"
        text = f"Did not change the connection to ZooKeeper: it stays as the controllers were started with. {way_out}"
        waits.append(Wait(severity=Severity.HELD, reason="NotSupportedYet", message=text))
    return Part(waits=tuple(waits))


def _leads_elsewhere(situation: Situation) -> bool:
    """Whether the spec has another ZooKeeper, or listener of the brokers, than the controllers that migrate."""
    migrate, record = situation.desired.migrate, situation.record
    if migrate is None or record.has_ended or record.overlay.keeper is not Keeper.MIGRATES:
        return False
    return situation.runtime.zookeeper != migrate.beside


def _why_no_users(situation: Situation) -> str:
    return why_no_users(situation.runtime, situation.desired, situation.observed, situation.record)


def _follows(situation: Situation) -> bool:
    """Whether every node is on the applied revision, which exists."""
    return situation.target_revision is not None and all(
        node.revision in (None, situation.target) for node in situation.record.nodes
    )


def _existing_or_new(situation: Situation, verdicts: tuple[Verdict, ...]) -> Part | None:
    """The part that creates the revision, or None if it exists."""
    observed = situation.observed
    if situation.target_revision is not None:
        return None
    number = max((revision.number for revision in observed.revisions), default=0) + 1
    runtime = situation.runtime
    create = CreateRevision(name=situation.target, number=number, runtime=runtime, inputs_hash=inputs_hash(runtime))
    return Part(actions=(create,), verdicts=verdicts)


def _adopt_revision(situation: Situation) -> Part:
    """There is no applied revision yet, or it is gone: the spec's replaces it, if its image may run.

    Controllers that migrate from ZooKeeper must not restart without it, or with that of another cluster.
    """
    if why := _why_not_its_zookeeper(situation):
        way_out = "Correct spec.zookeeper, or restore the ControllerRevisions from a backup"
        text = (
            f"Did not replace the applied revision {situation.record.applied_revision}, which is gone: {why}. {way_out}"
        )
        return Part(waits=(Wait(severity=Severity.DEGRADED, reason="RevisionLost", message=text),))
    verdict = may_run_image(situation, situation.runtime.release)
    if not verdict.allowed:
        wait = Wait(severity=Severity.HELD, reason="OlderImage", message=verdict.reason)
        return Part(verdicts=(verdict,), waits=(wait,))
    if (creating := _existing_or_new(situation, ())) is not None:
        return creating
    if situation.record.applied_revision == situation.target:
        return Part()
    applied = replace(situation.record, applied_revision=situation.target)
    message = f"pods are made from revision {situation.target}"
    return Part(exclusive=WriteRecord(record=applied, change=RecordChange.REVISION, message=message))


def _why_not_its_zookeeper(situation: Situation) -> str:
    """Why the spec does not lead to the ZooKeeper that the controllers write to; empty if it does, or they use none."""
    record = situation.record
    if record.phase is not BootstrapPhase.STARTED or record.overlay.keeper is not Keeper.MIGRATES:
        return ""
    if situation.runtime.zookeeper is None:
        return "spec.zookeeper is not set"
    seen = keeper(situation)
    return seen if isinstance(seen, str) else ""


def _correct_format(situation: Situation) -> Part:
    """Before the barrier: the new spec applies; the disks that are already formatted set the lowest release."""
    requested = format_of(situation.desired)
    verdicts: tuple[Verdict, ...] = ()
    corrected = replace(situation.record, applied_revision=situation.target)
    change = RecordChange.REVISION
    if format_pending(situation):
        if any(pod.role is PodRole.FORMATTER for pod in situation.observed.pods):
            # They wait for an image or a node, or failed. They are deleted first: none may format by the old spec
            # meanwhile.
            return _outdate(situation)
        corrected = replace(corrected, format=replace(requested, mode=situation.record.format.mode))
        change = RecordChange.REFORMAT
    elif format_begun(situation):
        verdict = may_run_image(situation, situation.runtime.release)
        verdicts = (verdict,)
        if not verdict.allowed:
            return Part(
                verdicts=verdicts, waits=(Wait(severity=Severity.HELD, reason="OlderImage", message=verdict.reason),)
            )
    if (creating := _existing_or_new(situation, verdicts)) is not None:
        return creating
    message = f"formatters and pods are made from the corrected spec, revision {situation.target}"
    return Part(exclusive=WriteRecord(record=corrected, change=change, message=message), verdicts=verdicts)


def _outdate(situation: Situation) -> Part:
    """Set the new revision as the applied one, so that waiting formatters are outdated and get deleted."""
    if situation.record.applied_revision == situation.target:
        return Part()
    if (creating := _existing_or_new(situation, ())) is not None:
        return creating
    message = f"waiting formatters are removed, and recreated from revision {situation.target}"
    pointed = replace(situation.record, applied_revision=situation.target)
    return Part(exclusive=WriteRecord(record=pointed, change=RecordChange.REVISION, message=message))


def _correct_pods(situation: Situation) -> Part:
    """After the barrier: create the revision, move pods that cannot start to it, and apply it when all have it.

    It is applied only after a pod made from it has run: what the API server refuses never becomes the applied revision.
    """
    record = situation.record
    if not situation.older and _has_run(situation.observed, situation.target):
        cleared = replace(
            record,
            applied_revision=situation.target,
            nodes=tuple(replace(node, revision=None) for node in record.nodes),
        )
        message = f"every controller is made from revision {situation.target}"
        return Part(exclusive=WriteRecord(record=cleared, change=RecordChange.ROLL_DONE, message=message))
    refused = moved(situation)
    verdict = may_run_image(situation, situation.runtime.release)
    if not verdict.allowed:
        wait = Wait(severity=Severity.HELD, reason="OlderImage", message=verdict.reason)
        return merged((Part(verdicts=(verdict,), waits=(wait,)), refused))
    if (creating := _existing_or_new(situation, (verdict,))) is not None:
        return creating
    corrected = _correct_stuck(situation)
    others = () if corrected.exclusive is not None else (refused,)
    return merged((Part(verdicts=(verdict,)), corrected, *others))


def _correct_stuck(situation: Situation) -> Part:
    """The next controller that cannot start gets the revision: only one, because the revision may be at fault.

    Before the first leader, and before a disk is formatted, a wrong revision can do no harm.
    """
    record = situation.record
    verdicts: list[Verdict] = []
    for node in record.nodes:
        if (node.revision or record.applied_revision) == situation.target:
            continue
        if not _cannot_start(situation, node):
            if not any(_needs_another(situation, pod) for pod in _made(situation.observed, node)):
                continue
            if node.formatted and record.had_leader:
                verdicts.append(may_restart(situation, node, None))
                if not verdicts[-1].allowed:
                    continue
        message = f"controller {node.node_id} cannot start, and is recreated from revision {situation.target}"
        corrected = with_revision(record, situation.target, (node.node_id,))
        write = WriteRecord(record=corrected, change=RecordChange.REVISION, message=message)
        return Part(exclusive=write, verdicts=tuple(verdicts))
    return Part(verdicts=tuple(verdicts))


def _needs_another(situation: Situation, pod: Pod) -> bool:
    """Whether a pod will not start from its revision. After a crash the kubelet restarts what has run before."""
    crashed = has_crashed(pod)
    proven = _has_run(situation.observed, pod.revision) or (
        situation.record.had_leader and pod.revision == situation.record.applied_revision
    )
    return is_stuck(pod) and not (crashed and proven and pod.role is PodRole.KAFKA)


def _has_run(observed: Observed, name: str) -> bool:
    """Whether a pod made from this revision runs: until one has, controllers may have to go back to the applied one."""
    return any(pod.role is PodRole.KAFKA and pod.running and pod.revision == name for pod in observed.pods)


def _cannot_start(situation: Situation, node: NodeIdentity) -> bool:
    """A new disk, without a pod, and a revision with static voters: the controller would act as one of these voters."""
    revision = situation.revision_of(node)
    static = revision is not None and bool(revision.runtime.static_voters)
    new = node.formatted and node.mode is FormatMode.NO_INITIAL_CONTROLLERS
    return static and new and not situation.record.static and not _pods(situation.observed, node)


def _made(observed: Observed, node: NodeIdentity) -> tuple[Pod, ...]:
    """The pods that are made for the present state of this node: the formatter of its disk, or Kafka's."""
    return observed.pods_of(node.node_id, PodRole.KAFKA if node.formatted else PodRole.FORMATTER)


def _pods(observed: Observed, node: NodeIdentity) -> tuple[Pod, ...]:
    return observed.pods_of(node.node_id, PodRole.KAFKA)
