"""TLS as a client: what of a Secret can be used, and servers whose certificate or handshake is not as it should be."""

import asyncio
import contextlib
import gc
import ssl
import subprocess
import weakref
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from tests.kit.pki.made import certificate
from tests.serving import HOST, Serve, serving
from tests.wire.captures import capture
from tests.wire.fakes import FakeServer, framed

from kafka_quorum.errors import KafkaDenied, KafkaError, KafkaExpired, KafkaUnreachable
from kafka_quorum.model.ids import NodeID
from kafka_quorum.model.quorum import Endpoint
from kafka_quorum.model.security import Secured, Tls
from kafka_quorum.wire.connection import Connection, Limits
from kafka_quorum.wire.requests import describe_quorum
from kafka_quorum.wire.security import tls_of
from kafka_quorum.wire.tls import client_context
from kit.parsing import Malformed
from kit.pki.bundle import STORED_MAX, STORED_MAX_CHARS
from kit.pki.pem import block

DESCRIBED = capture("describe_quorum_v2").answer
PATIENT = Limits(connect_timeout_s=20.0, request_timeout_s=20.0)
QUICK = Limits(connect_timeout_s=0.3, request_timeout_s=0.3)
LONG_KEY = block("RSA PRIVATE KEY", b"\x30\x82\x08\x04\x02\x82\x08\x00" + b"\x01" * 2048)
"""As long as RSA of 16,384 bits."""
_CONFIG = f"""\
[ca]
default_ca = one
[one]
database = index
new_certs_dir = .
serial = serial
default_md = sha256
default_days = 2
policy = any
unique_subject = no
[any]
commonName = supplied
[leaf]
subjectAltName = IP:{HOST}
[elsewhere]
subjectAltName = DNS:elsewhere.example
[middle]
basicConstraints = critical,CA:TRUE
[huge]
subjectAltName = @names
[names]
IP.1 = {HOST}
""" + "".join(f"DNS.{index} = host-{index:0>12}.example\n" for index in range(6000))
_PAST = ("-startdate", "20200101000000Z", "-enddate", "20200201000000Z")


@dataclass(frozen=True, slots=True)
class Authority:
    """Files of certificates in a directory: `ca` signs all of them."""

    home: Path

    def openssl(self, *arguments: str) -> None:
        """Runs openssl."""
        subprocess.run(["openssl", *arguments], cwd=self.home, check=True, capture_output=True, timeout=60)

    def begin(self) -> None:
        """Makes `ca` and `other`, which signs nothing."""
        (self.home / "index").write_text("")
        (self.home / "serial").write_text("01\n")
        (self.home / "config").write_text(_CONFIG)
        for name in ("ca", "other"):
            self.key(name)
            self.openssl("req", "-x509", "-key", f"{name}.key", "-out", f"{name}.crt", "-subj", f"/CN={name}")

    def key(self, name: str) -> None:
        """Makes a key."""
        self.openssl("genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256", "-out", f"{name}.key")

    def sign(self, name: str, extensions: str, *dates: str, by: str = "ca") -> None:
        """Makes a key and its certificate."""
        self.key(name)
        self.openssl("req", "-new", "-key", f"{name}.key", "-out", f"{name}.csr", "-subj", f"/CN={name}")
        signer = ("-cert", f"{by}.crt", "-keyfile", f"{by}.key", "-extensions", extensions)
        self.openssl(
            "ca", "-batch", "-notext", "-config", "config", *signer, *dates, "-in", f"{name}.csr", "-out", f"{name}.crt"
        )

    def text(self, name: str) -> str:
        """A file."""
        return (self.home / name).read_text()

    def tls(self, ca: str = "ca") -> Tls:
        """Trust in one authority."""
        return Tls(ca=self.text(f"{ca}.crt"))

    def server(self, name: str) -> ssl.SSLContext:
        """The server's half."""
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.load_cert_chain(self.home / f"{name}.crt", self.home / f"{name}.key")
        return context


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    """Certificates: good, of the past, of another name, of an authority of the past, huge."""
    made = Authority(tmp_path_factory.mktemp("certificates"))
    made.begin()
    made.sign("good", "leaf")
    made.sign("expired", "leaf", *_PAST)
    made.sign("elsewhere", "elsewhere")
    made.sign("huge", "huge")
    made.sign("past", "middle", *_PAST)
    made.sign("of-the-past", "leaf", by="past")
    return made


def described(request: bytes) -> bytes:
    """The captured answer to DescribeQuorum."""
    return framed(request[4:8] + DESCRIBED[4:])


