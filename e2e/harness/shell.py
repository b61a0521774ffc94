"""Commands, and waits for their output. No sleep depends on luck: a wait polls a condition with a deadline."""

import base64
import json
import subprocess
import time
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

Json = dict[str, Any]
T = TypeVar("T")

_COMMAND_TIMEOUT_S = 120.0
_POLL_S = 0.2


class CommandFailed(AssertionError):
    """A command that had to succeed failed; the text has its output."""


def run(*command: str, stdin: str | None = None, timeout_s: float = _COMMAND_TIMEOUT_S) -> tuple[int, str, str]:
    """Run one command that may fail: exit code, output, errors (CommandFailed if it does not end in time)."""
    try:
        done = subprocess.run(command, input=stdin, capture_output=True, text=True, timeout=timeout_s, check=False)
    except subprocess.TimeoutExpired:
        raise CommandFailed(f"{' '.join(command)} did not end within {timeout_s:g} s") from None
    return done.returncode, done.stdout, done.stderr


def succeed(*command: str, stdin: str | None = None, timeout_s: float = _COMMAND_TIMEOUT_S) -> str:
    """Run one command that must succeed: its output."""
    code, output, errors = run(*command, stdin=stdin, timeout_s=timeout_s)
    if code:
        raise CommandFailed(f"{' '.join(command)} ended with {code}: {errors.strip() or output.strip()}")
    return output


def kubectl(*arguments: str, stdin: str | None = None, timeout_s: float = _COMMAND_TIMEOUT_S) -> str:
    """Run one kubectl command that must succeed: its output."""
    return succeed("kubectl", *arguments, stdin=stdin, timeout_s=timeout_s)


def get(namespace: str, *arguments: str) -> Json:
    """`kubectl get … -o json`; an empty object if no object has that name."""
    code, output, errors = run("kubectl", "-n", namespace, "get", *arguments, "-o", "json")
    if code and "NotFound" in errors:
        return {}
    if code:
        raise CommandFailed(f"kubectl get {' '.join(arguments)}: {errors.strip()}")
    found: Json = json.loads(output)
    return found


def items(namespace: str, *arguments: str) -> list[Json]:
    """The items of a list."""
    found: list[Json] = get(namespace, *arguments)["items"]
    return found


def secret_texts(namespace: str, names: Iterable[str]) -> dict[str, dict[str, str]]:
    """The contents of those of these Secrets that exist."""
    found = {name: get(namespace, "secret", name) for name in names}
    return {
        name: {key: base64.b64decode(value).decode() for key, value in (item.get("data") or {}).items()}
        for name, item in found.items()
        if item
    }


def wait_until(what: str, probe: Callable[[], T | None], timeout_s: float, poll_s: float = _POLL_S) -> T:
    """The first truthy answer of `probe`; after `timeout_s` an error that names `what` and the last answer."""
    deadline = time.monotonic() + timeout_s
    while True:
        answer = probe()
        if answer:
            return answer
        if time.monotonic() > deadline:
            raise AssertionError(f"after {timeout_s:.0f} s still not: {what} (last seen: {answer!r})")
        time.sleep(poll_s)


def holds_for(what: str, probe: Callable[[], bool], duration_s: float, poll_s: float = _POLL_S) -> None:
    """Check that a condition stays true: an error at the first look at which it is false."""
    deadline = time.monotonic() + duration_s
    while time.monotonic() < deadline:
        assert probe(), f"did not stay: {what}"
        time.sleep(poll_s)
