"""Rule 13 of brokers, on ground truth: a broker that has reached a server goes on to find it and to be accepted by it.

What a broker has loaded, and by which listener it reaches controllers, is in its process. A broker that restarts is the
same broker: with what the contract requires it must reach the same servers again.
"""

import base64
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from tests.simulation.model.happened import Fail
from tests.simulation.model.kafka.broker import Broker
from tests.simulation.model.kafka.broker_model import Cluster
from tests.simulation.model.kafka.process import Process
from tests.simulation.model.kafka.tls import (
    ENDED,
    NOT_TRUSTED,
    OTHER_NAME,
    Secured,
    leaf_in,
    trust_in,
    why_not_connected,
    why_refused,
)
from tests.simulation.model.kubernetes.kube_model import Written, seen
from tests.simulation.model.world import World
from tests.simulation.rules.glances import RECENT_S

from kafka_quorum.model.contract import Match
from kafka_quorum.model.ids import ClusterID, NodeID
from kit.kube.protocol import CONFIG_MAPS, Json
from kit.kube.secrets import SECRETS

CUT: Final = "13, brokers"
FILES: Final = "13, files"
_CONTRACT: Final = "-brokers"
_SECRET: Final = "-brokers-tls"  # noqa: S105 - the end of a name
_LOOK_S: Final = 10.0
"""For so long after a person took a file away, a look may not have shown it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Required:
    """What a contract requires of brokers: the controllers' listener, and files, by `keystore` and `truststore`."""

    cluster_id: ClusterID
    listener: str
    files: Mapping[str, str]


class BrokerTrustRules:
    """What every step and every contract must keep."""

    def __init__(self, world: World, fail: Fail, ends_in_time: Callable[[Secured, float], None]) -> None:
        """Listen to each write. `ends_in_time` judges the end of a certificate, by since when it could be renewed."""
        self._world, self._fail, self._ends_in_time = world, fail, ends_in_time
        self._reached: set[tuple[ClusterID, NodeID, NodeID]] = set()
        """Which broker has reached which controller or broker."""
        self._whole_s: dict[ClusterID, float] = {}
        self._taken_s: dict[str, float] = {}
        """When a file was last taken from a Secret by another writer, by the Secret's name."""
        world.kube.watchers.append(self._written)

    def look(self, quorum_whole_s: Callable[[ClusterID], float]) -> None:
        """Judge the brokers that run. `quorum_whole_s`: since when nothing keeps controllers from a restart."""
        for cluster_id, cluster in self._world.pools.clusters.items():
            brokers = [one for one in cluster.brokers if self._world.kraft.is_up(one.process)]
            for one in brokers:
                for server in self._servers(cluster_id, brokers, one):
                    self._pair(cluster_id, one, server)
            whole_s = max(quorum_whole_s(cluster_id), self._since_whole(cluster_id, cluster))
            if not self._world.certificates_may_end:
                for one in brokers:
                    self._ends_in_time(one.process, whole_s)

    def _servers(self, cluster_id: ClusterID, brokers: list[Broker], one: Broker) -> Iterator[Process]:
        """The controllers, and the brokers from which it fetches with TLS."""
        for each in self._world.kraft.processes:
            if each.cluster_id == cluster_id and not each.broker:
                yield each
        for other in brokers:
            if other is not one and other.replicates_by_tls:
                yield other.process

    def _pair(self, cluster_id: ClusterID, one: Broker, server: Process) -> None:
        why = _why_cut(one.process, server, self._world)
        pair = (cluster_id, one.node_id, server.meta.node_id)
        if not why and one.serves:
            self._reached.add(pair)
        elif why and pair in self._reached:
            kind = "broker" if server.broker else "controller"
            self._fail(CUT, f"broker {one.node_id} reached {kind} {server.meta.node_id}, and cannot any more: {why}")

    def _since_whole(self, cluster_id: ClusterID, cluster: Cluster) -> float:
        """Since when any broker may restart: all run, and every replica is in sync."""
        now_s, image = self._world.clock.elapsed_s, cluster.controller.image
        serving = {one.node_id for one in cluster.brokers if one.serves}
        whole = set(image.brokers) <= serving and all(
            set(row.isr) == set(row.replicas) for row in image.partitions.values()
        )
        self._whole_s[cluster_id] = self._whole_s.get(cluster_id, now_s) if whole else now_s
        return self._whole_s[cluster_id]

    # What the contract requires

    def _written(self, written: Written) -> None:
        plural, namespace, name = written.key
        if plural == SECRETS.plural and name.endswith(_SECRET):
            self._taken(written)
        if plural != CONFIG_MAPS.plural or not name.endswith(_CONTRACT) or not written.by_operator:
            return
        required, before = _required(seen(written.after)), _required(seen(written.before))
        if required == before:
            return
        secret = f"{name.removesuffix(_CONTRACT)}{_SECRET}"
        files = _texts(self._world.kube.view(SECRETS, namespace, secret))
        lacks = set(required.files.values()) - set(before.files.values()) - files.keys()
        if not lacks:
            self._reaches(required, files)
        elif self._world.clock.elapsed_s - self._taken_s.get(secret, -_LOOK_S) >= _LOOK_S:
            self._fail(FILES, f"the contract requires {', '.join(sorted(lacks))}, which Secret {secret} lacks")

    def _reaches(self, required: Required, files: Mapping[str, str]) -> None:
        """Whether a broker with all of this is accepted by every controller that a look can have shown."""
        if all(one.process.cluster_id != required.cluster_id for one in self._world.pools.every()):
            return
        leaf = leaf_in(files.get(required.files.get("keystore", ""), ""))
        trust = trust_in(files.get(required.files.get("truststore", ""), ""))
        for one in self._world.kraft.processes:
            recent = self._world.clock.elapsed_s - one.started_s <= RECENT_S
            if one.broker or recent or one.cluster_id != required.cluster_id or not required.listener:
                continue
            why = "" if any(name == required.listener for name, _ in one.listens) else "it does not have it"
            if not why and leaf is not None and one.tls is not None:
                at = max(leaf.not_before, one.tls.served.not_before)
                why = why_refused(one.tls.served, trust, at) or why_refused(leaf, one.tls.trust, at)
            if why and why != ENDED:
                server = f"controller {one.meta.node_id}"
                self._fail(CUT, f"the contract requires {required.listener}, and {server} does not serve it: {why}")

    def _taken(self, written: Written) -> None:
        """Note when another writer takes files away."""
        if not written.by_operator and _keys(seen(written.before)) - _keys(seen(written.after)):
            self._taken_s[written.key[2]] = self._world.clock.elapsed_s