async def asked(port: int, security: Secured, limits: Limits = PATIENT, host: str = HOST) -> KafkaError | None:
    """The error of a request; None if it was answered."""
    at = Endpoint(node_id=NodeID(3000), host=host, port=port, security=security)
    connection = Connection(endpoint=at, limits=limits)
    try:
        await connection.call(describe_quorum.API, lambda _: describe_quorum.message())
    except KafkaError as error:
        return error
    finally:
        connection.close()
    return None


async def test_a_good_certificate(authority: Authority) -> None:
    """A server with a certificate of a trusted authority and its own name is asked, also beside another authority."""
    async with serving(FakeServer(described).serve, authority.server("good")) as port:
        both = Tls(ca=authority.text("other.crt") + authority.text("ca.crt"))
        for tls in (authority.tls(), both):
            assert await asked(port, Secured(tls=tls)) is None


@pytest.mark.parametrize(
    ("server", "trusted", "words"),
    [
        ("good", "other", "issuer"),
        ("expired", "ca", "expired"),
        ("elsewhere", "ca", "another name"),
        ("of-the-past", "past", "expired"),
        ("huge", "ca", "excessive"),
    ],
)
async def test_certificates_that_are_not_accepted(authority: Authority, server: str, trusted: str, words: str) -> None:
    """Nothing is sent to a server with another authority, a past date, another name, or too large a certificate."""
    noted = FakeServer(described)
    async with serving(noted.serve, authority.server(server)) as port:
        failed = await asked(port, Secured(tls=authority.tls(trusted)))
    assert isinstance(failed, KafkaUnreachable)
    assert isinstance(failed, KafkaExpired) is (words == "expired")
    assert words in str(failed).lower()
    assert noted.requests == []


async def test_a_server_that_misses_the_clients_certificate(authority: Authority) -> None:
    """It refuses a client without one, in the handshake (1.2) or after it (1.3), and answers one with it.

    This server closes before its alert has left; `tests/live/test_secured.py` has the words for that of a real broker.
    """
    for version in (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3):
        context = authority.server("good")
        context.verify_mode = ssl.CERT_REQUIRED
        context.load_verify_locations(authority.home / "ca.crt")
        context.minimum_version = context.maximum_version = version
        async with serving(FakeServer(described).serve, context) as port:
            failed = await asked(port, Secured(tls=authority.tls()))
            assert isinstance(failed, KafkaUnreachable)
            own = replace(authority.tls(), certificate=authority.text("good.crt"), key=authority.text("good.key"))
            assert await asked(port, Secured(tls=own)) is None


async def _silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.read()
    writer.close()


