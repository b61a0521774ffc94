"""What a plan does with the API server's answers: a refused pod stops no controller, and strands none."""

from dataclasses import replace

import pytest
from tests.model.certificates import LEAF_S, leaf_seen, looked, material, recorded, secured, wanted, with_leaf
from tests.model.values import (
    IDS,
    NOW_S,
    bound,
    claim_uid,
    desired,
    node,
    revision,
    running,
    runtime,
    situation,
    speaking,
    with_pod,
    without_pod,
)
from tests.plan.reading import checked, every, only, planned, verdict, wait

from kafka_quorum.model.actions import CreateFormatter, CreatePod, RecordChange, RestartPod, WriteRecord
from kafka_quorum.model.admission import Admission, PodQuestion
from kafka_quorum.model.identity import IdentityRecord, with_claim, with_nodes, with_revision
from kafka_quorum.model.ids import NodeID
from kafka_quorum.model.known import Knowable, Known, Unknown
from kafka_quorum.model.material import controller
from kafka_quorum.model.observed import Observed, Revision
from kafka_quorum.model.plan import Plan, Severity
from kafka_quorum.plan.planner import plan
from kafka_quorum.plan.releases.refused import moved

LARGER = runtime(heap="1Gi")
NEW = revision(LARGER, number=2)
OLD = revision()
SPEC = desired(runtime=LARGER)
YES = Admission(allowed=True)
NO = Admission(allowed=False, words="no PriorityClass with name missing was found")
OLD_NO = replace(NO, current=False)
NEWCOMER = NodeID(3003)


def question(name: str, node_id: int = 3001, *, formatter: bool = False) -> PodQuestion:
    """A question about the pod of a controller, 3001 by default, of this revision."""
    return PodQuestion(node_id=NodeID(node_id), revision=name, formatter=formatter)


def look(record: IdentityRecord | None = None, **answers: Admission | Unknown | None) -> Observed:
    """A look with both revisions; `new` and `old` are the answers about 3001."""
    names = {"new": NEW.name, "old": OLD.name}
    known: tuple[tuple[PodQuestion, Knowable[Admission]], ...] = tuple(
        (question(names[key]), answer if isinstance(answer, Unknown) else Known(value=answer))
        for key, answer in answers.items()
        if answer is not None
    )
    return speaking(record or running(), revisions=(OLD, NEW), admissions=known)


def asked(seen: Observed, wanted: object = SPEC, **how: bool) -> Plan:
    """The plan before the API server is asked."""
    return checked(plan(wanted, seen, now_s=NOW_S, **how))  # type: ignore[arg-type]  # a Desired


def stranded(*moved: int, **answers: Admission | Unknown | None) -> Observed:
    """A look in which 3001 has no pod. The record moves the controllers in `moved` to the new revision."""
    record = with_revision(running(), NEW.name, map(NodeID, moved))
    return without_pod(look(record, **answers), 3001)


# Before a controller is stopped


def test_a_plan_asks_before_it_moves_a_controller() -> None:
    """Without an answer nothing is moved or stopped, and the plan lists the pod that it asks about."""
    said = asked(look())
    assert (said.actions, len(said.questions)) == ((), 1)
    assert said.questions[0].revision == NEW.name
    assert wait(said, "Rolling").severity is Severity.PROGRESS
    assert verdict(said, "5-restart").allowed


@pytest.mark.parametrize("moved", [False, True], ids=["before the record", "after the record"])
def test_a_refused_pod_holds_the_roll(moved: bool) -> None:  # noqa: FBT001 - a parameter
    """A refused pod changes neither the record nor the running pod, and the wait quotes the API server."""
    record = with_revision(running(), NEW.name, [IDS[1]]) if moved else running()
    seen = with_pod(look(record), 3001, revision=OLD.name)
    refused = ((question(NEW.name, of), Known(value=NO)) for of in IDS)
    said = asked(replace(seen, admissions=tuple(refused)))
    assert not any(isinstance(action, WriteRecord | RestartPod) for action in said.actions)
    held = wait(said, "RollHeld")
    assert held.severity is Severity.HELD
    assert NO.words in held.message
    assert said.questions == ()


def test_an_old_refusal_is_asked_about_again() -> None:
    """After an old refusal the roll stays held, and the API server is asked again."""
    refused = tuple((question(NEW.name, of), Known(value=OLD_NO)) for of in IDS)
    said = asked(replace(look(), admissions=refused))
    assert (len(said.questions), said.actions) == (1, ())
    assert wait(said, "RollHeld").severity is Severity.HELD


