"""A Kafka server as a process: started, killed, frozen, and always ended.

`setpriv --pdeathsig` lets the kernel end a server when the test process ends, however that happens.
"""

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path

_EXIT_TIMEOUT_S = 30.0
_FROZEN_TIMEOUT_S = 5.0
_STOPPED = {"T", "Z", "X", ""}
"""Threads that do not run any more; an empty state is that of a thread that ended while it was read."""


class ServerProcess:
    """One running server, and what it has started; its output is appended to `log`."""

    def __init__(self, command: list[str], log: Path, environment: Mapping[str, str] | None = None) -> None:
        """Starts the server, with its own environment if one is given."""
        self.log = log
        self.frozen = False
        self.was_frozen = False
        with log.open("ab") as output:
            self._process = subprocess.Popen(
                ["setpriv", "--pdeathsig", "KILL", "--", *command],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                env=environment,
            )

    @property
    def exit_code(self) -> int | None:
        """None while it runs."""
        return self._process.poll()

    @property
    def pid(self) -> int:
        """Its process id: `setpriv` becomes the server."""
        return self._process.pid

    def wait(self, timeout_s: float = _EXIT_TIMEOUT_S) -> int:
        """Its exit code, after it ended by itself (TimeoutExpired)."""
        return self._process.wait(timeout_s)

    def kill(self) -> None:
        """Kills it, as in a crash, and waits for its end."""
        if self._process.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait(_EXIT_TIMEOUT_S)

    def terminate(self) -> None:
        """Sends SIGTERM, as Kubernetes does first, and does not wait."""
        if self._process.poll() is None:
            self._process.terminate()

    def stop(self) -> None:
        """Ends it as Kubernetes does: SIGTERM, and time to finish."""
        self.terminate()
        self._process.wait(_EXIT_TIMEOUT_S)

    def freeze(self) -> None:
        """Stops it at once: its sockets stay open, and it does not answer.

        The signal reaches its threads one by one: the last one may still answer for a moment, which is waited for.
        """
        self._process.send_signal(signal.SIGSTOP)
        self.frozen = self.was_frozen = True
        end_s = time.monotonic() + _FROZEN_TIMEOUT_S
        while self._threads() - _STOPPED:
            if time.monotonic() > end_s:
                raise TimeoutError(f"process {self._process.pid} is not frozen after {_FROZEN_TIMEOUT_S:g} s")
            time.sleep(0.001)

    def _threads(self) -> set[str]:
        """The states of its threads, as in proc(5); a thread that ends meanwhile has none."""
        states = set()
        for stat in Path(f"/proc/{self._process.pid}/task").glob("*/stat"):
            with contextlib.suppress(OSError):
                states.add(stat.read_text().rpartition(") ")[2][:1])
        return states

    def thaw(self) -> None:
        """Lets it continue."""
        self._process.send_signal(signal.SIGCONT)
        self.frozen = False
