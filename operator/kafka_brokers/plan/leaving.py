"""Brokers that leave the pool: cordoned, drained or held, proved empty, stopped, unregistered (B6). Pure.

One broker leaves at a time, the highest id first. Every step is found again in the next look: nothing is remembered but
that the broker is `leaving`, and that it was stopped after it was proved empty.
"""

from dataclasses import replace
from typing import Final

from kafka_brokers.model.actions import (
    Action,
    AlterConfig,
    CancelMoves,
    DeletePod,
    MovePartitions,
    RecordChange,
    TakeToken,
    Unregister,
    WriteRecord,
)
from kafka_brokers.model.disks import BrokerIdentity, changed, without_broker
from kafka_brokers.model.observed import ClusterView, Leader, Pod
from kafka_brokers.model.plan import Part, Severity, Wait, merged
from kafka_brokers.model.pool import Drain
from kafka_brokers.plan.drains import moves_from
from kafka_brokers.plan.facts import CHANGED, CORDON, Situation, holder_of, holds_token, why_controllers_first
from kafka_brokers.plan.guards.availability import counted, named
from kafka_brokers.plan.guards.rule10_records import leaving_ids, may_leave, may_move, why_held
from kafka_brokers.plan.lost import is_blank, is_down, place_of, stuck
from kafka_brokers.plan.throttles import limited, next_to_leave, rates, throttle_for
from kafka_quorum.model.brokers import ConfigChange, ConfigEntry, LogDirectory, Move
from kafka_quorum.model.known import Knowable, Known, Unknown
from kafka_quorum.model.permit import Permit

_NONE: Final = Unknown(reason="it does not run")
MOVES_AT_ONCE: Final = 50
"""So many partitions of a broker are moved at the same time: a drain can be interrupted, and shows its progress."""


def leaving(situation: Situation) -> Part:
    """The next step of the broker that leaves next."""
    if kept := _kept(situation):
        return kept
    broker = next_to_leave(situation.record)
    if broker is None:
        return _uncordoned(situation)
    if not broker.ran:
        return _removed(situation, broker)
    if situation.migrates and not broker.empty:
        text = (
            f"broker {broker.node_id} leaves after the migration from ZooKeeper: until then nothing is drained or "
            "unregistered. Let the migration of the quorum end, or raise spec.replicas again"
        )
        return Part(waits=(_wait(broker, "AfterMigration", text),))
    return _stop(situation, broker) if broker.empty else _emptied(situation, broker)


def _emptied(situation: Situation, broker: BrokerIdentity) -> Part:
    view, leader = situation.view, situation.leader
    if view is None or leader is None:
        return Part(waits=(_wait(broker, "Draining", "the partitions, or the leader of the quorum, are not known"),))
    away = is_lost(situation, broker)
    verdict = may_leave(situation.observed, broker, _log_dirs(situation, broker), stopped=away)
    if isinstance(verdict, Permit):
        if first := why_controllers_first(situation.observed, situation.now_s):
            return Part(waits=(_wait(broker, "RemovingBroker", first),), verdicts=(verdict,))
        if not holds_token(situation.desired, situation.observed):
            return merged((_token(situation, broker), Part(verdicts=(verdict,))))
        after = changed(situation.record, replace(broker, empty=True, stopped=False, outside=(), outside_unknown=False))
        message = f"broker {broker.node_id} is empty, and is stopped for good: {verdict.reason}"
        write = WriteRecord(record=after, change=RecordChange.EMPTY, message=message, permit=verdict)
        return Part(exclusive=write, verdicts=(verdict,))
    return merged((Part(verdicts=(verdict,)), _drain(situation, broker, view, leader, verdict.reason)))


def is_lost(situation: Situation, broker: BrokerIdentity) -> bool:
    """Whether a volume of a broker, or its Kubernetes node, is gone: its directories can never be asked again."""
    pod = situation.observed.broker_pod(broker.node_id)
    if is_down(situation, place_of(situation.observed, broker)):
        return True
    if pod is not None and pod.running:
        return False
    for disk in broker.disks:
        claim = situation.observed.claim(broker.node_id, disk.index, disk.generation)
        expected = disk.claim_uid is not None or disk.unproven
        if expected and (claim is None or claim.uid != disk.claim_uid or claim.volume_gone):
            return True
        if disk.formatted and is_blank(situation, broker, disk):
            return True
    return False


