"""`python -m tests.simulation.soak --hours 8`: every single fault of every scenario, and storms, for so long.

It takes scenarios without a fault, single faults of them, and storms, so that each of the three gets the same processor
time, and of each scenario one piece with faults before the second of any. Without `--hours` it ends when every single
fault and `--storms` storms of each kind are done. With it, it goes on with further storms until the hours are over, or
ends before it is through. What is done is kept in `--keep FOLDER`, for the source as it is: the same
command goes on from there, and a changed source begins again.

It ends with a summary, as a table and as JSON beside what is kept: what was covered, and what was not. Ctrl-C and
SIGTERM end it once the pieces under way are done.
"""

import argparse
import base64
import heapq
import json
import multiprocessing
import os
import random
import signal
import sys
import time
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from tests.simulation.runs.explore import STORMS, every_scenario
from tests.simulation.runs.kept import source_digest, write_whole
from tests.simulation.runs.soaking import STORMS_AT_ONCE, Piece, Storms, carry_out, pieces_of, prepare, storm_piece
from tests.simulation.runs.states import Distinct
from tests.simulation.runs.summary import Covered, markdown, summary
from tests.simulation.runs.tally import Tally

_SAVE_EVERY_S: Final = 30.0
_TELL_EVERY_S: Final = 60.0
PLAIN: Final = "scenarios without a fault"
FAULTS: Final = "single faults"
STORMY: Final = "storms"
"""The kinds of work."""
_PIECES_OF_A_PROCESS: Final = 400
"""Then it ends, and another one begins: none of them grows without end."""


@dataclass(slots=True, kw_only=True)
class Progress:
    """Everything that is done, in a file that is always whole."""

    path: Path
    tally: Tally = field(default_factory=Tally)
    states: Distinct = field(default_factory=Distinct)
    done: set[str] = field(default_factory=set)
    sizes: dict[str, tuple[int, int]] = field(default_factory=dict)
    """Of each scenario: how many single faults it has, and how many make a piece."""
    wall_s: float = 0.0
    kinds_s: dict[str, float] = field(default_factory=lambda: dict.fromkeys((PLAIN, FAULTS, STORMY), 0.0))
    """The processor time of each kind of work."""

    @classmethod
    def of(cls, folder: Path) -> "Progress":
        """What was done before with this source."""
        progress = cls(path=folder / source_digest("soak") / "soak.json")
        progress.path.parent.mkdir(parents=True, exist_ok=True)
        if progress.path.exists():
            found = json.loads(progress.path.read_text())
            progress.tally, progress.done = Tally.of(found["tally"]), set(found["done"])
            progress.states = Distinct(base64.b64decode(found["states"]))
            progress.sizes = {name: (faults, at_once) for name, (faults, at_once) in found["sizes"].items()}
            progress.wall_s, progress.kinds_s = found["wall_s"], found["kinds_s"]
        return progress

    def add(self, piece: Piece) -> None:
        """A piece is done."""
        self.done.add(piece.name)
        self.tally.join(piece.tally)
        self.states.join(piece.states)
        kind = STORMY if "@" in piece.name else FAULTS if "#" in piece.name else PLAIN
        self.kinds_s[kind] += piece.cpu_s
        if kind == PLAIN:
            self.sizes[piece.name] = (piece.faults, piece.at_once)

    @property
    def cpu_s(self) -> float:
        """The processor time of everything that is done."""
        return sum(self.kinds_s.values())

    def save(self) -> None:
        """Write the file."""
        found = {
            "tally": self.tally.as_json(),
            "states": base64.b64encode(self.states.registers).decode(),
            "done": sorted(self.done),
            "sizes": self.sizes,
            "wall_s": self.wall_s,
            "kinds_s": self.kinds_s,
        }
        write_whole(self.path, json.dumps(found))

    def covered(self) -> Covered:
        """How much of everything is done."""
        faults = {name: size[0] for name, size in self.sizes.items() if size[0]}
        done = dict.fromkeys(faults, 0)
        for name in self.done:
            of, _, first = name.partition("#")
            if first:
                every, at_once = self.sizes[of]
                done[of] += min(at_once, every - int(first))
        storms = {kind: sum(name.startswith(f"{kind}@") for name in self.done) * STORMS_AT_ONCE for kind in STORMS}
        plain = sum("#" not in name and "@" not in name for name in self.done)
        return Covered(
            scenarios=plain, of_scenarios=len(every_scenario()), faults=done, of_faults=faults, storms=storms
        )


