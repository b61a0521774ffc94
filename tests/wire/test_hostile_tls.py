"""Whatever a peer does with TLS, a probe ends in time with a clause, and with nothing left open or kept."""

import asyncio
import contextlib
import gc
import os
import ssl
import struct
import time
import tracemalloc
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.serving import HOST
from tests.wire.authorities import PAST, Authority, Leaf
from tests.wire.tls_peer import Peer, honest, peers

from kafka_quorum.model.handshakes import Failure, Handshake, NotServed, Served
from kafka_quorum.model.ids import NodeID
from kafka_quorum.model.quorum import Endpoint
from kafka_quorum.model.security import Secured
from kafka_quorum.wire.chain import MAX_CERTIFICATES
from kafka_quorum.wire.connection import Limits
from kafka_quorum.wire.handshake import MAX_RECEIVED_BYTES, probe
from kit.pki.certificate import NAMES_MAX

NAME = "demo-3000.demo-controllers.kafka.svc"
PATIENT = Limits(connect_timeout_s=20.0, request_timeout_s=20.0)
QUICK = Limits(connect_timeout_s=0.5, request_timeout_s=0.5)
LATE_S = 3.0
"""How much longer than its limits a probe may take on a busy machine."""
HANDSHAKE, APPLICATION, ALERT = 22, 23, 21


@dataclass(frozen=True, slots=True)
class World:
    """An authority, and leaves of it."""

    ca: Authority
    server: Leaf
    client: Leaf

    @property
    def security(self) -> Secured:
        """Of the operator."""
        return self.ca.trusting(self.client)


@pytest.fixture(scope="module")
def world() -> World:
    """Made once."""
    ca = Authority("ca")
    return World(ca, ca.leaf(dns=(NAME,)), ca.leaf("operator"))


def at(port: int, world: World, name: str = NAME) -> Endpoint:
    """Where the server of a test listens."""
    return Endpoint(node_id=NodeID(3000), host=HOST, port=port, security=world.security, name=name)


def record(kind: int, body: bytes) -> bytes:
    """A record of TLS, in the clear."""
    return struct.pack(">BHH", kind, 0x0303, len(body)) + body


async def alone(peer: Peer) -> None:
    """Nothing."""
    await peer.wait()


async def after_its_hello(peer: Peer) -> None:
    """The first flight, and nothing more."""
    await peer.send(await peer.first_flight())
    await peer.wait()


