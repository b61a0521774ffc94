"""Rule 7: no image older than the levels that it would read, and no level that a node cannot read.

Each controller reports itself what it supports. For nodes that cannot be asked (mostly brokers), the answer of the
active controller counts: it validates every step in the same look by which the step is judged.
"""

from collections.abc import Iterator
from typing import Final

from kafka_quorum.api.features import KRAFT, METADATA, level_text, supported_by
from kafka_quorum.api.release import parse_release
from kafka_quorum.model.conformance import older_brokers, why_brokers_hold
from kafka_quorum.model.desired import Downgrade
from kafka_quorum.model.ids import NodeID
from kafka_quorum.model.known import Known, Unknown
from kafka_quorum.model.observed import Observed, QuorumView
from kafka_quorum.model.permit import CureGhost, LowerLevel, RaiseLevel, RunImage
from kafka_quorum.model.pods import PodRole
from kafka_quorum.model.quorum import FeatureRange, FeatureStep
from kafka_quorum.model.situation import Situation
from kafka_quorum.plan.facts.changing import why_changing
from kafka_quorum.plan.facts.contract import why_not_published
from kafka_quorum.plan.facts.formats import release_numbers
from kafka_quorum.plan.guards.registry import Answer, guard, no, unless, yes
from kafka_quorum.plan.guards.rule5_restarts import _names

LEAST_SOAK_S: Final = 1.0
"""The shortest soak: for a moment a controller of 3.9 reports the lowest levels, before it has read its own."""
STATIC_TO_DYNAMIC_SINCE: Final = (4, 1, 0)
"""3.9 accepts kraft.version 1 on a static quorum, reports it as finalized, and has no directory ids (measured)."""


@guard(RunImage)
def may_run_image(situation: Situation, requested_release: str) -> Answer:
    """Rule 7: no image that cannot read what is finalized; an unknown release may go up, never down.

    Without an answer, the last levels that were seen count; if there were none, the release of the format counts.
    """
    record = situation.record
    levels, release = situation.to_support, parse_release(requested_release)
    ranges = supported_by(release) if release is not None else None
    if levels and ranges is not None:
        known = {each.name: each for each in ranges}
        for level in levels:
            if level.level and (why := _unreadable(known.get(level.name), level.name, level.level)) is not None:
                way_out = "Keep the newer release, or lower the level first"
                has = f"the quorum has {level_text(level.name, level.level)} finalized"
                return no(f"Did not use Kafka {requested_release}: it {why}, and {has}. {way_out}")
        return yes(f"Kafka {requested_release} supports every finalized level")
    used = (revision for node in record.nodes if (revision := situation.revision_of(node)) is not None)
    present = [record.format.release, *(revision.runtime.release for revision in used)]
    newest = max(present, key=release_numbers)
    if release_numbers(requested_release) < release_numbers(newest):
        way_out = f"Set spec.kafka.version to {newest} or later"
        return no(f"Did not use Kafka {requested_release}: it is older than {newest}, which this quorum has. {way_out}")
    return yes(f"Kafka {requested_release} is not older than what this quorum has")


def _unreadable(supported: FeatureRange | None, name: str, level: int) -> str | None:
    """Why a release cannot run at this level; None if it can."""
    if supported is None:
        return f"does not support {name}"
    if level > supported.max_level:
        return f"supports {name} up to {level_text(name, supported.max_level)}"
    if level < supported.min_level:
        return f"supports {name} only from {level_text(name, supported.min_level)} on"
    return None


