"""Real brokers follow the contract of controllers that have TLS: they register, and show what they have loaded.

The names of the files that DescribeConfigs returns are the proof that guards rely on. The broker's connection to the
controllers uses the settings with the listener's prefix, so a broker with other files under them does not get through.
"""

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Final

import pytest
from tests.live.broker_worlds import note, release, releases
from tests.live.brokers import CONTROLLER, INTERNAL, LiveBroker, LiveBrokers
from tests.live.jars import OLDER_VERSIONS, Kafka
from tests.live.ports import HOST
from tests.live.quorum import LISTENER
from tests.live.secured import certificates
from tests.live.waiting import wait_for
from tests.model.values import runtime
from tests.resources.test_contract import contract

from kafka_quorum.model.conformance import differs
from kafka_quorum.model.contract import SASL_KEY, SECRET_PATH, Contract, Match, Setting
from kafka_quorum.model.desired import ControllerListener, Protocol, Runtime
from kafka_quorum.model.ids import NodeID
from kafka_quorum.model.known import Known
from kafka_quorum.model.names import keystore_file, trust_file
from kafka_quorum.model.registered import Settings
from kafka_quorum.model.security import Mechanism, Sasl, Secured, Security, Tls
from kafka_quorum.plan.facts.secured import secrets_for, secured
from kafka_quorum.resources import tls
from kafka_quorum.resources.contract import properties_text
from kafka_quorum.wire.running import ConfluentSettings

pytestmark = [pytest.mark.live, pytest.mark.timeout(300), pytest.mark.asyncio(loop_scope="module")]

GENERATION: Final = 3
_USER, _PASSWORD = "broker", "sesame"
_PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule required"
_JAAS = f"listener.name.{LISTENER.lower()}.plain.sasl.jaas.config"
_PREFIX = f"listener.name.{LISTENER.lower()}.ssl"


@pytest.fixture(scope="module", params=releases(*OLDER_VERSIONS))
def kafka(request: pytest.FixtureRequest) -> Kafka:
    """Each release that brokers may have."""
    return release(request)


@asynccontextmanager
async def quorum_of(kafka: Kafka, home: Path, protocol: Protocol) -> AsyncIterator[LiveBrokers]:
    """A controller with this protocol, and a broker that has every line of the contract; neither is started."""
    certificates(home)
    world = LiveBrokers(kafka, home / "cluster", brokers=())
    of = runtime_of(home, protocol)
    (node,) = world.quorum.nodes.values()
    node.security = client_of(home, protocol)
    world.quorum.config |= dict(controller_lines(of, home))
    (home / of_trust(of)).write_text(of.trust)
    world.quorum.write_config(node)
    broker = world.add(1)
    broker.config |= broker_lines(of, home, node.port)
    write_secret(of, home)
    world.write(broker)
    try:
        yield world
    finally:
        await world.close()


def runtime_of(home: Path, protocol: Protocol) -> Runtime:
    """What the operator would make the controllers from."""
    listener = ControllerListener(name=LISTENER, port=9093, protocol=protocol)
    return runtime(listener=listener, trust=(home / "ca.crt").read_text(), certificates=GENERATION)


def of_trust(of: Runtime) -> str:
    """The file with the authorities."""
    return trust_file(of.trust)


def controller_lines(of: Runtime, home: Path) -> Iterator[tuple[str, str]]:
    """The lines of a controller, with the directory of this test."""
    yield "listener.security.protocol.map", f"{LISTENER}:{of.listener.protocol.value}"
    for key, value in tls.properties(of, str(home)):
        yield key, value.replace(tls.KEYSTORE, str(home / "server.pem"))
    if of.listener.protocol is Protocol.SASL_SSL:
        own = f'username="controller" password="c" user_controller="c" user_{_USER}="{_PASSWORD}"'
        yield _JAAS, f"{_PLAIN} {own};"


def client_of(home: Path, protocol: Protocol) -> Security:
    """How the operator reaches the controller."""
    ca = (home / "ca.crt").read_text()
    if protocol is Protocol.SASL_SSL:
        return Secured(tls=Tls(ca=ca), sasl=Sasl(mechanism=Mechanism.PLAIN, username=_USER, password=_PASSWORD))
    certificate, key = (home / "client.crt").read_text(), (home / "client.key").read_text()
    return Secured(tls=Tls(ca=ca, certificate=certificate, key=key))


def contract_of(of: Runtime, port: int, quorum: str = "alpha") -> Contract:
    """The contract: what the operator requires for this listener."""
    settings = (
        Setting(key="controller.quorum.bootstrap.servers", value=f"{HOST}:{port}", match=Match.SOME),
        Setting(key="controller.listener.names", value=LISTENER, match=Match.HAS),
        Setting(
            key="listener.security.protocol.map", value=f"{LISTENER}:{of.listener.protocol.value}", match=Match.HAS
        ),
        *secured(of.listener, of),
    )
    addresses = (f"{HOST}:{port}",)
    return contract(
        settings=settings,
        secrets=secrets_for(settings, quorum),
        controllers=addresses,
        controller_ids=(NodeID(CONTROLLER),),
        base=addresses,
    )


