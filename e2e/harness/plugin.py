"""The plugin `kubectl kq` as a person runs it: a program beside kubectl, about one quorum."""

import json
import os
import subprocess
import sys
from typing import Final

from harness.quorum import Quorum
from harness.shell import CommandFailed, Json
from testbed.config import PROJECT

DONE, WARN, CRIT, UNKNOWN = 0, 1, 2, 3
"""Exit codes."""
_TIMEOUT_S: Final = 60


def kq(quorum: Quorum, *words: str, user: str = "") -> tuple[int, str, str]:
    """Run a command about a quorum: exit code, output, errors."""
    command = [sys.executable, "-m", "kubectl_kq", *words, "--namespace", quorum.namespace]
    command += [f"--as={user}"] if user else []
    environment = os.environ | {"PYTHONPATH": str(PROJECT / "operator")}
    done = subprocess.run(command, capture_output=True, text=True, timeout=_TIMEOUT_S, check=False, env=environment)
    return done.returncode, done.stdout, done.stderr


def answered(quorum: Quorum, *words: str, user: str = "") -> tuple[int, Json]:
    """The exit code of a command, and its answer as JSON (CommandFailed if it printed none)."""
    code, out, err = kq(quorum, *words, "-o", "json", user=user)
    if not out:
        raise CommandFailed(f"kubectl kq {' '.join(words)} ended with {code}: {err.strip()}")
    found: Json = json.loads(out)
    return code, found


def said(quorum: Quorum, *words: str, user: str = "") -> Json:
    """What a command answers as JSON."""
    return answered(quorum, *words, user=user)[1]
