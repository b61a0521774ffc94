"""A Kafka server as a process: started, stopped dead, frozen, and never left behind.

`setpriv --pdeathsig` lets the kernel end a server when the test process ends, however that happens.
"""

import contextlib
import os
import signal
import subprocess
from collections.abc import Mapping
from pathlib import Path

_EXIT_TIMEOUT_S = 30.0


class ServerProcess:
    """One running server, and what it has started; its output goes to the end of `log`."""

    def __init__(self, command: list[str], log: Path, environment: Mapping[str, str] | None = None) -> None:
        """Start it; with its own environment, if one is given."""
        self.log = log
        self.frozen = False
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

    def wait(self, timeout_s: float = _EXIT_TIMEOUT_S) -> int:
        """Its exit code, once it has ended by itself (TimeoutExpired)."""
        return self._process.wait(timeout_s)

    def kill(self) -> None:
        """End it as a crash would, and see it gone."""
        if self._process.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait(_EXIT_TIMEOUT_S)

    def terminate(self) -> None:
        """Ask it to end, as Kubernetes does first (SIGTERM), and do not wait for it."""
        if self._process.poll() is None:
            self._process.terminate()

    def stop(self) -> None:
        """End it as Kubernetes would: SIGTERM, and time to finish."""
        self.terminate()
        self._process.wait(_EXIT_TIMEOUT_S)

    def freeze(self) -> None:
        """Stop it where it stands: its sockets stay open, nothing is answered."""
        self._process.send_signal(signal.SIGSTOP)
        self.frozen = True

    def thaw(self) -> None:
        """Let it go on."""
        self._process.send_signal(signal.SIGCONT)
        self.frozen = False
