"""Names as Java writes them: what X500Principal.getName() of Java 17 answered, and which ones can be users."""

import pytest
from tests.kit.pki.random_names import encoded

from kit.pki.names import DistinguishedName, NoPrincipal, name_of, principal

OIDS = {
    "CN": "550403",
    "C": "550406",
    "ST": "550408",
    "STREET": "550409",
    "O": "55040a",
    "OU": "55040b",
    "DC": "0992268993f22c640119",
    "UID": "0992268993f22c640101",
    "serial": "550405",
    "email": "2a864886f70d010901",
}
UTF8, PRINTABLE, UNIVERSAL, BMP = 0x0C, 0x13, 0x1C, 0x1E


def attribute(of: str, text: str, tag: int = UTF8) -> bytes:
    """One type and value."""
    return encoded(0x30, encoded(0x06, bytes.fromhex(OIDS[of])) + encoded(tag, text.encode()))


def name(*parts: bytes) -> bytes:
    """A name of parts with one or more attributes."""
    return encoded(0x30, b"".join(encoded(0x31, part) for part in parts))


@pytest.mark.parametrize(
    ("text", "java"),
    [
        ("x y", "x y"),
        ("a,b", r"a\,b"),
        ("a+b", r"a\+b"),
        ('a"b', r"a\"b"),
        ("a\\b", r"a\\b"),
        ("a<b>", r"a\<b\>"),
        ("a;b", r"a\;b"),
        ("a=b", r"a\=b"),
        ("#ab", r"\#ab"),
        ("a#b", r"a\#b"),
        ("  a  b  ", r"\ \ a  b\ \ "),
        ("  ", r"\ \ "),
        ("\ra\r", "\\\ra\\\r"),
        ("\na\n", "\na\n"),
        ("a\0b", r"a\00b"),
        ("é日😀", "é日😀"),
        ("", ""),
        ("a/b:c@d'e?*", "a/b:c@d'e?*"),
    ],
)
def test_texts_are_escaped_as_java_does(text: str, java: str) -> None:
    """Each text is what Java 17 answered for the same bytes."""
    assert name_of(name(attribute("CN", text))) == f"CN={java}"


@pytest.mark.parametrize(
    ("der", "java"),
    [
        (name(), ""),
        (name(attribute("O", "z"), attribute("CN", "x") + attribute("OU", "y")), "CN=x+OU=y,O=z"),
        (name(attribute("CN", "x") + attribute("OU", "y"), attribute("O", "z")), "O=z,CN=x+OU=y"),
        (name(attribute("OU", "y") + attribute("CN", "x")), "OU=y+CN=x"),
        (name(attribute("serial", "x y")), "2.5.4.5=#0c03782079"),
        (name(attribute("email", "x y")), "1.2.840.113549.1.9.1=#0c03782079"),
        (name(attribute("CN", "abcd", UNIVERSAL)), "CN=#1c0461626364"),
        (name(attribute("CN", "abcd", BMP)), "CN=abcd"),
        (name(attribute("UID", "u"), attribute("DC", "d", PRINTABLE)), "DC=d,UID=u"),
        (name(attribute("STREET", "s"), attribute("ST", "t"), attribute("C", "c")), "C=c,ST=t,STREET=s"),
        (name(b""), ""),
    ],
)
def test_parts_are_ordered_as_java_does(der: bytes, java: str) -> None:
    """The last part comes first; a part with two attributes keeps their order; unknown types are digits."""
    assert name_of(der) == java


def test_a_name_of_ours_is_written_the_same_way() -> None:
    """A name that is made here has its common name first, with Java's escapes."""
    found = DistinguishedName(cn="controllers", ou="demo", o="a,b")
    assert found.principal == r"CN=controllers,OU=demo,O=a\,b"
    assert name_of(found.x509.public_bytes()) == found.principal


@pytest.mark.parametrize(
    "der",
    [
        name(),
        name(attribute("CN", "a;b")),
        name(attribute("CN", "a ")),
        name(attribute("CN", "a\nb")),
        name(attribute("CN", "a\u200bb")),
        name(attribute("CN", "a\u202eb")),
        name(attribute("CN", "a" * 2000)),
        b"",
        b"\x30\x05",
        encoded(0x30, encoded(0x31, encoded(0x30, encoded(0x06, b"\x55\x84") + encoded(UTF8, b"x")))),
        encoded(0x30, encoded(0x31, encoded(0x30, encoded(0x06, b"\x55\x04\x03") + encoded(UTF8, b"\xff")))),
    ],
)
def test_what_cannot_be_a_user(der: bytes) -> None:
    """A name that super.users cannot hold, that a person cannot read, or that is damaged, is no principal."""
    with pytest.raises(NoPrincipal):
        principal(der)


@pytest.mark.parametrize("cn", ["", "a" * 65, "a\n", "\u200b"])
def test_a_name_of_ours_is_visible_and_short(cn: str) -> None:
    """No name is made of an empty, long or invisible part."""
    with pytest.raises(NoPrincipal):
        DistinguishedName(cn=cn, ou="demo", o="team")
