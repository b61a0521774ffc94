"""The probe of a listener: what it serves, whether it accepts our leaf, and by which name each failure goes."""

import hashlib
import itertools
import ssl
from collections.abc import Iterator
from dataclasses import dataclass, replace

import pytest
from cryptography.hazmat.primitives.serialization import Encoding
from tests.serving import HOST, serving
from tests.wire.authorities import DAY, FUTURE, NOW, PAST, Authority, Leaf
from tests.wire.fakes import FakeServer
from tests.wire.tls_peer import Peer, honest, peers

from kafka_quorum.errors import KafkaUnreachable
from kafka_quorum.model.handshakes import Failure, Handshake, NotServed, Served, refuses_client
from kafka_quorum.model.ids import NodeID
from kafka_quorum.model.quorum import Endpoint
from kafka_quorum.model.security import PLAINTEXT, Secured, Security, Tls
from kafka_quorum.wire.admin import KafkaControllers
from kafka_quorum.wire.connection import Limits
from kafka_quorum.wire.handshake import probe

PATIENT = Limits(connect_timeout_s=20.0, request_timeout_s=20.0)
QUICK = Limits(connect_timeout_s=0.3, request_timeout_s=0.3)
NAME = "demo-3000.demo-controllers.kafka.svc"


@dataclass(frozen=True, slots=True)
class World:
    """An authority that signed a server's and a client's leaf, and another authority with a client's leaf."""

    ca: Authority
    other: Authority
    server: Leaf
    client: Leaf
    stranger: Leaf


@pytest.fixture(scope="module")
def world() -> World:
    """Made once."""
    ca, other = Authority("ca"), Authority("other")
    server = ca.leaf("controllers", dns=(NAME, f"{NAME}.cluster.local"), addresses=())
    return World(ca, other, server, ca.leaf("operator", unit="demo"), other.leaf("operator", unit="demo"))


def at(port: int, security: Security, name: str = NAME) -> Endpoint:
    """Where the server of a test listens."""
    return Endpoint(node_id=NodeID(3000), host=HOST, port=port, security=security, name=name)


async def probed(
    context: ssl.SSLContext | None, security: Security, name: str = NAME, limits: Limits = PATIENT
) -> Handshake:
    """A probe of a server that answers correctly."""
    async with peers(honest, context) as port:
        return await probe(at(port, security, name), limits)


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
async def test_the_served_chain_is_shown(world: World, version: ssl.TLSVersion) -> None:
    """A server that accepts our leaf is shown with its whole chain, in the order in which it was sent."""
    middle = Authority("middle", by=world.ca)
    leaf = middle.leaf("controllers", dns=(NAME, "second.example"), unit="demo")
    context = leaf.server(clients=world.ca.pem)
    context.minimum_version = context.maximum_version = version
    found = await probed(context, world.ca.trusting(world.client))
    assert isinstance(found, Served)
    assert found.accepted
    assert not found.refused
    sent = [leaf.certificate, middle.certificate]
    assert [each.sha256 for each in found.chain] == [
        hashlib.sha256(each.public_bytes(Encoding.DER)).hexdigest() for each in sent
    ]
    assert found.leaf.subject == "CN=controllers,OU=demo,O=kafka"
    assert found.leaf.issuer == "CN=middle"
    assert int(found.leaf.serial, 16) == leaf.certificate.serial_number
    assert found.leaf.not_before_s == leaf.certificate.not_valid_before_utc.timestamp()
    assert found.leaf.not_after_s == leaf.certificate.not_valid_after_utc.timestamp()
    assert found.leaf.dns_names == (NAME, "second.example")


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
@pytest.mark.parametrize("leaf", ["stranger", "none"])
async def test_a_client_that_is_refused(world: World, version: ssl.TLSVersion, leaf: str) -> None:
    """A server that does not trust our leaf's authority, or gets no leaf, refuses us: by each version of TLS.

    With TLS 1.2 OpenSSL's alert for a missing leaf is that of any failed handshake, so its meaning is not known.
    """
    context = world.server.server(clients=world.ca.pem)
    context.minimum_version = context.maximum_version = version
    found = await probed(context, world.ca.trusting(world.stranger if leaf == "stranger" else None))
    assert isinstance(found, Served) is (version is ssl.TLSVersion.TLSv1_3)
    assert not (isinstance(found, Served) and found.accepted)
    if (version, leaf) == (ssl.TLSVersion.TLSv1_2, "none"):
        assert "HANDSHAKE_FAILURE" in found.why
    else:
        assert refuses_client(found)
        assert "client certificate" in found.why