def blockers(situation: Situation, step: FeatureStep) -> tuple[str, ...]:
    """The controllers that reported that they do not support a level, in sentences that name what to upgrade.

    `controller 3002 runs 4.1.2, which supports metadata.version up to 4.1-IV1 (27)`; those of one kind in one sentence.
    """
    found: dict[tuple[str, str], list[str]] = {}
    for node in situation.record.nodes:
        answer = situation.observed.versions_of(node.node_id)
        if isinstance(answer, Unknown):
            continue
        ranges = {each.name: each for each in answer.value.supported}
        if step.level and (why := _unreadable(ranges.get(step.name), step.name, step.level)) is not None:
            found.setdefault((_release_of(situation.observed, node.node_id), why), []).append(str(node.node_id))
    return tuple(
        f"controller{'s' * (len(ids) > 1)} {', '.join(ids)} run{'s' * (len(ids) == 1)} {release}, which {why}"
        for (release, why), ids in found.items()
    )


def _release_of(observed: Observed, node_id: NodeID) -> str:
    pods = (pod for pod in observed.pods_of(node_id, PodRole.KAFKA) if pod.running)
    revision = next((observed.revision(pod.revision) for pod in pods), None)
    return revision.runtime.release if revision else "an unknown release"


def unasked(situation: Situation) -> tuple[NodeID, ...]:
    """The controllers that do not answer: for these the active controller decides, by their registrations."""
    return tuple(
        node.node_id
        for node in situation.record.nodes
        if isinstance(situation.observed.versions_of(node.node_id), Unknown)
    )


@guard(RaiseLevel)
def may_raise(situation: Situation, step: FeatureStep, older: tuple[NodeID, ...]) -> Answer:
    """Rule 7: one level up, after the roll, if every node is known to support it and every voter is well for the soak.

    `older` are the controllers that the roll has not reached yet.
    """
    observed = situation.observed
    change = f"raise {step.name} to {level_text(step.name, step.level)}"
    first = f"Waiting to {change}"
    if isinstance(observed.quorum, Unknown):
        return no(f"{first}: the quorum has no leader ({observed.quorum.reason})")
    rolled = ", ".join(map(str, older))
    static = step.name == KRAFT and too_old_for_dynamic(situation)
    return unless(
        (
            (
                bool(older),
                f"{first}: controllers {rolled} do not run {situation.runtime.release} from this spec yet",
            ),
            (bool(static), f"Did not {change}: {static}"),
            (bool(named := blockers(situation, step)), f"Did not {change}: {'; '.join(named)}"),
            (bool(brokers := why_brokers_hold(situation)), f"{first}: {brokers}"),
            (bool(behind := _brokers_behind(situation)), f"{first}: {behind}"),
            (bool(stored := why_not_published(situation)), f"{first}: {stored}"),
            *_unsettled(observed, observed.quorum.value, first),
            *_refusal(observed, step, change),
            *_unsoaked(situation, first),
        ),
        _vouched(situation, step),
    )


def _brokers_behind(situation: Situation) -> str:
    """Which brokers are known not to run the release yet: levels are the last act of a release."""
    release = parse_release(situation.runtime.release)
    ranges = {each.name: each for each in (supported_by(release) if release is not None else None) or ()}
    if METADATA not in ranges:
        return ""
    ids = ", ".join(older_brokers(situation, ranges[METADATA].max_level))
    return f"brokers {ids} do not run Kafka {situation.runtime.release} yet" if ids else ""


@guard(LowerLevel)
def may_lower(situation: Situation, step: FeatureStep, whole: FeatureStep) -> Answer:
    """Rule 7: one level down, only if the spec says so, and Kafka reports that the `whole` way down loses nothing."""
    observed = situation.observed
    to = level_text(whole.name, whole.level)
    if whole.name == KRAFT:
        return no(f"Did not lower {KRAFT}: no release of Kafka makes a dynamic quorum static again")
    if situation.desired.downgrade is Downgrade.FORBID:
        way_out = "Set it to Safe if the lower level is intended, or correct the level"
        return no(f"Did not lower {whole.name} to {to}: spec.kafka.features.downgrade is Forbid. {way_out}")
    change = f"lower {step.name} to {level_text(step.name, step.level)}"
    first = f"Waiting to {change}"
    if isinstance(observed.quorum, Unknown):
        return no(f"{first}: the quorum has no leader ({observed.quorum.reason})")
    named = blockers(situation, step)
    return unless(
        (
            (bool(named), f"Did not {change}: {'; '.join(named)}"),
            (bool(brokers := why_brokers_hold(situation)), f"{first}: {brokers}"),
            (bool(stored := why_not_published(situation)), f"{first}: {stored}"),
            *_unsettled(observed, observed.quorum.value, first),
            *_refusal(observed, whole, change),
            *_refusal(observed, step, change),
            *_unsoaked(situation, first),
        ),
        _vouched(situation, step),
    )


