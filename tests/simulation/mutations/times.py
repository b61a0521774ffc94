"""Mutants about time and about the meaning of a look; `safety` has the others."""

from typing import Final

from tests.simulation.mutations.mutant import mutant

TIME_MUTANTS: Final = (
    mutant(
        "the-lowest-log-end-for-committed",
        "4",
        ("scale-3-to-5~appended",),
        ("_voter_set_look", "max", "min"),
    ),
    mutant(
        "observers-carry-the-quorum",
        "2",
        ("lost-node-beside-observers",),
        ("may_retire_node", "others.carries", "len(others.caught_up) >= others.majority"),
    ),
    mutant(
        "stops-on-an-old-look",
        "5",
        ("stopped-on-an-old-look",),
        ("Executor._dispatch", "self._check_age(action)", ""),
        ("Executor._stop", "self._check_age(action)", ""),
        ("Reconciler._pass", "self._clock.monotonic() - observed.looked_at_s > _ANSWERED_WITHIN_S", "False"),
    ),
    mutant(
        "evicts-on-an-old-look",
        "5",
        ("evicted-on-an-old-look",),
        ("Executor._stop", "self._check_age(action)", ""),
    ),
    mutant(
        "gives-a-step-up-that-may-come",
        "7",
        ("older-image-before-a-step-comes-late",),
        ("_given_up", "observed.looked_at_s < (observed.memory.step_until_s or 0.0)", "False"),
    ),
    mutant(
        "applies-over-any-version",
        "3",
        ("budget-applied-late",),
        ("apply_over", "{'resourceVersion': present['metadata']['resourceVersion']}", "{}"),
    ),
    mutant(
        "any-controller-reports-a-step-done",
        "7",
        ("leader-reports-late",),
        (
            "Observed.finalized",
            "led = self._leader_versions\nreturn () if led is None or led.finalized_epoch < 0 else led.finalized",
            (
                "answers = [answer.value for _, answer in self.versions if isinstance(answer, Known)]\n"
                "best = max(answers, key=lambda answer: answer.finalized_epoch, default=None)\n"
                "return () if best is None or best.finalized_epoch < 0 else best.finalized"
            ),
        ),
    ),
)
