"""The status of a quorum beside ZooKeeper: its rows in each stage, its condition, and what is Ready meanwhile."""

import json
from dataclasses import replace

import pytest
from tests.model.values import NO_STATUS, at_rest, kube_nodes, nothing
from tests.plan.beside import (
    ALONE,
    ALONE_STOP,
    BACK,
    DUAL,
    EVERY,
    FINAL,
    LEADS,
    MIGRATES,
    STARTS,
    STOP,
    At,
    at_name,
    keeper_of,
    look_at,
    new_record,
    record_at,
    stopped,
    wanted,
    with_broker,
    with_keeper,
)
from tests.status.passes import done

from kafka_quorum.model.desired import FieldFault
from kafka_quorum.model.ids import NodeID
from kafka_quorum.model.known import Known, Unknown
from kafka_quorum.model.registered import BrokerSeen
from kafka_quorum.model.zookeeper import SavedNodes, ZooKeeperBroker
from kafka_quorum.observe.objects import status_from
from kafka_quorum.status.available import available
from kafka_quorum.status.build import build, readable
from kafka_quorum.status.cannot_look import blinded
from kafka_quorum.status.degraded import degraded
from kafka_quorum.status.finding import Pass
from kafka_quorum.status.migrated import migrated
from kafka_quorum.status.migration import Json, migration, preflight
from kafka_quorum.status.progressing import progressing
from kafka_quorum.status.ready import ready
from kafka_quorum.status.refused import refused
from kit.conditions.finding import Finding, Truth

TURNS = wanted(roll_back=True)


def told(of: Pass) -> Json:
    """The row of the migration."""
    found: Json = migration(of, {}).get("migration", {})
    return found


def condition(of: Pass) -> Finding:
    """MigratedFromZooKeeper, which such a quorum has."""
    found = migrated(of)
    assert found is not None
    assert found.type == "MigratedFromZooKeeper"
    return found


@pytest.mark.parametrize("at", EVERY, ids=at_name)
def test_the_row_of_a_stage(at: At) -> None:
    """In every stage the row has its place, and both sides: what Kafka reports, and what ZooKeeper has."""
    row = told(done(look_at(at), wanted()))
    assert (row["kind"], row["name"]) == (at[0].kind.value, at[1])
    assert "state" in row
    assert row["zookeeperController"] in ("3000 (KRaft)", "1 (ZooKeeper)")
    assert row["brokersInZooKeeper"] == len(keeper_of(at).brokers)
    assert row["rollBackPossible"] is (at in (STARTS, MIGRATES, DUAL))


def test_both_sides() -> None:
    """Kafka's state by name, the lag in records, and how many brokers are in migration mode."""
    row = told(done(look_at(MIGRATES), wanted()))
    assert (row["state"], row["lagRecords"], row["brokersInMigration"]) == ("MIGRATION", 0, 3)


def test_what_is_not_known_is_not_shown() -> None:
    """A side that does not answer is Unknown with its reason, or absent; never zero."""
    silent = Unknown(reason="no metrics")
    row = told(done(replace(look_at(MIGRATES), driver=silent, zookeeper=Unknown(reason="refused")), wanted()))
    assert row["state"].startswith("Unknown: ")
    assert "no metrics" in row["state"]
    assert row.keys().isdisjoint({"lagRecords", "brokersInMigration", "brokersInZooKeeper", "zookeeperController"})


def test_no_controller_in_zookeeper() -> None:
    """While ZooKeeper has no controller, the row says none."""
    look = with_keeper(look_at(LEADS), controller=None)
    assert told(done(look, TURNS))["zookeeperController"] == "none"


@pytest.mark.parametrize("at", [LEADS, BACK, ALONE], ids=at_name)
def test_what_was_deleted(at: At) -> None:
    """What a roll back deleted in ZooKeeper stands in the row to the end, without empty texts."""
    record = record_at(at)
    assert record.migration is not None
    saved = SavedNodes(controller="", controller_epoch="9", migration='{"version":0}')
    look = replace(look_at(at), record=replace(record, migration=replace(record.migration, saved=saved)))
    assert told(done(look, TURNS))["savedNodes"] == {"controllerEpoch": "9", "migration": '{"version":0}'}


