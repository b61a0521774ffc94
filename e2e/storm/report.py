"""The output of a storm, and the evidence that it keeps of a failure."""

import json
import statistics
import sys
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from demo import NAMESPACE, RELEASE
from harness.quorum import Quorum
from harness.shell import run
from harness.writer import Account
from storm.checker import Checker, Failure, kind_of
from storm.rounds import Round

_LOG_LINES: Final = 400


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """A round: which blows struck, which had no victim, and how long after the last one the quorum was ready again."""

    number: int
    struck: tuple[str, ...]
    missed: int
    ready_s: float | None


@dataclass(slots=True)
class Report:
    """Progress, counts, and the directory with the evidence."""

    seed: int
    where: Path
    began_s: float = field(default_factory=time.monotonic)
    rounds: list[Ended] = field(default_factory=list)
    blows: Counter[str] = field(default_factory=Counter)
    _kept: int = 0

    def say(self, text: str) -> None:
        """One line with the time since the start, on the terminal and in the storm's log."""
        passed_s = int(time.monotonic() - self.began_s)
        line = f"[{passed_s // 60:3d}:{passed_s % 60:02d}] {text}"
        print(line, flush=True)
        with (self.where / "storm.log").open("a") as file:
            file.write(f"{time.strftime('%H:%M:%S', time.gmtime())} {line}\n")

    def begins(self, drawn: Round) -> None:
        """Announce a round."""
        self.say(f"round {drawn.number} (seed {self.seed}): {'; '.join(map(str, drawn.blows))}")

    def ends(self, ended: Ended, account: Account) -> None:
        """Print how a round ended."""
        self.rounds.append(ended)
        ready = "NOT READY" if ended.ready_s is None else f"ready after {ended.ready_s:.1f} s"
        self.say(f"round {ended.number}: {ready}; {len(account.acknowledged)} writes acknowledged")

    # --- evidence -----------------------------------------------------------------------------------------------------

    def keep(self, quorum: Quorum, failure: Failure) -> None:
        """Write down all evidence from the cluster, once for each failure."""
        self._kept += 1
        directory = self.where / f"failure-{self._kept}"
        directory.mkdir()
        (directory / "failure.txt").write_text(f"{failure}\n")
        if failure.seen is not None:
            (directory / "seen.json").write_text(json.dumps(failure.seen, indent=1))
        (directory / "quorum.txt").write_text(quorum.report())
        looks: dict[str, Sequence[str]] = {
            "objects.yaml": ("-n", quorum.namespace, "get", "kq,pods,pvc,svc,pdb,cm,controllerrevisions", "-o", "yaml"),
            "nodes.txt": ("get", "nodes,pv", "-o", "wide"),
            "operator.txt": ("-n", NAMESPACE, "get", "pods,leases,events", "-o", "wide"),
            "operator.log": ("-n", NAMESPACE, "logs", f"deployment/{RELEASE}", f"--tail={_LOG_LINES}"),
            "describe.txt": ("-n", quorum.namespace, "describe", "kq,pods,pvc"),
        }
        for name, look in looks.items():
            _, output, errors = run("kubectl", *look)
            (directory / name).write_text(f"{output}{errors}")
        self.say(f"FAILED: {failure}; kept in {directory}")

    # --- the end ------------------------------------------------------------------------------------------------------

    def end(self, checker: Checker, account: Account) -> int:
        """Print the counts; 1 if any rule was broken."""
        minutes = (time.monotonic() - self.began_s) / 60
        ready = sorted(row.ready_s for row in self.rounds if row.ready_s is not None)
        late = len(self.rounds) - len(ready)
        lines = [
            f"seed {self.seed}, {minutes:.0f} minutes, {len(self.rounds)} rounds, {self.blows.total()} blows",
            "  " + ", ".join(f"{name} {count}" for name, count in sorted(self.blows.items())),
            f"  ready after a round: {_spread(ready)}; {late} rounds not ready",
            f"  {account}",
            f"  {len(checker.leaders)} epochs with a leader, {checker.answers} answers, {checker.statuses} statuses",
        ]
        for failure in checker.failures:
            times = checker.repeated[kind_of(failure.rule, failure.text)]
            lines.append(f"  FAILED {f'({times} times) ' if times > 1 else ''}{failure}")
        lines.append(f"  what was seen: {self.where}")
        lines.append("the storm FAILED" if checker.failures else "the storm passed")
        for line in lines:
            self.say(line)
        sys.stdout.flush()
        return 1 if checker.failures else 0


def _spread(seconds: Sequence[float]) -> str:
    """A distribution in one line."""
    if not seconds:
        return "never"
    ninth = seconds[min(len(seconds) - 1, int(len(seconds) * 0.9))]
    middle = statistics.median(seconds)
    return f"median {middle:.1f} s, p90 {ninth:.1f} s, longest {seconds[-1]:.1f} s of {len(seconds)}"
