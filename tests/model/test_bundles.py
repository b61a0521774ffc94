"""Trust as text: bundles that were read one by one stay readable when they are put together."""

from typing import Final

from tests.kit.pki.made import authority

from kafka_quorum.model.bundles import has_authority, is_too_large, together
from kit.pki.bundle import BUNDLE_MAX

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
