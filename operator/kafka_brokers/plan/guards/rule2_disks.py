"""Rules 1 and 2 for brokers: a broker is formatted once for each volume, and runs on its own volumes only."""

from kafka_brokers.model.disks import BrokerIdentity
from kafka_brokers.model.observed import Observed, Pod
from kafka_brokers.model.permit import FormatBroker, ReplaceBrokerPod, RunBroker
from kafka_brokers.plan.guards.accepted import acceptance, data_of, given_up, is_accepted
from kafka_brokers.plan.guards.availability import counted, last_copies, named
from kafka_brokers.plan.guards.registry import Answer, guard, no, unless, yes
from kafka_quorum.model.known import Knowable, Known, Unknown
from kafka_quorum.model.names import DIRECTORY_ID


@guard(FormatBroker)
def may_format(observed: Observed, broker: BrokerIdentity, *, adopts: bool = False) -> Answer:
    """The volumes of a broker that are not formatted are formatted, while no Kafka runs on any of them.

    A node id that the cluster knows already may have replicas: an empty broker of that id could lead them. So a broker
    that has never run here is formatted only if the cluster has nothing on its id. The same holds for a volume of which
    a rebuilt record does not know whether it had data. `adopts`: nothing is formatted, volumes of an earlier broker are
    read, which must not run any more.
    """
    pod = observed.broker_pod(broker.node_id)
    unclaimed = [disk.index for disk in broker.disks if disk.claim_uid is None]
    going = _going(observed, broker)
    return unless(
        (
            (bool(known := _still_runs(observed, broker) if adopts else _known_elsewhere(observed, broker)), known),
            (bool(doubt := _in_doubt(observed, broker)), doubt),
            (bool(back := came_back(observed, broker)), back),
            (bool(unclaimed), f"volume {unclaimed[0] if unclaimed else 0} of broker {broker.node_id} has no claim yet"),
            (bool(going), going),
            (pod is not None, f"pod {pod.name if pod else ''} must be gone before a formatter uses its volumes"),
            (broker.formatted, f"every volume of broker {broker.node_id} is formatted already"),
        ),
        f"volumes of broker {broker.node_id} are new, or their data was given up",
    )


def _known_elsewhere(observed: Observed, broker: BrokerIdentity) -> str:
    """What the cluster has on the id of a broker that has never run here, as a clause; empty if nothing.

    Before any broker of this pool has run, there may be nobody to ask for the partitions. Then the leader's list of
    those that fetch its log decides; a quorum that never had a leader has no brokers yet.
    """
    node_id = broker.node_id
    if broker.ran:
        return ""
    if isinstance(observed.leader, Known) and node_id in observed.leader.value.observers_caught_up:
        return f"another server with node id {node_id} is in contact with the quorum: choose another id"
    others = any(one.ran for one in (observed.record.brokers if observed.record is not None else ()))
    match observed.cluster:
        case Unknown(reason=reason):
            young = isinstance(observed.contract, Known) and observed.contract.value.young
            unasked = isinstance(observed.leader, Unknown) and not young
            return f"the partitions are not known ({reason})" if others or unasked else ""
        case Known(value=view):
            pass
    if view.in_contact(node_id):
        return f"another broker with node id {node_id} is unfenced: choose another id"
    lost = tuple(partition.at for partition in last_copies(view, node_id))
    data = data_of(observed, broker, broker.disks)
    if lost and not is_accepted(observed, data):
        return (
            f"an earlier broker {node_id} is the only one known to have every acknowledged record of {counted(lost)} "
            f"({named(lost)}). Bring its volumes back, or delete these topics, or {acceptance(data)}"
        )
    return ""


def _still_runs(observed: Observed, broker: BrokerIdentity) -> str:
    """Why the volumes of an earlier broker are not free yet, as a clause; empty if nothing shows that it runs."""
    node_id = broker.node_id
    if broker.ran:
        return ""
    led = isinstance(observed.leader, Known) and node_id in observed.leader.value.observers_caught_up
    seen = isinstance(observed.cluster, Known) and observed.cluster.value.in_contact(node_id)
    return f"the earlier broker {node_id} still runs: stop it before its volumes are adopted" if led or seen else ""


