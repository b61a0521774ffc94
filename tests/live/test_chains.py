"""Chains and usages at real listeners: what a server sends of its key store, and whom Kafka on Java refuses.

A controller and a broker have listeners with one key store each, and mutual TLS. Clients are the operator's own
(OpenSSL) and Kafka's (Java). `kit.pki` and `wire.trial` judge the same files: they must accept nothing that a server
refuses.
"""

from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import pytest
import pytest_asyncio
from cryptography import x509
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID
from tests.kit.pki.made import CLIENT, NOW, SERVER, TRUST, Made, certificate, files, root
from tests.live.broker_worlds import note, release, releases
from tests.live.brokers import INTERNAL, LiveBrokers
from tests.live.jars import OLDER_VERSIONS, Kafka
from tests.live.pki import Java, RefusedError
from tests.live.ports import HOST, free_port
from tests.live.quorum import LISTENER

from kafka_quorum.model.handshakes import Failure, Handshake, NotServed, Served
from kafka_quorum.model.ids import NodeID
from kafka_quorum.model.quorum import Endpoint
from kafka_quorum.model.security import Secured, Tls
from kafka_quorum.wire.handshake import probe
from kafka_quorum.wire.trial import why_refused
from kit.pki.bundle import Bundle, read_trust
from kit.pki.leaf import Expected, Leaf, read_leaf

pytestmark = [pytest.mark.live, pytest.mark.timeout(240), pytest.mark.asyncio(loop_scope="module")]

NAME: Final = "localhost"
ROLES: Final = ("controller", "broker")
ANY: Final = x509.ExtendedKeyUsage([ExtendedKeyUsageOID.ANY_EXTENDED_KEY_USAGE])
CODE: Final = x509.ExtendedKeyUsage([ExtendedKeyUsageOID.CODE_SIGNING])
BOTH: Final = x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH])
USAGES: Final = {"none": (), "servers": (SERVER,), "clients": (CLIENT,), "both": (BOTH,), "any": (ANY,)}
Extensions = tuple[x509.ExtensionType, ...]


def chain(leaf: Extensions = (), issuer: Extensions = (), *, middle: Extensions | None = None) -> tuple[Made, ...]:
    """A leaf and the intermediate authority that issued it, with these extensions; `middle` is one between the two."""
    above = certificate("between", by=root(), ca=None if _basic(issuer) else True, names=(), extensions=issuer)
    if middle is None:
        return (certificate(by=above, names=(NAME,), extensions=leaf), above)
    lower = certificate("lower", by=above, ca=True, names=(), extensions=middle)
    return (certificate(by=lower, names=(NAME,), extensions=leaf), lower, above)


def _basic(extensions: Extensions) -> bool:
    return any(isinstance(each, x509.BasicConstraints) for each in extensions)


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """Usages of a leaf and of its issuer, and who accepts the chain.

    `server`: a client of Kafka's, `ours`: the operator, of a server. `client`: a listener, of a client.
    """

    leaf: str = "none"
    issuer: str = "none"
    server: bool
    ours: bool
    client: bool

    @property
    def chain(self) -> tuple[Made, ...]:
        """The certificates."""
        return chain(USAGES[self.leaf], USAGES[self.issuer])


ROWS: Final = {
    "issuer_none": Row(issuer="none", server=True, ours=True, client=True),
    "issuer_both": Row(issuer="both", server=True, ours=True, client=True),
    "issuer_servers": Row(issuer="servers", server=True, ours=True, client=True),
    "issuer_clients": Row(issuer="clients", server=True, ours=False, client=True),
    "leaf_both": Row(leaf="both", server=True, ours=True, client=True),
    "leaf_servers": Row(leaf="servers", server=True, ours=True, client=False),
    "leaf_clients": Row(leaf="clients", server=False, ours=False, client=True),
    "leaf_any": Row(leaf="any", server=True, ours=False, client=True),
}
"""What was measured."""
UNKNOWN: Final = x509.UnrecognizedExtension(x509.ObjectIdentifier("1.3.6.1.4.1.99999.1"), b"\x05\x00")
ELSEWHERE: Final = x509.NameConstraints([x509.DNSName("example.org")], None)
LAST: Final = x509.BasicConstraints(ca=True, path_length=0)
OTHERS: Final = x509.Name([x509.NameAttribute(NameOID.ORGANIZATION_NAME, "others")])
SUBJECTS: Final = x509.NameConstraints([x509.DNSName(NAME), x509.DirectoryName(OTHERS)], None)
FAULTY: Final = {
    "names": lambda: chain(issuer=(ELSEWHERE,)),
    "path length": lambda: chain(issuer=(LAST,), middle=()),
    "critical": lambda: chain(issuer=(UNKNOWN,)),
    "names, of an issuer for servers": lambda: chain(issuer=(SERVER, ELSEWHERE)),
    "names of subjects, of an issuer for servers": lambda: chain(issuer=(SERVER, SUBJECTS)),
    "path length, above an issuer for servers": lambda: chain(issuer=(LAST,), middle=(SERVER,)),
    "critical, above an issuer for servers": lambda: chain(issuer=(UNKNOWN,), middle=(SERVER,)),
    "names, above a leaf for anything": lambda: chain((ANY,), (ELSEWHERE,)),
}
"""Chains that no server accepts of a client."""
FITTING: Final = x509.NameConstraints([x509.DNSName(NAME)], None)
USUAL: Final = {
    "an issuer for servers": lambda: chain((CLIENT,), (SERVER,)),
    "the last issuer, for servers": lambda: chain((CLIENT,), (SERVER, LAST)),
    "names that fit, of an issuer for servers": lambda: chain((CLIENT,), (SERVER, FITTING)),
    "an issuer for servers above another": lambda: chain((CLIENT,), (SERVER,), middle=()),
    "an issuer for code": lambda: chain((CLIENT,), (CODE,)),
    "a leaf for anything": lambda: chain((ANY,)),
    "with the root": lambda: (*chain((CLIENT,), (SERVER,)), root()),
}
"""Chains that every server accepts of a client."""


