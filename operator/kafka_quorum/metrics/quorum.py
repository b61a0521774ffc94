"""The series of one quorum from one pass over it. Pure.

Every label has a value of a closed set of this source, or is a node id of the identity record. So neither a server's
answer nor an object in the cluster decides how many series there are. What a look does not know has no series.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Final, TypeAlias

from kafka_quorum.api.features import feature_names
from kafka_quorum.metrics import catalogue as metrics
from kafka_quorum.model.actions import DecideRecord, WriteRecord
from kafka_quorum.model.certified import client_ends
from kafka_quorum.model.identity import IdentityRecord, NodeIdentity
from kafka_quorum.model.ids import NodeID
from kafka_quorum.model.known import Known, Unknown
from kafka_quorum.model.material import Holder, LeafSeen, Material, Role
from kafka_quorum.model.migration import MigrationKind
from kafka_quorum.model.nodes import is_foreign, requested_node_ids, stale_voters
from kafka_quorum.model.observed import Observed, QuorumView
from kafka_quorum.model.operation import (
    CHANGE_WORDS,
    LOWER_FEATURE,
    RAISE_FEATURE,
    FeatureOperation,
    Operation,
    UnknownOperation,
    VoterOperation,
)
from kafka_quorum.model.plan import MigrationPlan, Outcome, Severity
from kafka_quorum.model.voters import VoterSet
from kafka_quorum.status.certificates_valid import authority_end, broker_ends
from kafka_quorum.status.finding import Pass
from kit.metrics.series import Row
from kit.pki.certificate import Certificate
from kit.stamps import seconds_of

_RELEASE: Final = re.compile(r"[0-9]{1,3}[.][0-9]{1,3}[.][0-9]{1,3}")
_Leafs: TypeAlias = tuple[tuple[Holder, LeafSeen], ...]
_REASON: Final = re.compile("[A-Z][A-Za-z]{1,63}")
_FEATURES: Final = frozenset(feature_names())
_MIGRATIONS: Final = frozenset(kind.value for kind in MigrationKind)
_LOST: Final = {"LostNode": "lost_node", "LostDisk": "lost_disk", "DiskNotReplaced": "lost_disk"}
"""The state of a controller, by the reason of a wait that is about it."""
_STUCK: Final = "RecoveryStuck"
"""A wait of severity DEGRADED that nothing but a person ends."""
_OF_THE_LEADER: Final = ("caught_up", "lagging", "observer", "absent", "stale_voter", "foreign_voter", "stale_observer")
"""The states that only a leader's answer shows."""


def rows(done: Pass) -> Iterator[Row]:
    """What a pass saw and decided, without conditions, counters, and what several passes show."""
    yield from _wanted(done)
    yield from _levels(done.observed)
    yield from _led(done)
    yield from _states(done)
    yield from _operation(done.observed.status.open, done.now_s)
    yield from _waits(done)
    yield from _certificates(done)
    if (planned := migration(done)) is not None:
        yield metrics.MIGRATION_STAGE, (planned.kind,), planned.stage
        yield metrics.MIGRATION_STAGES, (planned.kind,), planned.stages


def migration(done: Pass) -> MigrationPlan | None:
    """The migration that is under way or requested, if it is of a kind that has a label."""
    planned = done.plan.migration
    return planned if planned is not None and planned.kind in _MIGRATIONS else None


def held(done: Pass | None) -> Iterator[Row]:
    """What a person or a guard holds, or only a person ends. None: there never was a valid spec."""
    found = {"spec"} if done is None or done.faults else set()
    if done is not None:
        found |= {
            metrics.HELD_REASONS.get(wait.reason, metrics.OTHER)
            for wait in done.plan.waits
            if wait.severity is Severity.HELD or wait.reason == _STUCK
        }
        found |= {"pause"} if done.desired.paused else set()
        hold = done.desired.hold
        found |= {"node"} if isinstance(hold, Unknown) or hold.value else set()
    return ((metrics.HELD_BY, (what,), 1.0) for what in sorted(found))


