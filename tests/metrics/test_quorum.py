"""The series of one quorum from one pass: each value, and no series for what is unknown."""

import ast
from dataclasses import replace

import pytest
from tests.model.certificates import looked, recorded, wanted
from tests.model.values import (
    NOW_S,
    SILENT,
    UID,
    at_rest,
    desired,
    directory,
    key,
    looks,
    minted,
    mirrored,
    nothing,
    operation,
    running,
    runtime,
    speaking,
    stepping,
    view,
)
from tests.plan.source import OPERATOR
from tests.status.passes import FAULT, done, failed
from tests.status.test_certificates_valid import everything

from kafka_quorum.metrics import catalogue as metrics
from kafka_quorum.metrics import quorum
from kafka_quorum.model.actions import CreatePod
from kafka_quorum.model.bundles import bundle_of
from kafka_quorum.model.identity import FormerNode
from kafka_quorum.model.ids import NodeID
from kafka_quorum.model.known import Known, Unknown
from kafka_quorum.model.operation import UnknownOperation, VoterReplacement
from kafka_quorum.model.plan import MigrationPlan, Severity, Wait
from kafka_quorum.status.available import available
from kafka_quorum.status.finding import Pass
from kit.conditions.finding import Truth
from kit.metrics.metric import Metric
from kit.metrics.series import Latest, Row, Since

Labels = tuple[str, ...]


def rows(of: Pass | None = None) -> dict[str, dict[Labels, float | Since | Latest]]:
    """The series of a pass, by the name of the metric and the labels; no two have the same (AssertionError)."""
    found: dict[str, dict[Labels, float | Since | Latest]] = {}
    for metric, labels, value in (*quorum.rows(of or done()), *quorum.held(of or done())):
        row_of = found.setdefault(metric.name, {})
        assert labels not in row_of
        row_of[labels] = value
    return found


def one(metric: Metric, of: Pass | None = None) -> float | Since | Latest | None:
    """The value of a metric without labels of its own; None without a series."""
    return rows(of).get(metric.name, {}).get(())


def with_waits(*waits: Wait, of: Pass | None = None) -> Pass:
    """The same pass, which waits for these as well."""
    known = of or done()
    return replace(known, plan=replace(known.plan, waits=(*known.plan.waits, *waits)))


def wait(reason: str, severity: Severity = Severity.PROGRESS, node_id: int | None = None) -> Wait:
    """A wait."""
    return Wait(severity=severity, reason=reason, message="m", node_id=None if node_id is None else NodeID(node_id))


def test_a_quorum_at_rest() -> None:
    """Every voter is wanted, present and caught up; one may fail; leader and epoch are those of the answer."""
    assert one(metrics.VOTERS_WANTED) == 3
    assert one(metrics.VOTERS_PRESENT) == 3
    assert one(metrics.VOTERS_CAUGHT_UP) == 3
    assert one(metrics.FAILURES_TOLERATED) == 1
    assert one(metrics.LEADER_ID) == 3000
    seen = at_rest().quorum
    assert isinstance(seen, Known)
    assert one(metrics.LEADER_EPOCH) == seen.value.answer.leader_epoch
    assert rows()["kafka_quorum_info"] == {("4.4.0", "Dynamic"): 1}
    for absent in ("waiting", "held", "operation_open", "migration_stage", "certificate_end_timestamp_seconds"):
        assert f"kafka_quorum_{absent}" not in rows()


def test_a_voter_that_lags() -> None:
    """A voter that is not caught up is lagging, no further one may fail, and its lag is behind the leader's end."""
    seen = view([key(3000), key(3001), key(3002)], behind=[key(3002)])
    ends = {3000: 100, 3001: 98, 3002: 40}
    voters = tuple(replace(each, log_end_offset=ends[each.key.node_id]) for each in seen.answer.voters)
    answer = replace(seen.answer, voters=voters, high_watermark=98)
    found = done(at_rest(quorum=Known(value=replace(seen, answer=answer)), memory=looks(seen)))
    assert (one(metrics.VOTERS_CAUGHT_UP, found), one(metrics.FAILURES_TOLERATED, found)) == (2, 0)
    assert rows(found)["kafka_quorum_log_end_offset"] == {("3000",): 100, ("3001",): 98, ("3002",): 40}
    assert rows(found)["kafka_quorum_lag_records"] == {("3000",): 0, ("3001",): 2, ("3002",): 60}
    assert one(metrics.HIGH_WATERMARK, found) == 98
    states = rows(found)["kafka_quorum_controllers"]
    assert (states["caught_up",], states["lagging",]) == (2, 1)


