"""The guards of releases and levels: rule 5 for restarts, rule 7 for images, features and ghosts. See `safety`.

What a controller supports is what it says itself; what nobody can ask (brokers above all) is vouched for by the active
controller, which is asked to validate every step in the very look that the step is judged by.
"""

from collections.abc import Iterator
from typing import Final

from kafka_quorum.api.features import KRAFT, METADATA, level_text, supported_by
from kafka_quorum.api.release import parse_release
from kafka_quorum.model.desired import Desired, Downgrade
from kafka_quorum.model.identity import FormatMode, IdentityRecord, NodeIdentity
from kafka_quorum.model.ids import NodeID, ReplicaKey
from kafka_quorum.model.known import Known, Unknown
from kafka_quorum.model.nodes import is_down, node_of, revision_of
from kafka_quorum.model.observed import Observed, Pod, PodRole, QuorumView
from kafka_quorum.model.plan import Verdict
from kafka_quorum.model.quorum import FeatureRange, FeatureStep, FinalizedFeature
from kafka_quorum.plan.kept_disks import is_going, why_kept
from kafka_quorum.plan.podstate import has_crashed
from kafka_quorum.plan.safety import CAUGHT_UP_LOOKS
from kafka_quorum.plan.verdict import no, unless, yes

_PAIR: Final = 2
_DIGITS_MAX: Final = 9
RUNS_FOR_S: Final = 20.0
"""How long a container must have been seen to run before it shows, without a leader, that its revision can start.

With a setting that Kafka refuses it ends some seconds after its start, on a busy node after ten.
"""
LEAST_SOAK_S: Final = 1.0
"""Of a soak of no time: a controller of 3.9 tells of the lowest levels for a moment before it has read its own."""
STATIC_TO_DYNAMIC_SINCE: Final = (4, 1, 0)
"""3.9 takes kraft.version 1 on a static quorum, says that it is finalized, and has no directory ids (measured)."""


def may_restart(
    desired: Desired, observed: Observed, record: IdentityRecord, node: NodeIdentity, pod: Pod | None, target: str
) -> Verdict:
    """Rules 3 to 5: a controller is recreated from the revision `target`; without a `pod` it does not run.

    One at a time, the next when every one that was restarted is a caught-up voter again, the active controller last,
    and never while the voters or a feature change. A voter that keeps up is restarted only if all others keep up. One
    that lags takes nothing away: it is restarted if the others form a caught-up majority of the whole voter set without
    it, and every controller that was restarted before is a caught-up voter again, so that it may lag together with
    others that the roll has not reached yet. No pod is stopped that holds the last of a disk that is needed.
    """
    rule, first = "5-restart", f"controller {node.node_id} restarts once"
    if observed.pods_of(node.node_id, PodRole.KAFKA) and (kept := why_kept(desired, observed, record, node)):
        return no(rule, f"controller {node.node_id} does not restart: {kept}")
    if pod is None:
        return _where_nothing_runs(observed, record, node, target)
    if isinstance(observed.quorum, Unknown):
        return no(rule, f"{first} the quorum has a leader: {observed.quorum.reason}")
    view, key, status = observed.quorum.value, node.key, observed.status
    others = view.voters - {key}
    steady = frozenset(other for other in others if _is_steady(observed, record, view, other))
    moved = frozenset(other.key for other in record.nodes if _is_made_from(observed, record, other, target))
    waits_for = _names((others - steady) if key in view.shown else (others - steady) & moved)
    majority, leads = len(view.voters) // 2 + 1, key.node_id == view.answer.leader_id
    older = _names(other.key for other in record.nodes if other is not node and other.key not in moved)
    interrupts = key in view.voters and len(view.voters) <= _PAIR
    allow = "spec.controllers.allowInterruption is true: its restart interrupts a quorum of one or two voters"
    return unless(
        rule,
        (
            (status.operation is not None or not view.committed or view.changing, f"{first} no voter change is open"),
            (status.feature_operation is not None, f"{first} the step to {_step_of(observed)} is done"),
            (pod.deleting or not pod.running, f"pod {pod.name} does not run, or is on its way out"),
            (interrupts and not desired.allow_interruption, f"{first} {allow}"),
            (key in view.voters and bool(waits_for), f"{first} {waits_for} is a caught-up voter again"),
            (
                key in view.voters and len(view.voters) > _PAIR and len(steady) < majority,
                f"{first} {majority} other voters are caught up, and {len(steady)} are",
            ),
            (leads and bool(older), f"controller {node.node_id} leads, and restarts last: {older} first"),
        ),
        f"{len(steady)} of {len(others)} other voters are caught up" if key in view.voters else f"{key} is no voter",
    )


