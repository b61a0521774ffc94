"""What is kept beside a change: files of properties, revisions, and what is said of a pod that ends."""

from dataclasses import replace

import pytest
from tests.streams.test_changes import desired, runtime

from kafka_quorum.model.pods import Running, Terminated, Waiting
from kafka_streams.model import names
from kafka_streams.model.actions import CreateFile, DeleteRevision
from kafka_streams.model.observed import Observed, Pod, Revision
from kafka_streams.model.plan import Severity
from kafka_streams.model.record import Record, Slot
from kafka_streams.plan.facts import Situation
from kafka_streams.plan.upkeep import KEPT, files, old_revisions, pods

ENDED = Terminated(reason="Error", exit_code=143, message="", finished_at="")


def made(number: int, *, text: str = "3.9.1", file: bool = False) -> Revision:
    """A revision of an own image."""
    chosen = runtime(text, image=f"app:{number}")
    chosen = replace(chosen, properties=("/app.properties", "a=1\n")) if file else chosen
    return Revision(
        name=names.revision_name("app", chosen, ""),
        number=number,
        runtime=chosen,
        upgrade_from="",
        uid=f"uid-{number}",
        resource_version="1",
    )


def situation(*revisions: Revision, pod: Pod | None = None, **seen: dict[str, str]) -> Situation:
    """One instance that is made from the last of these revisions."""
    last = revisions[-1]
    record = Record(
        application_id="counts",
        release=last.runtime.release,
        protocol=last.runtime.protocol,
        slots=(Slot(index=0, revision=last.name),),
        resource_version="1",
    )
    observed = Observed(
        record=record,
        pods=(pod,) if pod is not None else (),
        claims=(),
        revisions=revisions,
        files=seen.get("files", {}),
    )
    return Situation(desired=replace(desired("3.9.1"), runtime=last.runtime), observed=observed, record=record)


def pod_of(revision: Revision, *, deleting: bool) -> Pod:
    """A pod whose container has ended."""
    return Pod(
        name="app-streams-0",
        uid="pod",
        resource_version="1",
        index=0,
        revision=revision.name,
        generation=1,
        deleting=deleting,
        finished=False,
        ready=False,
        ip="10.0.0.1",
        container=ENDED,
    )


def test_a_pod_that_is_stopped_has_not_crashed() -> None:
    """The container of a pod in deletion ends: only without a deletion is that a crash."""
    one = made(1)
    said = [pods(situation(one, pod=pod_of(one, deleting=deleting))).waits for deleting in (False, True)]
    assert [wait.reason for wait in said[0]] == ["InstanceCrashes"]
    assert not [wait for wait in said[1] if wait.severity is Severity.DEGRADED]


NEVER: list[tuple[Waiting, str]] = [
    (
        Waiting(reason="CreateContainerConfigError", message='configmap "x" not found', last_exit=None),
        'Instance 0 does not start: CreateContainerConfigError: configmap "x" not found',
    ),
    (
        Waiting(reason="CrashLoopBackOff", message="", last_exit=None, init="wait-for-db"),
        "Instance 0 does not start: its init container wait-for-db fails (CrashLoopBackOff)",
    ),
]


@pytest.mark.parametrize(("state", "words"), NEVER)
def test_a_container_that_is_never_made_is_told(state: Waiting, words: str) -> None:
    """A wrong name in the template, or an init container that fails, is no mere wait: a person corrects it."""
    one = made(1)
    (wait,) = pods(situation(one, pod=replace(pod_of(one, deleting=False), container=state))).waits
    assert (wait.severity, wait.reason, wait.message) == (Severity.DEGRADED, "PodStuck", words)


def test_a_lost_file_of_properties_is_made_again() -> None:
    """A revision that instances are made from gets its config map back; one that has it, or has no file, does not."""
    one = made(1, file=True)
    assert files(situation(one)).actions == (CreateFile(revision=one),)
    assert not files(situation(one, files={one.name: "uid"})).actions
    assert not files(situation(made(1))).actions
    assert not files(situation(one, made(2))).actions


def test_old_revisions_go_and_the_newest_stay() -> None:
    """Besides what is in use, the newest ten stay; an older one goes with its file."""
    every = tuple(made(number, file=True) for number in range(1, KEPT + 4))
    found = old_revisions(situation(*every, files={every[0].name: "file"})).actions
    assert found == (
        DeleteRevision(revision=every[2], file_uid=""),
        DeleteRevision(revision=every[1], file_uid=""),
        DeleteRevision(revision=every[0], file_uid="file"),
    )


def test_revisions_in_use_stay() -> None:
    """What a pod or an instance is made from stays, however old it is."""
    every = tuple(made(number) for number in range(1, KEPT + 3))
    now = situation(*every, pod=replace(pod_of(every[0], deleting=False), container=Running(started_at="")))
    assert [one.revision for one in old_revisions(now).actions if isinstance(one, DeleteRevision)] == [every[1]]
    old = replace(now, record=replace(now.record, slots=(Slot(index=0, revision=every[1].name),)))
    assert not old_revisions(old).actions
