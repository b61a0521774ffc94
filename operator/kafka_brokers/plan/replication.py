"""Whether the listener REPLICATION of a new pool has TLS. That is decided when it is created, and stays. Pure.

Each broker connects to the others at the listener that it has for replication itself. So all brokers of a cluster must
have the same kind: a new pool takes TLS only if it is known that no broker replicates without it.
"""

from typing import Final

from kafka_brokers.model.contracted import gives_certificates
from kafka_brokers.model.observed import Observed
from kafka_brokers.model.pool import PoolDesired
from kafka_brokers.model.superusers import NOBODY, SUPER_USERS, has_authorizer, lacks_anonymous, lacks_servers
from kafka_quorum.model.contract import Contract
from kafka_quorum.model.known import Knowable, Known, Unknown

_NOT_YET: Final = Unknown(reason="the quorum has not published yet who gives the certificates of pools")


def replication_tls(desired: PoolDesired, observed: Observed, contract: Contract, *, rebuilt: bool) -> Knowable[bool]:
    """The choice; Unknown, with the reason, while it cannot be made. `rebuilt`: the pool had a record that is lost.

    A pool that had one keeps what its brokers were made with.
    """
    if rebuilt and any(claim.directory_id for claim in observed.claims):
        return _made_with(desired, observed, contract)
    if contract.given and not contract.principals:
        return _NOT_YET
    possible = contract.zookeeper is None and gives_certificates(contract, desired.certificate_secret)
    match observed.others_tls:
        case Unknown() as unknown:
            return unknown if possible else Known(value=False)
        case Known(value=others) if True in others and not possible:
            return Unknown(reason=f"other pools do, and {_why_not(contract)}")
        case Known(value=others) if others or not possible or desired.adopt:
            # Brokers that are adopted exist, and replicate without TLS.
            return Known(value=True in others and False not in others)
        case Known():
            return _without_pools(observed, contract)


def _why_not(contract: Contract) -> str:
    if contract.given:
        return "this one has no certificate: name its Secret in spec.certificateSecretName"
    return "the controllers have no listener with TLS: give them one again"


def _made_with(desired: PoolDesired, observed: Observed, contract: Contract) -> Knowable[bool]:
    """What brokers with data were made with: their revisions and pods have it.

    Without these nothing of the pool runs. It must then have what the others have, and TLS must not be lost silently.
    """
    pods = [pod.replication_tls for pod in observed.pods if not pod.formats]
    if made := [*pods, *(each.runtime.replication_tls for each in observed.revisions)]:
        return Known(value=any(made))
    if contract.given and not contract.principals:
        return _NOT_YET
    others, possible = observed.others_tls, gives_certificates(contract, desired.certificate_secret)
    if isinstance(others, Known) and len(others.value) == 1 and (possible or True not in others.value):
        return Known(value=True in others.value)
    if isinstance(others, Known) and not others.value and not possible and not contract.given:
        return Known(value=False)  # where certificates are given, the spec may have lost the name of its Secret since
    text = "the record of this pool is lost, and it has neither revisions nor pods that have it"
    return Unknown(reason=f"{text}. Restore its ConfigMap or its ControllerRevisions from a backup")


def lacking_users(desired: PoolDesired, contract: Contract, *, replication_tls: bool) -> str:
    """Which super users an authorizer of the brokers lacks with this choice, as a clause; empty if none."""
    config = dict(desired.runtime.config)
    if not has_authorizer(config, contract):
        return ""
    users, where = config.get(SUPER_USERS, ""), f"spec.config.{SUPER_USERS}"
    if replication_tls:
        missing = " and ".join(lacks_servers(users, desired.namespace, desired.quorum, contract))
        return f"{where} needs {missing}, because the brokers replicate with mutual TLS" if missing else ""
    return f"{where} needs {NOBODY}, because the brokers replicate without TLS" if lacks_anonymous(users) else ""


def _without_pools(observed: Observed, contract: Contract) -> Knowable[bool]:
    """Of the first pool: brokers of others have no TLS at a listener of this name, as far as the operator can see."""
    if isinstance(observed.leader, Unknown):
        if contract.young:
            return Known(value=True)
        return Unknown(reason=f"whether other brokers run is not known: {observed.leader.reason}")
    return Known(value=not observed.leader.value.observers - {*contract.controller_ids, *dict(observed.taken_ids)})