def _where_nothing_runs(observed: Observed, record: IdentityRecord, node: NodeIdentity, target: str) -> Verdict:
    """A controller whose Kafka does not run is made from the revision `target`: that takes nothing away.

    Not while one that was made from it, or is about to be, is not back: where the revision itself is at fault, only one
    controller has it. Without a leader that one only has to run, because those that do not run may be the majority. It
    must run for some time, and not have crashed before: one that crashes again and again runs for moments.

    The applied revision is not at fault, because a quorum has been led from it: the way back to it is always open. And
    without a leader no controller leaves it that has only crashed: the kubelet starts it again, and others may not.
    """
    rule = "5-restart"
    if target == record.applied_revision and record.had_leader:
        return yes(rule, f"controller {node.node_id} does not run, and goes back to revision {target}, which has run")
    others = (other for other in record.nodes if other is not node and _tries(observed, record, other, target))
    away = _names(other.key for other in others if not _is_back(observed, record, other))
    first = f"controller {node.node_id} does not run, and is made from revision {target} once"
    led = isinstance(observed.quorum, Known)
    is_back = "is a caught-up voter again" if led else "runs, and has not crashed"
    pods = observed.pods_of(node.node_id, PodRole.KAFKA)
    applied = record.had_leader and any(pod.revision == record.applied_revision for pod in pods)
    crashed = not led and applied and any(has_crashed(pod) for pod in pods)
    return unless(
        rule,
        (
            (crashed, f"controller {node.node_id} has crashed, and the kubelet starts it again: it stays what it is"),
            (bool(away), f"{first} {away} {is_back}"),
        ),
        f"controller {node.node_id} does not run",
    )


def _is_back(observed: Observed, record: IdentityRecord, node: NodeIdentity) -> bool:
    """Whether a controller runs and, as far as that can be asked, is a caught-up voter; an observer needs no more."""
    running = [pod for pod in observed.pods_of(node.node_id, PodRole.KAFKA) if pod.running and not pod.deleting]
    if not running:
        return False
    if isinstance(observed.quorum, Unknown):
        now_s = observed.looked_at_s
        steady = (observed.memory.has_run_for_s(pod.instance, now_s) >= RUNS_FOR_S for pod in running)
        return all(steady) and not any(pod.restarted for pod in running)
    view = observed.quorum.value
    return node.key not in view.voters or _is_steady(observed, record, view, node.key)


def _is_steady(observed: Observed, record: IdentityRecord, view: QuorumView, key: ReplicaKey) -> bool:
    """Whether a voter has been caught up for some looks, with its pod running, where it is a controller of ours."""
    if key not in view.caught_up or observed.memory.looks(key) < CAUGHT_UP_LOOKS:
        return False
    if record.node(key.node_id) is None:
        return True
    return any(pod.running and not pod.deleting for pod in observed.pods_of(key.node_id, PodRole.KAFKA))


def _is_made_from(observed: Observed, record: IdentityRecord, node: NodeIdentity, target: str) -> bool:
    """Whether a controller is to be made, and its pod, if there is one, is made from this revision."""
    revision = revision_of(observed, record, node)
    pods = observed.pods_of(node.node_id, PodRole.KAFKA)
    return revision is not None and revision.name == target and all(pod.revision == target for pod in pods)


