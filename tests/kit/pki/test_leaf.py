"""Given leafs: what is accepted as it is meant, and one fault of the right kind for each thing that is wrong."""

from dataclasses import replace
from datetime import timedelta
from math import gcd, lcm

import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding
from tests.kit.pki.cases import cases
from tests.kit.pki.made import (
    EXPECTED,
    HOST,
    NOW,
    OWNER,
    TRUST,
    Made,
    certificate,
    files,
    intermediate,
    leaf,
    private_key,
    root,
)
from tests.kit.pki.random_names import encoded

from kit.pki.certificate import NAMES_MAX, read_certificate
from kit.pki.faults import Faults, MaterialFault, Problem
from kit.pki.keys import KEY_MAX_CHARS, Key, is_costly, kind_fault, read_key
from kit.pki.leaf import CHAIN_MAX_CHARS, Expected, Leaf, read_leaf
from kit.pki.material import keystore
from kit.pki.pem import block

ALWAYS = Expected(now=None)
OPEN = "-----BEGIN CERTIFICATE-----\n"
OTHER = "-----BEGIN A-----\nQQ==\n-----END A-----\n"


def read(made: Made, expected: Expected = EXPECTED, above: str = "") -> Leaf | Faults:
    """A certificate of others with its key, and authorities above it."""
    return read_leaf(files(made.pem + above, made.key_pem), expected)


def problems(found: Leaf | Faults) -> frozenset[Problem]:
    """The kinds of faults; none of a leaf."""
    return found.problems if isinstance(found, Faults) else frozenset()


@pytest.mark.parametrize("name", sorted(cases()))
def test_wrong_material_has_its_fault(name: str) -> None:
    """Each wrong material has the fault of its kind, as a sentence that names the Secret and the way out."""
    case = cases()[name]()
    found = read_leaf(files(case.crt, case.key), EXPECTED)
    assert case.problem in problems(found)
    assert isinstance(found, Faults)
    assert all(OWNER in each.message and each.message.startswith(each.place.key) for each in found.all)
    assert all(": " in each.message or ";" in each.message for each in found.all)


@pytest.mark.parametrize("name", sorted(cases()))
def test_no_sentence_has_a_part_of_a_key(name: str) -> None:
    """Nothing of a key is in a fault: no eight characters of its text in a row."""
    case = cases()[name]()
    found = read_leaf(files(case.crt, case.key), EXPECTED)
    key = case.key if isinstance(case.key, str) else case.key.decode("latin-1")
    lines = [line for line in key.splitlines() if not line.startswith("-----") and ":" not in line]
    body = "".join(lines)
    assert not any(body[at : at + 8] in repr(found) for at in range(len(body) - 7))


@pytest.mark.parametrize("kind", ["ec", "secp384r1", "secp521r1", "rsa2048", "rsa4096"])
def test_a_right_leaf_is_accepted(kind: str) -> None:
    """A leaf of any kind that Java uses, with its intermediate authority, and with the root too, is read."""
    made = certificate(by=intermediate(), kind=kind)
    found = read(made, above=intermediate().pem)
    assert isinstance(found, Leaf)
    assert len(found.chain) == 2
    assert isinstance(read(made, above=intermediate().pem + root().pem), Leaf)


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text.replace("\n", "\r\n"),
        lambda text: text.encode(),
        lambda text: "\ufeff" + text,
        lambda text: b"\xef\xbb\xbf" + text.encode(),
        lambda text: "subject=CN = demo\n" + text + "\n# the end\n",
        lambda text: "Zürich\n".encode("latin-1") + text.encode() + b"\xff\xfe",
        lambda text: text.rstrip(),
        lambda text: text.replace("-----\n", "-----  \n"),
    ],
    ids=["CRLF", "bytes", "mark", "mark as bytes", "comments", "Latin-1 comments", "no last line break", "blanks"],
)
def test_other_ways_to_write_it_are_the_same(change: object) -> None:
    """Line breaks of Windows, comments, marks and blanks change nothing of what is read."""
    assert callable(change)
    low = leaf()
    found = read_leaf(files(change(low.chain_pem), change(low.key.pem)), EXPECTED)
    assert found == low
    assert keystore(low) == low.key.pem + low.chain_pem


@pytest.mark.parametrize(
    ("pattern", "name", "covered"),
    [
        (HOST, HOST, True),
        (HOST.upper(), HOST, True),
        (HOST, HOST.upper(), True),
        (HOST, f"{HOST}.", True),
        ("*.demo-controllers.team.svc", HOST, True),
        ("*.DEMO-controllers.team.svc", HOST, True),
        ("*.team.svc", HOST, False),
        ("demo-*.demo-controllers.team.svc", HOST, False),
        ("demo-3000.*.team.svc", HOST, False),
        ("*.*.team.svc", HOST, False),
        ("*", "svc", False),
        ("*.svc", "team.svc", False),
        ("*.team.svc", "team.svc", False),
        ("*.team.svc", ".team.svc", False),
        ("*.team.svc", "*.team.svc", False),
        ("10.0.0.1", "IP:10.0.0.1", False),
    ],
)
def test_a_wildcard_is_one_whole_label(pattern: str, name: str, covered: bool) -> None:  # noqa: FBT001 - parametrized
    """A name is covered by itself in any case, or by a wildcard for its whole first label with two labels behind it."""
    found = read(certificate(by=root(), names=(pattern,)), ALWAYS)
    assert isinstance(found, Leaf)
    assert found.certificate.covers(name) is covered