def test_offsets_that_the_leader_does_not_know() -> None:
    """An offset of -1 is no value: neither it nor a lag is shown, and no high watermark below zero."""
    seen = view([key(3000), key(3001), key(3002)])
    voters = tuple(replace(each, log_end_offset=-1 if each.key == key(3001) else 9) for each in seen.answer.voters)
    answer = replace(seen.answer, voters=voters, high_watermark=-1)
    found = rows(done(at_rest(quorum=Known(value=replace(seen, answer=answer)), memory=looks(seen))))
    assert set(found["kafka_quorum_log_end_offset"]) == set(found["kafka_quorum_lag_records"]) == {("3000",), ("3002",)}
    assert "kafka_quorum_high_watermark_offset" not in found


@pytest.mark.parametrize("observed", [at_rest(quorum=SILENT), nothing()], ids=["no answer", "no record"])
def test_without_a_leader_nothing_is_claimed(observed: object) -> None:
    """While no leader answers, none is known, and what only a leader reports has no series."""
    found = rows(done(observed))  # type: ignore[arg-type]  # a look
    assert found.get("kafka_quorum_leader_id") == ({(): -1} if observed == at_rest(quorum=SILENT) else None)
    assert found["kafka_quorum_voters_wanted"] == {(): 3}
    of_the_leader = (
        "voters_present",
        "voters_caught_up",
        "failures_tolerated",
        "leader_epoch",
        "high_watermark_offset",
    )
    assert {f"kafka_quorum_{name}" for name in (*of_the_leader, "log_end_offset", "lag_records")} & set(found) == set()
    states = set(found.get("kafka_quorum_controllers", {}))
    assert states <= {("lost_node",), ("lost_disk",)}


def test_without_a_record_no_answer_is_the_quorums() -> None:
    """Its leader may lead, so nothing says that none does: an alert would wake a person for a quorum that works."""
    unread = done(replace(at_rest(), record=None, record_fault="a later version wrote it"))
    assert (one(metrics.LEADER_ID, unread), available(unread).truth) == (None, Truth.UNKNOWN)
    assert isinstance(unread.observed.quorum, Known)
    assert set(rows(unread)["kafka_quorum_waiting"]) == {("IdentityUnreadable",)}
    assert one(metrics.LEADER_ID, done(at_rest(quorum=SILENT))) == -1


def test_levels_are_those_that_the_leader_reports() -> None:
    """Every finalized level that this operator knows has a series; without the leader's report there is none."""
    found = rows(done(speaking()))["kafka_quorum_feature_level"]
    assert (found["metadata.version",], found["kraft.version",]) == (33, 1)
    assert "kafka_quorum_feature_level" not in rows()


def test_controllers_are_counted_once() -> None:
    """A loss counts before a controller's part in the quorum, and every state is there, with zero if it is empty."""
    found = with_waits(wait("LostNode", node_id=3001), wait("LostDisk", node_id=3002), wait("Rolling", node_id=3000))
    states = rows(found)["kafka_quorum_controllers"]
    assert {state for (state,), count in states.items() if count} == {"caught_up", "lost_node", "lost_disk"}
    assert sum(float(count) for count in states.values() if not isinstance(count, Since | Latest)) == 3
    assert {state for (state,) in states} == set(metrics.STATES) - {"ghost"}


