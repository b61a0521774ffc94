"""Super users as the operator writes them, with SASL_SSL: at a controller, and of what a broker passes on to it.

The controller has the super users of the quorum, and the broker of a pool those of its spec. The operator is a user
with a password at the one, and the subject of a certificate at the other. Files are those that the operator makes.
"""

from collections.abc import AsyncIterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import pytest
import pytest_asyncio
from tests.brokers.values import NAMESPACE, POOL, QUORUM
from tests.live.broker_worlds import note, release, releases
from tests.live.brokers import CONTROLLER, LiveBroker, LiveBrokers
from tests.live.jars import DEFAULT_VERSION, OLDER_VERSIONS, Kafka
from tests.live.ports import HOST
from tests.live.quorum import LISTENER, LiveNode, LiveQuorum
from tests.live.test_pool_tls import pool_secret, write_properties
from tests.live.test_secured_contract import GENERATION, contract_of, controller_runs, quorum_of, runtime_of
from tests.live.test_secured_pool import composed, texts
from tests.live.test_trust_rights import CLUSTER, REQUESTS, denied
from tests.live.waiting import wait_for
from tests.model.values import desired, nothing, started

from kafka_brokers.model.names import host_name
from kafka_quorum.errors import KafkaError, KafkaRefused, KafkaVersionUnsupported
from kafka_quorum.model import certified
from kafka_quorum.model.brokers import ConfigChange
from kafka_quorum.model.desired import Protocol
from kafka_quorum.model.ids import NodeID
from kafka_quorum.model.quorum import Endpoint
from kafka_quorum.model.security import PLAINTEXT, Mechanism, Sasl, Secured, Security, Tls
from kafka_quorum.resources.secrets import Logins
from kafka_quorum.resources.tls import USERS_KEY
from kafka_quorum.resources.users import OPERATOR, broker_lines, new_passwords
from kafka_quorum.wire.admin import KafkaControllers
from kafka_quorum.wire.broker_admin import KafkaBrokers
from kit.pki.authority import Authority, Request, issue, read_authority
from kit.pki.names import DistinguishedName

pytestmark = [pytest.mark.live, pytest.mark.timeout(300), pytest.mark.asyncio(loop_scope="module")]

BROKER: Final = NodeID(1)
DAY_S: Final = 24 * 3600
WORD: Final = "correct-horse-battery"
NO_SUPER_USER: Final = "ada"
"""A user of the controller's listener who has no rights."""
ANONYMOUS: Final = "User:ANONYMOUS"
AT_BROKER, AT_QUORUM = "of-the-pool", "of-the-quorum"
"""Common names of two certificates: each is a super user at one of the two only."""
JUDGING: Final = ("4.4.0",)
"""Releases whose brokers judge a change of settings before they pass it on."""
SETTING: Final = "leader.replication.throttled.rate"


def user_of(common: str) -> str:
    """The principal of a certificate."""
    return f"User:CN={common},OU={QUORUM},O={NAMESPACE}"


POOL_USERS: Final = (user_of("brokers"), user_of("operator"), user_of(AT_BROKER), ANONYMOUS)
SPEC: Final = {
    "listeners": [{"name": "OPEN", "port": 9092, "protocol": "PLAINTEXT"}],
    "config": {
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users": ";".join(POOL_USERS),
    },
}


def quorum_users(home: Path) -> tuple[str, ...]:
    """What the operator writes for the controllers if the spec lists one more."""
    of = desired(name=QUORUM, namespace=NAMESPACE)
    of = replace(of, trust=replace(of.trust, authorizer=True, super_users=(user_of(AT_QUORUM),)))
    found = certified._super_users(runtime_of(home, Protocol.SASL_SSL), of, nothing(), started())
    assert found is not None
    return found


