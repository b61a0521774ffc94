"""Releases and levels of a running quorum: rolled one by one, raised level by level, stopped if necessary."""

import re
import time
from collections.abc import Iterator

import pytest

from harness.brokers import Brokers
from harness.quorum import Quorum
from harness.shell import Json, holds_for, wait_until
from harness.watching import Watching
from scenarios.conftest import WAYS_IN
from scenarios.expectations import assert_one_quorum, assert_untouched
from scenarios.rolls import (
    ROLL_TIMEOUT_S,
    assert_at_the_top,
    assert_one_by_one,
    assert_release,
    feature,
    wait_features,
    wait_told,
)
from scenarios.test_scaling import ALL, leader, scale

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(600)]

OLD, NEW = "4.1.2", "4.4.0"
METADATA = "metadata.version"
OLD_TOP, NEW_TOP = 27, 33
FOLLOW: Json = {"policy": "Follow", "soakSeconds": 1}


def release(version: str, **kafka: object) -> Json:
    """The part of a spec with the release and further fields of `spec.kafka`."""
    return {"kafka": {"version": version, **kafka}}


def levels(**wanted: int) -> list[Json]:
    """`spec.kafka.features.levels`; an underscore replaces the dot in a feature's name."""
    return [{"name": name.replace("_", "."), "level": level} for name, level in wanted.items()]


@pytest.fixture
def old(quorum: Quorum, older_kafka: None) -> Quorum:  # noqa: ARG001 - an order, not a value
    """A ready quorum of three on the older release, at its levels."""
    quorum.apply(release(OLD))
    quorum.wait_ready()
    assert quorum.levels()[METADATA] == OLD_TOP
    return quorum


@pytest.fixture
def watching(old: Quorum) -> Iterator[Watching]:
    """The same quorum, watched."""
    with Watching(old) as watching:
        yield watching


def renewed(quorum: Quorum, image: str) -> set[int]:
    """The controllers whose pods have this image."""
    return {node_id for node_id, present in quorum.images().items() if present == image}


def wait_half_way(quorum: Quorum, version: str) -> set[int]:
    """Wait until some pods have this release, and others do not; returns these controllers."""
    image = f"testbed/kafka:{version}"

    def some() -> set[int] | None:
        done = renewed(quorum, image)
        return done if done and len(done) < len(ALL) else None

    return wait_until(f"some are on {version}", some, ROLL_TIMEOUT_S, 0.05)


# --- rolls ----------------------------------------------------------------------------------------------------------


def test_a_changed_heap_rolls_the_active_controller_last(ready: Quorum) -> None:
    """A changed heap restarts one controller after the other with one leader change; other changes restart none."""
    node_ids = set(ready.pods())
    with Watching(ready) as watching:
        began_s = time.monotonic()
        ready.patch({"controllers": {"jvm": {"heap": "160Mi"}}})
        ready.wait_ready(ROLL_TIMEOUT_S)
        assert_one_by_one(watching, began_s, node_ids)
        (change,) = watching.changes(began_s)
        assert change.stopped
        assert change.before == watching.leaders[0]
    assert all("-Xmx160m" in str(pod["spec"]["containers"][0]["env"]) for pod in ready.pods().values())
    assert "RollCompleted" in {reason for reason, _ in ready.events()}
    running = ready.running()
    unrelated: Json = {
        "kafka": {"features": {"soakSeconds": 7}},
        "controllers": {"storage": {"retentionPolicy": {"whenScaled": "Retain"}}},
    }
    ready.patch(unrelated)
    ready.wait_ready()
    holds_for("nobody restarts", lambda: ready.running() == running, 5)
    assert_one_quorum(ready, initial=ALL, voters=ALL)