def _tries(observed: Observed, record: IdentityRecord, node: NodeIdentity, target: str) -> bool:
    """Whether a controller shows what becomes of one that is made from this revision: its Kafka ran from it, or is to.

    It does not while it runs from another one, nor where its node or its disk is what keeps it from running.
    """
    revision = revision_of(observed, record, node)
    if revision is None or revision.name != target or not node.formatted or is_down(observed, node_of(observed, node)):
        return False
    if is_going(observed, node):
        return False
    pods = observed.pods_of(node.node_id, PodRole.KAFKA)
    refuses = any(not pod.running and pod.report is not None and not pod.report.accepted for pod in pods)
    return not refuses and not any(pod.running and pod.revision != target for pod in pods)


def _step_of(observed: Observed) -> str:
    operation = observed.status.feature_operation
    return str(operation.step) if operation else ""


def _names(keys: Iterator[ReplicaKey] | frozenset[ReplicaKey]) -> str:
    return ", ".join(str(node_id) for node_id in sorted(key.node_id for key in keys))


def may_run_image(record: IdentityRecord, observed: Observed, wanted_release: str) -> Verdict:
    """Rule 7: no image that cannot read what is finalized; one of a release that nobody knows may go up, never down.

    Without an answer the levels count that were seen last; before there were any, the release of the format.
    """
    rule = "7-image"
    levels, release = _levels(observed, record), parse_release(wanted_release)
    ranges = supported_by(release) if release is not None else None
    if levels and ranges is not None:
        known = {each.name: each for each in ranges}
        for level in levels:
            if level.level and (why := _unreadable(known.get(level.name), level.name, level.level)) is not None:
                way_out = "keep the newer release, or lower the level first"
                has = f"the quorum has {level_text(level.name, level.level)} finalized"
                return no(rule, f"Kafka {wanted_release} {why}, and {has}: {way_out}")
        return yes(rule, f"Kafka {wanted_release} supports every finalized level")
    used = (revision for node in record.nodes if (revision := revision_of(observed, record, node)) is not None)
    present = [record.format.release, *(revision.runtime.release for revision in used)]
    newest = max(present, key=release_numbers)
    if release_numbers(wanted_release) < release_numbers(newest):
        way_out = f"set spec.kafka.version to {newest} or later"
        return no(rule, f"Kafka {wanted_release} is older than {newest}, which this quorum has: {way_out}")
    return yes(rule, f"Kafka {wanted_release} is not older than what this quorum has")


def _levels(observed: Observed, record: IdentityRecord) -> tuple[FinalizedFeature, ...]:
    """The levels that an image has to read: the highest that the leader, or a controller ahead of it, reports.

    Without a report of the leader they are the highest that were seen before, or that any controller reports.
    """
    before = () if observed.finalized else record.levels
    highest: dict[str, FinalizedFeature] = {}
    for each in sorted((*before, *observed.finalized_anywhere), key=lambda each: each.level):
        highest[each.name] = each
    return tuple(sorted(highest.values()))


def _unreadable(supported: FeatureRange | None, name: str, level: int) -> str | None:
    """Why a release cannot run at this level; None where it can."""
    if supported is None:
        return f"does not know {name}"
    if level > supported.max_level:
        return f"supports {name} up to {level_text(name, supported.max_level)}"
    if level < supported.min_level:
        return f"supports {name} from {level_text(name, supported.min_level)} on"
    return None


def blockers(observed: Observed, record: IdentityRecord, step: FeatureStep) -> tuple[str, ...]:
    """The controllers that said that they do not support a level, in sentences that a person can act on (F6).

    `controller 3002 runs 4.1.2, which supports metadata.version up to 4.1-IV1 (27)`; those of one kind in one sentence.
    """
    found: dict[tuple[str, str], list[str]] = {}
    for node in record.nodes:
        answer = observed.versions_of(node.node_id)
        if isinstance(answer, Unknown):
            continue
        ranges = {each.name: each for each in answer.value.supported}
        if step.level and (why := _unreadable(ranges.get(step.name), step.name, step.level)) is not None:
            found.setdefault((_release_of(observed, node.node_id), why), []).append(str(node.node_id))
    return tuple(
        f"controller{'s' * (len(ids) > 1)} {', '.join(ids)} run{'s' * (len(ids) == 1)} {release}, which {why}"
        for (release, why), ids in found.items()
    )


