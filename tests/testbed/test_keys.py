"""Content keys, and steps that are done once."""

import threading
from pathlib import Path

import pytest

from testbed.config import Paths
from testbed.keys import content_key, once
from testbed.process import TestbedError


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A directory with a file and a program in it."""
    directory = tmp_path / "tree"
    (directory / "bin").mkdir(parents=True)
    (directory / "a.txt").write_text("a")
    (directory / "bin" / "run").write_text("#!/bin/sh\n")
    (directory / "bin" / "run").chmod(0o755)
    return directory


def test_a_key_is_the_same_for_the_same_content(tree: Path) -> None:
    """The same inputs give the same key."""
    assert content_key(tree, "x") == content_key(tree, "x")


@pytest.mark.parametrize("change", ["content", "name", "executable", "string"])
def test_a_key_follows_every_input(tree: Path, change: str) -> None:
    """A changed content, name, executable bit or string gives another key."""
    before, text = content_key(tree, "x"), "x"
    match change:
        case "content":
            (tree / "a.txt").write_text("b")
        case "name":
            (tree / "a.txt").rename(tree / "b.txt")
        case "executable":
            (tree / "bin" / "run").chmod(0o644)
        case _:
            text = "y"
    assert content_key(tree, text) != before


def test_a_key_ignores_what_a_checkout_does_not_keep(tree: Path) -> None:
    """A umask, a read-only checkout and compiled Python files do not change the key, so a new clone builds nothing."""
    before = content_key(tree)
    (tree / "a.txt").chmod(0o600)
    (tree / "bin" / "run").chmod(0o500)
    (tree / "__pycache__").mkdir()
    (tree / "__pycache__" / "a.pyc").write_bytes(b"0")
    assert content_key(tree) == before


def test_strings_do_not_run_together() -> None:
    """The boundary between two inputs is part of the key."""
    assert content_key("ab", "c") != content_key("a", "bc")


def test_once_does_a_step_for_each_key_once(tmp_path: Path) -> None:
    """A step is repeated only for another key, or if its product is gone."""
    paths, product = Paths(tmp_path), tmp_path / "product"
    made: list[int] = []

    def make() -> None:
        made.append(len(made))
        product.write_text("made")

    once(paths, "a step", "key 1", product, make)
    once(paths, "a step", "key 1", product, make)
    assert made == [0]
    once(paths, "a step", "key 2", product, make)
    assert made == [0, 1]
    product.unlink()
    once(paths, "a step", "key 2", product, make)
    assert made == [0, 1, 2]


def test_a_failed_step_is_done_again(tmp_path: Path) -> None:
    """A step that failed half-way left a product but no stamp, so it is repeated."""
    paths, product = Paths(tmp_path), tmp_path / "product"
    once(paths, "a step", "key 1", product, product.touch)

    def fail() -> None:
        product.write_text("half")
        raise TestbedError("broken")

    with pytest.raises(TestbedError, match="broken"):
        once(paths, "a step", "key 2", product, fail)
    made: list[str] = []
    once(paths, "a step", "key 1", product, lambda: made.append("again"))
    assert made == ["again"]


def test_two_commands_do_one_step_once(tmp_path: Path) -> None:
    """If two commands need the same step, the second one waits and finds it done."""
    paths, product = Paths(tmp_path), tmp_path / "product"
    made: list[int] = []
    begun, go_on = threading.Event(), threading.Event()

    def make() -> None:
        begun.set()
        assert go_on.wait(timeout=10)
        made.append(1)
        product.touch()

    def want() -> None:
        once(paths, "a step", "key", product, make)

    first, second = threading.Thread(target=want), threading.Thread(target=want)
    first.start()
    assert begun.wait(timeout=10)
    second.start()
    go_on.set()
    for thread in (first, second):
        thread.join(timeout=10)
    assert made == [1]
