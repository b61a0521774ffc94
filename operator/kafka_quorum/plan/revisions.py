"""From which inputs pods are made. A controller that cannot start gets the spec's at once; running ones are rolled.

The roll itself is in `rolls`. Before the barrier nothing runs, so the spec simply applies.
"""

from dataclasses import replace

from kafka_quorum.model.actions import CreateRevision, RecordChange, WriteRecord
from kafka_quorum.model.desired import Desired
from kafka_quorum.model.identity import BootstrapPhase, FormatMode, IdentityRecord, NodeIdentity, with_revision
from kafka_quorum.model.names import inputs_hash
from kafka_quorum.model.nodes import older_than, revision_of, target_revision, target_runtime
from kafka_quorum.model.observed import DiskFound, Observed, Pod, PodRole, Waiting
from kafka_quorum.model.plan import Severity, Verdict, Wait
from kafka_quorum.plan import admission
from kafka_quorum.plan.identity import format_of
from kafka_quorum.plan.part import Part, merged
from kafka_quorum.plan.podstate import has_crashed, is_stuck
from kafka_quorum.plan.rolling_safety import may_restart, may_run_image


def revisions(desired: Desired, observed: Observed, record: IdentityRecord) -> Part:
    """Bring the applied revision to the spec, where that may be done without stopping what runs."""
    name = target_revision(desired, observed, record)
    if (
        record.applied_revision == name
        and _follows(observed, record, name)
        and not format_pending(desired, observed, record)
    ):
        return Part()
    if observed.revision(record.applied_revision) is None:
        return _adopt_revision(desired, observed, record, name)
    if record.phase is BootstrapPhase.FORMATTING:
        return _correct_format(desired, observed, record, name)
    return _correct_pods(desired, observed, record, name)


def format_pending(desired: Desired, observed: Observed, record: IdentityRecord) -> bool:
    """Whether the spec asks for another initial format, and nothing was formatted by the old one: so it may have it."""
    if record.phase is not BootstrapPhase.FORMATTING or _format_begun(observed, record):
        return False
    wanted = format_of(desired)
    return (wanted.release, wanted.features) != (record.format.release, record.format.features)


def _format_begun(observed: Observed, record: IdentityRecord) -> bool:
    formatters = (pod for pod in observed.pods if pod.role is PodRole.FORMATTER)
    return any(node.formatted for node in record.nodes) or not all(map(_formatted_nothing, formatters))


def _formatted_nothing(pod: Pod) -> bool:
    """A formatter that waits still, or that said that it left the disk without an identity."""
    if isinstance(pod.container, Waiting):
        return not pod.finished
    report = pod.report
    return not pod.running and report is not None and not report.accepted and report.found is DiskFound.EMPTY


def unsupported(desired: Desired, observed: Observed, record: IdentityRecord) -> tuple[Wait, ...]:
    """Changes that this version shows and does not make."""
    if record.phase is not BootstrapPhase.STARTED:
        return ()
    if target_runtime(desired, observed, record).listener == desired.runtime.listener:
        return ()
    text = "not supported by this version, nothing is touched: spec.controllers.listeners of running controllers"
    return (Wait(severity=Severity.HELD, reason="NotSupportedYet", message=text),)


def _follows(observed: Observed, record: IdentityRecord, name: str) -> bool:
    """Whether every node is on the fleet's revision, which exists."""
    return observed.revision(name) is not None and all(node.revision in (None, name) for node in record.nodes)


def _existing_or_new(
    desired: Desired, observed: Observed, record: IdentityRecord, name: str, verdicts: tuple[Verdict, ...]
) -> Part | None:
    """The part that creates the revision, or None if it is there."""
    if observed.revision(name) is not None:
        return None
    number = max((revision.number for revision in observed.revisions), default=0) + 1
    runtime = target_runtime(desired, observed, record)
    create = CreateRevision(name=name, number=number, runtime=runtime, inputs_hash=inputs_hash(runtime))
    return Part(actions=(create,), verdicts=verdicts)


def _adopt_revision(desired: Desired, observed: Observed, record: IdentityRecord, name: str) -> Part:
    """There is no applied revision yet, or it is gone: the spec takes its place, if its image may run."""
    verdict = may_run_image(record, observed, desired.runtime.release)
    if not verdict.allowed:
        wait = Wait(severity=Severity.HELD, reason="OlderImage", message=verdict.reason)
        return Part(verdicts=(verdict,), waits=(wait,))
    if (creating := _existing_or_new(desired, observed, record, name, ())) is not None:
        return creating
    if record.applied_revision == name:
        return Part()
    applied = replace(record, applied_revision=name)
    message = f"pods are made from revision {name}"
    return Part(exclusive=WriteRecord(record=applied, change=RecordChange.REVISION, message=message))


