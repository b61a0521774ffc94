"""The whole upgrade of an old quorum with three brokers in use: static on 3.9.2, to 4.1.2, dynamic, to 4.4.0.

The owner of the brokers follows the documents: their releases after the controllers', and the voters removed from their
properties once the quorum is dynamic. All that time a client writes metadata through them.
"""

import random
import statistics
import time
from collections.abc import Callable, Iterator

import pytest

from harness.brokers import Brokers
from harness.quorum import Quorum
from harness.shell import Json, wait_until
from harness.watching import Watching
from harness.writer import Writer
from scenarios.conftest import WAYS_IN
from scenarios.expectations import assert_nothing_lost, assert_one_quorum
from scenarios.rolls import (
    ROLL_TIMEOUT_S,
    Figures,
    assert_at_the_top,
    assert_release,
    one_roll,
    operator_killed_at_random,
    wait_features,
)
from scenarios.test_scaling import ALL

pytestmark = [pytest.mark.e2e, pytest.mark.full, pytest.mark.timeout(2400)]

FIRST, MIDDLE, LAST = "3.9.2", "4.1.2", "4.4.0"
VOTERS = "controller.quorum.voters="
FOLLOW: Json = {"policy": "Follow", "soakSeconds": 1}
DYNAMIC: Json = {**FOLLOW, "levels": [{"name": "kraft.version", "level": 1}]}
_LEVELS_TIMEOUT_S = 600.0
_STOPS = 2
"""How often the active controller is stopped for comparison, on each starting release of a roll."""
_STOPPED = "active controller stopped on"
_LEAVES = {f"controllers to {MIDDLE}": FIRST, "static to dynamic": MIDDLE, f"controllers to {LAST}": MIDDLE}
"""The release that the active controller runs when a roll stops it."""


class Story:
    """A static quorum with its brokers, its writer and its measurements."""

    def __init__(self, quorum: Quorum, brokers: Brokers, figures: Figures, patience: float = 1.0) -> None:
        """`patience` is a factor on all time limits."""
        self._quorum, self._brokers, self.figures, self._patience = quorum, brokers, figures, patience

    def controllers_to(self, version: str) -> None:
        """Upgrade the controllers."""
        with one_roll(self.figures, self._quorum, f"controllers to {version}"):
            self._quorum.patch({"kafka": {"version": version}})
            self._quorum.wait_ready(ROLL_TIMEOUT_S * self._patience)
        assert_release(self._quorum, version)

    def brokers_to(self, version: str) -> None:
        """Upgrade the brokers."""
        with self.figures.of(f"brokers to {version}"):
            self._brokers.roll(version=version)

    def levels_follow(self) -> None:
        """Raise every level to the release's highest, except the one that makes a quorum dynamic."""
        with self.figures.of("levels"):
            self._quorum.patch({"kafka": {"features": FOLLOW}})
            wait_features(self._quorum, "True", "Settled", timeout_s=_LEVELS_TIMEOUT_S * self._patience)

    def becomes_dynamic(self) -> None:
        """One field: kraft.version 1, directory ids in the voter set, and one roll that drops the static setting."""
        assert_static(self._quorum)
        limit_s = ROLL_TIMEOUT_S * self._patience
        with one_roll(self.figures, self._quorum, "static to dynamic"):
            self._quorum.patch({"kafka": {"features": DYNAMIC}})
            wait_until("no pod has the voters in its properties", self._named_nowhere, limit_s, 1.0)
            self._quorum.wait_ready(limit_s)
        assert self._quorum.status()["quorum"]["type"] == "Dynamic"
        assert_dynamic(self._quorum)

    def _named_nowhere(self) -> bool:
        properties = self._quorum.properties()
        return set(properties) == ALL and not any(VOTERS in text for text in properties.values())

    def brokers_find_the_quorum(self) -> None:
        """Remove the voters from the brokers' properties."""
        with self.figures.of("brokers to bootstrap servers"):
            self._brokers.roll(dynamic=True)

    def active_one_stopped(self, release: str) -> None:
        """For comparison: delete the pod of the active controller, like a person."""
        active = self.figures.watching.leaders[-1].node_id
        old = self._quorum.pods()[active]["metadata"]
        with self.figures.of(f"{_STOPPED} {release}"):
            self._quorum.delete_pod(old["name"])

            def again() -> bool:
                pod = self._quorum.pods().get(active)
                return pod is not None and pod["metadata"]["uid"] != old["uid"]

            wait_until("its pod is made again", again, 90 * self._patience)
            self._quorum.wait_ready(ROLL_TIMEOUT_S * self._patience)