def refusing(done: Pass) -> frozenset[str]:
    """The ids of the guards that refuse in this pass."""
    return frozenset(verdict.rule for verdict in done.plan.verdicts if not verdict.allowed)


def refusals(counts: Mapping[str, int]) -> Iterator[Row]:
    """How often each guard began to refuse."""
    return ((metrics.REFUSALS, (guard.partition("-")[0], guard), count) for guard, count in sorted(counts.items()))


def acted(done: Pass) -> Counter[tuple[str, str]]:
    """The acts of this pass by name and result."""
    return Counter((_act(outcome), _result(outcome)) for outcome in done.outcomes)


def acts(counts: Mapping[tuple[str, str], int]) -> Iterator[Row]:
    """How often each act had a result."""
    return ((metrics.ACTS, labels, count) for labels, count in sorted(counts.items()))


def _act(outcome: Outcome) -> str:
    action = outcome.action
    return action.change.value if isinstance(action, DecideRecord | WriteRecord) else type(action).__name__


def _result(outcome: Outcome) -> str:
    if outcome.done:
        return "done"
    if outcome.held:
        return "postponed"
    return "unknown" if outcome.unknown else "failed"


def _wanted(done: Pass) -> Iterator[Row]:
    record, desired = done.observed.record, done.desired
    yield metrics.VOTERS_WANTED, (), len(requested_node_ids(desired, record))
    if record is not None:
        release = desired.runtime.release
        shown = release if _RELEASE.fullmatch(release) else metrics.OTHER
        yield metrics.INFO, (shown, "Static" if record.static else "Dynamic"), 1


def _levels(observed: Observed) -> Iterator[Row]:
    for feature in observed.finalized:
        if feature.name in _FEATURES:
            yield metrics.FEATURE_LEVEL, (feature.name,), feature.level


def _led(done: Pass) -> Iterator[Row]:
    """What the leader reports; without a leader, that none is known. Without a record no answer is the quorum's."""
    record, quorum = done.observed.record, done.observed.quorum
    if record is None:
        return
    if isinstance(quorum, Unknown):
        yield metrics.LEADER_ID, (), -1
        return
    view = quorum.value
    answer, votes = view.answer, VoterSet(view.voters, view.shown)
    yield metrics.LEADER_ID, (), answer.leader_id
    yield metrics.LEADER_EPOCH, (), answer.leader_epoch
    yield metrics.VOTERS_PRESENT, (), len(view.voters)
    yield metrics.VOTERS_CAUGHT_UP, (), len(votes.healthy)
    yield metrics.FAILURES_TOLERATED, (), votes.failure_tolerance
    if answer.high_watermark >= 0:
        yield metrics.HIGH_WATERMARK, (), answer.high_watermark
    yield from _offsets(record, view)


def _offsets(record: IdentityRecord, view: QuorumView) -> Iterator[Row]:
    """The ends of the logs of the controllers, and how far they are behind the leader's."""
    ends = {row.key: row.log_end_offset for row in (*view.answer.observers, *view.answer.voters)}
    leader = next((key for key in view.voters if key.node_id == view.answer.leader_id), None)
    led = -1 if leader is None else ends.get(leader, -1)
    for node in record.nodes:
        end = ends.get(node.key, -1)
        if end >= 0:
            yield metrics.LOG_END_OFFSET, (str(node.node_id),), end
            if led >= 0:
                yield metrics.LAG_RECORDS, (str(node.node_id),), max(led - end, 0)


def _states(done: Pass) -> Iterator[Row]:
    """How many controllers, and replicas that are none, are in each state; no row for a state that is not known."""
    observed, record = done.observed, done.observed.record
    if record is None:
        return
    view = observed.quorum.value if isinstance(observed.quorum, Known) else None
    lost = {wait.node_id: _LOST[wait.reason] for wait in done.plan.waits if wait.reason in _LOST}
    counts = Counter(lost.get(node.node_id) or _part(node, view) for node in record.nodes)
    states = ["lost_node", "lost_disk"]
    if view is not None:
        states += _OF_THE_LEADER
        stale = stale_voters(record, view)
        foreign = sum(is_foreign(record, key) for key in stale)
        own = {node.key for node in record.nodes}
        left = sum(key.directory_id in record.retired for key in view.observers - own)
        counts.update({"stale_voter": len(stale) - foreign, "foreign_voter": foreign, "stale_observer": left})
    if isinstance(observed.registered, Known):
        states.append("ghost")
        counts["ghost"] = len({*observed.registered.value} - {*record.node_ids})
    for state in states:
        yield metrics.CONTROLLERS, (state,), counts[state]


