"""Running brokers restart from the present revision: some at a time, while their partitions stay available. Pure.

A stop is four writes: the token is taken, the record notes the stop, the pods are evicted, and when the brokers are
back the record says so and the token is given back. Each is judged on a look of its own. Nothing is given up: what a
stop waits for is named, without limit.
"""

from collections.abc import Iterable
from dataclasses import replace

from kafka_brokers.model.actions import EvictPod, GiveToken, NextPod, RecordChange, TakeToken, WriteRecord
from kafka_brokers.model.contracted import certificate_of
from kafka_brokers.model.disks import BrokerIdentity, PoolRecord, changed
from kafka_brokers.model.names import HOLD
from kafka_brokers.model.observed import ClusterView, Pod
from kafka_brokers.model.permit import StopBroker
from kafka_brokers.model.plan import Part, Severity, Wait, merged
from kafka_brokers.plan.facts import (
    NO_SECRET,
    Situation,
    controllers_turn,
    ended,
    has_ended,
    holder_of,
    holds_token,
    is_shut_out,
    lacks_secret,
    owns_token,
    why_controllers_first,
)
from kafka_brokers.plan.guards.availability import counted, named, waits_for
from kafka_brokers.plan.guards.rule11_stops import CONSENT, is_back, may_stop, outside_of, waits_for_ended
from kafka_brokers.plan.late import moved
from kafka_brokers.plan.revisions import config_of
from kafka_quorum.model.brokers import TopicPartition
from kafka_quorum.model.contract import Turn
from kafka_quorum.model.ids import NodeID
from kafka_quorum.model.known import Known, Unknown
from kafka_quorum.model.permit import Permit, Verdict
from kit.stamps import second_of


def returning(situation: Situation) -> Part:
    """Brokers that were stopped: their pods are evicted, and the record notes when they are back.

    This runs whatever the spec says meanwhile, because a stop that was begun is ended.
    """
    stopped = [one for one in situation.record.brokers if one.stopped and not one.empty]
    if not stopped:
        return Part()
    waiting = [one for one in stopped if still_runs(situation, one)]
    if waiting:
        return _evictions(situation, tuple(waiting))
    judged = [(one, *is_back(situation.observed, one)) for one in stopped]
    back = [one for one, is_, _ in judged if is_]
    waits = tuple(_wait("RestartingBroker", why, one.node_id) for one, is_, why in judged if not is_)
    if not back:
        return Part(waits=waits)
    record = situation.record
    for one in back:
        record = changed(record, replace(one, stopped=False, outside=(), outside_unknown=False))
    message = f"brokers {_ids(one.node_id for one in back)} are back: unfenced, and in every ISR of before"
    return Part(exclusive=WriteRecord(record=record, change=RecordChange.BACK, message=message), waits=waits)


def still_runs(situation: Situation, broker: BrokerIdentity) -> bool:
    """Whether the pod that was to be stopped runs on: it is made from another revision, or it is outdated."""
    pod = situation.observed.broker_pod(broker.node_id)
    if pod is None or pod.deleting or not pod.running:
        return False
    return pod.revision != broker.revision or bool(moved(situation, broker.node_id))


def _outdated(situation: Situation, broker: BrokerIdentity, pod: Pod) -> str:
    """Why a pod is to be made again, as a clause; empty if it is as it shall be.

    One that was stopped comes back from the revision of its stop first; if its certificate has ended, it cannot.
    """
    lasts = broker.stopped and not has_ended(situation.desired, situation.observed, pod, situation.now_s)
    if pod.revision != (broker.revision if lasts else situation.target):
        return f"it runs from revision {pod.revision}"
    return moved(situation, broker.node_id)


def _evictions(situation: Situation, brokers: tuple[BrokerIdentity, ...]) -> Part:
    """Evict the pods of the stop that the record notes; call it off if the guard refuses it by now.

    If one pod is left to evict, it may be one that may stop alone although others are not back: its certificate ended.
    """
    batch = tuple(one.node_id for one in situation.record.brokers if one.stopped and not one.empty)
    pods = [pod for one in brokers if (pod := situation.observed.broker_pod(one.node_id)) is not None]
    verdict = may_stop(situation.desired, situation.observed, batch, situation.now_s)
    if not isinstance(verdict, Permit) and len(brokers) == 1 < len(batch):
        verdict = may_stop(situation.desired, situation.observed, (brokers[0].node_id,), situation.now_s)
    if isinstance(verdict, Permit) and holds_token(situation.desired, situation.observed):
        return Part(actions=tuple(_evict(pod, verdict) for pod in pods), verdicts=(verdict,))
    if isinstance(verdict, Permit):
        return merged((_token(situation), Part(verdicts=(verdict,))))
    record = situation.record
    for one in brokers:
        pod = situation.observed.broker_pod(one.node_id)
        revision = pod.revision if pod is not None else one.revision
        record = changed(record, replace(one, stopped=False, outside=(), outside_unknown=False, revision=revision))
    message = f"the stop of brokers {_ids(one.node_id for one in brokers)} is called off: {verdict.reason}"
    write = WriteRecord(record=record, change=RecordChange.STOP_CALLED_OFF, message=message)
    return Part(exclusive=write, verdicts=(verdict,))