def test_no_answer_is_no_consent() -> None:
    """An API server that did not answer has accepted nothing."""
    silent = tuple((question(NEW.name, of), Unknown(reason="no answer")) for of in IDS)
    said = asked(replace(look(), admissions=silent))
    assert (said.actions, said.questions) == ((), ())
    assert "no answer" in wait(said, "Rolling").message


def test_a_revision_that_failed_is_not_trusted() -> None:
    """An accepted dry run does not outweigh a creation that was refused a short time ago."""
    answers = (
        *((question(NEW.name, of), Known(value=YES)) for of in (3000, 3002)),
        (question(NEW.name), Known(value=replace(NO, created=True))),
    )
    said = asked(replace(look(), admissions=answers))
    assert said.actions == ()
    assert NO.words in wait(said, "RollHeld").message


def test_a_failure_of_another_revision_holds_nothing() -> None:
    """A creation that was refused from the earlier revision holds no roll to one that is accepted."""
    answers = (
        *((question(NEW.name, of), Known(value=YES)) for of in IDS),
        (question(OLD.name), Known(value=replace(NO, created=True))),
    )
    said = asked(replace(look(), admissions=answers))
    assert said.actions
    assert "RollHeld" not in {each.reason for each in said.waits}


# A controller without a pod


@pytest.mark.parametrize("applied", [OLD.name, NEW.name], ids=["in the midst", "stranded by an earlier version"])
def test_a_refused_controller_follows_the_spec_back(applied: str) -> None:
    """When the spec is set back, a controller whose pod is refused moves to the spec's revision, which is accepted."""
    seen = stranded(3001, new=NO, old=YES)
    assert seen.record is not None
    record = replace(seen.record, applied_revision=applied)
    if applied == NEW.name:
        record = replace(record, nodes=tuple(replace(of, revision=None) for of in record.nodes))
    write = only(asked(replace(seen, record=record), desired()), WriteRecord)
    assert write.change is RecordChange.REVISION
    moved = node(write.record, 3001)
    assert (moved.revision or write.record.applied_revision) == OLD.name


def test_a_refused_controller_goes_back_to_the_applied_revision() -> None:
    """While the spec is still refused, the controller goes back to the applied revision, which has run before."""
    write = only(asked(stranded(3001, new=NO, old=YES)), WriteRecord)
    assert node(write.record, 3001).revision == OLD.name


def test_the_spec_is_asked_about_before_the_applied_revision() -> None:
    """If two revisions could replace the refused one, the API server is asked about the spec's first."""
    corrected = revision(runtime(heap="2Gi"), number=3)
    seen = stranded(3001, new=NO, old=YES)
    seen = replace(seen, revisions=(*seen.revisions, corrected))
    said = asked(seen, desired(runtime=corrected.runtime))
    assert question(corrected.name) in said.questions
    assert every(said, WriteRecord) == []
    accepted = (*seen.admissions, (question(corrected.name), Known(value=YES)))
    write = only(asked(replace(seen, admissions=accepted), desired(runtime=corrected.runtime)), WriteRecord)
    assert node(write.record, 3001).revision == corrected.name


def test_an_accepted_pod_is_created_from_its_own_revision() -> None:
    """No controller moves because of a refusal that is over."""
    seen = stranded(3001, new=YES, old=YES)
    assert [each.revision.name for each in every(planned(seen, SPEC), CreatePod)] == [NEW.name]


def test_a_refused_pod_is_named_and_not_created() -> None:
    """While every revision is refused, the status names the cause, and no pod is created."""
    said = asked(stranded(3001, new=NO, old=NO))
    assert every(said, CreatePod) == []
    shown = wait(said, "PodRefused")
    assert (shown.severity, shown.node_id) == (Severity.DEGRADED, 3001)
    assert NO.words in shown.message


def test_an_invalid_spec_leaves_the_way_back() -> None:
    """With an invalid spec, a refused controller still goes back to the applied revision."""
    write = only(asked(stranded(3001, new=NO, old=YES), desired(), repair_only=True), WriteRecord)
    assert node(write.record, 3001).revision == OLD.name


def test_a_healthy_controller_without_a_pod_keeps_its_revision() -> None:
    """A pod that was lost and never refused is recreated from its own revision, even during a roll."""
    (create,) = every(planned(without_pod(look(), 3001), SPEC), CreatePod)
    assert create.revision.name == OLD.name


THIRD = revision(runtime(heap="2Gi"), number=3)
OLDER = revision(runtime(release="4.1.2"), number=4)


def refused(own: Admission, wanted: Revision = NEW, **answers: Admission | Unknown | None) -> Observed:
    """A look in which 3001 has no pod, because the API server refused the pod from the third revision."""
    seen = without_pod(look(with_revision(running(), THIRD.name, [IDS[1]]), **answers), 3001)
    answered = (*seen.admissions, (question(THIRD.name), Known(value=own)))
    return replace(seen, revisions=tuple(dict.fromkeys((OLD, NEW, THIRD, wanted))), admissions=answered)


