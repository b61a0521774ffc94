"""The owner of brokers that migrate from ZooKeeper: after a while it gives them what the published contract says.

It reads the ConfigMap as a person would, and restarts one broker at a time, as rolling tools do.
"""

import json
from typing import Any, Final

from tests.simulation.model.clock import VirtualClock
from tests.simulation.model.kafka.zookeeper import ZooKeeperModel
from tests.simulation.model.kafka.zookeeper_broker import (
    DEFAULT_PROTOCOLS,
    MIGRATES,
    PROTOCOLS,
    ROLES,
    KeeperBroker,
    Mode,
    settings_of,
)
from tests.simulation.model.kubernetes.kube_model import KubeModel
from tests.simulation.model.place import NAME, NAMESPACE

from kit.kube.protocol import CONFIG_MAPS

_READS_S: Final = 3.0
"""How long after a change the owner begins."""
_DOWN_S: Final = 1.5
_STARTS_S: Final = 1.5


class ZooKeeperOwner:
    """Moves the brokers of the model of ZooKeeper."""

    def __init__(self, model: ZooKeeperModel, kube: KubeModel, clock: VirtualClock) -> None:
        """Nothing was read yet."""
        self._model, self._kube, self._clock = model, kube, clock
        self.asleep = False
        """The owner does nothing for now."""
        self._revision, self._since_s = 0, 0.0
        self._down: tuple[KeeperBroker, float] | None = None

    @property
    def busy(self) -> bool:
        """Whether a broker is away, or has to be changed and may be."""
        return self._down is not None or (not self.asleep and bool(self._due()))

    def step(self) -> None:
        """Bring back the broker that is away, or take the next one."""
        now_s = self._clock.elapsed_s
        if not self._model.cluster_id:
            return
        if self._down is not None:
            broker, since_s = self._down
            if now_s - since_s >= _DOWN_S:
                self._model.start(broker, _STARTS_S)
                self._down = None
            return
        contract = self._contract()
        if contract is None:
            return
        if contract["revision"] != self._revision:
            self._revision, self._since_s = contract["revision"], now_s
        waits = any(one.runs and not self._is_back(one) for one in self._model.brokers)
        if self.asleep or waits or now_s - self._since_s < _READS_S:
            return
        for broker in self._due()[:1]:
            self._model.stop(broker)
            broker.settings = followed(broker, contract)
            self._down = (broker, now_s)

    def _is_back(self, broker: KeeperBroker) -> bool:
        """A KRaft broker is back when it fetches."""
        if broker.mode is Mode.KRAFT and self._model.kraft_leads is not None:
            return broker.process is not None and broker.process.leader is not None
        return self._model.serves(broker)

    def _due(self) -> list[KeeperBroker]:
        if not self._model.brokers:
            return []
        contract = self._contract()
        if contract is None:
            return []
        found = (one for one in self._model.brokers if one.runs and not one.held)
        return [one for one in found if followed(one, contract) != one.settings]

    def _contract(self) -> dict[str, Any] | None:
        """What is published for brokers; None if nothing can be read."""
        body = self._kube.view(CONFIG_MAPS, NAMESPACE, f"{NAME}-brokers") or {}
        try:
            found: dict[str, Any] = json.loads(body["data"]["contract.json"])
        except (KeyError, ValueError):
            return None
        return found


def followed(broker: KeeperBroker, contract: dict[str, Any]) -> dict[str, str | None]:
    """The settings of a broker that follows this contract; what it rules not is as before the migration."""
    made = {**broker.settings, **_ruled(broker)}
    keeper = contract.get("zookeeper")
    made["zookeeper.connect"], made[ROLES] = (None, "broker") if keeper is None else (keeper["connect"], "")
    for row in contract["settings"]:
        key, value = row["key"], row["value"]
        match row["match"]:
            case "unset":
                made[key] = None if made.get(key) is None else ""
            case "oneOf":
                made[key] = (
                    broker.settings[key] if broker.settings.get(key) in value.split(",") else value.split(",")[0]
                )
            case "has" if key == PROTOCOLS:
                made[key] = ",".join((value, *DEFAULT_PROTOCOLS))
            case _:
                made[key] = value
    return made


def _ruled(broker: KeeperBroker) -> dict[str, str | None]:
    """The settings of which a contract may say nothing any more: they are removed then."""
    plain = settings_of(int(broker.node_id))
    keys = (MIGRATES, "controller.listener.names", PROTOCOLS, "controller.quorum.voters")
    return {key: plain[key] for key in keys}
