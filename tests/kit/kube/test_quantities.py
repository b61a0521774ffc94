"""Quantities: the values that Kubernetes gives them."""

from fractions import Fraction

import pytest

from kit.kube import quantities
from kit.kube.quantities import LARGEST_BYTES, bytes_of, parse_quantity, whole_bytes


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0", 0),
        ("10Gi", 10 * 2**30),
        ("1.5Ki", 1536),
        ("500m", Fraction(1, 2)),
        ("+1k", 1000),
        ("1e3", 1000),
        ("1E", 10**18),
        ("1E2", 100),
        ("1e-3", Fraction(1, 1000)),
        (".5M", 500_000),
        ("5.", 5),
        ("7n", Fraction(7, 10**9)),
        ("2Ei", 2 * 2**60),
    ],
)
def test_quantities_have_exact_values(text: str, value: int | Fraction) -> None:
    """Binary and decimal suffixes, exponents and fractions are read without rounding."""
    assert parse_quantity(text) == value


@pytest.mark.parametrize("text", ["", ".", "Gi", "1 Gi", "1GiB", "-1", "1e", "1e1000000000", "1K", "1,5", "\u0661"])
def test_what_is_no_quantity_has_no_value(text: str) -> None:
    """A text that is no quantity gives None, not a guess and not an exception."""
    assert parse_quantity(text) is None


def test_bytes_are_rounded_up() -> None:
    """A fraction of a byte is rounded up, as in Kubernetes."""
    assert bytes_of("500m") == 1


@pytest.mark.parametrize(
    ("text", "size"),
    [("1.5Gi", 3 * 2**29), ("1000m", 1), ("9223372036854775807", LARGEST_BYTES), ("7Ei", 7 * 2**60)],
)
def test_whole_sizes(text: str, size: int) -> None:
    """A whole number of bytes is accepted in any notation."""
    assert whole_bytes(text) == size


@pytest.mark.parametrize("text", ["1.1Gi", "1181116006400m", "500m", "8Ei", "1000Ei", "9223372036854775808", "ten"])
def test_sizes_that_would_be_stored_as_others(text: str) -> None:
    """Sizes that the API server would store differently, because it rounds or caps them, give None."""
    assert whole_bytes(text) is None


def test_a_long_text_is_not_kept() -> None:
    """What is no quantity because of its length leaves nothing in memory; the longest one has its value."""
    before = quantities._parsed.cache_info().misses
    assert quantities.parse_quantity("1" * 1_000_000) is None
    assert quantities._parsed.cache_info().misses == before
    longest = f"+{'9' * 20}.{'9' * 20}e+99"
    assert len(longest) == quantities._LONGEST_CHARS
    assert quantities.parse_quantity(longest) is not None
