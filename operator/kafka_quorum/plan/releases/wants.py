"""Which feature levels are requested, which step is next, and what the leader is asked (KIP-584)."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from kafka_quorum.api.features import KRAFT, METADATA, default_levels, dependencies, feature_names, level_text
from kafka_quorum.api.release import parse_release
from kafka_quorum.model.desired import Desired, FeaturePolicy
from kafka_quorum.model.identity import BootstrapPhase
from kafka_quorum.model.known import Known, Unknown
from kafka_quorum.model.observed import Observed
from kafka_quorum.model.plan import FeaturePlan
from kafka_quorum.model.quorum import FeatureStep
from kafka_quorum.model.situation import Situation
from kafka_quorum.plan.facts.formats import release_numbers
from kafka_quorum.plan.guards.rule7_releases import blockers

_FIRST: Final = (KRAFT, METADATA)


@dataclass(frozen=True, slots=True, kw_only=True)
class Want:
    """A feature that is not at the requested level. `next` is the step towards that level."""

    name: str
    present: int
    level: int
    next: FeatureStep

    @property
    def whole(self) -> FeatureStep:
        """The whole way in one step: Kafka validates it before a way down is begun."""
        return FeatureStep(name=self.name, level=self.level, downgrade=self.level < self.present)


def wants(situation: Situation) -> tuple[Want, ...]:
    """What is requested and not reached yet, in the order of the changes; empty while the levels are unknown.

    The policy Follow raises to the defaults of the release, never lowers, and leaves kraft.version to a person: a
    dynamic quorum stays dynamic.
    """
    present = situation.present
    if not present or situation.record.phase is not BootstrapPhase.STARTED:
        return ()
    asked = dict(_defaults(situation.desired, present)) | {each.name: each.level for each in situation.desired.features}
    open_ = {name: level for name, level in asked.items() if level != present.get(name, 0)}
    ups = [name for name in _ordered(open_) if open_[name] > present.get(name, 0)]
    downs = [name for name in reversed(_ordered(open_)) if open_[name] < present.get(name, 0)]
    return tuple(_want(name, present.get(name, 0), open_[name]) for name in (*downs, *ups))


def depends_on_brokers(situation: Situation) -> bool:
    """Whether an act of this pass may wait for what brokers run with, or run."""
    status, wanted = situation.observed.status, release_numbers(situation.runtime.release)
    made = (situation.revision_of(node) for node in situation.record.nodes)
    back = any(revision is not None and release_numbers(revision.runtime.release) > wanted for revision in made)
    migrates = situation.record.static or situation.record.migration is not None
    return status.feature_operation is not None or bool(wants(situation)) or migrates or back


def _defaults(desired: Desired, present: Mapping[str, int]) -> Iterable[tuple[str, int]]:
    if desired.feature_policy is not FeaturePolicy.FOLLOW:
        return ()
    return _raises(desired, present)


def _raises(desired: Desired, present: Mapping[str, int]) -> tuple[tuple[str, int], ...]:
    """The features that the release's own defaults would raise."""
    release = parse_release(desired.runtime.release)
    levels = (default_levels(release) if release is not None else None) or {}
    return tuple((name, level) for name, level in levels.items() if name != KRAFT and level > present.get(name, 0))


def _want(name: str, present: int, level: int) -> Want:
    down = level < present
    step = FeatureStep(name=name, level=present - 1 if down else present + 1, downgrade=down)
    return Want(name=name, present=present, level=level, next=step)


def _ordered(names: Iterable[str]) -> list[str]:
    """kraft.version and metadata.version first: the others depend on them."""
    known = [*_FIRST, *(name for name in feature_names() if name not in _FIRST)]
    return sorted(names, key=lambda name: (known.index(name) if name in known else len(known), name))


def questions(situation: Situation) -> tuple[FeatureStep, ...]:
    """The steps that the active controller is asked to validate in this look: those that may be sent, and no others."""
    if isinstance(situation.observed.quorum, Unknown):
        return ()
    operation = situation.observed.status.feature_operation
    found = [operation.step] if operation else []
    for want in wants(situation):
        found.extend((want.whole, want.next) if want.next.downgrade else (want.next,))
    return tuple(dict.fromkeys(found))


def announced(situation: Situation) -> tuple[FeatureStep, ...]:
    """What could be raised, and is held: validated now and then, so that a person can see in advance what blocks it."""
    present = situation.present
    if not present or isinstance(situation.observed.quorum, Unknown):
        return ()
    if situation.desired.feature_policy is FeaturePolicy.FOLLOW or situation.record.phase is not BootstrapPhase.STARTED:
        return ()
    open_ = {want.name for want in wants(situation)}
    raises = ((name, level) for name, level in _raises(situation.desired, present) if name not in open_)
    return tuple(FeatureStep(name=name, level=level) for name, level in raises)


def what_is_missing(situation: Situation, want: Want) -> str | None:
    """What a step depends on and does not have, or what depends on a level that the whole way down would leave."""
    present = situation.present
    if not want.next.downgrade:
        for name, level in dependencies(want.name, want.next.level).items():
            if present.get(name, 0) < level:
                needs = f"{text_of(want.next)} needs {name} {level_text(name, level)}"
                return f"Did not change {want.name}: {needs}, and {_at(present, name)}. Request that level, too"
        return None
    for other, at in present.items():
        needed = dependencies(other, at).get(want.name, 0)
        if other != want.name and needed > want.level:
            needs = f"{other} {level_text(other, at)} needs {level_text(want.name, needed)}"
            return f"Did not lower {want.name}: {needs}. Lower {other} first"
    return None


def _at(present: Mapping[str, int], name: str) -> str:
    return f"it is at {level_text(name, present.get(name, 0))}"


def text_of(asked: FeatureStep) -> str:
    """The feature and the level of a step, in words."""
    return f"{asked.name} {level_text(asked.name, asked.level)}"


def plans(situation: Situation) -> tuple[FeaturePlan, ...]:
    """Every feature that is to change or could, and what blocks it."""
    found = []
    for want in wants(situation):
        against = _against(situation, want)
        found.append(
            FeaturePlan(name=want.name, present=want.present, level=want.level, requested=True, against=against)
        )
    present = situation.present
    could = {each.name: each for each in announced(situation)}
    for name, raised in could.items():
        # Its dependencies are announced as well, and come first: Kafka's present answer about it does not matter.
        needs = dependencies(name, raised.level).items()
        first = any(present.get(other, 0) < level and other in could for other, level in needs)
        against = "" if first else "; ".join(blockers(situation, raised)) or _said(situation.observed, raised)
        found.append(
            FeaturePlan(name=name, present=present.get(name, 0), level=raised.level, requested=False, against=against)
        )
    return tuple(found)


def _against(situation: Situation, want: Want) -> str:
    observed = situation.observed
    named = "; ".join(blockers(situation, want.whole))
    return named or what_is_missing(situation, want) or _said(observed, want.whole) or _said(observed, want.next)


def _said(observed: Observed, asked: FeatureStep) -> str:
    check = observed.check(asked)
    return check.value.words if isinstance(check, Known) and not check.value.allowed else ""
