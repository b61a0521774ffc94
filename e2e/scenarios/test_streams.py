"""A Streams application that counts words, fed all the time, goes from release to release: each count is exact."""

import random
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from harness import operator, streams
from harness.broker import NEWEST
from harness.pool import Pool
from harness.quorum import GROUP, Quorum
from harness.shell import get, holds_for, items, kubectl, wait_until
from harness.streams import CHANGE_TIMEOUT_S, ONE_BROKER, Application, image

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(3600)]

_KILL_S = (1.0, 60.0)
"""Between two kills. Each of them takes both replicas, and the next one some twenty seconds to hold the lease."""
_KILLED_TIMEOUT_S = 3 * CHANGE_TIMEOUT_S
_UNTOUCHED_S = 30.0


@pytest.fixture
def brokers(quorum: Quorum, pools: Callable[[str], Pool], request: pytest.FixtureRequest) -> Pool:
    """A pool of one broker, with a quorum of one controller; the parameter is another release than the newest."""
    quorum.apply({"kafka": {"version": getattr(request, "param", NEWEST)}, "controllers": {"replicas": 1}})
    found = pools("events")
    found.apply(ONE_BROKER)
    quorum.wait_ready()
    found.wait_ready()
    return found


@pytest.fixture
def application(brokers: Pool, request: pytest.FixtureRequest) -> Application:
    """The application, not applied yet, with its topics."""
    found = Application(pool=brokers)
    found.make_topics()
    request.node.stash.setdefault(streams.KNOWN, []).append(found)
    return found


