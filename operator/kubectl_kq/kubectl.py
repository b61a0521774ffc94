"""kubectl as a subprocess: the only way of this plugin to the outside, with a deadline on every call.

kubectl brings the authentication, the contexts and the proxies of the person who runs the plugin. `--request-timeout`
bounds one request. The process is bounded, too, because discovery or a credential plugin may hang where that option
does not count; then it ends together with everything that it started. No call asks a question on the terminal.
"""

import os
import signal
import subprocess
import threading
from collections.abc import Callable, Hashable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Final, TypeVar

from kubectl_kq.answers import Answer, NotRead, Ran, Why, answer_of, refused

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

_MORE_S: Final = 1.0
"""How much longer the process may take than one request: then the error is usually kubectl's own."""
_TOGETHER_MAX: Final = 16
_END_S: Final = 1.0


class Kubectl:
    """kubectl with the flags that every call has, such as `--context=test`."""

    def __init__(self, flags: Sequence[str], *, timeout_s: float, executable: str = "kubectl") -> None:
        """`timeout_s` is the deadline of one call, in seconds."""
        self._command = (executable, *flags, f"--request-timeout={max(1, round(timeout_s))}s")
        self._timeout_s = timeout_s
        self._running: set[subprocess.Popen[str]] = set()
        self._lock = threading.Lock()

    def run(self, *arguments: str, stdin: str | None = None) -> Ran | NotRead:
        """One command; `NotRead` if kubectl cannot be started, or does not end in time."""
        if isinstance(started := self._start(arguments, has_input=stdin is not None), NotRead):
            return started
        limit_s = self._timeout_s + _MORE_S
        try:
            out, err = started.communicate(stdin, timeout=limit_s)
        except subprocess.TimeoutExpired:
            _end(started)
            return NotRead(why=Why.SILENT, words=f"no answer within {limit_s:g} s")
        except KeyboardInterrupt:
            _end(started)
            raise
        finally:
            with self._lock:
                self._running.discard(started)
        return Ran(code=started.returncode, out=out, err=err)

    def get(self, path: str) -> Answer:
        """The object or the list at a path of the API server, such as `/api/v1/namespaces/kafka/pods/demo-3000-g1`."""
        return answer_of(self.run("get", f"--raw={path}"))

    def get_all(self, paths: Mapping[K, str]) -> dict[K, Answer]:
        """Several at the same time, so that together they take as long as the slowest."""
        return self.together({key: ("get", f"--raw={path}") for key, path in paths.items()}, answer_of)

    def texts(self, commands: Mapping[K, Sequence[str]]) -> dict[K, str | NotRead]:
        """What several commands print, at the same time."""
        return self.together(commands, printed)

    def together(self, commands: Mapping[K, Sequence[str]], read: Callable[[Ran | NotRead], V]) -> dict[K, V]:
        """Run several commands at the same time, and read each result."""
        if not commands:
            return {}
        with ThreadPoolExecutor(max_workers=min(len(commands), _TOGETHER_MAX)) as pool:
            try:
                started = {key: pool.submit(self.run, *arguments) for key, arguments in commands.items()}
                return {key: read(each.result()) for key, each in started.items()}
            except KeyboardInterrupt:
                pool.shutdown(wait=False, cancel_futures=True)
                self._end_all()
                raise

    def _start(self, arguments: Sequence[str], *, has_input: bool) -> subprocess.Popen[str] | NotRead:
        command = [self._command[0], *arguments, *self._command[1:]]
        try:
            process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE if has_input else subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                encoding="utf-8",
                errors="replace",
                process_group=0,  # so that it can be ended with all that it started
            )
        except OSError as error:
            return NotRead(why=Why.FAILED, words=f"cannot run {self._command[0]}: {error.strerror or error}")
        with self._lock:
            self._running.add(process)
        return process

    def _end_all(self) -> None:
        with self._lock:
            running = tuple(self._running)
        for process in running:
            _kill(process)


def _end(process: subprocess.Popen[str]) -> None:
    """End a process with everything that it started: it may have ended itself, and left a child with its pipes."""
    _kill(process)
    try:
        process.communicate(timeout=_END_S)
    except subprocess.TimeoutExpired:  # the kernel does not let it go, as with a file system that hangs
        for pipe in (process.stdin, process.stdout, process.stderr):
            if pipe is not None:
                pipe.close()


def _kill(process: subprocess.Popen[str]) -> None:
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        return


def printed(ran: Ran | NotRead) -> str | NotRead:
    """What a command printed; `NotRead` if it failed."""
    if isinstance(ran, NotRead):
        return ran
    return refused(ran) if ran.code else ran.out
