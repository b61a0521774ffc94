"""Text from the cluster becomes a value within bounds, or `Malformed`."""

import json

import pytest

from kit.parsing import JSON_MAX_DEPTH, Malformed, json_object, json_of, number, quoted


@pytest.mark.parametrize("text", ["0", "3000", "2147483647", "007"])
def test_a_whole_number(text: str) -> None:
    """Decimal digits up to the bound are a number."""
    assert number(text) == int(text)


@pytest.mark.parametrize(
    "text", ["", "-1", "+1", " 1", "1 ", "1_0", "²", "٣", "2147483648", "9" * 5000, "0x10", None, 7, "1.0", "1e3"]
)
def test_what_is_no_whole_number(text: object) -> None:
    """Signs, spaces, digits of other scripts, and numbers of any length above the bound are malformed."""
    with pytest.raises(Malformed):
        number(text)


def test_json_of_what_we_write() -> None:
    """JSON that the operator writes is read back unchanged."""
    value = {"a": [1, -2, 2.5, None, True, {"b": "c"}], "big": 2**63 - 1}
    assert json_of(json.dumps(value)) == value


HOSTILE = {
    "a number of 5,000 digits": "9" * 5000,
    "a number above 64 bits": str(2**63),
    "a negative number below 64 bits": str(-(2**70)),
    "an infinite number": "1e999",
    "a number with 5,000 decimals": "0." + "1" * 5000,
    "not a number": "NaN",
    "infinity": "[-Infinity]",
    "a thousand levels": "[" * 1000 + "]" * 1000,
    "a hundred thousand levels": "[" * 100_000 + "]" * 100_000,
    "a hundred thousand objects": '{"a":' * 100_000,
    "no JSON": "{",
    "nothing": "",
    "too long": '"' + "x" * (1 << 20) + '"',
    "no text": None,
    "bytes": b"{}",
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=list(HOSTILE))
def test_hostile_json_is_malformed(text: object) -> None:
    """Depth, length and numbers are bounded, and the only error is `Malformed`."""
    with pytest.raises(Malformed) as raised:
        json_of(text)
    assert len(str(raised.value)) < 500


def test_the_depth_is_exact() -> None:
    """The deepest text that is read has exactly as many levels as the bound."""
    assert json_of("[" * JSON_MAX_DEPTH + "]" * JSON_MAX_DEPTH)
    with pytest.raises(Malformed, match=str(JSON_MAX_DEPTH)):
        json_of("[" * (JSON_MAX_DEPTH + 1) + "]" * (JSON_MAX_DEPTH + 1))


@pytest.mark.parametrize("text", ["[]", "1", '"a"', "null"])
def test_only_an_object_is_an_object(text: str) -> None:
    """A list, a number, a text or null is no object."""
    with pytest.raises(Malformed):
        json_object(text)


def test_a_quotation_is_short_and_visible() -> None:
    """A quotation of any value is short and printable."""
    values: tuple[object, ...] = ("a\nb\x1b[31m" * 100, {"a": 1}, [[]], 10**5000, None, 1.5, b"\x00")
    for value in values:
        text = quoted(value)
        assert len(text) <= 82
        assert text.isprintable()
