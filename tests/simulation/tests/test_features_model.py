"""The modelled Kafka has releases, finalized levels and registrations, and answers UpdateFeatures in Kafka's words."""

import pytest
from tests.simulation.model.kafka.disk import Disk
from tests.simulation.model.kafka.features_api import ModelFeatures
from tests.simulation.model.kafka.kraft_api import ModelControllers
from tests.simulation.model.kafka.kraft_model import CannotStartError
from tests.simulation.model.kafka.process import Process, Software
from tests.simulation.model.kafka.releases import level_of, levels_of, supported
from tests.simulation.model.world import World
from tests.simulation.tests.quorums import CLUSTER, Quorum, disk, key

from kafka_quorum.errors import KafkaRefused
from kafka_quorum.model.ids import NodeID
from kafka_quorum.model.quorum import Endpoint, FeatureStep, RegisterController, UpdateFeature

METADATA = "metadata.version"
KRAFT = "kraft.version"


def endpoint(process: Process) -> Endpoint:
    """Where a process listens."""
    return Endpoint(node_id=process.meta.node_id, host=process.address, port=process.port)


def on(on_disk: Disk, quorum: Quorum, release: str, *, static: tuple[int, ...] = (), broker: bool = False) -> Process:
    """Start a release on a disk."""
    assert on_disk.meta is not None
    node_id = on_disk.meta.node_id
    software = Software(release=release, static=frozenset(NodeID(one) for one in static), broker=broker)
    process = quorum.kraft.start(
        on_disk,
        node_id=node_id,
        address=f"10.0.0.{node_id}",
        host=f"host-{node_id}",
        port=9093,
        listener="CONTROLLER",
        as_=software,
    )
    quorum.processes[node_id] = process
    return process


def three(release: str, *, metadata: int = 0) -> Quorum:
    """Three voters of a release, with a leader; kraft.version and the given metadata.version are finalized."""
    quorum = Quorum()
    keys = frozenset(key(node_id) for node_id in (1, 2, 3))
    for replica in sorted(keys, key=str):
        formatted = disk(replica, keys)
        if metadata:
            formatted.levels = levels_of({KRAFT: 1, METADATA: metadata})
        on(formatted, quorum, release)
    quorum.pass_time(5)
    return quorum


def static(release: str) -> Quorum:
    """Three static voters of a release, with a leader."""
    quorum = Quorum()
    for node_id in (1, 2, 3):
        formatted = disk(key(node_id), frozenset())
        formatted.static = True
        on(formatted, quorum, release, static=(1, 2, 3))
    quorum.pass_time(5)
    return quorum


def step(name: str, level: int, *, downgrade: bool = False, validate_only: bool = False) -> UpdateFeature:
    """One step."""
    wanted = FeatureStep(name=name, level=level, downgrade=downgrade)
    return UpdateFeature(step=wanted, validate_only=validate_only, timeout_ms=1000)


def answer(quorum: Quorum, request: UpdateFeature, to: Process | None = None) -> tuple[str, str]:
    """The name and the words of the refusal; empty without one."""
    try:
        ModelFeatures(quorum.kraft).update(endpoint(to or quorum.leader), request)
    except KafkaRefused as refusal:
        return refusal.name, refusal.server_message
    return "", ""


def level(quorum: Quorum, name: str) -> int:
    """The committed level."""
    return level_of(quorum.kraft.levels_of(CLUSTER), name)


def test_a_quorum_begins_with_what_its_disks_were_formatted_with() -> None:
    """A quorum begins with the levels of its disks' format, and every node reports them once they are committed."""
    assert level(three("4.1.2"), METADATA) == 27
    quorum = three("4.4.0", metadata=27)
    told = [ModelControllers(quorum.kraft).versions(endpoint(one)) for one in quorum.processes.values()]
    assert {level_of(one.finalized, METADATA) for one in told} == {27}
    assert {one.supported for one in told} == {supported("4.4.0")}
    assert len({one.finalized_epoch for one in told}) == 1


def test_the_finalized_epoch_is_the_offset_of_the_last_change() -> None:
    """The finalized epoch moves with a level, and with nothing else."""
    quorum = three("4.4.0", metadata=27)
    api = ModelControllers(quorum.kraft)
    before = api.versions(endpoint(quorum.leader)).finalized_epoch
    quorum.pass_time(5)
    assert api.versions(endpoint(quorum.leader)).finalized_epoch == before
    assert answer(quorum, step(METADATA, 28)) == ("", "")
    assert api.versions(endpoint(quorum.leader)).finalized_epoch > before


