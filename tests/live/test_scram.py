"""Users of SCRAM on real controllers and brokers: who answers what, the question that changes nothing, and logins."""

import asyncio
import hashlib
from collections.abc import AsyncIterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

import pytest
import pytest_asyncio
from tests.live.broker_worlds import releases
from tests.live.brokers import CONTROLLER, INTERNAL, LiveBroker, LiveBrokers
from tests.live.jars import ensure_kafka
from tests.live.ports import HOST, free_port
from tests.live.quorum import LISTENER
from tests.live.waiting import wait_for

from kafka_quorum.errors import KafkaDenied, KafkaRefused
from kafka_quorum.model.quorum import Endpoint
from kafka_quorum.model.scram import ScramCredential, ScramEntry, ScramMechanism, ScramRemoval
from kafka_quorum.model.security import Mechanism, Sasl, Secured
from kafka_quorum.wire.admin import KafkaControllers
from kafka_quorum.wire.broker_admin import KafkaBrokers
from kafka_quorum.wire.connection import Limits
from kafka_quorum.wire.requests import describe_scram

pytestmark = [pytest.mark.live, pytest.mark.timeout(300), pytest.mark.asyncio(loop_scope="module")]

PATIENT: Final = Limits(connect_timeout_s=15.0, request_timeout_s=15.0)
SHA_256, SHA_512 = ScramMechanism.SHA_256, ScramMechanism.SHA_512
SALT: Final = b"0123456789abcdef"
_MODULE: Final = "org.apache.kafka.common.security.scram.ScramLoginModule required;"


def made(user: str, password: str, mechanism: ScramMechanism = SHA_512, iterations: int = 8192) -> ScramCredential:
    """A credential of this password."""
    algorithm = "sha512" if mechanism is SHA_512 else "sha256"
    salted = hashlib.pbkdf2_hmac(algorithm, password.encode(), SALT, iterations)
    return ScramCredential(user=user, mechanism=mechanism, iterations=iterations, salt=SALT, salted_password=salted)


class _Asking(KafkaControllers):
    """A client that also asks controllers what they list and cannot do."""

    async def describe_scram(self, endpoint: Endpoint, users: tuple[str, ...]) -> tuple[ScramEntry, ...]:
        """DescribeUserScramCredentials."""
        return await self._send(endpoint, describe_scram.request(users))


@dataclass(slots=True)
class World:
    """A controller and a broker whose listener SCRAM has SASL_PLAINTEXT."""

    cluster: LiveBrokers
    port: int
    controllers: _Asking = field(default_factory=_Asking)

    @property
    def leader(self) -> Endpoint:
        """The controller."""
        return next(iter(self.cluster.quorum.nodes.values())).endpoint

    @property
    def broker(self) -> Endpoint:
        """The broker, by its listener without users."""
        return self.cluster.brokers[1].endpoint

    async def described(self, *users: str) -> list[tuple[str, int]]:
        """The credentials as the broker reports them."""
        entries = await self.cluster.client.describe_scram(self.broker, users)
        return [(each.user, each.mechanism) for each in entries]

    async def may_log_in(self, user: str, password: str) -> bool:
        """Whether this user can log in with this password, by a new connection."""
        sasl = Sasl(mechanism=Mechanism.SCRAM_SHA_512, username=user, password=password)
        at = replace(self.broker, port=self.port, security=Secured(sasl=sasl))
        client = KafkaBrokers(PATIENT)
        try:
            return bool((await client.metadata(at, partitions=False)).brokers)
        except KafkaDenied:
            return False
        finally:
            await client.close()

    async def until(self, user: str, password: str, *, works: bool) -> None:
        """Waits until the broker has read what was written."""

        async def seen() -> bool | None:
            return (await self.may_log_in(user, password)) is works or None

        await wait_for(f"{user} {'can' if works else 'cannot'} log in", seen)


def with_scram(cluster: LiveBrokers, broker: LiveBroker) -> int:
    """Gives a broker a listener for users, and returns its port."""
    port = free_port()
    broker.config |= {
        "listeners": f"{INTERNAL}://{HOST}:{broker.port},SCRAM://{HOST}:{port}",
        "listener.security.protocol.map": f"{INTERNAL}:PLAINTEXT,{LISTENER}:PLAINTEXT,SCRAM:SASL_PLAINTEXT",
        "listener.name.scram.sasl.enabled.mechanisms": "SCRAM-SHA-512",
        "listener.name.scram.scram-sha-512.sasl.jaas.config": _MODULE,
        "connection.failed.authentication.delay.ms": "0",
    }
    cluster.write(broker)
    return port


