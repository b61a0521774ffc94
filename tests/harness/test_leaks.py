"""The search for contents of Secrets finds what is planted, in every form, and takes nothing public for secret."""

import base64
import gzip
import io
import json
import subprocess
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.model.certificates import authority_seen, leaf, wanted

from harness import everywhere
from harness.leaks import Found, Known
from kafka_quorum.model.material import BROKERS
from kafka_quorum.model.names import keystore_file, trust_file
from kafka_quorum.resources.secrets import Logins, leaf_object

WORD = "s3cret-word-of-ada"


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    """A private key of PKCS#8 on RSA, whose modulus is in its certificate, too; and that certificate."""
    home = tmp_path_factory.mktemp("pair")
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=leaf"]
    subprocess.run([*command, "-keyout", home / "key", "-out", home / "crt"], check=True, capture_output=True)
    return (home / "key").read_text(), (home / "crt").read_text()


def secret(name: str, /, **data: str) -> dict[str, Any]:
    """A Secret as the API server lists it; `_` in a key is `.`."""
    encoded = {key.replace("_", "."): base64.b64encode(value.encode()).decode() for key, value in data.items()}
    return {"metadata": {"namespace": "ns", "name": name}, "data": encoded}


@pytest.fixture
def known(pair: tuple[str, str]) -> Known:
    """A leaf with its key, a keystore, a user, a line of JAAS, and a client's file."""
    key, certificate = pair
    found = Known()
    found.note(
        [
            secret("leaf", tls_crt=certificate, tls_key=key, ca_crt=certificate),
            secret("store", keystore_pem=key + certificate, trust_pem=certificate),
            secret("user", username="ada-the-user", password=WORD),
            secret(
                "jaas", a_properties='x.jaas.config=PlainLoginModule required username="b" password="jaas-word-1";\n'
            ),
            secret("client", client_json=json.dumps({"sasl.username": "the-client", "sasl.password": "json-word-1"})),
        ]
    )
    return found


def where(found: Found) -> set[tuple[str, str]]:
    """Which key of which Secret was found."""
    return {(leak.secret, leak.key) for leak in found.leaks}


def ways(value: str) -> Iterator[tuple[str, bytes]]:
    """How a value may get out."""
    yield "as it is", f"password: {value}!".encode()
    yield "in JSON", json.dumps({"a": value}).encode()
    yield "in JSON in JSON", json.dumps({"annotation": json.dumps({"a": value})}).encode()
    yield "in base64", base64.b64encode(value.encode())
    for before in ("", "a", "ab"):
        yield f"in base64 behind {before}", base64.b64encode(f"{before}{value}\n".encode())
    yield "in hexadecimal", f"0x{value.encode().hex()}".encode()


@pytest.mark.parametrize("way", [name for name, _ in ways("x")])
def test_a_password_is_found_in_every_form(known: Known, way: str) -> None:
    """One planted password is one leak, with its place, and no text of the result has the password."""
    data = dict(ways(WORD))[way]
    found = known.search([("configmaps ns/a", data), ("configmaps ns/b", b"nothing of this kind")])
    assert [(leak.secret, leak.key, leak.where) for leak in found.leaks] == [("ns/user", "password", "configmaps ns/a")]
    assert WORD not in f"{found}{found.leaks}{known}"


def test_one_line_of_a_key_is_enough(known: Known, pair: tuple[str, str]) -> None:
    """A log that has a single line of the key leaks it: of each Secret that has this key."""
    line = pair[0].splitlines()[5]
    for data in (line, base64.b64encode(f"x{line}\n".encode()).decode()):
        found = known.search([("log of ns/a", f"ERROR: cannot read {data} of the file".encode())])
        assert where(found) == {("ns/leaf", "tls.key"), ("ns/store", "keystore.pem")}


def test_a_key_without_its_pem_is_found(known: Known, pair: tuple[str, str]) -> None:
    """Its DER, as bytes of a disk or in base64 on one line, is the same key."""
    der = base64.b64decode("".join(pair[0].splitlines()[1:-1]))
    for data in (b"\0\1" + der + b"\2", base64.b64encode(der), der.hex().encode()):
        assert ("ns/leaf", "tls.key") in where(known.search([("disk", data)]))