def _evict(pod: Pod, permit: Permit[StopBroker]) -> EvictPod:
    message = f"broker {pod.node_id} is stopped, to start again: {permit.reason}"
    return EvictPod(pod=pod, message=message, permit=permit)


def given_back(situation: Situation) -> Part:
    """Give the token back when nothing of this pool is stopped, and nothing is to be stopped now.

    So it is, too, while each broker that was stopped serves again, and waits only for brokers whose certificates have
    ended: one of another pool needs the token for the restart that ends the wait. The record keeps the stop.

    And so it is, whoever is away, when the certificate of a controller is about to end: a quorum without a leader is
    worse than a controller that restarts while a broker is away.
    """
    token = situation.observed.token
    if not isinstance(token, Known) or not owns_token(situation.desired, situation.observed):
        return Part()
    away = [one for one in situation.record.brokers if one.stopped or one.empty]
    away = [one for one in away if not _waits_in_vain(situation, one)]
    turn = controllers_turn(situation.observed, situation.now_s)
    if not away or (turn is not None and situation.now_s >= turn.last_s):
        return Part(exclusive=GiveToken(seen=token.value))
    return Part() if turn is None else Part(waits=(_keeps_token(away, turn),))


def given_away(situation: Situation) -> GiveToken | None:
    """Give the token back at the end of what a pool may keep in the controllers' turn; None before that.

    It does not depend on who is away, so nothing that the pool does or cannot read comes before it.
    """
    turn = controllers_turn(situation.observed, situation.now_s)
    if turn is None or situation.now_s < turn.last_s:
        return None
    given = given_back(situation).exclusive
    return given if isinstance(given, GiveToken) else None


def _keeps_token(away: list[BrokerIdentity], turn: Turn) -> Wait:
    """What the controllers wait for, and what happens if it does not come."""
    ends, last = second_of(turn.ends_s), second_of(turn.last_s)
    ids = _ids(one.node_id for one in away)
    text = (
        f"Waiting to give the disruption token to the controllers: brokers {ids} were stopped, and are not back. The "
        f"certificate of a controller ends at {ends}. If they are not back at {last}, the pool gives the token away "
        "all the same, because the quorum would be lost. Look at their pods"
    )
    return Wait(severity=Severity.PROGRESS, reason="RestartingBroker", message=text, node_id=away[0].node_id)


def _waits_in_vain(situation: Situation, broker: BrokerIdentity) -> bool:
    """Whether a broker was restarted, and only the restart of brokers whose certificates have ended brings it back."""
    if broker.empty or still_runs(situation, broker):
        return False
    return waits_for_ended(situation.desired, situation.observed, broker, situation.now_s)


def rolls(situation: Situation) -> Part:
    """Choose the brokers that restart next, and begin their stop; none while a disruption budget holds one that began.

    With an invalid spec they restart for a renewed certificate, and for nothing else.
    """
    begun = [one.node_id for one in situation.record.brokers if one.stopped and still_runs(situation, one)]
    if begun:
        text = f"Brokers {_ids(begun)} stop next, to start again, as soon as every disruption budget allows it"
        return Part(waits=(Wait(severity=Severity.PROGRESS, reason="Rolling", message=text),))
    running = [
        (one, pod)
        for one in situation.record.brokers
        if not one.empty
        and (pod := situation.observed.broker_pod(one.node_id)) is not None
        and pod.running
        and not pod.deleting
    ]
    asked = tuple(one.node_id for one, pod in running if _outdated(situation, one, pod))
    if situation.held_by_faults:
        return _without_renewal(situation, running)
    if (first := _before_stops(situation, running, asked)) is not None:
        return first
    batch, permit, verdicts = chosen(situation, asked)
    if permit is None:
        node_id, verdict = _most_telling(situation, asked, verdicts)
        text = f"Did not restart broker {node_id} yet: {verdict.reason}"
        return Part(waits=(Wait(severity=_severity(text), reason="RollHeld", message=text),), verdicts=verdicts)
    left = f"{len(asked)} brokers restart from revision {situation.target}, next {_ids(batch)}"
    wait = Wait(severity=Severity.PROGRESS, reason="Rolling", message=left)
    if not holds_token(situation.desired, situation.observed):
        return merged((_token(situation, _next_pods(situation, batch)), Part(waits=(wait,), verdicts=verdicts)))
    return Part(exclusive=_begun(situation, batch, permit), waits=(wait,), verdicts=verdicts)