def _drain(situation: Situation, broker: BrokerIdentity, view: ClusterView, leader: Leader, why: str) -> Part:
    """Cordon the broker, and move its partitions, or name them."""
    cordon = _cordon(situation, broker)
    rows = view.by_broker.get(broker.node_id, ())
    left = tuple(sorted(partition.at for partition in rows))
    if situation.desired.drain is Drain.HOLD and left:
        text = (
            f"Did not stop broker {broker.node_id}: it has {counted(left)} ({named(left)}). Move them with "
            "kafka-reassign-partitions.sh, or set spec.drain to Automatic"
        )
        wait = Wait(severity=Severity.HELD, reason="BrokerNotEmpty", message=text, node_id=broker.node_id)
        return Part(actions=cordon, waits=(wait,))
    moving = tuple(row.at for row in view.reassignments if broker.node_id in row.removing)
    ours = len(moving)
    text = f"broker {broker.node_id} is drained: {counted(left)} left, {ours} of them are moving"
    wait = _wait(broker, "Draining", text if left else why)
    if not left and why and why == why_held(situation.observed, broker.node_id):
        wait = replace(wait, severity=Severity.HELD, reason="RollHeld")
    if not left or ours >= MOVES_AT_ONCE:
        return Part(actions=cordon, waits=(wait,))
    moves, impossible = moves_from(view, broker.node_id, leaving_ids(situation.observed), MOVES_AT_ONCE - ours)
    if not moves:
        return merged((Part(actions=cordon), _stuck(broker, impossible, wait)))
    verdict = may_move(situation.observed, broker.node_id, moves)
    if not isinstance(verdict, Permit):
        held = _wait(broker, "Draining", f"broker {broker.node_id} is drained, and moves wait: {verdict.reason}")
        return Part(actions=cordon, waits=(held,), verdicts=(verdict,))
    throttle = throttle_for(view, moves, situation.desired.throttle_bytes_per_s, situation.record.throttle)
    if throttle != situation.record.throttle:
        message = f"the drain of broker {broker.node_id} copies at most {throttle.bytes_per_s} bytes per second"
        record = situation.record.with_throttle(throttle)
        write = WriteRecord(record=record, change=RecordChange.THROTTLED, message=message)
        return Part(exclusive=write, waits=(wait,), verdicts=(verdict,))
    move = MovePartitions(
        leader=leader.endpoint,
        node_id=broker.node_id,
        moves=moves,
        rates=rates(view, throttle),
        limited=limited(view, moves),
        message=f"{counted(moves)} of broker {broker.node_id} begin to move to other brokers",
        permit=verdict,
    )
    return Part(actions=(*cordon, move), waits=(wait,), verdicts=(verdict,))


def _stuck(broker: BrokerIdentity, impossible: str, wait: Wait) -> Part:
    if not impossible:
        return Part(waits=(wait,))
    text = f"Did not drain broker {broker.node_id}: {impossible}"
    held = Wait(severity=Severity.HELD, reason="BrokerNotEmpty", message=text, node_id=broker.node_id)
    return Part(waits=(held,))


def _cordon(situation: Situation, broker: BrokerIdentity) -> tuple[Action, ...]:
    """Kafka puts no new replicas on a cordoned broker (KIP-1066, 4.3)."""
    entries, endpoint = situation.observed.config(broker.node_id), situation.endpoint(broker.node_id)
    if isinstance(entries, Unknown) or endpoint is None:
        return ()
    entry = next((one for one in entries.value if one.name == CORDON), None)
    if entry is None or entry.value == "*":  # a release without it, or done
        return ()
    changes = (ConfigChange(name=CORDON, value="*"),)
    message = f"broker {broker.node_id} is cordoned: it gets no new replicas"
    return (AlterConfig(broker=endpoint, node_id=broker.node_id, changes=changes, message=message),)


def is_cordoned(entries: tuple[ConfigEntry, ...]) -> bool:
    """Whether a broker was cordoned while it ran, as we do it."""
    return any((one.name, one.value, one.source) == (CORDON, "*", CHANGED) for one in entries)


def _kept(situation: Situation) -> Part | None:
    """Brokers that stay after all keep their replicas: the moves of their drain are cancelled. None if there are none.

    Those are moves of topics that the drain has limited, which the record notes before the first of them begins. All
    others are a person's.
    """
    view, leader, record = situation.view, situation.leader, situation.record
    kept = [one for one in record.brokers if one.kept]
    if not kept or view is None or leader is None:
        return None
    topics = record.throttle.topics if record.throttle is not None else ()
    ids = {one.node_id for one in kept}
    moving = tuple(row.at for row in view.reassignments if ids & set(row.removing) and row.at.topic in topics)
    if moving:
        cancel = tuple(Move(at=at, replicas=None) for at in moving)
        text = f"{counted(moving)} that moved away from brokers {', '.join(map(str, sorted(ids)))} stay there"
        return Part(exclusive=CancelMoves(leader=leader.endpoint, moves=cancel, message=text))
    for one in kept:
        record = changed(record, replace(one, kept=False))
    message = f"no move away from brokers {', '.join(map(str, sorted(ids)))} is left: they stay"
    return Part(exclusive=WriteRecord(record=record, change=RecordChange.KEPT, message=message))


