"""Completion for bash and zsh, by the parser itself."""

import subprocess
from pathlib import Path

import pytest
from tests.kubectl_kq.fake_kubectl import Fake, fails
from tests.kubectl_kq.worlds import prepared

from kubectl_kq import completion
from kubectl_kq.parser import COMMANDS, OUTPUTS, SHELLS, parser
from kubectl_kq.program import main

NAMES = ("demo", "other")


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ([""], sorted(command.name for command in COMMANDS)),
        (["sta"], ["status"]),
        (["-n", "kafka", "sta"], ["status"]),
        (["status", ""], list(NAMES)),
        (["status", "de"], ["demo"]),
        (["status", "-n", "kafka", "de"], ["demo"]),
        (["status", "-o", ""], sorted(OUTPUTS)),
        (["status", "--col"], ["--color"]),
        (["logs", "demo", "--prev"], ["--previous"]),
        (["completion", ""], sorted(SHELLS)),
        (["nothing", ""], sorted(command.name for command in COMMANDS)),
        (["status", "-n", ""], []),
    ],
)
def test_words_are_completed(words: list[str], expected: list[str]) -> None:
    """The last word becomes a command, an option, one of its values, or the name of a quorum."""
    root = parser()
    names = NAMES if completion.wants_names(words, root) else ()
    assert completion.candidates(words, root, names) == expected


@pytest.mark.parametrize("words", [["status", "demo", ""], ["completion", ""], ["status", "-n", ""], [""], []])
def test_names_are_asked_for_only_where_one_fits(words: list[str]) -> None:
    """The API server is asked only if the word can be the name of a quorum."""
    assert not completion.wants_names(words, parser())


def test_names_come_from_the_namespace(fake: Fake, capsys: pytest.CaptureFixture[str]) -> None:
    """The names are those of the namespace; an error completes nothing and prints nothing."""
    fake.prepare(prepared())
    assert main([completion.HIDDEN, "status", "-n", "kafka", ""]) == 0
    assert capsys.readouterr().out == "demo\n"
    fake.prepare([fails("", "Unable to connect to the server")])
    assert main([completion.HIDDEN, "status", ""]) == 0
    assert capsys.readouterr() == ("", "")


def test_bash_completes(tmp_path: Path) -> None:
    """The script for bash offers what `kubectl-kq __complete` prints for the words so far."""
    program = tmp_path / "kubectl-kq"
    program.write_text('#!/bin/sh\nprintf "%s\\n" "$*" > "$(dirname "$0")/words"; printf "status\\nexplain\\n"\n')
    program.chmod(0o755)
    script = (
        f"{completion.SCRIPTS['bash']}\nCOMP_WORDS=(kubectl-kq -n kafka s); COMP_CWORD=3; _kubectl_kq\n"
        'printf "%s|" "${COMPREPLY[@]}"; complete -p kubectl-kq'
    )
    done = subprocess.run(
        ["bash", "-c", script],
        capture_output=True,
        text=True,
        check=True,
        env={"PATH": f"{tmp_path}:/usr/bin:/bin"},
    )
    assert done.stdout.startswith("status|explain|")
    assert "-F _kubectl_kq kubectl-kq" in done.stdout
    assert (tmp_path / "words").read_text() == "__complete -n kafka s\n"


@pytest.mark.parametrize("shell", SHELLS)
def test_scripts_are_printed(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Each shell has a script, which needs no cluster to be printed."""
    assert main(["completion", shell]) == 0
    assert "kubectl-kq __complete" in capsys.readouterr().out
