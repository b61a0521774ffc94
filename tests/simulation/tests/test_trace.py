"""The trace of runs: the same seeds have the same trace, and the first difference is named."""

from dataclasses import dataclass
from enum import Enum
from pathlib import Path

import pytest
from tests.simulation.trace import Entry, difference, line, main, plain, read, trace

RUNS = ("initial-1/no-fault", "initial-1/call:40:error", "storm/3")


class _Colour(Enum):
    RED = 1


@dataclass(frozen=True)
class _Value:
    colour: _Colour
    names: frozenset[str]
    message: str


def test_values_are_written_by_class_and_field() -> None:
    """Values are written by class and field, with sets in order and without sentences."""
    one, other = (_Value(_Colour.RED, frozenset({"b", "a"}), text) for text in ("first", "second"))
    assert plain({"x": (one,)}) == {"x": [{"": "_Value", "colour": "_Colour.RED", "names": ["a", "b"]}]}
    assert plain(one) == plain(other)


@pytest.mark.parametrize("name", RUNS)
def test_the_same_run_does_the_same(name: str) -> None:
    """Two traces of a run or a storm are equal, and hold planned actions and requests."""
    first, second = (line(name, trace(name)) for _ in range(2))
    assert first == second
    kinds = {kind for _, kind, _ in read(first)[name]}
    assert {"MintIdentity", "create pods"} <= kinds


def test_the_first_difference_is_named() -> None:
    """The first difference is an argument, a time, or an additional or missing entry; omitted parts do not count."""
    told: list[Entry] = [(0.5, "CreatePod", {"node_id": "1", "revision": "a"}), (1.0, "create pods", {"body": "b"})]
    later: list[Entry] = [(0.5, "CreatePod", {"node_id": "2", "revision": "a"}), (1.0, "create pods", {"body": "b"})]
    assert difference(told, told) == ""
    assert "before: 0.5 s CreatePod(node_id=1, revision=a)" in difference(told, later)
    assert difference(told, later, only="requests") == ""
    assert difference(told, later, without=frozenset({"node_id"})) == ""
    assert "entry 2" in difference(told, told[:1])
    assert "after:  nothing" in difference(told, told[:1])


def test_two_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The command reports whether files are equal, differ in a run, or lack one, and ends with 1 unless equal."""
    texts = {
        "first": line("a/no-fault", [(0.5, "CreatePod", {"node_id": "1"})]),
        "other": line("a/no-fault", [(0.5, "CreatePod", {"node_id": "2"})]),
        "longer": "\n".join(
            line(name, [(0.5, "CreatePod", {"node_id": "1"})]) for name in ("a/no-fault", "b/no-fault")
        ),
    }
    for name, text in texts.items():
        (tmp_path / name).write_text(text)

    def compared(before: str, after: str) -> tuple[int, str]:
        return main(["--compare", str(tmp_path / before), str(tmp_path / after)]), capsys.readouterr().out

    assert compared("first", "first") == (0, "1 of 1 runs are the same, 1 entries before\n")
    code, told = compared("first", "other")
    assert (code, "a/no-fault: entry 1" in told) == (1, True)
    assert compared("longer", "first") == (1, "only before: b/no-fault\n1 of 1 runs are the same, 1 entries before\n")


def test_a_line_that_was_cut_off() -> None:
    """A file with an incomplete last line is refused, so that it never counts as equal."""
    whole = line("initial-1/no-fault", [(0.5, "CreatePod", {"node_id": "1"})])
    with pytest.raises(ValueError, match="line 1"):
        read(whole[:-3])