@dataclass(slots=True)
class World:
    """A controller, a broker of a pool, and the operator's clients."""

    kafka: Kafka
    home: Path
    cluster: LiveBrokers
    open_port: int
    settings: KafkaBrokers
    controllers: KafkaControllers = field(default_factory=KafkaControllers)

    @property
    def quorum(self) -> LiveQuorum:
        """The controller's."""
        return self.cluster.quorum

    @property
    def controller(self) -> LiveNode:
        """The only one."""
        return self.quorum.nodes[NodeID(CONTROLLER)]

    @property
    def broker(self) -> LiveBroker:
        """The only one."""
        return self.cluster.brokers[BROKER]

    @property
    def ca(self) -> str:
        """The trusted authority."""
        return (self.home / "ca.crt").read_text()

    def as_user(self, user: str) -> Endpoint:
        """The controller, as this user reaches it."""
        return replace(self.controller.endpoint, security=login(self.ca, user))

    def as_subject(self, common: str) -> Endpoint:
        """The broker's REPLICATION, as a client with this certificate reaches it."""
        certificate, key = made(self.home, common)
        tls = Tls(ca=self.ca, certificate=certificate, key=key)
        return self._at(self.broker.port, Secured(tls=tls))

    def as_nobody(self) -> Endpoint:
        """The broker's listener without TLS."""
        return self._at(self.open_port, PLAINTEXT)

    def _at(self, port: int, security: Security) -> Endpoint:
        name = host_name(NAMESPACE, POOL, BROKER)
        return Endpoint(node_id=BROKER, host=HOST, port=port, security=security, name=name)

    async def value(self) -> str | None:
        """The setting, as the broker shows it."""
        rows = await self.settings.describe_broker_config(self.as_subject("operator"), BROKER)
        return next((row.value for row in rows if row.name == SETTING), None)


def login(ca: str, user: str) -> Secured:
    """With a password, and without a certificate."""
    return Secured(tls=Tls(ca=ca), sasl=Sasl(mechanism=Mechanism.PLAIN, username=user, password=WORD))


def made(home: Path, common: str) -> tuple[str, str]:
    """A client's certificate and its key, by the authority of the test."""
    now = datetime.now(UTC)
    authority = read_authority((home / "ca.crt").read_text(), (home / "ca.key").read_text(), "the test", now)
    assert isinstance(authority, Authority), authority
    subject = DistinguishedName(cn=common, ou=QUORUM, o=NAMESPACE)
    leaf = issue(authority, Request(subject=subject, life_s=DAY_S, server=False, client=True), now)
    return leaf.chain_pem, leaf.key.pem


