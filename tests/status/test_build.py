"""The whole status, and the patch that writes it."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.model.values import (
    OTHER_CLUSTER,
    SILENT,
    at_rest,
    desired,
    directory,
    key,
    looks,
    mirrored,
    nothing,
    operation,
    running,
    saying,
    speaking,
    view,
)
from tests.simulation.model.kubernetes.merging import merged
from tests.status.passes import FAULT, done

from kafka_quorum.api.status import KafkaQuorumStatus
from kafka_quorum.model.desired import FeatureLevel
from kafka_quorum.model.identity import FormerNode, with_nodes, without_node
from kafka_quorum.model.ids import NodeID
from kafka_quorum.model.known import Known
from kafka_quorum.model.memory import Soak, StepCheck
from kafka_quorum.model.plan import Severity, Wait
from kafka_quorum.model.quorum import FeatureRange, FeatureStep, FinalizedFeature, NodeVersions
from kafka_quorum.observe.objects import status_from
from kafka_quorum.status.build import CONDITIONS, build
from kafka_quorum.status.cannot_look import blinded
from kafka_quorum.status.finding import Pass
from kafka_quorum.status.refused import refused
from kit.conditions.finding import Finding, Truth
from kit.conditions.patch import patch_of

NOW = "2026-01-01T00:00:00Z"
RAISED = (FeatureLevel(name="metadata.version", level=29),)


def versions(level: int, most: int) -> Known[NodeVersions]:
    """A controller with this finalized metadata.version, which supports up to `most`."""
    return Known(
        value=NodeVersions(
            supported=(FeatureRange(name="metadata.version", min_level=7, max_level=most),),
            finalized=(FinalizedFeature(name="metadata.version", level=level),),
            finalized_epoch=level,
        )
    )


def test_a_quorum_at_rest_reads_back_as_its_record() -> None:
    """The status copies the identity of the record, so that the record can be rebuilt from it."""
    status = build(done(), {}, generation=3, now=NOW)
    assert status_from({"status": status}) == mirrored(running())
    assert status["observedGeneration"] == 3
    assert status["replicas"] == 3
    assert status["quorum"]["summary"] == "3/3"
    assert status["quorum"]["failureTolerance"] == 1


def test_the_status_fits_its_schema() -> None:
    """Every field of the status is in the resource's model."""
    seen = view([key(3000), key(3001), key(3002)], [key(3000, 2)])
    observed = at_rest(
        quorum=Known(value=seen),
        memory=looks(seen),
        versions=((3000, versions(33, 33)), (3001, versions(27, 30))),
    )
    status = build(done(observed), {}, generation=1, now=NOW)
    KafkaQuorumStatus.model_validate(status, by_alias=True, by_name=False, extra="forbid")
    assert status["metadataVersion"] == "4.4-IV2 (33)"
    assert status["features"] == [{"name": "metadata.version", "finalized": 33, "minSupported": 7, "maxSupported": 30}]


def test_every_condition_has_the_type_under_which_it_is_listed() -> None:
    """The findings of a pass have the types by which the list of conditions names them."""
    assert [check(done()).type for check in CONDITIONS.values()] == list(CONDITIONS)


def test_a_condition_in_the_list_is_in_every_status(monkeypatch: pytest.MonkeyPatch) -> None:
    """A condition is added in one list: then a pass reports it, and it is Unknown in a status without a pass."""
    spread = Finding(type="VotersSpread", truth=Truth.TRUE, reason="Spread", message="m")
    monkeypatch.setitem(cast("dict[str, Any]", CONDITIONS), spread.type, lambda _: spread)
    statuses = (
        build(done(), {}, generation=3, now=NOW),
        blinded({}, "no rights", generation=3, now=NOW),
        refused({}, (FAULT,), name="alpha", generation=3, now=NOW),
    )
    last = [status["conditions"][-1] for status in statuses]
    assert {row["type"] for row in last} == {spread.type}
    assert [row["status"] for row in last] == ["True", "Unknown", "Unknown"]
    assert {tuple(row["type"] for row in status["conditions"]) for status in statuses} == {tuple(CONDITIONS)}


def test_controllers_are_described_one_by_one() -> None:
    """Disk, claim, pod, endpoint, release and role of a controller are in one row."""
    row = build(done(), {}, generation=1, now=NOW)["controllers"][0]
    assert row == {
        "nodeID": 3000,
        "directoryID": directory(3000),
        "role": "Leader",
        "caughtUp": True,
        "endpoint": "alpha-3000.alpha-controllers.kafka.svc:9093",
        "version": "4.4.0",
        "claimName": "alpha-3000-g1",
        "claimUID": "claim-3000-1",
        "podName": "alpha-3000-g1",
        "nodeName": "worker-3000",
    }


