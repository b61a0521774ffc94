"""Releases as numbers."""

import pytest

from kafka_quorum.plan.facts.formats import release_numbers


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("4.1.2.3.4", (4, 1, 2, 3, 4)),
        ("4.1.2.3.4.5", (4, 1, 2, 3)),
        ("4.123456789", (4, 123456789)),
        ("4.1234567890", (4,)),
    ],
    ids=["five parts", "six parts", "nine digits", "ten digits"],
)
def test_long_releases(text: str, numbers: tuple[int, ...]) -> None:
    """Of a release that is too long to be one, the first four parts and numbers of nine digits count."""
    assert release_numbers(text) == numbers
