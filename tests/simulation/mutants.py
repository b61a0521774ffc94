"""Mutants: deliberate faults of the operator's source, and a share of the simulation must notice each one.

A mutant is a copy of the source tree with some functions changed, which are found by name and syntax tree. It is killed
by a broken rule or by a quorum that does not get where it should; an exception in the operator kills nothing. The
unchanged source passes every run that killed a mutant, or nothing was shown.
`python -m tests.simulation.mutants` tries all of them and ends with `killed N of N`; names of mutants try only those.
"""

import argparse
import logging
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Final

from tests.simulation.mutations.broker_trust import BROKER_TRUST_MUTANTS
from tests.simulation.mutations.certificates import CERTIFICATE_MUTANTS
from tests.simulation.mutations.claims import CLAIM_MUTANTS
from tests.simulation.mutations.edits import MisfitError, edited
from tests.simulation.mutations.evidence import EVIDENCE_MUTANTS
from tests.simulation.mutations.later import LATER_MUTANTS
from tests.simulation.mutations.leases import LEASE_MUTANTS
from tests.simulation.mutations.listeners import LISTENER_MUTANTS
from tests.simulation.mutations.looks import LOOK_MUTANTS
from tests.simulation.mutations.migrations import MIGRATION_MUTANTS
from tests.simulation.mutations.mutant import Mutant
from tests.simulation.mutations.pools import POOL_MUTANTS
from tests.simulation.mutations.recovery import RECOVERY_MUTANTS
from tests.simulation.mutations.safety import MUTANTS
from tests.simulation.mutations.statuses import STATUS_MUTANTS
from tests.simulation.mutations.streams import STREAMS_MUTANTS
from tests.simulation.mutations.times import TIME_MUTANTS
from tests.simulation.mutations.tokens import TOKEN_MUTANTS
from tests.simulation.mutations.users import USER_MUTANTS
from tests.simulation.mutations.words import WORD_MUTANTS
from tests.simulation.mutations.zookeeper import ZOOKEEPER_MUTANTS
from tests.simulation.runs.driver import Run
from tests.simulation.runs.explore import any_replay, runs_of
from tests.simulation.runs.weather import Weathered

ALL: Final = (
    *MUTANTS,
    *TIME_MUTANTS,
    *LOOK_MUTANTS,
    *LEASE_MUTANTS,
    *STATUS_MUTANTS,
    *CLAIM_MUTANTS,
    *LATER_MUTANTS,
    *TOKEN_MUTANTS,
    *MIGRATION_MUTANTS,
    *EVIDENCE_MUTANTS,
    *POOL_MUTANTS,
    *ZOOKEEPER_MUTANTS,
    *STREAMS_MUTANTS,
    *CERTIFICATE_MUTANTS,
    *USER_MUTANTS,
    *LISTENER_MUTANTS,
    *BROKER_TRUST_MUTANTS,
    *WORD_MUTANTS,
    *RECOVERY_MUTANTS,
)
ROOT: Final = Path(__file__).resolve().parents[2]
_LIMIT_S: Final = 1800
_AT_ONCE: Final = 4
"""The number of runs that one process tries with the unchanged source."""
_CRASHED: Final = "no fault of the operator"


@dataclass(frozen=True, slots=True, kw_only=True)
class Fate:
    """The result of a mutant: the run that killed it and how, or why none did."""

    name: str
    killed: bool
    how: str
    run: str = ""
    """The run that killed it, as `any_replay` takes it; empty if none did."""


def main() -> int:
    """Tries mutants; returns 1 if one of them survives, or if the unchanged source fails."""
    parser = argparse.ArgumentParser(prog="python -m tests.simulation.mutants", description=__doc__)
    parser.add_argument("mutant", nargs="*", help="all of them by default")
    parser.add_argument("--judge", nargs="+", metavar="SHARE", help="run these shares here, and print what kills")
    arguments = parser.parse_args()
    if arguments.judge:
        return _judge(arguments.judge)
    chosen = [one for one in ALL if not arguments.mutant or one.name in arguments.mutant]
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        fates: list[Fate] = []
        for fate in pool.map(_try, chosen):
            fates.append(fate)
            sys.stdout.write(f"{'killed' if fate.killed else 'LIVES'} {fate.name}: {fate.how}\n")
            sys.stdout.flush()
        if faults := _unsound(fates, pool):
            sys.stdout.write("".join(f"the unchanged source fails: {fault}\n" for fault in faults))
            return 1
    killed = sum(fate.killed for fate in fates)
    sys.stdout.write(f"killed {killed} of {len(fates)}\n")
    return 0 if killed == len(fates) else 1


