"""Label selectors select what the API server selects."""

import pytest

from kit.selector import EVERYTHING, SelectorError, parse


@pytest.mark.parametrize(
    ("text", "labels", "selected"),
    [
        ("", {}, True),
        ("  ", {"a": "b"}, True),
        ("a=b", {"a": "b"}, True),
        ("a==b", {"a": "b"}, True),
        ("a = b", {"a": "b"}, True),
        ("a=b", {"a": "c"}, False),
        ("a=b", {}, False),
        ("a=", {"a": ""}, True),
        ("a=", {}, False),
        ("a!=b", {"a": "c"}, True),
        ("a!=b", {"a": "b"}, False),
        ("a!=b", {}, True),
        ("a in (b, c)", {"a": "c"}, True),
        ("a in (b,c)", {"a": "d"}, False),
        ("a in (b)", {}, False),
        ("a in (,b)", {"a": ""}, True),
        ("a notin (b,c)", {"a": "d"}, True),
        ("a notin (b,c)", {"a": "b"}, False),
        ("a notin (b,c)", {}, True),
        ("a", {"a": ""}, True),
        ("a", {"b": "a"}, False),
        ("!a", {}, True),
        ("! a", {"a": "b"}, False),
        ("kafkaquorum.io/shard=a,!b", {"kafkaquorum.io/shard": "a"}, True),
        ("kafkaquorum.io/shard=a,!b", {"kafkaquorum.io/shard": "a", "b": ""}, False),
        ("a in (b,c),d=e", {"a": "b", "d": "e"}, True),
        ("a in (b,c),d=e", {"a": "b"}, False),
        ("in=a", {"in": "a"}, True),
        ("notin in (in,notin)", {"notin": "in"}, True),
    ],
)
def test_what_is_selected(text: str, labels: dict[str, str], *, selected: bool) -> None:
    """Every requirement must hold; `!=` and `notin` also hold for an object without the label."""
    assert parse(text).selects(labels) is selected


def test_an_object_without_labels() -> None:
    """Labels that are missing altogether are no labels."""
    assert EVERYTHING.selects(None)
    assert parse("!a").selects(None)
    assert not parse("a").selects(None)


@pytest.mark.parametrize(
    "text", ["=b", "a=b,", ",a", "a,,b", "a in b", "a in (b", "a in ()x", "a=b c", "a>1", "-a", "a/b/c"]
)
def test_what_is_no_selector_is_refused(text: str) -> None:
    """A text with anything that is no requirement is refused as a whole, never read in part."""
    with pytest.raises(SelectorError):
        parse(text)


def test_the_refusal_says_where() -> None:
    """The message has the place from which on the text cannot be read."""
    with pytest.raises(SelectorError, match="from 'b>1' on"):
        parse("a=b,b>1")


def test_a_very_long_text_is_refused() -> None:
    """A text beyond the limit is refused before it is read."""
    with pytest.raises(SelectorError, match="4096"):
        parse("a" * 4097)
