"""The operator's view of the quorum, compared with the model: committed voter sets, and completed steps.

A look is judged at the moment when a pass has it. Nothing here depends on how the operator reached its judgement.
"""

from collections import deque
from collections.abc import Set as AbstractSet
from typing import TYPE_CHECKING, Final

from tests.simulation.model.happened import Fail
from tests.simulation.model.kafka.process import Process
from tests.simulation.model.kafka.releases import level_of
from tests.simulation.model.world import World
from tests.simulation.rules.glances import Glance, Glances

from kafka_quorum.model.actions import DecideRecord, FinishOperation, RecordChange
from kafka_quorum.model.ids import ClusterID, DirectoryID, ReplicaKey
from kafka_quorum.model.known import Known
from kafka_quorum.model.observed import Observed, QuorumView
from kafka_quorum.model.plan import Plan

if TYPE_CHECKING:
    from kafka_quorum.model.operation import FeatureOperation

COMMITTED, DONE, GIVEN_UP = "4, committed", "7, done", "given up"
WRITTEN_S: Final = 8.0
"""The greatest age of the decision to give up a disk, at the write of the record: a look, and a slow write."""
_GIVES_UP: Final = (RecordChange.DISK_LOST, RecordChange.DISK_GIVEN_UP, RecordChange.NODE_LOST)
_PASSES: Final = 8
"""More passes than are under way at the same time."""


class CommittedRules:
    """Observes every pass, and judges its view of the quorum."""

    def __init__(self, world: World, glances: Glances, fail: Fail) -> None:
        """Judge by this world, and report the rule and what happened to `fail`."""
        self._world, self._glances, self._fail = world, glances, fail
        self._reported: dict[str, tuple[FeatureOperation, int]] = {}
        """By the id of an open feature step: the step, and the level in the leader's last report."""
        self._uncommitted_views: deque[QuorumView] = deque(maxlen=_PASSES)
        """What the last looks showed whose voter set was not committed."""
        self.led_looks_s: list[float] = []
        """When passes had a look with a leader."""

    def saw(self, namespace: str, name: str, observed: Observed) -> None:  # noqa: ARG002 - of a witness
        """A look at this quorum, as a pass has it."""
        if not isinstance(observed.quorum, Known):
            return
        self.led_looks_s.append(self._world.clock.elapsed_s)
        view = observed.quorum.value
        leader = self._leader(view)
        if leader is None:
            return
        if leader.voters == view.voters and self._world.kraft.uncommitted_change(leader):
            self._uncommitted_views.append(view)
        if view.committed and (why := self._uncommitted(view, leader)):
            self._fail(COMMITTED, f"the voter set of epoch {view.answer.leader_epoch} is taken for committed: {why}")
        operation = observed.status.feature_operation
        if operation is not None:
            level = level_of(leader.reported.levels, operation.step.name)
            self._reported[operation.id] = (operation, level)

    def planned(self, plan: Plan | None) -> None:
        """What a pass decided: a step is done when the leader reports its level, and no disk is given up too early."""
        for action in plan.actions if plan else ():
            if isinstance(action, DecideRecord):
                self._given_up(plan, action)
            if not isinstance(action, FinishOperation) or action.reason != "Completed":
                continue
            operation, level = self._reported.pop(action.id, (None, 0))
            if operation is not None and operation.step.level != level:
                self._fail(DONE, f"the step {operation.step} is done, and the leader reports level {level}")

    def _given_up(self, plan: Plan | None, action: DecideRecord) -> None:
        """A pass decides to give up a disk: that of a voter only if its own look showed a committed voter set."""
        if plan is None or plan.situation is None or action.change not in _GIVES_UP:
            return
        seen = plan.situation.observed.quorum
        if not isinstance(seen, Known) or not any(one is seen.value for one in self._uncommitted_views):
            return
        gone = {node.key for node in plan.situation.record.nodes} - {node.key for node in action.record.nodes}
        for key in sorted(gone & seen.value.voters, key=str):
            self._fail(GIVEN_UP, f"voter {key} is given up, and the voter set that was looked at is not committed")

    def retired(self, cluster_id: ClusterID, directories: AbstractSet[DirectoryID]) -> None:
        """The record gives up disks of controllers that it keeps; a voter's only if a majority is caught up."""
        glances = self._glances.of(cluster_id, WRITTEN_S)
        if directories and cluster_id in self._world.kraft.led_since_s and not any(one.leader for one in glances):
            self._fail(GIVEN_UP, f"{', '.join(sorted(directories))} are given up, and there is no leader")
        voters = {key for glance in glances for key in glance.voters if key.directory_id in directories}
        for key in sorted(voters, key=str):
            if all(_needs(glance, key) for glance in glances):
                self._fail(GIVEN_UP, f"voter {key} is given up, and the others are no caught-up majority")

    def _leader(self, view: QuorumView) -> Process | None:
        """The process that gave the answer, as long as it leads."""
        answer = view.answer
        for process in self._world.kraft.processes:
            if process.leads and process.meta.node_id == answer.leader_id and process.disk.epoch == answer.leader_epoch:
                return process
        return None

    def _uncommitted(self, view: QuorumView, leader: Process) -> str:
        """Why a voter set is not committed by ground truth; empty if it is committed, or is the one of the format."""
        committed = self._world.kraft.committed.get(leader.cluster_id, [])
        if leader.is_static or view.static:
            return ""
        beyond = [entry for entry in leader.disk.log[len(committed) :] if entry.voters is not None]
        if beyond and leader.voters == view.voters:
            return f"its record lies beyond offset {len(committed)}"
        known = {entry.voters for entry in committed if entry.voters is not None} | {leader.disk.voters}
        return "" if view.voters in known else "no committed record has it"


def _needs(glance: Glance, key: ReplicaKey) -> bool:
    """Whether a voter's loss leaves no caught-up majority of the present voter set."""
    if glance.leader is None:
        return True
    return key in glance.voters and len(glance.caught_up - {key}) <= len(glance.voters) // 2