def test_validating_changes_nothing() -> None:
    """A validation has the answer of the real request, and the level stays."""
    quorum = three("4.4.0", metadata=27)
    assert answer(quorum, step(METADATA, 28, validate_only=True)) == ("", "")
    assert answer(quorum, step(METADATA, 34, validate_only=True))[0] == "INVALID_UPDATE_VERSION"
    assert level(quorum, METADATA) == 27


def test_only_the_active_controller_takes_a_step() -> None:
    """Only the active controller accepts a step; a follower's refusal names the leader."""
    quorum = three("4.4.0", metadata=27)
    follower = next(one for one in quorum.processes.values() if one is not quorum.leader)
    name, words = answer(quorum, step(METADATA, 28), follower)
    assert (name, words) == (
        "NOT_CONTROLLER",
        f"The active controller appears to be node {quorum.leader.meta.node_id}.",
    )


def test_a_node_that_lags_is_named() -> None:
    """The refusal names the node that lags: first the leader itself, then a broker, then a controller."""
    quorum = three("4.4.0", metadata=21)
    assert answer(quorum, step(METADATA, 34))[1] == (
        f"Invalid update version 34 for feature metadata.version. "
        f"Local controller {quorum.leader.meta.node_id} only supports versions 7-33"
    )
    on(disk(key(9), frozenset()), quorum, "4.1.2")
    quorum.pass_time(2)
    assert answer(quorum, step(METADATA, 28))[1] == (
        "Invalid update version 28 for feature metadata.version. Controller 9 only supports versions 7-27"
    )
    on(disk(key(20), frozenset()), quorum, "3.9.2", broker=True)
    quorum.pass_time(2)
    assert answer(quorum, step(METADATA, 22))[1] == (
        "Invalid update version 22 for feature metadata.version. Broker 20 only supports versions 1-21"
    )
    assert answer(quorum, step("group.version", 1))[1].endswith("Broker 20 does not support this feature.")


def test_a_registration_outlives_its_node_and_a_new_release_replaces_it() -> None:
    """A stopped controller blocks a step as a ghost; after a restart with a later release it does not."""
    quorum = three("4.4.0", metadata=27)
    ghost = disk(key(9), frozenset())
    process = on(ghost, quorum, "4.1.2")
    quorum.pass_time(2)
    quorum.kraft.stop(process)
    quorum.pass_time(400)
    told = ModelControllers(quorum.kraft).cluster(endpoint(quorum.leader))
    assert told.controller_ids == (1, 2, 3, 9)
    assert answer(quorum, step(METADATA, 28))[0] == "INVALID_UPDATE_VERSION"
    on(ghost, quorum, "4.4.0")
    quorum.pass_time(2)
    assert answer(quorum, step(METADATA, 28)) == ("", "")


def test_a_ghost_is_registered_anew_and_a_live_one_puts_it_right() -> None:
    """A registration in the place of a live controller holds only until that controller registers again."""
    quorum = three("4.4.0", metadata=27)
    process = on(disk(key(9), frozenset()), quorum, "4.1.2")
    quorum.pass_time(2)
    features = ModelFeatures(quorum.kraft)
    request = RegisterController(
        node_id=key(9).node_id, incarnation_id="another", supported=supported("4.4.0"), listeners=()
    )
    features.register(endpoint(quorum.leader), request)
    assert answer(quorum, step(METADATA, 28, validate_only=True)) == ("", "")
    quorum.pass_time(2)
    assert answer(quorum, step(METADATA, 28, validate_only=True))[0] == "INVALID_UPDATE_VERSION"
    quorum.kraft.stop(process)
    features.register(endpoint(quorum.leader), request)
    quorum.pass_time(5)
    assert answer(quorum, step(METADATA, 28)) == ("", "")


@pytest.mark.parametrize(
    ("metadata", "who", "refused"),
    [(30, "ghost", "UNSUPPORTED_VERSION"), (33, "leader", "INVALID_REQUEST"), (33, "ghost", ""), (33, "stranger", "")],
)
def test_unregistering_is_answered_like_kafka(metadata: int, who: str, refused: str) -> None:
    """Unregistering needs metadata.version 31, is refused for the active controller, and succeeds for an unknown id."""
    quorum = three("4.4.0", metadata=metadata)
    process = on(disk(key(9), frozenset()), quorum, "4.4.0")
    quorum.pass_time(2)
    quorum.kraft.stop(process)
    node_id = {"leader": quorum.leader.meta.node_id, "ghost": process.meta.node_id, "stranger": NodeID(77)}[who]
    said = ""
    try:
        ModelFeatures(quorum.kraft).unregister(endpoint(quorum.leader), node_id)
    except KafkaRefused as refusal:
        said = refusal.name
    quorum.pass_time(2)
    ids = ModelControllers(quorum.kraft).cluster(endpoint(quorum.leader)).controller_ids
    assert (said, 9 in ids) == (refused, bool(refused) or who == "stranger")


