"""Trust as text: bundles stay readable when they are put together, and what is kept of them is bounded."""

import gc
import tracemalloc
from collections.abc import Callable
from typing import Final

import pytest
from cryptography import x509
from tests.kit.pki.made import TRUST, authority, certificate

from kafka_quorum.model.bundles import HELD_BYTES, bundle_of, has_authority, held_bytes, is_too_large, together
from kit.pki.bundle import BUNDLE_MAX, Bundle, read_stored

_MANY: Final = [authority(f"authority-{number}").certificate for number in range(2 * BUNDLE_MAX + 1)]
_OLD: Final = "".join(each.pem for each in _MANY[:BUNDLE_MAX])
_NEW: Final = "".join(each.pem for each in _MANY[BUNDLE_MAX : 2 * BUNDLE_MAX])


def test_two_full_bundles_stay_readable_together() -> None:
    """Each of two bundles has as many authorities as one may have: servers that trust both trust each of them."""
    both = together(_OLD, _NEW)
    assert all(has_authority(both, each.fingerprint) for each in _MANY[:-1])
    assert together(both, _NEW) == both
    assert not is_too_large(both)
    assert is_too_large(together(both, _MANY[-1].pem))


def _wide(cn: str, extension: x509.ExtensionType) -> str:
    """An authority with an extension that takes much room."""
    return certificate(cn, ca=True, names=(), extensions=(extension,)).pem


def _padded(cn: str) -> str:
    return _wide(cn, x509.UnrecognizedExtension(x509.ObjectIdentifier("1.2.3.4.5"), b"x" * 200_000))


def _named(cn: str) -> str:
    return _wide(cn, x509.SubjectAlternativeName([x509.DNSName(f"{number:x}") for number in range(5000)]))


def _held_after(texts: list[str]) -> int:
    """How many bytes more are held when these texts were read, and the caller has no copy of them any more."""
    gc.collect()
    tracemalloc.start()
    try:
        while texts:
            text = texts.pop()
            assert bundle_of(f"{text} ").authorities, "a copy: it is not the caller's text that is held"
        gc.collect()
        return tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()


def test_what_is_kept_is_bounded() -> None:
    """A person who changes a trust Secret again and again does not fill the memory."""
    assert _held_after([_padded(f"padded-{number}") for number in range(HELD_BYTES // 200_000)]) <= HELD_BYTES


@pytest.mark.parametrize("made", [_padded, _named, lambda cn: authority(cn).certificate.pem])
def test_a_bundle_holds_no_more_than_it_counts_for(made: Callable[[str], str]) -> None:
    """Nor do many short names, each of which holds much more than its characters."""
    text = made("counted")
    read_stored(text, TRUST)  # what the first reading alone makes is not counted
    gc.collect()
    tracemalloc.start()
    try:
        copy = f"{text} "
        found = read_stored(copy, TRUST)
        gc.collect()
        held = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    assert isinstance(found, Bundle)
    assert 0 < held <= held_bytes(copy, found)


def test_the_same_text_is_read_once() -> None:
    """One pass asks for the same few texts very often."""
    assert bundle_of(_OLD) is bundle_of(f"{_OLD[:9]}{_OLD[9:]}")