def _most_telling(
    situation: Situation, asked: tuple[NodeID, ...], verdicts: tuple[Verdict, ...]
) -> tuple[NodeID, Verdict]:
    """The refusal to show: of a broker whose certificate has ended, because others may wait for it; else the first."""
    cut_off = ended(situation.desired, situation.observed, situation.now_s)
    rows = tuple(zip(_by_rack(situation.view, asked), verdicts, strict=True))
    return next((row for row in rows if row[0] in cut_off), rows[0])


def _before_stops(
    situation: Situation, running: list[tuple[BrokerIdentity, Pod]], asked: tuple[NodeID, ...]
) -> Part | None:
    """What comes before the stop of a broker that serves; None if one of those asked for can be chosen."""
    if situation.observed.revision(situation.target) is None:
        return Part()
    return _without_secret(situation, asked) or _fenced(situation, running) or (None if asked else Part())


def _without_renewal(situation: Situation, running: list[tuple[BrokerIdentity, Pod]]) -> Part:
    """What an invalid spec keeps from a renewed certificate, because restarts would bring other changes, too."""
    due = certificate_of(situation.desired.runtime)
    shown = ((one, situation.observed.revision(pod.revision)) for one, pod in running)
    lack = [one.node_id for one, made in shown if made is None or certificate_of(made.runtime) < due]
    if not lack:
        return Part()
    text = (
        f"Did not restart brokers {_ids(lack)} for renewed certificates: the spec is not valid, and restarts would "
        "bring other changes, too. Correct the spec"
    )
    return Part(waits=(Wait(severity=Severity.HELD, reason="RollHeld", message=text),))


def _without_secret(situation: Situation, asked: tuple[NodeID, ...]) -> Part | None:
    """What the restart of these brokers waits for, if they could not mount what they need then."""
    lacks = lacks_secret(situation.observed, situation.desired.runtime, asked)
    if not (asked and lacks):
        return None
    text = f"Waiting to restart brokers {_ids(asked)}: {lacks}"
    return Part(waits=(Wait(severity=Severity.PROGRESS, reason=NO_SECRET, message=text),))


def _fenced(situation: Situation, running: list[tuple[BrokerIdentity, Pod]]) -> Part | None:
    """Brokers that run and are fenced serve nothing: the first one gets the present revision without a stop of others.

    Only one at a time, and only if its revision is another one: a broker that recovers its logs is not restarted for
    nothing else. One that was stopped, and does not come back from its revision, gets the corrected one, too. One that
    a partition without a leader waits for keeps running: it may recover its logs, and would begin again. If it cannot
    start, its container ends, and the next pod is made from the present revision anyway.

    One whose certificate has ended is shut out until it starts again, whatever waits for it: all of them start again.
    """
    view = situation.view
    if shut_out := [one for one, pod in running if one.revision != situation.target and is_shut_out(situation, pod)]:
        record = situation.record
        for one in shut_out:
            record = changed(record, replace(one, revision=situation.target))
        ids = _ids(one.node_id for one in shut_out)
        message = f"brokers {ids} are shut out: their certificates have ended. They start again from {situation.target}"
        return Part(exclusive=WriteRecord(record=record, change=RecordChange.REVISION, message=message))
    trying = [
        one
        for one in situation.record.brokers
        if one.revision == situation.target and (one.stopped or situation.observed.fenced(one.node_id) is not False)
    ]
    if view is None or trying:
        return None
    for one, pod in running:
        fenced = situation.observed.fenced(one.node_id) is True
        if fenced and situation.target not in {pod.revision, one.revision} and not pod.held:
            if waiting := waits_for(view, one.node_id):
                return Part(waits=(_recovering(one, pod, waiting),))
            record = changed(situation.record, replace(one, revision=situation.target))
            message = f"broker {one.node_id} is fenced, and starts again from revision {situation.target}"
            return Part(exclusive=WriteRecord(record=record, change=RecordChange.REVISION, message=message))
    return None


def _recovering(broker: BrokerIdentity, pod: Pod, waiting: tuple[TopicPartition, ...]) -> Wait:
    text = (
        f"Did not restart broker {broker.node_id} yet: it is fenced, and {counted(waiting)} without a leader may need "
        f"it ({named(waiting)}). It may be recovering its logs. If it cannot start, delete pod {pod.name}: the "
        "next one has the present spec"
    )
    return Wait(severity=Severity.PROGRESS, reason="RollHeld", message=text, node_id=broker.node_id)


