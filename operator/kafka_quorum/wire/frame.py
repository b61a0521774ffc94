"""Kafka's framing, without a socket: bytes in, answers out; one unanswered request at a time.

Everything that affects the state of a conversation is here. Each message is a length of four bytes, big-endian, and
that many bytes, of which the first four are the correlation id of the answered request. The rules:

1. A conversation is `IDLE` or `WAITING` for one answer. Controllers answer in order, so more would be possible; one at
   a time means that a deadline or a cancellation concerns exactly one request.
2. A length that is negative, too small for a correlation id, or above the bound is an error at once.
3. Unrequested bytes, an answer with another correlation id, and bytes after an answer are errors.
4. After an error or an abandoned request the conversation is `BROKEN` for ever: later bytes could be mistaken for the
   answer to another request. Only a new connection helps.
"""

import struct
from enum import Enum, auto

from kafka_quorum.wire.bounds import MAX_ANSWER_BYTES

_LENGTH = struct.Struct(">i")
_CORRELATION_ID = struct.Struct(">i")
_CORRELATION_ID_LIMIT = 2**31
_TLS_ALERT = 0x1503
"""How an alert of TLS begins. As a length it is above every bound."""


class FrameError(Exception):
    """The server sent bytes that are no answer to what was asked. The text is one clause, to be put into a sentence."""


class State(Enum):
    """The state of a conversation."""

    IDLE = auto()
    WAITING = auto()
    BROKEN = auto()


class Conversation:
    """The requests and answers of one connection. `max_answer_bytes` bounds one answer, without its length."""

    def __init__(self) -> None:
        """Begin without a request."""
        self._max_answer_bytes = MAX_ANSWER_BYTES
        self._state = State.IDLE
        self._correlation_id = -1
        self._received = bytearray()

    @property
    def state(self) -> State:
        """Whether a request may be sent now, is being answered, or may never be sent again."""
        return self._state

    @property
    def next_correlation_id(self) -> int:
        """The id that the next request must carry."""
        return (self._correlation_id + 1) % _CORRELATION_ID_LIMIT

    def ask(self, message: bytes, max_answer_bytes: int = MAX_ANSWER_BYTES) -> bytes:
        """The bytes to send for a message that carries `next_correlation_id`. Only when idle."""
        if self._state is not State.IDLE:
            raise RuntimeError(f"a request on a conversation that is {self._state.name}")
        self._correlation_id = self.next_correlation_id
        self._max_answer_bytes = max_answer_bytes
        self._state = State.WAITING
        return _LENGTH.pack(len(message)) + message

    def receive(self, data: bytes) -> bytes | None:
        """The whole answer, correlation id included, when it is complete; FrameError breaks the conversation."""
        if self._state is State.BROKEN or not data:
            return None
        if self._state is State.IDLE:
            raise self._broken(f"{len(data)} bytes came that were not asked for")
        self._received += data
        if len(self._received) < _LENGTH.size:
            return None
        (length,) = _LENGTH.unpack_from(self._received)
        if length >> 16 == _TLS_ALERT:
            raise self._broken("it answers with TLS: this listener needs another protocol than PLAINTEXT")
        if not _CORRELATION_ID.size <= length <= self._max_answer_bytes:
            raise self._broken(f"an answer of {length} bytes was announced, at most {self._max_answer_bytes} are read")
        excess = len(self._received) - _LENGTH.size - length
        if excess < 0:
            return None
        return self._finish(excess)

    def abandon(self) -> None:
        """No caller waits for the answer any more, so no other request may follow."""
        self._state = State.BROKEN
        self._received.clear()

    def _finish(self, excess: int) -> bytes:
        if excess:
            raise self._broken(f"{excess} bytes follow the answer")
        answer = bytes(self._received[_LENGTH.size :])
        (correlation_id,) = _CORRELATION_ID.unpack_from(answer)
        if correlation_id != self._correlation_id:
            raise self._broken(f"correlation id {self._correlation_id} was asked and {correlation_id} is answered")
        self._received.clear()
        self._state = State.IDLE
        return answer

    def _broken(self, why: str) -> FrameError:
        self.abandon()
        return FrameError(why)