def pem(made: tuple[Made, ...]) -> str:
    """Certificates in this order."""
    return "".join(each.pem for each in made)


@dataclass(slots=True)
class World:
    """A controller and a broker, each with the listeners of `stores`, and Java."""

    kafka: Kafka
    home: Path
    stores: dict[str, tuple[Made, ...]]
    java: Java
    cluster: LiveBrokers = field(init=False)
    ports: dict[tuple[str, str], int] = field(default_factory=dict)

    async def open(self) -> None:
        """Starts them."""
        (self.home / "root.pem").write_text(root().pem)
        self.cluster = LiveBrokers(self.kafka, self.home / "cluster", brokers=(1,))
        for name, made in self.stores.items():
            (self.home / f"{name}.pem").write_text(made[0].key_pem + pem(made))
        (node,) = self.cluster.quorum.nodes.values()
        self.cluster.quorum.config |= {
            "controller.listener.names": ",".join([LISTENER, *map(str.upper, self.stores)]),
            **self._listeners("controller", LISTENER, node.port),
        }
        self.cluster.quorum.write_config(node)
        for broker in self.cluster.brokers.values():
            broker.config |= self._listeners("broker", INTERNAL, broker.port)
            broker.config["listener.security.protocol.map"] += f",{LISTENER}:PLAINTEXT"
            self.cluster.write(broker)
        await self.cluster.open()

    def _listeners(self, role: str, plain: str, port: int) -> dict[str, str]:
        ports = {name.upper(): free_port() for name in self.stores}
        self.ports |= {(role, name.lower()): each for name, each in ports.items()}
        found = {
            "listeners": ",".join(f"{name}://{HOST}:{each}" for name, each in ({plain: port} | ports).items()),
            "listener.security.protocol.map": ",".join([f"{plain}:PLAINTEXT", *(f"{name}:SSL" for name in ports)]),
            "connection.failed.authentication.delay.ms": "0",
            "num.network.threads": "1",
        }
        if role == "broker":
            told = [f"{plain}://{HOST}:{port}", *(f"{name}://{NAME}:{each}" for name, each in ports.items())]
            found["advertised.listeners"] = ",".join(told)
        for name in self.stores:
            prefix = f"listener.name.{name}.ssl"
            found |= {
                f"{prefix}.keystore.type": "PEM",
                f"{prefix}.keystore.location": str(self.home / f"{name}.pem"),
                f"{prefix}.truststore.type": "PEM",
                f"{prefix}.truststore.location": str(self.home / "root.pem"),
                f"{prefix}.client.auth": "required",
            }
        return found

    async def close(self) -> None:
        """Ends every process."""
        self.java.close()
        await self.cluster.close()

    async def shown(
        self, role: str, listener: str, client: tuple[Made, ...] = (), trusted: Made | None = None
    ) -> Handshake:
        """What the operator sees there with this chain; one without usages is shown unless another is given."""
        own = client or self.stores["whole"]
        tls = Tls(ca=(trusted or root()).pem, certificate=pem(own), key=own[0].key_pem)
        at = Endpoint(
            node_id=NodeID(1), host=HOST, port=self.ports[role, listener], security=Secured(tls=tls), name=NAME
        )
        return await probe(at)

    async def accepts(self, role: str, client: tuple[Made, ...]) -> bool:
        """Whether a listener accepts this client; what it answers must be one or the other."""
        found = await self.shown(role, "whole", client)
        assert isinstance(found, Served), found
        assert found.accepted is not found.refused, found
        return found.accepted

    def why_refused(self, listener: str) -> str:
        """Why Kafka's client, which trusts the root, does not accept the broker at this listener; empty if it does."""
        server = f"{NAME}:{self.ports['broker', listener]}"
        try:
            found = self.java.asks(server, self.home / "whole.pem", self.home / "root.pem")
        except RefusedError as error:
            if "SSL handshake failed" not in str(error):
                raise
            return str(error)
        assert found == self.cluster.quorum.cluster_id
        return ""


