"""A headless Chromium, driven through two pipes by its DevTools protocol: JSON messages that end with a zero byte.

It needs no package of Python or Node. Messages in `errors` and addresses in `requests` are collected for each page.
"""

import base64
import json
import os
import selectors
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

from tests.quorum_history.provided import provided

_INSTALL_TIMEOUT_S = 900.0
_ANSWER_TIMEOUT_S = 60.0
_READ_BYTES = 1 << 16
_ARGUMENTS = (
    "--headless", "--remote-debugging-pipe", "--no-first-run", "--disable-gpu", "--disable-extensions",
    "--disable-background-networking", "--disable-component-update", "--force-color-profile=srgb",
    "--hide-scrollbars", "--host-resolver-rules=MAP * ~NOTFOUND",
)  # fmt: skip


def installed() -> tuple[Path, Path]:
    """The browser's program and axe-core's script. The test-bed installs them once, or names what is missing."""
    program, axe = provided("page-browser", _INSTALL_TIMEOUT_S)
    return Path(program), Path(axe)


class BrowserError(RuntimeError):
    """The browser refused a command, ended, or did not answer in time."""


class Browser:
    """One tab of one browser."""

    def __init__(self, process: subprocess.Popen[bytes], commands: int, answers: int) -> None:
        """Attaches to the tab with which a browser starts."""
        self._process, self._commands, self._answers = process, commands, answers
        self._unread, self._number, self._session = b"", 0, ""
        self._loads = 0
        self.errors: list[str] = []
        self.requests: list[str] = []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        self.call("Emulation.setFocusEmulationEnabled", enabled=True)
        for domain in ("Page", "Runtime", "Network", "Log", "DOM", "Accessibility"):
            self.call(f"{domain}.enable")

    @classmethod
    @contextmanager
    def started(cls, program: Path, profile: Path) -> Iterator[Self]:
        """A browser with a new profile, which ends with the block."""
        sandbox = [] if os.geteuid() else ["--no-sandbox"]  # Chromium's sandbox refuses root
        (theirs, commands), (answers, ours) = os.pipe(), os.pipe()
        with (profile.parent / "browser.log").open("wb") as log:
            # The protocol's descriptors are 3 and 4.
            wrapper = ["bash", "-c", f'exec "$@" 3<&{theirs} 4>&{ours}', "-"]
            process = subprocess.Popen(
                [*wrapper, program, *_ARGUMENTS, *sandbox, f"--user-data-dir={profile}"],
                pass_fds=(theirs, ours),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        os.close(theirs)
        os.close(ours)
        try:
            yield cls(process, commands, answers)
        finally:
            process.kill()
            process.wait()
            os.close(commands)
            os.close(answers)

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:  # noqa: ANN401 -- JSON
        """Sends a command, and returns its answer (BrowserError)."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self._commands, data) :]
        deadline = time.monotonic() + _ANSWER_TIMEOUT_S
        while True:
            answer = self._next(deadline)
            if answer.get("id") == self._number:
                if "error" in answer:
                    raise BrowserError(f"{method}: {answer['error']['message']}")
                result: dict[str, Any] = answer["result"]
                return result
            self._note(answer)

    def _next(self, deadline: float) -> dict[str, Any]:
        with selectors.DefaultSelector() as selector:
            selector.register(self._answers, selectors.EVENT_READ)
            while b"\0" not in self._unread:
                if not selector.select(max(0.0, deadline - time.monotonic())):
                    raise BrowserError("no answer in time")
                read = os.read(self._answers, _READ_BYTES)
                if not read:
                    raise BrowserError(f"the browser ended with {self._process.wait()}")
                self._unread += read
        line, self._unread = self._unread.split(b"\0", 1)
        answer: dict[str, Any] = json.loads(line)
        return answer

    def _note(self, event: Mapping[str, Any]) -> None:
        method, said = event.get("method"), event.get("params", {})
        if method == "Page.loadEventFired":
            self._loads += 1
        elif method == "Network.requestWillBeSent":
            self.requests.append(said["request"]["url"])
        elif method == "Runtime.exceptionThrown":
            self.errors.append(str(said["exceptionDetails"].get("text")))
        elif method == "Runtime.consoleAPICalled" and said["type"] in ("error", "warning", "assert"):
            self.errors.append(" ".join(str(each.get("value")) for each in said["args"]))
        elif method == "Log.entryAdded" and said["entry"]["level"] in ("error", "warning"):
            self.errors.append(f"{said['entry']['text']} ({said['entry'].get('url')})")

    def open(self, page: Path, *, width: int = 1400, height: int = 900) -> None:
        """Loads a file and waits until it is complete; `errors` and `requests` start empty."""
        self.size(width, height)
        self.emulate()
        self.errors, self.requests, before = [], [], self._loads
        if failed := self.call("Page.navigate", url=page.as_uri()).get("errorText"):
            raise BrowserError(f"{page}: {failed}")
        deadline = time.monotonic() + _ANSWER_TIMEOUT_S
        while self._loads == before:
            self._note(self._next(deadline))

    def size(self, width: int, height: int = 900) -> None:
        """Sets the size of the window, in CSS pixels."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def emulate(self, *, media: str = "", scheme: str = "light") -> None:
        """Sets `print` or the screen, and the colour scheme that the reader prefers."""
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self.call("Emulation.setEmulatedMedia", media=media, features=features)

    def evaluate(self, script: str) -> Any:  # noqa: ANN401 -- JSON
        """The value of an expression in the page; promises are waited for (BrowserError)."""
        done = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in done:
            thrown = done["exceptionDetails"]
            raise BrowserError(thrown.get("exception", {}).get("description") or thrown["text"])
        return done["result"].get("value")

    def press_tab(self) -> None:
        """Presses the tabulator key once, as a reader without a mouse does."""
        key = {"key": "Tab", "code": "Tab", "windowsVirtualKeyCode": 9}
        for kind in ("rawKeyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, **key)

    def picture(self, file: Path, *, whole: bool = True) -> None:
        """A screenshot as PNG."""
        shot = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        file.write_bytes(base64.b64decode(shot["data"]))

    def pdf(self, file: Path) -> None:
        """The page as PDF, as it is printed on A4."""
        printed = self.call("Page.printToPDF", paperWidth=8.27, paperHeight=11.69, printBackground=False)
        file.write_bytes(base64.b64decode(printed["data"]))