async def test_which_authorities_a_listener_trusts(world: World) -> None:
    """The same listener is probed with a leaf of each authority, and answers those that it trusts."""
    for clients, accepted in (
        (world.ca.pem, [True, False]),
        (world.ca.pem + world.other.pem, [True, True]),
        (world.other.pem, [False, True]),
    ):
        async with peers(honest, world.server.server(clients=clients)) as port:
            found = [await probe(at(port, world.ca.trusting(leaf)), PATIENT) for leaf in (world.client, world.stranger)]
        assert [isinstance(each, Served) and each.accepted for each in found] == accepted


def test_a_refusal_is_a_refusal_by_each_version() -> None:
    """A refusal within the handshake and one after it are the same; what is not known is none."""
    chain = ()
    assert refuses_client(NotServed(failure=Failure.CLIENT_REFUSED, why=""))
    assert refuses_client(Served(chain=chain, accepted=False, refused=True))
    assert not refuses_client(Served(chain=chain, accepted=False))
    assert not refuses_client(NotServed(failure=Failure.HALF, why=""))


async def test_the_name_is_checked_and_the_address_is_connected_to(world: World) -> None:
    """A server without its address in the certificate is asked by name; with another name, or none, nothing is sent."""
    noted = FakeServer()
    controllers = KafkaControllers(PATIENT)
    async with serving(noted.serve, world.server.server()) as port:
        await controllers.api_versions(at(port, world.ca.trusting()))
        before = len(noted.requests)
        for name, wanted in (("demo-3001.demo-controllers.kafka.svc", "demo-3001"), ("", HOST)):
            with pytest.raises(KafkaUnreachable, match=f"another name.*{wanted}"):
                await controllers.api_versions(at(port, world.ca.trusting(), name))
    await controllers.close()
    assert len(noted.requests) == before == 2


@pytest.mark.parametrize("name", ["", "demo-3001.demo-controllers.kafka.svc"])
async def test_another_name_is_a_failure_of_its_own(world: World, name: str) -> None:
    """The probe says that the certificate is trusted, and for another name than was asked."""
    found = await probed(world.server.server(), world.ca.trusting(), name)
    assert isinstance(found, NotServed)
    assert found.failure is Failure.OTHER_NAME
    assert (name or HOST) in found.why


async def test_a_certificate_of_another_authority(world: World) -> None:
    """A server whose authority is not trusted is not asked, and the clause says what to correct."""
    found = await probed(world.server.server(), world.other.trusting())
    assert isinstance(found, NotServed)
    assert found.failure is Failure.NOT_TRUSTED
    assert "authority" in found.why


@pytest.mark.parametrize("times", [PAST, FUTURE])
async def test_a_certificate_that_is_not_valid_now(world: World, times: tuple[object, object]) -> None:
    """A leaf that has expired, or is not valid yet, is told from one that is not trusted."""
    leaf = world.ca.leaf(dns=(NAME,), times=times)  # type: ignore[arg-type]
    found = await probed(leaf.server(), world.ca.trusting())
    assert isinstance(found, NotServed)
    assert found.failure is Failure.EXPIRED