def _unsettled(observed: Observed, view: QuorumView, first: str) -> Iterator[tuple[bool, str]]:
    lagging = _names(view.voters - view.caught_up)
    changing = observed.status.operation is not None or not view.committed or view.changing
    yield changing, f"{first}: {why_changing(observed)}"
    yield bool(lagging), f"{first}: voters {lagging} are not caught up"


def _refusal(observed: Observed, step: FeatureStep, change: str) -> Iterator[tuple[bool, str]]:
    match observed.check(step):
        case Unknown(reason=reason):
            yield True, f"Waiting to {change}: the active controller has not checked it yet ({reason})"
        case Known(value=check):
            yield not check.allowed, f"Did not {change}: the active controller refuses it ({check.words})"


def _unsoaked(situation: Situation, first: str) -> Iterator[tuple[bool, str]]:
    soak = situation.observed.memory.soak
    healthy_s = soak.healthy_s if soak else 0.0
    needed_s = max(situation.desired.soak_s, LEAST_SOAK_S)
    well = f"every voter must be caught up for {needed_s:.0f} s, with no change of voters or levels in that time"
    yield healthy_s < needed_s, f"{first}: {well}"


def _vouched(situation: Situation, step: FeatureStep) -> str:
    silent = ", ".join(map(str, unasked(situation)))
    told = f" (controllers {silent} did not answer)" if silent else ""
    return f"the active controller accepts {step.name} {level_text(step.name, step.level)}{told}"


def too_old_for_dynamic(situation: Situation) -> str:
    """The controllers that would keep a static quorum static at kraft.version 1; empty if there is none."""
    ranges = {each.name: each for each in supported_by(STATIC_TO_DYNAMIC_SINCE) or ()}
    needed = ranges[METADATA].max_level
    too_old = []
    for node in situation.record.nodes:
        match situation.observed.versions_of(node.node_id):
            case Known(value=said):
                levels = (each.max_level for each in said.supported if each.name == METADATA)
                if max(levels, default=0) < needed:
                    too_old.append(f"controller {node.node_id} runs {_release_of(situation.observed, node.node_id)}")
            case Unknown(reason=reason):
                too_old.append(f"controller {node.node_id} has not reported what it supports ({reason})")
    return f"every controller must run Kafka 4.1 or later. {'; '.join(too_old)}" if too_old else ""


@guard(CureGhost)
def may_cure_ghost(situation: Situation, node_id: NodeID) -> Answer:
    """Rule 7: a registration is removed or replaced only if its controller was removed here, and runs nowhere."""
    observed = situation.observed
    kept = f"Did not remove the registration of controller {node_id}"
    if isinstance(observed.quorum, Unknown):
        return no(f"{kept}: the quorum has no leader ({observed.quorum.reason})")
    view = observed.quorum.value
    ours = any(each.node_id == node_id for each in situation.record.former)
    runs = next((key for key in view.live | view.voters if key.node_id == node_id), None)
    pods = ", ".join(pod.name for pod in observed.pods if pod.node_id == node_id)
    return unless(
        (
            (situation.record.node(node_id) is not None, f"{kept}: it is a controller of this resource"),
            (runs is not None, f"{kept}: replica {runs} votes, or fetches"),
            (bool(pods), f"Waiting to remove the registration of controller {node_id}: pods {pods} still exist"),
            (not ours, f"{kept}: it never was a controller of this resource"),
        ),
        f"controller {node_id} was removed, and runs nowhere",
    )