def test_ends_are_judged_at_the_time_that_is_given() -> None:
    """A leaf is valid in its first and its last second, and not one second before or after; without a time, always."""
    made = certificate(by=root())
    begin, end, second = NOW - timedelta(days=1), NOW + timedelta(days=30), timedelta(seconds=1)
    for now, found in (
        (begin, frozenset()),
        (end, frozenset()),
        (begin - second, {Problem.NOT_YET_VALID}),
        (end + second, {Problem.EXPIRED}),
        (None, frozenset()),
    ):
        assert problems(read(made, replace(EXPECTED, now=now))) == found


def test_an_intermediate_authority_that_ended_is_a_fault() -> None:
    """Every certificate of the chain is judged, not only the first one."""
    old = certificate("old", by=root(), ca=True, names=(), ends=timedelta(days=-1), begins=timedelta(days=-2))
    assert problems(read(certificate(by=old), above=old.pem)) == {Problem.EXPIRED}


def test_the_subject_is_compared_as_text() -> None:
    """Another text of the subject is a fault, even if X.500 takes both names for the same: super.users has text."""
    made = certificate("Controllers", by=root())
    assert problems(read(made, replace(EXPECTED, subject="CN=Controllers"))) == frozenset()
    assert problems(read(made, replace(EXPECTED, subject="CN=controllers"))) == {Problem.SUBJECT}


def test_a_subject_with_a_semicolon_is_no_user() -> None:
    """A subject that cannot be an entry of super.users is a fault as soon as users are compared."""
    made = certificate("a;b", by=root())
    assert problems(read(made)) == frozenset()
    assert problems(read(made, replace(EXPECTED, subject="CN=a\\;b"))) == {Problem.SUBJECT}


def test_a_renewed_leaf_keeps_its_names() -> None:
    """A leaf may have more names than the one before it, and none less; the case of letters counts, as in Kafka."""
    more = leaf(names=(HOST, "more.team.svc"))
    for earlier, found in (
        ({f"DNS:{HOST}"}, frozenset()),
        ({f"DNS:{HOST}", "DNS:more.team.svc"}, frozenset()),
        ({f"DNS:{HOST}", "DNS:gone.team.svc"}, {Problem.FEWER_NAMES}),
        ({f"DNS:{HOST.upper()}"}, {Problem.FEWER_NAMES}),
    ):
        expected = replace(EXPECTED, earlier_names=frozenset(earlier))
        assert problems(read_leaf(files(more.chain_pem, more.key.pem), expected)) == found


@pytest.mark.parametrize("fill", ["x", "-", "\r", "\0", OPEN, OTHER])
def test_huge_input_is_not_read(fill: str) -> None:
    """A text above the bound is a fault of its own kind, and no part of it is read."""
    low = leaf()
    crt, key = low.chain_pem + fill * CHAIN_MAX_CHARS, low.key.pem + fill * KEY_MAX_CHARS
    assert problems(read_leaf(files(crt, low.key.pem), EXPECTED)) == {Problem.TOO_LARGE}
    assert problems(read_leaf(files(low.chain_pem, key), EXPECTED)) == {Problem.TOO_LARGE}


def test_all_faults_are_reported_at_once() -> None:
    """A person reads everything that is wrong in one look."""
    made = certificate(by=root(), names=("other.team.svc",), ends=timedelta(days=-1), begins=timedelta(days=-2))
    found = read_leaf(files(made.pem, leaf().key.pem), EXPECTED)
    assert problems(found) == {Problem.NAMES, Problem.EXPIRED, Problem.OTHER_KEY}


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"\x30\x82\x01\x00abc", "DER or PKCS#12"),
        (b"\xfe\xed\xfe\xed\0\0", "JKS"),
        ("-----BEGIN CERTIFICATE-----\n****\n-----END CERTIFICATE-----\n", "Base64"),
        ("-----BEGIN CERTIFICATE-----\nQQ==\n", "has no end"),
        ("-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----\n", "is empty"),
        ("  -----BEGIN CERTIFICATE-----\nQQ==\n-----END CERTIFICATE-----\n", "does not begin or end"),
        ("-----END CERTIFICATE-----\n", "does not begin or end"),
        ("-----BEGIN CERTIFICATE-----\nA: b\n\nQQ==\n-----END CERTIFICATE-----\n", "header"),
    ],
)
def test_what_is_not_pem_says_what_it_is(content: str | bytes, words: str) -> None:
    """A binary store and each kind of damage is named in the sentence."""
    found = read_leaf(files(content, leaf().key.pem), EXPECTED)
    assert isinstance(found, Faults)
    assert problems(found) == {Problem.NOT_PEM}
    assert words in found.all[0].message


