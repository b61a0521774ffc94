"""Lost disks while a static quorum becomes dynamic: held before, and replaced after."""

from dataclasses import replace

from tests.golden.facts import mentions
from tests.model.values import (
    IDS,
    SILENT,
    at_rest,
    desired,
    empty_report,
    key,
    mirrored,
    node,
    pod,
    revision,
    running,
    runtime,
    situation,
    speaking,
    still_blank,
    view,
    with_pod,
    without_pod,
)
from tests.plan.reading import every, planned, verdict, wait

from kafka_quorum.model.actions import CreatePod, RecordChange, WriteRecord
from kafka_quorum.model.identity import FormatMode, IdentityRecord, with_disk_lost, with_report
from kafka_quorum.model.known import Known
from kafka_quorum.model.observed import Observed
from kafka_quorum.model.pods import Waiting
from kafka_quorum.plan.guards.rule2_disks import may_retire_disk, may_run
from kafka_quorum.plan.guards.rule7_migrations import may_drop_static
from kafka_quorum.plan.releases.revisions import revisions

STATIC = replace(running(), static=True)
PINNED = revision(runtime(static_voters=IDS))
LOST = IDS[2]
WAITING = Waiting(reason="ContainerCreating", message="", last_exit=None)


def emptied(*, static: bool) -> Observed:
    """Controller 3002 does not fetch, its disk was found empty, and the quorum is static or not."""
    seen = replace(view([key(of) for of in IDS], behind=[key(LOST)]), static=static)
    look = at_rest(STATIC, quorum=Known(value=seen), revisions=(PINNED,))
    return still_blank(with_pod(look, LOST, container=WAITING, report=empty_report()))


def new_disk(record: IdentityRecord = STATIC) -> IdentityRecord:
    """The record after the disk of controller 3002 was formatted again, without voters."""
    again = with_disk_lost(record, LOST, new_claim=False)
    return with_report(again, LOST, key(LOST, 2).directory_id)  # type: ignore[arg-type]  # it has one


def retiring(look: Observed) -> bool:
    """Whether the guard gives up the disk of controller 3002."""
    return may_retire_disk(situation(desired=desired(), observed=look, record=STATIC), node(STATIC, LOST)).allowed


def test_held_while_it_is_static() -> None:
    """In a static quorum, or without a leader, an empty disk is not retired: a person must decide."""
    assert not retiring(emptied(static=True))
    assert not retiring(replace(emptied(static=True), quorum=SILENT))


def test_replaced_once_it_is_dynamic() -> None:
    """In a dynamic quorum the empty disk is retired, even if the record is still static."""
    assert retiring(emptied(static=False))


def test_the_new_disk_waits_for_the_setting_to_go() -> None:
    """A new disk does not run with the static voters in its properties: it would act as one of them."""
    record = new_disk()
    look = at_rest(record, revisions=(PINNED,))
    said = may_run(situation(record=record, observed=look), node(record, LOST), mirrored=True)
    assert not said.allowed
    assert mentions(said.reason, "controller.quorum.voters")


def test_the_setting_goes_without_the_new_disk() -> None:
    """The static voters are dropped without a report of the new disk, but not without those of the others."""
    record = new_disk()
    seen = view([key(of) for of in IDS], behind=[key(LOST)])
    look = replace(speaking(record), quorum=Known(value=seen))
    assert may_drop_static(situation(observed=look, record=record)).allowed
    silent = tuple((of, said) for of, said in look.versions if of != IDS[0])
    waits = may_drop_static(situation(observed=replace(look, versions=silent), record=record))
    assert not waits.allowed
    assert mentions(waits.reason, 3000)


def test_the_new_disk_never_starts_from_the_old_revision() -> None:
    """After the static voters are dropped, the new disk gets the next revision first, and only then a pod."""
    record = replace(new_disk(), static=False, applied_revision=PINNED.name)
    next_one = revision(number=2)
    seen = view([key(of) for of in IDS], behind=[key(LOST)])
    whole = at_rest(record, quorum=Known(value=seen), revisions=(PINNED, next_one), status=mirrored(record))
    pods = tuple(replace(pod(record, node(record, of)), revision=PINNED.name) for of in IDS if of != LOST)
    look = replace(speaking(record), quorum=whole.quorum, revisions=whole.revisions, pods=pods, status=whole.status)
    (action,) = planned(look, desired(runtime=next_one.runtime)).actions
    assert isinstance(action, WriteRecord)
    assert action.change is RecordChange.REVISION
    assert node(action.record, LOST).revision == next_one.name
    assert node(record, LOST).mode is FormatMode.NO_INITIAL_CONTROLLERS


def test_the_new_disk_waits_for_the_next_revision() -> None:
    """Before the next revision exists, the new disk gets no pod from the old one, and the wait names the controller."""
    record = replace(new_disk(), static=False, applied_revision=PINNED.name)
    whole = speaking(record, revisions=(PINNED,))
    look = without_pod(replace(whole, quorum=SILENT), LOST)
    said = planned(look, desired(runtime=PINNED.runtime))
    assert every(said, CreatePod) == []
    assert wait(said, "Starting").node_id == LOST
    assert verdict(said, "2-run").allowed


def test_a_first_disk_starts_from_the_old_revision() -> None:
    """After the static voters are dropped, a first voter whose pod is lost is not moved: its disk has its own vote."""
    first = tuple(replace(of, mode=FormatMode.STATIC) for of in running().nodes)
    record = replace(running(), nodes=first, applied_revision=PINNED.name)
    look = without_pod(speaking(record, revisions=(PINNED, revision(number=2))), LOST)
    assert revisions(situation(desired=desired(), observed=look)).exclusive is None


def test_a_person_is_told_why() -> None:
    """The wait of a lost disk names the page that explains what to do."""
    said = planned(emptied(static=True), desired())
    assert "docs/releases.md" in wait(said, "LostDisk").message
    assert not verdict(said, "2-retire-disk").allowed