async def opened(version: str, home: str, features: tuple[str, ...] = ()) -> World:
    """A cluster of this release."""
    cluster = LiveBrokers(ensure_kafka(version), Path(home), brokers=(1,), controllers=(CONTROLLER,), features=features)
    port = with_scram(cluster, cluster.brokers[1])
    await cluster.open()
    return World(cluster=cluster, port=port)


@pytest_asyncio.fixture(scope="module", loop_scope="module", params=[*releases("4.1.2"), "3.9.2"])
async def world(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[World]:
    """One for each release."""
    found = await opened(request.param, str(tmp_path_factory.mktemp("scram")))
    yield found
    await found.controllers.close()
    await found.cluster.close()


async def test_controllers_list_a_question_that_they_do_not_answer(world: World) -> None:
    """A controller has no handler for DescribeUserScramCredentials, and a broker answers it."""
    with pytest.raises(KafkaRefused, match="UNKNOWN_SERVER_ERROR"):
        await world.controllers.describe_scram(world.leader, ("absent",))
    assert await world.described("absent") == []


async def test_the_question_changes_nothing(world: World) -> None:
    """Asked again and again, it names exactly those who have a credential of the mechanism, and all stay."""
    await world.controllers.alter_scram(world.leader, made("short", "one", SHA_256))
    await world.controllers.alter_scram(world.leader, made("long", "two"))
    users = ("absent", "short", "long")
    for _ in range(3):
        assert await world.controllers.scram_present(world.leader, users, SHA_256) == {"short"}
        assert await world.controllers.scram_present(world.leader, users, SHA_512) == {"long"}
    await world.until("long", "two", works=True)
    assert await world.described(*users) == [("long", SHA_512), ("short", SHA_256)]


async def test_a_user_from_the_first_login_to_the_end(world: World) -> None:
    """A user can log in with the password, after a change only with the new one, and after the removal not at all."""
    await world.controllers.alter_scram(world.leader, made("ada", "f=n,ce é-1"))
    await world.until("ada", "f=n,ce é-1", works=True)
    assert not await world.may_log_in("ada", "another")
    for _ in range(2):  # each change may be sent again
        await world.controllers.alter_scram(world.leader, made("ada", "another"))
    await world.until("ada", "another", works=True)
    assert not await world.may_log_in("ada", "f=n,ce é-1")
    for _ in range(2):
        await world.controllers.alter_scram(world.leader, ScramRemoval(user="ada", mechanism=SHA_512))
    await world.until("ada", "another", works=False)


async def test_iterations_that_kafka_refuses(world: World) -> None:
    """Fewer than 4096 and more than 16384 iterations are refused before anything is written."""
    for iterations in (4095, 16385):
        with pytest.raises(KafkaRefused, match="UNACCEPTABLE_CREDENTIAL") as failure:
            await world.controllers.alter_scram(world.leader, made("few", "one", iterations=iterations))
        assert not failure.value.outcome_unknown
    assert await world.controllers.scram_present(world.leader, ("few",), SHA_512) == frozenset()


@pytest.mark.parametrize(("level", "supported"), [(10, False), (11, True)])
async def test_since_which_level(tmp_path_factory: pytest.TempPathFactory, level: int, supported: bool) -> None:  # noqa: FBT001 - a column of the table
    """Below 3.5-IV2 both forms of the request are refused with UNSUPPORTED_VERSION, and from there on both work."""
    old = await opened("3.9.2", str(tmp_path_factory.mktemp("level")), (f"metadata.version={level}",))
    try:
        requests = (
            lambda: old.controllers.scram_present(old.leader, ("ada",), SHA_512),
            lambda: old.controllers.alter_scram(old.leader, made("ada", "one")),
        )
        for ask in requests:
            if supported:
                await ask()
                continue
            with pytest.raises(KafkaRefused, match="UNSUPPORTED_VERSION"):
                await ask()
    finally:
        await asyncio.gather(old.controllers.close(), old.cluster.close())
