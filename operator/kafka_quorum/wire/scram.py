"""The client's half of SCRAM (RFC 5802, RFC 7677), as Kafka speaks it: no channel binding, no SASLprep. Pure.

The password is not sent. The server proves that it has the password's key, too. Kafka takes the bytes of a name and of
a password as they are (UTF-8), so they are not normalized here.
"""

import base64
import binascii
import hashlib
import hmac
import re
from dataclasses import dataclass, field
from typing import Final

from kit.parsing import Malformed

MAX_BYTES: Final = 4096
"""The limit of one message of a server."""
ITERATIONS: Final = range(4096, 100_001)
"""What a server may ask for: the least of RFC 7677, and far more than Kafka allows (16,384). 100,000 take 0.1 s."""
_HEADER: Final = "n,,"
_FIRST: Final = re.compile(r"r=([\x21-\x2b\x2d-\x7e]+),s=([A-Za-z0-9+/=]+),i=([1-9][0-9]{0,9})(?:,[\x20-\x7e]*)?")
_FINAL: Final = re.compile(r"v=([A-Za-z0-9+/=]+)(?:,[\x20-\x7e]*)?")


@dataclass(slots=True, kw_only=True)
class Scram:
    """One exchange: send `first`, `respond` to the challenge, `verify` the last message.

    `algorithm` is hashlib's name. `client_nonce` must be random, printable and without a comma. `respond` and `verify`
    raise `Malformed`, without the password in it. `respond` takes up to 0.1 s of a processor.
    """

    algorithm: str
    username: str
    password: str = field(repr=False)
    client_nonce: str
    _signature: bytes = field(default=b"", init=False, repr=False)

    def first(self) -> bytes:
        """The first message."""
        return f"{_HEADER}{self._bare}".encode()

    def respond(self, challenge: bytes) -> bytes:
        """The answer to the server's first message."""
        found = _FIRST.fullmatch(_text(challenge))
        if found is None:
            raise Malformed("it is no challenge of SCRAM")
        nonce, salt, iterations = found[1], _bytes(found[2]), int(found[3])
        if not nonce.startswith(self.client_nonce) or len(nonce) == len(self.client_nonce):
            raise Malformed("its nonce is not an extension of ours")
        if iterations not in ITERATIONS:
            raise Malformed(f"it asks for {iterations} iterations, and {ITERATIONS[0]} to {ITERATIONS[-1]} are made")
        salted = hashlib.pbkdf2_hmac(self.algorithm, self.password.encode(), salt, iterations)
        without_proof = f"c={base64.b64encode(_HEADER.encode()).decode()},r={nonce}"
        said = f"{self._bare},{found[0]},{without_proof}".encode()
        client_key = self._hmac(salted, b"Client Key")
        signature = self._hmac(hashlib.new(self.algorithm, client_key).digest(), said)
        proof = bytes(one ^ other for one, other in zip(client_key, signature, strict=True))
        self._signature = self._hmac(self._hmac(salted, b"Server Key"), said)
        return f"{without_proof},p={base64.b64encode(proof).decode()}".encode()

    def verify(self, answer: bytes) -> None:
        """Accept the server's last message only if it could be made with the password's key alone."""
        found = _FINAL.fullmatch(_text(answer))
        if found is None or not self._signature or not hmac.compare_digest(_bytes(found[1]), self._signature):
            raise Malformed("it does not prove that the server has the password")

    @property
    def _bare(self) -> str:
        name = self.username.replace("=", "=3D").replace(",", "=2C")
        return f"n={name},r={self.client_nonce}"

    def _hmac(self, key: bytes, data: bytes) -> bytes:
        return hmac.digest(key, data, self.algorithm)


def _text(message: bytes) -> str:
    if len(message) > MAX_BYTES:
        raise Malformed(f"it has {len(message)} bytes, at most {MAX_BYTES} are read")
    try:
        return message.decode("ascii")
    except UnicodeDecodeError:
        raise Malformed("it is not ASCII") from None


def _bytes(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise Malformed("it has a value that is no base64") from None
