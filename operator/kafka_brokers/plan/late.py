"""Properties that are known only after a pod was scheduled: its rack, and its addresses outside the cluster. Pure."""

from kafka_brokers.model import names
from kafka_brokers.model.observed import Observed, Pod
from kafka_brokers.model.pool import BrokerListener, External, PoolDesired
from kafka_brokers.plan.facts import Situation
from kafka_quorum.model.ids import NodeID
from kafka_quorum.model.known import Knowable, Known, Unknown


def late_properties(situation: Situation, pod: Pod) -> Knowable[str]:
    """The lines for the properties file of a scheduled pod; Unknown, with the reason, while a part is missing."""
    desired, observed = situation.desired, situation.observed
    revision = observed.revision(pod.revision)
    runtime = revision.runtime if revision is not None else desired.runtime
    lines = []
    if runtime.rack_key:
        rack = _rack(observed, pod, runtime.rack_key)
        if isinstance(rack, Unknown):
            return rack
        lines.append(f"broker.rack={rack.value}")
    host = names.host_name(desired.namespace, desired.name, pod.node_id)
    advertised = [f"{names.REPLICATION}://{host}:{names.REPLICATION_PORT}"]
    for listener in runtime.listeners:
        address = _address(desired, observed, listener, pod)
        if isinstance(address, Unknown):
            return address
        advertised.append(f"{listener.name}://{address.value}")
    if any(listener.external is not External.NONE for listener in runtime.listeners):
        lines.append(f"advertised.listeners={','.join(advertised)}")
    return Known(value="".join(f"{line}\n" for line in lines))


def _rack(observed: Observed, pod: Pod, key: str) -> Knowable[str]:
    match observed.kube_node(pod.node_name):
        case Unknown(reason=reason):
            return Unknown(reason=f"Kubernetes node {pod.node_name} is not known ({reason})")
        case Known(value=node):
            rack = dict(node.labels).get(key, "")
    if not rack:
        return Unknown(reason=f"Kubernetes node {pod.node_name} has no label {key}: set it to the name of its rack")
    return Known(value=rack)


def _address(desired: PoolDesired, observed: Observed, listener: BrokerListener, pod: Pod) -> Knowable[str]:
    """Host and port at which clients reach this listener of a broker."""
    node_id = pod.node_id
    if listener.external is External.NONE:
        return Known(value=f"{names.host_name(desired.namespace, desired.name, node_id)}:{listener.port}")
    name = names.external_name(desired.name, listener.name, node_id)
    reached = next((one for one in observed.support if (one.kind, one.name) == ("Service", name)), None)
    if reached is None:
        return Unknown(reason=f"service {name} does not exist yet")
    host = listener.host.replace("{id}", str(node_id)) if listener.host else ""
    if listener.external is External.NODE_PORT:
        return _node_port(reached.node_ports, host or pod.host_ip, name)
    if not (host or reached.ingress):
        return Unknown(reason=f"service {name} has no address from a load balancer yet")
    return Known(value=f"{_bracketed(host or reached.ingress)}:{listener.port}")


def _node_port(ports: tuple[tuple[str, int], ...], host: str, name: str) -> Knowable[str]:
    port = ports[0][1] if ports else 0
    if not port:
        return Unknown(reason=f"service {name} has no node port yet")
    if not host:
        return Unknown(reason="the address of its Kubernetes node is not known yet")
    return Known(value=f"{_bracketed(host)}:{port}")


def _bracketed(host: str) -> str:
    """A host as it stands in a URL: an IPv6 address is in brackets."""
    return f"[{host}]" if ":" in host else host


def moved(situation: Situation, node_id: NodeID) -> str:
    """Why a running broker advertises what is not true any more, as a clause; empty if it does not."""
    pod = situation.observed.broker_pod(node_id)
    if pod is None or not pod.needs_late or pod.late is None:
        return ""
    wanted = late_properties(situation, pod)
    if isinstance(wanted, Unknown) or wanted.value == pod.late:
        return ""
    return "its rack or its addresses outside the Kubernetes cluster have changed"
