"""What a person reads, word by word: the sentences of waits, actions and guards that no other test spells out."""

from dataclasses import replace

import pytest
from tests.model.values import (
    IDS,
    NOW_S,
    SILENT,
    at_rest,
    bound,
    desired,
    directory,
    empty_report,
    formatter,
    key,
    node,
    nothing,
    report,
    revision,
    running,
    runtime,
    speaking,
    started,
    still_blank,
    storage,
    support,
    view,
    with_pod,
    with_the_claim,
    without_claim,
    without_pod,
)
from tests.plan.reading import every, only, planned, verdict, wait

from kafka_quorum.model.actions import DeletePod, MarkPod, WriteRecord
from kafka_quorum.model.desired import BootstrapMode, ControllerListener, Desired, FeatureLevel
from kafka_quorum.model.identity import BootstrapPhase, with_disk_lost, with_report
from kafka_quorum.model.known import Known
from kafka_quorum.model.memory import Memory
from kafka_quorum.model.observed import Observed
from kafka_quorum.model.plan import Severity
from kafka_quorum.model.pods import DiskFound, Terminated, Waiting
from kafka_quorum.plan.guards.rule3_voters import may_remove_leader
from kafka_quorum.plan.guards.rule4_changes import may_change_voters

FAILED = Terminated(exit_code=1, reason="Error", message="", finished_at="")
STARTS = Waiting(reason="ContainerCreating", message="", last_exit=None)
VOTERS = (key(3000), key(3001), key(3002))
PLAIN = desired()
ALONE = desired(bootstrap=BootstrapMode.STANDALONE)


def refused(found: DiskFound) -> Observed:
    """Controller 3001 found another's files on its disk."""
    said = report(running(), node(running(), 3001), found=found, accepted=False, message="found controller 7")
    return with_pod(at_rest(), 3001, container=FAILED, report=said, gate="False")


def formatters(**changes: object) -> Observed:
    """Before the barrier: these formatters are there."""
    return at_rest(bound(), pods=tuple(formatter(bound(), of, **changes) for of in bound().nodes[:1]))


