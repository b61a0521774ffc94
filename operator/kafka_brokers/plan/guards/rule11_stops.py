"""Rule 11: no partition that could stay available is made unavailable by an act of ours."""

from collections.abc import Iterator
from typing import Final

from kafka_brokers.model.disks import BrokerIdentity
from kafka_brokers.model.names import HOLD, pool_of
from kafka_brokers.model.observed import ClusterView, Leader, Observed, Pod
from kafka_brokers.model.permit import StopBroker
from kafka_brokers.model.pool import Cure, PoolDesired, Unavailable
from kafka_brokers.plan.facts import certificate_end_s, ended, lacks_secret, why_controllers_first
from kafka_brokers.plan.guards.availability import Objection, counted, last_copies, lasting, named, objections, share
from kafka_brokers.plan.guards.registry import Answer, guard, no, unless
from kafka_brokers.plan.guards.rule2_disks import goes_with
from kafka_quorum.model.brokers import TopicPartition
from kafka_quorum.model.ids import NodeID
from kafka_quorum.model.known import Known, Unknown

CONSENT: Final = "spec.roll.unavailablePartitions: Allow"
"""How a person consents that partitions are unavailable for the time of a restart."""


@guard(StopBroker)
def may_stop(desired: PoolDesired, observed: Observed, batch: tuple[NodeID, ...], now_s: float) -> Answer:
    """Running brokers are stopped together, to start again from another revision (B3, B4).

    A broker whose certificate has ended is judged otherwise if the usual answer is no: what that waits for may wait for
    this broker. This holds for one broker alone: nobody judged the others of a batch. The reason is then that of this
    judgement: a person may have to consent, and the usual answer only waits.

    Whatever waits for a broker: if the certificate of a controller ends soon, the controllers restart first. A broker
    that was stopped and has not come back may be stopped again: that may be what brings it back.
    """
    if isinstance(observed.leader, Unknown):
        return no(f"it is not known who leads the quorum ({observed.leader.reason}): without a leader no broker stops")
    if (first := why_controllers_first(observed, now_s)) and not _are_away(observed, batch):
        return no(first)
    usual = _as_usual(desired, observed, observed.leader.value, batch, now_s)
    if usual.allowed:
        return usual
    own = ended(desired, observed, now_s)
    if len(batch) != 1 or batch[0] not in own:
        return usual
    cut_off = own | observed.peers_ended.renewed
    return _after_its_end(desired, observed, observed.leader.value, batch[0], cut_off, now_s)


def _are_away(observed: Observed, batch: tuple[NodeID, ...]) -> bool:
    """Whether these brokers were stopped before, and are known to serve nothing."""
    brokers = observed.record.brokers if observed.record is not None else ()
    stopped = {broker.node_id for broker in brokers if broker.stopped}
    return all(node_id in stopped and observed.fenced(node_id) is True for node_id in batch)


def _as_usual(
    desired: PoolDesired, observed: Observed, leader: Leader, batch: tuple[NodeID, ...], now_s: float
) -> Answer:
    if isinstance(observed.cluster, Unknown):
        return no(f"the partitions are not known ({observed.cluster.reason})")
    view = observed.cluster.value
    names = ", ".join(map(str, batch))
    return unless(
        (
            *_of_the_quorum(leader),
            *_of_the_record(observed, view, batch),
            *_of_the_pods(observed, batch),
            *_of_the_secret(desired, observed, batch),
            *_of_the_certificate(desired, observed, now_s),
            *_of_volumes(desired, observed, view, batch),
            *_of_the_batch(desired, view, batch),
            *_of_other_brokers(observed, view, batch),
            *_of_contact(observed, view, leader, batch),
            *_of_partitions(desired, view, batch),
        ),
        f"every partition of broker {names} keeps its in-sync replicas, and no other broker is away",
    )


def _after_its_end(
    desired: PoolDesired,
    observed: Observed,
    leader: Leader,
    node_id: NodeID,
    cut_off: frozenset[NodeID],
    now_s: float,
) -> Answer:
    """A broker of those whose certificates have ended (`cut_off`, of any pool), alone, while every other one runs.

    Nobody opens a connection to it, so replicas that lost theirs stay out of the ISRs of what it leads until it starts
    again. To wait for them would be to wait for ever. What other brokers lead is judged as usual: there, waiting helps.
    """
    batch = (node_id,)
    return unless(
        (
            *_of_the_quorum(leader),
            *_of_the_pods(observed, batch),
            *_of_the_secret(desired, observed, batch),
            *_of_the_certificate(desired, observed, now_s),
            *_of_others_that_run(observed, leader, node_id, cut_off),
            *_of_what_waits_for_others(desired, observed, leader, node_id, cut_off),
        ),
        f"the certificate of broker {node_id} has ended, so what the others wait for comes only after its start",
    )


