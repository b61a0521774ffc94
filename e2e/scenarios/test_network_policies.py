"""The chart's network policies on a network that enforces them: what must talk talks, and a stranger gets nowhere.

Connections are judged after the enforcer has put the policies of that moment on every node. Each policy is taken away
once, to see that the stranger gets in without it: so no refusal here has another cause.
"""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import pytest

from demo import NAMESPACE, RELEASE, helm_upgrade
from harness import operator
from harness.clients import Clients
from harness.pool import CLIENT_PORT, REPLICATION_PORT, Pool
from harness.quorum import GROUP, PORT, Quorum
from harness.shell import Json, get, kubectl, succeed
from harness.strangers import Address, Outcome, Stranger, enforcing, tried_in, tried_with_bash
from kafka_brokers.model.names import FORMATTER_ROLE
from kafka_quorum.model.names import KAFKA_CONTAINER
from kafka_quorum.model.pods import PodRole
from kafka_quorum.resources import agent
from testbed.policies.enforcer import Enforcer

pytestmark = [pytest.mark.e2e, pytest.mark.full, pytest.mark.timeout(580)]

HEALTH, METRICS, LISTENING = 8080, 8081, 8080
CONTROLLERS, DISKS = f"{RELEASE}-controllers", f"{RELEASE}-controller-disks"
BROKERS, BROKERS_DISKS = f"{RELEASE}-brokers", f"{RELEASE}-broker-disks"
_READY_TIMEOUT_S = 240.0
COLLECTOR = {"app": "collector"}


@contextmanager
def policies(image: str, quorums: str, monitoring: str) -> Iterator[None]:
    """While this lasts, the chart has every policy for the namespace `quorums`; a collector is in `monitoring`."""
    collector = {
        "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": monitoring}},
        "podSelector": {"matchLabels": COLLECTOR},
    }
    clients = {"podSelector": {"matchLabels": {"app": "clients"}}}
    values: Json = {
        "networkPolicy": {"enabled": True, "metricsFrom": [collector], "egress": {"enabled": True}},
        "controllerNetworkPolicy": {
            "enabled": True,
            "namespaces": [quorums],
            "metricsFrom": [collector],
            "egress": {"enabled": True},
        },
        "brokerNetworkPolicy": {"enabled": True, "namespaces": [quorums], "clientsFrom": [clients]},
    }
    try:
        options = [word for name, value in values.items() for word in ("--set-json", f"{name}={json.dumps(value)}")]
        succeed(*helm_upgrade(image), *options, timeout_s=300)
        yield
    finally:
        operator.install(image)


@dataclass(frozen=True)
class Place:
    """A quorum with a pool, a client, and pods of others: two strangers, a collector, two that say they format."""

    quorum: Quorum
    pool: Pool
    enforcer: Enforcer
    near: Stranger
    far: Stranger
    collector: Stranger
    formatters: dict[str, Stranger]
    """By the name of the policy that covers them."""
    addresses: dict[str, str]
    """Of the pods above, by name."""

    def controller(self, port: int = PORT) -> Address:
        """The port of a controller."""
        return min(self.quorum.pods().items())[1]["status"]["podIP"], port

    def broker(self, port: int) -> Address:
        """The port of a broker."""
        return min(self.pool.pods().items())[1]["status"]["podIP"], port

    def operator(self, port: int) -> Address:
        """The port of the operator that acts."""
        return operator.wait_acting()["status"]["podIP"], port

    def formatter(self, policy: str) -> Address:
        """The port of a pod under this policy."""
        return self.addresses[self.formatters[policy].name], LISTENING


def test_what_needs_to_talk_talks_and_a_stranger_gets_nowhere(
    serving: str, quorum: Quorum, pools: Callable[[str], Pool], namespaces: Callable[[], str], client_image: str
) -> None:
    """With all policies quorum and pool become Ready and records flow; whom the tables do not name is refused."""
    elsewhere, pool = namespaces(), pools("brokers")
    with policies(serving, quorum.namespace, elsewhere), enforcing() as enforcer:
        place = _placed(quorum, pool, enforcer, elsewhere, client_image)
        quorum.apply({"bootstrap": {"mode": "Standalone"}})  # so that the operator adds two voters
        pool.apply()
        quorum.wait_ready(_READY_TIMEOUT_S)
        pool.wait_ready(_READY_TIMEOUT_S)
        assert len([reason for reason, _ in quorum.events() if reason == "AddRaftVoter"]) == 2
        with Clients(namespace=quorum.namespace, bootstrap=pool.bootstrap, image=client_image) as clients:
            _assert_everyone_is_where_the_tables_say(place)
            _assert_each_policy_is_needed(place)
            clients.wait_more()
            assert not (verdict := clients.finish()).faults, verdict


