"""CannotLook: the operator cannot look at the pool, so it is unknown whether the earlier status is still true. Pure."""

from functools import partial
from typing import Final

from kit.conditions import whole

_TYPES: Final = ("Ready", "Available", "Progressing", "Degraded", "SpecAccepted")

blinded: Final = partial(whole.blinded, what="pool", types=_TYPES)
"""The status of a pool without what is unknown now."""
