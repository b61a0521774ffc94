"""The golden file has every sentence of the source, and the extractor refuses what it cannot read."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.golden.sentences import GOLDEN, PACKAGES, SENTENCE_OF, SOURCE, CannotReadError, Module, rendered, rows

WORDS_OF_OTHERS = {"Terminated", "Waiting", "DiskReport", "DisksReport", "Doing", "Said", "_Said"}
"""Values whose text others wrote, or that was read at its origin."""


def values_with_a_message() -> Iterator[str]:
    """The names of all classes with a field `message`."""
    paths = (path for package in PACKAGES for path in (SOURCE / package).rglob("*.py"))
    for node in (node for path in paths for node in ast.walk(ast.parse(path.read_text()))):
        if isinstance(node, ast.ClassDef) and any(ast.unparse(each) == "message: str" for each in node.body):
            yield node.name


def test_every_value_with_a_message_is_read() -> None:
    """A class with a field `message` is a constructor of sentences, or has a text of others."""
    assert set(values_with_a_message()) - set(SENTENCE_OF) - WORDS_OF_OTHERS == set()


def read(source: str) -> list[tuple[str, str]]:
    """Label and text of each sentence of this source."""
    return [(label, text) for _, label, text in rows(Module(Path("x.py"), source))]


def test_the_golden_file_is_up_to_date() -> None:
    """`sentences.txt` has every sentence of the operator, as it is in the source."""
    assert rendered() == GOLDEN.read_text(), "sentences have changed: read them, and run `make sentences`"


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ('def f():\n    """Some words."""\n    return g("not a voter")', [("", "not a voter")]),
        (
            '@guard(Restart)\ndef f(x):\n    first = f"Did not stop {x.id}"\n    return no(f"{first}: it leads")',
            [("5-restart", "Did not stop {x.id}: it leads")],
        ),
        (
            'def f(x):\n    if x:\n        a = "it is"\n        return a\n    a = "not so"\n    g("Held", a)',
            [("", "it is"), ("Held", "not so")],
        ),
        (
            'def f(x):\n    many = " of them" if x else ""\n    return g("all" + many + " are there")',
            [("", "all of them are there"), ("", "all are there")],
        ),
    ],
    ids=["a literal", "a guard", "branches", "parts"],
)
def test_a_sentence_is_read_as_a_whole(source: str, found: list[tuple[str, str]]) -> None:
    """Names of the same function are replaced by their text, and the label has guard or reason."""
    assert read(source) == found


@pytest.mark.parametrize(
    "source",
    [
        'Wait(reason="X", message="it is %s now" % x)',
        'no("it is {} now".format(x))',
        "no([text for text in texts][0].strip() and -x)",
        'def f():\n    text = "it is so"\n    text += " and so on"\n    return no(text)',
        'Finding(message=(lambda: "it is so"))',
    ],
)
def test_a_sentence_that_cannot_be_read_is_refused(source: str) -> None:
    """A constructor of a sentence accepts only what the extractor can read."""
    with pytest.raises(CannotReadError):
        read(source)
