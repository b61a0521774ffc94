"""The plan of one look, now and somewhat later. Pure."""

from kafka_quorum.model.desired import Desired
from kafka_quorum.model.observed import Observed
from kafka_quorum.model.plan import Plan
from kafka_quorum.plan import unreadable
from kafka_quorum.plan.planner import plan
from kafka_quorum.status.finding import Pass


def decide(desired: Desired, observed: Observed, *, repair_only: bool, now_s: float) -> Plan:
    """The plan, without what objects that cannot be read forbid. `now_s` is seconds since the epoch."""
    return unreadable.without(plan(desired, observed, now_s=now_s, repair_only=repair_only), observed)


def stays(done: Pass, seconds: float) -> bool:
    """Whether this look, at valid objects, would also leave nothing to do or to wait for so many seconds later."""
    later = decide(done.desired, done.observed, repair_only=bool(done.faults), now_s=done.now_s + seconds)
    return not (done.faults or later.actions or later.questions or later.waits)
