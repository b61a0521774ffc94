"""The command line, and how the targets of the Makefile use it."""

import re
import subprocess
import sys

import pytest

from testbed import cli
from testbed.config import PROJECT

_MAKEFILE = (PROJECT / "Makefile").read_text()


@pytest.mark.parametrize("command", sorted(set(re.findall(r"\$\(TESTBED\) ([a-z-]+)", _MAKEFILE))))
def test_every_command_of_the_makefile_exists(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Every command that a target of the Makefile calls exists."""
    with pytest.raises(SystemExit) as end:
        cli._parser().parse_args([command, "--help"])
    assert end.value.code == 0
    assert command in capsys.readouterr().out


@pytest.mark.parametrize(
    "target", ["demo", "down", "test", "test-fast", "test-simulation", "test-live", "test-page", "e2e", "bench", "crds"]
)
def test_help_lists_what_a_person_looks_for(target: str) -> None:
    """`make help` lists each target with a line about its purpose."""
    listed = subprocess.run(["make", "help"], cwd=PROJECT, capture_output=True, text=True, check=True).stdout
    assert re.search(rf"^  {target} +\S", listed, re.MULTILINE)


def test_the_package_runs_by_path_without_third_party_code() -> None:
    """The test-bed runs without third-party packages, because the project's setup itself uses it."""
    command = [sys.executable, "-I", "-S", str(PROJECT / "e2e" / "testbed"), "--help"]
    listed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert "helm-binary" in listed


def test_the_demo_installs_the_image_that_was_built() -> None:
    """The tag follows the content, so a new operator replaces the old one; braces reach the chart unchanged."""
    sys.path.insert(0, str(PROJECT / "e2e"))
    try:
        import demo  # noqa: PLC0415 # run by path elsewhere, so importable only from its directory
    finally:
        sys.path.remove(str(PROJECT / "e2e"))
    command = demo.helm_upgrade("kafka-quorum-operator:dev-0123")
    assert "image.tag=dev-0123" in command
    assert command[command.index("kafka.imageTemplate=testbed/kafka:{version}") - 1] == "--set-literal"