@pytest.mark.full
@pytest.mark.timeout(900)
def test_a_new_release_then_its_levels(old: Quorum, watching: Watching) -> None:
    """With Hold the levels stay, and the possible levels are reported; with Follow they rise one at a time."""
    before, began_s = old.levels(), time.monotonic()
    old.patch(release(NEW))
    old.wait_ready(ROLL_TIMEOUT_S)
    assert_release(old, NEW)
    assert_one_by_one(watching, began_s, ALL)
    assert len([change for change in watching.changes(began_s) if change.stopped]) <= 1
    wait_features(old, "True", "Held")
    holds_for("the levels stay", lambda: old.levels() == before, 5)
    row = feature(old, METADATA)
    assert (row["finalized"], row["maxSupported"]) == (OLD_TOP, NEW_TOP)
    running = old.running()
    old.patch({"kafka": {"features": FOLLOW}})
    wait_features(old, "True", "Settled", timeout_s=300)
    assert_at_the_top(old)
    assert steps(old)[METADATA] == [*range(OLD_TOP + 1, NEW_TOP + 1)]
    for name, reached in steps(old).items():
        assert reached == [*range(before.get(name, 0) + 1, old.levels()[name] + 1)], name
    assert old.running() == running
    old.wait_ready()


def steps(quorum: Quorum) -> dict[str, list[int]]:
    """The levels of each feature in the events, in their order."""
    found: dict[str, list[int]] = {}
    for reason, note in quorum.events():
        if reason == "StepFeature":
            told = re.match(r"(\S+) was set to (?:\S+ \()?(\d+)", note)  # `4.4-IV2 (33)`, or only the number
            assert told, note
            found.setdefault(told[1], []).append(int(told[2]))
    return found


@pytest.mark.full
@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        pytest.param(release(NEW, image="testbed/kafka:4.4.O"), release(OLD, image=""), id="no-such-image"),
        pytest.param(
            release(NEW) | {"controllers": {"jvm": {"options": ["-XX:NoSuchOption"]}}},
            release(OLD) | {"controllers": {"jvm": {"options": []}}},
            id="it-exits",
        ),
        pytest.param(release(NEW, image=f"testbed/kafka:{OLD}"), release(OLD, image=""), id="another-release"),
    ],
)
def test_a_roll_stops_at_the_first_that_fails(wrong: Json, right: Json, old: Quorum, watching: Watching) -> None:
    """The first controller that fails is named, the others stay, and with the reverted spec it runs again."""
    running, active, began_s = old.running(), leader(old), time.monotonic()
    old.patch(wrong)

    def changed() -> set[int] | None:
        now = old.running()
        return {node for node in ALL if now.get(node, ("", 0, ""))[0] != running[node][0]} or None

    (first,) = wait_until("one is restarted", changed, 120)
    assert first != active
    condition = old.wait_condition("Progressing", "False", "RollHeld", ROLL_TIMEOUT_S)
    print(condition["message"])
    assert str(first) in condition["message"]
    holds_for("no other is restarted", lambda: changed() == {first}, 15)
    old.wait_condition("Available", "True")
    assert old.levels()[METADATA] == OLD_TOP
    old.patch(right)
    old.wait_ready(ROLL_TIMEOUT_S)
    assert_release(old, OLD)
    assert_untouched(old, running, ALL - {first})
    assert not watching.changes(began_s)
    assert old.condition("Degraded")["status"] == "False"
    assert_one_quorum(old, initial=ALL, voters=ALL)


@pytest.mark.full
def test_a_roll_is_paused_and_resumed(old: Quorum, watching: Watching) -> None:
    """During a pause no other controller restarts; afterwards the others follow, and finished ones stay."""
    began_s = time.monotonic()
    old.patch(release(NEW))
    wait_half_way(old, NEW)
    old.patch({"paused": True})
    old.wait_condition("Progressing", "False", "Paused")
    done = renewed(old, f"testbed/kafka:{NEW}")
    holds_for("nobody else is restarted", lambda: renewed(old, f"testbed/kafka:{NEW}") == done, 15)
    assert len(done) < len(ALL)
    uids = {node_id: old.pods()[node_id]["metadata"]["uid"] for node_id in done}
    old.patch({"paused": False})
    old.wait_ready(ROLL_TIMEOUT_S)
    assert_release(old, NEW)
    assert {node_id: old.pods()[node_id]["metadata"]["uid"] for node_id in done} == uids
    assert_one_by_one(watching, began_s, ALL)
    assert len([change for change in watching.changes(began_s) if change.stopped]) <= 1


