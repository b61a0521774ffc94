"""A conversation accepts only the answer to its one request, however its bytes arrive, and breaks on the rest."""

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_quorum.wire.bounds import MAX_ANSWER_BYTES
from kafka_quorum.wire.frame import Conversation, FrameError, State


def frame(correlation_id: int, body: bytes = b"") -> bytes:
    """An answer as a server sends it."""
    return struct.pack(">ii", len(body) + 4, correlation_id) + body


def asked(max_answer_bytes: int = MAX_ANSWER_BYTES) -> Conversation:
    """A conversation that waits for answer 0."""
    conversation = Conversation()
    conversation.ask(b"request", max_answer_bytes)
    return conversation


def test_a_request_gets_its_length_in_front() -> None:
    """The length counts the message alone, big-endian."""
    assert Conversation().ask(b"abc") == b"\x00\x00\x00\x03abc"


def test_the_whole_answer_ends_the_wait() -> None:
    """A complete answer is returned with its correlation id and without its length, and the next request may follow."""
    conversation = asked()
    assert conversation.receive(frame(0, b"body")) == b"\x00\x00\x00\x00body"
    assert conversation.state is State.IDLE
    assert conversation.next_correlation_id == 1


def test_a_second_request_has_to_wait() -> None:
    """A request while an answer is outstanding is a mistake of the caller, and is not queued."""
    with pytest.raises(RuntimeError, match="WAITING"):
        asked().ask(b"another")


BROKEN_BY = {
    "nobody asked": (Conversation, frame(0)),
    "another correlation id": (asked, frame(1)),
    "bytes behind the answer": (asked, frame(0) + b"x"),
    "two answers at once": (asked, frame(0) + frame(1)),
    "a negative length": (asked, struct.pack(">i", -1)),
    "a length below a correlation id": (asked, struct.pack(">i", 3)),
    "a length above the bound": (asked, struct.pack(">i", MAX_ANSWER_BYTES + 1)),
    "an answer of HTTP": (asked, b"HTTP/1.1 400 Bad Request\r\n"),
    "an alert of TLS": (asked, bytes.fromhex("15030300020246")),
}


@pytest.mark.parametrize(("make", "data"), BROKEN_BY.values(), ids=list(BROKEN_BY))
def test_what_breaks_a_conversation(make: type[Conversation], data: bytes) -> None:
    """Every deviation is an error at once; afterwards no bytes count as an answer, and no request is possible."""
    conversation = make()
    with pytest.raises(FrameError):
        conversation.receive(data)
    assert conversation.state is State.BROKEN
    assert conversation.receive(frame(conversation.next_correlation_id)) is None
    with pytest.raises(RuntimeError, match="BROKEN"):
        conversation.ask(b"another")


def test_an_abandoned_request_is_the_last_one() -> None:
    """After a request was abandoned, its late answer is not returned and no other request may follow."""
    conversation = asked()
    conversation.abandon()
    assert conversation.receive(frame(0, b"late")) is None
    assert conversation.state is State.BROKEN


def test_correlation_ids_stay_within_31_bits() -> None:
    """The id after the largest is 0, because Kafka's field is signed."""
    conversation = Conversation()
    conversation._correlation_id = 2**31 - 1
    assert conversation.next_correlation_id == 0


@given(body=st.binary(max_size=200), data=st.data())
def test_any_cut_gives_the_same_answer(body: bytes, data: st.DataObject) -> None:
    """However an answer is split, it is returned once and whole, with its last byte and not before."""
    conversation, rest = asked(), frame(0, body)
    while rest:
        size = data.draw(st.integers(min_value=1, max_value=len(rest)))
        answer = conversation.receive(rest[:size])
        rest = rest[size:]
        assert (answer is None) == bool(rest)
    assert answer == struct.pack(">i", 0) + body


@given(pieces=st.lists(st.binary(max_size=40), max_size=20))
def test_noise_is_never_kept_without_bound(pieces: list[bytes]) -> None:
    """Whatever arrives, at most one bounded answer is kept, and only an answer with the right id is returned."""
    conversation = asked(max_answer_bytes=64)
    for piece in pieces:
        try:
            answer = conversation.receive(piece)
        except FrameError:
            assert conversation.state is State.BROKEN
            break
        assert answer is None or answer[:4] == struct.pack(">i", 0)
        assert len(conversation._received) < 64 + 4
        if answer is not None:
            break


@given(length=st.integers(min_value=-(2**31), max_value=2**31 - 1))
def test_a_length_is_judged_by_its_four_bytes(length: int) -> None:
    """A wrong length is refused after its four bytes, and every valid length is waited for."""
    conversation = asked(max_answer_bytes=1000)
    if 4 <= length <= 1000:
        assert conversation.receive(struct.pack(">i", length)) is None
    else:
        with pytest.raises(FrameError, match=str(length)):
            conversation.receive(struct.pack(">i", length))