def test_a_live_controller_registers_again_within_two_seconds() -> None:
    """A live controller that is unregistered registers again within two seconds."""
    quorum = three("4.4.0")
    follower = next(one for one in quorum.processes.values() if one is not quorum.leader)
    ModelFeatures(quorum.kraft).unregister(endpoint(quorum.leader), follower.meta.node_id)
    quorum.pass_time(2)
    assert ModelControllers(quorum.kraft).cluster(endpoint(quorum.leader)).controller_ids == (1, 2, 3)


@pytest.mark.parametrize("present", range(8, 34))
def test_a_downgrade_is_refused_where_it_would_lose_records(present: int) -> None:
    """A downgrade by one level is refused exactly from the levels that were measured as lossy."""
    quorum = three("4.4.0", metadata=present)
    name, words = answer(quorum, step(METADATA, present - 1, downgrade=True))
    lossy = present in {8, 11, 13, 14, 15, 17, 23, 30, 32, 33}
    assert (name, level(quorum, METADATA)) == (("INVALID_UPDATE_VERSION", present) if lossy else ("", present - 1))
    assert ("might delete metadata information" in words) == lossy


@pytest.mark.parametrize(
    ("request_", "words"),
    [
        (step(KRAFT, 0, downgrade=True), "Can't downgrade the version of this feature."),
        (step(METADATA, 28), "without setting the upgrade type to either safe or unsafe downgrade."),
        (step("transaction.version", 3), "only supports versions 0-2"),
    ],
    ids=["kraft.version", "no downgrade", "beyond the range"],
)
def test_other_refusals_have_kafkas_words(request_: UpdateFeature, words: str) -> None:
    """kraft.version never goes down, and other features go down only in a downgrade request."""
    name, said = answer(three("4.4.0", metadata=29), request_)
    assert (name, said.endswith(words)) == ("INVALID_UPDATE_VERSION", True)


def test_a_feature_goes_to_zero_and_is_not_told_of_then() -> None:
    """A feature at level 0 is not among the finalized ones."""
    quorum = three("4.4.0")
    assert answer(quorum, step("transaction.version", 0, downgrade=True)) == ("", "")
    told = ModelControllers(quorum.kraft).versions(endpoint(quorum.leader)).finalized
    assert "transaction.version" not in {one.name for one in told}


def test_an_error_is_not_a_no() -> None:
    """While the followers are frozen the answer is NOT_CONTROLLER, and the change is applied later."""
    quorum = three("4.4.0", metadata=27)
    followers = [one for one in quorum.processes.values() if one is not quorum.leader]
    for one in followers:
        one.frozen = True
    assert answer(quorum, step(METADATA, 28))[0] == "NOT_CONTROLLER"
    assert level(quorum, METADATA) == 27
    for one in followers:
        one.frozen = False
    quorum.pass_time(5)
    assert level(quorum, METADATA) == 28


def test_a_release_that_does_not_support_the_levels_exits() -> None:
    """A release without support for the levels exits: at its start, or as soon as it reads a raised level."""
    quorum = three("4.4.0")
    stopped = next(one for one in quorum.processes.values() if one is not quorum.leader)
    quorum.kraft.stop(stopped)
    with pytest.raises(CannotStartError, match=r"No metadata[.]version with feature level 33"):
        on(stopped.disk, quorum, "4.1.2")
    late = on(disk(key(9), frozenset()), quorum, "4.1.2")
    quorum.pass_time(2)
    assert late.failed
    assert late not in quorum.kraft.processes


def test_a_static_quorum_knows_its_voters_by_their_node_ids() -> None:
    """Static voters are reported without directory ids, with their fetches; kraft.version is 0."""
    quorum = static("4.1.2")
    told = ModelControllers(quorum.kraft).quorum(endpoint(quorum.leader))
    assert [(row.key.node_id, row.key.directory_id) for row in told.voters] == [(1, None), (2, None), (3, None)]
    assert all(row.last_fetch_ms > 0 for row in told.voters)
    assert told.observers == ()
    assert level(quorum, KRAFT) == 0