def test_stale_voters_are_named() -> None:
    """A voter on a disk that is not ours is listed as a stale replica."""
    seen = view([key(3000), key(3001), key(3002, 9)])
    status = build(done(at_rest(quorum=Known(value=seen))), {}, generation=1, now=NOW)
    assert status["staleReplicas"] == [{"nodeID": 3002, "directoryID": directory(3002, 9), "kind": "Voter"}]


def test_without_a_leader_the_last_word_stands_and_nobody_is_healthy() -> None:
    """Without a leader the last known voters stay, and their health is unknown."""
    old = build(done(), {}, generation=1, now=NOW)
    status = build(done(at_rest(quorum=SILENT)), old, generation=1, now=NOW)
    assert status["quorum"]["summary"] == "?/3"
    assert status["quorum"]["currentVoters"] == old["quorum"]["currentVoters"]
    assert not {"leaderID", "leaderEpoch", "healthyVoters", "failureTolerance"} & set(status["quorum"])
    assert status["quorum"]["unknownSince"] == NOW
    assert all(row["role"] == "Unknown" for row in status["controllers"])


def test_an_open_operation_lives_on() -> None:
    """The status writer keeps an open operation: only the action that closes it removes it."""
    record = running()
    old = {"operation": {"id": "op-1", "type": "AddVoter", "target": str(key(3003))}}
    observed = at_rest(status=mirrored(record, open=operation(key(3003))))
    assert build(done(observed), old, generation=1, now=NOW)["operation"]["id"] == "op-1"


def test_before_there_is_a_record_there_is_no_identity() -> None:
    """Without a record there is no identity in the status."""
    status = build(done(nothing()), {}, generation=1, now=NOW)
    assert not {"clusterID", "bootstrap", "controllers"} & set(status)
    assert status["quorum"] == {"summary": "0/3"}


LEAF = st.none() | st.booleans() | st.integers() | st.text(max_size=3) | st.lists(st.integers(), max_size=2)
OBJECT = st.dictionaries(
    st.sampled_from("abcd"), LEAF | st.dictionaries(st.sampled_from("xyz"), LEAF, max_size=3), max_size=4
)


def without_null(value: Any) -> Any:  # noqa: ANN401 - any JSON
    """Objects without nulls: a merge patch cannot store one."""
    if isinstance(value, dict):
        return {name: without_null(item) for name, item in value.items() if item is not None}
    return value


@given(OBJECT, OBJECT)
def test_the_patch_leads_from_old_to_new(old: dict[str, Any], new: dict[str, Any]) -> None:
    """The patch from any old status to any new one gives the new one; equal statuses give no patch."""
    before, after = without_null(old), without_null(new)
    assert merged(before, patch_of(before, after)) == after
    assert patch_of(after, after) == {}


WITHOUT_LEADER = done(at_rest(quorum=SILENT))


def test_no_leader_is_written_once() -> None:
    """While there is no leader the status does not change from look to look, so nothing is written again."""
    old = merged({}, build(done(), {}, generation=1, now=NOW))
    first = merged(old, patch_of(old, build(WITHOUT_LEADER, old, generation=1, now=NOW)))
    assert patch_of(first, build(WITHOUT_LEADER, first, generation=1, now=NOW)) == {}


def test_a_lost_record_does_not_erase_its_copy() -> None:
    """If the record is missing or unreadable, the status keeps its copy of the identity, which may be the last one."""
    old = build(done(), {}, generation=1, now=NOW)
    for look in (at_rest(record_fault="cannot be understood"), at_rest()):
        status = build(done(replace(look, record=None)), old, generation=1, now=NOW)
        assert status_from({"status": status}) == mirrored(running())
        assert (status["replicas"], status["appliedRevision"]) == (3, old["appliedRevision"])


def test_a_conflict_is_not_overwritten() -> None:
    """A copy that contradicts the record stays until a person decides, and so does the conflict."""
    old = build(done(), {}, generation=1, now=NOW) | {"clusterID": OTHER_CLUSTER}
    contested = done(at_rest(status=status_from({"status": old})))
    status = build(contested, old, generation=1, now=NOW)
    assert status["clusterID"] == OTHER_CLUSTER
    conditions = {row["type"]: row for row in status["conditions"]}
    assert (conditions["Ready"]["status"], conditions["Ready"]["reason"]) == ("False", "IdentityConflict")
    assert conditions["Degraded"]["reason"] == "IdentityConflict"