def test_parked() -> None:
    """Parked: the quorum is Ready, nothing progresses, and the condition asks for the decision."""
    found = done(look_at(DUAL), wanted())
    assert ready(found).truth is Truth.TRUE
    assert (condition(found).truth, condition(found).reason) == (Truth.FALSE, "DualWrite")
    assert "spec.zookeeper.finalize" in condition(found).message
    assert "spec.zookeeper.finalize" in told(found)["missing"]
    assert progressing(found).truth is Truth.FALSE


def test_a_broker_that_is_missing() -> None:
    """A broker that holds a stage is named in the row and in the condition, and the quorum is Ready."""
    found = done(with_broker(look_at(MIGRATES), 2, "it does not answer"), wanted())
    assert "broker 2" in told(found)["missing"]
    assert "broker 2" in condition(found).message
    assert ready(found).truth is Truth.TRUE


def test_finalized() -> None:
    """After the end the condition is true, and there is no row any more."""
    record = replace(record_at(FINAL), migration=None)
    found = done(replace(look_at(FINAL), record=record), wanted(finalize=True))
    assert (condition(found).truth, condition(found).reason) == (Truth.TRUE, "Finalized")
    assert told(found) == {}


def test_a_roll_back_that_comes_too_late() -> None:
    """After ZooKeeper was given up, the condition says that rollBack has no effect; else it says nothing of it."""
    ended = replace(look_at(FINAL), record=replace(record_at(FINAL), migration=None))
    both = wanted(finalize=True, roll_back=True)
    for look in (look_at(FINAL), ended):
        assert "rollBack has no effect" in condition(done(look, both)).message
        assert "rollBack" not in condition(done(look, wanted(finalize=True))).message
    assert "no effect" not in condition(done(look_at(DUAL), both)).message


@pytest.mark.parametrize("at", [STOP, LEADS, ALONE_STOP], ids=at_name)
def test_a_roll_back_under_way(at: At) -> None:
    """While the controllers are stopped on purpose, the quorum is neither Ready nor Available, and not Degraded."""
    found = done(stopped(look_at(at, TURNS)), TURNS)
    assert (ready(found).truth, ready(found).reason) == (Truth.FALSE, "RollingBack")
    assert (available(found).truth, available(found).reason) == (Truth.FALSE, "RollingBack")
    assert degraded(found).truth is Truth.FALSE
    assert condition(found).truth is Truth.FALSE


@pytest.mark.parametrize("at", [BACK, ALONE], ids=at_name)
def test_rolled_back(at: At) -> None:
    """At the end of a roll back the condition says so, and that another attempt can be requested."""
    look = replace(look_at(at, TURNS), claims=())
    found = done(look, TURNS)
    assert (condition(found).truth, condition(found).reason) == (Truth.FALSE, "RolledBack")
    assert "rollBack" in condition(found).message
    assert "rollBack" in told(found)["missing"]


def test_a_pod_that_cannot_end_is_degraded() -> None:
    """A pod on a lost machine makes a roll back Degraded: a person has to decide."""
    look = look_at(STOP, TURNS)
    pods = tuple(replace(pod, deleting=True) for pod in look.pods)
    down = kube_nodes((pod.node_name for pod in pods), ready=False)
    found = done(replace(look, pods=pods, kube_nodes=down), TURNS)
    assert (degraded(found).truth, degraded(found).reason) == (Truth.TRUE, "ControllersStop")


# The preflight


def dry(**changes: object) -> Pass:
    """A dry run, with changes of what ZooKeeper shows."""
    look = with_keeper(look_at(STARTS), migration=None, **changes)
    look = replace(look, record=None, status=NO_STATUS, claims=(), pods=(), support=())
    return done(look, wanted(dry_run=True))


def test_a_dry_run_without_blockers() -> None:
    """A dry run says that nothing is in the way, and that it is one."""
    found = dry()
    assert preflight(found) == {"preflight": {"passed": True, "blockers": []}}
    assert condition(found).reason == "Preflight"
    assert "spec.zookeeper.dryRun" in condition(found).message
    assert ready(found).truth is Truth.FALSE


def test_a_dry_run_with_blockers() -> None:
    """Each blocker has its code, object, what was found and the way out; one that is unknown says so."""
    found = preflight(dry(controller=None))["preflight"]
    assert found["passed"] is False
    (row,) = found["blockers"]
    assert (row["code"], row["object"]) == ("NoController", "znode /controller")
    assert set(row) == {"code", "object", "found", "wayOut"}
    look = replace(nothing(), zookeeper=Unknown(reason="connection refused"))
    (row,) = preflight(done(look, wanted(dry_run=True)))["preflight"]["blockers"]
    assert (row["code"], row["unknown"]) == ("ZooKeeper", True)