class Work:
    """What is to be done next. Scenarios without a fault, single faults and storms get the same processor time."""

    def __init__(self, progress: Progress, storms: int) -> None:
        """`storms`: how many of each kind are enough, if no time is given."""
        self._progress, self._enough = progress, storms
        self._plain = [one.name for one in every_scenario() if one.name not in progress.done]
        random.Random("order").shuffle(self._plain)  # an early end leaves out scenarios of every table
        self._faults: list[tuple[int, str]] = []
        self._storms = iter(Storms(progress.done))
        for name, (faults, at_once) in progress.sizes.items():
            self._learn(name, faults, at_once)

    def learn(self, piece: Piece) -> None:
        """A piece is done: now it is known how many faults its scenario has."""
        self._learn(piece.name, piece.faults, piece.at_once)

    def _learn(self, name: str, faults: int, at_once: int) -> None:
        for index, each in enumerate(pieces_of(name, faults, at_once)):
            if each not in self._progress.done:
                heapq.heappush(self._faults, (index, each))

    def next(self, *, endless: bool) -> str | None:
        """The next piece; None if there is none now. `endless`: there are always further storms."""
        spent_s = self._progress.kinds_s
        ready = {
            PLAIN: bool(self._plain),
            FAULTS: bool(self._faults),
            STORMY: endless or not self._enough_storms(),
        }
        kind = min((kind for kind, has in ready.items() if has), key=lambda kind: spent_s[kind], default=None)
        if kind == PLAIN:
            return self._plain.pop()
        if kind == FAULTS:
            return heapq.heappop(self._faults)[1]
        return next(self._storms) if kind == STORMY else None

    def _enough_storms(self) -> bool:
        firsts = range(0, self._enough, STORMS_AT_ONCE)
        return all(storm_piece(kind, first) in self._progress.done for kind in STORMS for first in firsts)


def main() -> int:
    """Soak; 1 if a run failed."""
    parser = argparse.ArgumentParser(prog="python -m tests.simulation.soak", description=__doc__)
    parser.add_argument("--hours", type=float, metavar="H", help="end within this time, and use it")
    parser.add_argument("--storms", type=int, default=2000, metavar="N", help="so many of each kind without --hours")
    parser.add_argument("--keep", type=Path, required=True, metavar="FOLDER", help="keep what is done here")
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1, metavar="N", help="one for each core")
    chosen = parser.parse_args()
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # otherwise the processes would stay
    progress = Progress.of(chosen.keep)
    hours_s = None if chosen.hours is None else chosen.hours * 3600
    try:
        _soak(progress, Work(progress, chosen.storms), hours_s=hours_s, processes=chosen.processes)
    except KeyboardInterrupt:
        sys.stderr.write("ended by a person: the summary is of what is done\n")
    progress.save()
    told = summary(progress.tally, progress.states.number(), progress.covered(), progress.wall_s, progress.cpu_s)
    write_whole(progress.path.with_name("summary.json"), json.dumps(told, indent=1))
    text = markdown(told)
    write_whole(progress.path.with_name("summary.md"), text)
    sys.stdout.write(f"{text}\nkept in {progress.path.parent}\n")
    return 1 if progress.tally.failures else 0


def _soak(progress: Progress, work: Work, *, hours_s: float | None, processes: int) -> None:
    """Carry out pieces until nothing is left, or the time is over."""
    began_s = seen_s = time.monotonic()
    saved_s = told_s = began_s
    longest_s, under_way = 0.0, dict[Future[Piece], float]()
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(
        processes, context, initializer=prepare, max_tasks_per_child=_PIECES_OF_A_PROCESS
    ) as executor:
        while True:
            now_s = time.monotonic()
            over = hours_s is not None and now_s - began_s + longest_s >= hours_s
            while not over and len(under_way) < processes + 1:
                name = work.next(endless=hours_s is not None)
                if name is None:
                    break
                under_way[executor.submit(carry_out, name)] = now_s
            if not under_way:
                return
            finished, _ = wait(under_way, timeout=_SAVE_EVERY_S, return_when=FIRST_COMPLETED)
            now_s = time.monotonic()
            progress.wall_s, seen_s = progress.wall_s + now_s - seen_s, now_s
            for future in finished:
                longest_s = max(longest_s, now_s - under_way.pop(future))
                piece = future.result()
                progress.add(piece)
                if piece.faults:
                    work.learn(piece)
                sys.stderr.writelines(f"{text}\n" for text in piece.tally.failures)
            if now_s - saved_s >= _SAVE_EVERY_S:
                progress.save()
                saved_s = now_s
            if now_s - told_s >= _TELL_EVERY_S:
                sys.stderr.write(f"[{now_s - began_s:7.0f}s] {progress.covered().line(progress.tally)}\n")
                told_s = now_s


if __name__ == "__main__":
    sys.exit(main())