def _release_of(observed: Observed, node_id: NodeID) -> str:
    pods = (pod for pod in observed.pods_of(node_id, PodRole.KAFKA) if pod.running)
    revision = next((observed.revision(pod.revision) for pod in pods), None)
    return revision.runtime.release if revision else "an unknown release"


def unasked(observed: Observed, record: IdentityRecord) -> tuple[NodeID, ...]:
    """The controllers that do not answer: the active controller vouches for them, by their registrations."""
    return tuple(node.node_id for node in record.nodes if isinstance(observed.versions_of(node.node_id), Unknown))


def may_raise(
    desired: Desired, observed: Observed, record: IdentityRecord, step: FeatureStep, older: tuple[NodeID, ...]
) -> Verdict:
    """Rule 7: one level up, after the roll, with every node known to support it and every voter well for the soak time.

    `older` are the controllers that the roll has not reached yet.
    """
    rule, first = "7-raise", f"{step.name} is raised to {level_text(step.name, step.level)} once"
    if isinstance(observed.quorum, Unknown):
        return no(rule, f"{first} the quorum has a leader: {observed.quorum.reason}")
    rolled = ", ".join(map(str, older))
    static = step.name == KRAFT and _too_old_for_dynamic(observed, record)
    return unless(
        rule,
        (
            (bool(older), f"{first} controllers {rolled} run Kafka {desired.runtime.release} from the present spec"),
            (bool(static), f"{first} {static}"),
            (bool(named := blockers(observed, record, step)), f"{first} {'; '.join(named)}"),
            *_unsettled(observed, observed.quorum.value, first),
            *_refusal(observed, step, first),
            *_unsoaked(desired, observed, first),
        ),
        _vouched(observed, record, step),
    )


def may_lower(
    desired: Desired, observed: Observed, record: IdentityRecord, step: FeatureStep, whole: FeatureStep
) -> Verdict:
    """Rule 7: one level down, only where the spec says so, and Kafka says of the `whole` way that nothing is lost."""
    rule, to = "7-lower", level_text(whole.name, whole.level)
    if whole.name == KRAFT:
        return no(rule, f"{KRAFT} never goes down: no release of Kafka turns a dynamic quorum static again")
    if desired.downgrade is Downgrade.FORBID:
        way_out = "set spec.kafka.features.downgrade to Safe if it is meant, or correct the level"
        return no(rule, f"{whole.name} is not lowered to {to}: {way_out}")
    first = f"{step.name} is lowered to {level_text(step.name, step.level)} once"
    if isinstance(observed.quorum, Unknown):
        return no(rule, f"{first} the quorum has a leader: {observed.quorum.reason}")
    named = blockers(observed, record, step)
    return unless(
        rule,
        (
            (bool(named), f"{first} {'; '.join(named)}"),
            *_unsettled(observed, observed.quorum.value, first),
            *_refusal(observed, whole, first),
            *_refusal(observed, step, first),
            *_unsoaked(desired, observed, first),
        ),
        _vouched(observed, record, step),
    )


def _unsettled(observed: Observed, view: QuorumView, first: str) -> Iterator[tuple[bool, str]]:
    lagging = _names(view.voters - view.caught_up)
    changing = observed.status.operation is not None or not view.committed or view.changing
    yield changing, f"{first} no voter change is open"
    yield bool(lagging), f"{first} voters {lagging} are caught up"


def _refusal(observed: Observed, step: FeatureStep, first: str) -> Iterator[tuple[bool, str]]:
    match observed.check(step):
        case Unknown(reason=reason):
            yield True, f"{first} the active controller has said that it would allow it: {reason}"
        case Known(value=check):
            yield not check.allowed, f"{first} the active controller allows it; it says: {check.words}"


def _unsoaked(desired: Desired, observed: Observed, first: str) -> Iterator[tuple[bool, str]]:
    soak = observed.memory.soak
    healthy_s = soak.healthy_s if soak else 0.0
    needed_s = max(desired.soak_s, LEAST_SOAK_S)
    well = f"every voter has been well for {needed_s:.0f} s at the present levels"
    yield healthy_s < needed_s, f"{first} {well}"