def chosen(
    situation: Situation, asked: tuple[NodeID, ...]
) -> tuple[tuple[NodeID, ...], Permit[StopBroker] | None, tuple[Verdict, ...]]:
    """The brokers to stop together: the first that may, and those of its rack that may beside it (B4)."""
    verdicts: list[Verdict] = []
    ordered = _by_rack(situation.view, asked)
    for first in ordered:
        verdict = may_stop(situation.desired, situation.observed, (first,), situation.now_s)
        if isinstance(verdict, Permit):
            batch, permit = _widened(situation, first, ordered, verdict)
            return batch, permit, (permit,)
        verdicts.append(verdict)
    return (), None, tuple(verdicts)


def _widened(
    situation: Situation, first: NodeID, asked: tuple[NodeID, ...], permit: Permit[StopBroker]
) -> tuple[tuple[NodeID, ...], Permit[StopBroker]]:
    batch: tuple[NodeID, ...] = (first,)
    for other in asked:
        if len(batch) < situation.desired.max_unavailable and other not in batch:
            wider = may_stop(situation.desired, situation.observed, (*batch, other), situation.now_s)
            if isinstance(wider, Permit):
                batch, permit = (*batch, other), wider
    return batch, permit


def _by_rack(view: ClusterView | None, asked: tuple[NodeID, ...]) -> tuple[NodeID, ...]:
    """Rack by rack, then by id."""
    racks = {} if view is None else {row.node_id: row.rack for row in view.registered}
    return tuple(sorted(asked, key=lambda node_id: (racks.get(node_id, ""), node_id)))


def _begun(situation: Situation, batch: tuple[NodeID, ...], permit: Permit[StopBroker]) -> WriteRecord:
    record = situation.record
    for node_id in batch:
        record = _stopped(record, node_id, situation.view, situation.target)
    message = f"brokers {_ids(batch)} will be stopped, to start again: {permit.reason}"
    return WriteRecord(record=record, change=RecordChange.STOP_BEGUN, message=message, permit=permit)


def _stopped(record: PoolRecord, node_id: NodeID, view: ClusterView | None, revision: str) -> PoolRecord:
    """With unknown partitions (all certificates have ended) it is back when it is in the ISR of all that have a leader.

    One that is stopped again, before it was back, is back when it is in those of before its first stop.
    """
    broker = record.broker(node_id)
    if broker is None:
        return record
    if not broker.stopped:
        outside = () if view is None else outside_of(view, node_id)
        broker = replace(broker, outside=outside, outside_unknown=view is None)
    return changed(record, replace(broker, stopped=True, revision=revision))


def _next_pods(situation: Situation, batch: tuple[NodeID, ...]) -> tuple[NextPod, ...]:
    """The pods that replace those of the batch; none while the config map of the revision does not exist."""
    revision, config = situation.observed.revision(situation.target), config_of(situation)
    if revision is None or config is None:
        return ()
    return tuple(NextPod(node_id=node_id, revision=revision, config_name=config) for node_id in batch)


def _token(situation: Situation, following: tuple[NextPod, ...] = ()) -> Part:
    """Take the disruption token, or say who holds it, or who needs it first."""
    if first := why_controllers_first(situation.observed, situation.now_s):
        wait = Wait(severity=Severity.PROGRESS, reason="RollHeld", message=f"Did not stop a broker yet: {first}")
        return Part(waits=(wait,))
    match situation.observed.token:
        case Unknown(reason=reason):
            text = f"Did not stop a broker yet: it is not known who holds the disruption token ({reason})"
            return Part(waits=(Wait(severity=Severity.PROGRESS, reason="RollHeld", message=text),))
        case Known(value=token) if token.holder not in {"", holder_of(situation.desired)}:
            text = f"Did not stop a broker yet: {token.holder} restarts a server of this quorum at this moment"
            return Part(waits=(Wait(severity=Severity.PROGRESS, reason="RollHeld", message=text),))
        case Known(value=token):
            return Part(exclusive=TakeToken(seen=token, pods=following))


def _severity(text: str) -> Severity:
    """A person must decide about partitions that no order keeps available; everything else only needs time."""
    return Severity.HELD if CONSENT in text or f"annotation {HOLD}" in text else Severity.PROGRESS


def _wait(reason: str, why: str, node_id: NodeID) -> Wait:
    return Wait(severity=Severity.PROGRESS, reason=reason, message=f"Waiting: {why}", node_id=node_id)


def _ids(node_ids: Iterable[NodeID]) -> str:
    return ", ".join(map(str, node_ids))
