"""What a roll must be, and its cost: the order of the restarts, the leader changes, the time without a write."""

import itertools
import random
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from harness import operator
from harness.quorum import Quorum
from harness.shell import CommandFailed, Json, wait_until
from harness.watching import Change, Watching
from harness.writer import Account

ROLL_TIMEOUT_S = 240.0
_TOLD_TIMEOUT_S = 120.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """The cost of one part of a scenario. `gap_s` is its longest time without an acknowledged write."""

    what: str
    took_s: float
    gap_s: float
    changes: tuple[Change, ...]

    @property
    def caused(self) -> tuple[Change, ...]:
        """The leader changes after the deletion of a pod."""
        return tuple(change for change in self.changes if change.stopped)

    def __str__(self) -> str:
        """One line for a person."""
        told = ", ".join(map(str, self.changes)) or "the leader stayed"
        return f"{self.what:<44} {self.took_s:6.1f} s, longest gap {self.gap_s:5.2f} s, {told}"


@dataclass(slots=True)
class Figures:
    """The parts of a scenario in order, each printed at its end."""

    watching: Watching
    account: Account
    rows: list[Figure] = field(default_factory=list)

    @contextmanager
    def of(self, what: str) -> Iterator[None]:
        """Measure what happens while this lasts, and the first write after it."""
        began_s = time.monotonic()
        yield
        ended_s = time.monotonic()
        wait_until("another write", lambda: self.account.last_s > ended_s, 90)
        figure = Figure(
            what=what,
            took_s=ended_s - began_s,
            gap_s=self.account.longest_gap_s(began_s, self.account.last_s),
            changes=self.watching.changes(began_s),
        )
        print(figure, flush=True)
        self.rows.append(figure)


@contextmanager
def one_roll(figures: Figures, quorum: Quorum, what: str) -> Iterator[None]:
    """While this lasts the controllers are rolled once: one after the other, with at most one leader change."""
    began_s, node_ids = time.monotonic(), set(quorum.pods())
    with figures.of(what):
        yield
        assert_one_by_one(figures.watching, began_s, node_ids)
    assert len(figures.rows[-1].caused) <= 1, str(figures.rows[-1])


def assert_one_by_one(watching: Watching, since_s: float, node_ids: set[int]) -> None:
    """Each of these was stopped once since then, the next when the last was ready again, and the active one last."""

    def ended() -> bool:
        rows = watching.restarts(since_s)
        return len(rows) >= len(node_ids) and all(row.ready_s is not None for row in rows)

    wait_until("every restart was seen to its end", ended, 30)
    rows = watching.restarts(since_s)
    assert sorted(row.node_id for row in rows) == sorted(node_ids), rows
    for before, after in itertools.pairwise(rows):
        assert before.ready_s is not None
        assert before.ready_s <= after.stopped_s, rows
    for change in watching.changes(since_s):
        assert not change.stopped or change.before.node_id == rows[-1].node_id, (str(change), rows)


def assert_release(quorum: Quorum, version: str) -> None:
    """Every controller's pod has this release, and so has the status."""
    assert set(quorum.images().values()) == {f"testbed/kafka:{version}"}
    assert {row["version"] for row in quorum.status()["controllers"]} == {version}


# --- levels ---------------------------------------------------------------------------------------------------------


def feature(quorum: Quorum, name: str) -> Json:
    """One row of `status.features`."""
    return next((row for row in quorum.status().get("features", []) if row["name"] == name), {})


def wait_features(quorum: Quorum, status: str, *reasons: str, timeout_s: float = _TOLD_TIMEOUT_S) -> Json:
    """Wait until FeaturesSettled has this status for the present spec; returns the condition."""

    def probe() -> Json | None:
        resource = quorum.resource()
        rows = resource.get("status", {}).get("conditions", [])
        row: Json = next((row for row in rows if row["type"] == "FeaturesSettled"), {})
        fresh = row.get("observedGeneration") == resource["metadata"]["generation"]
        return row if fresh and row["status"] == status and row["reason"] in (reasons or (row["reason"],)) else None

    return wait_until(f"FeaturesSettled={status} {' or '.join(reasons)}", probe, timeout_s)


def assert_at_the_top(quorum: Quorum) -> None:
    """Every controller has each feature finalized at the highest level that it supports."""
    for node_id, versions in quorum.versions().items():
        finalized = {row.name: row.level for row in versions.finalized}
        tops = {row.name: row.max_level for row in versions.supported if row.max_level > 0}
        assert {name: finalized.get(name, 0) for name in tops} == tops, node_id


# --- words ----------------------------------------------------------------------------------------------------------


def wait_told(quorum: Quorum, *words: str, timeout_s: float = _TOLD_TIMEOUT_S) -> Json:
    """Wait until one condition's message has all of these words; returns it."""

    def probe() -> Json | None:
        rows = quorum.status().get("conditions", [])
        return next((row for row in rows if all(word.lower() in row["message"].lower() for word in words)), None)

    found = wait_until(f"a condition says {words}", probe, timeout_s)
    print(f"{found['type']}={found['status']} {found['reason']}: {found['message']}", flush=True)
    return found


# --- the operator's crashes -----------------------------------------------------------------------------------------


@contextmanager
def operator_killed_at_random(dice: random.Random, least_s: float, most_s: float) -> Iterator[list[float]]:
    """While this lasts the operator is killed repeatedly; yields the list of the gaps, in seconds, as they pass."""
    stopped, gaps_s = threading.Event(), list[float]()

    def kill() -> None:
        while True:
            gap_s = dice.uniform(least_s, most_s)
            if stopped.wait(gap_s):
                return
            gaps_s.append(gap_s)
            print(f"the operator is killed after {gap_s:.1f} s", flush=True)
            try:
                operator.crash()
            except CommandFailed as error:  # its pod just ended by itself
                print(error, flush=True)

    thread = threading.Thread(target=kill, daemon=True)
    thread.start()
    try:
        yield gaps_s
    finally:
        stopped.set()
        thread.join(60)
        operator.wait_ready()
