"""From which inputs pods are made. A running controller keeps its revision; one that cannot start gets the new one.

Rolling running controllers to a new revision is not part of this version: it is shown as `NotSupportedYet`, and
nothing is touched. Before the barrier nothing runs, so the spec simply applies.
"""

from dataclasses import replace

from kafka_quorum.model.actions import CreateRevision, RecordChange, WriteRecord
from kafka_quorum.model.desired import Desired, Runtime
from kafka_quorum.model.identity import BootstrapPhase, IdentityRecord, with_revision
from kafka_quorum.model.names import inputs_hash, revision_name
from kafka_quorum.model.nodes import revision_of
from kafka_quorum.model.observed import DiskFound, Observed, Pod, PodRole, Revision, Waiting
from kafka_quorum.model.plan import Severity, Verdict, Wait
from kafka_quorum.plan.identity import format_of
from kafka_quorum.plan.part import Part
from kafka_quorum.plan.podstate import is_stuck
from kafka_quorum.plan.safety import may_run_image


def revisions(desired: Desired, observed: Observed, record: IdentityRecord) -> Part:
    """Bring the applied revision to the spec, where that may be done without touching what runs."""
    hash_ = inputs_hash(desired.runtime)
    name = revision_name(desired.name, hash_)
    if (
        record.applied_revision == name
        and _follows(observed, record, name)
        and not format_pending(desired, observed, record)
    ):
        return Part()
    if observed.revision(record.applied_revision) is None:
        return _adopt_revision(desired, observed, record, name, hash_)
    if record.phase is BootstrapPhase.FORMATTING:
        return _correct_format(desired, observed, record, name, hash_)
    return _correct_pods(desired, observed, record, name, hash_)


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
    held = _changed_runtime(desired, observed, record)
    if record.phase is BootstrapPhase.STARTED and desired.features and desired.features != record.format.features:
        held.append("spec.kafka.features.levels: feature levels of a running quorum are not changed")
    if not held:
        return ()
    text = f"not supported by this version, nothing is touched: {'; '.join(held)}"
    return (Wait(severity=Severity.HELD, reason="NotSupportedYet", message=text),)


def _follows(observed: Observed, record: IdentityRecord, name: str) -> bool:
    """Whether every node is on the fleet's revision, which exists."""
    return observed.revision(name) is not None and all(node.revision in (None, name) for node in record.nodes)


def _existing_or_new(
    desired: Desired, observed: Observed, name: str, hash_: str, verdicts: tuple[Verdict, ...]
) -> Part | None:
    """The part that creates the revision, or None if it is there."""
    if observed.revision(name) is not None:
        return None
    number = max((revision.number for revision in observed.revisions), default=0) + 1
    create = CreateRevision(name=name, number=number, runtime=desired.runtime, inputs_hash=hash_)
    return Part(actions=(create,), verdicts=verdicts)


def _adopt_revision(desired: Desired, observed: Observed, record: IdentityRecord, name: str, hash_: str) -> Part:
    """There is no applied revision yet, or it is gone: the spec takes its place, if its image may run."""
    verdict = may_run_image(record, None, desired.runtime.release)
    if not verdict.allowed:
        wait = Wait(severity=Severity.HELD, reason="OlderImage", message=verdict.reason)
        return Part(verdicts=(verdict,), waits=(wait,))
    if (creating := _existing_or_new(desired, observed, name, hash_, ())) is not None:
        return creating
    if record.applied_revision == name:
        return Part()
    applied = replace(record, applied_revision=name)
    message = f"pods are made from revision {name}"
    return Part(exclusive=WriteRecord(record=applied, change=RecordChange.REVISION, message=message))


