"""The status of a QuorumLook: what it shows, and that nothing new means an equal value."""

import json
from dataclasses import replace

from tests.introspection.worlds import decided, report, witnessed
from tests.model.values import at_rest, desired, key, looks, revision, situation, view
from tests.status import passes
from tests.test_reconcile import KEY, SPEC, Bench

from kafka_quorum.introspection.look import ACTING, AT_REST, INVALID, REFUSED, WAITING, look
from kafka_quorum.introspection.models import QuorumLookStatus
from kafka_quorum.introspection.rows import BYTES_MAX, bounded, plan_rows
from kafka_quorum.model.ids import NodeID
from kafka_quorum.model.known import Known, Unknown
from kafka_quorum.model.permit import Refusal
from kafka_quorum.model.plan import Plan, Severity, Wait


async def test_a_quorum_at_rest() -> None:
    """At rest the look has the leader, the voters and the pods, and neither acts nor waits."""
    status = look(decided(await report()))
    assert status["state"] == AT_REST
    assert {"acts", "waits", "errors", "older"}.isdisjoint(status)
    observed = status["observed"]
    assert (observed["leaderID"], observed["committed"]) == (3000, True)
    assert [(row["nodeID"], row["live"], row["caughtUp"]) for row in observed["voters"]] == [
        (3000, True, True),
        (3001, True, True),
        (3002, True, True),
    ]
    assert [(row["running"], row["kafkaVersion"]) for row in observed["controllers"]] == [(True, "4.4.0")] * 3
    QuorumLookStatus.model_validate(status, by_alias=True, by_name=False)


async def test_the_next_look_is_equal() -> None:
    """Later looks at a quorum at rest, with other offsets, epochs of stamps and times, are equal values."""
    bench, witness = await witnessed()
    bench.clock.seconds += 30
    bench.reconciler.changed(KEY)  # a look follows, no glance
    await bench.run()
    first, second = (look(decided(each)) for each in witness.reports)
    assert witness.reports[0].seen != witness.reports[1].seen
    assert first == second


async def test_acts_have_their_results() -> None:
    """An act of the pass has its event's reason, its guard if it needs one, and its result."""
    bench = Bench()
    bench.resource()
    _, witness = await witnessed(bench)
    status = look(decided(witness.reports[-1]))
    (act,) = status["acts"]
    assert (status["state"], act["kind"], act["reason"]) == (ACTING, "MintIdentity", "IdentityMade")
    assert (act["guard"], act["result"]) == ("8-mint", "Done")
    QuorumLookStatus.model_validate(status, by_alias=True, by_name=False)


async def test_a_spec_that_never_was_valid() -> None:
    """A resource without a valid spec has its faults, and nothing that was not observed."""
    bench = Bench()
    bench.resource(SPEC | {"kafka": {"version": "4.x"}})
    _, witness = await witnessed(bench)
    status = look(decided(witness.reports[-1]))
    assert (status["state"], "observed" in status) == (REFUSED, False)
    assert [row["field"] for row in status["errors"]] == ["spec.kafka.version"]


async def test_an_invalid_spec_after_a_valid_one() -> None:
    """With a fault in the spec the look has it beside what is still observed and repaired."""
    found = decided(await report())
    done = passes.done(faults=(passes.FAULT,))
    status = look(replace(found, done=done, faults=done.faults))
    assert (status["state"], status["errors"][0]["field"]) == (INVALID, passes.FAULT.field)
    assert status["observed"]["leaderID"] == 3000


async def test_a_wait_has_its_rule_and_its_evidence() -> None:
    """A wait that quotes the refusal of a guard names it, and has what the look showed of the controller."""
    refusal = Refusal(rule="3-remove-voter", reason="voter 3001 is needed for the majority")
    wait = Wait(
        severity=Severity.HELD, reason="Held", message=f"Did not remove voter 3002: {refusal.reason}", node_id=None
    )
    other = replace(wait, severity=Severity.PROGRESS, message="Waiting for controller 3002", node_id=NodeID(3002))
    plan = Plan(actions=(), waits=(wait, other), verdicts=(refusal,), requeue_s=1.0)
    rows = plan_rows(plan, (), at_rest())["waits"]
    assert [(row["severity"], row.get("rule")) for row in rows] == [("Held", refusal.rule), ("Progress", None)]
    assert "evidence" not in rows[0]
    voter, pod = rows[1]["evidence"]
    assert "3002" in voter
    assert "alpha-3002-g1" in pod
    found = decided(await report())
    assert found.done is not None
    assert look(replace(found, done=replace(found.done, plan=plan)))["state"] == WAITING


def test_the_planners_waits_name_their_guards() -> None:
    """A roll that waits because two of three voters lag names the guard of restarts, in the planner's own words."""
    seen_quorum = view([key(3000), key(3001), key(3002)], behind=[key(3001), key(3002)])
    wanted = desired(runtime=replace(desired().runtime, heap="1Gi"))
    made = (revision(), revision(wanted.runtime, 2))
    seen = at_rest(quorum=Known(value=seen_quorum), memory=looks(seen_quorum), revisions=made)
    rows = plan_rows(passes.done(seen, wanted).plan, (), seen)
    assert "5-restart" in {row.get("rule") for row in rows["waits"]}
    assert all(row["rule"] in {each["rule"] for each in rows["guards"]} for row in rows["waits"] if "rule" in row)


def test_an_unknown_quorum_is_unknown() -> None:
    """Without an answer there is a reason, and neither a leader nor voters, which would look known."""
    seen = replace(at_rest(), quorum=Unknown(reason="no controller answered"))
    found = passes.done(seen)
    rows = plan_rows(found.plan, (), seen)
    assert all("no controller answered" in row["evidence"][0] for row in rows["waits"])
    assert isinstance(at_rest().quorum, Known)


def test_refusals_come_first_and_each_answer_once() -> None:
    """Answers of guards are listed once each, refusals before permits, so that a cut leaves out permits."""
    no = Refusal(rule="5-restart", reason="no")
    made = passes.done().plan
    plan = replace(made, verdicts=(*made.verdicts, no, no))
    rows = plan_rows(plan, (), at_rest())["guards"]
    assert rows[0] == {"rule": "5-restart", "allowed": False, "reason": "no"}
    assert len([row for row in rows if not row["allowed"]]) == 1


def test_a_change_shows_which_controllers_restart() -> None:
    """Controllers that do not run what the spec asks for are listed."""
    wanted = desired(runtime=replace(desired().runtime, heap="1Gi"))
    rows = plan_rows(passes.done(wanted=wanted).plan, (), at_rest())
    assert rows["older"] == [3000, 3001, 3002]
    assert situation().older == ()


def test_a_status_is_bounded() -> None:
    """However much there is to show, a status is at most `BYTES_MAX` long, says what it lacks, and has clean text."""
    status = {
        "state": ACTING,
        "acts": [{"kind": "CreatePod", "message": "ü" * 5000}] * 500,
        "waits": [{"reason": "R", "message": "a\u202eb\x1b[31mc\n"}] * 500,
        "guards": [{"rule": "r", "allowed": False, "reason": "x" * 900}] * 500,
    }
    cut = bounded(status)
    assert len(json.dumps(cut, separators=(",", ":"), ensure_ascii=False).encode()) <= BYTES_MAX + 100
    assert all(cut["leftOut"][name] + len(cut[name]) == 500 for name in ("acts", "waits", "guards"))
    assert cut["waits"][0]["message"] == "abc"
    assert bounded({"state": AT_REST}) == {"state": AT_REST}
