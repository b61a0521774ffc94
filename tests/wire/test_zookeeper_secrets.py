"""What of a Secret can be used, and what an error shows of it, before any server is asked."""

import asyncio
import contextlib
import ssl
import subprocess
from pathlib import Path

import pytest

from kafka_quorum.errors import ZooKeeperUnreachable, ZooKeeperUnusable
from kafka_quorum.model.zookeeper import ZooKeeperAccess, ZooKeeperSecret
from kafka_quorum.wire.zookeeper import KazooZooKeepers
from kafka_quorum.wire.zookeeper_nodes import parse_connect
from kafka_quorum.wire.zookeeper_session import Session
from kit.parsing import Malformed

ACCESS = ZooKeeperAccess(connect="127.0.0.1:1")


def made(home: Path, *more: str) -> tuple[str, str]:
    """A certificate and its key."""
    key, certificate = home / "a.key", home / "a.crt"
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-subj", "/CN=a", *more]
    subprocess.run([*command, "-keyout", key, "-out", certificate], check=True, capture_output=True, timeout=60)
    return certificate.read_text(), key.read_text()


async def refusal(access: ZooKeeperAccess, secret: ZooKeeperSecret) -> str:
    """The error of a read that is refused before a connection."""
    zookeepers = KazooZooKeepers()
    with pytest.raises(ZooKeeperUnusable) as failure:
        await zookeepers.read(access, secret, rights=False, states=False)
    await zookeepers.close()
    assert not failure.value.outcome_unknown
    return str(failure.value)


async def test_an_authority_that_is_none() -> None:
    """An authority that is no certificate is named, and nothing is sent."""
    for text in ("x", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n", "ä"):
        assert "ca.crt holds no certificate" in await refusal(ACCESS, ZooKeeperSecret(ca=text))


async def test_keys_that_cannot_be_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A key of another certificate, an encrypted one, or none is refused without a question and without its text."""
    certificate, key = made(tmp_path, "-nodes")
    (tmp_path / "other").mkdir()
    _, other = made(tmp_path / "other", "-nodes")
    (tmp_path / "closed").mkdir()
    closed_certificate, closed = made(tmp_path / "closed", "-passout", "pass:abcd")
    files = tmp_path / "files"
    files.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(files))
    for shown, hidden in ((certificate, other), (closed_certificate, closed), (certificate, ""), ("", key)):
        said = await refusal(ACCESS, ZooKeeperSecret(ca=certificate, certificate=shown, key=hidden))
        assert "tls.crt and tls.key cannot be used" in said
        assert "correct the Secret" in said
        assert "PRIVATE" not in said
    assert list(files.iterdir()) == []


def test_no_sentence_and_no_text_has_content_of_the_secret() -> None:
    """Not even the user's name: someone may have put the password under that key."""
    secret = ZooKeeperSecret(username="marker1", password="marker2", key="marker3")  # noqa: S106 - a test's own
    session = Session(parse_connect("127.0.0.1:1"), secret, 0.0)
    session._handler.failed(OSError("marker2 and marker3"))
    said = f"{session.who} {session.malformed('/a', Malformed('x'))} {session._unreachable('why')} {secret!r}"
    assert "the Secret's user" in said
    assert "marker" not in said


async def test_an_address_that_is_none() -> None:
    """An address that cannot be used is refused."""
    assert "correct the address" in await refusal(ZooKeeperAccess(connect="a:b:c"), ZooKeeperSecret())


async def test_an_intermediate_authority_is_trusted(tmp_path: Path) -> None:
    """Brokers, in Java, trust each certificate of theirs by itself: the same ca.crt must be good for the operator."""

    def openssl(*arguments: str) -> None:
        subprocess.run(["openssl", *arguments], check=True, capture_output=True, timeout=60, cwd=tmp_path)

    key = ("-newkey", "rsa:2048", "-nodes")
    openssl("req", "-x509", *key, "-keyout", "root.key", "-out", "root.crt", "-subj", "/CN=root")
    extensions = {"middle": "basicConstraints=critical,CA:TRUE\n", "leaf": "subjectAltName=DNS:localhost\n"}
    for name, issuer in (("middle", "root"), ("leaf", "middle")):
        (tmp_path / f"{name}.ext").write_text(extensions[name])
        openssl("req", *key, "-keyout", f"{name}.key", "-out", f"{name}.csr", "-subj", f"/CN={name}")
        by = ("-CA", f"{issuer}.crt", "-CAkey", f"{issuer}.key", "-CAcreateserial", "-extfile", f"{name}.ext")
        openssl("x509", "-req", "-in", f"{name}.csr", "-out", f"{name}.crt", *by)
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(tmp_path / "leaf.crt", tmp_path / "leaf.key")
    shaken: list[bool] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        shaken.append(bool(await reader.read(1)))
        writer.close()
        with contextlib.suppress(OSError):
            await writer.wait_closed()

    listening = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=context)
    zookeepers = KazooZooKeepers(limit_s=2)
    access = ZooKeeperAccess(connect=f"localhost:{listening.sockets[0].getsockname()[1]}")
    secret = ZooKeeperSecret(ca=(tmp_path / "middle.crt").read_text())
    with pytest.raises(ZooKeeperUnreachable):
        await zookeepers.read(access, secret, rights=False, states=False)
    await zookeepers.close()
    listening.close()
    assert shaken
