"""The pods of an application during a scenario: what each one ran, in which order, how many were away at once."""

import json
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final

from harness.shell import CommandFailed, Json, items
from kafka_streams.model.names import LABEL_INSTANCE

_PAUSE_S: Final = 0.25
_END_S: Final = 30.0


@dataclass(slots=True)
class Life:
    """One pod: the number of its instance, its image, its `upgrade.from` (empty for none)."""

    uid: str
    index: int
    image: str
    upgrade_from: str
    seen_s: float
    ready: bool = False
    """Whether it was ready once."""


@dataclass(slots=True)
class Lives:
    """The pods that were seen, in the order of their first sight.

    `most_away` is the largest number of instances that were away at one look, after all were there once. An instance is
    away until its pod was ready once, and from the deletion of the pod: all leave RUNNING for each rebalance.
    """

    namespace: str
    selector: str
    lives: dict[str, Life] = field(default_factory=dict)
    most_away: int = 0
    looks: int = 0
    _ending: threading.Event = field(default_factory=threading.Event)
    _complete: int = 0

    def run(self) -> None:
        """Looks until it is ended."""
        while not self._ending.is_set():
            try:
                self._look(items(self.namespace, "pods", "-l", self.selector))
            except CommandFailed:  # this look says nothing: the next one does
                continue
            finally:
                self._ending.wait(_PAUSE_S)

    def end(self) -> None:
        """No more looks."""
        self._ending.set()

    def _look(self, rows: list[Json]) -> None:
        self.looks += 1
        ready: Counter[int] = Counter()
        for row in rows:
            life, metadata = self._life(row), row["metadata"]
            conditions = row.get("status", {}).get("conditions") or []
            life.ready |= any(one["type"] == "Ready" and one["status"] == "True" for one in conditions)
            ready[life.index] += life.ready and "deletionTimestamp" not in metadata
        there = sum(count > 0 for count in ready.values())
        if there < self._complete:
            self.most_away = max(self.most_away, self._complete - there)
        self._complete = max(self._complete, there)

    def _life(self, row: Json) -> Life:
        metadata, container = row["metadata"], row["spec"]["containers"][0]
        values = {one["name"]: one.get("value", "") for one in container.get("env") or []}
        new = Life(
            uid=metadata["uid"],
            index=int((metadata.get("labels") or {}).get(LABEL_INSTANCE) or metadata["name"].rpartition("-")[2]),
            image=container["image"],
            upgrade_from=values.get("UPGRADE_FROM", ""),
            seen_s=time.monotonic(),
        )
        return self.lives.setdefault(new.uid, new)

    def runs(self) -> dict[int, list[tuple[str, str]]]:
        """By instance: image and `upgrade.from` of one pod after the other."""
        found: dict[int, list[tuple[str, str]]] = {}
        for life in self.lives.values():
            found.setdefault(life.index, []).append((life.image, life.upgrade_from))
        return found

    def __str__(self) -> str:
        """For a report."""
        return json.dumps(self.runs())


@contextmanager
def watched(namespace: str, selector: str) -> Iterator[Lives]:
    """Looks at the pods several times a second while this lasts."""
    found = Lives(namespace=namespace, selector=selector)
    thread = threading.Thread(target=found.run, daemon=True)
    thread.start()
    try:
        yield found
    finally:
        found.end()
        thread.join(_END_S)