def _of_others_that_run(
    observed: Observed, leader: Leader, node_id: NodeID, cut_off: frozenset[NodeID]
) -> Iterator[tuple[bool, str]]:
    """Each other broker of ours runs, and follows the metadata log; one whose certificate has ended need not.

    Nobody waits for one that is known to be a replica of nothing: it may never have run.
    """
    view = observed.cluster.value if isinstance(observed.cluster, Known) else None
    for broker in observed.record.brokers if observed.record is not None else ():
        pod = observed.broker_pod(broker.node_id)
        nothing = view is not None and broker.node_id not in view.by_broker
        if broker.node_id == node_id or not broker.ran or broker.empty or nothing:
            continue
        follows = broker.node_id in leader.observers_caught_up or broker.node_id in cut_off
        yield pod is None or not pod.serves or not follows, f"broker {broker.node_id} is away: it must come back first"
    for peer in observed.peers:
        away = not peer.serves and (view is None or peer.node_id in view.by_broker)
        yield away, f"pod {peer.name} of another pool does not run: it must come back first"
    yield from _of_unreadable(observed)


def _of_what_waits_for_others(
    desired: PoolDesired, observed: Observed, leader: Leader, node_id: NodeID, cut_off: frozenset[NodeID]
) -> Iterator[tuple[bool, str]]:
    """What only other brokers can end: partitions that they lead, or an answer of one that can be asked."""
    pod = observed.broker_pod(node_id)
    if pod is not None and (going := goes_with(observed, pod)):
        yield True, f"{going}: its volume would be gone with the pod"
    if isinstance(observed.cluster, Unknown):
        asked = {each.node_id for each in observed.pods if each.serves} & leader.observers_caught_up - cut_off
        if asked:
            yield True, f"the partitions are not known ({observed.cluster.reason}), and broker {min(asked)} may answer"
        return
    view = observed.cluster.value
    for row in view.registered:
        fenced = row.fenced and row.node_id != node_id and row.node_id in view.by_broker
        yield fenced, f"broker {row.node_id} is fenced and has replicas: it must come back first"
    yield from _of_contact(observed, view, leader, (node_id, *cut_off))
    led = {row.at: row.leader for row in view.partitions}
    for found in objections(view, node_id, frozenset()):
        others = led[found.at] is not None and led[found.at] not in cut_off
        yield others and not found.for_good, f"partition {found.at}: {found.why}"
    for broker in observed.record.brokers if observed.record is not None else ():
        if broker.stopped and broker.node_id != node_id:
            late = (at for at in not_back(view, broker) if led[at] is not None and led[at] not in cut_off)
            at = next(late, None)
            yield at is not None, f"broker {broker.node_id} was stopped before, and is not back in the ISR of {at}"
    yield from _of_consent(desired, node_id, tuple(lasting(view, node_id)))


def _of_the_quorum(leader: Leader) -> Iterator[tuple[bool, str]]:
    caught_up = f"{leader.voters_caught_up} of {leader.voters} voters of the quorum are caught up"
    yield not leader.settled, f"{caught_up}: a broker stops only if all are"


def _of_the_record(observed: Observed, view: ClusterView, batch: tuple[NodeID, ...]) -> Iterator[tuple[bool, str]]:
    """A broker whose pod ends, or ended a moment ago, is unfenced until its session expires: it counts as away."""
    brokers = observed.record.brokers if observed.record is not None else ()
    for broker in brokers:
        if broker.node_id in batch:
            continue
        yield broker.stopped, f"broker {broker.node_id} was stopped before, and is not back yet"
        pod = observed.broker_pod(broker.node_id)
        away = broker.ran and broker.node_id in view.by_broker and (pod is None or not pod.serves)
        yield away, f"broker {broker.node_id} does not run, or is stopping: it must come back first"


def _of_the_pods(observed: Observed, batch: tuple[NodeID, ...]) -> Iterator[tuple[bool, str]]:
    """What a person asked for, and whether the pods would find a place again."""
    for node_id in batch:
        pod = observed.broker_pod(node_id)
        yield pod is not None and pod.held, f"pod {pod.name if pod else ''} has the annotation {HOLD}: remove it"
        yield _cordoned(observed, pod)


def _cordoned(observed: Observed, pod: Pod | None) -> tuple[bool, str]:
    """Whether the Kubernetes node of a pod takes no new pods: its volumes may be only there."""
    name = pod.node_name if pod is not None else ""
    node = observed.kube_node(name)
    if isinstance(node, Unknown):
        return False, ""
    text = f"Kubernetes node {name} takes no new pods: uncordon it, or delete the pod yourself"
    return node.value.cordoned or not node.value.ready, text