@pytest.mark.full
def test_a_roll_is_reversed_half_way(old: Quorum, watching: Watching) -> None:
    """If the spec is reverted half-way, only the controllers on the new release restart again, and the leader stays."""
    running, began_s = old.running(), time.monotonic()
    old.patch(release(NEW))
    wait_half_way(old, NEW)
    old.patch(release(OLD))
    old.wait_ready(ROLL_TIMEOUT_S)
    assert_release(old, OLD)
    touched = {row.node_id for row in watching.restarts(began_s)}
    assert touched < ALL
    assert_untouched(old, running, ALL - touched)
    assert not [change for change in watching.changes(began_s) if change.stopped]
    assert_one_quorum(old, initial=ALL, voters=ALL)


# --- levels that are impossible -------------------------------------------------------------------------------------


@pytest.mark.full
@pytest.mark.timeout(900)
def test_a_broker_on_an_older_release_blocks_and_is_named(old: Quorum) -> None:
    """An older broker blocks the levels and is named with its range; after its upgrade the levels follow."""
    brokers = Brokers(old, WAYS_IN, version=OLD, node_ids=[1])
    brokers.start()
    old.patch({"brokerAccess": {"bootstrapServers": brokers.bootstrap}})
    old.patch(release(NEW, features=FOLLOW))
    old.wait_ready(ROLL_TIMEOUT_S)
    condition = wait_features(old, "False", "Blocked")
    print(condition["message"])
    for word in ("broker 1", METADATA, str(OLD_TOP)):
        assert word in condition["message"].lower(), word
    assert feature(old, METADATA)["blockedBy"]
    holds_for("the level stays", lambda: old.levels()[METADATA] == OLD_TOP, 10)
    brokers.roll(version=NEW)
    wait_features(old, "True", "Settled", timeout_s=300)
    assert_at_the_top(old)


@pytest.mark.full
@pytest.mark.timeout(900)
def test_a_ghost_of_a_removed_controller_is_cured(old: Quorum) -> None:
    """The registration of a removed controller on the older release blocks no level, and is removed."""
    scale(old, 4)
    old.wait_ready(180)
    scale(old, 3)
    old.wait_ready(180)
    assert old.registered() == ALL | {3003}
    old.patch(release(NEW, features=FOLLOW))
    old.wait_ready(ROLL_TIMEOUT_S)
    wait_features(old, "True", "Settled", timeout_s=300)
    assert_at_the_top(old)
    wait_until("the ghost is forgotten", lambda: old.registered() == ALL, 60)
    print([note for reason, note in old.events() if reason == "GhostCured"])
    assert_one_quorum(old, initial=ALL, voters=ALL)


@pytest.mark.full
def test_an_image_older_than_the_levels_is_refused(ready: Quorum, older_kafka: None) -> None:  # noqa: ARG001 - an order
    """An image that is too old for the levels is refused before a pod is touched, with the level and the release."""
    running = ready.running()
    ready.patch(release(OLD))
    wait_told(ready, METADATA, OLD)
    holds_for("no pod is touched", lambda: ready.running() == running, 10)
    ready.wait_condition("Available", "True")
    ready.patch(release(NEW))
    ready.wait_ready()
    assert ready.running() == running


@pytest.mark.full
def test_downgrades_safe_refused_and_forbidden(quorum: Quorum) -> None:
    """A lossless downgrade by one level works with Safe; a lossy one is refused; without Safe none is tried."""
    features: Json = {"levels": levels(metadata_version=31)}
    quorum.apply(release(NEW, features=features))
    quorum.wait_ready()
    assert quorum.levels()[METADATA] == 31
    quorum.patch({"kafka": {"features": {"levels": levels(metadata_version=30)}}})
    condition = wait_features(quorum, "False", "Refused")
    assert "spec.kafka.features.downgrade" in condition["message"]
    holds_for("the level stays", lambda: quorum.levels()[METADATA] == 31, 5)
    safe: Json = {"downgrade": "Safe", "soakSeconds": 1}
    quorum.patch({"kafka": {"features": {**safe, "levels": levels(metadata_version=30)}}})
    wait_features(quorum, "True", timeout_s=60)
    assert quorum.levels()[METADATA] == 30
    quorum.patch({"kafka": {"features": {**safe, "levels": levels(metadata_version=29)}}})
    condition = wait_features(quorum, "False", "Refused")
    print(condition["message"])
    assert METADATA in condition["message"]
    holds_for("the level stays", lambda: quorum.levels()[METADATA] == 30, 5)
    quorum.wait_condition("Available", "True")
