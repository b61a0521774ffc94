"""Waits, writes and deletions that no other test produces: reason, severity, and what their sentences name."""

from dataclasses import replace

import pytest
from tests.golden.facts import facts
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

FAILED = Terminated(exit_code=1, reason="Error", message="", finished_at="")
STARTS = Waiting(reason="ContainerCreating", message="", last_exit=None)
VOTERS = (key(3000), key(3001), key(3002))
PLAIN = desired()
ALONE = desired(bootstrap=BootstrapMode.STANDALONE)


def refused(found: DiskFound) -> Observed:
    """Controller 3001 found files of another origin on its disk."""
    said = report(running(), node(running(), 3001), found=found, accepted=False, message="found controller 7")
    return with_pod(at_rest(), 3001, container=FAILED, report=said, gate="False")


def formatters(**changes: object) -> Observed:
    """Before the barrier: the formatter of controller 3000, with these changes."""
    return at_rest(bound(), pods=tuple(formatter(bound(), of, **changes) for of in bound().nodes[:1]))


WAITS: dict[str, tuple[Observed, Desired, str, Severity, tuple[object, ...]]] = {
    "paused": (at_rest(), desired(paused=True), "Paused", Severity.HELD, ("spec.paused",)),
    "uncommitted": (
        at_rest(quorum=Known(value=view(VOTERS, committed=False)), support=support(running(), 3)),
        PLAIN,
        "VoterSetUncommitted",
        Severity.PROGRESS,
        (),
    ),
    "no leader": (at_rest(started(), quorum=SILENT), PLAIN, "NoLeader", Severity.PROGRESS, ()),
    "lower level of a running quorum": (
        speaking(),
        desired(features=(FeatureLevel(name="metadata.version", level=27),)),
        "DowngradeRefused",
        Severity.HELD,
        (("metadata.version", "4.1-IV1", 27, "spec.kafka.features.downgrade")),
    ),
    "listener of a running quorum": (
        at_rest(),
        desired(runtime=runtime(listener=ControllerListener(name="CONTROLLER", port=9094))),
        "MigrationHeld",
        Severity.HELD,
        ("CONTROLLER", 9093, "spec.controllers.listeners"),
    ),
    "others than the voters of a static quorum": (
        at_rest(replace(running(), static=True)),
        desired(replicas=5),
        "StaticQuorum",
        Severity.HELD,
        ("kraft.version", 1, "spec.kafka.features.levels"),
    ),
    "foreign files": (refused(DiskFound.FORMATTED), PLAIN, "ForeignDisk", Severity.DEGRADED, ("alpha-3001-g1", 7)),
    "partial files": (
        refused(DiskFound.PARTIAL),
        PLAIN,
        "ForeignDisk",
        Severity.DEGRADED,
        ("alpha-3001-g1", "meta.properties"),
    ),
    "claim deleting": (
        with_the_claim(at_rest(), 3001, deleting=True),
        PLAIN,
        "ClaimDeleting",
        Severity.DEGRADED,
        (("alpha-3001-g1", 3001, "alpha-3001-g1")),
    ),
    "crashed": (
        with_pod(at_rest(), 3001, container=FAILED, report=None, gate="False"),
        PLAIN,
        "Starting",
        Severity.PROGRESS,
        ("alpha-3001-g1", 1),
    ),
    "stuck without a word": (
        with_pod(
            at_rest(), 3001, container=replace(STARTS, reason="CrashLoopBackOff", message=""), report=None, gate="False"
        ),
        PLAIN,
        "PodStuck",
        Severity.DEGRADED,
        ("alpha-3001-g1", "alpha-3001-g1"),
    ),
    "starting": (
        with_pod(at_rest(), 3001, container=STARTS, gate="False"),
        PLAIN,
        "Starting",
        Severity.PROGRESS,
        ("alpha-3001-g1",),
    ),
    "held by its formatter": (
        at_rest(pods=(*at_rest().pods[1:], formatter(running(), node(running(), 3000), deleting=True))),
        PLAIN,
        "Starting",
        Severity.PROGRESS,
        (formatter(running(), node(running(), 3000)).name, 3000),
    ),
    "newcomers wait for a leader": (
        at_rest(started(replicas=2, mode=BootstrapMode.STANDALONE)),
        replace(ALONE, replicas=2),
        "Formatting",
        Severity.PROGRESS,
        (3001,),
    ),
    "lost disk": (
        without_pod(at_rest(with_disk_lost(running(), IDS[1], new_claim=False), quorum=SILENT), 3001),
        PLAIN,
        "LostDisk",
        Severity.DEGRADED,
        ((3001, 3001)),
    ),
    "refused formatter": (
        formatters(
            container=FAILED, finished=True, report=replace(empty_report(), found=DiskFound.PARTIAL, message="files")
        ),
        PLAIN,
        "ForeignDisk",
        Severity.DEGRADED,
        ((formatter(bound(), node(bound(), 3000)).name, 3000)),
    ),
    "failed formatter": (
        formatters(container=FAILED, finished=True, report=empty_report(), finished_at_s=NOW_S - 1),
        PLAIN,
        "FormatFailed",
        Severity.DEGRADED,
        ((formatter(bound(), node(bound(), 3000)).name, 20)),
    ),
    "foreign voter": (
        at_rest(quorum=Known(value=view((*VOTERS, key(7)))), support=support(running(), 3)),
        PLAIN,
        "ForeignVoter",
        Severity.DEGRADED,
        (key(7), 4, 4, "quorum.sh", "alpha-3000.alpha-controllers.kafka.svc:9093", 7, directory(7)),
    ),
    "claim made anew": (
        with_the_claim(at_rest(), 3001, uid="another"),
        PLAIN,
        "IdentityConflict",
        Severity.DEGRADED,
        (("alpha-3001-g1", "claim-3001-1")),
    ),
    "two conflicts": (
        with_the_claim(with_the_claim(at_rest(), 3001, uid="another"), 3002, directory_id=directory(3002, 5)),
        PLAIN,
        "IdentityConflict",
        Severity.DEGRADED,
        (
            "alpha-3001-g1",
            "claim-3001-1",
            "alpha-3002-g1",
            directory(3002, 5),
            directory(3002),
            "meta.properties",
            "operations.md",
        ),
    ),
    "older record": (at_rest(record_owner_uid="earlier"), PLAIN, "EarlierResourceEnds", Severity.PROGRESS, ()),
    "older resource": (
        at_rest(claims=tuple(replace(one, owner_uid="earlier") for one in at_rest().claims[:2])),
        PLAIN,
        "EarlierResourceEnds",
        Severity.PROGRESS,
        ("alpha-3000-g1", "alpha-3001-g1"),
    ),
}