@pytest.fixture(scope="module", params=releases(*OLDER_VERSIONS))
def kafka(request: pytest.FixtureRequest) -> Kafka:
    """Each release."""
    return release(request)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def world(kafka: Kafka, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[World]:
    """One for each release, with an authorizer that has read the rights."""
    home = tmp_path_factory.mktemp("users")
    hosts = home / "hosts"
    hosts.write_text(f"{HOST} {host_name(NAMESPACE, POOL, BROKER)}\n")
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("JDK_JAVA_OPTIONS", f"-Djdk.net.hosts.file={hosts}")
        async with quorum_of(kafka, home, Protocol.SASL_SSL) as cluster:
            found = World(kafka, home, cluster, await begun(cluster, home), cluster.client)
            try:
                await settled(found)
                yield found
            finally:
                await found.controllers.close()


async def begun(cluster: LiveBrokers, home: Path) -> int:
    """Starts both; the port of the broker's listener without TLS."""
    (node,) = cluster.quorum.nodes.values()
    line = texts(composed(home, Protocol.SASL_SSL)[f"{QUORUM}-users"])[USERS_KEY].rstrip("\n")
    assert line.endswith(";")
    key, value = f'{line[:-1]} user_{NO_SUPER_USER}="{WORD}";'.split("=", 1)
    cluster.quorum.config |= {
        key: value,
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users": ";".join(quorum_users(home)),
    }
    cluster.quorum.write_config(node)
    node.security = login((home / "ca.crt").read_text(), OPERATOR)
    (home / "pod").mkdir()
    logins = Logins(listeners=(LISTENER,), lines=broker_lines(new_passwords(lambda: WORD), (LISTENER,)))
    for name, text in pool_secret(home, logins).items():
        (home / "pod" / name).write_text(text)
    of = replace(contract_of(runtime_of(home, Protocol.SASL_SSL), node.port, QUORUM), certificates=GENERATION)
    await controller_runs(cluster)
    broker = cluster.brokers[BROKER]
    ports = write_properties(broker, of, home, SPEC)
    cluster.format(broker)
    cluster.start(broker)
    return ports["OPEN"]


async def settled(world: World) -> None:
    """Waits until the broker answers the operator, and both authorizers have read the rights."""

    async def refusing() -> bool | None:
        await world.value()
        for at in (world.as_user(NO_SUPER_USER), world.as_subject(AT_QUORUM)):
            try:
                await world.settings.describe_broker_config(at, at.node_id)
            except KafkaRefused as error:
                if "AUTHORIZATION_FAILED" not in str(error):
                    return None
        return True

    await wait_for("a broker and a controller that apply rights", refusing, deadline_s=120.0)


async def test_who_they_are(world: World) -> None:
    """Users with passwords, the subjects of brokers and operator, and those of the spec; no controller's subject."""
    users = {f"User:quorum-{each}" for each in ("controllers", "brokers", "operator")}
    subjects = {user_of(each) for each in ("brokers", "operator", AT_QUORUM)}
    assert set(quorum_users(world.home)) == users | subjects


@pytest.mark.parametrize("name", REQUESTS)
async def test_a_user_with_a_password_at_a_controller(world: World, name: str) -> None:
    """Each request needs a right, which the operator's user has, and another user of the same listener has not."""
    send, operation, resource = REQUESTS[name]
    before = len(denied(world.controller))
    try:
        with pytest.raises(KafkaRefused, match="AUTHORIZATION_FAILED"):
            await send(world, world.as_user(NO_SUPER_USER))
    except KafkaVersionUnsupported:
        assert world.kafka.version < DEFAULT_VERSION
        pytest.skip("this release does not have the request")

    async def logged() -> list[tuple[str, ...]] | None:
        return denied(world.controller)[before:] or None

    rows = await wait_for("the refusal in the log", logged)
    request = name.split(maxsplit=1)[0]
    assert set(rows) == {(f"User:{NO_SUPER_USER}", operation, resource, request)}
    try:
        await send(world, world.as_user(OPERATOR))
    except KafkaError as error:
        if "AUTHORIZATION_FAILED" in str(error):
            raise
    assert denied(world.controller)[before:] == rows


async def test_what_a_broker_passes_on_for_the_operator(world: World) -> None:
    """A change of a broker's dynamic settings, asked of that broker, is done: both read the certificate's subject."""
    before = len(denied(world.controller)), len(denied(world.broker))
    for number in ("1000001", "1000002"):
        at = world.as_subject("operator")
        await world.settings.alter_broker_config(at, BROKER, (ConfigChange(name=SETTING, value=number),))

        async def shown(number: str = number) -> bool | None:
            return await world.value() == number or None

        await wait_for("the new value", shown)
    assert (len(denied(world.controller)), len(denied(world.broker))) == before
    note("passed on for the operator", release=world.kafka.version)


@pytest.mark.parametrize("who", [AT_BROKER, ANONYMOUS])
async def test_a_user_of_the_brokers_list_alone(world: World, who: str) -> None:
    """A user whom only the broker's list has is refused by the controller, under its own name, anonymous or not."""
    at, name = (world.as_nobody(), who) if who == ANONYMOUS else (world.as_subject(who), user_of(who))
    assert await refusals(world, at) == ({row_of(name)}, set())


async def test_a_user_of_the_controllers_list_alone(world: World) -> None:
    """A broker of 4.4 refuses a user whom only the controllers' list has, and passes nothing on.

    One of 4.1 or 3.9 leaves the judgement to the controller, and the change is done.
    """
    at = world.as_subject(AT_QUORUM)
    if world.kafka.version in JUDGING:
        assert await refusals(world, at) == (set(), {row_of(user_of(AT_QUORUM))})
        return
    await world.settings.alter_broker_config(at, BROKER, (ConfigChange(name=SETTING, value="1000003"),))

    async def shown() -> bool | None:
        return await world.value() == "1000003" or None

    await wait_for("the new value", shown)


def row_of(name: str) -> tuple[str, ...]:
    """A refusal of the change in a log."""
    return (name, "ALTER_CONFIGS", CLUSTER, "IncrementalAlterConfigs")


async def refusals(world: World, at: Endpoint) -> tuple[set[tuple[str, ...]], set[tuple[str, ...]]]:
    """What the controller and the broker write when this client's change is refused; nothing changes then."""
    value, controller, broker = await world.value(), len(denied(world.controller)), len(denied(world.broker))
    with pytest.raises(KafkaRefused, match="CLUSTER_AUTHORIZATION_FAILED"):
        await world.settings.alter_broker_config(at, BROKER, (ConfigChange(name=SETTING, value="7"),))

    async def logged() -> bool | None:
        return len(denied(world.controller)) + len(denied(world.broker)) > controller + broker or None

    await wait_for("the refusal in a log", logged)
    assert await world.value() == value
    return set(denied(world.controller)[controller:]), set(denied(world.broker)[broker:])
