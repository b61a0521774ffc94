"""The order of the concerns of a pool, and what runs in its special states. Pure.

*Upkeep* keeps record, volumes and pods as they shall be: independent actions go together, the first exclusive one
stands alone. *Changes* act only if upkeep has nothing to do, or only what failed a moment ago; one of them at a time.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

from kafka_brokers.model.actions import Action, EvictPod
from kafka_brokers.model.plan import Outcome, Part, merged
from kafka_brokers.plan.facts import Situation
from kafka_brokers.plan.formatting import formatting
from kafka_brokers.plan.leaders import preferred_leaders
from kafka_brokers.plan.leaving import leaving
from kafka_brokers.plan.lost import lost
from kafka_brokers.plan.members import kept, members
from kafka_brokers.plan.objects import objects
from kafka_brokers.plan.pods import pods
from kafka_brokers.plan.revisions import old, revisions
from kafka_brokers.plan.rolls import given_back, returning, rolls
from kafka_brokers.plan.settings import settings
from kafka_brokers.plan.throttles import throttles
from kafka_brokers.plan.volumes import released, volumes


@dataclass(frozen=True, slots=True, kw_only=True)
class Concern:
    """One subject. `repairs`: it also runs while the spec is invalid, with the last accepted one."""

    name: str
    part: Callable[[Situation], Part]
    repairs: bool = True


UPKEEP: Final = (
    Concern(name="the accepted spec", part=kept, repairs=False),
    Concern(name="brokers that join and leave", part=members, repairs=False),
    Concern(name="revisions", part=revisions),
    Concern(name="volumes that are lost", part=lost),
    Concern(name="volumes", part=volumes),
    Concern(name="services and budget", part=objects),
    Concern(name="formats", part=formatting),
    Concern(name="pods", part=pods),
    Concern(name="volumes that are released", part=released),
    Concern(name="brokers that return", part=returning),
)
CHANGES: Final = (
    Concern(name="settings without a restart", part=settings, repairs=False),
    Concern(name="rolls", part=rolls),
    Concern(name="limits of drains", part=throttles),
    Concern(name="brokers that leave", part=leaving, repairs=False),
    Concern(name="the disruption token", part=given_back),
    Concern(name="preferred leaders", part=preferred_leaders),
    Concern(name="old revisions", part=old),
)


def ordered(situation: Situation, failed: frozenset[str] = frozenset()) -> Part:
    """The parts of all concerns that may act. `failed` are the keys of actions that were not done a moment ago."""
    upkeep = merged(_parts(UPKEEP, situation))
    busy = upkeep.exclusive is not None or any(key_of(action) not in failed for action in upkeep.actions)
    changes = _one_by_one(_parts(CHANGES, situation), failed)
    if busy:
        changes = Part(waits=changes.waits, verdicts=changes.verdicts)
    elif changes.exclusive is not None or changes.actions:  # a stop that is held was judged without them
        upkeep = replace(upkeep, actions=tuple(each for each in upkeep.actions if not isinstance(each, EvictPod)))
    return merged((upkeep, changes))


def _parts(concerns: tuple[Concern, ...], situation: Situation) -> list[Part]:
    return [one.part(situation) for one in concerns if one.repairs or not situation.repair_only]


def _one_by_one(parts: list[Part], failed: frozenset[str]) -> Part:
    """The first concern with an action acts; the others report. What failed a moment ago lets the next one act, too.

    An exclusive action that failed is left out once, if a later concern has something to do: so neither a refused
    setting nor a refused move keeps the disruption token for ever.
    """
    found: list[Part] = []
    acted = False
    for index, part in enumerate(parts):
        tried = part.exclusive is not None and key_of(part.exclusive) in failed
        waived = tried and any(_acts(later, failed) for later in parts[index + 1 :])
        shown = replace(part, exclusive=None, actions=()) if acted or waived else part
        found.append(shown)
        acted = acted or (not waived and _acts(part, failed))
    return merged(found)


def _acts(part: Part, failed: frozenset[str]) -> bool:
    """Whether a part has an action that did not fail a moment ago."""
    return part.exclusive is not None or any(key_of(action) not in failed for action in part.actions)


def is_tried(outcome: Outcome) -> bool:
    """Whether an action was not done, and may not be for long: other concerns go on meanwhile.

    A disruption budget may hold a stop until one of them is done, as when it counts a broker that leaves.
    """
    return not outcome.done and (not outcome.held or isinstance(outcome.action, EvictPod))


def key_of(action: Action) -> str:
    """What an action makes, keeps or deletes, without versions: it stays the same as long as the action does."""
    parts = [type(action).__name__]
    for field in ("node_id", "index", "generation", "name", "listener"):
        value = getattr(action, field, None)
        if value is not None:
            parts.append(str(value))
    subject = getattr(action, "pod", None) or getattr(action, "claim", None)
    if subject is not None:
        parts.append(str(subject.name))
    return " ".join(parts)
