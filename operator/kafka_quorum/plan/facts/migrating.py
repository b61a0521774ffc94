"""What a migration that is under way means for the rest of the planner."""

from kafka_quorum.model.migration import PLAIN, STATIC, Overlay
from kafka_quorum.model.situation import Situation


def overlay_of_brokers(situation: Situation) -> Overlay:
    """What is laid over the contract of the brokers now.

    Without a migration, or while authorities are changed: brokers keep the static voters while a controller may still
    need them, or runs with them.
    """
    reached = situation.record.migration
    if reached is not None and reached.trust is None:
        return reached.present.brokers
    return STATIC if situation.record.static or runs_static(situation) else PLAIN


def runs_static(situation: Situation) -> bool:
    """Whether a controller is made from a revision with static voters, or is made from one next."""
    used = (situation.observed.revision(pod.revision) for pod in situation.observed.pods)
    made = (situation.revision_of(node) for node in situation.record.nodes)
    return any(revision.runtime.static_voters for revision in (*used, *made) if revision is not None)


def may_step(situation: Situation, name: str, *, rises: bool) -> bool:
    """Whether the level of this feature may change now: in a migration only those of its stage.

    A static quorum gets kraft.version 1 by a migration, and in no other way. That it never falls, its guard says at any
    time: it does not follow when a migration has ended.
    """
    if name in STATIC_NEEDS and not rises:
        return True
    reached, record = situation.record.migration, situation.record
    if reached is not None:
        return name in reached.present.levels
    return not (record.static and name in STATIC_NEEDS)


STATIC_NEEDS = frozenset({"kraft.version"})