def _uncordoned(situation: Situation) -> Part:
    """Brokers that stay after all take replicas again."""
    actions: list[Action] = []
    for broker in situation.record.brokers:
        entries, endpoint = situation.observed.config(broker.node_id), situation.endpoint(broker.node_id)
        if isinstance(entries, Unknown) or endpoint is None or not is_cordoned(entries.value):
            continue
        changes = (ConfigChange(name=CORDON, value=None),)
        message = f"broker {broker.node_id} takes new replicas again"
        actions.append(AlterConfig(broker=endpoint, node_id=broker.node_id, changes=changes, message=message))
    return Part(actions=tuple(actions))


def _stop(situation: Situation, broker: BrokerIdentity) -> Part:
    """Stop an empty broker, let Kafka forget it, and drop it from the record."""
    pod = situation.observed.broker_pod(broker.node_id)
    away = pod is None or is_lost(situation, broker)
    verdict = may_leave(situation.observed, broker, _log_dirs(situation, broker), stopped=away)
    if not isinstance(verdict, Permit):
        return merged((Part(verdicts=(verdict,)), _called_off(situation, broker, pod, verdict.reason)))
    wait = _wait(broker, "RemovingBroker", f"broker {broker.node_id} is empty, and stops for good")
    reported = Part(waits=(wait,), verdicts=(verdict,))
    if pod is not None:
        message = f"broker {broker.node_id} is stopped for good: {verdict.reason}"
        delete = DeletePod(pod=pod, reason="BrokerStopped", message=message, permit=verdict)
        return merged((reported, stuck(situation, broker, pod) if pod.deleting else Part(exclusive=delete)))
    view, leader = situation.view, situation.leader
    if view is None or leader is None or view.broker(broker.node_id) is None:
        return merged((reported, _removed(situation, broker)))
    unregister = Unregister(leader=leader.endpoint, node_id=broker.node_id, permit=verdict)
    return merged((reported, Part(exclusive=unregister)))


def _called_off(situation: Situation, broker: BrokerIdentity, pod: Pod | None, why: str) -> Part:
    """A broker that has replicas again, such as those of a new topic, runs on, and is drained again."""
    view, log_dirs = situation.view, _log_dirs(situation, broker)
    has_some = view is not None and broker.node_id in view.by_broker
    shown = pod is not None and pod.serves and isinstance(log_dirs, Known)
    if not (has_some or shown):
        return Part(waits=(_wait(broker, "RemovingBroker", why),))
    after = changed(situation.record, replace(broker, empty=False))
    message = f"the stop of broker {broker.node_id} is called off: {why}"
    return Part(exclusive=WriteRecord(record=after, change=RecordChange.STOP_CALLED_OFF, message=message))


def _removed(situation: Situation, broker: BrokerIdentity) -> Part:
    """Drop a broker from the record: it never ran, or it is empty, stopped and unregistered."""
    pods = [pod for pod in situation.observed.pods if pod.node_id == broker.node_id]
    if pods:
        wait = _wait(broker, "RemovingBroker", f"pod {pods[0].name} ends")
        return merged((Part(waits=(wait,)), *(stuck(situation, broker, pod) for pod in pods)))
    verdict = may_leave(situation.observed, broker, _NONE, stopped=True)
    if not isinstance(verdict, Permit):
        return Part(waits=(_wait(broker, "RemovingBroker", verdict.reason),), verdicts=(verdict,))
    message = f"broker {broker.node_id} has left the pool"
    write = WriteRecord(
        record=without_broker(situation.record, broker.node_id),
        change=RecordChange.REMOVED,
        message=message,
        permit=verdict,
    )
    return Part(exclusive=write, verdicts=(verdict,))


def _log_dirs(situation: Situation, broker: BrokerIdentity) -> Knowable[tuple[LogDirectory, ...]]:
    return dict(situation.observed.log_dirs).get(broker.node_id, _NONE)


def _token(situation: Situation, broker: BrokerIdentity) -> Part:
    match situation.observed.token:
        case Known(value=token) if token.holder in {"", holder_of(situation.desired)}:
            return Part(exclusive=TakeToken(seen=token))
        case Known(value=token):
            text = f"{token.holder} restarts a server of this quorum at this moment"
        case Unknown(reason=reason):
            text = f"it is not known who holds the disruption token ({reason})"
    return Part(waits=(_wait(broker, "RemovingBroker", text),))


def _wait(broker: BrokerIdentity, reason: str, text: str) -> Wait:
    return Wait(severity=Severity.PROGRESS, reason=reason, message=f"Waiting: {text}", node_id=broker.node_id)