def test_passwords_within_a_value_are_found(known: Known) -> None:
    """That of a line of JAAS, and that of a file of a client, without the rest of the value."""
    found = known.search([("log", b"login with jaas-word-1 failed"), ("env", b"PASSWORD=json-word-1")])
    assert [(leak.secret, leak.where) for leak in found.leaks] == [("ns/jaas", "log"), ("ns/client", "env")]


def test_what_is_public_is_no_leak(known: Known, pair: tuple[str, str]) -> None:
    """Certificates, trust, names of users and names of keys may be anywhere, in any form."""
    for _, data in ways(pair[1]):
        assert not known.search([("configmaps ns/trust", data)]).leaks
    for text in ("ada-the-user", "the-client", "-----BEGIN PRIVATE KEY-----", "tls.key", "PlainLoginModule required"):
        assert not known.search([("status", text.encode())]).leaks


def test_of_the_operators_own_secrets_keys_alone_are_looked_for() -> None:
    """What else the Secret of brokers has, such as names of files, is in the contract, too: it is no leak."""
    named = (keystore_file(1), trust_file(authority_seen().pem))
    body = leaf_object(wanted(), BROKERS, leaf(BROKERS), authority_seen().pem, 1, None, 0, Logins(keeps=named))
    found = Known()
    found.note([body])
    assert {row.key for row in found.needles.values()} == {"tls.key", keystore_file(1)}


def test_what_was_replaced_stays_known(known: Known) -> None:
    """A password that a Secret had once is searched after its change."""
    known.note([secret("user", username="ada-the-user", password="another-word-1")])  # noqa: S106 - planted
    assert len(known.search([("log", f"{WORD} another-word-1".encode())]).leaks[0].forms) >= 1
    assert where(known.search([("log", WORD.encode())])) == {("ns/user", "password")}


def test_a_value_that_is_too_short_is_named(known: Known) -> None:
    """It is not searched, because it is found everywhere: the result must not look as if it were nowhere."""
    known.note([secret("pin", pin="1234", ends="1795620644", long="1795620644179562")])
    assert known.short == {"ns/pin pin", "ns/pin ends"}
    assert not known.search([("log", b"1234 at 1795620644")]).leaks
    assert where(known.search([("log", b"1795620644179562")])) == {("ns/pin", "long")}


def test_a_search_for_nothing_or_nowhere_is_an_error(known: Known) -> None:
    """Without Secrets, or without places, no leak is found, which proves nothing."""
    with pytest.raises(AssertionError, match="no Secret"):
        Known().search([("log", b"text")]).checked()
    with pytest.raises(AssertionError, match="nothing in which"):
        known.search([]).checked()
    assert known.search([("log", b"text")]).checked().places == 1


def test_only_the_contents_of_a_secret_are_its_own(known: Known) -> None:
    """An annotation of a Secret is read by everyone who may list metadata: what is in it is outside."""
    item = secret("user", username="ada-the-user", password=WORD)
    assert not known.search(everywhere.written("secrets", item)).leaks
    item["metadata"]["annotations"] = {"last-applied": json.dumps({"stringData": {"password": WORD}})}
    assert where(known.search(everywhere.written("secrets", item))) == {("ns/user", "password")}


@pytest.mark.parametrize("kind", ["configmaps", "pods", "events", "controllerrevisions.apps"])
def test_every_text_of_an_object_is_searched(known: Known, pair: tuple[str, str], kind: str) -> None:
    """Names of keys and values at any depth, with line breaks as they are."""
    metadata = {"namespace": "ns", "name": "a"}
    for planted in ({"a": [{"b": pair[0]}]}, {"a": {WORD: 1}}, {"a": json.dumps([WORD])}):
        assert known.search(everywhere.written(kind, {"metadata": metadata, "x": planted})).leaks
    assert not known.search(everywhere.written(kind, {"metadata": metadata, "x": {"a": [1, None, True, "b"]}})).leaks


def _archive(**contents: bytes) -> bytes:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w") as archive:
        for name, data in contents.items():
            row = tarfile.TarInfo(f"./{name}")
            row.size = len(data)
            archive.addfile(row, io.BytesIO(data))
    return stream.getvalue()