@pytest.mark.parametrize(("count", "text"), [(2_000, "OTHER"), (110, "\N{GRINNING FACE}" * 8_000)])
def test_any_number_of_blockers_fits(count: int, text: str) -> None:
    """Of many blockers a hundred are shown, each within bounds, and the others counted: etcd takes 1.5 MB."""
    ids = [NodeID(at) for at in range(1, count + 1)]
    registered = tuple(ZooKeeperBroker(node_id=node_id, listeners=()) for node_id in ids)
    running = Known(value={"inter.broker.listener.name": text})
    look = with_keeper(dry().observed, brokers=registered, behind=dict.fromkeys(ids, 1))
    seen = tuple(BrokerSeen(node_id=node_id, settings=running) for node_id in ids)
    found = done(replace(look, brokers=Known(value=seen)), wanted(dry_run=True))
    status = build(found, {}, generation=1, now="2026-01-01T00:00:00Z")
    assert found.plan.preflight is not None
    assert len(status["preflight"]["blockers"]) == 100
    assert status["leftOut"]["blockers"] == len(found.plan.preflight) - 100
    assert status["preflight"]["passed"] is False
    assert len(json.dumps(status, ensure_ascii=False).encode()) < 1_400_000


def test_blockers_before_the_start() -> None:
    """Volumes that are formatted wait for the preflight, and the condition names what is in the way."""
    record = new_record()
    nodes = tuple(
        replace(node, formatted=True, directory_id=record_at(STARTS).nodes[at].directory_id)
        for at, node in enumerate(record.nodes)
    )
    keys = tuple(node.key for node in nodes)
    record = replace(record, nodes=nodes, initial=keys)
    look = with_keeper(replace(look_at(STARTS), record=record, pods=()), migration=None, controller=None)
    look = replace(
        look,
        status=replace(look.status, phase=record.phase),
        claims=tuple(replace(claim, phase="Formatting") for claim in look.claims),
    )
    found = done(look, wanted())
    assert condition(found).reason == "Preflight"
    assert "no broker is the controller" in condition(found).message
    assert preflight(found)["preflight"]["passed"] is False


def test_no_preflight_after_the_start() -> None:
    """When the controllers run, there is no preflight any more."""
    assert preflight(done(look_at(STARTS), wanted())) == {}


def test_other_quorums_have_none_of_it() -> None:
    """A quorum of another mode has neither the condition nor a row."""
    found = done(at_rest())
    assert migrated(found) is None
    assert preflight(found) == told(found) == {}


@pytest.mark.parametrize("at", [MIGRATES, DUAL, STOP, BACK], ids=at_name)
def test_without_a_look(at: At) -> None:
    """Without a look, and with a spec that was never valid, the condition is Unknown; what is read back stays."""
    old = build(done(look_at(at), wanted()), {}, generation=1, now="2026-01-01T00:00:00Z")
    fault = FieldFault(field="spec.x", message="m")
    for status, reason in (
        (blinded(old, "rights are missing", generation=1, now="2026-01-01T00:01:00Z"), "CannotLook"),
        (refused(old, (fault,), name="alpha", generation=2, now="2026-01-01T00:01:00Z"), "InvalidSpec"),
    ):
        (row,) = (each for each in status["conditions"] if each["type"] == "MigratedFromZooKeeper")
        assert (row["status"], row["reason"]) == ("Unknown", reason)
        assert status_from({"status": status}) == status_from({"status": old})
        assert status["migration"] == old["migration"]


def test_without_a_look_at_other_quorums() -> None:
    """A quorum of another mode does not get the condition."""
    status = blinded(build(done(), {}, generation=1, now="t"), "rights are missing", generation=1, now="t")
    assert not [row for row in status["conditions"] if row["type"] == "MigratedFromZooKeeper"]


def test_the_rows_fit_the_definition() -> None:
    """Every row is a value that the definition of the resource has: the API server drops nothing."""
    for at in EVERY:
        found = migration(done(look_at(at), wanted()), {})
        assert readable(found) == found
    found = preflight(dry(controller=None))
    assert readable(found) == found