def _of_the_secret(desired: PoolDesired, observed: Observed, batch: tuple[NodeID, ...]) -> Iterator[tuple[bool, str]]:
    """A broker that cannot mount what it needs to reach the controllers would not come back."""
    lacks = lacks_secret(observed, desired.runtime, batch)
    yield bool(lacks), lacks


def _of_the_certificate(desired: PoolDesired, observed: Observed, now_s: float) -> Iterator[tuple[bool, str]]:
    """A connection outlives its certificate: a broker that starts with one that has ended gets no other connection."""
    end_s = certificate_end_s(observed, desired.runtime)
    text = "the certificate that it would start with has ended, and no server would accept it: it must be renewed first"
    yield end_s is not None and end_s <= now_s, text


def _of_volumes(
    desired: PoolDesired, observed: Observed, view: ClusterView, batch: tuple[NodeID, ...]
) -> Iterator[tuple[bool, str]]:
    """A claim that is being deleted stays while a pod uses it: with the pod, its volume is gone (rule 10).

    Then its pod is only stopped if the volume may be replaced unattended, and others have every acknowledged record.
    """
    for node_id in batch:
        pod = observed.broker_pod(node_id)
        going = "" if pod is None else goes_with(observed, pod)
        if going:
            text = f"{going}: its volume would be gone with pod {pod.name if pod else ''}"
            yield desired.lost_disk is Cure.MANUAL, f"{text}, and spec.replacement.lostDisk is Manual"
            lost = tuple(partition.at for partition in last_copies(view, node_id))
            yield bool(lost), f"{text}, and with it the only complete replica of {named(lost)}"


def _of_the_batch(desired: PoolDesired, view: ClusterView, batch: tuple[NodeID, ...]) -> Iterator[tuple[bool, str]]:
    yield len(batch) > desired.max_unavailable, f"at most {desired.max_unavailable} may stop together"
    racks = {row.rack for node_id in batch if (row := view.broker(node_id)) is not None}
    yield len(racks) > 1, "brokers of different racks do not stop together"
    pairs = ((one, other) for index, one in enumerate(batch) for other in batch[index + 1 :])
    for one, other in pairs:
        yield share(view, one, other), f"brokers {one} and {other} have a partition in common"


def _of_unreadable(observed: Observed) -> Iterator[tuple[bool, str]]:
    for pod in observed.peers_unreadable:
        yield True, f"pod {pod.name} of another pool cannot be read ({pod.why}): it may be stopping"


def _of_other_brokers(observed: Observed, view: ClusterView, batch: tuple[NodeID, ...]) -> Iterator[tuple[bool, str]]:
    yield from _of_unreadable(observed)
    for peer in observed.peers:
        away = peer.node_id in view.by_broker and peer.node_id not in batch and not peer.serves
        yield away, f"pod {peer.name} of another pool does not run, or is stopping: it must come back first"
    for row in view.registered:
        if row.fenced and row.node_id not in batch and row.node_id in view.by_broker:
            yield True, f"broker {row.node_id} is fenced and has replicas: it must come back first"
    known = {row.node_id for row in view.registered}
    for node_id in sorted(view.by_broker.keys() - known - set(batch)):
        yield True, f"broker {node_id} has replicas and is not registered: it must come back, or lose them"


def _of_contact(
    observed: Observed, view: ClusterView, leader: Leader, batch: tuple[NodeID, ...]
) -> Iterator[tuple[bool, str]]:
    """Kafka keeps a broker that has ended in the ISRs until its session ends, 9 s later: it is not relied on.

    A broker that runs fetches the metadata log all the time. So does its next process before it has registered, while
    Kafka counts it in by the session of the former one. One of a pool also answers, which a new process does only
    after it has registered.
    """
    peers = {peer.node_id: peer for peer in observed.peers if peer.serves}
    for row in view.registered:
        node_id = row.node_id
        if row.fenced or node_id in batch or node_id not in view.by_broker:
            continue
        fetches = node_id in leader.observers_caught_up
        yield not fetches, f"broker {node_id} does not follow the metadata log at this moment: it may have ended"
        if observed.record is None or observed.record.broker(node_id) is None:
            peer = peers.get(node_id)
            answered = None if peer is None else observed.answers(peer)
            if isinstance(answered, Unknown):
                yield True, f"broker {node_id} of another pool does not answer at this moment ({answered.reason})"
            continue
        pod, answer = observed.broker_pod(node_id), observed.config(node_id)
        yield pod is None or not pod.serves, f"broker {node_id} does not run at this moment"
        if isinstance(answer, Unknown):
            yield True, f"broker {node_id} does not answer at this moment ({answer.reason})"