def rsa_key(bits: int, primes: int) -> str:
    """A PKCS#8 key of RSA whose numbers have these lengths, and nothing else of a key."""
    lengths = (1, bits, 17, bits, primes, primes, primes, primes, primes)
    numbers = b"".join(encoded(0x02, b"\x01" * (length // 8 or 1)) for length in lengths)
    algorithm = encoded(0x30, bytes.fromhex("06092a864886f70d0101010500"))
    return block("PRIVATE KEY", encoded(0x30, b"\x02\x01\0" + algorithm + encoded(0x04, encoded(0x30, numbers))))


@pytest.mark.parametrize(
    ("bits", "primes", "problem"),
    [
        (4096, 2048, Problem.BAD_KEY),
        (8192, 4096, Problem.KEY_KIND),
        (4096, 4000, Problem.KEY_KIND),
        (16384, 8192, Problem.KEY_KIND),
    ],
)
def test_a_key_that_would_take_seconds_to_check_is_not_parsed(bits: int, primes: int, problem: Problem) -> None:
    """An RSA key of more than 4096 bits, or with one long prime, is refused by its size alone."""
    assert problems(read_leaf(files(leaf().chain_pem, rsa_key(bits, primes)), EXPECTED)) == {problem}


def numbers_of(key: rsa.RSAPrivateKey) -> list[int]:
    """The numbers of a key in the order of PKCS#1."""
    n = key.private_numbers()
    return [0, n.public_numbers.n, n.public_numbers.e, n.d, n.p, n.q, n.dmp1, n.dmq1, n.iqmp]


def rsa_of(numbers: list[int]) -> str:
    """These numbers as a PKCS#8 key."""
    written = [each.to_bytes(each.bit_length() // 8 + 1) for each in numbers]
    content = b"".join(
        b"\x02\x81" + bytes([len(each)]) + each if 127 < len(each) < 256 else encoded(2, each) for each in written
    )
    algorithm = encoded(0x30, bytes.fromhex("06092a864886f70d0101010500"))
    return block("PRIVATE KEY", encoded(0x30, b"\x02\x01\0" + algorithm + encoded(0x04, encoded(0x30, content))))


@pytest.mark.parametrize("at", range(1, 9))
@pytest.mark.parametrize("bit", [0, 1, 700])
def test_a_damaged_rsa_key_is_refused(at: int, bit: int) -> None:
    """Every number of a key is compared with the others, so one wrong bit is found without a check of the primes."""
    numbers = numbers_of(private_key("rsa2048"))
    assert isinstance(read_key(rsa_of(numbers), TRUST), Key)
    numbers[at] ^= 1 << bit
    assert isinstance(read_key(rsa_of(numbers), TRUST), MaterialFault)


def test_the_primes_of_a_key_are_not_checked() -> None:
    """A check of primes takes 0.3 s, and no other thread runs meanwhile: it is enough that the numbers fit."""
    p, q = (1 << 1023) + (1 << 1022) + 0x1_0000_0001, (1 << 1023) + (1 << 1022) + 0x7
    while gcd(p - 1, 65537) != 1 or gcd(p, q) != 1:
        p += 2
    while gcd(q - 1, 65537) != 1 or gcd(p, q) != 1:
        q += 2
    d = pow(65537, -1, lcm(p - 1, q - 1))
    numbers = [0, p * q, 65537, d, p, q, d % (p - 1), d % (q - 1), pow(q, -1, p)]
    assert isinstance(read_key(rsa_of(numbers), TRUST), Key)


def test_no_signature_is_checked_with_a_costly_key() -> None:
    """An authority with a long public exponent is refused by its key, and no link of a chain is worked out with it."""
    costly = certificate("costly", ca=True, names=(), kind="long-exponent")
    made = certificate(by=costly)
    found = read(made, above=costly.pem)
    assert isinstance(found, Faults)
    assert problems(found) == {Problem.KEY_KIND}
    assert "public exponent of more than 32 bits" in found.all[0].message
    below, above = (read_certificate(each.crt.public_bytes(Encoding.DER)) for each in (made, costly))
    assert not below.issued_by(above)


@pytest.mark.parametrize(("bits", "costly"), [(8192, False), (8200, True)])
def test_a_public_key_has_a_limit(bits: int, costly: bool) -> None:  # noqa: FBT001 - one of two
    """RSA of an authority may have up to 8192 bits."""
    public = rsa.RSAPublicNumbers(65537, (1 << bits) - 1).public_key()
    assert is_costly(public) is costly
    assert bool(kind_fault(public)) is costly


def test_a_leaf_with_more_names_than_a_listener_may_serve() -> None:
    """What the operator would refuse in a handshake is refused before a listener has it; what is stored is read."""
    many = tuple(f"host-{number}.example" for number in range(NAMES_MAX - 1))
    assert isinstance(read(certificate(by=root(), names=(HOST, *many))), Leaf)
    more = certificate(by=root(), names=(HOST, "one-more.example", *many))
    found = read(more)
    assert isinstance(found, Faults)
    assert problems(found) == {Problem.TOO_MANY}
    assert f"with {NAMES_MAX + 1} names" in found.all[0].message
    assert isinstance(read(more, ALWAYS), Leaf)