async def test_a_listener_without_tls(world: World) -> None:
    """A listener that answers Kafka's protocol in the clear has no TLS; one that answers otherwise has none either."""

    async def picky(peer: Peer) -> None:
        while (length := int.from_bytes(await peer.reader.readexactly(4), "big")) < 2**20:
            reply = FakeServer().versions(await peer.reader.readexactly(length))
            assert isinstance(reply, bytes)
            await peer.send(reply)

    async with peers(picky) as port:
        found = await probe(at(port, world.ca.trusting()), PATIENT)
    assert isinstance(found, NotServed)
    assert found.failure is Failure.NO_TLS

    async def junk(peer: Peer) -> None:
        await peer.send(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        await peer.wait()

    async with peers(junk) as port:
        found = await probe(at(port, world.ca.trusting()), PATIENT)
    assert isinstance(found, NotServed)
    assert found.failure is Failure.NO_TLS


async def test_a_listener_that_does_not_answer(world: World) -> None:
    """Silence, half a handshake, an end within it, and no connection at all are told apart, each within its limit."""

    async def silent(peer: Peer) -> None:
        await peer.wait()

    async def half(peer: Peer) -> None:
        await peer.send(b"\x16\x03\x03\x00\x7a\x02")
        await peer.wait()

    async def ends(peer: Peer) -> None:
        await peer.reader.readexactly(1)

    async def without_a_word(_: Peer) -> None:
        pass

    for serve, failure, limits in (
        (silent, Failure.SILENT, QUICK),
        (half, Failure.HALF, QUICK),
        (ends, Failure.ENDED, PATIENT),
        (without_a_word, Failure.ENDED, PATIENT),
    ):
        async with peers(serve) as port:
            found = await probe(at(port, world.ca.trusting()), limits)
        assert isinstance(found, NotServed)
        assert found.failure is failure
        assert found.why
    found = await probe(at(port, world.ca.trusting()), PATIENT)
    assert isinstance(found, NotServed)
    assert found.failure is Failure.UNREACHABLE


@pytest.mark.parametrize(
    ("security", "name", "words"),
    [
        (PLAINTEXT, NAME, "no TLS"),
        (Secured(tls=Tls(ca="")), NAME, r"ca\.crt is empty"),
        ("good", ".", "no host name"),
        ("good", "a\0b", "no host name"),
        ("good", "x" * 64, "no host name"),
    ],
)
async def test_what_cannot_be_used_is_not_sent_anywhere(
    world: World, security: Security | str, name: str, words: str
) -> None:
    """A security without TLS, without an authority, or with a name that is none is our own fault; nothing is sent."""
    used = world.ca.trusting() if isinstance(security, str) else security
    found = await probe(at(1, used, name), PATIENT)
    assert isinstance(found, NotServed)
    assert found.failure is Failure.UNUSABLE
    assert words.replace("\\", "") in found.why


async def test_every_thread_of_a_listener_is_asked(world: World) -> None:
    """While one of three threads serves the former leaf, or refuses us, the listener as a whole does."""
    new = world.ca.leaf(dns=(NAME,), times=(NOW, NOW + DAY))
    good, old = new.server(clients=world.ca.pem), world.server.server(clients=world.ca.pem)
    refusing = new.server(clients=world.other.pem)
    controllers = KafkaControllers(PATIENT)
    for one, leaf, accepted in ((good, new, True), (old, world.server, True), (refusing, new, False)):
        contexts = itertools.cycle((good, one, good))

        async def in_turn(peer: Peer, contexts: Iterator[ssl.SSLContext] = contexts) -> None:
            peer.context = next(contexts)
            await honest(peer)

        async with peers(in_turn) as port:
            found = await controllers.handshake(at(port, world.ca.trusting(world.client)))
        assert isinstance(found, Served)
        assert int(found.leaf.serial, 16) == leaf.certificate.serial_number
        assert (found.accepted, refuses_client(found)) == (accepted, not accepted)
    await controllers.close()


async def test_a_secret_that_changes_is_another_connection(world: World) -> None:
    """Another leaf, or another name, of one listener is another connection, and the former one is closed."""
    noted = FakeServer()
    controllers = KafkaControllers(PATIENT)
    leaf = world.ca.leaf(dns=(NAME, "second.example"))
    async with serving(noted.serve, leaf.server(clients=world.ca.pem)) as port:
        first = at(port, world.ca.trusting(world.client))
        later = replace(first, security=world.ca.trusting(world.ca.leaf("operator", unit="demo")))
        for endpoint in (first, first, later, later, replace(later, name="second.example")):
            await controllers.api_versions(endpoint)
            assert list(controllers._connections) == [endpoint]
    await controllers.close()
    assert noted.connections == 3