def _in_doubt(observed: Observed, broker: BrokerIdentity) -> str:
    """What would be lost if a volume that may have had data is empty now, as a clause; empty if nothing (rule 10)."""
    node_id = broker.node_id
    doubtful = [one for one in broker.disks if one.unproven and one.claim_uid is not None]
    data = data_of(observed, broker, doubtful)
    if not doubtful or is_accepted(observed, data):
        return ""
    claim = observed.claim(node_id, doubtful[0].index, doubtful[0].generation)
    begins = f"the record was rebuilt, and claim {claim.name if claim else ''} has no directory id"
    way_out = f"Annotate the claim with {DIRECTORY_ID}, if it has data, or {acceptance(data)}"
    match observed.cluster:
        case Unknown(reason=reason):
            return f"{begins}. The partitions are not known ({reason}). {way_out}"
        case Known(value=view):
            pass
    if view.in_contact(node_id):
        return f"{begins}, and broker {node_id} is unfenced: it is in contact"
    lost = tuple(partition.at for partition in last_copies(view, node_id))
    text = f"{begins}. No other broker is known to have every acknowledged record of {counted(lost)} ({named(lost)})"
    return f"{text}. {way_out}" if lost else ""


def came_back(observed: Observed, broker: BrokerIdentity) -> str:
    """Why volumes that were given up may be needed after all, as a clause; empty if nothing shows that (rule 10).

    A process on a lost machine may reach the others again before its successor runs, and be in their ISRs. A successor
    with an empty log would lead what only that process has. Without any answer, what was judged when the volumes were
    given up holds.
    """
    node_id = broker.node_id
    empty = [disk for disk in broker.disks if broker.ran and disk.retired and not disk.formatted]
    if not empty or isinstance(observed.cluster, Unknown):
        return ""
    view = observed.cluster.value
    if view.in_contact(node_id):
        runs = "it may still run on a volume that was given up. If this lasts, stop it there"
        return f"broker {node_id} is unfenced: {runs}"
    lost, data = tuple(partition.at for partition in last_copies(view, node_id)), given_up(observed, broker, empty)
    if not lost or is_accepted(observed, data):
        return ""
    return (
        f"a volume of broker {node_id} that was given up may have the last copy of {counted(lost)} ({named(lost)}). "
        f"Delete these topics, or {acceptance(data)}"
    )


@guard(RunBroker)
def may_run(observed: Observed, broker: BrokerIdentity) -> Answer:
    """Kafka runs on the volumes of a broker."""
    formatting = [pod.name for pod in observed.formatter_pods(broker.node_id)]
    going = _going(observed, broker)
    return unless(
        (
            (not broker.formatted, f"a volume of broker {broker.node_id} is not formatted yet"),
            (bool(going), going),
            (bool(formatting), f"formatter pod {formatting[0] if formatting else ''} must be gone first"),
            (not broker.ran, f"the record does not say yet that broker {broker.node_id} may have run"),
        ),
        f"every volume of broker {broker.node_id} is formatted, and belongs to it alone",
    )


def _going(observed: Observed, broker: BrokerIdentity) -> str:
    """Why a volume of this broker cannot be used, as a clause; empty if all can be."""
    for disk in broker.disks:
        claim = observed.claim(broker.node_id, disk.index, disk.generation)
        if claim is None:
            return f"the claim of volume {disk.index} of broker {broker.node_id} is gone"
        if claim.uid != disk.claim_uid:
            return f"claim {claim.name} is not the one in the record"
        if claim.deleting:
            return f"claim {claim.name} is being deleted"
        if claim.volume_gone:
            return f"claim {claim.name} has lost its volume"
    return ""


def goes_with(observed: Observed, pod: Pod) -> str:
    """The first volume of a pod that would be gone with it, as a clause; empty if all of them would stay."""
    record = observed.record
    broker = None if record is None else record.broker(pod.node_id)
    for disk in () if broker is None else broker.disks:
        if disk.claim_uid is None or disk.claim_uid not in pod.claim_uids:
            continue  # the pod does not hold it
        claim = observed.claim(pod.node_id, disk.index, disk.generation)
        if claim is None or claim.uid != disk.claim_uid:
            return f"the claim of volume {disk.index} of broker {pod.node_id} is gone"
        if claim.deleting or claim.volume_gone:
            return f"claim {claim.name} {'is being deleted' if claim.deleting else 'has lost its volume'}"
    return ""


@guard(ReplaceBrokerPod)
def may_replace_pod(pod: Pod, fenced: Knowable[bool], *, node_lost: bool = False) -> Answer:
    """A pod in which no Kafka runs, or that runs what the record has given up, is deleted, to be created again.

    `fenced` says whether the quorum has fenced this broker. A running Kafka is stopped only if it certainly serves
    nothing.
    """
    if not pod.running:
        return yes(f"no Kafka runs in pod {pod.name}")
    match fenced:
        case Known(value=True):
            where = "its Kubernetes node is lost" if node_lost else "it serves nothing"
            return yes(f"broker {pod.node_id} is fenced: {where}")
        case _:
            return no(f"Kafka runs in pod {pod.name}, and it is not known that broker {pod.node_id} is fenced")