def _why_cut(client: Process, server: Process, world: World) -> str:
    """Why a broker and a server do not find or accept each other, whatever the time is; empty if they do.

    What a certificate's end has cut already, no other trust can cut.
    """
    if not server.broker and client.listener and all(name != client.listener for name, _ in server.listens):
        return f"it has no listener {client.listener}"
    if not server.broker and (client.is_plain(client.listener) or server.is_plain(client.listener)):
        return "" if client.is_plain(client.listener) and server.is_plain(client.listener) else "only one side has TLS"
    if client.tls is None or server.tls is None:
        return "only one side has TLS"
    shown, now = (client.tls.shown, server.tls.served), world.clock.now()
    if any(each.not_after <= now for each in shown):
        return ""
    at = max(each.not_before for each in shown)
    why = why_not_connected(client, server, at, at)
    return why if why in {NOT_TRUSTED, OTHER_NAME} else ""


def _required(contract: Json | None) -> Required:
    """What this contract requires."""
    text = ((contract or {}).get("data") or {}).get("contract.json")
    found = json.loads(text) if text else {}
    rows = found.get("settings", ())
    files = {str(each["key"]).split(".")[-2]: str(each["value"]) for each in rows if each["match"] == Match.FILE.value}
    listener = next((str(each["value"]) for each in rows if each["key"] == "controller.listener.names"), "")
    return Required(cluster_id=ClusterID(found.get("cluster_id", "")), listener=listener, files=files)


def _texts(secret: Json | None) -> dict[str, str]:
    data = (secret or {}).get("data") or {}
    return {key: base64.b64decode(value).decode() for key, value in data.items()}


def _keys(secret: Json | None) -> set[str]:
    return set((secret or {}).get("data") or {})
