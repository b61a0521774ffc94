"""A lost majority as a person sees it at a terminal: docs/transcript-recovery.md, and that it is still true.

`make transcript` writes the page with what this run has printed. Without that, this run must have the page's shape.
"""

import os
import time
from dataclasses import dataclass, field
from functools import partial
from typing import Final

import pytest

from harness.plugin import DONE, kq
from harness.quorum import Quorum
from harness.recovery import lose, wait_recovered
from harness.shell import Json, wait_until
from harness.transcripts import Typed, block, placeholders, shape, stored, tidy, written
from scenarios.conftest import Make
from testbed.config import PROJECT

pytestmark = [pytest.mark.e2e, pytest.mark.full, pytest.mark.timeout(900)]

PAGE: Final = PROJECT / "docs" / "transcript-recovery.md"
WRITES: Final = os.environ.get("TRANSCRIPT") == "write"
SURVIVOR: Final = 3000
_ATTEMPTS: Final = 12
_SETTLED_S: Final = 15.0
_SETTLED_TIMEOUT_S: Final = 90.0
_POLL_S: Final = 0.5
_PROPOSED_TIMEOUT_S: Final = 120.0


@dataclass(slots=True)
class Terminal:
    """A person at a terminal, and everything that they typed."""

    quorum: Quorum
    typed: list[Typed] = field(default_factory=list)

    def types(self, command: str, *words: str) -> None:
        """Run a command about the quorum, which must succeed."""
        code, out, errors = kq(self.quorum, command, self.quorum.name, *words)
        assert (code, errors) == (DONE, ""), (command, words, out)
        line = " ".join(("kubectl kq", command, self.quorum.name, *words, "-n", self.quorum.namespace))
        print(f"$ {line}\n{out}", flush=True)
        self.typed.append(Typed(command=line, printed=out))

    def tidied(self, names: dict[str, str]) -> list[Typed]:
        """The same with placeholders for these names."""
        return [
            Typed(command=tidy(each.command, names).rstrip(), printed=tidy(each.printed, names)) for each in self.typed
        ]


def make_leader(quorum: Quorum, node_id: int) -> None:
    """Let this controller lead: its log has every committed record, so nothing is lost with the others."""
    for _ in range(_ATTEMPTS):
        active = int(wait_until("a leader answers", quorum.describe, 60).leader_id)
        if active == node_id:
            return
        quorum.delete_pod(quorum.controller(active)["podName"])
        wait_until("its pod is made again", partial(_pod, quorum, active), 60)
        quorum.wait_ready()
    pytest.fail(f"controller {node_id} did not lead after {_ATTEMPTS} elections")


def _pod(quorum: Quorum, node_id: int) -> Json | None:
    return quorum.pods().get(node_id)


def settle(quorum: Quorum) -> None:
    """Wait until the status has said the same for some seconds, so that each command shows the same state."""
    deadline_s = time.monotonic() + _SETTLED_TIMEOUT_S
    last, since_s = _words(quorum.status()), time.monotonic()
    while time.monotonic() - since_s < _SETTLED_S and time.monotonic() < deadline_s:
        time.sleep(_POLL_S)
        now = _words(quorum.status())
        if now != last:
            print(f"the status was {last}", flush=True)
            last, since_s = now, time.monotonic()


def _words(status: Json) -> tuple[object, ...]:
    waits = sorted((row["reason"], row["severity"], str(row.get("nodeIDs"))) for row in status.get("waits") or ())
    conditions = [(row["type"], row["status"], row["reason"]) for row in status.get("conditions") or ()]
    return status.get("doing"), waits, conditions, (status.get("recovery") or {}).get("stage")


def directories(quorum: Quorum) -> list[tuple[int, str]]:
    """The directory ids of every controller: the lost ones first."""
    found: list[tuple[int, str]] = []
    for row in quorum.record()["nodes"]:
        found += [(row["node_id"], each) for each in (*(row.get("lost") or ()), row["directory_id"]) if each]
    return found


def test_a_lost_majority_as_a_person_sees_it(quorums: Make) -> None:
    """From the first look to the release of the copies, each command says what the next one is."""
    quorum = quorums("demo")
    quorum.apply()
    quorum.wait_ready()
    make_leader(quorum, SURVIVOR)
    cluster = quorum.record()["cluster_id"]
    terminal = Terminal(quorum)
    lose(quorum, (3001, 3002), claims=True)
    quorum.wait_condition("Available", "Unknown", "NoAnswer")
    settle(quorum)
    for command in ("status", "explain", "recover"):
        terminal.types(command)
    terminal.types("recover", "--inspect")
    wait_until("a plan is proposed", lambda: _recovery(quorum).get("plan"), _PROPOSED_TIMEOUT_S)
    settle(quorum)
    terminal.types("recover")
    shown = _recovery(quorum)
    assert (shown["verdict"], shown["controller"]) == ("NoLossUpToWatermark", SURVIVOR)
    terminal.types("recover", "--approve", shown["plan"])
    wait_recovered(quorum)
    settle(quorum)
    terminal.types("recover")
    terminal.types("recover", "--cancel")
    terminal.types("status")
    terminal.types("recover", "--release", str(_recovery(quorum)["epoch"]))
    names = placeholders(
        namespace=quorum.namespace, cluster_id=cluster, directories=directories(quorum), plan=shown["plan"]
    )
    compare(terminal.tidied(names))


def compare(typed: list[Typed]) -> None:
    """Write the page, or compare its shape with this run."""
    page = PAGE.read_text()
    if WRITES:
        PAGE.write_text(written(page, typed))
        return
    assert stored(page), f"{PAGE.name} has no transcript yet: make transcript writes it"
    assert shape(block(typed)) == shape(stored(page)), f"{PAGE.name} is out of date: make transcript writes it again"


def _recovery(quorum: Quorum) -> Json:
    found: Json = quorum.status().get("recovery") or {}
    return found