WAITS: dict[str, tuple[Observed, Desired, str, Severity, str]] = {
    "paused": (
        at_rest(),
        desired(paused=True),
        "Paused",
        Severity.HELD,
        "spec.paused is true: nothing is created, changed or repaired until it is false",
    ),
    "uncommitted": (
        at_rest(quorum=Known(value=view(VOTERS, committed=False)), support=support(running(), 3)),
        PLAIN,
        "VoterSetUncommitted",
        Severity.PROGRESS,
        "waits until the present voter set is committed",
    ),
    "no leader": (
        at_rest(started(), quorum=SILENT),
        PLAIN,
        "NoLeader",
        Severity.PROGRESS,
        "waits for a leader: no controller runs yet",
    ),
    "lower level of a running quorum": (
        speaking(),
        desired(features=(FeatureLevel(name="metadata.version", level=27),)),
        "DowngradeRefused",
        Severity.HELD,
        (
            "metadata.version is not lowered to 4.1-IV1 (27): set spec.kafka.features.downgrade to Safe if it is "
            "meant, or correct the level"
        ),
    ),
    "listener of a running quorum": (
        at_rest(),
        desired(runtime=runtime(listener=ControllerListener(name="CONTROLLER", port=9094))),
        "NotSupportedYet",
        Severity.HELD,
        "not supported by this version, nothing is touched: spec.controllers.listeners of running controllers",
    ),
    "others than the voters of a static quorum": (
        at_rest(replace(running(), static=True)),
        desired(replicas=5),
        "StaticQuorum",
        Severity.HELD,
        "the voters of a static quorum do not change: name kraft.version 1 in spec.kafka.features.levels first",
    ),
    "foreign files": (
        refused(DiskFound.FORMATTED),
        PLAIN,
        "ForeignDisk",
        Severity.DEGRADED,
        "pod alpha-3001-g1 refuses to start on a disk that is not its own: found controller 7",
    ),
    "partial files": (
        refused(DiskFound.PARTIAL),
        PLAIN,
        "ForeignDisk",
        Severity.DEGRADED,
        "pod alpha-3001-g1 refuses to start on a disk that is not its own: files without meta.properties",
    ),
    "claim deleting": (
        with_the_claim(at_rest(), 3001, deleting=True),
        PLAIN,
        "ClaimDeleting",
        Severity.DEGRADED,
        (
            "claim alpha-3001-g1 is being deleted: the disk of controller 3001 is gone once pod alpha-3001-g1 stops. "
            "Delete that pod to have the disk replaced; a roll does so, too"
        ),
    ),
    "crashed": (
        with_pod(at_rest(), 3001, container=FAILED, report=None, gate="False"),
        PLAIN,
        "Starting",
        Severity.PROGRESS,
        "Kafka in pod alpha-3001-g1 ended (Error, exit code 1); the kubelet starts it again",
    ),
    "stuck without a word": (
        with_pod(
            at_rest(), 3001, container=replace(STARTS, reason="CrashLoopBackOff", message=""), report=None, gate="False"
        ),
        PLAIN,
        "PodStuck",
        Severity.DEGRADED,
        "pod alpha-3001-g1 does not start (CrashLoopBackOff). Correct the spec, and it is made anew",
    ),
    "starting": (
        with_pod(at_rest(), 3001, container=STARTS, gate="False"),
        PLAIN,
        "Starting",
        Severity.PROGRESS,
        "pod alpha-3001-g1 starts (ContainerCreating)",
    ),
    "held by its formatter": (
        at_rest(pods=(*at_rest().pods[1:], formatter(running(), node(running(), 3000), deleting=True))),
        PLAIN,
        "Starting",
        Severity.PROGRESS,
        f"formatter {formatter(running(), node(running(), 3000)).name} still holds the disk of controller 3000",
    ),
    "newcomers wait for a leader": (
        at_rest(started(replicas=2, mode=BootstrapMode.STANDALONE)),
        replace(ALONE, replicas=2),
        "Formatting",
        Severity.PROGRESS,
        "controller 3001 is formatted once the quorum has a leader: no controller runs yet",
    ),
    "lost disk": (
        without_pod(at_rest(with_disk_lost(running(), IDS[1], new_claim=False), quorum=SILENT), 3001),
        PLAIN,
        "LostDisk",
        Severity.DEGRADED,
        (
            "controller 3001 lost its disk: controller 3001 is formatted once the quorum has a leader: "
            "no controller runs yet"
        ),
    ),
    "refused formatter": (
        formatters(
            container=FAILED,
            finished=True,
            report=replace(empty_report(), found=DiskFound.PARTIAL, message="files"),
        ),
        PLAIN,
        "ForeignDisk",
        Severity.DEGRADED,
        (
            f"formatter {formatter(bound(), node(bound(), 3000)).name} refused the disk of controller 3000: files. "
            "Restore the right volume, or empty this one"
        ),
    ),
    "failed formatter": (
        formatters(container=FAILED, finished=True, report=empty_report(), finished_at_s=NOW_S - 1),
        PLAIN,
        "FormatFailed",
        Severity.DEGRADED,
        (
            f"formatter {formatter(bound(), node(bound(), 3000)).name} failed, and is tried again in 20 s: "
            "found the disk empty"
        ),
    ),
    "foreign voter": (
        at_rest(quorum=Known(value=view((*VOTERS, key(7)))), support=support(running(), 3)),
        PLAIN,
        "ForeignVoter",
        Severity.DEGRADED,
        (
            f"voter {key(7)} is no controller of this resource, and is left alone (4 of 4 voters are caught up). Where "
            "it does not belong to the quorum, a person can: kafka-metadata-quorum.sh remove-controller "
            f"--controller-id 7 --controller-directory-id {directory(7)}"
        ),
    ),
    "claim made anew": (
        with_the_claim(at_rest(), 3001, uid="another"),
        PLAIN,
        "IdentityConflict",
        Severity.DEGRADED,
        (
            "nothing is done: claim alpha-3001-g1 has uid another, the record's has claim-3001-1 (a claim that was "
            "made anew, or restored, is not this controller's disk: delete it, or restore the record)"
        ),
    ),
    "two conflicts": (
        with_the_claim(with_the_claim(at_rest(), 3001, uid="another"), 3002, directory_id=directory(3002, 5)),
        PLAIN,
        "IdentityConflict",
        Severity.DEGRADED,
        (
            "nothing is done: claim alpha-3001-g1 has uid another, the record's has claim-3001-1 (a claim that was "
            "made anew, or restored, is not this controller's disk: delete it, or restore the record); "
            f"claim alpha-3002-g1 is annotated with directory id {directory(3002, 5)} instead of {directory(3002)}"
        ),
    ),
    "older record": (
        at_rest(record_owner_uid="earlier"),
        PLAIN,
        "EarlierResourceEnds",
        Severity.PROGRESS,
        "waits until what an earlier resource of this name owned is gone: the identity ConfigMap",
    ),
    "older resource": (
        at_rest(claims=tuple(replace(one, owner_uid="earlier") for one in at_rest().claims[:2])),
        PLAIN,
        "EarlierResourceEnds",
        Severity.PROGRESS,
        "waits until what an earlier resource of this name owned is gone: claim alpha-3000-g1, claim alpha-3001-g1",
    ),
}


