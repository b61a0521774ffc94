"""Rule 13 of brokers finds what cuts a broker off, and what brokers are told that they cannot load."""

import base64
import json
from collections.abc import Callable
from dataclasses import replace

import pytest
from tests.simulation.model.kafka.broker import Broker
from tests.simulation.model.kafka.broker_model import Place
from tests.simulation.model.kafka.process import Process, Software
from tests.simulation.model.kafka.tls import Tls
from tests.simulation.model.place import NAME, NAMESPACE
from tests.simulation.model.world import World
from tests.simulation.rules.broker_trust_rules import CUT, FILES
from tests.simulation.rules.invariants import Checker
from tests.simulation.tests.quorums import CLUSTER, disk, key
from tests.simulation.tests.test_tls import FIRST, OTHER, store, tls

from kafka_quorum.model.ids import NodeID
from kit.kube.protocol import CONFIG_MAPS
from kit.kube.secrets import SECRETS
from kit.pki.authority import Authority

PROPERTIES = {"controller.listener.names": "SECURE", "listener.security.protocol.map": "SECURE:SSL"}
Change = Callable[[Process, Broker], None]


class Scene:
    """A controller with two listeners, the second one with TLS, and a broker that uses it."""

    def __init__(self, loaded: Tls | None = None, properties: dict[str, str] = PROPERTIES) -> None:
        """Start them."""
        self.world = World()
        self.checker = Checker(self.world)
        self.controller = self.world.kraft.start(
            disk(key(3000), frozenset({key(3000)})),
            node_id=NodeID(3000),
            address="10.0.0.1",
            host="c",
            port=9093,
            listener="CONTROLLER",
            as_=Software(
                tls=tls(store(host="c", life_s=36_000)),
                listens=(("CONTROLLER", 9093), ("SECURE", 9193)),
                plain=frozenset({"CONTROLLER"}),
            ),
        )
        self.pass_time(5)
        self.place = Place(
            address="10.1.0.0",
            host="b",
            port=9091,
            release="4.4.0",
            tls=loaded or tls(store(host="b", subject="brokers", life_s=36_000)),
        )
        self.disk = disk(key(0), frozenset())
        self.broker = self.start(properties)

    def start(self, properties: dict[str, str]) -> Broker:
        """Start the broker."""
        broker = self.world.pools.start([self.disk], NodeID(0), self.place, properties)
        self.pass_time(5)
        return broker

    def pass_time(self, seconds: float) -> None:
        """Let the world go on."""
        for _ in range(int(2 * seconds)):
            self.world.step()

    @property
    def broken(self) -> set[str]:
        """The rules that were broken."""
        return {one.rule for one in self.checker.violations}


def trusts(*authorities: object) -> Tls:
    """What a server or a broker has loaded that trusts these authorities alone."""
    return tls(store(host="c", life_s=36_000), *authorities)  # type: ignore[arg-type]


def test_a_broker_reaches_controllers_by_its_listener() -> None:
    """It registers with TLS, and no rule is broken."""
    scene = Scene()
    assert scene.broker.serves
    assert scene.broken == set()


@pytest.mark.parametrize(
    ("loaded", "properties"),
    [
        (tls(store(OTHER, host="b", life_s=36_000)), PROPERTIES),
        (tls(store(host="b", life_s=36_000), OTHER), PROPERTIES),
        (None, {**PROPERTIES, "controller.listener.names": "THIRD"}),
        (None, {"controller.listener.names": "SECURE"}),
        (tls(store(host="b", life_s=1)), PROPERTIES),
    ],
    ids=["not trusted", "trusts another", "another listener", "without TLS", "ended"],
)
def test_a_broker_that_nobody_accepts(loaded: Tls | None, properties: dict[str, str]) -> None:
    """It does not come up, and as it never reached a controller, nothing has cut it off."""
    scene = Scene(loaded, properties)
    assert not scene.broker.serves
    assert CUT not in scene.broken


def _drops_listener(controller: Process, _: Broker) -> None:
    controller.listens = controller.listens[:1]


def _drops_authority(controller: Process, _: Broker) -> None:
    controller.tls = trusts(OTHER)


def _serves_another(controller: Process, _: Broker) -> None:
    controller.tls = tls(store(OTHER, host="c", life_s=36_000))


def _has_another_name(controller: Process, _: Broker) -> None:
    controller.tls = tls(store(host="d", life_s=36_000))


@pytest.mark.parametrize("change", [_drops_listener, _drops_authority, _serves_another, _has_another_name])
def test_what_a_controller_gives_up(change: Change) -> None:
    """A listener or a trust that a running broker needs; its open connection does not hide that."""
    scene = Scene()
    change(scene.controller, scene.broker)
    scene.pass_time(1)
    assert scene.broken == {CUT}


