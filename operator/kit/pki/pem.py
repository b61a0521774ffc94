"""PEM, within bounds: the blocks of a text, by label, as bytes.

Text around blocks is ignored, because OpenSSL's tools and people write comments there. Inside a block there is Base64
and nothing else. Kafka's own reader is a regular expression with choices of its own. What it loads
is always written by `block`, so these two readers never have to agree.
"""

import base64
import binascii
import re
from dataclasses import dataclass, field
from typing import Final

_BEGIN: Final = re.compile(r"^-----BEGIN ([A-Z0-9][A-Z0-9 ]{0,40})-----[ \t]*$", re.MULTILINE)
_MARK: Final = re.compile(r"-----(?:BEGIN|END)")
_HEADER: Final = re.compile(r"^[A-Za-z0-9-]{1,64}:")
_SEQUENCE, _KEYSTORE = "\x30", "\xfe\xed\xfe\xed"
_LINE: Final = 64


class NotPem(ValueError):
    """Text that has no blocks of PEM, or a damaged one. The message is one clause."""


@dataclass(frozen=True, slots=True)
class Block:
    """One block: its label, its bytes, and whether it has a header that says that it is encrypted."""

    label: str
    content: bytes = field(repr=False)
    encrypted: bool = False


def text_of(content: str | bytes) -> str:
    """The text of a file in any encoding: each byte is one character, because PEM itself is ASCII."""
    return content if isinstance(content, str) else content.decode("latin-1")


def blocks(content: str | bytes) -> list[Block]:
    """All blocks in order (`NotPem`). The caller has bounded the length."""
    text = text_of(content)
    if text.startswith(_KEYSTORE):
        raise NotPem("it is a JKS key store, not PEM: export certificate and key as PEM")
    if text.startswith(_SEQUENCE) and "-----BEGIN" not in text:
        raise NotPem("it is binary (DER or PKCS#12), not PEM: convert it with openssl x509, pkcs8 or pkcs12")
    if "\0" in text:
        raise NotPem("it has a NUL character, so it is not PEM text: convert it with openssl")
    text = text.removeprefix("\ufeff").removeprefix("\xef\xbb\xbf").replace("\r\n", "\n").replace("\r", "\n")
    found, at = [], 0
    while (begin := _BEGIN.search(text, at)) is not None:
        if _MARK.search(text, at, begin.start()):
            raise NotPem("a block does not begin or end as PEM does: write it again")
        label, end = begin[1], text.find(f"\n-----END {begin[1]}-----", begin.end())
        if end < 0:
            raise NotPem(f"the block {label!r} has no end: it was cut off, or has another END line")
        found.append(_block(label, text[begin.end() : end]))
        at = end + len(f"\n-----END {label}-----")
    if _MARK.search(text, at):
        raise NotPem("a block does not begin or end as PEM does: write it again")
    return found


def block(label: str, content: bytes) -> str:
    """One block, with lines of 64 characters and a line break at its end."""
    encoded = base64.b64encode(content).decode()
    lines = [encoded[at : at + _LINE] for at in range(0, len(encoded), _LINE)]
    return "\n".join([f"-----BEGIN {label}-----", *lines, f"-----END {label}-----", ""])


def _block(label: str, body: str) -> Block:
    lines = [line.strip() for line in body.split("\n")]
    if any(map(_HEADER.match, lines)):
        if "Proc-Type: 4,ENCRYPTED" in lines:
            return Block(label, b"", encrypted=True)
        raise NotPem(f"the block {label!r} has a header, which is not read: remove its lines with a colon")
    try:
        content = base64.b64decode("".join(lines), validate=True)
    except (binascii.Error, ValueError):
        raise NotPem(f"the block {label!r} is not Base64: it is damaged") from None
    if not content:
        raise NotPem(f"the block {label!r} is empty")
    return Block(label, content)