@contextmanager
def killed_operator(seed: int) -> Iterator[None]:
    """The acting operator is killed at random gaps while this lasts, at least once."""
    chosen, ending = random.Random(seed), threading.Event()  # noqa: S311 - no secret
    faults: list[Exception] = []
    kills = 0

    def kill() -> None:
        nonlocal kills
        try:
            while not ending.wait(chosen.uniform(*_KILL_S)):
                operator.wait_acting()
                operator.crash()
                kills += 1
        except Exception as error:  # noqa: BLE001 - raised in the scenario
            faults.append(error)

    thread = threading.Thread(target=kill, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ending.set()
        thread.join(120)
        print(f"the operator was killed {kills} times (seed {seed})", flush=True)
    assert not faults
    assert kills > 0


@contextmanager
def counted(application: Application, start: str, *others: str) -> Iterator[None]:
    """The application runs `start`, and counts what it is fed while this lasts; at the end each count is exact.

    The images of `others` are there too.
    """
    streams.load_images(start, *others)
    application.apply(start)
    application.wait_ready(start)
    with application.fed():
        yield
        found = application.difference()
    print(found, *application.events(), sep="\n")
    assert found.exact


def change(application: Application, old: str, new: str, *middle: str, timeout_s: float = CHANGE_TIMEOUT_S) -> None:
    """Upgrade while fed: instances run `old`, `new` with each of `middle`, and `new`; one at a time."""
    with application.watched() as seen:
        application.upgrade(new)
        application.wait_ready(new, timeout_s)
    print(seen, f"at most {seen.most_away} away in {seen.looks} looks", flush=True)
    steps = [(image(old), ""), *((image(new), value) for value in middle), (image(new), "")]
    assert seen.runs() == dict.fromkeys(range(3), steps)
    assert seen.most_away == 1


@pytest.mark.full
def test_two_bounces(application: Application) -> None:
    """2.3 → 3.9 takes two bounces with upgrade.from=2.3; one instance at a time; no count is lost or doubled."""
    with counted(application, "2.3.1", "3.9.1"):
        change(application, "2.3.1", "3.9.1", "2.3")


@pytest.mark.full
def test_on_to_the_newest_with_the_operator_killed(application: Application, randomly_seed: int) -> None:
    """2.3 → 3.9 → 4.3 takes two bounces and one; the operator is killed at random gaps; each count is exact."""
    with counted(application, "2.3.1", "3.9.1", "4.3.1"), killed_operator(randomly_seed):
        change(application, "2.3.1", "3.9.1", "2.3", timeout_s=_KILLED_TIMEOUT_S)
        change(application, "3.9.1", "4.3.1", timeout_s=_KILLED_TIMEOUT_S)


@pytest.mark.full
@pytest.mark.usefixtures("older_kafka")
@pytest.mark.parametrize("brokers", ["3.9.2"], indirect=True)  # later ones do not serve clients before 2.1 (KIP-896)
def test_before_version_probing(application: Application) -> None:
    """1.1 → 2.0, which one bounce would break, takes two with upgrade.from=1.1; each count is exact."""
    with counted(application, "1.1.1", "2.0.1"):
        change(application, "1.1.1", "2.0.1", "1.1")


@pytest.mark.full
def test_only_offline(application: Application) -> None:
    """2.3 → 4.3 is refused while instances run, with the bridge named; then it is done offline, and nothing is lost."""
    with counted(application, "2.3.1", "4.3.1"):
        before = application.uids()
        application.upgrade("4.3.1")
        application.wait_told("4.3.1", "3.9", "offlineTo")
        holds_for("every instance is untouched", lambda: application.uids() == before, _UNTOUCHED_S)
        application.patch({"offlineTo": "4.3.1"})
        application.wait_ready("4.3.1", CHANGE_TIMEOUT_S)


@pytest.mark.full
def test_broken_image(application: Application) -> None:
    """An image that cannot be pulled stops the change after one instance, the others stay; setting it back repairs."""
    with counted(application, "3.9.1"):
        before = application.uids()
        application.patch({"release": "4.3.1", "image": "testbed/streams:nothing"})
        told = application.wait_told("image cannot be pulled")
        assert application.conditions()["Degraded"]["status"] == "True"
        (broken,) = (index for index, uid in application.uids().items() if before[index] != uid)
        assert f"nstance {broken}" in told["message"]
        others = {index: uid for index, uid in before.items() if index != broken}

        def untouched() -> bool:
            now = application.uids()
            return {index: now.get(index) for index in others} == others

        holds_for("the others are untouched", untouched, _UNTOUCHED_S)
        application.upgrade("3.9.1")
        application.wait_ready("3.9.1", CHANGE_TIMEOUT_S)
        assert untouched()


@pytest.mark.full
def test_turned_round_between_the_bounces(application: Application) -> None:
    """A change that is taken back in its second bounce goes back with an empty state directory; each count is exact."""
    with counted(application, "2.3.1", "3.9.1"):
        application.upgrade("3.9.1")
        wait_until(
            "the second bounce has begun",
            lambda: (application.status().get("change") or {}).get("step") == 2,
            CHANGE_TIMEOUT_S,
        )
        application.upgrade("2.3.1")
        application.wait_ready("2.3.1", CHANGE_TIMEOUT_S)


@pytest.mark.full
def test_to_the_streams_protocol(application: Application) -> None:
    """The classic protocol becomes the streams protocol (KIP-1071) offline, when a person says so; nothing is lost."""
    with counted(application, "4.3.1"):
        before = application.uids()
        body = application.body("4.3.1", {"protocol": "Streams"})
        container = body["spec"]["template"]["spec"]["containers"][0]
        container["env"].append({"name": "GROUP_PROTOCOL", "value": "streams"})
        application.patch(body["spec"])
        application.wait_told("offlineTo")
        holds_for("every instance is untouched", lambda: application.uids() == before, _UNTOUCHED_S)
        application.patch({"offlineTo": "4.3.1"})
        wait_until(
            "every instance has the streams protocol",
            lambda: len(now := application.uids()) == len(before) and not set(now.values()) & set(before.values()),
            CHANGE_TIMEOUT_S,
        )
        application.wait_ready("4.3.1", CHANGE_TIMEOUT_S)


@pytest.mark.full
def test_a_stateful_set_is_adopted(application: Application) -> None:
    """Its pods become the instances without a restart, on their claims; then they are upgraded; each count is exact."""
    streams.load_images("3.9.1", "4.3.1")
    application.apply_plain("3.9.1")
    space = application.namespace
    before = {item["metadata"]["uid"] for item in items(space, "pods", "-l", "app=counting")}
    claims = {item["metadata"]["name"] for item in items(space, "pvc")}
    with application.fed():
        application.wait_counting()
        spec = application.adopting("3.9.1")
        told = spec["template"]["spec"].pop("securityContext")
        application.apply("3.9.1", spec)
        application.wait_told("kafkaquorum.io/adopt", f"runs as user {told['runAsUser']}")
        application.apply("3.9.1", application.adopting("3.9.1"))
        assert get(space, "statefulset", application.name)
        kubectl("-n", space, "annotate", "statefulset", application.name, f"{GROUP}/adopt={application.name}")
        application.wait_ready("3.9.1")
        assert set(application.uids().values()) == before
        assert not get(space, "statefulset", application.name)
        assert application.status()["adoption"]["stage"] == "Adopted"
        application.upgrade("4.3.1")
        application.wait_ready("4.3.1", CHANGE_TIMEOUT_S)
        assert not set(application.uids().values()) & before
        assert {item["metadata"]["name"] for item in items(space, "pvc")} == claims
        found = application.difference()
    print(found, *application.events(), sep="\n")
    assert found.exact
