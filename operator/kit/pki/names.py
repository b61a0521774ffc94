r"""Distinguished names: those that are made here, and the text that Java has of any name.

A server written in Java compares its users with `X500Principal.getName()`, which is RFC 2253 with Java's choices. All
of it was measured on Java 17 (tests/live/test_pki.py):

- The last part of the encoded name comes first. The parts of one set are joined by `+` in their encoded order.
- Nine attributes have a keyword. Any other one is its OID, with its DER in hexadecimal digits.
- The bytes of a text are read as UTF-8, even those of a BMPString. `,=+<>#;"\` get a backslash at every place, spaces
  and carriage returns at both ends, and NUL becomes `\00`.
"""

from dataclasses import dataclass
from typing import Final

from cryptography import x509
from cryptography.x509.oid import NameOID

from kit.pki.der import SEQUENCE, SET, NotDer, elements, only
from kit.text import is_clean

COMMON_NAME_MAX_CHARS: Final = 64
"""X.520's bound, which libraries enforce for the common name alone."""
PART_MAX_CHARS: Final = 253
PRINCIPAL_MAX_CHARS: Final = 1000

_OID: Final = 0x06
_KEYWORDS: Final = {
    bytes.fromhex("550403"): "CN",
    bytes.fromhex("550406"): "C",
    bytes.fromhex("550407"): "L",
    bytes.fromhex("550408"): "ST",
    bytes.fromhex("550409"): "STREET",
    bytes.fromhex("55040a"): "O",
    bytes.fromhex("55040b"): "OU",
    bytes.fromhex("0992268993f22c640101"): "UID",
    bytes.fromhex("0992268993f22c640119"): "DC",
}
_TEXTS: Final = frozenset((0x0C, 0x13, 0x14, 0x16, 0x1B, 0x1E))
"""UTF8String, PrintableString, TeletexString, IA5String, GeneralString, BMPString."""
_ESCAPED: Final = ',=+<>#;"\\'
_BLANKS: Final = " \r"
_SEVEN_BITS, _ARC, _ARCS = 0x80, 40, 2


class NoPrincipal(ValueError):
    """A name that cannot be a user of a server. The message is one clause."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DistinguishedName:
    """A name of three parts; `principal` is `CN=…,OU=…,O=…`."""

    cn: str
    ou: str
    o: str

    def __post_init__(self) -> None:
        """Every part is visible text of a bounded length (`NoPrincipal`)."""
        parts = (("CN", self.cn, COMMON_NAME_MAX_CHARS), ("OU", self.ou, PART_MAX_CHARS), ("O", self.o, PART_MAX_CHARS))
        for keyword, value, most in parts:
            if not is_clean(value, max_chars=most):
                raise NoPrincipal(f"{keyword} must be visible text of 1 to {most} characters")

    @property
    def x509(self) -> x509.Name:
        """As a certificate has it: the common name is the last part."""
        parts = ((NameOID.ORGANIZATION_NAME, self.o), (NameOID.ORGANIZATIONAL_UNIT_NAME, self.ou))
        return x509.Name([x509.NameAttribute(oid, value) for oid, value in (*parts, (NameOID.COMMON_NAME, self.cn))])

    @property
    def principal(self) -> str:
        """As Java writes it, to be used after `User:` (`NoPrincipal`)."""
        return principal(self.x509.public_bytes())


def principal(der: bytes) -> str:
    """Java's text of an encoded name, if it can be an entry of `super.users` (`NoPrincipal`).

    That setting is a list with `;` between its entries, which no escape protects, and Kafka removes blanks at the ends
    of each entry. Characters that cannot be seen are refused, too: this is stricter than Kafka, because a person must
    be able to compare two users.
    """
    text = name_of(der)
    if not text:
        raise NoPrincipal("the name is empty")
    if ";" in text:
        raise NoPrincipal("the name has a semicolon, which separates the users of super.users")
    if text[-1] <= " " or text[0] <= " ":
        raise NoPrincipal("the name ends with a blank, which Kafka removes from super.users")
    if not is_clean(text, max_chars=PRINCIPAL_MAX_CHARS):
        raise NoPrincipal(f"the name has characters that cannot be seen, or more than {PRINCIPAL_MAX_CHARS}")
    return text


def name_of(der: bytes) -> str:
    """`X500Principal.getName()` of an encoded name (`NoPrincipal`). The text can hold any character."""
    try:
        sets = [only(each.whole, SET) for each in elements(only(der, SEQUENCE))]
        parts = ["+".join(_attribute(each.content) for each in elements(content)) for content in reversed(sets)]
    except NotDer as error:
        raise NoPrincipal(f"the name is damaged ({error})") from None
    return ",".join(parts)


def _attribute(content: bytes) -> str:
    found = list(elements(content))
    if len(found) != len(("type", "value")) or found[0].tag != _OID:
        raise NotDer("an attribute is not a type and a value")
    oid, value = found
    keyword = _KEYWORDS.get(oid.content)
    if keyword is None or value.tag not in _TEXTS:
        return f"{keyword or _dotted(oid.content)}=#{value.whole.hex()}"
    try:
        return f"{keyword}={_escaped(value.content.decode())}"
    except UnicodeDecodeError:
        raise NoPrincipal(f"{keyword} of the name is not UTF-8") from None


def _escaped(text: str) -> str:
    inner = text.strip(_BLANKS)
    lead = len(text) - len(text.lstrip(_BLANKS))
    before, after = text[:lead], text[lead + len(inner) :]
    escaped = "".join("\\00" if each == "\0" else f"\\{each}" if each in _ESCAPED else each for each in inner)
    return "".join((*(f"\\{each}" for each in before), escaped, *(f"\\{each}" for each in after)))


def _dotted(content: bytes) -> str:
    numbers, number = [], 0
    for byte in content:
        number = number * _SEVEN_BITS + byte % _SEVEN_BITS
        if byte < _SEVEN_BITS:
            numbers.append(number)
            number = 0
    if not numbers or content[-1] >= _SEVEN_BITS:
        raise NotDer("an OID is cut off")
    first = min(numbers[0] // _ARC, _ARCS)
    return ".".join(map(str, (first, numbers[0] - first * _ARC, *numbers[1:])))
