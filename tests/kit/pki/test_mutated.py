"""Damaged material: for any bytes, readers answer with a value or with faults, and raise nothing."""

import base64
import random
import time
from dataclasses import replace

import pytest
from tests.kit.pki.cases import cases
from tests.kit.pki.made import EXPECTED, NOW, OWNER, TRUST, authority, certificate, files, intermediate, leaf, root

from kit.pki.authority import read_authority
from kit.pki.bundle import Bundle, read_trust
from kit.pki.faults import Faults
from kit.pki.leaf import Leaf, read_leaf
from kit.pki.names import NoPrincipal, name_of
from kit.pki.pem import block

pytestmark = pytest.mark.filterwarnings("ignore::cryptography.utils.CryptographyDeprecationWarning")
ROUNDS = 3000
LONGEST_S = 4
"""For three looks at one key; a key of 8192 bits would take seven seconds each."""
STRICT = replace(EXPECTED, subject="CN=controllers", earlier_names=frozenset({"DNS:a"}))


@pytest.fixture
def dice(request: pytest.FixtureRequest) -> random.Random:
    """The seed of the run's heading, which `--randomly-seed` repeats and a failed test prints."""
    seed = int(request.config.getoption("randomly_seed"))
    print("seed", seed)  # noqa: T201 - to repeat it
    return random.Random(seed)


def mutated(dice: random.Random, content: bytes) -> bytes:
    """Some bytes changed, removed, repeated or put elsewhere."""
    found = bytearray(content)
    for _ in range(dice.choice((1, 1, 2, 5))):
        at = dice.randrange(len(found) + 1)
        length = dice.choice((1, 1, 2, 8, 40))
        match dice.randrange(5):
            case 0:
                found[at : at + length] = dice.randbytes(length)
            case 1:
                del found[at : at + length]
            case 2:
                found[at:at] = found[at : at + length] * dice.choice((1, 2, 50))
            case 3:
                found[at:at] = dice.choice((b"\0", b"\xff", b"-----", b"\r\n", b"\x30\x84\xff\xff\xff\xff", b"\x1f"))
            case _:
                found += b"\0"
                found[at] ^= 1 << dice.randrange(8)
    return bytes(found)


def look(crt: bytes, key: bytes) -> None:
    """Every reader reads it, within a bounded time of the processor; a value has usable properties."""
    began = time.process_time()
    found = read_leaf(files(crt, key), STRICT)
    stored = read_leaf(files(crt, key), replace(EXPECTED, now=None, names=()))
    trust = read_trust(crt, TRUST, NOW)
    above = read_authority(crt, key, OWNER, NOW)
    assert isinstance(found, Leaf) or found.all
    if isinstance(stored, Leaf):
        assert read_leaf(files(stored.chain_pem, stored.key.pem), replace(EXPECTED, now=None, names=())) == stored
    if isinstance(trust, Bundle):
        assert read_trust(trust.pem, TRUST, NOW) == trust
    assert not isinstance(above, Faults) or above.all
    assert time.process_time() - began < LONGEST_S


def test_mutated_pem(dice: random.Random) -> None:
    """Mutations of the text of right and wrong material raise nothing."""
    made = [case() for case in cases().values()]
    pairs = [(as_bytes(case.crt), as_bytes(case.key)) for case in made]
    pairs += [(leaf().chain_pem.encode(), leaf().key.pem.encode())] * 10
    for _ in range(ROUNDS):
        crt, key = dice.choice(pairs)
        if dice.random() < 0.5:
            look(mutated(dice, crt), key)
        else:
            look(crt, mutated(dice, key))


def test_mutated_der(dice: random.Random) -> None:
    """Mutations of the bytes inside the blocks raise nothing."""
    low = certificate(by=intermediate(), kind="rsa2048")
    made = [low, root(), intermediate(), certificate(by=root()), certificate(by=root(), kind="dsa")]
    made += [certificate(by=root(), kind="ed25519"), certificate(by=root(), kind="secp256k1")]
    ours = [(each.certificate.der, der_of(each.key.pem)) for each in (leaf(), authority())]
    pairs = [(der_of(each.pem), der_of(each.key_pem)) for each in made] + ours
    for _ in range(ROUNDS // 3):
        crt, key = dice.choice(pairs)
        if dice.random() < 0.7:
            crt = mutated(dice, crt)
        else:
            key = mutated(dice, key)
        look(block("CERTIFICATE", crt).encode(), block("PRIVATE KEY", key).encode())


def test_random_bytes(dice: random.Random) -> None:
    """Random bytes, alone and inside a block, raise nothing."""
    for _ in range(ROUNDS):
        content = dice.randbytes(dice.randrange(200))
        look(content, content)
        look(block("CERTIFICATE", content).encode(), block("PRIVATE KEY", content).encode())


def test_mutated_names(dice: random.Random) -> None:
    """A damaged name has a text, or none: there is no other error."""
    subject = certificate("a,b").crt.subject.public_bytes()
    texts = 0
    for _ in range(ROUNDS):
        try:
            name_of(mutated(dice, subject))
        except NoPrincipal:
            continue
        texts += 1
    assert 0 < texts < ROUNDS


def as_bytes(text: str | bytes) -> bytes:
    """The content of a file."""
    return text if isinstance(text, bytes) else text.encode()


def der_of(pem: str) -> bytes:
    """The bytes of the one block in a text."""
    return base64.b64decode("".join(pem.splitlines()[1:-1]))