def test_a_broker_that_is_told_too_early() -> None:
    """A broker restarts with what no controller accepts."""
    scene = Scene()
    scene.world.pools.kill(scene.broker)
    scene.place = replace(scene.place, tls=tls(store(OTHER, host="b", life_s=36_000)))
    scene.start(PROPERTIES)
    assert scene.broken == {CUT}


def test_brokers_fetch_from_each_other_with_tls() -> None:
    """With TLS between brokers, one that trusts another authority gets nothing."""
    scene = Scene()
    other = replace(scene.place, address="10.1.0.1", host="b1")
    found = [
        scene.world.pools.start(
            [disk(key(1), frozenset())],
            NodeID(1),
            replace(other, tls=tls(store(host="b1", life_s=36_000), *trusted)),
            {**PROPERTIES, "listener.security.protocol.map": "SECURE:SSL,REPLICATION:SSL"},
        )
        for trusted in ((), (OTHER,))
    ]
    assert [scene.world.pools.reaches_broker(scene.broker, one) for one in found] == [True, False]
    assert scene.world.pools.reaches_broker(found[1], scene.broker)


@pytest.mark.parametrize(
    ("before", "has", "taken", "broken"),
    [
        ("", "keystore-1.pem", False, False),
        ("", "keystore-2.pem", False, True),
        ("", "keystore-2.pem", True, False),
        ("keystore-1.pem", "keystore-2.pem", False, False),
    ],
    ids=["has it", "lacks it", "lost it just now", "told before"],
)
def test_files_that_brokers_are_told_to_load(before: str, has: str, taken: bool, broken: bool) -> None:  # noqa: FBT001
    """The Secret has each file that is named anew, unless somebody took it away a moment ago."""
    world = World()
    checker = Checker(world)
    data = {file: base64.b64encode(b"x").decode() for file in {has, *(("keystore-1.pem",) if taken else ())}}
    name = f"{NAME}-brokers-tls"
    world.kube.create(SECRETS, NAMESPACE, {"metadata": {"name": name}, "data": data})
    if taken:
        world.kube.patch(SECRETS, NAMESPACE, name, {"data": {"keystore-1.pem": None}})
    if before:
        world.kube.apply(CONFIG_MAPS, NAMESPACE, _contract(before))
    world.kube.operator_writes = True
    world.kube.apply(CONFIG_MAPS, NAMESPACE, _contract("keystore-1.pem"))
    assert ({one.rule for one in checker.violations} == {FILES}) is broken


@pytest.mark.parametrize(
    ("listener", "leaf", "trusted", "broken"),
    [
        ("SECURE", FIRST, FIRST, False),
        ("THIRD", FIRST, FIRST, True),
        ("SECURE", OTHER, FIRST, True),
        ("SECURE", FIRST, OTHER, True),
    ],
    ids=["good", "no such listener", "a leaf that nobody trusts", "trusts nobody"],
)
def test_what_brokers_are_told_reaches_controllers(
    listener: str,
    leaf: Authority,
    trusted: Authority,
    broken: bool,  # noqa: FBT001
) -> None:
    """A contract names a listener that controllers have, and files with which they accept a broker."""
    scene = Scene()
    files = {"keystore-2.pem": store(leaf, host="b", subject="brokers"), "trust-2.pem": trusted.certificate.pem}
    data = {name: base64.b64encode(text.encode()).decode() for name, text in files.items()}
    scene.world.kube.create(SECRETS, NAMESPACE, {"metadata": {"name": f"{NAME}-brokers-tls"}, "data": data})
    prefix = f"listener.name.{listener.lower()}.ssl"
    scene.world.kube.operator_writes = True
    told = _with_settings(
        {"key": "controller.listener.names", "value": listener, "match": "has"},
        {"key": f"{prefix}.keystore.location", "value": "keystore-2.pem", "match": "file"},
        {"key": f"{prefix}.truststore.location", "value": "trust-2.pem", "match": "file"},
    )
    scene.world.kube.apply(CONFIG_MAPS, NAMESPACE, told)
    assert (scene.broken == {CUT}) is broken


def _contract(file: str) -> dict[str, object]:
    rows = [{"key": "listener.name.secure.ssl.keystore.location", "value": file, "match": "file"}]
    return _with_settings(*rows)


def _with_settings(*rows: dict[str, str]) -> dict[str, object]:
    text = json.dumps({"cluster_id": CLUSTER, "settings": rows})
    return {"metadata": {"name": f"{NAME}-brokers"}, "data": {"contract.json": text}}