async def _close(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.read(1)
    writer.close()


async def _junk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.read(1)
    writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n" * 100)
    with contextlib.suppress(OSError):
        await reader.read()
    writer.close()


async def _alert(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.read(1)
    writer.write(b"\x15\x03\x03\x00\x02\x02\x28")
    writer.close()


@pytest.mark.parametrize(
    ("serve", "words"),
    [(_silent, "within"), (_close, "with tls"), (_junk, "does not answer with tls"), (_alert, "tls")],
)
async def test_half_a_handshake(authority: Authority, serve: Serve, words: str) -> None:
    """A server that is silent, hangs up, speaks something else, or refuses: the request ends in time and says so."""
    async with serving(serve, None) as port:
        failed = await asked(port, Secured(tls=authority.tls()), QUICK if serve is _silent else PATIENT)
    assert isinstance(failed, KafkaUnreachable)
    assert words in str(failed).lower()


async def test_a_server_with_tls_and_a_client_without() -> None:
    """The alert of a server with TLS is recognized."""
    async with serving(_alert, None) as port:
        at = Endpoint(node_id=NodeID(3000), host=HOST, port=port)
        connection = Connection(endpoint=at, limits=PATIENT)
        with pytest.raises(KafkaError, match="answers with TLS"):
            await connection.call(describe_quorum.API, lambda _: describe_quorum.message())
        connection.close()


@pytest.mark.parametrize("host", ["", "."])
async def test_a_host_that_is_no_name_is_not_asked(authority: Authority, host: str) -> None:
    """A broker may list itself without a name, which TLS cannot check: it is an error of the path."""
    error = await asked(9092, Secured(tls=authority.tls()), host=host)
    assert isinstance(error, KafkaUnreachable)
    assert "is no host name" in str(error)


async def test_what_cannot_be_used_is_not_sent_anywhere(authority: Authority) -> None:
    """An unreadable authority ends the request before a connection, and says that the Secret is to be corrected."""
    failed = await asked(1, Secured(tls=Tls(ca="-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n")))
    assert isinstance(failed, KafkaDenied)
    assert "ca.crt holds no certificate in PEM" in str(failed)
    mixed = Tls(ca=authority.text("ca.crt"), certificate=authority.text("good.crt"), key=authority.text("other.key"))
    failed = await asked(1, Secured(tls=mixed))
    assert isinstance(failed, KafkaDenied)
    assert "tls.crt and tls.key cannot be used together" in str(failed)


def test_no_server_chooses_the_modulus_of_a_key_exchange(authority: Authority) -> None:
    """With DHE a modulus of 10,000 bits stopped the event loop for two seconds: TLS 1.2 has curves only."""
    offered = client_context(authority.text("ca.crt"), "", "").get_ciphers()
    exchanges = {each["kea"] for each in offered if each["protocol"] != "TLSv1.3"}
    assert exchanges == {"kx-ecdhe"}
    assert {"ECDHE-RSA-AES256-GCM-SHA384", "ECDHE-ECDSA-AES128-GCM-SHA256"} <= {each["name"] for each in offered}


def test_sizes_that_keep_the_event_loop_busy_are_refused(authority: Authority) -> None:
    """A key of RSA that is too long, and too many authorities, end before OpenSSL reads them."""
    ca, own = authority.text("ca.crt"), authority.text("good.crt")
    with pytest.raises(Malformed, match=r"tls\.key has a key with which each connection would take too long"):
        client_context(ca, own, LONG_KEY)
    with pytest.raises(Malformed, match=r"ca\.crt has 257 certificates"):
        client_context(ca * 257, "", "")


def test_connections_with_the_same_security_share_what_was_read(authority: Authority) -> None:
    """Equal keys and authorities are read once, while anything uses them; other limits are checked again."""

    def secured(bundles: int = 0) -> Secured:
        keys = {"certificate": authority.text("good.crt"), "key": authority.text("good.key")}
        return Secured(tls=Tls(ca=authority.text("ca.crt"), bundles=bundles, **keys))

    used = secured()
    context = tls_of(used)
    assert context is not None
    assert tls_of(secured()) is context
    assert tls_of(secured(bundles=1)) is not context
    last = weakref.ref(context)
    del used, context
    gc.collect()
    assert last() is None


def test_what_the_operator_put_together_has_the_limits_of_its_bundles() -> None:
    """So many bundles that were read one by one can be used together: in authorities and in characters."""
    many = [certificate(f"authority-{each}", ca=True, names=()).pem for each in range(STORED_MAX + 1)]
    assert len(client_context("".join(many), "", "", bundles=2).get_ca_certs()) == STORED_MAX + 1
    with pytest.raises(Malformed, match=r"ca\.crt has 401 certificates, at most 400 are read"):
        client_context("".join(many), "", "", bundles=1)
    padded = "#" * (STORED_MAX_CHARS + 1) + f"\n{many[0]}"
    assert len(client_context(padded, "", "", bundles=2).get_ca_certs()) == 1
    with pytest.raises(Malformed, match=rf"characters, at most {STORED_MAX_CHARS} are read"):
        client_context(padded, "", "", bundles=1)


@pytest.mark.parametrize("ca", ["", " \n"])
def test_without_an_authority_nothing_is_trusted(ca: str) -> None:
    """An empty authority never means the authorities of the system."""
    with pytest.raises(Malformed, match=r"ca\.crt is empty"):
        client_context(ca, "", "")


def test_names_are_checked_and_old_versions_are_not_spoken(
    authority: Authority, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Keys of PKCS#8 and PKCS#1 can be used, without a directory for files; names are checked, from TLS 1.2 on."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "none"))
    files = Authority(tmp_path)
    files.openssl(
        "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", "a.key", "-out", "a.crt", "-subj", "/CN=a"
    )
    files.openssl("rsa", "-in", "a.key", "-traditional", "-out", "a.pkcs1")
    for key in ("a.key", "a.pkcs1"):
        text = files.text(key)
        assert ("BEGIN RSA PRIVATE KEY" in text) is (key == "a.pkcs1")
        context = client_context(authority.text("ca.crt"), files.text("a.crt"), text)
        assert context.check_hostname
        assert context.verify_mode is ssl.CERT_REQUIRED
        assert context.minimum_version is ssl.TLSVersion.TLSv1_2
        assert len(context.get_ca_certs()) == 1
