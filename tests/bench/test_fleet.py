"""The simulated controllers of `make bench-fleet`: the operator's wire code understands them, with and without TLS."""

import asyncio
import base64
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

import aiohttp
import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer
from cryptography.hazmat.primitives import hashes
from tests.wire.authorities import Authority

from bench.fleet.controllers import VirtualQuorum
from bench.fleet.world import Conversation, World, listener
from kafka_quorum.errors import KafkaError
from kafka_quorum.model.handshakes import Served
from kafka_quorum.model.ids import NodeID, uuid_to_bytes
from kafka_quorum.model.quorum import Endpoint
from kafka_quorum.wire.admin import KafkaControllers
from kafka_quorum.wire.connection import Limits
from kafka_quorum.wire.handshake import probe

HOST, NAME = "127.0.0.1", "q-3000.q-controllers.fleet.svc"
DIRECTORIES = {3000: "2CLoPmTLGeP5Gfx7ZUUNZA", 3001: "n-U7amnOgkeJ-IlQisp3Rw", 3002: "wDsB2rYNTmO5cmXcOCXlIw"}
QUICK = Limits(connect_timeout_s=5.0, request_timeout_s=5.0)


@asynccontextmanager
async def serving(world: World) -> AsyncIterator[Endpoint]:
    """A quorum whose controller 3000 has this address."""
    voters = {str(node_id): text for node_id, text in DIRECTORIES.items()}
    world.fleet.quorum("fleet", "q").know("GxYTuLWqRhmb7dK0aQ2Ssw", voters)
    for node_id, address in zip(DIRECTORIES, ("127.0.0.3", "127.0.0.2", HOST), strict=True):
        world.fleet.runs("fleet", "q", node_id, address)
    world.fleet.runs("fleet", "q", 3000, HOST)
    server = await asyncio.get_running_loop().create_server(lambda: Conversation(world), HOST, 0)
    async with server:
        yield Endpoint(node_id=NodeID(3000), host=HOST, port=server.sockets[0].getsockname()[1], name=NAME)
    for conversation in [one for each in world.open.values() for one in each]:
        conversation.close()


@asynccontextmanager
async def asking() -> AsyncIterator[KafkaControllers]:
    """The operator's client, which closes its connections."""
    controllers = KafkaControllers(limits=QUICK)
    try:
        yield controllers
    finally:
        await controllers.close()


@pytest.mark.parametrize("protocol", ["PLAINTEXT", "SSL"])
async def test_the_operator_understands_the_controllers(protocol: str) -> None:
    """The controllers answer the requests of a look and the request to reload a certificate, with and without TLS.

    A listener sends only the chain of its key, as Kafka does.
    """
    authority, secured = Authority(), protocol == "SSL"
    client, served = authority.leaf("operator", addresses=()), authority.leaf(dns=(NAME,))
    async with aiohttp.ClientSession() as session:
        world = World(session)
        if secured:
            world.tls[HOST] = listener(served.keystore, client.pem)
        async with serving(world) as plain, asking() as controllers:
            endpoint = replace(plain, security=authority.trusting(client)) if secured else plain
            shown = await probe(endpoint, QUICK) if secured else None
            versions = await controllers.api_versions(endpoint)
            answer = await controllers.describe_quorum(endpoint)
            await controllers.reload_keystore(endpoint, NodeID(3002), "CONTROLLER", "/etc/kafka-tls/./keystore.pem")
    assert {row.name for row in versions.finalized} >= {"kraft.version", "metadata.version"}
    assert {row.key.node_id: row.key.directory_id for row in answer.voters} == DIRECTORIES
    if secured:
        assert isinstance(shown, Served)
        fingerprint = served.certificate.fingerprint(hashes.SHA256()).hex()
        assert ([each.sha256 for each in shown.chain], shown.accepted) == ([fingerprint], True)
    assert (world.handshakes > 0, world.refused) == (secured, 0)


@pytest.mark.parametrize("who", ["no certificate", "stranger", "other client", "plaintext"])
async def test_a_controller_with_tls_refuses_other_clients(who: str) -> None:
    """A client gets no answer without a certificate, with another certificate than the operator's, or without TLS."""
    authority, other = Authority("issuing", by=Authority("root")), Authority("other")
    stranger = authority.trusting(other.leaf("operator", addresses=()))
    client = authority.leaf("operator", addresses=())
    securities = {
        "no certificate": authority.trusting(),
        "stranger": stranger,
        "other client": authority.trusting(authority.leaf("other", addresses=())),
    }
    async with aiohttp.ClientSession() as session:
        world = World(session)
        world.tls[HOST] = listener(authority.leaf(dns=(NAME,)).keystore, client.pem)
        async with serving(world) as plain, asking() as controllers:
            endpoint = replace(plain, security=securities[who]) if who in securities else plain
            with pytest.raises(KafkaError):
                await controllers.describe_quorum(endpoint)
    assert world.requests == 0


def test_directory_ids_are_those_of_kafka() -> None:
    """The fleet decodes the directory ids of a record as the operator does."""
    quorum = VirtualQuorum()
    quorum.know("GxYTuLWqRhmb7dK0aQ2Ssw", {str(node_id): text for node_id, text in DIRECTORIES.items()})
    assert quorum.voters == {node_id: uuid_to_bytes(text) for node_id, text in DIRECTORIES.items()}


@pytest.mark.parametrize(
    "data", [None, {}, {"keystore.pem": "!", "tls.crt": "!"}, {"keystore.pem": "eA==", "tls.crt": "eA=="}]
)
async def test_a_secret_that_cannot_be_used_is_read_again(data: dict[str, str] | None) -> None:
    """A controller whose Secret is unusable starts when the Secret is corrected, and the fleet goes on meanwhile."""
    authority, secrets = Authority(), iter([data])
    texts = {
        "keystore.pem": authority.leaf(dns=(NAME,)).keystore,
        "tls.crt": authority.leaf("operator", addresses=()).pem,
    }
    usable = {key: base64.b64encode(text.encode()).decode() for key, text in texts.items()}

    async def secret(_: web.Request) -> web.Response:
        return web.json_response({"data": next(secrets, usable)})

    app = web.Application()
    app.router.add_get("/api/v1/namespaces/fleet/secrets/{name}", secret)
    async with TestServer(app) as server, aiohttp.ClientSession(str(server.make_url("/"))) as session:
        world = World(session)
        labels = {"kafkaquorum.io/quorum": "q", "kafkaquorum.io/node-id": "3000"}
        metadata = {"uid": "u", "namespace": "fleet", "labels": labels}
        volumes = [{"name": "tls", "secret": {"secretName": "q-3000-tls"}}]
        pod = {"metadata": metadata, "spec": {"volumes": volumes}, "status": {"phase": "Running", "podIP": HOST}}
        world._pod("ADDED", pod)
        unlocking = asyncio.create_task(world._unlock_all())
        async with asyncio.timeout(20):
            while HOST not in world.fleet.at:
                assert not unlocking.done()
                await asyncio.sleep(0.05)
        unlocking.cancel()
    assert HOST in world.tls
