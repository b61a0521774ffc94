"""QuorumLooks are written when a look shows something new, at a bounded rate, and never by a pass itself."""

import asyncio
import logging
from dataclasses import replace

import pytest
from tests.clocks import MovingClock
from tests.introspection.worlds import decided, report
from tests.kit.kube.recording import RecordingKube
from tests.model.values import NAME, UID
from tests.status import passes
from tests.test_reconcile import KEY, Bench, at_rest, subscribed

from kafka_quorum.introspection.kind import QUORUM_LOOKS
from kafka_quorum.introspection.looks import EVERY_S, FAILED_S, QuorumLooks
from kafka_quorum.model.observed import Observed
from kit.errors import KubeConflict, KubeRefused, KubeUnavailable
from kit.kube.protocol import Json
from kit.report.report import PassReport

PLACE = (QUORUM_LOOKS.plural, NAME)


class Writing:
    """A writer between a reporter and an API server."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Nothing is written yet, and no pause takes time."""
        self.kube, self.clock, self.acts = RecordingKube(), MovingClock(50.0), True
        self.looks = QuorumLooks(self.kube, self.clock, lambda: self.acts)

        async def at_once(_: float) -> None:
            """No time passes."""

        monkeypatch.setattr("kafka_quorum.introspection.looks.asyncio.sleep", at_once)

    async def round(self, after_s: float = 0.0) -> list[str]:
        """One round of writes after so many seconds: the verbs of its requests."""
        self.clock.seconds += after_s
        self.kube.calls.clear()
        await self.looks.round()
        return [call.verb for call in self.kube.calls]

    @property
    def status(self) -> Json:
        """The stored status."""
        found: Json = self.kube.objects[PLACE]["status"]
        return found


@pytest.fixture
def writing(monkeypatch: pytest.MonkeyPatch) -> Writing:
    """A writer that has written nothing."""
    return Writing(monkeypatch)


def with_fault(of: PassReport[Observed]) -> PassReport[Observed]:
    """The report of a pass that shows something else."""
    done = passes.done(faults=(passes.FAULT,))
    return replace(of, decided=replace(decided(of), done=done, faults=done.faults))


async def test_the_first_look_is_created(writing: Writing) -> None:
    """The first look is an object with the name of its quorum, owned by it, with the time of the look."""
    first = await report()
    await writing.looks.take(first)
    assert writing.kube.calls == []
    assert await writing.round() == ["get", "create", "patch"]
    metadata = writing.kube.objects[PLACE]["metadata"]
    assert [(one["kind"], one["uid"], one["controller"]) for one in metadata["ownerReferences"]] == [
        ("KafkaQuorum", UID, True)
    ]
    assert writing.status["state"] == "AtRest"
    assert first.seen_at is not None
    assert writing.status["lookedAt"] == first.seen_at.strftime("%Y-%m-%dT%H:%M:%SZ")


async def test_at_rest_there_are_no_requests(writing: Writing) -> None:
    """Looks that show nothing new cost no request, however much time passes."""
    first = await report()
    for _ in range(100):
        await writing.looks.take(first)
        writing.clock.seconds += 10
        await writing.looks.round()
    assert [call.verb for call in writing.kube.calls] == ["get", "create", "patch"]


async def test_another_operator_has_written_the_same(writing: Writing) -> None:
    """After a start the stored look is read once, and is not written again if it shows the same."""
    first = await report()
    await writing.looks.take(first)
    await writing.round()
    writing.looks.clear()
    await writing.looks.take(first)
    assert await writing.round(EVERY_S) == ["get"]
    await writing.looks.take(first)
    assert await writing.round(EVERY_S) == []


async def test_what_is_new_is_written_at_a_bounded_rate(writing: Writing) -> None:
    """Of many changes only the last one is written, after the pause; what is gone is removed from the status."""
    first = await report()
    await writing.looks.take(first)
    await writing.round()
    changed = with_fault(first)
    await writing.looks.take(changed)
    assert await writing.round(EVERY_S - 1) == []
    await writing.looks.take(first)
    assert await writing.round(1) == []
    await writing.looks.take(changed)
    assert await writing.round() == ["patch"]
    assert (writing.status["state"], len(writing.status["errors"])) == ("Invalid", 1)
    await writing.looks.take(first)
    assert await writing.round(EVERY_S) == ["patch"]
    assert (writing.status["state"], "errors" in writing.status) == ("AtRest", False)


async def test_the_time_is_that_of_the_first_look_that_showed_it(writing: Writing) -> None:
    """While a new look waits for its turn, later equal looks do not change its time."""
    first = await report()
    assert first.seen_at is not None
    await writing.looks.take(first)
    await writing.looks.take(replace(first, seen_at=first.seen_at.replace(year=2030)))
    await writing.round()
    assert writing.status["lookedAt"].startswith(str(first.seen_at.year))


