"""How the operator reaches the controllers of one quorum: the protocol of their listener, trust, and its own leaf."""

from dataclasses import dataclass, field
from typing import Final

from kafka_quorum.errors import KafkaUnsecured
from kafka_quorum.model import names
from kafka_quorum.model.desired import ControllerListener, Protocol
from kafka_quorum.model.ids import Member, NodeID
from kafka_quorum.model.known import Knowable, Known, Unknown
from kafka_quorum.model.observed import Revision
from kafka_quorum.model.pods import Pod
from kafka_quorum.model.quorum import Endpoint
from kafka_quorum.model.security import PLAINTEXT, Mechanism, Sasl, Secured, Security, Tls
from kafka_quorum.resources.users import OPERATOR as OPERATOR_USER
from kit.errors import Fault
from kit.pki.leaf import Leaf

NO_USERS: Final = "the users of the controllers' listener are not made yet"
NO_LEAF: Final = "the operator's own certificate is not made yet"


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """How the operator reaches the controllers of one quorum. Nothing shows its key.

    `listener` is that of a controller whose revision is not known. `trust` has every authority that may have signed:
    those of so many `bundles`, which the operator has read one by one.
    """

    namespace: str
    quorum: str
    listener: ControllerListener
    trust: str = ""
    bundles: int = 0
    leaf: Leaf | None = field(default=None, repr=False)
    password: str = field(default="", repr=False)
    why: str = NO_LEAF

    def endpoint(self, pod: Pod, listener: ControllerListener) -> Knowable[Endpoint]:
        """Where this listener of a running controller answers, and how; Unknown without what it needs."""
        security = self.security(listener.protocol)
        if isinstance(security, Unknown):
            return security
        name = "" if security.value == PLAINTEXT else self._name(pod.node_id)
        at = Endpoint(node_id=pod.node_id, host=pod.ip, port=listener.port, security=security.value, name=name)
        return Known(value=at)

    def security(self, protocol: Protocol) -> Knowable[Security]:
        """How a connection with this protocol is secured."""
        if protocol is Protocol.PLAINTEXT:
            return Known(value=PLAINTEXT)
        if self.leaf is None or not self.trust:
            return Unknown(reason=self.why)
        if protocol is Protocol.SASL_SSL:
            return self._logged_in()
        tls = Tls(ca=self.trust, certificate=self.leaf.chain_pem, key=self.leaf.key.pem, bundles=self.bundles)
        return Known(value=Secured(tls=tls))

    def _logged_in(self) -> Knowable[Security]:
        if not self.password:
            return Unknown(reason=NO_USERS)
        user = Sasl(mechanism=Mechanism.PLAIN, username=OPERATOR_USER, password=self.password)
        return Known(value=Secured(tls=Tls(ca=self.trust, bundles=self.bundles), sasl=user))

    def _name(self, node_id: NodeID) -> str:
        return names.host_name(self.namespace, Member(self.quorum, node_id))

    def of(self, at: Endpoint, pods: tuple[Pod, ...], revisions: tuple[Revision, ...]) -> Endpoint:
        """The same endpoint of a plan, which has no keys, as it is reached: by the pod that has this address.

        It is reached as the look reached it, and never in plain text because something is missing (`KafkaUnsecured`).
        """
        pod = next((each for each in pods if (each.node_id, each.ip) == (at.node_id, at.host)), None)
        if pod is None:
            if self.listener.protocol.encrypted:
                raise _unsecured(at, "the look has no pod with this address")
            return at
        made = next((each.runtime for each in revisions if each.name == pod.revision), None)
        if made is None:
            listener = self.listener
        else:
            listener = next((each for each in made.listeners if each.port == at.port), made.listener)
        found = self.endpoint(pod, listener)
        if isinstance(found, Unknown):
            raise _unsecured(at, found.reason)
        return found.value


def _unsecured(at: Endpoint, why: str) -> KafkaUnsecured:
    text = f"not sent to controller {at}: {why}. Looking again"
    return KafkaUnsecured(text, fault=Fault.OURS, retry_safe=True, outcome_unknown=False)