def _vouched(observed: Observed, record: IdentityRecord, step: FeatureStep) -> str:
    silent = ", ".join(map(str, unasked(observed, record)))
    told = f" (not asked: controllers {silent})" if silent else ""
    return f"the active controller would allow {step.name} {level_text(step.name, step.level)}{told}"


def _too_old_for_dynamic(observed: Observed, record: IdentityRecord) -> str:
    """The controllers on which kraft.version 1 would not make a static quorum dynamic; empty if there is none."""
    ranges = {each.name: each for each in supported_by(STATIC_TO_DYNAMIC_SINCE) or ()}
    needed = ranges[METADATA].max_level
    too_old = []
    for node in record.nodes:
        match observed.versions_of(node.node_id):
            case Known(value=said):
                levels = (each.max_level for each in said.supported if each.name == METADATA)
                if max(levels, default=0) < needed:
                    too_old.append(f"controller {node.node_id} runs {_release_of(observed, node.node_id)}")
            case Unknown(reason=reason):
                too_old.append(f"controller {node.node_id} has not said what it runs: {reason}")
    return f"every controller runs Kafka 4.1 or later: {'; '.join(too_old)}" if too_old else ""


def may_cure_ghost(observed: Observed, record: IdentityRecord, node_id: NodeID) -> Verdict:
    """Rule 7: a registration is taken out of the way only if its controller was removed here, and runs nowhere."""
    rule = "7-cure-ghost"
    if isinstance(observed.quorum, Unknown):
        return no(rule, f"the registration of controller {node_id} stays: {observed.quorum.reason}")
    view = observed.quorum.value
    ours = any(each.node_id == node_id for each in record.former)
    runs = next((key for key in view.live | view.voters if key.node_id == node_id), None)
    pods = ", ".join(pod.name for pod in observed.pods if pod.node_id == node_id)
    return unless(
        rule,
        (
            (record.node(node_id) is not None, f"controller {node_id} is one of this resource"),
            (runs is not None, f"replica {runs} votes, or fetches: controller {node_id} is no ghost"),
            (bool(pods), f"the registration of controller {node_id} goes once pods {pods} are gone"),
            (not ours, f"controller {node_id} never was one of this resource: its registration is left alone"),
        ),
        f"controller {node_id} was removed, and runs nowhere",
    )


def may_drop_static(observed: Observed, record: IdentityRecord) -> Verdict:
    """Rule 7: `controller.quorum.voters` is given up once every controller ignores it, by the voters' directory ids.

    The finalized level alone does not tell: 3.9 finalizes kraft.version 1 on a static quorum and stays static.
    """
    rule, first = "7-drop-static", "controller.quorum.voters is dropped once"
    if isinstance(observed.quorum, Unknown):
        return no(rule, f"{first} the quorum has a leader: {observed.quorum.reason}")
    view = observed.quorum.value
    # A disk that was lost meanwhile is made anew, and starts when this is over.
    first_disks = [node for node in record.nodes if node.mode is not FormatMode.NO_INITIAL_CONTROLLERS]
    own = frozenset(node.key for node in first_disks)
    behind = ", ".join(str(node.node_id) for node in first_disks if not _ignores_static(observed, node.node_id))
    return unless(
        rule,
        (
            (view.static, f"{first} the voters have directory ids"),
            (not own <= view.voters, f"{first} the voters have the directory ids of their disks"),
            (not view.committed, f"{first} the present voter set is committed"),
            (bool(behind), f"{first} controllers {behind} say that kraft.version is 1"),
        ),
        "every voter has its directory id, and every controller is at kraft.version 1",
    )


def _ignores_static(observed: Observed, node_id: NodeID) -> bool:
    match observed.versions_of(node_id):
        case Known(value=said):
            return any(feature.name == KRAFT and feature.level >= 1 for feature in said.finalized)
        case Unknown():
            return False


def release_numbers(text: str) -> tuple[int, ...]:
    """A release as numbers that can be compared: `4.1.2` is (4, 1, 2)."""
    parts = (part for part in text.split(".", maxsplit=4) if part.isascii() and part.isdigit())
    return tuple(int(part) for part in parts if len(part) <= _DIGITS_MAX)
