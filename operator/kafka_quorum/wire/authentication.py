"""Authenticate a connection by SASL: the handshake, then the messages of the mechanism."""

import asyncio
import secrets
from collections.abc import Awaitable, Callable
from typing import Final, assert_never

from kio.schema.errors import ErrorCode
from kio.static.protocol import RequestPayload, ResponsePayload

from kafka_quorum.model.security import Mechanism, Sasl
from kafka_quorum.wire.requests import sasl_authenticate, sasl_handshake
from kafka_quorum.wire.scram import Scram
from kit.parsing import Malformed

_ALGORITHMS: Final = {Mechanism.SCRAM_SHA_256: "sha256", Mechanism.SCRAM_SHA_512: "sha512"}
_NONCE_BYTES: Final = 24
_LISTED: Final = 8
Ask = Callable[[RequestPayload], Awaitable[ResponsePayload]]


class DeniedError(Exception):
    """The server refused. The text is one clause with what to do, to be put into a sentence; it has no secret."""


async def authenticate(sasl: Sasl, ask: Ask) -> float:
    """For how many seconds the server accepts the connection now, 0 for ever.

    Raises `DeniedError`, ValueError for an answer that is none to this question, and the errors of `ask`.
    """
    code, offered = sasl_handshake.read(await ask(sasl_handshake.message(sasl.mechanism.value)))
    if code is ErrorCode.unsupported_sasl_mechanism:
        has = ", ".join(offered[:_LISTED]) or "none"
        raise DeniedError(f"its listener has no mechanism {sasl.mechanism.value}, it has {has}: correct the mechanism")
    if code is ErrorCode.illegal_sasl_state:
        raise DeniedError("its listener has no SASL: correct the protocol, or the port")
    if code is not ErrorCode.none:
        raise DeniedError(f"it refused the mechanism {sasl.mechanism.value} ({code.name.upper()})")
    match sasl.mechanism:
        case Mechanism.PLAIN:
            _, lifetime_s = await _step(sasl, ask, f"\0{sasl.username}\0{sasl.password}".encode())
            return lifetime_s
        case Mechanism.SCRAM_SHA_256 | Mechanism.SCRAM_SHA_512:
            return await _scram(sasl, ask, _ALGORITHMS[sasl.mechanism])
    assert_never(sasl.mechanism)


async def _scram(sasl: Sasl, ask: Ask, algorithm: str) -> float:
    exchange = Scram(
        algorithm=algorithm,
        username=sasl.username,
        password=sasl.password,
        client_nonce=secrets.token_urlsafe(_NONCE_BYTES),
    )
    try:
        challenge, _ = await _step(sasl, ask, exchange.first())
        proof = await asyncio.to_thread(exchange.respond, challenge)  # a server chooses how long it computes
        answer, lifetime_s = await _step(sasl, ask, proof)
        exchange.verify(answer)
    except Malformed as error:
        raise ValueError(f"the authentication by {sasl.mechanism.value} ended at its answer: {error}") from None
    return lifetime_s


async def _step(sasl: Sasl, ask: Ask, data: bytes) -> tuple[bytes, float]:
    code, answer, lifetime_s = sasl_authenticate.read(await ask(sasl_authenticate.message(data)))
    if code is ErrorCode.sasl_authentication_failed:
        how = f"{sasl.mechanism.value}, {code.name.upper()}"
        raise DeniedError(f"it refused the user name or the password ({how}): correct the Secret")
    if code is not ErrorCode.none:
        raise DeniedError(f"it refused to authenticate by {sasl.mechanism.value} ({code.name.upper()})")
    return answer, lifetime_s