def _placed(quorum: Quorum, pool: Pool, enforcer: Enforcer, elsewhere: str, image: str) -> Place:
    """Start the pods of others."""

    def stranger(namespace: str, name: str, **labels: str) -> Stranger:
        made = Stranger(namespace=namespace, name=name, image=image, labels=labels, ports=(LISTENING,))
        made.start()
        return made

    near, far = stranger(quorum.namespace, "near"), stranger(elsewhere, "far")
    collector = stranger(elsewhere, "collector", **COLLECTOR)
    role = f"{GROUP}/role"
    formatters = {
        DISKS: stranger(quorum.namespace, "formats", **{role: PodRole.FORMATTER.value}),
        BROKERS_DISKS: stranger(quorum.namespace, "formats-brokers", **{role: FORMATTER_ROLE}),
    }
    addresses = {each.name: each.wait() for each in (near, far, collector, *formatters.values())}
    return Place(quorum, pool, enforcer, near, far, collector, formatters, addresses)


def _assert_everyone_is_where_the_tables_say(place: Place) -> None:
    """Each pod that others ask is reached by whom docs/security.md says, and by nobody else."""
    world = place.enforcer.enforce()
    enforced = {(policy.namespace, policy.name) for policy in world.policies}
    namespace = place.quorum.namespace
    assert {(namespace, name) for name in (CONTROLLERS, DISKS, BROKERS, BROKERS_DISKS)} <= enforced
    assert (NAMESPACE, RELEASE) in enforced
    assert set(place.addresses.values()) <= {str(pod.address) for pod in world.pods}
    listener, metrics = place.controller(), place.controller(agent.PORT)
    between, clients = place.broker(REPLICATION_PORT), place.broker(CLIENT_PORT)
    health, operators_metrics = place.operator(HEALTH), place.operator(METRICS)
    stranger = (place.addresses["near"], LISTENING)
    formatters = [place.formatter(name) for name in place.formatters]
    everything = (listener, metrics, between, clients, health, operators_metrics, stranger, *formatters)

    def admitted(tried: dict[Address, Outcome]) -> set[Address]:
        assert Outcome.SILENT not in tried.values(), tried
        return {address for address, outcome in tried.items() if outcome is not Outcome.REFUSED}

    for pod, who in ((place.near, {health, stranger}), (place.far, {health, stranger})):
        assert admitted(pod.tries(everything)) == who, pod.name
    collected = {metrics, *([operators_metrics] if _shows_metrics() else [])}
    assert admitted(place.collector.tries(everything)) == {health, stranger, *collected}
    assert admitted(tried_in(namespace, "clients", "client", everything)) == {health, stranger, clients}
    acting = operator.wait_acting()["metadata"]["name"]
    own = admitted(tried_in(NAMESPACE, acting, "operator", everything))
    assert own - {health, operators_metrics} == {listener, metrics, between, clients}
    for name, pod in place.formatters.items():
        others = [address for address in everything if address != place.formatter(name)]
        assert admitted(pod.tries(others)) == set()
    assert _from_controller(place, stranger) is Outcome.REFUSED
    assert _from_controller(place, between) is Outcome.OPEN


def _assert_each_policy_is_needed(place: Place) -> None:
    """Without a policy the stranger gets in, and with it again no longer."""
    namespace = place.quorum.namespace
    for where, name, source, target in (
        (namespace, CONTROLLERS, place.near, place.controller()),
        (namespace, CONTROLLERS, place.far, place.controller(agent.PORT)),
        (namespace, BROKERS, place.far, place.broker(REPLICATION_PORT)),
        (namespace, DISKS, place.near, place.formatter(DISKS)),
        (namespace, BROKERS_DISKS, place.near, place.formatter(BROKERS_DISKS)),
        (NAMESPACE, RELEASE, place.far, place.operator(METRICS)),
    ):
        with _away(place.enforcer, where, name):
            assert source.tries([target])[target] in (Outcome.OPEN, Outcome.CLOSED), (name, target)
        assert source.tries([target])[target] is Outcome.REFUSED, (name, target)


@contextmanager
def _away(enforcer: Enforcer, namespace: str, name: str) -> Iterator[None]:
    """While this lasts, a policy does not exist, and nothing enforces it."""
    body = get(namespace, "networkpolicy", name)
    kubectl("-n", namespace, "delete", "networkpolicy", name)
    assert (namespace, name) not in {(policy.namespace, policy.name) for policy in enforcer.enforce().policies}
    yield
    metadata = {key: body["metadata"][key] for key in ("name", "namespace", "labels", "annotations")}
    kubectl("create", "-f", "-", stdin=json.dumps(body | {"metadata": metadata}))
    assert (namespace, name) in {(policy.namespace, policy.name) for policy in enforcer.enforce().policies}


def _shows_metrics() -> bool:
    """Whether the operator's pods have a port for metrics; without one, the policy has nothing to admit to."""
    (container,) = get(NAMESPACE, operator.DEPLOYMENT)["spec"]["template"]["spec"]["containers"]
    return "metrics" in {port["name"] for port in container["ports"]}


def _from_controller(place: Place, address: Address) -> Outcome:
    """What becomes of a connection of a controller."""
    name = min(place.quorum.pods().items())[1]["metadata"]["name"]
    return tried_with_bash(place.quorum.namespace, name, KAFKA_CONTAINER, address)
