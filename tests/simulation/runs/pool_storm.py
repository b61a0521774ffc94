"""A storm in which an operator serves a quorum and one or two pools for a long time, under blows to both.

In half of these storms nobody manages the quorum (`bare_quorum.py`), and brokers live longer for it. A person changes
specs and turns them round, pauses pools, holds brokers, creates topics, and moves partitions. It has its own seeds.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Final

from tests.simulation.model.kubernetes.kube_model import Written
from tests.simulation.model.place import NAMESPACE
from tests.simulation.runs.broker_edge import BrokerEdge
from tests.simulation.runs.driver import KEY, QUIET_STEPS, Make, real
from tests.simulation.runs.endings import Ending
from tests.simulation.runs.kube_edge import KubeEdge
from tests.simulation.runs.pool_blows import PoolBlows
from tests.simulation.runs.pool_driver import concerns_pool, real_pools
from tests.simulation.runs.pool_endings import judge_pools
from tests.simulation.runs.scenarios.pool_scenes import (
    OTHER,
    POOL,
    PoolScenario,
    applies_pool,
    pool_spec,
    pools_are_ready,
    pools_rest,
    publishes,
)
from tests.simulation.runs.scenarios.scenes import applies, spec_of
from tests.simulation.runs.storm import Storm
from tests.simulation.runs.weather import Hand, Round, Weather

from kit.key import ObjectKey
from kit.kube.protocol import Json

_RELEASES: Final = ("4.1.2", "4.2.1", "4.3.1", "4.4.0")
_CONFIGS: Final = (
    {"queued.max.requests": "100"},
    {"queued.max.requests": "200"},
    {"num.network.threads": "5"},
    {"num.network.threads": "6", "queued.max.requests": "100"},
)
_CHANGES: Final = (
    *("replicas", "config", "release") * 2,
    *("topic", "drain", "paused", "quorum"),
)
_FIRST_TOPICS: Final = 3
_OTHER_FROM: Final = 10


class PoolStorm(Storm):
    """One storm with pools."""

    kind = "pools"
    quiet_steps = 2 * QUIET_STEPS

    def __init__(self, seed: int, *, make: Make = real) -> None:
        """Draw the weather, the quorum and its pools."""
        self._scenario: PoolScenario | None = None
        self._at_release = 0
        super().__init__(seed, make=make)
        self.blows = PoolBlows(self.world, self.checker, self.draw, self.faults)

    @property
    def scenario(self) -> PoolScenario:
        """The pools, and the quorum that nobody manages if there is one; drawn once."""
        if self._scenario is None:
            self._scenario = self._drawn()
        return self._scenario

    @property
    def managed(self) -> bool:
        """Whether the operator manages the quorum, too."""
        return not self.scenario.controllers

    def _drawn(self) -> PoolScenario:
        draw = self.draw
        self._at_release = draw.randrange(len(_RELEASES))
        pools = [(POOL, self._pool_spec(draw.choice((3, 3, 4))))]
        if draw.random() < 0.5:
            pools.append((OTHER, self._pool_spec(draw.choice((1, 2, 3)), firstNodeID=_OTHER_FROM)))
        return PoolScenario(
            name="pools",
            pools=tuple(pools),
            controllers=draw.choice((0, 3)),
            release=_RELEASES[self._at_release],
            elr=draw.random() < 0.7,
        )

    def _pool_spec(self, replicas: int, **more: object) -> Json:
        draw = self.draw
        volumes: Json = {"storage": [{"size": "1Gi"}, {"size": "1Gi"}]} if draw.random() < 0.2 else {}
        racks: Json = {"rack": {"topologyKey": "topology.kubernetes.io/zone"}} if draw.random() < 0.3 else {}
        retention = {"whenDeleted": "Delete", "whenScaled": draw.choice(("Delete", "Retain"))}
        roll = {"maxUnavailable": draw.choice((1, 1, 2))}
        return pool_spec(replicas, **volumes, **racks, retentionPolicy=retention, roll=roll, **more)

    def forecast(self) -> Weather:
        """Longer than other storms, because pools have to be there first."""
        weather = super().forecast()
        return replace(weather, steps=self.draw.randint(300, 600), accident=2 * weather.accident)

    def first_spec(self) -> Json:
        """The spec of the quorum, if it is managed."""
        spec = spec_of("InitialControllers", 3 if self.managed else 1)
        spec["kafka"] = {"version": self.scenario.release, "features": {"policy": "Hold"}}
        return spec

    def begin(self) -> None:
        """Quorum and pools are created."""
        if self.managed:
            super().begin()
        self.scenario.begin(self.world, self.checker)

    def serves(self, hand: Hand, may_act: Callable[[], bool]) -> list[Round]:
        """Every pool by one reconciler, and the quorum if it is managed."""
        make = partial(real_pools, may_act=may_act)
        operator = make(KubeEdge(self._wire, hand.life), BrokerEdge(self._wire, hand.life), hand.clock, self._ids)
        keys = [ObjectKey(namespace=NAMESPACE, name=name) for name, _ in self.scenario.pools]
        quorum = super().serves(hand, may_act) if self.managed else []
        return [*quorum, *(self.round(hand, key, operator) for key in keys)]

    def concerns(self, own: Round, written: Written) -> bool:
        """As the watches of each kind report it."""
        return super().concerns(own, written) if own.key == KEY else concerns_pool(own.key.name, written)

    def rests(self) -> bool:
        """Pools, and the quorum if it is managed."""
        return pools_rest(self.world) and (not self.managed or super().rests())

    def judge(self, *, settled: bool) -> Ending:
        """Every pool is Ready, and the quorum is as in any storm."""
        if self.managed:
            quorum = super().judge(settled=settled)
            if not quorum.honest or quorum.says != "Ready":
                return quorum  # without a quorum there is no pool
        return judge_pools(self.world, self.scenario, settled=settled)

    # Blows

    def prepare(self) -> None:
        """The first topics are created once the pools are ready."""
        if self.blows.topics < _FIRST_TOPICS and pools_are_ready(self.world):
            self.blows.create_topic()

    def accident(self) -> None:
        """Most strike the brokers."""
        if self.managed and self.draw.random() < 0.3:
            super().accident()
        else:
            self.blows.strike(may_lose=self.faults["final"] < self.weather.losses)

    def change(self) -> None:
        """A person changes the spec of a pool, or the release."""
        draw = self.draw
        name = draw.choice([name for name, _ in self.scenario.pools])
        match draw.choice(
            ("replicas", "replicas", "config", "config", "release", "topic", "drain", "paused", "quorum")
        ):
            case "replicas":
                self._applies(
                    "replicas", name, {"replicas": draw.randint(2, 5) if name == POOL else draw.randint(1, 3)}
                )
            case "config":
                config = {"num.network.threads": None, "queued.max.requests": None, **draw.choice(_CONFIGS)}
                self._applies("config", name, {"config": config})
            case "drain":
                self._applies("drain", name, {"drain": draw.choice(("Hold", "Automatic"))})
            case "paused":
                self._applies("paused", name, {"paused": True})
                self.world.later(
                    draw.choice((10, 40)), lambda: applies_pool({"paused": False}, name)(self.world, self.checker)
                )
            case "release":
                self._change_release(_RELEASES[draw.randrange(self._at_release, len(_RELEASES))])
            case "quorum" if self.managed:
                self.faults["quorum heap"] += 1
                heap = {"jvm": {"heap": draw.choice(("512Mi", "768Mi", "1Gi"))}}
                applies({"controllers": heap})(self.world, self.checker)
            case _:
                self.blows.create_topic()

    def _applies(self, what: str, name: str, spec: Json) -> None:
        self.faults[f"pool {what}"] += 1
        applies_pool(spec, name)(self.world, self.checker)

    def _change_release(self, version: str) -> None:
        """The release of everything: a person changes that of the quorum, and the contract follows."""
        self.faults["release"] += 1
        if self.managed:
            applies({"kafka": {"version": version}})(self.world, self.checker)
        else:
            publishes(version)(self.world, self.checker)

    def calm(self) -> None:
        """In the end every spec can be fulfilled, and a person has accepted what accidents took for ever."""
        super().calm()
        self.blows.heal()
        for name, _ in self.scenario.pools:
            wanted: Json = {"paused": False, "drain": "Automatic"}
            if name == POOL:
                wanted["replicas"] = 4
            applies_pool(wanted, name)(self.world, self.checker)
        if self.managed:
            wanted = {"kafka": {"version": _RELEASES[-1]}, "controllers": {"allowInterruption": True}}
            applies(wanted)(self.world, self.checker)


class RivalStorm(PoolStorm):
    """One storm with pools and two operators, both of which believe that they hold the lease until the calm.

    The lease is no part of the rules of pools: what each operator sends is judged as if it were alone.
    """

    kind = "rivals"

    def forecast(self) -> Weather:
        """Two operators."""
        return replace(super().forecast(), operators=2)

    def serves(self, hand: Hand, may_act: Callable[[], bool]) -> list[Round]:
        """Each acts, whoever holds the lease."""
        return super().serves(hand, lambda: not self.leased or may_act())

    def begin(self) -> None:
        """Both operators believe that they hold the lease."""
        super().begin()
        self.leased = False

    def calm(self) -> None:
        """In the end one of them learns that it does not hold the lease."""
        super().calm()
        self.leased = True
