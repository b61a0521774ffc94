"""The inputs of a decision: what is wanted, what was observed, and what follows, computed when a Situation is made.

Everything that more than one concern uses is here, so that it has one meaning in the planner, in the questions for the
leader and in the status.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from kafka_quorum.model.desired import Desired, Runtime
from kafka_quorum.model.disk import Disk, disk_of
from kafka_quorum.model.disk_work import DiskWork, Worker, work_name
from kafka_quorum.model.identity import IdentityRecord, NodeIdentity
from kafka_quorum.model.ids import NodeID
from kafka_quorum.model.names import inputs_hash, revision_name
from kafka_quorum.model.nodes import older_than, requested_node_ids, revision_of, target_runtime
from kafka_quorum.model.observed import Observed, Revision
from kafka_quorum.model.pods import PodRole
from kafka_quorum.model.quorum import FinalizedFeature


@dataclass(frozen=True, slots=True, kw_only=True)
class Situation:
    """One quorum whose identity is settled, at the moment of one pass.

    `now_s` is wall-clock time in seconds since the epoch; it is compared with the kubelet's stamps only. With
    `repair_only` the spec has faults: pods and disks are repaired, and nothing is changed.
    """

    desired: Desired
    observed: Observed
    record: IdentityRecord
    now_s: float = 0.0
    repair_only: bool = False
    requested: tuple[NodeID, ...] = field(init=False, compare=False)
    """The controllers that the spec requests."""
    wanted: tuple[NodeID, ...] = field(init=False, compare=False)
    """The controllers that this pass works towards: the requested ones, unless voters cannot or must not change."""
    runtime: Runtime = field(init=False, compare=False)
    """What every pod shall be made from."""
    target: str = field(init=False, compare=False)
    """The name of the revision that holds this runtime."""
    older: tuple[NodeIdentity, ...] = field(init=False, compare=False)
    """The controllers that are not made from the target yet, by the record or by a pod that exists."""
    present: Mapping[str, int] = field(init=False, compare=False)
    """The present levels, by feature: those that the leader itself reports as finalized. Empty if it reports none."""
    disks: Mapping[NodeID, Disk] = field(init=False, compare=False)
    """The disk of every controller of the record."""
    to_support: tuple[FinalizedFeature, ...] = field(init=False, compare=False)
    """The levels that every image must be able to read, whether the leader reports its levels or not."""

    def __post_init__(self) -> None:
        """Compute what follows."""
        desired, observed, record = self.desired, self.observed, self.record
        requested = requested_node_ids(desired, record)
        runtime = target_runtime(desired, observed, record, self.now_s)
        target = revision_name(desired.name, inputs_hash(runtime))
        computed = {
            "requested": requested,
            "wanted": requested if not self.repair_only and _may_change_voters(record) else record.node_ids,
            "runtime": runtime,
            "target": target,
            "older": older_than(observed, record, target),
            "present": MappingProxyType({each.name: each.level for each in observed.finalized}),
            "disks": MappingProxyType({node.node_id: disk_of(observed, node) for node in record.nodes}),
            "to_support": _to_support(observed, record),
        }
        for name, value in computed.items():
            object.__setattr__(self, name, value)

    @property
    def target_revision(self) -> Revision | None:
        """The revision that every controller shall be made from, if it exists yet."""
        return self.observed.revision(self.target)

    @property
    def renews_only(self) -> bool:
        """Whether a restart from the target brings renewed certificates and nothing else: of every pod, and successor.

        Only such a roll goes on while the spec has faults: without it, the certificates end that controllers show. What
        a pod is made from is not known if its revision is gone.
        """
        ids = self.record.node_ids  # the pod of a controller that was removed only ends
        pods = (pod for pod in self.observed.pods if pod.role is PodRole.KAFKA and pod.node_id in ids)
        made = [*map(self.revision_of, self.record.nodes), *(self.observed.revision(pod.revision) for pod in pods)]
        return all(
            each is not None and replace(each.runtime, certificates=self.runtime.certificates) == self.runtime
            for each in made
        )

    @property
    def held_by_faults(self) -> bool:
        """Whether faults in the spec keep every controller from a restart."""
        return self.repair_only and not self.renews_only

    def disk(self, node: NodeIdentity) -> Disk:
        """The disk of this controller."""
        return self.disks[node.node_id]

    def worker(self, work: DiskWork) -> Worker | None:
        """The pod that does this work on a disk; None if it does not exist."""
        name = work_name(self.desired.name, work)
        return next((worker for worker in self.observed.workers if worker.name == name), None)

    def revision_of(self, node: NodeIdentity) -> Revision | None:
        """The revision that the pod of this controller is made from: its own, else the applied one."""
        return revision_of(self.observed, self.record, node)


def _may_change_voters(record: IdentityRecord) -> bool:
    """Whether controllers may be added or removed: not while the voters are static, nor during a migration."""
    return not record.static and record.migration is None


def _to_support(observed: Observed, record: IdentityRecord) -> tuple[FinalizedFeature, ...]:
    """The highest levels that the leader, or a controller ahead of it, reports.

    Without a report of the leader they are the highest that were seen before, or that any controller reports.
    """
    before = () if observed.finalized else record.levels
    highest: dict[str, FinalizedFeature] = {}
    for each in sorted((*before, *observed.finalized_anywhere), key=lambda each: each.level):
        highest[each.name] = each
    return tuple(sorted(highest.values()))
