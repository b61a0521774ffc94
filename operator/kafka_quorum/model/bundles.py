"""Trust as text: which authorities a bundle in PEM has, and the authorities of several together."""

from functools import lru_cache
from typing import Final

from kit.pki.bundle import BUNDLE_MAX, BUNDLE_MAX_CHARS, Bundle, read_stored
from kit.pki.faults import Place

_PLACE: Final = Place(owner="a revision", key="trust")


@lru_cache(maxsize=512)
def bundle_of(pem: str) -> Bundle:
    """The authorities in this text; none for one that cannot be read. Their ends are not judged."""
    found = read_stored(pem, _PLACE) if pem else Bundle()
    return found if isinstance(found, Bundle) else Bundle()


def has_authority(pem: str, sha256: str) -> bool:
    """Whether a bundle has the authority with this digest."""
    return sha256 in bundle_of(pem).fingerprints


def have_ended(pem: str, now_s: float) -> bool:
    """Whether a bundle has authorities, and all of them have ended: whoever trusts it accepts nobody any more."""
    authorities = bundle_of(pem).authorities
    return bool(authorities) and all(each.not_after.timestamp() < now_s for each in authorities)


def together(*pems: str) -> str:
    """The authorities of all of these, in canonical text."""
    found = Bundle()
    for pem in pems:
        found |= bundle_of(pem)
    return found.pem


def is_too_large(pem: str) -> bool:
    """Whether a bundle is larger than any two that were given: with others it may have no room in an object."""
    return len(bundle_of(pem).authorities) > 2 * BUNDLE_MAX or len(pem) > 2 * BUNDLE_MAX_CHARS