@pytest.mark.parametrize("case", WAITS)
def test_wait(case: str) -> None:
    """A wait says what is the matter, and what would unblock it, in these words."""
    look, wanted, reason, severity, message = WAITS[case]
    found = wait(planned(look, wanted), reason)
    assert (found.message, found.severity) == (message, severity)


LOST = at_rest(quorum=Known(value=view(VOTERS, behind=VOTERS[1:2])))
BLANK = with_pod(LOST, 3001, container=FAILED, report=empty_report(), gate="False")
EMPTIED = still_blank(BLANK)

WRITES: dict[str, tuple[Observed, Desired, str]] = {
    "claim gone": (
        without_claim(without_pod(LOST, 3001), 3001),
        PLAIN,
        f"controller 3001 lost its disk (its claim is gone): directory id {directory(3001)} is retired",
    ),
    "volume gone": (
        still_blank(with_the_claim(without_pod(LOST, 3001), 3001, lost=True)),
        PLAIN,
        f"controller 3001 lost its disk (its volume is gone): directory id {directory(3001)} is retired",
    ),
    "volume empty": (
        EMPTIED,
        PLAIN,
        f"controller 3001 lost its disk (its volume is empty): directory id {directory(3001)} is retired",
    ),
    "more replicas": (
        at_rest(),
        desired(replicas=5),
        "controllers 3003, 3004 are wanted, and will join one by one",
    ),
    "record gone": (
        replace(at_rest(), record=None),
        PLAIN,
        "the identity ConfigMap was gone: rebuilt from the status, the claims and the pods",
    ),
    "started": (
        at_rest(replace(started(), phase=BootstrapPhase.FORMATTING), status=replace(at_rest(started()).status)),
        PLAIN,
        "a copy of the identity, or a pod, says that the quorum has started: so it has",
    ),
    "claims bound": (
        at_rest(
            replace(bound(), nodes=tuple(replace(of, claim_uid=None) for of in bound().nodes)),
            claims=at_rest(bound()).claims[:2],
        ),
        PLAIN,
        "bound alpha-3000-g1, alpha-3001-g1",
    ),
}


@pytest.mark.parametrize("case", WRITES)
def test_write(case: str) -> None:
    """A change of the record says why, in these words: they become an event."""
    look, wanted, message = WRITES[case]
    assert only(planned(look, wanted), WriteRecord).message == message


