"""An operator's edges to a cluster that migrates: `ZooKeepers`, `Drivers`, and what its brokers answer."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import TypeVar

from tests.simulation.model.happened import GaveBack
from tests.simulation.model.kafka.kraft_api import unreachable
from tests.simulation.model.kafka.zookeeper import ZooKeeperModel
from tests.simulation.model.kafka.zookeeper_broker import KeeperBroker, Mode
from tests.simulation.runs.broker_edge import BrokerEdge
from tests.simulation.runs.edges import Edge
from tests.simulation.runs.faults import Call

from kafka_quorum.errors import KafkaError, KafkaUnreachable
from kafka_quorum.model.brokers import LogDirectory
from kafka_quorum.model.ids import NodeID
from kafka_quorum.model.known import Knowable, Known, Unknown
from kafka_quorum.model.quorum import Endpoint
from kafka_quorum.model.zookeeper import (
    DriverSeen,
    DriverState,
    GiveBack,
    SavedNodes,
    ZooKeeperAccess,
    ZooKeeperSecret,
    ZooKeeperSeen,
)
from kafka_quorum.wire.requests import describe_log_dirs
from kit.errors import Fault

T = TypeVar("T")


class ZooKeeperEdge(Edge):
    """`ZooKeepers` over the model. A stale answer is the last answer to the same question."""

    side = "kafka"
    _last: ZooKeeperSeen | None = None

    async def read(
        self, access: ZooKeeperAccess, secret: ZooKeeperSecret, *, rights: bool, states: bool
    ) -> ZooKeeperSeen:
        """One complete read; without `rights` it proves none."""
        del access, secret
        await self.life.turn()
        model, before = self.world.zookeeper, self._last

        def act() -> ZooKeeperSeen:
            _reached(model)
            self._last = model.seen(states=states, rights=rights)
            return self._last

        call = Call(verb="read", what="zookeeper", name="", writes=False, fickle=before is not None)
        stale: Callable[[], ZooKeeperSeen] | None = None if before is None else partial(_same, before)
        return self.course(call, act, failure=partial(model.unreachable, writes=False), stale=stale)

    async def give_back(self, access: ZooKeeperAccess, secret: ZooKeeperSecret, what: GiveBack) -> SavedNodes:
        """The transaction; what was there before is returned."""
        del access, secret
        await self.life.turn()
        model = self.world.zookeeper

        def act() -> SavedNodes:
            _reached(model)
            model.give_back(what)
            self.world.tell(GaveBack(what=what))
            return SavedNodes(controller="", controller_epoch="", migration="")

        call = Call(verb="give-back", what="zookeeper", name="", writes=True, conditional=True)
        return self.course(call, act, failure=partial(model.unreachable, writes=True), touch=model.touch)

    async def close(self) -> None:
        """There is nothing to close."""


class DriverEdge(Edge):
    """`Drivers` over the model: the metrics of one controller, at the address of its pod."""

    side = "kafka"

    async def read_driver(self, host: str, port: int, node_id: NodeID) -> DriverSeen:
        """What a controller reports."""
        del port
        await self.life.turn()
        model = self.world.zookeeper
        failure = partial(_no_metrics, node_id)

        def act() -> DriverSeen:
            found = next((one for one in model.controllers() if one.address == host), None)
            now_s, unseen = self.world.clock.elapsed_s, self.world.kraft.unseen
            if found is None or found.frozen or found.node in unseen or found.up_s > now_s:
                raise failure()
            keeper = found.committed.keeper
            state = DriverState.UNLOADED if found.high_watermark < 0 else keeper.state or DriverState.NONE
            return DriverSeen(
                node_id=node_id,
                active=found.leads,
                state=state,
                migrating=sum(keeper.brokers.values()),
                lag=model.lag(found),
            )

        call = Call(verb="metrics", what="controller", name=str(node_id), writes=False)
        return self.course(call, act, failure=failure)


class KeeperRunning(Edge):
    """`RunningSettings` over the model: the brokers that one of the addresses lists, each asked itself."""

    side = "kafka"

    async def read(
        self, bootstrap: tuple[str, ...], properties: Mapping[str, str]
    ) -> Mapping[NodeID, Knowable[Mapping[str, str | None]]]:
        """The settings of every broker that serves; a KRaft broker without a leader is fenced."""
        del properties
        await self.life.turn()
        model = self.world.zookeeper

        def failure() -> KafkaUnreachable:
            text = f"no broker of {', '.join(bootstrap)} answers"
            return KafkaUnreachable(text, fault=Fault.PATH, retry_safe=True, outcome_unknown=False)

        def act() -> Mapping[NodeID, Knowable[Mapping[str, str | None]]]:
            there = [one for one in model.brokers if model.serves(one)]
            if not any(one.address in bootstrap for one in there):
                raise failure()
            return {one.node_id: _answer(one) for one in there}

        call = Call(verb="DescribeConfigs", what="broker", name="all", writes=False)
        return self.course(call, act, failure=failure)

    async def close(self) -> None:
        """There is nothing to close."""


class KeeperBrokerEdge(BrokerEdge):
    """`Brokers` over the model of ZooKeeper, as far as the preflight needs it."""

    async def describe_log_dirs(self, endpoint: Endpoint) -> tuple[LogDirectory, ...]:
        """DescribeLogDirs."""
        await self.life.turn()
        api, model = describe_log_dirs.API, self.world.zookeeper
        failure = partial(unreachable, endpoint, api, "no answer")

        def act() -> tuple[LogDirectory, ...]:
            broker = next((one for one in model.brokers if one.node_id == endpoint.node_id), None)
            if broker is None or not model.serves(broker):
                raise failure()
            failed = (_directory(path, "KAFKA_STORAGE_ERROR") for path in broker.offline)
            return (_directory("/data/0", ""), *failed)

        call = Call(verb=api.name, what="broker", name=str(endpoint.node_id), writes=False)
        return self.course(call, act, failure=failure)


def _answer(broker: KeeperBroker) -> Knowable[Mapping[str, str | None]]:
    if broker.mode is Mode.KRAFT and (broker.process is None or broker.process.leader is None):
        return Unknown(reason="it is fenced")
    return Known(value=dict(broker.settings))


def _directory(path: str, error: str) -> LogDirectory:
    return LogDirectory(path=path, error=error, total_bytes=-1, usable_bytes=-1, replicas=())


def _reached(model: ZooKeeperModel) -> None:
    if model.unseen or model.away:
        raise model.unreachable(writes=False)


def _no_metrics(node_id: NodeID) -> KafkaError:
    text = f"controller {node_id} did not report its metrics"
    return KafkaUnreachable(text, fault=Fault.PATH, retry_safe=True, outcome_unknown=False)


def _same(answer: T) -> T:
    return answer