def test_a_refused_controller_moves_past_every_refusal() -> None:
    """If the spec's revision is refused as well, the controller goes back to the applied one, and nothing is asked."""
    said = asked(refused(NO, new=NO, old=YES))
    assert node(only(said, WriteRecord).record, 3001).revision == OLD.name
    assert said.questions == ()


def test_a_refused_controller_moves_past_an_image_that_may_not_run() -> None:
    """If the spec's image cannot read the finalized levels, the controller goes back to the applied revision."""
    seen = refused(NO, OLDER, old=YES)
    write = only(asked(seen, desired(runtime=OLDER.runtime)), WriteRecord)
    assert node(write.record, 3001).revision == OLD.name


def test_an_answer_about_the_spec_is_waited_for() -> None:
    """While the API server cannot check the pod from the spec's revision, the controller stays where it is."""
    said = asked(refused(NO, new=Unknown(reason="it timed out"), old=YES))
    assert every(said, WriteRecord) == []
    assert question(NEW.name) not in said.questions


def test_after_an_old_refusal_only_the_spec_is_tried() -> None:
    """After an old refusal the controller moves to the spec's revision, but not back to the applied one."""
    write = only(asked(refused(OLD_NO, new=YES, old=NO)), WriteRecord)
    assert node(write.record, 3001).revision == NEW.name
    assert every(asked(refused(OLD_NO, new=NO, old=YES)), WriteRecord) == []


# The applied revision


def test_a_revision_is_applied_once_a_pod_has_run() -> None:
    """A revision is the applied one only after a pod has run from it, even if the record has it for the controllers."""
    record = with_revision(running(1), NEW.name, IDS[:1])
    seen = without_pod(speaking(record, revisions=(OLD, NEW)), 3000)
    one = replace(SPEC, replicas=1)
    assert every(planned(seen, one), WriteRecord) == []
    ran = with_pod(speaking(record, revisions=(OLD, NEW)), 3000, revision=NEW.name)
    assert only(planned(ran, one), WriteRecord).record.applied_revision == NEW.name


# Formatters


@pytest.mark.parametrize("generation", [1, 2])
def test_a_refused_controller_moves_only_with_the_leaf_of_the_target(generation: int) -> None:
    """With the earlier one it would count as one that shows the later one, and would not restart before its end."""
    record, second = recorded(), controller(IDS[1])
    seen = material(record)
    for holder, _ in seen.leafs:
        leaf = leaf_seen(holder, at_s=NOW_S + 2000, generation=2, before_ends_s=int(NOW_S) + LEAF_S)
        seen = with_leaf(seen, holder, leaf)
    seen = seen if generation == 2 else with_leaf(seen, second, leaf_seen(second))
    made = without_pod(looked(record, seen, secured(), secured(certificates=2)), 3001)
    own, target = (each.name for each in made.revisions)
    answers = ((question(own), Known(value=NO)), (question(target), Known(value=YES)))
    now = situation(wanted(), replace(made, admissions=answers), record, now_s=NOW_S + LEAF_S - 300)
    assert now.target == target
    assert isinstance(moved(now).exclusive, WriteRecord) is (generation == 2)


def test_a_refused_formatter_moves_to_the_applied_revision() -> None:
    """A newcomer whose formatter is refused gets the applied revision, and no running controller moves."""
    record = with_claim(with_nodes(running(), [NEWCOMER]), NEWCOMER, claim_uid(NEWCOMER))
    record = with_revision(record, THIRD.name, [NEWCOMER])
    answers = ((THIRD, NO), (OLD, YES))
    said = tuple((question(of.name, NEWCOMER, formatter=True), Known(value=answer)) for of, answer in answers)
    part = moved(situation(observed=speaking(record, revisions=(OLD, THIRD), admissions=said)))
    assert isinstance(part.exclusive, WriteRecord)
    assert [of.revision for of in part.exclusive.record.nodes] == [None, None, None, OLD.name]


def test_a_refused_formatter_is_named() -> None:
    """Before the barrier the wait quotes the API server's refusal, and no formatter is created."""
    seen = speaking(bound(), revisions=(OLD,), pods=())
    questions = tuple((question(OLD.name, of, formatter=True), Known(value=NO)) for of in IDS)
    said = asked(replace(seen, admissions=questions), desired())
    assert every(said, CreateFormatter) == []
    shown = [one for one in said.waits if one.reason == "PodRefused"]
    assert [one.node_id for one in shown] == list(IDS)
    assert all(NO.words in one.message for one in shown)
    assert verdict(said, "1-initial-format").allowed