def _correct_format(desired: Desired, observed: Observed, record: IdentityRecord, name: str) -> Part:
    """Before the barrier: the new spec applies; what was formatted already sets the lowest release."""
    wanted = format_of(desired)
    verdicts: tuple[Verdict, ...] = ()
    corrected = replace(record, applied_revision=name)
    change = RecordChange.REVISION
    if format_pending(desired, observed, record):
        if any(pod.role is PodRole.FORMATTER for pod in observed.pods):
            # They wait for an image or a node, or failed, and go first: none may format by the old spec meanwhile.
            return _outdate(desired, observed, record, name)
        corrected = replace(corrected, format=replace(wanted, mode=record.format.mode))
        change = RecordChange.REFORMAT
    elif _format_begun(observed, record):
        verdict = may_run_image(record, observed, desired.runtime.release)
        verdicts = (verdict,)
        if not verdict.allowed:
            return Part(
                verdicts=verdicts, waits=(Wait(severity=Severity.HELD, reason="OlderImage", message=verdict.reason),)
            )
    if (creating := _existing_or_new(desired, observed, record, name, verdicts)) is not None:
        return creating
    message = f"formatters and pods are made from the corrected spec, revision {name}"
    return Part(exclusive=WriteRecord(record=corrected, change=change, message=message), verdicts=verdicts)


def _outdate(desired: Desired, observed: Observed, record: IdentityRecord, name: str) -> Part:
    """Point the fleet at the new revision, so that waiting formatters are outdated and go."""
    if record.applied_revision == name:
        return Part()
    if (creating := _existing_or_new(desired, observed, record, name, ())) is not None:
        return creating
    message = f"waiting formatters are removed for revision {name}"
    pointed = replace(record, applied_revision=name)
    return Part(exclusive=WriteRecord(record=pointed, change=RecordChange.REVISION, message=message))


def _correct_pods(desired: Desired, observed: Observed, record: IdentityRecord, name: str) -> Part:
    """Behind the barrier: the revision is made, pods that cannot start get it, and the fleet follows when all have.

    The fleet follows only once a pod made from it has run: what the API server refuses never becomes the applied one.
    """
    if not older_than(observed, record, name) and _has_run(observed, name):
        cleared = replace(
            record, applied_revision=name, nodes=tuple(replace(node, revision=None) for node in record.nodes)
        )
        message = f"every controller is made from revision {name}"
        return Part(exclusive=WriteRecord(record=cleared, change=RecordChange.ROLL_DONE, message=message))
    refused = admission.moved(observed, record, name)
    verdict = may_run_image(record, observed, desired.runtime.release)
    if not verdict.allowed:
        wait = Wait(severity=Severity.HELD, reason="OlderImage", message=verdict.reason)
        return merged((Part(verdicts=(verdict,), waits=(wait,)), refused))
    if (creating := _existing_or_new(desired, observed, record, name, (verdict,))) is not None:
        return creating
    corrected = _correct_stuck(desired, observed, record, name)
    others = () if corrected.exclusive is not None else (refused,)
    return merged((Part(verdicts=(verdict,)), corrected, *others))


def _correct_stuck(desired: Desired, observed: Observed, record: IdentityRecord, name: str) -> Part:
    """The next controller that cannot start gets the revision: one, for the revision may be what is wrong.

    Before the first leader, and before a disk is formatted, there is nothing that a wrong one could take away.
    """
    verdicts: list[Verdict] = []
    for node in record.nodes:
        if (node.revision or record.applied_revision) == name:
            continue
        if not _cannot_start(observed, record, node):
            if not any(_needs_another(observed, record, pod) for pod in _made(observed, node)):
                continue
            if node.formatted and record.had_leader:
                verdicts.append(may_restart(desired, observed, record, node, None, name))
                if not verdicts[-1].allowed:
                    continue
        message = f"controller {node.node_id} cannot start, and is made from revision {name}"
        corrected = with_revision(record, name, (node.node_id,))
        write = WriteRecord(record=corrected, change=RecordChange.REVISION, message=message)
        return Part(exclusive=write, verdicts=tuple(verdicts))
    return Part(verdicts=tuple(verdicts))


def _needs_another(observed: Observed, record: IdentityRecord, pod: Pod) -> bool:
    """Whether a pod will not start from its revision. After a crash the kubelet starts what has run before again."""
    crashed = has_crashed(pod)
    proven = _has_run(observed, pod.revision) or (record.had_leader and pod.revision == record.applied_revision)
    return is_stuck(pod) and not (crashed and proven and pod.role is PodRole.KAFKA)


def _has_run(observed: Observed, name: str) -> bool:
    """Whether a pod made from this revision runs: until one has, controllers may have to go back to the applied one."""
    return any(pod.role is PodRole.KAFKA and pod.running and pod.revision == name for pod in observed.pods)


def _cannot_start(observed: Observed, record: IdentityRecord, node: NodeIdentity) -> bool:
    """A new disk, without a pod, and a revision with static voters: it would take itself for one of them."""
    revision = revision_of(observed, record, node)
    static = revision is not None and bool(revision.runtime.static_voters)
    new = node.formatted and node.mode is FormatMode.NO_INITIAL_CONTROLLERS
    return static and new and not record.static and not _pods(observed, node)


def _made(observed: Observed, node: NodeIdentity) -> tuple[Pod, ...]:
    """The pods that are made for this node as it is: the formatter of its disk, or Kafka's."""
    return observed.pods_of(node.node_id, PodRole.KAFKA if node.formatted else PodRole.FORMATTER)


def _pods(observed: Observed, node: NodeIdentity) -> tuple[Pod, ...]:
    return observed.pods_of(node.node_id, PodRole.KAFKA)