async def half_its_hello(peer: Peer) -> None:
    """A part of the first flight."""
    flight = await peer.first_flight()
    await peer.send(flight[: len(flight) // 2])
    await peer.wait()


async def after_the_handshake(peer: Peer) -> None:
    """The whole handshake, and nothing more."""
    await peer.handshake()
    await peer.wait()


async def after_the_request(peer: Peer) -> None:
    """It reads the request, and does not answer."""
    await peer.handshake()
    await peer.request()
    await peer.wait()


async def a_byte_at_a_time(peer: Peer) -> None:
    """The first flight, slower than any deadline."""
    for byte in await peer.first_flight():
        await peer.send(bytes([byte]))
        await asyncio.sleep(0.05)


@pytest.mark.parametrize(
    ("script", "failure"),
    [
        (alone, Failure.SILENT),
        (half_its_hello, Failure.HALF),
        (after_its_hello, Failure.HALF),
        (a_byte_at_a_time, Failure.HALF),
        (after_the_handshake, None),
        (after_the_request, None),
    ],
)
@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
async def test_silence_after_each_flight(
    world: World, script: Callable[[Peer], Awaitable[None]], failure: Failure | None, version: ssl.TLSVersion
) -> None:
    """A peer that stops after any flight ends the probe at its deadline; whether it accepts us is not known then."""
    context = world.server.server(clients=world.ca.pem)
    context.minimum_version = context.maximum_version = version
    async with peers(script, context) as port:
        began_s = time.monotonic()
        found = await probe(at(port, world), QUICK)
        assert time.monotonic() - began_s < 2 * (QUICK.connect_timeout_s + QUICK.request_timeout_s) + LATE_S
    assert "0.5 s" in found.why
    whole = script is after_its_hello and version is ssl.TLSVersion.TLSv1_3  # its first flight is all that it sends
    if failure is not None and not whole:
        assert isinstance(found, NotServed)
        assert found.failure is failure
    else:
        assert isinstance(found, Served)
        assert not found.accepted
        assert not found.refused


NAMES_REFUSED = {
    "another name": ("demo-3001.demo-controllers.kafka.svc",),
    "every name": ("*",),
    "two wildcards": ("*.*.kafka.svc",),
    "a wildcard in the middle": ("demo-3000.*.kafka.svc",),
    "a part of a label": ("demo-*.demo-controllers.kafka.svc",),
    "a wildcard for two labels": ("*.kafka.svc",),
    "the domain above": ("demo-controllers.kafka.svc",),
    "a name behind it": (f"{NAME}.example.com",),
    "nothing": (),
}


@pytest.mark.parametrize("case", NAMES_REFUSED)
async def test_names_that_are_not_ours(world: World, case: str) -> None:
    """A trusted certificate for other names, or with tricks for all of them, is for another name."""
    leaf = world.ca.leaf(dns=NAMES_REFUSED[case], addresses=())
    async with peers(honest, leaf.server()) as port:
        found = await probe(at(port, world), PATIENT)
    assert isinstance(found, NotServed)
    assert found.failure is Failure.OTHER_NAME
    assert NAME in found.why


async def test_a_common_name_does_not_count_beside_names(world: World) -> None:
    """A leaf whose common name is ours, and whose names are others, is for another name."""
    leaf = world.ca.leaf(NAME, dns=("elsewhere.example",))
    async with peers(honest, leaf.server()) as port:
        found = await probe(at(port, world), PATIENT)
    assert isinstance(found, NotServed)
    assert found.failure is Failure.OTHER_NAME


@pytest.mark.parametrize("value", [NAME.encode() + b"\0.evil.example", b"evil.example\0" + NAME.encode()])
async def test_a_name_with_a_zero_byte(world: World, value: bytes) -> None:
    """A zero byte ends no name: neither what is before it nor what is behind it is accepted."""
    entry = bytes([0x82, len(value)]) + value
    leaf = world.ca.leaf(raw_names=bytes([0x30, len(entry)]) + entry)
    async with peers(honest, leaf.server()) as port:
        found = await probe(at(port, world), PATIENT)
    assert isinstance(found, NotServed)
    assert found.failure in (Failure.OTHER_NAME, Failure.NOT_TRUSTED)


async def test_an_address_as_a_dns_name(world: World) -> None:
    """An address counts only as an address: written as a DNS name it is none."""
    leaf = world.ca.leaf(dns=(HOST,), addresses=())
    async with peers(honest, leaf.server()) as port:
        found = await probe(at(port, world, name=""), PATIENT)
    assert isinstance(found, NotServed)
    assert found.failure is Failure.OTHER_NAME


async def test_who_signed_it(world: World) -> None:
    """Signed by itself, by an authority of the same name with another key, by a leaf, or by an expired authority."""
    itself = Authority(NAME)
    fake = Authority("ca").leaf(dns=(NAME,))
    by_leaf = Authority("controllers", key=world.server.key)
    by_leaf.certificate = world.server.certificate
    under = by_leaf.leaf(dns=(NAME,))
    for leaf, failure in (
        (Leaf(certificate=itself.certificate, key=itself.key), Failure.NOT_TRUSTED),
        (fake, Failure.NOT_TRUSTED),
        (Leaf(certificate=under.certificate, key=under.key, above=(world.server.certificate,)), Failure.NOT_TRUSTED),
        (Authority("middle", by=world.ca, times=PAST).leaf(dns=(NAME,)), Failure.EXPIRED),
    ):
        async with peers(honest, leaf.server()) as port:
            found = await probe(at(port, world), PATIENT)
        assert isinstance(found, NotServed), leaf
        assert found.failure is failure


async def test_old_versions(world: World) -> None:
    """A server that has only TLS 1.0 or 1.1 has no version that is used."""
    for minor in (1, 2):

        async def old(peer: Peer, minor: int = minor) -> None:
            await peer.reader.read(4096)
            hello = bytes([3, minor]) + bytes(32) + b"\0" + b"\x00\x2f" + b"\0"
            body = b"\x02" + len(hello).to_bytes(3, "big") + hello
            await peer.send(struct.pack(">BBBH", HANDSHAKE, 3, minor, len(body)) + body)
            await peer.wait()

        async with peers(old) as port:
            found = await probe(at(port, world), PATIENT)
        assert isinstance(found, NotServed)
        assert found.failure is Failure.NO_VERSION


def bloated(world: World, count: int) -> ssl.SSLContext:
    """Sends the authority so many times behind the leaf."""
    above = (world.ca.certificate,) * count
    return Leaf(certificate=world.server.certificate, key=world.server.key, above=above).server()


@pytest.mark.parametrize("count", [MAX_CERTIFICATES, 200, 10_000])
async def test_chains_that_are_too_long(world: World, count: int) -> None:
    """A chain above our limit, above OpenSSL's, or of ten thousand certificates is refused with its reason."""
    async with peers(honest, bloated(world, count)) as port:
        found = await probe(at(port, world), PATIENT)
    assert isinstance(found, NotServed)
    assert found.failure is Failure.UNREADABLE
    assert "certificates" in found.why or "EXCESSIVE_MESSAGE_SIZE" in found.why


async def test_the_longest_chain_that_is_read(world: World) -> None:
    """A chain at our limit is shown in full."""
    async with peers(honest, bloated(world, MAX_CERTIFICATES - 1)) as port:
        found = await probe(at(port, world), PATIENT)
    assert isinstance(found, Served)
    assert len(found.chain) == MAX_CERTIFICATES


async def test_a_certificate_with_too_many_names(world: World) -> None:
    """Above the limit of names a certificate is not read; at the limit it is."""
    for more, fits in ((NAMES_MAX - 1, True), (NAMES_MAX, False)):
        leaf = world.ca.leaf(dns=(NAME, *(f"h{index}.example" for index in range(more))))
        async with peers(honest, leaf.server()) as port:
            found = await probe(at(port, world), PATIENT)
        assert isinstance(found, Served) is fits
        assert fits or f"{NAMES_MAX + 1} names" in found.why


async def test_a_request_for_a_client_of_very_many_authorities(world: World) -> None:
    """A server that lists 60,000 authorities in its request for a certificate is refused, by OpenSSL's own limit."""
    name = world.ca.certificate.subject.public_bytes()
    names = (struct.pack(">H", len(name)) + name) * 60_000
    request = b"\x01\x01" + b"\x00\x02\x04\x03" + struct.pack(">H", len(names) % 65536) + names
    body = b"\x0d" + len(request).to_bytes(3, "big") + request

    async def asks(peer: Peer) -> None:
        flight = await peer.first_flight()
        await peer.send(flight[:-9])  # without the last message, which ends the flight
        for start in range(0, len(body), 16_000):
            await peer.send(record(HANDSHAKE, body[start : start + 16_000]))
        await peer.wait()

    context = world.server.server()
    context.minimum_version = context.maximum_version = ssl.TLSVersion.TLSv1_2
    async with peers(asks, context) as port:
        found = await probe(at(port, world), PATIENT)
    assert isinstance(found, NotServed)
    assert found.failure is Failure.UNREADABLE


async def _endless(peer: Peer) -> None:
    await peer.reader.read(4096)
    while True:
        await peer.send(record(HANDSHAKE, b"\0\0\0\0" * 4000))  # hello requests, which are skipped


async def _endless_answer(peer: Peer) -> None:
    await peer.handshake()
    await peer.request()
    await peer.write(struct.pack(">i", 100_000))
    while True:
        await peer.write(b"")
        await peer.send(b"")
        await peer.write(bytes(1))


@pytest.mark.parametrize("script", [_endless, _endless_answer])
async def test_a_server_that_sends_without_end(world: World, script: Callable[[Peer], Awaitable[None]]) -> None:
    """Bytes without end are cut off, in the handshake and behind it."""
    began_s = time.monotonic()
    async with peers(script, world.server.server()) as port:
        found = await probe(at(port, world), Limits(connect_timeout_s=2.0, request_timeout_s=2.0))
    assert time.monotonic() - began_s < 8.0 + LATE_S
    assert not (isinstance(found, Served) and found.accepted)
    assert found.why


ANSWERS: dict[str, bytes] = {
    "a length that is too large": struct.pack(">i", 2**31 - 1),
    "no answer of Kafka's": struct.pack(">i", 8) + bytes(8),
    "HTTP": b"HTTP/1.1 400 Bad Request\r\n\r\n",
}


@pytest.mark.parametrize("name", ANSWERS)
async def test_an_answer_that_is_none(world: World, name: str) -> None:
    """What is no answer of Kafka's does not count as an acceptance, and not as a refusal."""

    async def answers(peer: Peer) -> None:
        await peer.handshake()
        await peer.request()
        await peer.write(ANSWERS[name])
        await peer.wait()

    async with peers(answers, world.server.server()) as port:
        found = await probe(at(port, world), PATIENT)
    assert isinstance(found, Served)
    assert not found.accepted
    assert not found.refused
    assert found.why


async def _closes_properly(peer: Peer) -> None:
    await peer.handshake()
    with contextlib.suppress(ssl.SSLWantReadError):
        peer.tls.unwrap()
    await peer.flush()
    await peer.send(b"more that is not read")
    await peer.wait()


async def _hangs_up(peer: Peer) -> None:
    await peer.handshake()


async def _garbage(peer: Peer) -> None:
    await peer.handshake()
    await peer.send(record(APPLICATION, os.urandom(64)))
    await peer.wait()


async def _alert_in_clear(peer: Peer) -> None:
    await peer.reader.read(4096)
    await peer.send(record(ALERT, b"\x02\x2a"))  # fatal: bad certificate
    await peer.wait()


@pytest.mark.parametrize("script", [_closes_properly, _hangs_up, _garbage, _alert_in_clear])
async def test_ends_of_a_connection(world: World, script: Callable[[Peer], Awaitable[None]]) -> None:
    """An end with or without a notice, bytes behind it, and broken records end the probe at once, accepted by none."""
    began_s = time.monotonic()
    async with peers(script, world.server.server()) as port:
        found = await probe(at(port, world), PATIENT)
    assert time.monotonic() - began_s < PATIENT.request_timeout_s
    assert not (isinstance(found, Served) and found.accepted)
    assert found.why


async def test_nothing_is_left_open_or_kept(world: World) -> None:
    """Two hundred probes of servers that fail in turn leave no file open, and keep no memory."""
    scripts = [half_its_hello, _hangs_up, _garbage, _closes_properly, honest]
    context = world.server.server()

    async def some(count: int) -> list[Handshake]:
        found = []
        for index in range(count):
            async with peers(scripts[index % len(scripts)], context) as port:
                limits = QUICK if index % len(scripts) else Limits(connect_timeout_s=0.5, request_timeout_s=0.05)
                found.append(await probe(at(port, world), limits))
        return found

    def files() -> int:
        gc.collect()
        return len(list(Path("/proc/self/fd").iterdir()))

    await some(20)
    before = files()
    tracemalloc.start()
    try:
        await some(20)
        gc.collect()
        used, _ = tracemalloc.get_traced_memory()
        found = await some(160)
        gc.collect()
        later, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert any(isinstance(each, Served) and each.accepted for each in found)
    assert files() <= before + 2
    assert later - used < 2 * MAX_RECEIVED_BYTES


async def test_the_event_loop_goes_on(world: World) -> None:
    """While a long chain is read, the event loop serves others."""
    longest_s, last_s = 0.0, time.monotonic()

    async def beats() -> None:
        nonlocal longest_s, last_s
        while True:
            await asyncio.sleep(0.005)
            longest_s, last_s = max(longest_s, time.monotonic() - last_s), time.monotonic()

    async with peers(honest, bloated(world, MAX_CERTIFICATES - 1)) as port:
        beating = asyncio.create_task(beats())
        try:
            await asyncio.gather(*(probe(at(port, world), PATIENT) for _ in range(20)))
        finally:
            beating.cancel()
    assert longest_s < 1.0
