"""Kubernetes quantities (`10Gi`, `512Mi`, `1e9`) as whole bytes.

The API server parses them the same way; this repeats it because sizes are compared before a request is sent.
"""

import math
import re
from fractions import Fraction
from functools import lru_cache

_FORM = re.compile(
    r"(?P<number>[0-9]{1,20}(?:\.[0-9]{0,20})?|\.[0-9]{1,20})(?P<suffix>Ki|Mi|Gi|Ti|Pi|Ei|[numkMGTPE]|[eE][+-]?[0-9]{1,2})?"
)
_LONGEST_CHARS = 46
"""The length of the longest text of this form, with its sign."""
_BINARY = {
    suffix: Fraction(1024) ** power for power, suffix in enumerate(("Ki", "Mi", "Gi", "Ti", "Pi", "Ei"), start=1)
}
_DECIMAL = {suffix: Fraction(1000) ** power for power, suffix in enumerate("kMGTPE", start=1)}
_SMALL = {"m": Fraction(1, 10**3), "u": Fraction(1, 10**6), "n": Fraction(1, 10**9)}
_FACTORS = {"": Fraction(1), **_BINARY, **_DECIMAL, **_SMALL}


def parse_quantity(text: str) -> Fraction | None:
    """The exact value of a non-negative quantity; None if it is not one."""
    return _parsed(text) if len(text) <= _LONGEST_CHARS else None  # what is kept is not as long as somebody likes


@lru_cache(maxsize=256)
def _parsed(text: str) -> Fraction | None:
    match = _FORM.fullmatch(text.removeprefix("+"))
    if match is None:
        return None
    suffix = match["suffix"] or ""
    number = Fraction("0" + match["number"].rstrip("."))
    if suffix in _FACTORS:
        return number * _FACTORS[suffix]
    return number * Fraction(10) ** int(suffix[1:])


LARGEST_BYTES = 2**63 - 1
"""The API server stores larger sizes as this one."""


def whole_bytes(text: str) -> int | None:
    """A size that the API server stores as it is written: a whole number of bytes within its range; else None."""
    value = parse_quantity(text)
    return int(value) if value is not None and value.denominator == 1 and value <= LARGEST_BYTES else None


def bytes_of(text: str) -> int | None:
    """A size in bytes, rounded up as Kubernetes does; None if the text is no quantity."""
    value = parse_quantity(text)
    return None if value is None else math.ceil(value)