def assert_static(quorum: Quorum) -> None:
    """The voters are in the properties, kraft.version is 0, and the status reports Static."""
    assert quorum.status()["quorum"]["type"] == "Static"
    assert quorum.levels().get("kraft.version", 0) == 0
    assert all(VOTERS in text for text in quorum.properties().values())


def assert_dynamic(quorum: Quorum) -> None:
    """kraft.version 1 on every node, the disks' directory ids in the voter set, and no voters in any properties."""
    for versions in quorum.versions().values():
        assert {row.name: row.level for row in versions.finalized}["kraft.version"] == 1
    initial = {row["node_id"] for row in quorum.record()["initial"]}  # the initial voters of a static quorum
    assert_one_quorum(quorum, initial=initial, voters=ALL)
    for text in quorum.properties().values():
        assert VOTERS not in text
        assert "controller.quorum.bootstrap.servers=" in text


Begin = Callable[[float], tuple[Story, Writer]]


@pytest.fixture
def begin(quorum: Quorum, kafka_everywhere: None, older_kafka: None) -> Iterator[Begin]:  # noqa: ARG001 - an order
    """Starts a static quorum on the first release, its brokers, a writer and a watcher; stops these in the end."""
    brokers = Brokers(quorum, WAYS_IN, version=FIRST)
    quorum.apply({"kafka": {"version": FIRST}, "bootstrap": {"mode": "Static"}})
    quorum.wait_ready()
    assert_release(quorum, FIRST)
    assert_static(quorum)
    brokers.start(static_voters=sorted(ALL))
    quorum.patch({"brokerAccess": {"bootstrapServers": brokers.bootstrap}})
    with Watching(quorum) as watching, Writer(quorum, WAYS_IN, brokers=brokers) as writer:

        def story(patience: float) -> tuple[Story, Writer]:
            return Story(quorum, brokers, Figures(watching, writer.account), patience), writer

        yield story


def tell(story: Story, stops: int) -> None:
    """From 3.9.2 and static to 4.4.0 and dynamic; on each starting release the active one is stopped this often."""
    for _ in range(stops):
        story.active_one_stopped(FIRST)
    story.controllers_to(MIDDLE)
    story.brokers_to(MIDDLE)
    story.levels_follow()
    for _ in range(stops):
        story.active_one_stopped(MIDDLE)
    story.becomes_dynamic()
    story.brokers_find_the_quorum()
    story.controllers_to(LAST)
    story.brokers_to(LAST)


def test_static_on_an_old_release_to_dynamic_on_the_newest(begin: Begin, quorum: Quorum) -> None:
    """Every feature reaches its top level, no acknowledged write is lost; the figures are printed."""
    story, writer = begin(1.0)
    tell(story, _STOPS)
    wait_features(quorum, "True", "Settled", timeout_s=_LEVELS_TIMEOUT_S)
    assert_at_the_top(quorum)
    assert_release(quorum, LAST)
    assert_nothing_lost(writer)
    report(story.figures)


@pytest.mark.timeout(5400)
def test_the_same_with_the_operator_killed(begin: Begin, quorum: Quorum, randomly_seed: int) -> None:
    """With kills at random gaps of 5 to 60 s throughout, the operator reaches the same end."""
    story, writer = begin(3.0)
    began_s = time.monotonic()
    dice = random.Random(randomly_seed)  # noqa: S311 - moments of crashes, not cryptography
    with operator_killed_at_random(dice, 5.0, 60.0) as gaps_s:
        tell(story, 0)
        wait_features(quorum, "True", "Settled", timeout_s=_LEVELS_TIMEOUT_S * 3)
    print(f"seed {randomly_seed}: {len(gaps_s)} crashes in {time.monotonic() - began_s:.0f} s")
    assert len(gaps_s) >= 5
    quorum.wait_ready()
    assert_at_the_top(quorum)
    assert_release(quorum, LAST)
    assert_nothing_lost(writer)
    report(story.figures)


def report(figures: Figures) -> None:
    """The rolls, the stops of the same run, and the spontaneous leader changes."""

    def gaps_s(what: str) -> list[float]:
        return [row.gap_s for row in figures.rows if row.what == what]

    for what, release in _LEAVES.items():
        rolls, stops = gaps_s(what), gaps_s(f"{_STOPPED} {release}")
        told = f"{what}: longest gap {', '.join(f'{gap:.2f}' for gap in rolls)} s"
        if rolls and stops:
            beside = ", ".join(f"{gap:.2f}" for gap in stops)
            told += f"; of stops of the active controller on {release} {beside} s"
            told += f"; ratio to their median {max(rolls) / statistics.median(stops):.2f}"
        print(told)
    spontaneous = [str(change) for row in figures.rows for change in row.changes if not change.stopped]
    print(f"spontaneous leader changes: {len(spontaneous)} {spontaneous}")
