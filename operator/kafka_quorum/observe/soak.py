"""For how long all has been well since the finalized levels last changed. Pure.

Time counts only between two looks that both found everything well. Of a long gap, only the usual time of a look counts.
A look that found anything else starts the soak again. A look without an answer neither adds nor resets anything. An
operator that starts continues the soak that its predecessor wrote into the status, while the levels are the same.
"""

from dataclasses import replace

from kafka_quorum.model.ids import NodeID
from kafka_quorum.model.known import Known, Unknown
from kafka_quorum.model.memory import Soak
from kafka_quorum.model.observed import Observed
from kafka_quorum.observe.nodes import GAP_COUNTS_S


def soaked(observed: Observed, now_s: float) -> Soak | None:
    """The soak with what this look adds. `now_s` is monotonic seconds of the operator's clock."""
    before = observed.memory.soak or observed.status.soak
    if isinstance(observed.quorum, Unknown):
        return None if before is None else replace(before, seen_at_s=None)
    epoch = _epoch(observed)
    if epoch is None:
        return None if before is None else replace(before, seen_at_s=None)
    if before is not None and before.epoch == epoch and _cannot_tell(observed):
        return replace(before, seen_at_s=None)
    if before is None or before.epoch != epoch or not _well(observed):
        return Soak(epoch=epoch, healthy_s=0.0, seen_at_s=now_s if _well(observed) else None)
    since_s = now_s if before.seen_at_s is None else before.seen_at_s
    gap_s = min(max(now_s - since_s, 0.0), GAP_COUNTS_S)
    return Soak(epoch=epoch, healthy_s=before.healthy_s + gap_s, seen_at_s=now_s)


def _epoch(observed: Observed) -> int | None:
    """The finalized-features epoch as the leader has it: the offset of the last change of a level."""
    if isinstance(observed.quorum, Unknown):
        return None
    answer = observed.versions_of(observed.quorum.value.answer.leader_id)
    return answer.value.finalized_epoch if isinstance(answer, Known) and answer.value.finalized_epoch >= 0 else None


def _cannot_tell(observed: Observed) -> bool:
    """Whether this look cannot decide: there is no answer, or no voter lags and some are not proven yet."""
    if isinstance(observed.quorum, Unknown):
        return True
    view = observed.quorum.value
    return bool(view.voters & view.unproven) and view.voters <= view.shown


def _well(observed: Observed) -> bool:
    """Whether every voter is caught up, and every controller runs and shows the same levels."""
    record = observed.record
    if record is None or isinstance(observed.quorum, Unknown):
        return False
    view = observed.quorum.value
    running = {pod.node_id for pod in observed.pods if pod.serves}
    return (
        view.voters <= view.caught_up
        and view.committed
        and not view.changing
        and set(record.node_ids) <= running
        and all(_shows(observed, node_id) for node_id in record.node_ids)
    )


def _shows(observed: Observed, node_id: NodeID) -> bool:
    answer = observed.versions_of(node_id)
    return isinstance(answer, Known) and answer.value.finalized == observed.finalized
