"""Trust as text: which authorities a bundle in PEM has, and the authorities of several together."""

import sys
from typing import Final

from kit.kept import Kept
from kit.pki.bundle import BUNDLE_MAX, BUNDLE_MAX_CHARS, Bundle, bundle, read_stored
from kit.pki.faults import Place

_PLACE: Final = Place(owner="a revision", key="trust")
_CERTIFICATE_BYTES, _NAME_BYTES, _CHARACTER_BYTES = 2048, 256, 4
"""The most bytes that a certificate (besides its encoding), one of its names, and a character take in memory."""
HELD_BYTES: Final = 32 * 1024 * 1024


def held_bytes(pem: str, found: Bundle) -> int:
    """The most bytes that a text and its authorities take in memory. Many short names take more than the text."""
    held = sys.getsizeof(pem)
    for each in found.authorities:
        characters = len(each.subject) + len(each.issuer) + sum(map(len, each.names))
        encoded = len(each.der) + len(each.public_key)
        held += _CERTIFICATE_BYTES + encoded + _NAME_BYTES * len(each.names) + _CHARACTER_BYTES * characters
    return held


_READ: Final = Kept[str, Bundle](most=HELD_BYTES, weight=held_bytes)


def bundle_of(pem: str) -> Bundle:
    """The authorities in this text; none if it cannot be read. Whether they have ended is not checked.

    Results are kept, because one pass asks for the same few texts very often: `HELD_BYTES` in all, or one larger text
    alone (at most about 40 MiB). Users who may write a trust Secret can change it any number of times.
    """
    return _READ.of(pem, lambda: _read(pem))


def _read(pem: str) -> Bundle:
    found = read_stored(pem, _PLACE) if pem else Bundle()
    return found if isinstance(found, Bundle) else Bundle()


def has_authority(pem: str, sha256: str) -> bool:
    """Whether a bundle has the authority with this digest."""
    return sha256 in bundle_of(pem).fingerprints


def have_ended(pem: str, now_s: float) -> bool:
    """Whether a bundle has authorities, and all of them have ended: then it verifies no certificate any more."""
    authorities = bundle_of(pem).authorities
    return bool(authorities) and all(each.not_after.timestamp() < now_s for each in authorities)


def union(*pems: str) -> Bundle:
    """The authorities of all of these, each of them once. The limits of a bundle hold for each text, not for all."""
    return bundle(each for pem in pems for each in bundle_of(pem).authorities)


def together(*pems: str) -> str:
    """The same as canonical text. The text of many bundles may be longer than `bundle_of` reads: then use `union`."""
    return union(*pems).pem


def is_too_large(pem: str) -> bool:
    """Whether a bundle is larger than two given ones can be: beside others it may not fit into an object."""
    return len(bundle_of(pem).authorities) > 2 * BUNDLE_MAX or len(pem) > 2 * BUNDLE_MAX_CHARS
