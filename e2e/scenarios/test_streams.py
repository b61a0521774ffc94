"""A Streams application that counts words, fed all the time, goes from release to release: each count is exact."""

from collections.abc import Callable, Iterator

import pytest

from harness import streams
from harness.pool import Pool
from harness.quorum import Quorum
from harness.streams import CHANGE_TIMEOUT_S, Application, image

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(1800)]

_ONE_BROKER = {
    "replicas": 1,
    "config": {
        "default.replication.factor": "1",
        "offsets.topic.replication.factor": "1",
        "transaction.state.log.replication.factor": "1",
        "transaction.state.log.min.isr": "1",
        "group.initial.rebalance.delay.ms": "0",
        "group.min.session.timeout.ms": "3000",
    },
}


@pytest.fixture
def brokers(quorum: Quorum, pools: Callable[[str], Pool]) -> Pool:
    """A pool of one broker, with a quorum of one controller."""
    quorum.apply({"controllers": {"replicas": 1}})
    found = pools("events")
    found.apply(_ONE_BROKER)
    quorum.wait_ready()
    found.wait_ready()
    return found


@pytest.fixture
def application(brokers: Pool, request: pytest.FixtureRequest) -> Iterator[Application]:
    """The application, not applied yet, with its topics."""
    found = Application(pool=brokers)
    found.make_topics()
    request.node.stash.setdefault(streams.KNOWN, []).append(found)
    yield found


def test_two_bounces_then_one(application: Application) -> None:
    """2.3 → 3.9 takes two bounces, 3.9 → 4.3 one; one instance at a time; no count is lost or doubled."""
    streams.load_images("2.3.1", "3.9.1", "4.3.1")
    application.apply("2.3.1")
    application.wait_ready("2.3.1")
    with application.fed():
        with application.watched() as seen:
            application.upgrade("3.9.1")
            application.wait_ready("3.9.1", CHANGE_TIMEOUT_S)
        print(seen, seen.most_away, seen.looks)
        old, new = image("2.3.1"), image("3.9.1")
        assert seen.runs() == {index: [(old, ""), (new, "2.3"), (new, "")] for index in range(3)}
        assert seen.most_away == 1
        with application.watched() as seen:
            application.upgrade("4.3.1")
            application.wait_ready("4.3.1", CHANGE_TIMEOUT_S)
        assert seen.runs() == {index: [(new, ""), (image("4.3.1"), "")] for index in range(3)}
        assert seen.most_away == 1
        found = application.difference()
    print(found, *application.events(), sep="\n")
    assert found.exact
