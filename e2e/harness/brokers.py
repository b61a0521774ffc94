"""Brokers of a quorum's cluster, from plain manifests: each with its own claim and a stable address.

They are upgraded like by a person, one by one: the pod is shut down and created again from the other image, on the same
disk. The next one follows when the last is a member of the cluster again. The operator does not manage them.
"""

import json
from collections.abc import Iterable
from dataclasses import replace

from confluent_kafka.admin import AdminClient

from harness.broker import LABEL, NEWEST, PORT, Broker
from harness.quorum import Quorum
from harness.shell import Json, get, kubectl

NODE_IDS = (1, 2, 3)
_NEWCOMER_ID = 9


class Brokers:
    """The brokers, by node id. `ways_in` are all controllers that will ever exist."""

    def __init__(
        self, quorum: Quorum, ways_in: Iterable[int], version: str = NEWEST, node_ids: Iterable[int] = NODE_IDS
    ) -> None:
        """No broker runs yet. `version` is Kafka's release."""
        self._quorum, self._ways_in = quorum, tuple(ways_in)
        self._brokers = {
            number: Broker(
                quorum=quorum,
                node_id=number,
                controllers=self._ways_in,
                version=version,
                claim=f"data-broker-{number}",
                fresh_names=True,  # controllers change their addresses at each step of a roll
            )
            for number in node_ids
        }

    def start(self, *, static_voters: Iterable[int] = ()) -> None:
        """Start all of them; with `static_voters` they get these as their only way into the quorum."""
        voters = tuple(static_voters)
        for number, broker in self._brokers.items():
            address = self._make_service(number)
            self._make_claim(broker.claim)
            ways = voters or self._ways_in
            self._brokers[number] = replace(broker, address=address, controllers=ways, static=bool(voters))
            self._brokers[number].start(wait=False)
        for broker in self._brokers.values():
            broker.wait_answers()

    def remake(self, node_id: int, *, version: str | None = None, dynamic: bool = False) -> None:
        """Shut one down, and create its pod again: of another release, or without the voters in its properties."""
        broker = self._brokers[node_id]
        if version is not None:
            broker = replace(broker, version=version)
        if dynamic:
            broker = replace(broker, static=False, controllers=self._ways_in)
        self._brokers[node_id].shut_down()
        self._brokers[node_id] = broker
        broker.start()

    def shut_down(self, node_id: int) -> None:
        """Shut one down; its claim stays."""
        self._brokers[node_id].shut_down()

    def start_again(self, node_id: int) -> None:
        """Create the pod of one that was shut down, on its own disk."""
        self._brokers[node_id].start()

    def roll(self, *, version: str | None = None, dynamic: bool = False) -> None:
        """Do the same with one after the other."""
        for node_id in self._brokers:
            self.remake(node_id, version=version, dynamic=dynamic)

    def follow(self, contract: str) -> None:
        """Give each of them the lines of a broker contract: it is started with them, or restarted, one by one."""
        for node_id, broker in self._brokers.items():
            if broker.address:
                broker.shut_down()
            else:
                self._make_claim(broker.claim)
            address = broker.address or self._make_service(node_id)
            self._brokers[node_id] = replace(broker, contract=contract, address=address)
            self._brokers[node_id].start()

    @property
    def bootstrap(self) -> list[str]:
        """Where clients begin."""
        return [f"{broker.address}:{PORT}" for broker in self._brokers.values()]

    def stop(self) -> None:
        """Stop all of them at once."""
        for broker in self._brokers.values():
            broker.stop()

    def client(self) -> AdminClient:
        """A client that may ask any of them, and soon notices one that is away."""
        settings: dict[str, str | int | float | bool] = {
            "bootstrap.servers": ",".join(self.bootstrap),
            "topic.metadata.refresh.interval.ms": 1000,
            "socket.connection.setup.timeout.ms": 2000,
            "reconnect.backoff.max.ms": 500,
            "log_level": 0,
        }
        return AdminClient(settings)

    def newcomer(self) -> Broker:
        """Another broker, of the first one's release, with an empty disk: it has only what the quorum has."""
        first = next(iter(self._brokers.values()))
        return replace(first, node_id=_NEWCOMER_ID, address="", claim="")

    def _make_service(self, node_id: int) -> str:
        """A stable address while pods come and go."""
        spec = {
            "selector": {LABEL: str(node_id)},
            "ports": [{"name": "kafka", "port": PORT}],
            "publishNotReadyAddresses": True,
        }
        name = f"broker-{node_id}"
        self._create({"apiVersion": "v1", "kind": "Service", "metadata": {"name": name}, "spec": spec})
        return str(get(self._quorum.namespace, "service", name)["spec"]["clusterIP"])

    def _make_claim(self, name: str) -> None:
        spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
        self._create({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": name}, "spec": spec})

    def _create(self, body: Json) -> None:
        kubectl("-n", self._quorum.namespace, "create", "-f", "-", stdin=json.dumps(body))
