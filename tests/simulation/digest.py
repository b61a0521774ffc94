"""One digest for each run, over everything that happens in it: equal digests show that a change only made it faster.

`python -m tests.simulation.digest storm/1 pools/1 initial-3/call:40:error` prints a line for each run: its name, the
digest, its steps, passes and seconds of processor time. `--checkout DIR` does the same with the operator and the
simulation of another checkout. `--beside DIR` performs each run in both checkouts in turn, one right after the other,
and prints both speeds and their ratio, because a shared machine is never equally fast twice; it ends with 1 if a digest
differs.

The digest covers every write in the store of the API server with its time and its content (also statuses, events and
their sentences), every call of the operator, what each controller has on its disk and in memory after every step, and
the result: steps, passes, actions, verdicts, broken rules, ending. `trace.py` covers less, and says what differs.
"""

import argparse
import gc
import hashlib
import json
import logging
import marshal
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeAlias

Foreign: TypeAlias = Any
"""A value from the checkout that performs the runs."""

_ITSELF: Final = Path(__file__).resolve()


@dataclass(frozen=True, slots=True, kw_only=True)
class Digested:
    """What one run was: `cpu_s` is the processor time of the run alone, without imports and without the digest."""

    name: str
    digest: str
    steps: int
    passes: int
    cpu_s: float

    def line(self) -> str:
        """The run as a line, which `read` takes."""
        return f"{self.name} {self.digest} {self.steps} {self.passes} {self.cpu_s:.3f}"


def read(line: str) -> Digested:
    """A run from its line."""
    name, digest, steps, passes, cpu_s = line.split()
    return Digested(name=name, digest=digest, steps=int(steps), passes=int(passes), cpu_s=float(cpu_s))


def main(arguments: list[str] | None = None) -> int:
    """Print the digests of these runs; 1 if they differ from those of another checkout."""
    parser = argparse.ArgumentParser(prog="python -m tests.simulation.digest", description=__doc__)
    parser.add_argument("run", nargs="+", help="runs by name, as failures print them")
    parser.add_argument("--checkout", type=Path, metavar="DIR", help="the operator and the simulation of this checkout")
    parser.add_argument("--beside", type=Path, metavar="DIR", help="compare with the same runs of this checkout")
    chosen = parser.parse_args(arguments)
    if chosen.beside:
        return _beside(chosen.beside.resolve(), chosen.run)
    if chosen.checkout:
        sys.stdout.writelines(f"{one.line()}\n" for one in _results(_begun(chosen.checkout.resolve(), chosen.run)))
        return 0
    logging.disable(logging.CRITICAL)
    for name in chosen.run:
        sys.stdout.write(f"{digested(name).line()}\n")
        sys.stdout.flush()
    return 0


def digested(name: str) -> Digested:
    """Perform a run, or a storm, twice: once for its digest, and once for its time."""
    from tests.simulation.model.world import World  # noqa: PLC0415 -- of the checkout that performs the runs
    from tests.simulation.runs.explore import any_replay  # noqa: PLC0415

    notes: list[_Notes] = []
    with _wrapped(World, lambda world: notes.append(_Notes(world))):
        any_replay(name)
    gc.collect()
    gc.disable()
    began_s = time.process_time()
    run = any_replay(name)
    cpu_s = time.process_time() - began_s
    gc.enable()
    result = (run.ending.says, run.ending.why, list(map(str, run.violations)), run.actions, run.verdicts)
    calls = [str(call) for call in getattr(run, "calls", ())]
    text = json.dumps([[one.hexdigest() for one in notes], run.steps, run.passes, result, calls], sort_keys=True)
    digest = hashlib.sha256(text.encode()).hexdigest()[:16]
    return Digested(name=name, digest=digest, steps=run.steps, passes=run.passes, cpu_s=cpu_s)


class _Notes:
    """Takes down what happens in a world."""

    def __init__(self, world: Foreign) -> None:
        self._world, self._sum = world, hashlib.sha256()
        world.lookers.append(self._step)
        world.kube.watchers.append(self._written)

    def hexdigest(self) -> str:
        """The digest of everything until now."""
        return self._sum.hexdigest()

    def _note(self, value: object) -> None:
        self._sum.update(json.dumps(value, sort_keys=True).encode())

    def _step(self) -> None:
        self._note(_controllers(self._world))

    def _written(self, written: Foreign) -> None:
        after = None if written.after is None else marshal.loads(written.after)  # noqa: S302 -- our own bytes
        self._note([written.key, written.by_operator, written.at_s, after])


def _controllers(world: Foreign) -> list[object]:
    """What each controller has: its replica key, what it leads, its log, the voters in its memory, its levels."""
    found: list[object] = [world.steps]
    for one in world.kraft.processes:
        voters = sorted(map(str, one.voters))
        found.append([str(one.key), one.leads, one.high_watermark, one.disk.end, one.disk.last_epoch, voters])
        found.append(str(one.disk.image.levels))
    return found


@contextmanager
def _wrapped(cls: type, begun: Callable[[Foreign], None]) -> Iterator[None]:
    """Within this context every new object of the class is reported once it is complete."""
    original = cls.__dict__["__init__"]

    def begin(made: Foreign, *args: Foreign, **kwargs: Foreign) -> None:
        original(made, *args, **kwargs)
        begun(made)

    type.__setattr__(cls, "__init__", begin)
    try:
        yield
    finally:
        type.__setattr__(cls, "__init__", original)


# Two checkouts


def _begun(checkout: Path, runs: list[str]) -> subprocess.Popen[str]:
    """A process of this checkout that prints the digests of these runs."""
    environment = os.environ | {"PYTHONPATH": f"{checkout / 'operator'}{os.pathsep}{checkout}"}
    command = [sys.executable, str(_ITSELF), *runs]
    return subprocess.Popen(command, cwd=checkout, env=environment, stdout=subprocess.PIPE, text=True)


def _results(process: subprocess.Popen[str]) -> Iterator[Digested]:
    """What it prints; CalledProcessError if it fails."""
    assert process.stdout is not None
    with process:
        yield from map(read, process.stdout)
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, process.args)


def _beside(other: Path, runs: list[str]) -> int:
    """Compare each run in both checkouts, which perform it at about the same time; the progress is the result."""
    both = [_begun(one, runs) for one in (other, _ITSELF.parents[2])]
    same, before_s, after_s, steps = 0, 0.0, 0.0, 0
    for before, after in zip(*map(_results, both), strict=True):
        same += before.digest == after.digest
        before_s, after_s, steps = before_s + before.cpu_s, after_s + after.cpu_s, steps + after.steps
        said = "same" if before.digest == after.digest else f"DIFFERS: {before.line()} | {after.line()}"
        speeds = f"{before.steps / before.cpu_s:.0f} -> {after.steps / after.cpu_s:.0f} steps/s"
        sys.stdout.write(f"{before.name} {said}, {speeds}, {before.cpu_s / after.cpu_s:.2f} times as fast\n")
        sys.stdout.flush()
    total = f"{steps / before_s:.0f} -> {steps / after_s:.0f} steps/s, {before_s / after_s:.2f} times as fast"
    sys.stdout.write(f"{same} of {len(runs)} digests are the same, {total}\n")
    return 0 if same == len(runs) else 1


if __name__ == "__main__":
    if sys.path and Path(sys.path[0]).resolve() == _ITSELF.parent:
        del sys.path[0]  # run as a file: the modules beside it belong to another checkout
    sys.exit(main())
