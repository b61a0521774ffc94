"""Faults of a pool's spec about TLS, and about the operator's rights at brokers that have an authorizer.

The quorum's contract decides whether brokers get certificates; the pool's record decides whether REPLICATION has TLS.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from kafka_brokers.api.rules import REPLICA_LIMIT
from kafka_brokers.api.spec import BrokerListenerSpec, KafkaBrokerPoolSpec
from kafka_brokers.model.contracted import gives_certificates
from kafka_brokers.model.room import Members, why_no_room
from kafka_brokers.model.superusers import NOBODY, SUPER_USERS, has_authorizer, lacks_anonymous, lacks_servers
from kafka_quorum.model.contract import Contract
from kafka_quorum.model.desired import FieldFault
from kafka_quorum.model.pools import ENCRYPTED, RENAMING, reader, why_no_name

_SECRET: Final = "spec.certificateSecretName"  # noqa: S105 - a field


def faults(
    metadata: Mapping[str, Any],
    spec: KafkaBrokerPoolSpec,
    contract: Contract,
    *,
    replication_tls: bool | None,
    members: Members,
) -> Iterator[FieldFault]:
    """Every fault of this kind."""
    encrypted = [(index, each) for index, each in enumerate(spec.listeners) if each.protocol in ENCRYPTED]
    gives = gives_certificates(contract, spec.certificate_secret_name)
    if contract.given and not gives and (encrypted or replication_tls):
        said = (
            f"the brokers need a certificate, and those of quorum {spec.quorum} are given in Secrets (issuer.type "
            f"Secret): name the Secret with that of this pool, which lists {reader(str(metadata.get('name', '')))} in "
            "its annotation kafkaquorum.io/used-by"
        )
        yield FieldFault(field=_SECRET, message=said)
    elif encrypted and not gives:
        for index, listener in encrypted:
            said = (
                f"{listener.protocol} needs certificates, and the controllers of quorum {spec.quorum} have no listener "
                "with TLS, so there are none: move them to one with SSL or SASL_SSL (spec.controllers.listeners of the "
                "KafkaQuorum), or use PLAINTEXT"
            )
            yield FieldFault(field=f"spec.listeners[{index}].protocol", message=said)
    elif replication_tls and not gives:
        said = (
            f"the brokers replicate with TLS, and the controllers of quorum {spec.quorum} have no listener with TLS "
            "any more, so there are no certificates: move the controllers back to one with SSL or SASL_SSL"
        )
        yield FieldFault(field="spec.quorum", message=said)
    elif spec.certificate_secret_name and gives and not contract.given:
        said = f"quorum {spec.quorum} has an issuer that makes the certificates of pools: leave this empty"
        yield FieldFault(field=_SECRET, message=said)
    for index, listener in encrypted:
        yield from _host_faults(f"spec.listeners[{index}].host", listener)
    yield from _count_faults(metadata, spec, [each.host for _, each in encrypted if each.host], members)
    yield from _authorizer_faults(str(metadata.get("namespace", "")), spec, contract, replication_tls=replication_tls)


def _host_faults(place: str, listener: BrokerListenerSpec) -> Iterator[FieldFault]:
    """Clients compare the host with the certificate, which is made before Kubernetes gives an address."""
    if listener.external == "None":
        return
    if not listener.host:
        said = (
            f"an external listener with {listener.protocol} needs a host: clients compare it with the certificate. Set "
            "one that leads to the brokers, such as broker-{id}.example.org"
        )
        yield FieldFault(field=place, message=said)
    elif why := why_no_name(listener.host):
        said = f"{listener.host} cannot be in a certificate: {why}. Choose another one"
        yield FieldFault(field=place, message=said)


def _count_faults(
    metadata: Mapping[str, Any], spec: KafkaBrokerPoolSpec, hosts: list[str], members: Members
) -> Iterator[FieldFault]:
    """One certificate has the hosts of every broker."""
    namespace, name = str(metadata.get("namespace", "")), str(metadata.get("name", ""))
    ids = members.certified(spec.node_ids, spec.first_node_id, min(spec.replicas, REPLICA_LIMIT), hosts)
    if said := why_no_room(namespace, name, hosts, ids):
        yield FieldFault(field="spec.listeners", message=said)


def _authorizer_faults(
    namespace: str, spec: KafkaBrokerPoolSpec, contract: Contract, *, replication_tls: bool | None
) -> Iterator[FieldFault]:
    """Kafka leaves topics that a client must not describe out of its answers, without an error (measured on 3.9.2).

    To the guards they would not exist: their only broker would be stopped, and their only replica formatted.
    """
    if not has_authorizer(spec.config, contract):
        return
    text = spec.config.get(SUPER_USERS, "")
    gives = gives_certificates(contract, spec.certificate_secret_name)
    tls = gives if replication_tls is None else replication_tls
    lacking = lacks_servers(text, namespace, spec.quorum, contract)
    if replication_tls is None and not (lacks_anonymous(text) and lacking):
        return  # the record, which decides, is made only if these are the right ones
    if not tls:
        if lacks_anonymous(text):
            said = (
                f"must have {NOBODY}, because the brokers have an authorizer. The operator asks them at the listener "
                "REPLICATION, without authentication: a topic that it must not see would count as none"
            )
            yield FieldFault(field=f"spec.config.{SUPER_USERS}", message=said)
        return
    for key in sorted(RENAMING & spec.config.keys()):
        said = (
            "with it, the operator and the brokers would have other names than their entries in super.users, and a "
            "topic that the operator must not see would count as none: remove it"
        )
        yield FieldFault(field=f"spec.config.{key}", message=said)
    if lacking:
        said = (
            f"must have {' and '.join(lacking)}, because the brokers have an authorizer. The operator and the brokers "
            "use the listener REPLICATION with these certificates: a topic that the operator must not see would count "
            "as none. Entries are separated by semicolons"
        )
        yield FieldFault(field=f"spec.config.{SUPER_USERS}", message=said)
