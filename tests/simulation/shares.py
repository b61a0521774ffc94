"""Where the processor time of runs goes: the operator's own code, the models, the rules, the rest of the simulation.

`python -m tests.simulation.shares storm/1 pools/1` prints a line for each run. A sample, at
most every two milliseconds of processor time, counts for the innermost function of the checkout. The first share stays
if models, rules and everything else cost nothing. Its reciprocal, the last column, is the highest gain without a faster
operator.
"""

import argparse
import gc
import logging
import signal
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Final

from tests.simulation.runs.explore import any_replay, run_name

_HERE: Final = Path(__file__).resolve().parent
_ROOMS: Final = {
    str(_HERE.parents[1] / "operator"): "operator",
    str(_HERE / "model"): "models",
    str(_HERE / "rules"): "rules",
    str(_HERE): "driver",
}
_EVERY_S: Final = 0.002


def room_of(frame: FrameType | None) -> str:
    """The room of the innermost function of this checkout; `driver` if there is none."""
    while frame is not None:
        path = frame.f_code.co_filename
        for folder, room in _ROOMS.items():
            if path.startswith(folder):
                return room
        frame = frame.f_back
    return "driver"


@contextmanager
def sampled() -> Iterator[Counter[str]]:
    """Counts the samples of this process by room while the context is open."""
    samples: Counter[str] = Counter()
    before = signal.signal(signal.SIGPROF, lambda _, frame: samples.update((room_of(frame),)))
    signal.setitimer(signal.ITIMER_PROF, _EVERY_S, _EVERY_S)
    try:
        yield samples
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def line(name: str, repeats: int) -> str:
    """The shares of a run, performed so often, as a line."""
    steps, began_s = 0, time.process_time()
    with sampled() as samples:
        for _ in range(repeats):
            steps += any_replay(name).steps
    cpu_s, every = time.process_time() - began_s, max(1, samples.total())
    shares = "".join(f"{samples[room] / every:>10.0%}" for room in _ROOMS.values())
    return f"{name:<18}{steps / cpu_s:>8.0f}{shares}{every / max(1, samples['operator']):>8.1f}"


def main() -> int:
    """Print the shares of these runs."""
    parser = argparse.ArgumentParser(prog="python -m tests.simulation.shares", description=__doc__)
    parser.add_argument("run", nargs="+", type=run_name, help="runs by name, as failures print them")
    parser.add_argument("--repeats", type=int, default=3, metavar="N", help="perform each so often")
    chosen = parser.parse_args()
    logging.disable(logging.CRITICAL)
    any_replay("initial-3/no-fault")
    gc.disable()
    rooms = "".join(f"{room:>10}" for room in _ROOMS.values())
    sys.stdout.write(f"{'run':<18}{'steps/s':>8}{rooms}{'gain':>8}\n")
    for name in chosen.run:
        sys.stdout.write(line(name, chosen.repeats) + "\n")
        sys.stdout.flush()
        gc.collect()
    return 0


if __name__ == "__main__":
    sys.exit(main())
