"""`python -m kraftlog.disk`: one line of JSON or one line with the error, and the exit codes."""

import io
import json
import subprocess
import sys
from pathlib import Path

import pytest
from tests.kraftlog import disks

from kraftlog.disk import LOOK_SCHEMA, Endpoint, look, read_look, to_json
from kraftlog.disk.__main__ import DONE, FAILED, MISUSED, REFUSED, main
from kraftlog.rewrite import plan_of, seed_plan_of

_OPERATOR = Path(__file__).resolve().parents[2] / "operator"
CHOSEN = '{"schema":1,"epochs":[],"end_offset":3}'


def run(capsys: pytest.CaptureFixture[str], *words: object) -> tuple[int, str, str]:
    """The exit code, standard output and standard error of a command."""
    code = main([str(word) for word in words])
    out, err = capsys.readouterr()
    return code, out, err


def test_commands(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Each command prints one line of JSON with its schema, and ends with 0."""
    home = disks.make(tmp_path / "a")
    found, plan = look(home), plan_of(look(home))
    broker = disks.make(tmp_path / "broker", node=2)
    target = disks.make(tmp_path / "target", {}, {}, node=3, leader_epoch=None)
    endpoints = (Endpoint(name="CONTROLLER", host="new", port=9093),)
    seeding = seed_plan_of(look(broker), 3, disks.IDS[3], plan_of(look(broker), endpoints))
    (tmp_path / "plan.json").write_text(to_json(seeding))
    for words in (
        ("look", home),
        ("content", home, "--from", "3"),
        ("beyond", home, "--chosen", CHOSEN),
        ("copy", home, tmp_path / "copy"),
        ("rewrite", home, "--plan", to_json(plan)),
        ("seed", broker, target, "--plan", tmp_path / "plan.json"),
    ):
        code, out, err = run(capsys, *words)
        assert (code, err, out.count("\n")) == (DONE, "", 1)
        assert json.loads(out)["schema"] == (LOOK_SCHEMA if words[0] == "look" else 1)
        if words[0] == "look":
            assert read_look(out) == found


def test_a_plan_from_standard_input(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """`-` is standard input."""
    home = disks.make(tmp_path / "a")
    monkeypatch.setattr(sys, "stdin", io.StringIO(to_json(plan_of(look(home)))))
    code, out, _ = run(capsys, "rewrite", home, "--plan", "-")
    assert (code, json.loads(out)["changed"]) == (DONE, True)


def test_errors(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """A refusal, a wrong plan and an error of the system have codes of their own, one line each, and no output."""
    home = disks.make(tmp_path / "a")
    plan = json.loads(to_json(plan_of(look(home))))
    wrong = tmp_path / "x\x1b[2J\ny"

    def fail(*_: object) -> None:
        raise OSError(5, "Input/output error")

    for expected, words in (
        (REFUSED, ("look", wrong)),
        (REFUSED, ("content", tmp_path)),
        (REFUSED, ("copy", home, home)),
        (REFUSED, ("rewrite", home, "--plan", json.dumps(plan | {"end_offset": 3}))),
        (MISUSED, ("rewrite", home, "--plan", json.dumps(plan | {"end_offset": "3"}))),
        (MISUSED, ("rewrite", home, "--plan", tmp_path / "missing")),
        (MISUSED, ("beyond", home, "--chosen", tmp_path / "missing")),
        (MISUSED, ("beyond", home, "--chosen", '{"schema":1,"epochs":[],"end_offset":-1}')),
        (MISUSED, ("seed", home, home, "--plan", json.dumps(plan))),
    ):
        code, out, err = run(capsys, *words)
        assert (code, out, err.count("\n")) == (expected, "", 1)
        assert err.startswith("kraftlog.disk: ")
        assert "\x1b" not in err
    monkeypatch.setattr("kraftlog.disk.files.os.open", fail)
    code, out, err = run(capsys, "look", home)
    assert (code, out, err.count("\n")) == (FAILED, "", 1)


@pytest.mark.parametrize("words", [[], ["wipe"], ["look"], ["content", ".", "--from", "-1"], ["rewrite", "."]])
def test_wrong_requests(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """A request that is none ends with 2."""
    with pytest.raises(SystemExit) as caught:
        main(words)
    assert caught.value.code == MISUSED
    assert "usage" in capsys.readouterr().err


def test_only_the_standard_library(tmp_path: Path) -> None:
    """Every command runs without any installed package, which an interpreter without `site` shows."""
    home = disks.make(tmp_path / "a")
    for words in (
        ["look", home],
        ["content", home],
        ["beyond", home, "--chosen", CHOSEN],
        ["copy", home, tmp_path / "b"],
        ["rewrite", home, "--plan", "-"],
    ):
        result = subprocess.run(
            [sys.executable, "-S", "-m", "kraftlog.disk", *map(str, words)],
            env={"PYTHONPATH": str(_OPERATOR)},
            input=to_json(plan_of(look(home))),
            capture_output=True,
            text=True,
            check=False,
        )
        assert (result.returncode, result.stderr) == (DONE, "")
        json.loads(result.stdout)