def test_nothing_of_an_earlier_resource_is_taken_over() -> None:
    """While an earlier resource's objects are being deleted, the new status has nothing of their identity."""
    status = build(done(at_rest(record_owner_uid="earlier")), {}, generation=1, now=NOW)
    assert not {"clusterID", "bootstrap", "controllers", "appliedRevision"} & set(status)
    assert status["quorum"] == {"summary": "0/3"}
    assert status["replicas"] == 0
    conditions = {row["type"]: (row["status"], row["reason"]) for row in status["conditions"]}
    assert conditions["Ready"][0] == conditions["Available"][0] == "False"
    assert conditions["Progressing"] == ("True", "EarlierResourceEnds")


def held(*waits: Wait) -> Pass:
    """A pass with these waits."""
    passed = done()
    return replace(passed, plan=replace(passed.plan, waits=waits))


def wait_of(reason: str, message: str, node_id: int | None = None) -> Wait:
    """A guard's refusal, as a plan reports it."""
    node = None if node_id is None else NodeID(node_id)
    return Wait(severity=Severity.DEGRADED, reason=reason, message=message, node_id=node)


def test_what_is_waited_for_says_since_when() -> None:
    """A wait keeps its start time while reason and controller are the same, whatever its message is."""
    first = build(held(wait_of("LostNode", "60 s", 3001)), {}, generation=1, now=NOW)["waits"]
    assert first == [
        {"reason": "LostNode", "severity": "Degraded", "nodeID": 3001, "message": "60 s", "since": NOW},
    ]
    later = held(wait_of("LostNode", "30 s", 3001), wait_of("LostNode", "60 s", 3002), wait_of("StaleVoter", "x"))
    rows = build(later, {"waits": first}, generation=1, now="2026-01-01T00:01:00Z")["waits"]
    assert [(row["reason"], row.get("nodeID"), row["message"], row["since"]) for row in rows] == [
        ("LostNode", 3001, "30 s", NOW),
        ("LostNode", 3002, "60 s", "2026-01-01T00:01:00Z"),
        ("StaleVoter", None, "x", "2026-01-01T00:01:00Z"),
    ]


def featured(count: int) -> Pass:
    """A pass over controllers that all report this many features."""
    ranges = tuple(FeatureRange(name=f"f{number}.version", min_level=0, max_level=1) for number in range(count))
    said = NodeVersions(supported=ranges, finalized=saying().finalized, finalized_epoch=7)
    return done(at_rest(versions=((NodeID(3000), Known(value=said)),)))


def crowded(count: int) -> Pass:
    """A pass over a quorum with this many voters that are not ours."""
    others = (key(4000 + number) for number in range(count))
    return done(at_rest(quorum=Known(value=view([key(3000), key(3001), key(3002), *others]))))


def waiting(count: int) -> Pass:
    """A pass with this many waits."""
    return held(*(wait_of(f"Reason{number}", "It waits") for number in range(count)))


@pytest.mark.parametrize(
    ("name", "of"),
    [("waits", waiting), ("features", featured), ("staleReplicas", crowded)],
    ids=["waits", "features", "stale replicas"],
)
def test_long_lists_are_cut(name: str, of: Callable[[int], Pass]) -> None:
    """A list whose length others decide has at most a hundred rows, and `leftOut` counts the others."""
    status = build(of(103), {}, generation=1, now=NOW)
    assert (len(status[name]), status["leftOut"][name]) == (100, 3)
    KafkaQuorumStatus.model_validate(status, by_alias=True, by_name=False, extra="forbid")
    whole = build(of(100), status, generation=1, now=NOW)
    assert (len(whole[name]), "leftOut" in whole) == (100, False)


def test_a_wait_that_is_over_leaves_the_status() -> None:
    """A wait that has ended is not listed any more, and has a new start time when it returns."""
    first = build(held(wait_of("LostNode", "60 s", 3001)), {}, generation=1, now=NOW)
    assert build(done(), first, generation=1, now=NOW)["waits"] == []


def test_stale_replicas_say_what_they_are() -> None:
    """A retired disk's voter is stale, a voter of another origin is foreign, and a retired observer is listed too."""
    record = without_node(with_nodes(running(), [NodeID(3003)]), NodeID(3003))
    record = replace(record, former=(FormerNode(node_id=NodeID(3003), generation=1, retired=(directory(3003),)),))
    seen = view([key(3000), key(3001), key(3002, 2), key(77)], [key(3003)])
    status = build(done(at_rest(record, quorum=Known(value=seen))), {}, generation=1, now=NOW)
    assert [(row["nodeID"], row["kind"]) for row in status["staleReplicas"]] == [
        (3002, "Voter"),
        (77, "ForeignVoter"),
        (3003, "Observer"),
    ]