@pytest.mark.parametrize("case", WAITS)
def test_wait(case: str) -> None:
    """A wait has a reason and a severity, and names its subject."""
    look, wanted, reason, severity, named = WAITS[case]
    found = wait(planned(look, wanted), reason)
    assert (facts(found.message), found.severity) == (facts(*named), severity)


LOST = at_rest(quorum=Known(value=view(VOTERS, behind=VOTERS[1:2])))
BLANK = with_pod(LOST, 3001, container=FAILED, report=empty_report(), gate="False")
EMPTIED = still_blank(BLANK)

WRITES: dict[str, tuple[Observed, Desired, tuple[object, ...]]] = {
    "claim gone": (without_claim(without_pod(LOST, 3001), 3001), PLAIN, (3001, directory(3001))),
    "volume gone": (
        still_blank(with_the_claim(without_pod(LOST, 3001), 3001, volume_gone=True)),
        PLAIN,
        (3001, directory(3001)),
    ),
    "volume empty": (EMPTIED, PLAIN, (3001, directory(3001))),
    "more replicas": (at_rest(), desired(replicas=5), (3003, 3004)),
    "record gone": (replace(at_rest(), record=None), PLAIN, ()),
    "started": (
        at_rest(replace(started(), phase=BootstrapPhase.FORMATTING), status=replace(at_rest(started()).status)),
        PLAIN,
        (),
    ),
    "claims bound": (
        at_rest(
            replace(bound(), nodes=tuple(replace(of, claim_uid=None) for of in bound().nodes)),
            claims=at_rest(bound()).claims[:2],
        ),
        PLAIN,
        ("alpha-3000-g1", "alpha-3001-g1"),
    ),
}


