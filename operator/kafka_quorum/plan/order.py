"""The order of the planner: the one table of its concerns, and which actions one plan may hold together.

A concern looks at one subject and returns a `Part`: what it would do, what it waits for, and its guards' answers. The
table decides which concerns run in the present state of the quorum, and which of their parts may act in this pass; all
others only report. There are three stages:

- *Upkeep* keeps records, disks and pods as they should be. Independent actions of all its concerns go together; the
  first exclusive action stands alone.
- *Voters* acts only if upkeep has nothing to do, or only what failed for some controllers a moment ago: a claim for
  which there is no room does not delay other controllers. Upkeep and the stages that it delays then take turns.
- *Releases* acts only if the voters have nothing to do, too, and one concern at a time: the first that has something to
  do or to ask.

The table is asked when the identity is settled (`planner`). docs/decisions/0008 names every rule that is not in it.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import Enum
from typing import Final

from kafka_quorum.model.actions import Action, DeletePod, MarkPod, one_object, stops_kafka
from kafka_quorum.model.situation import Situation
from kafka_quorum.plan.brokers.contract import contract
from kafka_quorum.plan.disks.claims import claims, growth
from kafka_quorum.plan.disks.formatting import formatting
from kafka_quorum.plan.disks.given_up import given_up
from kafka_quorum.plan.disks.lost import lost
from kafka_quorum.plan.disks.released import released
from kafka_quorum.plan.disks.unbound import unbound
from kafka_quorum.plan.identity.accepted import accepted_spec
from kafka_quorum.plan.identity.strangers import strangers
from kafka_quorum.plan.migrations.engine import frozen, migrations
from kafka_quorum.plan.migrations.stopped import stopped
from kafka_quorum.plan.part import Part, merged, reported
from kafka_quorum.plan.pods.held import held
from kafka_quorum.plan.pods.marks import marks
from kafka_quorum.plan.pods.pods import pods
from kafka_quorum.plan.pods.support import support
from kafka_quorum.plan.recovery.recovery import recovery
from kafka_quorum.plan.releases.ghosts import ghosts_in_the_way, other_ghosts
from kafka_quorum.plan.releases.history import old_revisions
from kafka_quorum.plan.releases.levels import seen, step
from kafka_quorum.plan.releases.revisions import revisions, unsupported
from kafka_quorum.plan.releases.rolls import roll
from kafka_quorum.plan.releases.token import token_given_back
from kafka_quorum.plan.security.certificates import certificates
from kafka_quorum.plan.security.scram import scram_users
from kafka_quorum.plan.voters.first_leader import first_leader
from kafka_quorum.plan.voters.leaving import lost_nodes, removed
from kafka_quorum.plan.voters.operation import membership
from kafka_quorum.plan.voters.requested import joining, static_voters
from kafka_quorum.plan.voters.stale import stale_voters


class Stage(Enum):
    """When a concern may act: after every stage before it has nothing left to do, or only what failed a moment ago."""

    UPKEEP = "upkeep"
    VOTERS = "voters"
    RELEASES = "releases"


class Runs(Enum):
    """Whether a concern runs at all, and whether it may act."""

    ACTS = "acts"
    REPORTS = "reports"
    """It reports what it waits for, and does nothing."""
    OFF = "-"


@dataclass(frozen=True, slots=True, kw_only=True)
class Concern:
    """One row: a subject of the planner, its stage, and whether it runs in six special states of a quorum.

    A row whose concern tests more than the state itself, or leaves it to a guard, has `ACTS`.
    """

    name: str
    stage: Stage
    part: Callable[[Situation], Part]
    paused: Runs = Runs.OFF
    """While `spec.paused` is true. Off, unless a row says otherwise: a pause stops every act."""
    repairing: Runs = Runs.ACTS
    """In a pass with an invalid spec: everything is kept as it is, and nothing is changed."""
    voter_change: Runs = Runs.ACTS
    """While a change of the voter set is open."""
    feature_step: Runs = Runs.ACTS
    """While a step of a feature level is open."""
    stopped: Runs = Runs.OFF
    """While a roll back to ZooKeeper has stopped the controllers."""
    recovering: Runs = Runs.OFF
    """While the recovery of a lost majority is open. Off, unless a row says otherwise: it alone acts on disks."""


_UPKEEP, _VOTERS, _RELEASES = Stage.UPKEEP, Stage.VOTERS, Stage.RELEASES
CONCERNS: Final = (
    Concern(name="a lost majority", stage=_UPKEEP, part=recovery, recovering=Runs.ACTS),
    Concern(
        name="changes that are not supported", stage=_UPKEEP, part=unsupported, repairing=Runs.OFF, stopped=Runs.ACTS
    ),
    Concern(name="voters of a static quorum", stage=_UPKEEP, part=static_voters, repairing=Runs.OFF),
    Concern(name="changes that a migration delays", stage=_UPKEEP, part=frozen, repairing=Runs.OFF, stopped=Runs.ACTS),
    Concern(name="certificates", stage=_UPKEEP, part=certificates, recovering=Runs.ACTS),
    Concern(name="claims without a volume", stage=_UPKEEP, part=unbound),
    Concern(name="controllers that join", stage=_UPKEEP, part=joining, repairing=Runs.OFF),
    Concern(name="revisions", stage=_UPKEEP, part=revisions, recovering=Runs.ACTS),
    Concern(name="the first leader", stage=_UPKEEP, part=first_leader),
    Concern(name="levels seen", stage=_UPKEEP, part=seen),
    Concern(name="lost disks", stage=_UPKEEP, part=lost),
    Concern(name="lost nodes", stage=_UPKEEP, part=lost_nodes),
    Concern(name="disks that a person gives up", stage=_UPKEEP, part=given_up),
    Concern(name="controllers that leave", stage=_UPKEEP, part=removed),
    Concern(name="claims", stage=_UPKEEP, part=claims, recovering=Runs.ACTS),
    Concern(name="service, budget, config maps", stage=_UPKEEP, part=support, recovering=Runs.ACTS),
    Concern(name="the broker contract", stage=_UPKEEP, part=contract, stopped=Runs.ACTS, recovering=Runs.ACTS),
    Concern(
        name="the accepted spec",
        stage=_UPKEEP,
        part=accepted_spec,
        repairing=Runs.OFF,
        stopped=Runs.ACTS,
        recovering=Runs.ACTS,
    ),
    Concern(name="formats and the barrier", stage=_UPKEEP, part=formatting, recovering=Runs.ACTS),
    Concern(name="pods", stage=_UPKEEP, part=pods, recovering=Runs.ACTS),
    Concern(name="controllers that end", stage=_UPKEEP, part=stopped, repairing=Runs.OFF, stopped=Runs.ACTS),
    Concern(name="claims that are released", stage=_UPKEEP, part=released),
    Concern(name="labels and readiness gates", stage=_UPKEEP, part=marks, recovering=Runs.ACTS),
    Concern(name="stale voters", stage=_UPKEEP, part=stale_voters),
    Concern(name="objects of others", stage=_UPKEEP, part=strangers, stopped=Runs.ACTS, recovering=Runs.ACTS),
    Concern(name="voter changes", stage=_VOTERS, part=membership, feature_step=Runs.REPORTS),
    Concern(
        name="migrations",
        stage=_RELEASES,
        part=migrations,
        repairing=Runs.OFF,
        feature_step=Runs.OFF,
        stopped=Runs.ACTS,
    ),
    Concern(name="rolls", stage=_RELEASES, part=roll, feature_step=Runs.OFF),
    Concern(
        name="registrations in the way",
        stage=_RELEASES,
        part=ghosts_in_the_way,
        repairing=Runs.OFF,
        feature_step=Runs.OFF,
    ),
    Concern(name="feature levels", stage=_RELEASES, part=step, voter_change=Runs.OFF),
    Concern(name="other registrations", stage=_RELEASES, part=other_ghosts, repairing=Runs.OFF, feature_step=Runs.OFF),
    Concern(name="larger claims", stage=_RELEASES, part=growth, repairing=Runs.OFF, feature_step=Runs.OFF),
    Concern(name="old revisions", stage=_RELEASES, part=old_revisions, repairing=Runs.OFF, feature_step=Runs.OFF),
    Concern(
        name="the disruption token",
        stage=_RELEASES,
        part=token_given_back,
        paused=Runs.ACTS,
        stopped=Runs.ACTS,
        recovering=Runs.ACTS,
    ),
    Concern(
        name="users of the brokers",
        stage=_RELEASES,
        part=scram_users,
        repairing=Runs.OFF,
        voter_change=Runs.OFF,
        feature_step=Runs.OFF,
    ),
    Concern(
        name="controllers that a person holds",
        stage=_RELEASES,
        part=held,
        stopped=Runs.ACTS,
        recovering=Runs.ACTS,
    ),
)
"""Every concern, in order of precedence. docs/architecture.md shows this table; a test compares the two."""


def ordered(situation: Situation) -> Part:
    """The actions of this pass, and what everything else waits for."""
    upkeep = merged(_parts(situation, Stage.UPKEEP))
    voters = merged(_parts(situation, Stage.VOTERS))
    if voters.urgent and not situation.observed.unreadable:
        return merged((reported(upkeep), voters))
    releases = _one_by_one(_parts(situation, Stage.RELEASES))
    if _acts(upkeep) and not _only_failed(upkeep, situation):
        voters, releases = reported(voters), reported(releases)
    elif _acts(voters):
        releases = reported(releases)
    # While a change is open, a person should first read what that change waits for.
    open_ = situation.observed.status.operation is not None
    return merged((voters, upkeep, releases) if open_ else (upkeep, voters, releases))


def together(actions: Iterable[Action]) -> tuple[Action, ...]:
    """The actions that one plan may hold.

    Of the actions that stop a pod in which Kafka runs, it holds only the first, because each was judged as if it were
    the only one. A pod that is deleted is not marked: the mark would change the version that the deletion names.
    """
    listed = tuple(actions)
    first = next((action for action in listed if stops_kafka(action)), None)
    going = {action.pod.uid for action in listed if isinstance(action, DeletePod)}
    kept = (action for action in listed if action is first or not stops_kafka(action))
    return tuple(action for action in kept if not (isinstance(action, MarkPod) and action.pod.uid in going))


def _parts(situation: Situation, stage: Stage) -> tuple[Part, ...]:
    """The parts of the concerns of a stage that run now."""
    found = ((concern, _runs(concern, situation)) for concern in CONCERNS if concern.stage is stage)
    return tuple(
        concern.part(situation) if runs is Runs.ACTS else reported(concern.part(situation))
        for concern, runs in found
        if runs is not Runs.OFF
    )


def _runs(concern: Concern, situation: Situation) -> Runs:
    """How a concern runs now: every present state of the quorum must allow it."""
    status = situation.observed.status
    states = (
        (situation.desired.paused, concern.paused),
        (situation.repair_only, concern.repairing),
        (status.operation is not None, concern.voter_change),
        (status.feature_operation is not None, concern.feature_step),
        (situation.record.overlay.stopped, concern.stopped),
        (situation.record.recovery is not None, concern.recovering),
    )
    allowed = [runs for present, runs in states if present]
    return Runs.OFF if Runs.OFF in allowed else Runs.REPORTS if Runs.REPORTS in allowed else Runs.ACTS


def _acts(part: Part) -> bool:
    return part.exclusive is not None or bool(part.actions)


def _only_failed(upkeep: Part, situation: Situation) -> bool:
    """Whether upkeep would do nothing but what the last pass could not do for some controllers."""
    failed = situation.observed.failed
    return upkeep.exclusive is None and all(one_object(action) in failed for action in upkeep.actions)


def _one_by_one(parts: tuple[Part, ...]) -> Part:
    """The first of these parts that has something to do or to ask, with the reports of all parts."""
    acting = next((part for part in parts if _acts(part) or part.questions), None)
    return merged(part if part is acting else reported(part) for part in parts)
