"""Which voter changes are wanted, in the order of rule 3, and the guards' answers to each."""

from dataclasses import dataclass, replace

from kafka_quorum.model.identity import NodeIdentity
from kafka_quorum.model.ids import NodeID, ReplicaKey
from kafka_quorum.model.nodes import is_foreign
from kafka_quorum.model.observed import QuorumView
from kafka_quorum.model.operation import VoterAddition, VoterChange, VoterRemoval, VoterReplacement
from kafka_quorum.model.permit import AddVoter, OneChange, Permit, Refusal, RemoveLeader, RemoveVoter, Verdict
from kafka_quorum.model.situation import Situation
from kafka_quorum.plan.guards.rule3_voters import may_add_voter, may_remove_leader, may_remove_voter
from kafka_quorum.plan.guards.rule4_changes import may_change_voters


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A voter change that could be next, the guards' answers, and the controllers that it concerns.

    `adds` and `removes` are None if the change does not do that; `leads` is the verdict on removing a leader.
    """

    change: VoterChange
    one: Permit[OneChange] | Refusal
    adds: Permit[AddVoter] | Refusal | None = None
    removes: Permit[RemoveVoter] | Refusal | None = None
    leads: Permit[RemoveLeader] | Refusal | None = None

    @property
    def target(self) -> ReplicaKey:
        """The replica that is added or removed."""
        return self.change.target

    @property
    def verdicts(self) -> tuple[Verdict, ...]:
        """The guards' answers, in the order in which the guards are asked."""
        return tuple(each for each in (self.one, self.adds, self.removes, self.leads) if each is not None)

    @property
    def refusal(self) -> Refusal | None:
        """The first refusal of a guard."""
        return next((verdict for verdict in self.verdicts if isinstance(verdict, Refusal)), None)


def changes(situation: Situation, view: QuorumView) -> tuple[Change, ...]:
    """Every change that is wanted, in the order of rule 3; the first that all guards allow is the next one."""
    replacements, removals = _removals(situation, view)
    dead = tuple(change for change in removals if removes_dead(view, change))
    adds = tuple(addition(situation, view, node.key) for node in _newcomers(situation, view))
    alive = () if _joins(situation, view) else tuple(change for change in removals if change.target in view.shown)
    return (*replacements, *dead, *adds, *alive)


def _joins(situation: Situation, view: QuorumView) -> bool:
    """Whether a wanted controller is no voter yet. A stale vote of its lost disk is not its own."""
    keys = {node.node_id: node.key for node in situation.record.nodes}
    return any(keys.get(node_id) not in view.voters for node_id in situation.wanted)


def asked(situation: Situation) -> frozenset[NodeID]:
    """The controllers that may become voters.

    While the spec has faults, every controller of the record is kept. A controller that the last accepted spec does not
    list was being removed, and does not become a voter again.
    """
    return frozenset(situation.requested if situation.repair_only else situation.wanted)


def _newcomers(situation: Situation, view: QuorumView) -> tuple[NodeIdentity, ...]:
    """Controllers that could join: requested, formatted, no voter, and without a stale voter in their place."""
    could = asked(situation)
    return tuple(
        node
        for node in situation.record.nodes
        if node.node_id in could and node.formatted and view.voter_of(node.node_id) is None
    )


def _removals(situation: Situation, view: QuorumView) -> tuple[tuple[Change, ...], tuple[Change, ...]]:
    """Stale voters with a replacement, and voters that are not wanted at all: those that lag, followers, the leader."""
    replaced: list[Change] = []
    removed: list[Change] = []
    leader_id = view.answer.leader_id
    for key in sorted(view.voters, key=lambda key: (key.node_id == leader_id, -key.node_id, str(key))):
        node = situation.record.node(key.node_id)
        if node is not None and node.node_id in situation.wanted:
            if key != node.key and node.formatted:
                replaced.append(replacement(situation, view, key, node))
        elif not is_foreign(situation.record, key):
            removed.append(removal(situation, view, key))
    return tuple(replaced), tuple(removed)


def addition(situation: Situation, view: QuorumView, target: ReplicaKey) -> Change:
    """The addition of this observer to the voters."""
    adds = _may_join(situation, view, target, _newcomers(situation, view))
    return Change(change=VoterAddition(target=target), one=_one_change(situation, view, target), adds=adds)


def _may_join(
    situation: Situation, view: QuorumView, target: ReplicaKey, newcomers: tuple[NodeIdentity, ...]
) -> Permit[AddVoter] | Refusal:
    """Whether this observer may be added, with the other newcomers beside it."""
    others = tuple(node.key for node in newcomers if node.key != target)
    return may_add_voter(view, situation.observed, target, len(situation.wanted), others)


def removal(situation: Situation, view: QuorumView, target: ReplicaKey) -> Change:
    """The removal of this voter, without a replacement."""
    return Change(
        change=VoterRemoval(target=target),
        one=_one_change(situation, view, target),
        removes=may_remove_voter(situation, view, target, fewer=fewer(situation, view, target)),
        leads=may_remove_leader(view, target),
    )


def replacement(situation: Situation, view: QuorumView, stale: ReplicaKey, node: NodeIdentity) -> Change:
    """The replacement of a stale voter: it is removed only if the newcomer is ready to join the voters that stay."""
    return Change(
        change=VoterReplacement(target=node.key),
        one=_one_change(situation, view, node.key),
        adds=may_add_voter(_without(view, stale), situation.observed, node.key, len(situation.wanted), ()),
        removes=may_remove_voter(situation, view, stale),
    )


def _without(view: QuorumView, target: ReplicaKey) -> QuorumView:
    """The view as it would be after the removal of this voter."""
    staying = tuple(row for row in view.answer.voters if row.key != target)
    return replace(view, answer=replace(view.answer, voters=staying))


def fewer(situation: Situation, view: QuorumView, target: ReplicaKey) -> str:
    """The controllers of which one must be ready to join before this removal; empty if enough voters stay without it.

    A voter that is down for a moment may come back with its data, so nothing is gained before its successor is ready.
    """
    without = _without(view, target)
    if len(without.voters) >= len(situation.wanted):
        return ""
    newcomers = _newcomers(situation, view)
    if any(_may_join(situation, without, node.key, newcomers).allowed for node in newcomers):
        return ""
    joining = (node_id for node_id in situation.wanted if view.voter_of(node_id) is None)
    return ", ".join(map(str, joining))


def _one_change(situation: Situation, view: QuorumView, target: ReplicaKey) -> Permit[OneChange] | Refusal:
    operation = situation.observed.status.operation
    return may_change_voters(view, target, operation.target if operation else None)


def removes_dead(view: QuorumView, change: Change) -> bool:
    """Whether this change removes a voter that is down, or lags."""
    return isinstance(change.change, VoterRemoval) and change.target not in view.shown