def test_removed_pods() -> None:
    """A pod that is removed says why, in these words: they become an event."""
    newer = revision(runtime(heap="1Gi"), number=2)
    outdated = with_pod(at_rest(), 3001, directory_id=directory(3001, 9), container=STARTS, gate="False")
    finished = with_pod(at_rest(), 3001, finished=True, container=FAILED, gate="False")
    corrected = with_pod(at_rest(revisions=(revision(), newer)), 3001, revision=newer.name, container=STARTS)
    done = replace(at_rest(with_report(bound(), IDS[0], directory(3000))), pods=formatters(container=FAILED).pods)
    said = [every(planned(look), DeletePod)[0].message for look in (outdated, finished, corrected, done)]
    assert said == [
        "pod alpha-3001-g1 was made for another disk than controller 3001 has now",
        f"pod alpha-3001-g1 has ended: it is made again from revision {revision().name}",
        "pod alpha-3001-g1 did not start, and is made anew from the corrected spec",
        f"formatter {done.pods[0].name} has done its work",
    ]


def test_marks_in_words() -> None:
    """What a pod is marked as is told in the condition of its gate."""
    seen = view(VOTERS[:2], VOTERS[2:], behind=VOTERS[1:2])
    unmarked = tuple(replace(one, gate="", marked_voter=False) for one in at_rest().pods)
    look = at_rest(quorum=Known(value=seen), pods=unmarked, support=support(running(), 2))
    assert {mark.pod.node_id: mark.message for mark in every(planned(look), MarkPod)} == {
        3000: "a caught-up voter",
        3001: "a voter that lags",
        3002: "not a voter",
    }
    unknown = at_rest(quorum=SILENT, memory=Memory(unknown_looks=3))
    assert {mark.message for mark in every(planned(unknown), MarkPod)} == {f"of unknown state: {SILENT.reason}"}


def test_yes_in_words() -> None:
    """A guard's yes gives its reason too: it stands in the log of everything that was done."""
    mint = verdict(planned(nothing()), "8-mint")
    assert mint.reason == "there is no record and no trace of an earlier quorum"
    formatted = replace(started(), phase=BootstrapPhase.FORMATTING)
    assert verdict(planned(at_rest(formatted)), "1-start").reason == "every initial controller is formatted"
    seen = view(VOTERS)
    assert may_change_voters(seen, key(3003), None).reason == "no voter change is in flight"
    assert may_remove_leader(seen, key(3000)).reason == f"{key(3000)} is not the leader of a pair"
    assert verdict(planned(at_rest(bound())), "1-initial-format").reason.startswith("claim alpha-3002-g1 is the one")


def test_barrier_in_words() -> None:
    """What holds the barrier is named: the controllers that are missing, or the config map of the format."""
    one = with_report(bound(), IDS[0], directory(3000))
    missing = verdict(planned(at_rest(one)), "1-start").reason
    assert missing == "the quorum starts once controllers 3001, 3002 are formatted"
    formatted = replace(started(), phase=BootstrapPhase.FORMATTING)
    held = verdict(planned(at_rest(formatted, support=support(bound()))), "1-start").reason
    assert held == ("the quorum starts once the config map of its initial format is gone, and no formatter can run")


def test_traces_in_words() -> None:
    """Every trace that keeps a new identity from being made is named."""
    record = bound()
    look = replace(at_rest(record, pods=()), record=None, claims=at_rest(record).claims[:2])
    assert verdict(planned(look), "8-mint").reason == (
        "no new identity is made: there are traces of one (claim alpha-3000-g1, claim alpha-3001-g1, "
        f"status.clusterID {record.cluster_id})"
    )


def test_older_image_in_words() -> None:
    """An image that is too old names the way out."""
    said = planned(at_rest(revisions=()), desired(runtime=runtime(release="4.3.0")))
    assert wait(said, "OlderImage").message == (
        "Kafka 4.3.0 is older than 4.4.0, which this quorum has: set spec.kafka.version to 4.4.0 or later"
    )


def test_growth_needs_no_words() -> None:
    """A larger size is asked for without a wait: the claims tell it themselves."""
    larger = desired(storage=storage(size="20Gi", size_bytes=20 * 1024**3))
    assert planned(at_rest(), larger).waits == ()
