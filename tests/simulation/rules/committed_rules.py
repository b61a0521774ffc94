"""What the operator takes for true of the quorum, held against the model: committed voter sets, steps that are done.

A look is judged in the moment at which a pass has it. Nothing here depends on how the operator came to its judgement.
"""

from collections.abc import Set as AbstractSet
from typing import TYPE_CHECKING

from tests.simulation.model.happened import Fail
from tests.simulation.model.kafka.process import Process
from tests.simulation.model.kafka.releases import level_of
from tests.simulation.model.world import World
from tests.simulation.rules.glances import Glance, Glances

from kafka_quorum.model.actions import FinishOperation
from kafka_quorum.model.ids import DirectoryID, ReplicaKey
from kafka_quorum.model.known import Known
from kafka_quorum.model.observed import Observed, QuorumView
from kafka_quorum.model.plan import Plan

if TYPE_CHECKING:
    from kafka_quorum.model.operation import FeatureOperation

COMMITTED, DONE, GIVEN_UP = "4, committed", "7, done", "given up"
_WRITTEN_S = 8.0
"""How long ago it may have been decided to give a disk up that the record gives up now: a look, and a slow write."""


class CommittedRules:
    """Observes every pass, and judges what it takes for true."""

    def __init__(self, world: World, glances: Glances, fail: Fail) -> None:
        """Judge by this world, and tell `fail` the rule and what happened."""
        self._world, self._glances, self._fail = world, glances, fail
        self._reported: dict[str, tuple[FeatureOperation, int]] = {}
        """By the id of an open feature step: the step, and the level that the leader reported in the last look."""
        self.led_looks_s: list[float] = []
        """When passes had a look that showed a leader."""

    def saw(self, namespace: str, name: str, observed: Observed) -> None:  # noqa: ARG002 - of a witness
        """A look at this quorum, as a pass has it."""
        if not isinstance(observed.quorum, Known):
            return
        self.led_looks_s.append(self._world.clock.elapsed_s)
        view = observed.quorum.value
        leader = self._leader(view)
        if leader is None:
            return
        if view.committed and (why := self._uncommitted(view, leader)):
            self._fail(COMMITTED, f"the voter set of epoch {view.answer.leader_epoch} is taken for committed: {why}")
        operation = observed.status.feature_operation
        if operation is not None:
            level = level_of(leader.reported.levels, operation.step.name)
            self._reported[operation.id] = (operation, level)

    def planned(self, plan: Plan | None) -> None:
        """A pass closed a feature step as completed: the leader reports the level by then."""
        for action in plan.actions if plan else ():
            if not isinstance(action, FinishOperation) or action.reason != "Completed":
                continue
            operation, level = self._reported.pop(action.id, (None, 0))
            if operation is not None and operation.step.level != level:
                self._fail(DONE, f"the step {operation.step} is done, and the leader reports level {level}")

    def retired(self, directories: AbstractSet[DirectoryID], kept: AbstractSet[int]) -> None:
        """The record gives up voters on lost machines: the other voters carry the quorum then."""
        for volume in self._world.volumes.by_claim.values():
            key = volume.disk.key
            if key is None or volume.disk.meta is None or key.directory_id not in directories:
                continue
            if key.node_id in kept and not self._world.machines.by_name[volume.node].alive:
                glances = self._glances.of(volume.disk.meta.cluster_id, _WRITTEN_S)
                if glances and all(_is_needed(glance, key) for glance in glances):
                    self._fail(GIVEN_UP, f"voter {key} is given up, and the others are no caught-up majority")

    def _leader(self, view: QuorumView) -> Process | None:
        """The process that gave the answer, as long as it leads."""
        answer = view.answer
        for process in self._world.kraft.processes:
            if process.leads and process.meta.node_id == answer.leader_id and process.disk.epoch == answer.leader_epoch:
                return process
        return None

    def _uncommitted(self, view: QuorumView, leader: Process) -> str:
        """Why a voter set is not committed by ground truth; empty if it is, or came with the format."""
        committed = self._world.kraft.committed.get(leader.cluster_id, [])
        if leader.is_static or view.static:
            return ""
        beyond = [entry for entry in leader.disk.log[len(committed) :] if entry.voters is not None]
        if beyond and leader.voters == view.voters:
            return f"its record lies beyond offset {len(committed)}"
        known = {entry.voters for entry in committed if entry.voters is not None} | {leader.disk.voters}
        return "" if view.voters in known else "no committed record has it"


def _is_needed(glance: Glance, key: ReplicaKey) -> bool:
    """Whether a voter's loss leaves no caught-up majority of the present voter set."""
    if glance.leader is None:
        return True
    return key in glance.voters and len(glance.caught_up - {key}) <= len(glance.voters) // 2