def _part(node: NodeIdentity, view: QuorumView | None) -> str:
    """The part of a controller in the quorum."""
    if view is None:
        return ""
    if node.key in view.voters:
        return "caught_up" if node.key in view.shown else "lagging"
    return "observer" if node.key in view.observers else "absent"


def _operation(operation: Operation | None, now_s: float) -> Iterator[Row]:
    match operation:
        case None:
            return
        case VoterOperation(change=change):
            kind = CHANGE_WORDS[type(change)]
        case FeatureOperation(step=step):
            kind = LOWER_FEATURE if step.downgrade else RAISE_FEATURE
        case UnknownOperation():
            yield metrics.OPERATION_OPEN, (metrics.UNKNOWN_TYPE,), 1
            return
    yield metrics.OPERATION_OPEN, (kind,), 1
    if since_s := seconds_of(operation.started_at):
        yield metrics.OPERATION_AGE, (kind,), max(0.0, now_s - since_s)


def _waits(done: Pass) -> Iterator[Row]:
    reasons = {wait.reason for wait in done.plan.waits if _REASON.fullmatch(wait.reason)}
    return ((metrics.WAITING, (reason,), 1.0) for reason in sorted(reasons))


def _certificates(done: Pass) -> Iterator[Row]:
    """The first end of a certificate of each holder, and the shortest life, of those that are known."""
    record, material = done.observed.record, done.observed.material
    if record is None or material is None:
        return
    leafs = tuple(material.known_leafs())
    signed = authority_end(done, record, leafs)
    authority = None if signed is None else signed[1]
    for metric, values in (
        (metrics.CERTIFICATE_END, _ends(done, record, material, leafs, authority)),
        (metrics.CERTIFICATE_LIFE, _lives(record, leafs, authority)),
    ):
        least: dict[str, float] = {}
        for holder, value in values:
            least[holder] = min(value, least.get(holder, value))
        for holder, value in sorted(least.items()):
            yield metric, (holder,), value


def _lives(record: IdentityRecord, leafs: _Leafs, authority: Certificate | None) -> Iterator[tuple[str, float]]:
    """How long each certificate in a Secret, and the authority that ends first, lasts, with its holder."""
    if authority is not None:
        yield "authority", (authority.not_after - authority.not_before).total_seconds()
    for owner, leaf in leafs:
        if (holder := _holder(owner, record)) is not None:
            yield holder, leaf.certificate.life_s
        yield from (("intermediate", each.life_s) for each in leaf.between)


def _ends(
    done: Pass, record: IdentityRecord, material: Material, leafs: _Leafs, authority: Certificate | None
) -> Iterator[tuple[str, float]]:
    """Every end that is known, with its holder."""
    for owner, leaf in leafs:
        if (holder := _holder(owner, record)) is not None:
            yield holder, leaf.certificate.not_after_s
        yield from (("intermediate", each.not_after_s) for each in leaf.between)
    yield from ((_controller(node_id), end_s) for node_id, end_s in client_ends(done.observed, record) if end_s)
    yield from ((Role.BROKERS.value, end_s) for _, end_s in broker_ends(done, material))
    if authority is not None:
        yield "authority", authority.not_after.timestamp()


def _holder(holder: Holder, record: IdentityRecord) -> str | None:
    """The value of the label; None for a controller that is not in the record."""
    if holder.role != Role.CONTROLLERS.value:
        return Role.OPERATOR.value if holder.role == Role.OPERATOR.value else Role.BROKERS.value
    return _controller(NodeID(holder.node_id)) if record.node(NodeID(holder.node_id)) is not None else None


def _controller(node_id: NodeID) -> str:
    return f"controller-{node_id}"