def test_replicas_that_are_no_controllers() -> None:
    """A retired disk's voter is stale, one of another origin foreign; a removed and registered controller a ghost."""
    record = running(2)
    retired = FormerNode(node_id=NodeID(3007), generation=1, retired=(directory(3007),))
    record = replace(record, former=(retired,))
    voters = [*(node.key for node in record.nodes), key(3007), key(7)]
    seen = view(voters)
    observed = at_rest(
        record,
        quorum=Known(value=seen),
        memory=looks(seen),
        registered=Known(value=(NodeID(3000), NodeID(3001), NodeID(3007))),
    )
    states = rows(done(observed))["kafka_quorum_controllers"]
    assert (states["stale_voter",], states["foreign_voter",], states["ghost",]) == (1, 1, 1)
    assert set(rows(done(observed))["kafka_quorum_log_end_offset"]) == {("3000",), ("3001",)}


@pytest.mark.parametrize(
    ("open_", "kind"),
    [
        (operation(key(3003)), "AddVoter"),
        (operation(key(3003), VoterReplacement), "ReplaceVoter"),
        (stepping("metadata.version", 29), "RaiseFeature"),
        (stepping("metadata.version", 27, downgrade=True), "LowerFeature"),
    ],
)
def test_an_open_operation(open_: object, kind: str) -> None:
    """An open operation has its type, and its age by its own stamp; one that cannot be read has no age."""
    found = rows(replace(done(at_rest(status=mirrored(running(), open=open_))), now_s=NOW_S + 60))
    assert found["kafka_quorum_operation_open"] == {(kind,): 1}
    assert found["kafka_quorum_operation_age_seconds"] == {(kind,): 60.0}
    odd = replace(open_, started_at="yesterday")  # type: ignore[type-var]  # an operation
    found = rows(done(at_rest(status=mirrored(running(), open=odd))))
    assert found["kafka_quorum_operation_open"] == {(kind,): 1}
    assert "kafka_quorum_operation_age_seconds" not in found


def test_an_operation_that_cannot_be_understood() -> None:
    """An operation of a later version is open, of type Unknown."""
    later = UnknownOperation(why="type Teleport", holder="x")
    found = rows(done(at_rest(status=mirrored(running(), open=later))))
    assert found["kafka_quorum_operation_open"] == {("Unknown",): 1}


def test_waits_and_what_is_held() -> None:
    """Each reason has one series however often it is waited for; a wait for a person says what is held."""
    found = rows(
        with_waits(
            wait("Rolling", node_id=3001),
            wait("Rolling", node_id=3002),
            wait("RollHeld", Severity.HELD),
            wait("FeatureBlocked", Severity.HELD),
            wait("NeverHeardOf", Severity.HELD),
        )
    )
    assert set(found["kafka_quorum_waiting"]) == {("Rolling",), ("RollHeld",), ("FeatureBlocked",), ("NeverHeardOf",)}
    assert set(found["kafka_quorum_held"]) == {("roll",), ("step",), ("other",)}


def test_a_recovery_that_is_stuck_is_held() -> None:
    """Something is broken, so that it is no wait of severity Held; and nothing but a person ends it."""
    assert set(rows(with_waits(wait("RecoveryStuck", Severity.DEGRADED)))["kafka_quorum_held"]) == {("recovery",)}
    assert "kafka_quorum_held" not in rows(with_waits(wait("LostDisk", Severity.DEGRADED)))


def test_what_the_spec_and_the_annotation_hold() -> None:
    """A pause, a hold, a hold that cannot be read, and faults of the spec are held."""
    asked = desired(paused=True, hold=Known(value=frozenset({NodeID(3001)})))
    assert {what for (what,) in rows(done(wanted=asked))["kafka_quorum_held"]} == {"pause", "node"}
    unread = desired(hold=Unknown(reason="it is no list"))
    assert {what for (what,) in rows(done(wanted=unread))["kafka_quorum_held"]} >= {"node"}
    assert ("spec",) in rows(done(faults=(FAULT,)))["kafka_quorum_held"]
    assert [labels for _, labels, _ in quorum.held(None)] == [("spec",)]