def raised(*, blocked: str = "", healthy_s: float = 42.0, features: tuple[FeatureLevel, ...] = RAISED) -> Pass:
    """A pass over three controllers of 4.4 at the levels of 4.1, with metadata.version 29 requested."""
    said = replace(saying(), finalized=saying("4.1.2").finalized)
    check = StepCheck(allowed=not blocked, words=blocked)
    look = speaking(said=said, checks=((FeatureStep(name="metadata.version", level=28), Known(value=check)),))
    look = replace(look, memory=replace(look.memory, soak=Soak(epoch=7, healthy_s=healthy_s)))
    return done(look, desired(features=features))


def feature(of: Pass, name: str) -> dict[str, Any]:
    """A feature's row in the status."""
    rows: list[dict[str, Any]] = build(of, {}, generation=1, now=NOW)["features"]
    return next(row for row in rows if row["name"] == name)


def test_features_say_what_is_wanted_and_who_blocks_it() -> None:
    """A feature's row has a wanted level, and what blocks it, only if there is one."""
    row = {"name": "metadata.version", "finalized": 27, "minSupported": 7, "maxSupported": 33}
    assert feature(raised(), "metadata.version") == row | {"wanted": 29}
    blocked = feature(raised(blocked="Broker 2 only supports versions 1-21"), "metadata.version")
    assert blocked == row | {"wanted": 29, "blockedBy": "Broker 2 only supports versions 1-21"}
    assert "wanted" not in feature(raised(), "group.version")
    assert "blockedBy" not in feature(raised(), "group.version")


def test_held_levels_have_no_wanted_one() -> None:
    """Under Hold a possible level is not wanted, but what blocks it is listed."""
    scene = raised(features=())
    no = ((FeatureStep(name="metadata.version", level=33), Known(value=StepCheck(allowed=False, words="no"))),)
    row = feature(done(replace(scene.observed, checks=no)), "metadata.version")
    assert (row.get("wanted"), row.get("blockedBy")) == (None, "no")


@pytest.mark.parametrize(("healthy_s", "seconds"), [(0.0, 0), (4.9, 0), (42.0, 40), (60.0, 60), (600.0, 60)])
def test_soak_in_steps(healthy_s: float, seconds: int) -> None:
    """The soak is written in steps of five seconds, up to its goal."""
    status = build(raised(healthy_s=healthy_s), {}, generation=1, now=NOW)
    assert status["soak"] == {"finalizedEpoch": 7, "seconds": seconds}
    assert status_from({"status": status}).soak == Soak(epoch=7, healthy_s=float(seconds))
    KafkaQuorumStatus.model_validate(status)


def test_soak_is_written_only_for_a_step() -> None:
    """Without a step that waits for it, or before it exists, the status has no soak, and an old one is removed."""
    old = {"soak": {"finalizedEpoch": 7, "seconds": 60}}
    assert "soak" not in build(raised(features=()), old, generation=1, now=NOW)
    scene = raised()
    bare = replace(scene.observed, memory=replace(scene.observed.memory, soak=None))
    assert "soak" not in build(done(bare, scene.desired), old, generation=1, now=NOW)


def test_static_is_what_the_look_says() -> None:
    """The type of the quorum follows the voters as Kafka reports them."""
    dynamic = build(done(), {}, generation=1, now=NOW)
    assert dynamic["quorum"]["type"] == "Dynamic"
    seen = replace(view([key(3000), key(3001), key(3002)]), static=True)
    assert build(done(at_rest(quorum=Known(value=seen))), {}, generation=1, now=NOW)["quorum"]["type"] == "Static"


def test_what_is_held_degrades_nothing() -> None:
    """An action that a disruption budget held does not degrade the quorum."""
    scene = done(nothing())
    held = replace(scene, outcomes=tuple(replace(one, done=False, held=True) for one in scene.outcomes))
    rows = {row["type"]: row["status"] for row in build(held, {}, generation=1, now=NOW)["conditions"]}
    failed_ = replace(scene, outcomes=tuple(replace(one, done=False) for one in scene.outcomes))
    failed_rows = {row["type"]: row["status"] for row in build(failed_, {}, generation=1, now=NOW)["conditions"]}
    assert (rows["Degraded"], failed_rows["Degraded"]) == ("False", "True")
