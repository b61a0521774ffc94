"""Mutants about time and about what a look is taken for; `mutations` has the others."""

# ruff: noqa: E501 - the words of the source are not wrapped
from typing import Final

from tests.simulation.mutations import Edit, Mutant


def _mutant(name: str, rule: str, shares: tuple[str, ...], *edits: tuple[str, str, str]) -> Mutant:
    made = tuple(Edit(file=file, old=old, new=new) for file, old, new in edits)
    return Mutant(name=name, rule=rule, edits=made, shares=shares)


TIME_MUTANTS: Final = (
    _mutant(
        "the-lowest-log-end-for-committed",
        "4",
        ("scale-3-to-5~appended",),
        (
            "observe/quorum.py",
            "log_end = max((row.log_end_offset for row in answer.voters), default=0)",
            "log_end = min((row.log_end_offset for row in answer.voters), default=0)",
        ),
    ),
    _mutant(
        "observers-carry-the-quorum",
        "2",
        ("lost-node-beside-observers",),
        (
            "plan/safety.py",
            "healthy, majority = len((view.voters & view.caught_up) - {node.key}), len(view.voters) // 2 + 1",
            "healthy, majority = len(view.caught_up - {node.key}), len(view.voters) // 2 + 1",
        ),
    ),
    _mutant(
        "stops-on-an-old-look",
        "5",
        ("stopped-on-an-old-look",),
        ("act/execute.py", "        self._check_age(action)\n        match action:", "        match action:"),
    ),
    _mutant(
        "any-controller-reports-a-step-done",
        "7",
        ("leader-reports-late",),
        (
            "model/observed.py",
            "        led = self._leader_versions\n        return () if led is None or led.finalized_epoch < 0 else led.finalized",
            (
                "        answers = [answer.value for _, answer in self.versions if isinstance(answer, Known)]\n"
                "        best = max(answers, key=lambda answer: answer.finalized_epoch, default=None)\n"
                "        return () if best is None or best.finalized_epoch < 0 else best.finalized"
            ),
        ),
    ),
)
