"""What Kafka's TLS on Java does with keys, chains and names: the facts that `kit.pki` checks given Secrets by."""

import random
from collections.abc import Iterator
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.serialization import Encoding
from tests.kit.pki.cases import Case, cases
from tests.kit.pki.cases import Java as Does
from tests.kit.pki.made import EXPECTED, HOST, Made, authority, certificate, files, intermediate, leaf, root
from tests.kit.pki.random_names import encoded_name
from tests.live.jars import Kafka
from tests.live.pki import Java, RefusedError

from kit.pki.bundle import bundle
from kit.pki.certificate import read_certificate
from kit.pki.leaf import Leaf, read_leaf
from kit.pki.material import keystore
from kit.pki.names import NoPrincipal, name_of, principal

pytestmark = pytest.mark.live
NAMES = 2000


@pytest.fixture
def seed(request: pytest.FixtureRequest) -> int:
    """The seed in the heading of the run, which `--randomly-seed` repeats and a failed test prints."""
    found = int(request.config.getoption("randomly_seed"))
    print("seed", found)  # noqa: T201 - to repeat it
    return found


@pytest.fixture(scope="module")
def java(kafka: Kafka) -> Iterator[Java]:
    """One process for all questions."""
    process = Java(kafka)
    yield process
    process.close()


def written(place: Path, text: str | bytes) -> Path:
    """A file with this content."""
    place.write_bytes(text if isinstance(text, bytes) else text.encode())
    return place


def trust_of(made: Made) -> str:
    """The text of a trust store with this authority alone."""
    return bundle([read_certificate(made.crt.public_bytes(Encoding.DER))]).pem


def test_what_is_made_here_works_in_both_directions(java: Java, tmp_path: Path) -> None:
    """Kafka loads a key store and a bundle of ours, and two of them trust each other; the user is our principal."""
    trust = written(tmp_path / "trust.pem", (bundle([authority().certificate, authority("next").certificate])).pem)
    own = written(tmp_path / "own.pem", keystore(leaf()))
    new = written(tmp_path / "new.pem", keystore(leaf(of=authority("next"))))
    java.load(own, trust)
    for server, client in ((own, new), (new, own)):
        assert java.handshake((server, trust), (client, trust), HOST) == "CN=controllers,OU=demo,O=team"


def test_another_authority_is_not_trusted(java: Java, tmp_path: Path) -> None:
    """A bundle without the authority of one side ends the handshake: the test above would notice a wrong bundle."""
    both = written(tmp_path / "both.pem", (bundle([authority().certificate, authority("next").certificate])).pem)
    old = written(tmp_path / "old.pem", bundle([authority().certificate]).pem)
    own = written(tmp_path / "own.pem", keystore(leaf()))
    new = written(tmp_path / "new.pem", keystore(leaf(of=authority("next"))))
    with pytest.raises(RefusedError, match="unable to find valid certification path"):
        java.handshake((new, both), (own, old), HOST)
    with pytest.raises(RefusedError, match="Empty client certificate chain"):
        java.handshake((own, old), (new, both), HOST)


@pytest.mark.parametrize("kind", ["ec", "secp384r1", "secp521r1", "rsa2048", "rsa3072"])
def test_given_leafs_of_every_kind_that_is_read_work(java: Java, tmp_path: Path, kind: str) -> None:
    """A leaf of others with an intermediate authority, written again by us, works as server and as client."""
    made = certificate(by=intermediate(), kind=kind, names=("*.demo-controllers.team.svc",))
    read = read_leaf(files(made.pem + intermediate().pem, made.key_pem), EXPECTED)
    assert isinstance(read, Leaf)
    trust = written(tmp_path / "trust.pem", trust_of(root()))
    own = written(tmp_path / "own.pem", keystore(read))
    assert java.handshake((own, trust), (own, trust), HOST) == read.certificate.principal


@pytest.mark.parametrize("name", sorted(cases()))
def test_what_is_refused_here_is_refused_by_kafka(java: Java, tmp_path: Path, name: str) -> None:
    """Kafka does with each refused material what the table says: not loaded, no connection, or we are stricter."""
    case = cases()[name]()
    assert done(java, tmp_path, case) == case.java


def done(java: Java, home: Path, case: Case) -> Does:
    """What Kafka does with the files of a case, as they are."""
    key, crt = (each if isinstance(each, bytes) else each.encode() for each in (case.key, case.crt))
    own = written(home / "own.pem", key + crt)
    trust = written(home / "trust.pem", case.trusted or trust_of(root()))
    other = certificate("other", by=root(), kind="rsa2048")
    peer = written(home / "peer.pem", other.key_pem + other.pem)
    try:
        java.load(own, trust)
    except RefusedError as error:
        if "Failed to load PEM" not in str(error) and "Invalid PEM" not in str(error):
            raise  # a fault of this test, not of the material
        return Does.DOES_NOT_LOAD
    try:
        java.handshake((own, trust), (peer, trust), HOST)
    except RefusedError:
        return Does.REFUSES_SERVER
    try:
        java.handshake((peer, trust), (own, trust), HOST)
    except RefusedError:
        return Does.REFUSES_CLIENT
    return Does.ACCEPTS


def test_names_are_written_as_java_writes_them(java: Java, seed: int) -> None:
    """For random names, our text is that of X500Principal.getName(); only text that is not UTF-8 has none."""
    dice = random.Random(seed)
    for _ in range(NAMES):
        der = encoded_name(dice)
        try:
            ours = name_of(der)
        except NoPrincipal:
            assert "\ufffd" in java.name(der)
            continue
        assert ours == java.name(der), der.hex()


def test_principals_survive_super_users(java: Java, seed: int) -> None:
    """Each principal is one entry of super.users, beside another one, exactly as it is."""
    dice = random.Random(seed)
    found = 0
    for _ in range(NAMES):
        try:
            user = f"User:{principal(encoded_name(dice))}"
        except NoPrincipal:
            continue
        found += 1
        assert java.supers(f"{user};User:CN=other") == {user, "User:CN=other"}
    assert found > NAMES // 20