def _of_partitions(desired: PoolDesired, view: ClusterView, batch: tuple[NodeID, ...]) -> Iterator[tuple[bool, str]]:
    for node_id in batch:
        found = tuple(objections(view, node_id, frozenset(batch) - {node_id}))
        waiting = [one for one in found if not one.for_good]
        if waiting:
            yield True, f"partition {waiting[0].at}: {waiting[0].why}"
        yield from _of_consent(desired, node_id, tuple(one for one in found if one.for_good))


def _of_consent(desired: PoolDesired, node_id: NodeID, found: tuple[Objection, ...]) -> Iterator[tuple[bool, str]]:
    """What a person must decide."""
    if not found or desired.unavailable is Unavailable.ALLOW:
        return
    rows = tuple(one.at for one in found)
    text = (
        f"no order of restarts keeps {counted(rows)} of broker {node_id} available ({named(rows)}). For example "
        f"{rows[0]}: {found[0].why}. Give them more replicas, or consent with {CONSENT}"
    )
    yield True, text


def is_back(observed: Observed, broker: BrokerIdentity) -> tuple[bool, str]:
    """Whether a broker that was stopped is back: unfenced, and in every ISR that it was in before. Else why not."""
    node_id = broker.node_id
    if isinstance(serves := _serves(observed, broker), str):
        return False, serves
    if missing := not_back(serves, broker):
        why = f"broker {node_id} is not back in the ISR of {counted(missing)} ({named(missing)})"
        return False, f"{why}{_led_by_ended_peer(observed, serves, missing)}"
    return True, f"broker {node_id} is unfenced, and in every ISR that it was in before"


def _serves(observed: Observed, broker: BrokerIdentity) -> ClusterView | str:
    """The partitions, if a broker that was stopped serves again: it runs, is unfenced and answers. Else why not."""
    node_id = broker.node_id
    pod = observed.broker_pod(node_id)
    if pod is None or not pod.serves:
        return f"broker {node_id} does not run yet"
    if isinstance(observed.cluster, Unknown):
        return f"the partitions are not known ({observed.cluster.reason})"
    row = observed.cluster.value.broker(node_id)
    if row is None or row.fenced:
        return f"broker {node_id} is {'not registered' if row is None else 'fenced'}: it starts, or recovers"
    answer = observed.config(node_id)
    if broker.stopped and isinstance(answer, Unknown):  # else the session of the process before could still last
        return f"broker {node_id} does not answer itself yet ({answer.reason})"
    return observed.cluster.value


def waits_for_ended(desired: PoolDesired, observed: Observed, broker: BrokerIdentity, now_s: float) -> bool:
    """Whether a broker that was stopped serves again, and misses only what brokers lead whose certificates have ended.

    No time, and no act of its pool alone, brings it into those ISRs: these leaders get no new connection until they
    start again, and may be of another pool. It is in sync wherever else it was, and each other stop is judged on the
    ISRs as they are. So the disruption token may be given to whom it waits for.
    """
    view = _serves(observed, broker)
    if isinstance(view, str):
        return False
    shut = {pod.node_id for pod in observed.pods if pod.replication_tls} & ended(desired, observed, now_s)
    led = {row.at: row.leader for row in view.partitions}
    return all(led[at] in shut | observed.peers_ended.every for at in not_back(view, broker))


def _led_by_ended_peer(observed: Observed, view: ClusterView, missing: tuple[TopicPartition, ...]) -> str:
    """What ends the wait for these partitions, as a clause, if an ended broker of another pool leads one of them."""
    wanted = frozenset(missing)
    leaders = {row.leader for row in view.partitions if row.at in wanted}
    rows = [pod for pod in observed.peers if pod.node_id in leaders & observed.peers_ended.every]
    if not rows:
        return ""
    first = min(rows, key=lambda pod: pod.node_id)
    pool = pool_of(first.name, first.node_id)
    return (
        f": broker {first.node_id} of pool {pool} leads there, and its certificate has ended, so it accepts no new "
        f"connection until it starts again. KafkaBrokerPool {pool} restarts it, or its status says what that waits "
        f"for; or delete pod {first.name}"
    )


def not_back(view: ClusterView, broker: BrokerIdentity) -> tuple[TopicPartition, ...]:
    """The partitions in whose ISR a broker was before its stop, and is not now.

    If they were not known then, those without a leader are left out: it may have been outside, and cannot enter one.
    """
    node_id, outside = broker.node_id, frozenset(broker.outside)
    return tuple(
        partition.at
        for partition in view.by_broker.get(node_id, ())
        if node_id in view.replicas_of(partition) and node_id not in partition.isr and partition.at not in outside
        if partition.leader is not None or not broker.outside_unknown
    )


def outside_of(view: ClusterView, node_id: NodeID) -> tuple[TopicPartition, ...]:
    """The partitions of this broker in whose ISR it is not: after a restart they are not waited for."""
    rows = view.by_broker.get(node_id, ())
    return tuple(sorted(partition.at for partition in rows if node_id not in partition.isr))