def write_secret(of: Runtime, home: Path) -> None:
    """The files that the Secret has, at the place that a person chose."""
    mounted = home / "mounted"
    mounted.mkdir()
    (mounted / keystore_file(GENERATION)).write_text(
        (home / "client.key").read_text() + (home / "client.crt").read_text()
    )
    (mounted / of_trust(of)).write_text(of.trust)
    if of.listener.protocol is Protocol.SASL_SSL:
        (mounted / SASL_KEY).write_text(f'{_JAAS}={_PLAIN} username="{_USER}" password="{_PASSWORD}";\n')


def broker_lines(of: Runtime, home: Path, port: int) -> dict[str, str]:
    """The lines that a person pastes, with the directory changed, and the ones with a password added."""
    text = properties_text("alpha", contract_of(of, port)).replace(SECRET_PATH, str(home / "mounted"))
    lines = dict(line.split("=", 1) for line in text.splitlines() if line and line[0] != "#")
    lines["listener.security.protocol.map"] += f",{INTERNAL}:PLAINTEXT"
    if of.listener.protocol is Protocol.SASL_SSL:
        lines[_JAAS] = f'{_PLAIN} username="{_USER}" password="{_PASSWORD}";'
    return lines


async def running_settings(world: LiveBrokers) -> Settings:
    """What the running broker says of itself."""
    reader = ConfluentSettings()
    try:

        async def read() -> Settings | None:
            found = (await reader.read((world.bootstrap(),), {}))[NodeID(1)]
            return found.value if isinstance(found, Known) else None

        return await wait_for("the broker's settings", read)
    finally:
        await reader.close()


async def controller_runs(world: LiveBrokers) -> None:
    """Formats and starts the controller, and formats the broker."""
    nodes = list(world.quorum.nodes.values())
    world.quorum.must_format(nodes, world.quorum.initial_controllers(nodes), world.features)
    world.quorum.start(*nodes)
    await world.quorum.leader(world.controllers)
    world.format(*world.brokers.values())


async def refused(world: LiveBrokers, broker: LiveBroker, words: str) -> None:
    """Starts a broker, and waits until its log says that it did not get through; it has not registered then."""
    world.start(broker)

    async def said() -> bool | None:
        return words in broker.log.read_text() or None

    await wait_for(f"{words!r} in the broker's log", said)
    (node,) = world.quorum.nodes.values()
    answer = await world.controllers.describe_quorum(node.endpoint)
    assert [row.key.node_id for row in answer.observers] == []
    broker.running.kill()


@pytest.mark.parametrize("protocol", [Protocol.SSL, Protocol.SASL_SSL])
async def test_a_broker_that_follows_the_contract(kafka: Kafka, tmp_path: Path, protocol: Protocol) -> None:
    """It registers, DescribeConfigs returns every setting of the contract, and no setting with a password."""
    async with quorum_of(kafka, tmp_path, protocol) as world:
        broker = world.brokers[1]
        for key in ("ssl.keystore", "ssl.truststore"):  # without the prefix: files that would not be accepted
            broker.config |= {f"{key}.type": "PEM"}
        broker.config["ssl.truststore.location"] = str(tmp_path / "other.crt")
        (tmp_path / "stranger.pem").write_text(
            (tmp_path / "stranger.key").read_text() + (tmp_path / "stranger.crt").read_text()
        )
        broker.config["ssl.keystore.location"] = str(tmp_path / "stranger.pem")
        world.write(broker)
        await controller_runs(world)
        world.start(broker)
        await world.all_unfenced(1)
        running = await running_settings(world)
        of = contract_of(runtime_of(tmp_path, protocol), world.quorum.nodes[NodeID(CONTROLLER)].port)
        assert [said for each in of.settings if (said := differs(each, running))] == []
        assert of.files
        newer = replace(runtime_of(tmp_path, protocol), certificates=GENERATION + 1, trust="another")
        late = [each.key for each in secured(newer.listener, newer) if differs(each, running)]
        assert f"{_PREFIX}.truststore.location" in late
        assert (f"{_PREFIX}.keystore.location" in late) is (protocol is Protocol.SSL)
        assert running.get(_JAAS) is None
        assert not any(value == _PASSWORD or f'"{_PASSWORD}"' in (value or "") for value in running.values())
        note("contract with TLS", release=kafka.version, protocol=protocol.value, files=len(of.files))


async def test_other_files_under_the_prefix(kafka: Kafka, tmp_path: Path) -> None:
    """A broker whose prefixed files are of another authority does not register, whatever it has without the prefix."""
    async with quorum_of(kafka, tmp_path, Protocol.SSL) as world:
        broker = world.brokers[1]
        good = {key.removeprefix("listener.name.controller."): value for key, value in broker.config.items()}
        broker.config |= {key: value for key, value in good.items() if key.startswith("ssl.")}
        broker.config[f"{_PREFIX}.truststore.location"] = str(tmp_path / "other.crt")
        world.write(broker)
        await controller_runs(world)
        await refused(world, broker, "SSL handshake failed")


async def test_a_wrong_password(kafka: Kafka, tmp_path: Path) -> None:
    """A broker with another password does not register: nothing in the contract could show that."""
    async with quorum_of(kafka, tmp_path, Protocol.SASL_SSL) as world:
        broker = world.brokers[1]
        broker.config[_JAAS] = broker.config[_JAAS].replace(_PASSWORD, "another")
        world.write(broker)
        await controller_runs(world)
        await refused(world, broker, "failed authentication")
