"""Mutants of Streams applications: each guard, each gate, and each step whose order or precondition makes it durable.

`12-begin-change` has none: it only keeps the faults of before from looking like those of a change, and each stop has
its own guard. `tests/streams/test_guards_matter.py` takes guards out one by one in smaller cases.
"""

from typing import Final

from tests.simulation.mutations.mutant import streams_mutant as mutant

_SOME: Final = tuple(f"streams-rough/{seed}" for seed in (0, 2, 3, 4, 6, 7, 8, 9))
_RIVALS: Final = tuple(f"streams-rivals/{seed}" for seed in (1, 2, 3, 4))

_CANDIDATES: Final = (
    mutant(
        "stops-whatever-the-others-do",
        "12",
        _SOME,
        ("may_stop", "unless(..., ...)", "yes('mutant')"),
        ("may_stop", "others is not None", "False"),
    ),
    mutant(
        "stops-again-whatever-the-others-do",
        "12",
        ("streams-scene/one-started-again-while-another-returns",),
        ("_again", "said is None", "True"),
    ),
    mutant(
        "stops-again-while-the-group-rebalances",
        "12",
        ("streams-scene/one-started-again-while-another-returns",),
        ("_others", "if others or not slot.away:\n    ...", ""),
    ),
    mutant(
        "several-lost-instances-keep-a-change-from-beginning",
        "live",
        ("streams-scene/one-came-up-beside-a-bad-image",),
        ("_not_well", "if patching and len(ill) > 1:\n    ...", "patching = patching and len(ill) == 1"),
    ),
    mutant(
        "a-lost-instance-waits-for-other-lost-ones",
        "live",
        ("streams-scene/one-came-up-beside-a-bad-image",),
        ("may_stop", "change.same_release and idle(..., ...)", "False"),
    ),
    mutant(
        "pods-that-ended-contradict-no-record",
        "12",
        ("streams-scene/every-pod-ends-beside-an-older-record",),
        (
            "contradicted",
            "pods, slots = situation.observed.pods, situation.record.slots",
            "pods, slots = [pod for pod in situation.observed.pods if not pod.finished], situation.record.slots",
        ),
    ),
    mutant(
        "goes-offline-unapproved-from-no-instances",
        "12",
        ("streams-scene/an-offline-way-from-no-instances",),
        ("_unapproved", "desired.offline_to == str(release)", "True"),
    ),
    mutant(
        "strays-keep-others-from-being-stopped",
        "live",
        ("streams-scene/two-came-up-beside-a-bad-image",),
        ("against_stop", "serves_from_another(situation, other)", "False"),
    ),
    mutant(
        "turns-round-beside-instances-at-work",
        "12",
        ("streams-scene/back-while-all-work-again",),
        ("may_turn_round", "change.stage is Stage.STARTING and ... and ...", "False"),
        ("may_keep_stopping", "not change.stops_all and takes_part(..., ...)", "False"),
        ("_called_off", "change.stops_all or back is None", "True"),
    ),
    mutant(
        "stops-all-that-take-part-again",
        "12",
        ("streams-scene/up-again-before-all-stop",),
        ("may_keep_stopping", "not change.stops_all and takes_part(..., ...)", "False"),
        ("_called_off", "change.stops_all or back is None", "True"),
    ),
    mutant(
        "lost-ones-of-all-that-start-keep-their-image",
        "live",
        ("streams-scene/one-works-of-all-that-start-together",),
        ("_corrected", "may_start_over(situation, slot)", "may_start_over(situation)"),
    ),
    mutant(
        "a-refused-pod-keeps-everything-from-going-on",
        "live",
        ("streams-scene/a-pod-is-refused-in-a-change",),
        ("_ordered", "_refused(..., ...)", "False"),
    ),
    mutant(
        "replaces-pods-that-may-be-in-the-group",
        "12",
        ("streams-scene/up-again-while-no-broker-answers",),
        ("idle", "situation.group is not None and ...", "..."),
    ),
    mutant(
        "what-a-change-has-not-reached-stops-it",
        "live",
        ("streams-scene/a-corrected-image-for-what-processes-nothing",),
        ("Situation.stuck", "read - self._unreached", "read"),
    ),
    mutant("a-bounce-ends-before-its-last-instance", "12", _SOME, ("may_step", "said is not None", "False")),
    mutant("a-bounce-ends-with-another-revision", "12", _SOME, ("may_step", "slot.revision not in revisions", "False")),
    mutant("versions-need-not-agree", "12", _SOME, ("may_step", "unless(..., ...)", "yes('mutant')")),
    mutant(
        "stops-all-without-consent",
        "12",
        ("streams-scene/an-offline-way", *_SOME),
        ("may_stop_all", "situation.desired.offline_to != str(runtime.release)", "False"),
    ),
    mutant("starts-beside-pods", "12", _SOME, ("may_start_together", "if situation.observed.pods:\n    ...", "")),
    mutant("starts-beside-members", "12", _SOME, ("may_start_together", "not group.empty", "False")),
    mutant("removes-whatever-the-others-do", "12", _SOME, ("may_remove", "unless(..., ...)", "yes('mutant')")),
    mutant("removes-two-at-once", "12", _SOME, ("leaving", "pod.index not in known and pod.deleting", "False")),
    mutant("starts-over-beside-members", "12", _SOME, ("may_start_over", "not group.empty", "False")),
    mutant("goes-anywhere-from-an-open-change", "12", _SOME, ("may_turn_round", "(...) != (...)", "False")),
    mutant("drops-state-too-early", "12", _SOME, ("may_drop", "said is None", "True")),
    mutant("strays-stop-whatever-the-others-do", "12", _SOME, ("_astray", "said is None", "True")),
    mutant("held-pods-stop", "12", _SOME, ("against_stop", "pod is not None and pod.held", "False")),
    # gates
    mutant("members-of-before-are-enough", "12", _SOME, ("works", "if left:\n    ...", "")),
    mutant("a-pod-without-members-works", "12", _SOME, ("works", "there == 0", "False")),
    mutant("an-unready-pod-works", "12", _SOME, ("works", "not pod.serves", "False"), ("works", "there == 0", "False")),
    mutant("a-lost-thread-is-no-loss", "12", _SOME, ("works", "threads and there != threads", "False")),
    mutant("any-state-is-settled", "12", _SOME, ("group_settled", "group.state is not GroupState.STABLE", "False")),
    mutant("strangers-are-welcome", "12", _SOME, ("group_settled", "if strange:\n    ...", "")),
    mutant("stable-for-a-moment", "12", _SOME, ("group_settled", "situation.stable_for_s() < stable_s", "False")),
    # local state
    mutant("state-of-any-release", "12", _SOME, ("wiped", "step.wipe and ...", "False")),
    mutant(
        "state-of-any-release-on-the-way-back", "12", _SOME, ("turned", "wipe = unreadable(..., ...)", "wipe = False")
    ),
    mutant("state-goes-on-every-way-back", "12", _SOME, ("turned", "wipe = unreadable(..., ...)", "wipe = True")),
    mutant("state-of-before-the-record", "12", _SOME, ("minted", "max(..., default=0) + 1", "1")),
    mutant("state-of-instances-that-left", "12", _SOME, ("_more", "max(..., default=0) + 1", "1")),
    # what a person says
    mutant(
        "begins-without-approval",
        "12",
        _SOME,
        (
            "_other_release",
            "situation.desired.approve is Approve.MANUAL and situation.desired.approved != ...",
            "False",
        ),
    ),
    mutant("pauses-nothing", "12", _SOME, ("plan", "_paused() if desired.paused else ...", "...")),
    # the order of acts, and what makes them safe to lose
    mutant(
        "forgets-whom-it-stopped",
        "12",
        _SOME,
        (
            "_stop",
            "with_slots(situation.record, stopped)",
            "with_slots(situation.record, replace(stopped, away=False))",
        ),
    ),
    mutant("makes-pods-before-claims", "live", _SOME, ("_created", "situation.observed.claim(slot) is None", "False")),
    mutant(
        "changes-before-upkeep", "12", _SOME, ("_ordered", "upkeep.exclusive is not None or upkeep.actions", "False")
    ),
    mutant(
        "writes-over-a-newer-record",
        "12",
        _RIVALS,
        ("record_object", "if record.resource_version:\n    ...", ""),
        ("Executor._dispatch", "kube.replace if record.resource_version else kube.create", "kube.apply"),
    ),
    mutant("acts-on-an-old-look", "12", _SOME, ("Executor._one", "self._fresh(action.judged_at_s)", "pass")),
    mutant("stable-with-other-members", "12", _SOME, ("remembered", "members == before.members", "True")),
    mutant(
        "an-application-acts-without-the-lease",
        "lease",
        _SOME,
        ("Executor._one", "not self._may_act()", "False"),
        ("ApplicationReconciler.run_pass", "not self._may_act()", "False"),
        ("_Leased.__getattr__.checked", "not self._may_act()", "False"),
        ("StatusWriter._patch", "not self._may_act()", "False"),
    ),
)
_NOTICED: Final = {
    "stops-again-whatever-the-others-do",
    "stops-again-while-the-group-rebalances",
    "several-lost-instances-keep-a-change-from-beginning",
    "a-lost-instance-waits-for-other-lost-ones",
    "pods-that-ended-contradict-no-record",
    "goes-offline-unapproved-from-no-instances",
    "strays-keep-others-from-being-stopped",
    "turns-round-beside-instances-at-work",
    "stops-all-that-take-part-again",
    "stops-all-without-consent",
    "lost-ones-of-all-that-start-keep-their-image",
    "a-refused-pod-keeps-everything-from-going-on",
    "replaces-pods-that-may-be-in-the-group",
    "what-a-change-has-not-reached-stops-it",
}
STREAMS_MUTANTS: Final = tuple(one for one in _CANDIDATES if one.name in _NOTICED)
"""Those that the storms named here notice."""
STREAMS_UNNOTICED: Final = tuple(one for one in _CANDIDATES if one.name not in _NOTICED)
"""Those for which no storm is named yet that notices them: no part of `make mutants`."""
