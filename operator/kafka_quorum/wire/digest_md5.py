"""The client's half of SASL DIGEST-MD5 (RFC 2831), by which ZooKeeper authenticates a user with a password.

Kazoo can do it with pure-sasl, which has no wheel and takes its nonce from a random generator that can be predicted.
The password is not sent; who listens can still try passwords, so it belongs inside TLS. Only `auth` is spoken: no
protection of what follows.
"""

import hashlib
import hmac
import re
from dataclasses import dataclass, field
from typing import Final

from kit.parsing import Malformed

SERVICE: Final = "zookeeper"
REALM: Final = "zk-sasl-md5"
"""The host's name in every answer: ZooKeeper uses this word in its place."""
_MAX_BYTES: Final = 2048
"""The limit of a challenge, as the RFC has it."""
_FIELD: Final = re.compile(r'\s*([A-Za-z-]{1,32})\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s",]*))\s*(?:,|$)')
_COUNT: Final = "00000001"


@dataclass(slots=True)
class Digest:
    """One exchange: `respond` to the challenge, then `verify` that the server has the password too.

    `client_nonce` must be random. Both raise `Malformed`, without the password in it.
    """

    username: str
    password: str = field(repr=False)
    client_nonce: str
    uri: str = f"{SERVICE}/{REALM}"
    _server_proof: str = field(default="", init=False, repr=False)

    def respond(self, challenge: bytes) -> bytes:
        """The answer to a challenge."""
        fields = _fields(challenge)
        if "nonce" not in fields:
            raise Malformed("it has no nonce")
        if "auth" not in fields.get("qop", "auth").replace(" ", "").split(","):
            raise Malformed("it requires protection of all messages")
        if fields.get("algorithm") != "md5-sess":
            raise Malformed("it requires another algorithm than md5-sess")
        realm, nonce = fields.get("realm", ""), fields["nonce"]
        secret = _md5(b":".join((_octets(self.username), _octets(realm), _octets(self.password))))
        key = _md5(secret + f":{nonce}:{self.client_nonce}".encode()).hex()
        self._server_proof = self._hash(key, nonce, f":{self.uri}")
        parts = {
            "username": _quoted(self.username),
            "realm": _quoted(realm),
            "nonce": _quoted(nonce),
            "nc": _COUNT,
            "cnonce": _quoted(self.client_nonce),
            "digest-uri": _quoted(self.uri),
            "qop": "auth",
            "response": self._hash(key, nonce, f"AUTHENTICATE:{self.uri}"),
            **({"charset": "utf-8"} if fields.get("charset") == "utf-8" else {}),
        }
        return ",".join(f"{name}={value}" for name, value in parts.items()).encode()

    def verify(self, answer: bytes) -> None:
        """Accept the server's last answer only if it could be made with the password alone."""
        proof = _fields(answer).get("rspauth", "")
        if not self._server_proof or not hmac.compare_digest(proof.encode(), self._server_proof.encode()):
            raise Malformed("it does not prove that the server has the password")

    def _hash(self, key: str, nonce: str, what: str) -> str:
        return _md5(f"{key}:{nonce}:{_COUNT}:{self.client_nonce}:auth:{_md5(what.encode()).hex()}".encode()).hex()


def _fields(message: bytes) -> dict[str, str]:
    if len(message) > _MAX_BYTES:
        raise Malformed(f"it has {len(message)} bytes, at most {_MAX_BYTES} are read")
    try:
        text = message.decode()
    except UnicodeDecodeError:
        raise Malformed("it is not UTF-8") from None
    found: dict[str, str] = {}
    at = 0
    while at < len(text):
        part = _FIELD.match(text, at)
        if part is None:
            raise Malformed("it is no list of name=value")
        name, quoted, plain = part.groups()
        found.setdefault(name, plain if quoted is None else re.sub(r"\\(.)", r"\1", quoted))
        at = part.end()
    return found


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _octets(text: str) -> bytes:
    """As the RFC has it: ISO 8859-1 if that has every character, otherwise UTF-8."""
    try:
        return text.encode("iso-8859-1")
    except UnicodeEncodeError:
        return text.encode()


def _md5(data: bytes) -> bytes:
    return hashlib.md5(data, usedforsecurity=False).digest()