def texts_of(share: str) -> Iterator[str]:
    """The runs of a share: a scenario `NAME` with no fault, `NAME~WORD` with every fault of that word, `storm/SEED`."""
    name, found, word = share.partition("~")
    if "/" in share or not found:
        yield share
    else:
        yield from (text for text in runs_of([name]) if f":{word}" in text)


@cache
def sources() -> dict[str, str]:
    """The operator's source, by path below `operator/`."""
    operator = ROOT / "operator"
    return {str(path.relative_to(operator)): path.read_text() for path in sorted(operator.rglob("*.py"))}


def _judge(shares: list[str]) -> int:
    """Run shares until one of their runs kills; returns which run, and how."""
    logging.disable(logging.CRITICAL)
    crashed = ""
    for share in shares:
        for text in texts_of(share):
            try:
                run = any_replay(text)
            except Exception as error:  # noqa: BLE001 - a mutant may do anything, and that kills nothing
                crashed = crashed or f"{text} ended in {error!r}"
                continue
            how = _how(run)
            if how:
                sys.stdout.write(f"KILLED {text}: {how}\n")
                return 0
            crashed = crashed or next((str(one) for one in run.violations), "")
    sys.stdout.write(f"LIVES {crashed and f'an exception only, {crashed}'}\n")
    return 0


def _how(run: Run | Weathered) -> str:
    """The violation, or the liveness failure, of a run; empty if there is none, or only an exception."""
    if run.violations:
        return next((str(one) for one in run.violations if one.rule != _CRASHED), "")
    return "" if run.ending.honest else f"liveness: {run.ending.why}"


def _unsound(fates: list[Fate], pool: Executor) -> list[str]:
    """The runs that killed and also fail with the unchanged source; the progress goes to standard error."""
    runs = list(dict.fromkeys(fate.run for fate in fates if fate.run))
    parts = [runs[start : start + _AT_ONCE] for start in range(0, len(runs), _AT_ONCE)]
    with tempfile.TemporaryDirectory() as directory:
        tree, answers = _tree(Path(directory)), []
        for said in pool.map(partial(_said, tree), parts):
            answers.append(said)
            sys.stderr.write(f"{len(answers)} of {len(parts)} parts of the unchanged source: {said[:200]}\n")
    return [said for said in answers if said != "LIVES"]


def _try(mutant: Mutant) -> Fate:
    with tempfile.TemporaryDirectory() as directory:
        tree = _tree(Path(directory))
        try:
            changed = edited(sources(), mutant.edits)
        except MisfitError as error:
            return Fate(name=mutant.name, killed=False, how=str(error))
        for path, text in changed.items():
            (tree / "operator" / path).write_text(text)
        said = _said(tree, list(mutant.shares))
    killed = said.startswith("KILLED ")
    how = said.removeprefix("KILLED ")
    run = how.partition(": ")[0] if killed else ""
    return Fate(name=f"{mutant.name} (rule {mutant.rule})", killed=killed, how=how[:300], run=run)


def _tree(directory: Path) -> Path:
    """A copy of the operator's and the simulation's source."""
    for part in ("operator", "tests/simulation", "tests/status"):
        shutil.copytree(ROOT / part, directory / part, ignore=shutil.ignore_patterns("__pycache__"))
    return directory


def _said(tree: Path, shares: list[str]) -> str:
    command = [sys.executable, "-m", "tests.simulation.mutants", "--judge", *shares]
    environment = os.environ | {"PYTHONPATH": f"{tree / 'operator'}{os.pathsep}{tree}"}
    try:
        done = subprocess.run(  # its failure is also an answer
            command, cwd=tree, env=environment, capture_output=True, text=True, timeout=_LIMIT_S, check=False
        )
    except subprocess.TimeoutExpired:
        return f"nothing was said within {_LIMIT_S} s"
    last = done.stdout.strip().splitlines()[-1:] or done.stderr.strip().splitlines()[-1:]
    return (last[0] if last else "nothing was said").strip()


if __name__ == "__main__":
    sys.exit(main())