def test_certificates() -> None:
    """Each controller, the operator, the brokers and the authority have the first end of theirs; without TLS nobody."""
    found = rows(done(looked(recorded(), everything()), wanted()))["kafka_quorum_certificate_end_timestamp_seconds"]
    assert {holder for (holder,) in found} == {
        *("authority", "operator", "brokers", "controller-3000", "controller-3001", "controller-3002"),
    }
    assert all(isinstance(end_s, int | float) and end_s > NOW_S for end_s in found.values())
    lives = rows(done(looked(recorded(), everything()), wanted()))["kafka_quorum_certificate_life_seconds"]
    assert set(lives) == set(found)
    of = looked(recorded(), everything())
    applied = of.revision(recorded().applied_revision)
    assert applied is not None
    (authority,) = bundle_of(applied.runtime.trust).authorities
    assert lives.pop(("authority",)) == (authority.not_after - authority.not_before).total_seconds()
    leafs = dict(everything().known_leafs())
    lasted = {leaf.certificate.not_after_s - leaf.certificate.not_before_s for leaf in leafs.values()}
    assert set(lives.values()) == lasted


def test_a_migration() -> None:
    """A migration has its stage and their number; a kind that no label has is left out."""
    planned = MigrationPlan(kind="ZooKeeperToKRaft", stage=2, stages=4, name="Brokers", sentence="s", way_back="")
    of = done()
    found = rows(replace(of, plan=replace(of.plan, migration=planned)))
    assert found["kafka_quorum_migration_stage"] == {("ZooKeeperToKRaft",): 2}
    assert found["kafka_quorum_migration_stages"] == {("ZooKeeperToKRaft",): 4}
    odd = replace(planned, kind="ToTheMoon")
    assert "kafka_quorum_migration_stage" not in rows(replace(of, plan=replace(of.plan, migration=odd)))


def test_acts_have_their_results() -> None:
    """Each act counts by its name and result; a change of the record by its own word."""
    first = done(nothing())
    assert set(quorum.acted(first)) == {("MintIdentity", "done")}
    assert set(quorum.acted(failed(first, unknown=True))) == {("MintIdentity", "unknown")}
    assert set(quorum.acted(failed(first, unknown=False))) == {("MintIdentity", "failed")}
    held = replace(first, outcomes=tuple(replace(each, done=False, held=True) for each in first.outcomes))
    assert set(quorum.acted(held)) == {("MintIdentity", "postponed")}
    writes = done(replace(at_rest(minted()), claims=at_rest().claims))
    assert set(quorum.acted(writes)) == {("IdentityRebuilt", "done")}
    assert CreatePod.__name__ in next(each for each in metrics.ACTS.labels if each.name == "act").values


def test_a_release_of_another_form_is_no_label() -> None:
    """Only X.Y.Z becomes the value of a label."""
    odd = done(wanted=desired(runtime=runtime(release="4.4.0-evil\n")))
    assert set(rows(odd)["kafka_quorum_info"]) == {("other", "Dynamic")}
    assert UID not in str(rows(odd))


def reason_of(call: ast.Call) -> list[ast.expr]:
    """The expressions that can be the reason of a wait."""
    given = [keyword.value for keyword in call.keywords if keyword.arg == "reason"]
    return [
        part for value in given for part in ((value.body, value.orelse) if isinstance(value, ast.IfExp) else (value,))
    ]


def test_reasons_are_words_of_the_source() -> None:
    """No wait in the planner composes its reason: each is a constant, or the name of one."""
    calls = [
        (path.name, call)
        for path in (OPERATOR / "plan").rglob("*.py")
        for call in ast.walk(ast.parse(path.read_text()))
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "Wait"
    ]
    composed = [
        (name, ast.unparse(part))
        for name, call in calls
        for part in reason_of(call)
        if not isinstance(part, ast.Constant | ast.Name)
    ]
    assert composed == []
    assert len(calls) > 40


def test_every_row_is_of_the_catalogue() -> None:
    """Every row that a pass can have is of a metric of the catalogue."""
    shown: list[Row] = [*quorum.rows(done(speaking())), *quorum.held(done())]
    assert {metric for metric, _, _ in shown} <= set(metrics.QUORUM)