def test_a_static_quorum_takes_a_wiped_voter_for_the_voter_it_was() -> None:
    """A static quorum accepts a wiped voter; two wiped voters may elect a leader without the records."""
    quorum = static("4.1.2")
    for node_id in (1, 2):
        quorum.kraft.stop(quorum.processes[node_id])
        wiped = disk(key(node_id, "w"), frozenset())
        wiped.static = True
        on(wiped, quorum, "4.1.2", static=(1, 2, 3))
        quorum.pass_time(5)
    assert quorum.leader.meta.node_id in (1, 2, 3)
    assert not quorum.kraft.broken
    for process in list(quorum.processes.values()):
        quorum.kraft.stop(process)
    for node_id in (1, 2):
        wiped = disk(key(node_id, "x"), frozenset())
        wiped.static = True
        on(wiped, quorum, "4.1.2", static=(1, 2, 3))
    quorum.pass_time(5)
    assert quorum.kraft.broken


def test_bootstrap_servers_alone_do_not_do_at_kraft_version_0() -> None:
    """A static disk without static voters in the configuration does not start."""
    quorum = static("4.1.2")
    quorum.kraft.stop(quorum.processes[1])
    with pytest.raises(CannotStartError, match=r"voters=\[\]"):
        on(quorum.processes[1].disk, quorum, "4.1.2")


def test_a_static_quorum_becomes_dynamic_at_kraft_version_1() -> None:
    """From 4.1 on the directory ids are there at once, and static settings are ignored and can be dropped."""
    quorum = static("4.1.2")
    assert answer(quorum, step(KRAFT, 1)) == ("", "")
    told = ModelControllers(quorum.kraft).quorum(endpoint(quorum.leader))
    assert {row.key for row in told.voters} == {key(1), key(2), key(3)}
    quorum.pass_time(2)
    follower = next(one for one in quorum.processes.values() if one is not quorum.leader)
    quorum.kraft.stop(follower)
    on(follower.disk, quorum, "4.1.2")
    quorum.pass_time(5)
    assert quorum.kraft.is_caught_up(quorum.leader, follower.key, 1.0)
    assert level(quorum, KRAFT) == 1


def test_on_3_9_kraft_version_1_is_told_and_nothing_has_changed() -> None:
    """On 3.9 the answer is a success and the level reads 1, but the voters have no directory ids."""
    quorum = static("3.9.2")
    assert answer(quorum, step(KRAFT, 1)) == ("", "")
    quorum.pass_time(2)
    told = ModelControllers(quorum.kraft).quorum(endpoint(quorum.leader))
    assert {row.key.directory_id for row in told.voters} == {None}
    assert level(quorum, KRAFT) == 1


def test_a_static_voter_that_was_not_heard_holds_the_change() -> None:
    """A static voter that has not fetched blocks the change, because its directory id is not known."""
    quorum = static("4.1.2")
    silent = next(one for one in quorum.processes.values() if one is not quorum.leader)
    quorum.kraft.stop(silent)
    quorum.kraft.stop(quorum.leader)
    again = next(one for one in quorum.processes.values() if one not in quorum.kraft.processes and one is not silent)
    on(again.disk, quorum, "4.1.2", static=(1, 2, 3))
    quorum.pass_time(8)
    name, words = answer(quorum, step(KRAFT, 1))
    assert (name, f"voters {silent.meta.node_id} are not known" in words) == ("INVALID_UPDATE_VERSION", True)


def test_brokers_observe_and_stay_registered_until_they_are_upgraded() -> None:
    """A broker of the world is an observer with its own release, and blocks levels that it does not support."""
    quorum = three("4.4.0", metadata=21)
    world = World()
    world.kraft, world.brokers = quorum.kraft, type(world.brokers)(quorum.kraft)
    world.brokers.start(7, "3.9.2", CLUSTER)
    quorum.pass_time(2)
    told = ModelControllers(quorum.kraft)
    assert [row.key.node_id for row in told.quorum(endpoint(quorum.leader)).observers] == [7]
    assert told.cluster(endpoint(quorum.leader)).controller_ids == (1, 2, 3)
    world.brokers.stop(7)
    quorum.pass_time(2)
    assert "Broker 7 only supports versions 1-21" in answer(quorum, step(METADATA, 22))[1]
    world.brokers.start(7, "4.4.0", CLUSTER)
    quorum.pass_time(2)
    assert answer(quorum, step(METADATA, 22)) == ("", "")