@pytest.fixture(scope="module", params=releases(*OLDER_VERSIONS))
def kafka(request: pytest.FixtureRequest) -> Kafka:
    """Each release."""
    return release(request)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def world(kafka: Kafka, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[World]:
    """One for each release; no test changes it."""
    whole = chain()
    stores = {"whole": whole, "alone": whole[:1], "rooted": (*whole, root())}
    made = World(kafka, tmp_path_factory.mktemp("chains"), stores | {n: r.chain for n, r in ROWS.items()}, Java(kafka))
    try:
        await made.open()
        yield made
    finally:
        await made.close()


def fingerprints(made: tuple[Made, ...]) -> list[str]:
    """As a handshake shows them."""
    return [each.crt.fingerprint(SHA256()).hex() for each in made]


def used(made: tuple[Made, ...], *, server: bool) -> bool:
    """Whether the operator would put this chain into a Secret, as that of a server and client, or of a client alone."""
    expected = Expected(now=NOW, server=server, client=True)
    read, trusted = read_leaf(files(pem(made), made[0].key_pem), expected), read_trust(root().pem, TRUST, NOW)
    assert isinstance(trusted, Bundle)
    return isinstance(read, Leaf) and not why_refused(read, trusted, server=server, client=True)


@pytest.mark.parametrize("role", ROLES)
async def test_a_listener_sends_its_key_store(world: World, role: str) -> None:
    """It sends the certificates of its file, all of them in their order, and none besides.

    So a client that trusts the root only accepts a server if its file has the intermediate authority.
    """
    for listener in ("whole", "rooted"):
        found = await world.shown(role, listener)
        assert isinstance(found, Served), found
        assert found.accepted
        assert [each.sha256 for each in found.chain] == fingerprints(world.stores[listener])
    refused = await world.shown(role, "alone")
    assert isinstance(refused, NotServed)
    assert refused.failure is Failure.NOT_TRUSTED
    found = await world.shown(role, "alone", trusted=world.stores["whole"][1])
    assert isinstance(found, Served), found
    assert [each.sha256 for each in found.chain] == fingerprints(world.stores["alone"])


async def test_kafkas_client_needs_the_intermediate_authority_too(world: World) -> None:
    """A client of Kafka's that trusts the root only accepts a listener with the whole chain, and none with the leaf."""
    assert world.why_refused("whole") == ""
    assert world.why_refused("rooted") == ""
    assert "unable to find valid certification path" in world.why_refused("alone")


@pytest.mark.parametrize("role", ROLES)
async def test_a_client_sends_its_intermediate_authority(world: World, role: str) -> None:
    """A listener that trusts the root only refuses a client that does not send the intermediate authority."""
    whole = world.stores["whole"]
    assert await world.accepts(role, whole)
    assert not await world.accepts(role, whole[:1])


@pytest.mark.parametrize("name", ROWS)
async def test_usages(world: World, name: str) -> None:
    """Java asks for usages of the leaf alone, OpenSSL also for those of a server's authorities and not for any usage.

    The operator uses no certificate that one of them refuses.
    """
    row = ROWS[name]
    seen = {
        "server": world.why_refused(name) == "",
        "ours": isinstance(await world.shown("broker", name), Served),
        **{f"client of a {role}": await world.accepts(role, row.chain) for role in ROLES},
    }
    note("usages", release=world.kafka.version, leaf=row.leaf, issuer=row.issuer, **seen)
    wanted = {"server": row.server, "ours": row.ours, **{f"client of a {role}": row.client for role in ROLES}}
    assert seen == wanted
    assert used(row.chain, server=True) is (row.server and row.ours and row.client)
    assert used(row.chain, server=False) is row.client


@pytest.mark.parametrize("name", FAULTY)
async def test_what_no_server_accepts_of_a_client(world: World, name: str) -> None:
    """A chain that listeners refuse is not used for a client, whatever the usages in it are."""
    made = FAULTY[name]()
    assert [await world.accepts(role, made) for role in ROLES] == [False, False]
    assert not used(made, server=False)


@pytest.mark.parametrize("name", USUAL)
async def test_what_every_server_accepts_of_a_client(world: World, name: str) -> None:
    """A chain whose issuers are not for clients is accepted by listeners, and used."""
    made = USUAL[name]()
    assert [await world.accepts(role, made) for role in ROLES] == [True, True]
    assert used(made, server=False)
