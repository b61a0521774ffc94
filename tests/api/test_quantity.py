"""Quantities: the numbers that Kubernetes gives to them."""

from fractions import Fraction

import pytest

from kafka_quorum.api.quantity import bytes_of, parse_quantity


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
    """Neither a guess nor an exception: None."""
    assert parse_quantity(text) is None


def test_bytes_are_rounded_up() -> None:
    """Half a byte is asked for as a whole one, as Kubernetes does it."""
    assert bytes_of("500m") == 1
