"""Certificates that change under running controllers: what is loaded, what is refused, and who is accepted."""

import asyncio
import time
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Final

import pytest
import pytest_asyncio
from tests.live.broker_worlds import release, releases
from tests.live.jars import OLDER_VERSIONS, ensure_kafka
from tests.live.quorum import LiveNode
from tests.live.trust import PROBES, UNIT, TrustedThree, name_of, serial
from tests.live.waiting import wait_for
from tests.wire.authorities import FUTURE, PAST

from kafka_quorum.errors import KafkaRefused
from kafka_quorum.model.handshakes import Failure, NotServed, refuses_client
from kafka_quorum.wire.connection import Connection
from kafka_quorum.wire.requests import api_versions

pytestmark = [pytest.mark.live, pytest.mark.timeout(240), pytest.mark.asyncio(loop_scope="module")]

RELOADING: Final = ("4.4.0", "4.3.0")
"""Releases whose controllers load a certificate while they run, also in a dynamic quorum."""
SETTLED_S: Final = 2.0
NOT_LOADED_S: Final = 4.0
"""What is loaded at all was loaded in 2 s."""
ASKED_TWICE: Final = 2


@pytest_asyncio.fixture(
    scope="module",
    loop_scope="module",
    params=releases("4.3.0", *OLDER_VERSIONS),
)
async def three(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[TrustedThree]:
    """Three controllers of each release."""
    world = TrustedThree(release(request), tmp_path_factory.mktemp("trust"))
    try:
        await world.open()
        yield world
    finally:
        await world.close()


def reloads(world: TrustedThree) -> bool:
    """Whether its controllers load certificates while they run."""
    return world.kafka.version in RELOADING


async def both(world: TrustedThree) -> list[LiveNode]:
    """The leader, and a follower."""
    return [await world.leader(), (await world.followers())[0]]


async def ask_again(world: TrustedThree, node: LiveNode) -> None:
    """Asks the leader to let a controller load its certificate, with the same path as ever."""
    await world.set(await world.leader(), node, "ssl.keystore.location", str(world.keystore(node)))


async def still_serves(world: TrustedThree, node: LiveNode, number: int) -> None:
    """Checks for some seconds that the listener serves this leaf."""
    for _ in range(int(NOT_LOADED_S / 0.5)):
        assert set(await world.serials(node)) == {number}
        await asyncio.sleep(0.5)


async def served(world: TrustedThree, node: LiveNode) -> int:
    """The serial number of what the listener serves, when it has been the same for some seconds.

    A request of another test may still be loaded: a file that changes meanwhile is loaded with it.
    """
    since_s, last = time.monotonic(), set[int]()

    async def settled() -> int | None:
        nonlocal since_s, last
        now = set(await world.serials(node))
        if now != last:
            since_s, last = time.monotonic(), now
        return min(now) if len(now) == 1 and time.monotonic() - since_s >= SETTLED_S else None

    return await wait_for("a listener that serves one leaf", settled, pause_s=0.2)


async def test_a_new_leaf_is_loaded_by_a_request_to_the_leader(three: TrustedThree) -> None:
    """A leader and a follower load the file again each time that the leader is asked for the same path.

    Connections that are open stay. A leader of 4.1 or 3.9 refuses the setting for every controller of a dynamic quorum.
    """
    for node in await both(three):
        kept = Connection(endpoint=three.at(node))
        await kept.call(api_versions.API, lambda _: api_versions.message())
        session = kept._session
        for _ in range(ASKED_TWICE):
            leaf, before = three.leaf(node), await served(three, node)
            three.give(node, leaf)
            if not reloads(three):
                with pytest.raises(KafkaRefused, match="BROKER_ID_NOT_REGISTERED"):
                    await ask_again(three, node)
                await still_serves(three, node, before)
                continue
            await ask_again(three, node)
            await three.serves(node, leaf)
        await kept.call(api_versions.API, lambda _: api_versions.message())
        assert kept._session is session
        kept.close()


@pytest.mark.full
@pytest.mark.parametrize("version", OLDER_VERSIONS)
async def test_an_older_leader_of_a_static_quorum_takes_the_request(version: str, tmp_path: Path) -> None:
    """It knows the controllers that its own configuration names, and they load their files: leader and follower."""
    world = TrustedThree(ensure_kafka(version), tmp_path / "static", static=True)
    try:
        await world.open()
        for node in await both(world):
            leaf = world.leaf(node)
            world.give(node, leaf)
            await ask_again(world, node)
            await world.serves(node, leaf)
    finally:
        await world.close()


async def test_a_changed_file_alone_is_not_loaded(three: TrustedThree) -> None:
    """No release watches its files."""
    node = (await three.followers())[0]
    before = await served(three, node)
    three.give(node, three.leaf(node))
    await still_serves(three, node, before)


async def test_a_follower_does_not_take_the_request(three: TrustedThree) -> None:
    """A follower refuses a setting of its own: only the leader takes it."""
    node = (await three.followers())[0]
    with pytest.raises(KafkaRefused, match="NOT_CONTROLLER"):
        await three.set(node, node, "ssl.keystore.location", str(three.keystore(node)))


async def test_one_handshake_is_no_proof(three: TrustedThree) -> None:
    """For a moment a listener serves both leaves: its threads load the file one after another.

    A file that changes in this moment leaves a thread with what it had: only many handshakes in turn are a proof.
    """
    if not reloads(three):
        pytest.skip("it loads nothing")
    node = (await three.followers())[0]
    before, leaf, seen = await served(three, node), three.leaf(node), set[frozenset[int]]()
    three.give(node, leaf)
    await ask_again(three, node)

    async def loaded() -> bool | None:
        seen.add(frozenset(await three.serials(node)))
        return True if frozenset({serial(leaf)}) in seen else None

    await wait_for("every thread serves the new leaf", loaded, pause_s=0.0)
    assert frozenset({before, serial(leaf)}) in seen


async def test_trust_is_loaded_by_a_request_to_the_leader(three: TrustedThree) -> None:
    """A listener's own trust store is loaded in the same way, and decides about new connections from then on."""
    if not reloads(three):
        pytest.skip("it loads nothing")
    node, new = (await three.followers())[0], three.other.leaf("operator", unit=UNIT)
    try:
        for trusted, expected in (
            ((three.ca,), (True, False)),
            ((three.ca, three.other), (True, True)),
            ((three.other,), (False, True)),
            ((three.ca,), (True, False)),
        ):
            three.trust(node, *trusted)
            await three.set(await three.leader(), node, "ssl.truststore.location", str(three.truststore(node)))

            async def accepted(expected: tuple[bool, bool] = expected) -> bool | None:
                found = {
                    (await three.accepts(node, three.operator), await three.accepts(node, new)) for _ in range(PROBES)
                }
                return True if found == {expected} else None

            await wait_for(f"the old and the new client are accepted as {expected}", accepted)
    finally:
        three.trust(node, three.ca)


@pytest.mark.parametrize("case", ["another subject", "fewer names"])
async def test_a_leaf_that_kafka_refuses_is_not_served(three: TrustedThree, case: str) -> None:
    """Another subject, or fewer names, is no error in the answer: the former leaf is served on, and the log has it."""
    if not reloads(three):
        pytest.skip("it loads nothing")
    for node in await both(three):
        good = three.leaf(node)
        three.give(node, good)
        await ask_again(three, node)
        await three.serves(node, good)
        fewer = three.ca.leaf("controllers", dns=(name_of(node),), addresses=(), unit=UNIT)
        three.give(node, three.leaf(node, name="elsewhere") if case == "another subject" else fewer)
        await ask_again(three, node)
        await still_serves(three, node, serial(good))
        words = "DistinguishedName does not match" if case == "another subject" else "SubjectAltNames do not match"
        assert words in node.log.read_text(errors="replace")
        three.give(node, good)


async def test_which_clients_are_accepted(three: TrustedThree) -> None:
    """A client of the trusted authority is accepted; one of another authority, of the past, or of the future is not."""
    for node in await both(three):
        assert await three.accepts(node, three.operator)
        for client in (
            three.other.leaf("operator", unit=UNIT),
            three.ca.leaf("operator", unit=UNIT, times=PAST),
            three.ca.leaf("operator", unit=UNIT, times=FUTURE),
        ):
            assert refuses_client(await three.shown(node, client))


async def test_a_restart_with_both_authorities_accepts_both(three: TrustedThree) -> None:
    """A controller that starts with both authorities accepts the clients of both; the others accept one as before."""
    node, *others = await three.followers()
    new = three.other.leaf("operator", unit=UNIT)
    three.trust(node, three.ca, three.other)
    assert refuses_client(await three.shown(node, new))
    node.running.stop()
    three.quorum.start(node)

    async def accepted() -> bool | None:
        return True if await three.accepts(node, new) else None

    try:
        await wait_for("the client of the new authority is accepted", accepted)
        assert await three.accepts(node, three.operator)
        assert refuses_client(await three.shown(others[0], new))
    finally:
        three.trust(node, three.ca)
        node.running.stop()
        three.quorum.start(node)
        await wait_for("it answers again", lambda: three.controllers.api_versions(three.at(node)))


async def test_a_controller_reports_its_settings(three: TrustedThree) -> None:
    """Every controller reports the stores of its own process, whether it leads or not, and of no other one."""
    leader, follower = await both(three)
    for node in (leader, follower):
        rows = await three.settings.describe_broker_config(three.at(node), node.node_id)
        found = {row.name: row for row in rows}
        assert found["ssl.truststore.location"].value == str(three.truststore(node))
        assert found["ssl.truststore.location"].source == 4
        assert found["controller.listener.names"].value == "CONTROLLER"
    with pytest.raises(KafkaRefused, match="INVALID_REQUEST"):
        await three.settings.describe_broker_config(three.at(follower), leader.node_id)


async def test_a_real_listener_of_another_name(three: TrustedThree) -> None:
    """A listener whose certificate has another name than was asked is told from one that is not trusted."""
    leader = await three.leader()
    found = await three.controllers.handshake(replace(three.at(leader), name="demo-9.demo-controllers.kafka.svc"))
    assert isinstance(found, NotServed)
    assert found.failure is Failure.OTHER_NAME
