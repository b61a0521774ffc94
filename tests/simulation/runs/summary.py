"""What a soak has covered, as values and as a table: scenarios, faults, storms, steps, states, guards, rules.

What was not covered is part of it: scenarios whose single faults are not all done, guards that never refused or never
permitted.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from tests.simulation.rules.book import RULES
from tests.simulation.runs.tally import Tally

from kafka_brokers.plan.guards.registry import GUARDS as OF_POOLS
from kafka_quorum.plan.guards.registry import GUARDS as OF_QUORUMS
from kafka_streams.plan.guards.registry import GUARDS as OF_APPLICATIONS

Summary: TypeAlias = dict[str, Any]
"""JSON: the names below `summary` are its fields."""

_SHOWN: Final = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class Covered:
    """How much of everything is done: scenarios without a fault, single faults by scenario, storms by kind."""

    scenarios: int
    of_scenarios: int
    faults: dict[str, int]
    of_faults: dict[str, int]
    storms: dict[str, int]

    def line(self, tally: Tally) -> str:
        """The progress in one line."""
        faults = f"{sum(self.faults.values())} of {sum(self.of_faults.values())} single faults"
        storms = f"{sum(self.storms.values())} storms, {tally.performed} steps, {len(tally.failures)} failures"
        return f"{self.scenarios} of {self.of_scenarios} scenarios, {faults}, {storms}"


def guards() -> tuple[str, ...]:
    """Every guard of the operator, by its id."""
    return tuple(sorted({*OF_QUORUMS, *OF_POOLS, *OF_APPLICATIONS}))


def summary(tally: Tally, states: int, covered: Covered, wall_s: float, cpu_s: float) -> Summary:
    """Everything that a soak has covered, and what it has not. Times in seconds; `cpu_s` is that of all processes."""
    verdicts = {
        name: {"permits": tally.verdicts[f"{name} yes"], "refusals": tally.verdicts[f"{name} no"]} for name in guards()
    }
    partly = {name: [done, covered.of_faults[name]] for name, done in covered.faults.items()}
    return {
        "scenarios": [covered.scenarios, covered.of_scenarios],
        "single_faults": [sum(covered.faults.values()), sum(covered.of_faults.values())],
        "scenarios_with_faults": [sum(done == every for done, every in partly.values()), len(partly)],
        "faults_left": {name: row for name, row in sorted(partly.items()) if row[0] < row[1]},
        "storms": covered.storms,
        "runs": tally.runs + tally.storms,
        "steps": tally.performed,
        "steps_with_shared_ones": tally.steps,
        "passes": tally.passes,
        "states": states,
        "wall_s": round(wall_s),
        "cpu_s": round(cpu_s),
        "steps_per_cpu_second": round(tally.performed / cpu_s) if cpu_s else 0,
        "faults_by_kind": dict(sorted(tally.faults.items())),
        "endings": dict(sorted(tally.endings.items())),
        "actions": dict(sorted(tally.actions.items())),
        "guards": verdicts,
        "never_refused": [name for name, row in verdicts.items() if not row["refusals"]],
        "never_permitted": [name for name, row in verdicts.items() if not row["permits"]],
        "rules": RULES,
        "excused": dict(sorted(tally.tolerated.items())),
        "failures": tally.failures,
    }


def markdown(told: Summary) -> str:
    """The summary as a table, and the guards as a second one."""
    faults: Counter[str] = Counter(told["faults_by_kind"])
    storms: Counter[str] = Counter(told["storms"])
    rows = (
        ("scenarios without a fault", _of(told["scenarios"])),
        ("single faults", _of(told["single_faults"])),
        ("scenarios with all of their single faults", _of(told["scenarios_with_faults"])),
        ("storms", f"{storms.total():,}: {_named(storms)}"),
        ("runs", f"{told['runs']:,}"),
        ("steps carried out", f"{told['steps']:,} ({told['steps_with_shared_ones']:,} with those that runs share)"),
        ("passes of an operator", f"{told['passes']:,}"),
        ("different states (estimate)", f"{told['states']:,}"),
        ("time", f"{told['wall_s']:,} s, {told['cpu_s']:,} s of processors"),
        ("steps in a second of one processor", f"{told['steps_per_cpu_second']:,}"),
        ("faults", f"{faults.total():,}: {_named(faults)}"),
        ("endings", _named(Counter(told["endings"]))),
        ("rules checked after each step and each pass", f"{len(told['rules'])}"),
        ("guards that never refused", _list(told["never_refused"])),
        ("guards that never permitted", _list(told["never_permitted"])),
        ("broken rules that were excused, because a request came late", _named(Counter(told["excused"])) or "none"),
        ("failures", f"{len(told['failures'])}"),
    )
    verdicts = [(name, f"{row['permits']:,}", f"{row['refusals']:,}") for name, row in told["guards"].items()]
    return "\n".join(
        (
            *_table(("what", "how much"), rows),
            "",
            *_table(("guard", "permits", "refusals"), verdicts),
            *(f"\n    {text}" for text in told["failures"][:_SHOWN]),
            "",
        )
    )


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> list[str]:
    return [_row(head), _row(("---",) * len(head)), *map(_row, rows)]


def _row(cells: tuple[str, ...]) -> str:
    return f"| {' | '.join(cells)} |"


def _of(pair: list[int]) -> str:
    return f"{pair[0]:,} of {pair[1]:,}"


def _named(counts: Counter[str]) -> str:
    return ", ".join(f"{name} {count:,}" for name, count in counts.most_common())


def _list(names: list[str]) -> str:
    return ", ".join(names) or "none"
