"""Runs other programs: their output goes to a log file, and a failure shows its last lines."""

import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

_TAIL_LINES = 15
_STDERR_MAX = 2000

Command = Sequence[object]
"""A program and its arguments; paths and similar values become strings."""


class TestbedError(RuntimeError):
    """An error for the user, without a traceback."""

    __test__ = False  # the name begins like pytest's classes of tests


def environment(extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """This process's environment with `extra`, and the system directories that root's PATH may lack."""
    merged = {**os.environ, **(extra or {})}
    merged["PATH"] = ":".join([merged.get("PATH", ""), "/usr/local/sbin:/usr/sbin:/sbin:/usr/bin:/bin"])
    return merged


def run(
    command: Command,
    log: Path,
    *,
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
    stdin: str | None = None,
) -> None:
    """Run a program to its end with its output appended to `log`; raise if it fails."""
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("a") as stream:
        start = stream.tell()
        stream.write(f"$ {' '.join(map(str, command))}\n")
        stream.flush()
        done = subprocess.run(
            [*map(str, command)],
            stdout=stream,
            stderr=subprocess.STDOUT,
            env=environment(env),
            cwd=cwd,
            input=stdin,
            stdin=subprocess.DEVNULL if stdin is None else None,
            text=True,
            check=False,
        )
    if done.returncode:
        with log.open() as stream:
            stream.seek(start)
            tail = "".join(stream.readlines()[-_TAIL_LINES:])
        raise TestbedError(f"{command[0]} ended with {done.returncode}; the end of {log}:\n{tail}")


def output(
    command: Command,
    *,
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
    timeout_s: float | None = None,
) -> str:
    """The stdout of a program; raise with its stderr if it fails."""
    try:
        done = subprocess.run(
            [*map(str, command)],
            capture_output=True,
            env=environment(env),
            cwd=cwd,
            stdin=subprocess.DEVNULL,
            text=True,
            timeout=timeout_s,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise TestbedError(f"{' '.join(map(str, command))}: no answer within {timeout_s:.0f} s") from error
    except OSError as error:
        raise TestbedError(f"{command[0]}: {error}") from error
    if done.returncode:
        end = done.stderr.strip()[-_STDERR_MAX:]
        raise TestbedError(f"{' '.join(map(str, command))} ended with {done.returncode}: {end}")
    return done.stdout


def succeeds(
    command: Command,
    *,
    env: Mapping[str, str] | None = None,
    timeout_s: float | None = 30,
) -> bool:
    """Whether a program ends with success; used only to ask."""
    try:
        output(command, env=env, timeout_s=timeout_s)
    except TestbedError:
        return False
    return True