@pytest.mark.parametrize("case", WRITES)
def test_write(case: str) -> None:
    """A change of the record names its subject, because its sentence becomes an event."""
    look, wanted, named = WRITES[case]
    assert facts(only(planned(look, wanted), WriteRecord).message) == facts(*named)


def test_removed_pods() -> None:
    """The deletion of a pod has a reason and names the pod; both become an event."""
    newer = revision(runtime(heap="1Gi"), number=2)
    outdated = with_pod(at_rest(), 3001, directory_id=directory(3001, 9), container=STARTS, gate="False")
    finished = with_pod(at_rest(), 3001, finished=True, container=FAILED, gate="False")
    corrected = with_pod(at_rest(revisions=(revision(), newer)), 3001, revision=newer.name, container=STARTS)
    done = replace(at_rest(with_report(bound(), IDS[0], directory(3000))), pods=formatters(container=FAILED).pods)
    removed = [every(planned(look), DeletePod)[0] for look in (outdated, finished, corrected, done)]
    assert [(each.reason, facts(each.message)) for each in removed] == [
        ("PodOutdated", facts("alpha-3001-g1", 3001)),
        ("PodFinished", facts("alpha-3001-g1", revision().name)),
        ("PodCorrected", facts("alpha-3001-g1")),
        ("FormatterDone", facts(done.pods[0].name)),
    ]


def test_marks() -> None:
    """A voter's pod is marked as a voter, and as ready if caught up; without answers its state is Unknown."""
    seen = view(VOTERS[:2], VOTERS[2:], behind=VOTERS[1:2])
    unmarked = tuple(replace(one, gate="", marked_voter=False) for one in at_rest().pods)
    look = at_rest(quorum=Known(value=seen), pods=unmarked, support=support(running(), 2))
    assert {mark.pod.node_id: (mark.voter, mark.gate) for mark in every(planned(look), MarkPod)} == {
        3000: (True, "True"),
        3001: (True, "False"),
        3002: (False, "False"),
    }
    unknown = at_rest(quorum=SILENT, memory=Memory(unknown_looks=3))
    assert {mark.gate for mark in every(planned(unknown), MarkPod)} == {"Unknown"}
    assert all(SILENT.reason in mark.message for mark in every(planned(unknown), MarkPod))


def test_barrier() -> None:
    """What holds the barrier is named: the missing controllers, or the config map of the format."""
    one = with_report(bound(), IDS[0], directory(3000))
    missing = verdict(planned(at_rest(one)), "1-start").reason
    assert facts(missing) == facts(3001, 3002)
    formatted = replace(started(), phase=BootstrapPhase.FORMATTING)
    objects = support(bound())
    held = verdict(planned(at_rest(formatted, support=objects)), "1-start").reason
    assert facts(held) == facts(*(one.name for one in objects if "-format-" in one.name))


def test_traces() -> None:
    """Every trace that prevents a new identity is named."""
    record = bound()
    look = replace(at_rest(record, pods=()), record=None, claims=at_rest(record).claims[:2])
    assert facts(verdict(planned(look), "8-mint").reason) == (
        facts("alpha-3000-g1", "alpha-3001-g1", "status.clusterID", record.cluster_id)
    )


def test_older_image() -> None:
    """The refusal of an older image names the field to change."""
    said = planned(at_rest(revisions=()), desired(runtime=runtime(release="4.3.0")))
    assert facts(wait(said, "OlderImage").message) == facts("4.3.0", "4.4.0", "spec.kafka.version", "4.4.0")


def test_growth_needs_no_wait() -> None:
    """A larger size needs no wait, because the claims show it."""
    larger = desired(storage=storage(size="20Gi", size_bytes=20 * 1024**3))
    assert planned(at_rest(), larger).waits == ()
