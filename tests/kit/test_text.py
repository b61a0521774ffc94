"""Text of others becomes one printable line of bounded length."""

import random

import pytest

from kit.text import NAME_MAX_CHARS, clean, cleaned, is_clean, within_bytes

HOSTILE = {
    "line feed": ("one\ntwo", "one two"),
    "carriage return and tab": ("one\r\n\ttwo", "one two"),
    "line and paragraph separators": ("one\u2028two\u2029three\x85four", "one two three four"),
    "colours": ("\x1b[31mred\x1b[0m", "red"),
    "colours by C1": ("\x9b31mred\x9b0m", "red"),
    "window title": ("\x1b]0;owned\x07text", "text"),
    "window title that never ends": ("\x1b]0;owned", "]0;owned"),
    "NUL and bell": ("a\x00b\x07c", "abc"),
    "bidirectional override": ("safe\u202egnp.exe", "safegnp.exe"),
    "isolates and marks": ("\u2066a\u2069\u200f\u061cb", "ab"),
    "zero width": ("a\u200b\u200d\ufeffb\u2060", "ab"),
    "tags": ("a\U000e0041b", "ab"),
    "fillers": ("a\u3164\u2800\ufe0fb", "ab"),
    "a lone surrogate": ("a\ud800b", "ab"),
    "private use and unassigned": ("a\ue000\U000f0000\ufffeb", "ab"),
    "other spaces": ("a\u00a0\u3000b  c ", "a b c"),
    "what is fine": ("Wähler 3001: „ok“ 控制器", "Wähler 3001: „ok“ 控制器"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_text_becomes_one_visible_line(name: str) -> None:
    """Characters that break a line, control a terminal or reverse reading are removed; readable text stays."""
    text, cleaned = HOSTILE[name]
    assert clean(text, max_chars=100) == cleaned


def test_long_text_ends_with_an_ellipsis_within_its_bound() -> None:
    """The bound includes the ellipsis, and a text of exactly the bound is not cut."""
    assert clean("x" * 11, max_chars=10) == "x" * 9 + "…"
    assert clean("x" * 10, max_chars=10) == "x" * 10
    assert clean("\n" * 1_000_000 + "x", max_chars=10) == "…"
    assert len(clean("\x1b[0m" * 1_000_000, max_chars=1000)) <= 1000


def test_any_text_is_clean_afterwards() -> None:
    """Random code points become printable, bounded and encodable, and a second cleaning changes nothing."""
    seed = random.randrange(1 << 32)
    chooser = random.Random(seed)
    special = [0x1B, 0x5B, 0x5D, 0x07, 0x9B, 0x0A, 0x202E, 0x20, 0xD800, 0x3164]
    for _ in range(2000):
        points = (chooser.choice((chooser.choice(special), chooser.randrange(0x110000))) for _ in range(40))
        text = "".join(map(chr, points))
        cleaned = clean(text, max_chars=20)
        assert cleaned.isprintable(), f"seed {seed}: {text!r}"
        assert len(cleaned) <= 20, f"seed {seed}: {text!r}"
        assert clean(cleaned, max_chars=20) == cleaned, f"seed {seed}: {text!r}"
        assert not cleaned or is_clean(cleaned, max_chars=20), f"seed {seed}: {text!r}"
        cleaned.encode()


@pytest.mark.parametrize(
    "odd",
    ["", "a  b", " a", "a ", "a\nb", 'a "b', "a\\b", "a\x7fb", "ä", "a\u200bb", "\ud800", "x" * 300, "x" * 30, "a b"],
)
def test_a_status_is_cleaned_text_by_text(odd: str) -> None:
    """Whatever else is in a status, each text and each key in it is what `clean` makes of it, and values stay."""
    status = {"plain": {"rows": [1, True, None, 0.5, "a b"]}, "odd": [odd, {odd: {"deep": odd}}]}
    shown = clean(odd, max_chars=20)
    named = clean(odd, max_chars=NAME_MAX_CHARS)
    found = cleaned(status, max_chars=20)
    assert found == {"plain": {"rows": [1, True, None, 0.5, "a b"]}, "odd": [shown, {named: {"deep": shown}}]}


def test_a_name_is_clean_or_it_is_not() -> None:
    """A name is judged and not changed: hidden characters, line breaks, excess length and emptiness are refused."""
    assert is_clean("metadata.version", max_chars=253)
    assert not is_clean("metadata\u200b.version", max_chars=253)
    assert not is_clean("metadata.version\n", max_chars=253)
    assert not is_clean("x" * 254, max_chars=253)
    assert not is_clean("", max_chars=253)


@pytest.mark.parametrize(
    ("line", "shown"), [("ä" * 5, "ä" * 5), ("ä" * 6, "äää…"), ("x" * 10, "x" * 10), ("x" * 11, "xxxxxxx…")]
)
def test_a_line_within_bytes(line: str, shown: str) -> None:
    """A line is cut between two characters, and the ellipsis counts for the bound."""
    assert within_bytes(line, max_bytes=10) == shown
