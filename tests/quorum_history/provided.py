"""Programs and files that the test-bed installs or compiles for these tests, once per machine."""

import subprocess
import sys
from pathlib import Path

_TESTBED = Path(__file__).resolve().parents[2] / "e2e" / "testbed"


def provided(what: str, timeout_s: float) -> list[str]:
    """The lines that a command of the test-bed prints. Its error names what is missing."""
    command = [sys.executable, str(_TESTBED), what]
    done = subprocess.run(command, capture_output=True, text=True, timeout=timeout_s, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip().splitlines()
