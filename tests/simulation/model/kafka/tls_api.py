"""What a modelled listener shows in a handshake, and the setting by which it loads its certificate again."""

from kio.schema.errors import ErrorCode
from tests.simulation.model.kafka.kraft_api import process_at, why_unsecured
from tests.simulation.model.kafka.kraft_model import KraftModel
from tests.simulation.model.kafka.releases import sets_controllers
from tests.simulation.model.kafka.tls import ENDED, NO_TLS, NOT_TRUSTED, OTHER_NAME, trust_in, why_refused

from kafka_quorum.model.handshakes import Failure, Handshake, NotServed, Served
from kafka_quorum.model.ids import NodeID
from kafka_quorum.model.quorum import Endpoint
from kafka_quorum.model.security import Secured
from kafka_quorum.resources.secrets import certificate_seen
from kafka_quorum.wire.refusals import refused
from kafka_quorum.wire.requests import alter_configs

_FAILURES = {
    ENDED: Failure.EXPIRED,
    NOT_TRUSTED: Failure.NOT_TRUSTED,
    OTHER_NAME: Failure.OTHER_NAME,
    NO_TLS: Failure.NO_TLS,
}


def shaken(kraft: KraftModel, endpoint: Endpoint) -> Handshake:
    """The result of a handshake at this endpoint."""
    process = kraft.at(endpoint.host, endpoint.port)
    if process is None or kraft.now_s < process.up_s or process.frozen or process.node in kraft.unseen:
        return NotServed(failure=Failure.UNREACHABLE, why="no connection")
    tls = endpoint.security.tls if isinstance(endpoint.security, Secured) else None
    plain = any(process.is_plain(name) for name, port in process.listens if port == endpoint.port)
    if process.tls is None or tls is None or plain:
        return NotServed(failure=Failure.NO_TLS, why=NO_TLS)
    served = process.tls.served
    if why := why_refused(served, trust_in(tls.ca), kraft.true_now, endpoint.certified_name):
        return NotServed(failure=_FAILURES[why], why=why)
    why = why_unsecured(kraft, process, endpoint)
    return Served(chain=(certificate_seen(served),), accepted=not why, refused=bool(why), why=why)


def set_keystore(kraft: KraftModel, endpoint: Endpoint, node_id: NodeID, listener: str, path: str) -> None:
    """IncrementalAlterConfigs of one controller: it loads the file if the path is another text than before.

    Leaders before 4.3 know brokers, and the controllers that their own configuration names.
    """
    leader = process_at(kraft, endpoint, alter_configs.API)
    if not leader.leads:
        raise refused(endpoint, alter_configs.API, ErrorCode.not_controller, "")
    named = node_id in {each.node_id for each in leader.static}
    if not named and not sets_controllers(leader.release):
        kraft.refused_settings += 1
        words = f"No node with id {node_id} found."
        raise refused(endpoint, alter_configs.API, ErrorCode.broker_id_not_registered, words)
    for process in kraft.processes:
        same = process.cluster_id == leader.cluster_id and process.meta.node_id == node_id and not process.broker
        follows = process is leader or process.leader is leader
        if same and follows and process.tls is not None and not process.is_plain(listener):
            if process.tls.path != path or process is leader:
                process.tls.reload()
            process.tls.path = path