def _correct_format(desired: Desired, observed: Observed, record: IdentityRecord, name: str, hash_: str) -> Part:
    """Before the barrier: the new spec applies; what was formatted already sets the lowest release."""
    wanted = format_of(desired)
    verdicts: tuple[Verdict, ...] = ()
    corrected = replace(record, applied_revision=name)
    change = RecordChange.REVISION
    if format_pending(desired, observed, record):
        if any(pod.role is PodRole.FORMATTER for pod in observed.pods):
            # They wait for an image or a node, or failed, and go first: none may format by the old spec meanwhile.
            return _outdate(desired, observed, record, name, hash_)
        corrected = replace(corrected, format=replace(wanted, mode=record.format.mode))
        change = RecordChange.REFORMAT
    elif _format_begun(observed, record):
        verdict = may_run_image(record, None, desired.runtime.release)
        verdicts = (verdict,)
        if not verdict.allowed:
            return Part(
                verdicts=verdicts, waits=(Wait(severity=Severity.HELD, reason="OlderImage", message=verdict.reason),)
            )
    if (creating := _existing_or_new(desired, observed, name, hash_, verdicts)) is not None:
        return creating
    message = f"formatters and pods are made from the corrected spec, revision {name}"
    return Part(exclusive=WriteRecord(record=corrected, change=change, message=message), verdicts=verdicts)


def _outdate(desired: Desired, observed: Observed, record: IdentityRecord, name: str, hash_: str) -> Part:
    """Point the fleet at the new revision, so that waiting formatters are outdated and go."""
    if record.applied_revision == name:
        return Part()
    if (creating := _existing_or_new(desired, observed, name, hash_, ())) is not None:
        return creating
    message = f"waiting formatters are removed for revision {name}"
    pointed = replace(record, applied_revision=name)
    return Part(exclusive=WriteRecord(record=pointed, change=RecordChange.REVISION, message=message))


def _correct_pods(desired: Desired, observed: Observed, record: IdentityRecord, name: str, hash_: str) -> Part:
    """Behind the barrier: only pods that cannot start are made from the new spec; the fleet follows when all are."""
    stuck = [
        node.node_id
        for node in record.nodes
        if (node.revision or record.applied_revision) != name
        and any(is_stuck(pod) for pod in observed.pods_of(node.node_id, PodRole.KAFKA))
    ]
    if not stuck:
        if any((node.revision or record.applied_revision) != name for node in record.nodes):
            return Part()
        cleared = replace(
            record, applied_revision=name, nodes=tuple(replace(node, revision=None) for node in record.nodes)
        )
        message = f"every controller is made from revision {name}"
        return Part(exclusive=WriteRecord(record=cleared, change=RecordChange.REVISION, message=message))
    current = observed.revision(record.applied_revision)
    verdict = may_run_image(record, current, desired.runtime.release)
    if not verdict.allowed:
        wait = Wait(severity=Severity.HELD, reason="OlderImage", message=verdict.reason)
        return Part(verdicts=(verdict,), waits=(wait,))
    if (creating := _existing_or_new(desired, observed, name, hash_, (verdict,))) is not None:
        return creating
    message = f"controllers {', '.join(map(str, stuck))} cannot start, and are made anew from revision {name}"
    corrected = with_revision(record, name, stuck)
    return Part(
        exclusive=WriteRecord(record=corrected, change=RecordChange.REVISION, message=message), verdicts=(verdict,)
    )


def _changed_runtime(desired: Desired, observed: Observed, record: IdentityRecord) -> list[str]:
    if record.phase is not BootstrapPhase.STARTED:
        return []
    found: list[str] = []
    for node in record.nodes:
        revision = revision_of(observed, record, node)
        if revision is not None:
            found.extend(text for text in _differences(desired.runtime, revision) if text not in found)
    return found


def _differences(wanted: Runtime, revision: Revision) -> list[str]:
    """Which fields of the spec differ from what the pods run, by their names."""
    have = revision.runtime
    rows = (
        ("spec.kafka.version", wanted.release, have.release),
        ("spec.kafka.image", wanted.image, have.image),
        ("spec.kafka.config or spec.controllers.config", wanted.config, have.config),
        ("spec.controllers.listeners", wanted.listener, have.listener),
        ("spec.controllers.jvm", (wanted.heap, wanted.jvm_options), (have.heap, have.jvm_options)),
        ("spec.controllers.template.metadata", wanted.template_metadata, have.template_metadata),
        ("spec.controllers.template.spec", wanted.template_spec, have.template_spec),
    )
    return [f"{field} of running controllers" for field, new, old in rows if new != old]