def test_files_of_a_volume_are_searched_and_metadata_is_dumped(known: Known, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each file is a place; a segment of the metadata log is read by kraftlog, too, whose records are another one."""
    asked: list[str] = []

    def dumped(log: Path) -> bytes:
        asked.append(log.name)
        return gzip.decompress(log.read_bytes())

    monkeypatch.setattr(everywhere, "dumped", dumped)
    hidden = gzip.compress(f"user {WORD}".encode())
    contents = {
        "kraft/__cluster_metadata-0/0.log": hidden,
        "log/orders-0/0.log": b"",
        "server.properties": WORD.encode(),
    }
    found = known.search(everywhere.unpacked("volume", _archive(**contents)))
    assert asked == ["0.log"]
    assert [leak.where for leak in found.leaks] == ["volume ./server.properties", "volume dump of 0.log"]


SEGMENT = Path(__file__).parents[1] / "kraftlog/samples/4.1.2/node-1/__cluster_metadata-0/00000000000000000000.log"


def test_a_metadata_log_is_searched_by_its_records(tmp_path: Path) -> None:
    """Values of records are found in the dump; a batch that a running server had not yet written whole is no error."""
    log, hidden = tmp_path / SEGMENT.name, Known()
    hidden.note([secret("topic", password="orders-of-nobody"), secret("record", password="CLIENT_QUOTA_RECORD")])  # noqa: S106 - planted
    for cut in (0, 37):
        log.write_bytes(SEGMENT.read_bytes()[: -cut or None])
        assert where(hidden.search([("dump", everywhere.dumped(log))])) == {("ns/record", "password")}


def test_a_dump_that_fails_is_an_error(tmp_path: Path) -> None:
    """A metadata log that is missing, or damaged within, was not searched."""
    log = tmp_path / SEGMENT.name
    with pytest.raises(AssertionError, match="kraftlog dump of"):
        everywhere.dumped(log)
    data = bytearray(SEGMENT.read_bytes())
    data[len(data) // 2 : len(data) // 2 + 4] = b"\xff" * 4
    log.write_bytes(data)
    with pytest.raises(AssertionError, match="kraftlog dump of"):
        everywhere.dumped(log)


def test_files_of_this_machine_are_searched(known: Known, tmp_path: Path) -> None:
    """All below a folder, and a single file."""
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "log").write_text(WORD)
    for path in (tmp_path, tmp_path / "a" / "log"):
        assert [leak.where for leak in known.search(everywhere.files(path)).leaks] == [str(tmp_path / "a" / "log")]


_KUBECTL: dict[tuple[str, ...], tuple[int, str, str]] = {
    ("logs", "p", "-c", "init"): (0, "nothing", ""),
    ("logs", "p", "-c", "main"): (0, f"login of ada: {WORD}", ""),
}


@pytest.mark.parametrize(
    ("errors", "fails"), [('container "main" in pod "p" is waiting to start', False), ("boom", True)]
)
def test_logs_of_every_container_are_searched(
    known: Known, monkeypatch: pytest.MonkeyPatch, errors: str, *, fails: bool
) -> None:
    """Init containers and earlier runs, too; a log that cannot be read is an error, unless there is none yet."""
    pod = {"metadata": {"name": "p"}, "spec": {"initContainers": [{"name": "init"}], "containers": [{"name": "main"}]}}
    monkeypatch.setattr(everywhere, "items", lambda *_: [pod])
    monkeypatch.setattr(
        everywhere,
        "run",
        lambda *command, timeout_s: _KUBECTL.get(command[3:], (1, "", errors)),  # noqa: ARG005
    )
    if fails:
        with pytest.raises(AssertionError, match="boom"):
            known.search(everywhere.logs("ns"))
        return
    assert [leak.where for leak in known.search(everywhere.logs("ns")).leaks] == ["log of ns/p main"]


def test_secrets_are_remembered_while_they_change(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a Secret had at the begin is searched at the end, though it has something else then."""
    rounds = [[secret("user", password=WORD)], [secret("user", password="the-next-word")]]  # noqa: S106 - planted
    monkeypatch.setattr(everywhere, "items", lambda *_: rounds.pop(0) if len(rounds) > 1 else rounds[0])
    with everywhere.Remembering("ns") as remembered:
        found = remembered.search([("log", WORD.encode()), ("status", b"the-next-word")])
    assert [leak.where for leak in found.leaks] == ["log", "status"]
