"""The whole status of a pool from one pass. Numbers that change with every look stay out of it."""

from typing import Any, Final, TypeAlias

from kafka_brokers.model import names
from kafka_brokers.model.disks import BrokerIdentity
from kafka_brokers.model.plan import Severity
from kafka_brokers.model.pool import External
from kafka_brokers.status.conditions import findings
from kafka_brokers.status.finding import Pass
from kafka_quorum.model.known import Known, Unknown
from kit.conditions.merge import merged, shortened, without_none
from kit.conditions.whole import cut, doing, waits_of, without_empty
from kit.text import cleaned

Json: TypeAlias = dict[str, Any]
_EXAMPLES: Final = 5


def build(done: Pass, old: Json, *, generation: int, now: str) -> Json:
    """The status to write. `old` gives the transition times and what this pass does not know."""
    found = findings(done)
    first = doing(found)
    status: Json = {
        "observedGeneration": generation,
        "selector": f"{names.LABEL_POOL}={done.name},{names.LABEL_ROLE}={names.BROKER_ROLE}",
        "replicas": len(done.brokers),
        "summary": _summary(done),
        "doing": first.reason,
        "message": shortened(first.message),
        "conditions": merged(old.get("conditions") or (), found, generation=generation, now=now),
        "waits": waits_of(
            done.plan.waits, old, now, gravity=tuple(Severity), numbers="nodeIDs", number_of=lambda wait: wait.node_id
        ),
    }
    if done.desired is not None:
        status |= _of_desired(done)
    record = done.observed.record
    if record is not None:
        status |= {"clusterID": record.cluster_id, "brokers": [_broker(done, one) for one in done.brokers]}
        status |= _progress(done)
    return without_empty(cleaned(cut(status), max_chars=4096))


def _of_desired(done: Pass) -> Json:
    desired = done.desired
    if desired is None:
        return {}
    releases = sorted(filter(None, (_release(done, one) for one in done.brokers)))
    contract = done.observed.contract
    return {
        "quorum": desired.quorum,
        "release": releases[0] if releases else None,
        "contractRevision": contract.value.revision if isinstance(contract, Known) else None,
        "appliedRevision": done.target,
        "listeners": [_listener(done, one.name, one.port, one.external) for one in desired.runtime.listeners],
    }


def _listener(done: Pass, name: str, port: int, external: External) -> Json:
    desired = done.desired
    if desired is None:
        return {"name": name}
    row: Json = {"name": name, "bootstrap": f"{names.bootstrap_name(desired.name)}.{desired.namespace}.svc:{port}"}
    if external is not External.NONE:
        service = names.external_name(desired.name, name, None)
        one = next((item for item in done.observed.support if (item.kind, item.name) == ("Service", service)), None)
        hosts = sorted({pod.host_ip for pod in done.observed.pods if pod.serves and pod.host_ip})
        if one is not None and external is External.LOAD_BALANCER and one.ingress:
            row["external"] = f"{one.ingress}:{port}"
        elif one is not None and external is External.NODE_PORT and one.node_ports and hosts:
            row["external"] = ",".join(f"{host}:{one.node_ports[0][1]}" for host in hosts[:3])
    return row


def _release(done: Pass, broker: BrokerIdentity) -> str:
    pod = done.observed.broker_pod(broker.node_id)
    revision = done.observed.revision(pod.revision) if pod is not None else None
    return revision.runtime.release if revision is not None else ""


def _summary(done: Pass) -> str:
    if isinstance(done.observed.cluster, Unknown):
        return f"?/{len(done.requested) or done.spec_replicas}"
    back = sum(1 for one in done.brokers if done.back(one)[0] and not one.leaving)
    return f"{back}/{len(done.requested) or done.spec_replicas}"


def _broker(done: Pass, broker: BrokerIdentity) -> Json:
    pod = done.observed.broker_pod(broker.node_id)
    back, why = done.back(broker)
    cluster = done.observed.cluster
    row = cluster.value.broker(broker.node_id) if isinstance(cluster, Known) else None
    found: Json = {
        "nodeID": broker.node_id,
        "state": _state(done, broker),
        "back": back if isinstance(cluster, Known) else None,
        "release": _release(done, broker) or None,
        "revision": pod.revision if pod is not None else None,
        "rack": row.rack if row is not None and row.rack else None,
        "podName": pod.name if pod is not None else None,
        "nodeName": pod.node_name if pod is not None and pod.node_name else None,
        "held": True if pod is not None and pod.held else None,
        "volumes": [_volume(done, broker, index) for index in range(len(broker.disks))],
        "reason": None if back else why,
    }
    return without_none(found)


def _state(done: Pass, broker: BrokerIdentity) -> str:
    pod = done.observed.broker_pod(broker.node_id)
    if broker.leaving:
        return "Leaving"
    if pod is not None and pod.deleting:
        return "Stopping"
    match done.observed.cluster:
        case Unknown():
            return "Unknown"
        case Known(value=view):
            row = view.broker(broker.node_id)
    if row is None:
        return "Unregistered"
    return "Fenced" if row.fenced else "Unfenced"


def _volume(done: Pass, broker: BrokerIdentity, index: int) -> Json:
    disk = broker.disks[index]
    claim = done.observed.claim(broker.node_id, disk.index, disk.generation)
    name = claim.name if claim is not None else None
    state = None
    if claim is None and disk.claim_uid is not None:
        state = "ClaimGone"
    elif claim is not None and claim.deleting:
        state = "ClaimDeleting"
    elif claim is not None and claim.volume_gone:
        state = "VolumeGone"
    elif not disk.formatted:
        state = "NotFormatted"
    row = {"index": disk.index, "claimName": name, "directoryID": disk.directory_id, "state": state}
    return without_none(row)


def _progress(done: Pass) -> Json:
    """The roll and the drains that are under way."""
    total = len(done.brokers)
    current = sum(1 for one in done.brokers if done.current(one) and not one.stopped)
    stopped = [one.node_id for one in done.brokers if one.stopped]
    found: Json = {}
    if total and (stopped or current < total) and all(one.ran for one in done.brokers):
        found["roll"] = {"target": done.target, "done": current, "total": total, "stopped": stopped}
    drains = [_drain(done, one) for one in done.brokers if one.leaving]
    return found | ({"drains": drains} if drains else {})


def _drain(done: Pass, broker: BrokerIdentity) -> Json:
    cluster = done.observed.cluster
    row: Json = {"nodeID": broker.node_id, "step": "Stopping" if broker.empty else "Moving"}
    if isinstance(cluster, Known):
        view = cluster.value
        rows = (partition.at for partition in view.by_broker.get(broker.node_id, ()))
        left = sorted(rows, key=lambda at: (at.topic.startswith("__"), at))
        moving = sum(1 for one in view.reassignments if broker.node_id in one.removing)
        held = any(wait.reason == "BrokerNotEmpty" and wait.node_id == broker.node_id for wait in done.plan.waits)
        row["step"] = "Stopping" if broker.empty else "Held" if held else "Moving" if left else "Empty"
        row |= {"partitionsLeft": len(left), "partitionsMoving": moving, "examples": list(map(str, left[:_EXAMPLES]))}
    return row
