"""How a test reaches the controllers of a quorum: with the operator's certificate, if their listener has TLS."""

import base64
import time
from dataclasses import dataclass, field
from typing import Final

from harness.shell import Json, get
from kafka_quorum.model.ids import Member, NodeID
from kafka_quorum.model.names import authority_name, host_name, operator_tls_name
from kafka_quorum.model.quorum import Endpoint
from kafka_quorum.model.security import PLAINTEXT, Secured, Security, Tls

_FRESH_S: Final = 10.0


@dataclass(slots=True)
class ControllerAccess:
    """Of one quorum. Its Secrets are read again after some seconds: certificates are renewed."""

    namespace: str
    quorum: str
    _security: Security = PLAINTEXT
    _read_s: float = field(default=-_FRESH_S)

    def endpoint(self, pod: Json) -> Endpoint | None:
        """Where the controller in this pod answers; None without an address."""
        status, metadata = pod.get("status", {}), pod["metadata"]
        if not (address := status.get("podIP")):
            return None
        node_id = NodeID(int(metadata["labels"]["kafkaquorum.io/node-id"]))
        return self.at(node_id, address, port_of(pod), encrypted=is_encrypted(pod))

    def at(self, node_id: NodeID, address: str, port: int, *, encrypted: bool) -> Endpoint:
        """The controller at this address."""
        if not encrypted:
            return Endpoint(node_id=node_id, host=address, port=port)
        name = host_name(self.namespace, Member(self.quorum, node_id))
        return Endpoint(node_id=node_id, host=address, port=port, security=self.security(), name=name)

    def security(self) -> Security:
        """The operator's certificate, and what it trusts."""
        if time.monotonic() - self._read_s > _FRESH_S:
            own = _texts(self.namespace, operator_tls_name(self.quorum))
            trust = _texts(self.namespace, authority_name(self.quorum)) or self._of_another_issuer()
            if own and trust:
                tls = Tls(
                    ca=trust["ca.crt"] + trust.get("next.crt", ""), certificate=own["tls.crt"], key=own["tls.key"]
                )
                self._security = Secured(tls=tls)
            self._read_s = time.monotonic()
        return self._security

    def _of_another_issuer(self) -> dict[str, str]:
        """What the spec says is to be trusted, if the quorum has no authority of its own."""
        security = get(self.namespace, "kq", self.quorum).get("spec", {}).get("security", {})
        name = security.get("controllers", {}).get("issuer", {}).get("trustSecretName")
        return _texts(self.namespace, name) if name else {}


def is_encrypted(pod: Json) -> bool:
    """Whether this controller mounts a certificate."""
    return any(row["name"] == "tls" for row in pod["spec"].get("volumes", ()))


def port_of(pod: Json) -> int:
    """The port of the controllers' main listener."""
    ports = pod["spec"]["containers"][0].get("ports") or [{}]
    return int(ports[0].get("containerPort", 9093))


def _texts(namespace: str, name: str) -> dict[str, str]:
    found = get(namespace, "secret", name)
    return {key: base64.b64decode(value).decode() for key, value in (found.get("data") or {}).items()}