@pytest.mark.parametrize(
    ("verb", "error", "pause_s"),
    [
        ("get", KubeUnavailable("no answer"), FAILED_S),
        ("create", KubeRefused("forbidden"), FAILED_S),
        ("patch", KubeUnavailable("no answer"), FAILED_S),
        ("patch", KubeConflict("another version"), EVERY_S),
        ("get", ValueError("a fault of ours"), FAILED_S),
    ],
)
async def test_a_write_that_fails_is_repeated(
    writing: Writing, verb: str, error: Exception, pause_s: float, caplog: pytest.LogCaptureFixture
) -> None:
    """After any error the look is written later, from what is then stored; the log has it."""
    writing.kube.errors[verb, QUORUM_LOOKS.plural] = error
    await writing.looks.take(await report())
    await writing.round()
    writing.kube.errors.clear()
    assert await writing.round(pause_s - 1) == []
    assert (await writing.round(1))[-1] == "patch"
    assert writing.status["state"] == "AtRest"
    logged = [record for record in caplog.records if record.levelno >= logging.WARNING]
    assert bool(logged) is not isinstance(error, KubeConflict)


async def test_failures_are_logged_once_in_a_while(writing: Writing, caplog: pytest.LogCaptureFixture) -> None:
    """An API server that refuses for an hour is a few lines of the log."""
    writing.kube.errors["get", QUORUM_LOOKS.plural] = KubeRefused("forbidden")
    await writing.looks.take(await report())
    for _ in range(60):
        await writing.round(60)
    assert 1 < len(caplog.records) < 10


async def test_an_object_that_is_not_of_this_quorum_is_left_alone(writing: Writing) -> None:
    """A look that an earlier quorum of this name owns is not written; when it is gone, a new one is created."""
    owner = {"apiVersion": "kafkaquorum.io/v1alpha1", "kind": "KafkaQuorum", "name": NAME, "uid": "earlier"}
    metadata = {"name": NAME, "namespace": KEY.namespace, "uid": "u", "ownerReferences": [owner]}
    writing.kube.put(QUORUM_LOOKS, {"metadata": metadata, "spec": {}})
    await writing.looks.take(await report())
    assert await writing.round() == ["get"]
    del writing.kube.objects[PLACE]
    assert await writing.round(FAILED_S) == ["get", "create", "patch"]


async def test_a_quorum_that_is_created_again(writing: Writing) -> None:
    """For another quorum of the same name the stored look is not taken for its own, although it shows the same."""
    first = await report()
    await writing.looks.take(first)
    await writing.round()
    resource = {**first.resource, "metadata": {**first.resource["metadata"], "uid": "another"}}
    await writing.looks.take(replace(first, resource=resource))
    assert await writing.round(EVERY_S) == ["get"]
    writing.looks.forget(KEY)
    assert await writing.round(FAILED_S) == []


async def test_without_the_lease_nothing_is_written(writing: Writing) -> None:
    """An operator that does not act writes nothing, and forgets what it had to write."""
    await writing.looks.take(await report())
    writing.acts = False
    assert await writing.round() == []
    writing.acts = True
    assert await writing.round() == []


async def test_a_pass_that_decided_nothing_changes_no_look(writing: Writing) -> None:
    """A report without a decision, as of a pass that ended in an error, leaves the look as it is."""
    await writing.looks.take(replace(await report(), decided=None))
    assert await writing.round() == []


async def test_an_api_server_that_hangs_delays_no_pass() -> None:
    """While a write hangs, passes over the quorum go on and end."""

    class Hanging(RecordingKube):
        async def get(self, *_: object) -> Json | None:
            await asyncio.Event().wait()
            return None

    bench: Bench = await at_rest()
    looks = QuorumLooks(Hanging(), bench.clock, lambda: True)
    subscribed(bench, looks)
    writer = asyncio.create_task(looks.keep())
    try:
        for _ in range(3):
            result = await asyncio.wait_for(bench.run(), 10)
            assert not result.failed
            await asyncio.sleep(0)
    finally:
        writer.cancel()


async def test_the_task_writes_what_is_left_for_it(writing: Writing) -> None:
    """The task wakes up for a look, and writes it."""
    writer = asyncio.create_task(writing.looks.keep())
    try:
        await writing.looks.take(await report())
        for _ in range(100):
            await asyncio.tasks.sleep(0)
            if PLACE in writing.kube.objects and "status" in writing.kube.objects[PLACE]:
                break
        assert writing.status["state"] == "AtRest"
    finally:
        writer.cancel()
