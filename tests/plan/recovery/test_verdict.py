"""The verdict: what is lost, which log is best, and what is never concluded from an answer that did not come."""

from dataclasses import replace

import pytest
from tests.model.values import OTHER_CLUSTER, claim, directory, key, node, running, view
from tests.plan.recovery.lost import (
    END,
    asked,
    copy,
    failed,
    inspected,
    journal,
    log,
    plan_hash,
    read,
    seeded,
    situation_of,
    voters,
    without_leader,
)

from kafka_quorum.model.desired import Desired
from kafka_quorum.model.disk_work import copy_name
from kafka_quorum.model.ids import NodeID
from kafka_quorum.model.known import Known, Unknown
from kafka_quorum.model.memory import Memory
from kafka_quorum.model.observed import Observed
from kafka_quorum.model.proposal import LossVerdict, VerdictKind
from kafka_quorum.model.recovery import abandoned, begun
from kafka_quorum.model.recovery_request import Seed
from kafka_quorum.model.surveyed import EmptyDisk, LogEnd, Watermark
from kafka_quorum.plan.facts.proposal import judged_loss, proposal
from kafka_quorum.plan.facts.verdict import candidates, surveys, verdict

SEED = Seed(claim="broker-0", path="kraft")


def judged(observed: Observed, wanted: Desired | None = None) -> LossVerdict:
    """The verdict on a look."""
    return verdict(situation_of(wanted or asked(), observed))


def with_watermark(observed: Observed, epoch: int, offset: int) -> Observed:
    """The same, after a leader has reported this high watermark."""
    return replace(observed, memory=Memory(watermark=Watermark(epoch=epoch, offset=offset)))


def test_two_lost_disks_of_three_lead_to_the_third() -> None:
    """If two claims of three are gone, the log of the third is the best one, and two voters are lost."""
    found = judged(inspected(without_leader(), log()))
    assert found.kind is VerdictKind.NO_LOSS
    assert found.best is not None
    assert (found.best.source.node_id, found.best.end) == (3000, END)
    assert (found.lost, found.present, found.unreachable) == (voters(3001, 3002), voters(3000), ())


def test_a_majority_of_disks_needs_no_recovery() -> None:
    """If two disks of three hold their logs, nothing is proposed, whatever keeps the quorum from working."""
    look = inspected(without_leader(lost=(3002,)), log(3000), log(3001))
    assert judged(look).kind is VerdictKind.NOT_NEEDED
    assert proposal(situation_of(asked(), look)) is None


def test_a_majority_that_may_return_is_named() -> None:
    """If a second disk of three may come back, no recovery is proposed, and its voter is named."""
    look = inspected(without_leader(lost=(3002,)), log(3000), of3001=failed())
    found = judged(look)
    assert found.kind is VerdictKind.MAJORITY_MAY_RETURN
    assert str(key(3001)) in found.message
    assert proposal(situation_of(asked(), look)) is None


def test_a_better_disk_that_may_return_is_named() -> None:
    """If three of five are lost, an unreachable fourth one may have more records, and is waited for."""
    five = running(5)
    all_ = voters(3000, 3001, 3002, 3003, 3004)
    look = inspected(without_leader(five, lost=(3002, 3003, 3004)), log(3000, voters=all_), of3001=failed())
    found = judged(look)
    assert found.kind is VerdictKind.BETTER_DISK_MAY_RETURN
    assert found.unreachable == voters(3001)


def test_a_controller_that_the_best_log_does_not_know_may_return() -> None:
    """A log of before a voter change lists another voter set: a present controller beyond it counts if unreachable."""
    look = inspected(without_leader(lost=(3002,)), log(3000, voters=voters(3000, 3002)), of3001=failed())
    found = judged(look)
    assert found.kind is VerdictKind.MAJORITY_MAY_RETURN
    assert found.unreachable == voters(3001)
    assert proposal(situation_of(asked(), look)) is None
    assert judged(look, asked(without=(NodeID(3001),))).kind is VerdictKind.NO_LOSS


def test_a_log_without_voters_leads_nowhere() -> None:
    """Without a voter set nobody knows of whom a majority is lost."""
    assert judged(inspected(without_leader(), log(voters=()))).kind is VerdictKind.UNSUPPORTED


def test_a_listed_seed_is_waited_for() -> None:
    """A seed that was not read yet may have the better log: nothing is proposed from a worse one."""
    look = inspected(without_leader(), log())
    found = judged(look, asked(seeds=(SEED,)))
    assert found.kind is VerdictKind.READING
    assert "spec.recovery.seeds" in found.message
    assert proposal(situation_of(asked(seeds=(SEED,)), look)) is None


def test_a_seed_whose_claim_does_not_allow_it_is_unknown() -> None:
    """A report of it does not count, and the reason is shown with its disk."""
    look = seeded(inspected(without_leader(), log()), SEED, log(7, directory_id=directory(7)))
    for seeds, words in (((), "was not looked up"), (((SEED.claim, "annotate it"),), "annotate it")):
        found = judged(replace(look, seeds=seeds), asked(seeds=(SEED,)))
        assert found.kind is VerdictKind.READING
        (row,) = (each.found for each in found.surveys if each.source.is_seed)
        assert isinstance(row, Unknown)
        assert words in row.reason


def test_a_person_gives_an_unreachable_disk_up() -> None:
    """A controller in spec.recovery.without counts as lost, if its disk cannot be read."""
    look = inspected(without_leader(lost=(3002,)), log(3000), of3001=failed())
    found = judged(look, asked(without=(NodeID(3001),)))
    assert found.kind is VerdictKind.NO_LOSS
    assert found.lost == voters(3001, 3002)


def test_a_disk_that_was_read_is_not_given_up() -> None:
    """The word of a person does not make a disk lost that was read: its majority can return."""
    look = inspected(without_leader(lost=(3002,)), log(3000), log(3001))
    assert judged(look, asked(without=(NodeID(3001),))).kind is VerdictKind.NOT_NEEDED


@pytest.mark.parametrize(
    ("epoch", "offset", "kind", "loss"),
    [
        (7, 500, VerdictKind.NO_LOSS, 0),
        (7, 499, VerdictKind.NO_LOSS, 0),
        (7, 501, VerdictKind.PROVEN_LOSS, 1),
        (7, 900, VerdictKind.PROVEN_LOSS, 400),
        (8, 400, VerdictKind.PROVEN_LOSS, 1),
        (6, 500, VerdictKind.NO_LOSS, 0),
    ],
)
def test_the_watermark_decides_what_is_lost(epoch: int, offset: int, kind: VerdictKind, loss: int) -> None:
    """A log that ends below the last high watermark, or lacks the epoch of its leader, has lost committed records."""
    found = judged(with_watermark(inspected(without_leader(), log()), epoch, offset))
    assert (found.kind, found.loss_at_least) == (kind, loss)


def test_without_a_watermark_the_tail_is_unknown() -> None:
    """An operator that never saw a leader does not say that nothing is lost."""
    look = replace(inspected(without_leader(), log()), memory=Memory())
    assert judged(look).kind is VerdictKind.UNKNOWN_TAIL


def test_the_watermark_in_the_status_counts_after_a_restart() -> None:
    """An operator that starts without a leader reads the last high watermark from the status."""
    look = replace(inspected(without_leader(), log()), memory=Memory())
    look = replace(look, status=replace(look.status, watermark=Watermark(epoch=7, offset=600)))
    assert (judged(look).kind, judged(look).loss_at_least) == (VerdictKind.PROVEN_LOSS, 100)


def test_the_best_log_has_the_highest_epoch_then_the_highest_end() -> None:
    """A log of a later epoch is better than a longer one of an earlier epoch."""
    five = running(5)
    all_ = voters(3000, 3001, 3002, 3003, 3004)
    ends = {3000: LogEnd(epoch=7, offset=900), 3001: LogEnd(epoch=8, offset=700)}
    logs = (log(node_id, end=end, voters=all_) for node_id, end in ends.items())
    look = inspected(without_leader(five, lost=(3002, 3003, 3004)), *logs)
    found = judged(with_watermark(look, 8, 700))
    assert found.best is not None
    assert found.best.source.node_id == 3001
    assert [each.source.node_id for each in found.others] == [3000]


def test_of_equal_logs_the_lowest_controller_survives() -> None:
    """Equal ends are decided in the same way in every pass, and a controller's disk comes before a seed."""
    look = seeded(inspected(without_leader(), log()), SEED, log(7, directory_id=directory(7)))
    listed = candidates(surveys(situation_of(asked(seeds=(SEED,)), look)))
    assert [each.source.claim for each, _ in listed] == ["alpha-3000-g1", "broker-0"]


def test_a_seed_with_more_records_is_the_best_log() -> None:
    """The log of a broker is used if it is longer than that of the last disk."""
    longer = log(7, directory_id=directory(7), end=LogEnd(epoch=7, offset=600))
    look = with_watermark(seeded(inspected(without_leader(), log()), SEED, longer), 7, 600)
    planned = proposal(situation_of(asked(seeds=(SEED,)), look))
    assert planned is not None
    assert (planned.survivor.source.claim, planned.survivor.server_id, planned.node_id) == ("broker-0", 7, 3000)
    assert [each.source.node_id for each in planned.kept] == [3000]


def test_all_disks_lost_need_a_seed() -> None:
    """Without any log, a person must bring one; with a seed, a plan follows."""
    nothing = without_leader(lost=(3000, 3001, 3002))
    assert judged(nothing).kind is VerdictKind.NO_CANDIDATE
    look = seeded(nothing, SEED, log(7, directory_id=directory(7)))
    assert judged(look, asked(seeds=(SEED,))).kind is VerdictKind.NO_LOSS


def test_disks_that_are_not_read_yet_are_waited_for() -> None:
    """Before any report, nothing is concluded, not even that there is no log."""
    assert judged(without_leader()).kind is VerdictKind.READING


def test_an_empty_volume_alone_is_no_lost_disk() -> None:
    """A volume that one pod found empty may be one that is not mounted: a person has to give it up."""
    look = inspected(without_leader(lost=(3002,)), log(3000), of3001=read(EmptyDisk()))
    found = judged(look)
    assert (found.kind, found.unreachable) == (VerdictKind.MAJORITY_MAY_RETURN, voters(3001))
    assert "its volume looks empty" in found.message
    found = judged(look, asked(without=(NodeID(3001),)))
    assert (found.kind, found.lost) == (VerdictKind.NO_LOSS, voters(3001, 3002))


@pytest.mark.parametrize(
    "wrong",
    [
        {"cluster_id": OTHER_CLUSTER},
        {"directory_id": directory(3001, 2)},
        {"damaged_at": 300},
    ],
)
def test_a_disk_that_cannot_be_used_is_not_lost(wrong: dict[str, object]) -> None:
    """A foreign or damaged disk is no candidate, and its voter may come back with the right one."""
    found = judged(inspected(without_leader(lost=(3002,)), log(3000), log(3001, **wrong)))
    assert found.kind is VerdictKind.MAJORITY_MAY_RETURN
    assert found.others == ()


def test_a_claim_that_is_being_deleted_is_unreachable() -> None:
    """A disk that goes with its pod is neither read nor given up."""
    record = running()
    going = claim(record, node(record, 3001), deleting=True)
    look = without_leader(lost=(3002,))
    look = replace(look, claims=tuple(going if each.node_id == 3001 else each for each in look.claims))
    assert judged(inspected(look, log(3000))).unreachable == voters(3001)


def test_static_voters_are_not_recovered_this_way() -> None:
    """With kraft.version 0 the voters are in the configuration, and no plan is proposed."""
    look = inspected(without_leader(), log(kraft_version=0))
    assert judged(look).kind is VerdictKind.UNSUPPORTED


def test_nothing_is_judged_while_a_leader_leads() -> None:
    """While the quorum works, no disk is read and nothing is proposed."""
    working = replace(without_leader(), quorum=Known(value=view(voters(3000, 3001, 3002))))
    assert judged_loss(situation_of(asked(), working)) is None


def test_the_hash_covers_every_fact() -> None:
    """Another end, another watermark, another loss or another word of a person is another plan."""
    look = inspected(without_leader(), log())
    plans = [
        proposal(situation_of(asked(), look)),
        proposal(situation_of(asked(), inspected(without_leader(), log(end=LogEnd(epoch=7, offset=501))))),
        proposal(situation_of(asked(), with_watermark(look, 7, 400))),
        proposal(situation_of(asked(without=(NodeID(3002),)), look)),
        proposal(situation_of(asked(), inspected(without_leader(), log(checkpoint=None)))),
    ]
    assert len({each.hash for each in plans if each is not None}) == len(plans)


def test_the_hash_stays_while_a_controller_asks_for_votes() -> None:
    """The epoch that a lone controller reaches by asking for votes is no fact of the plan."""
    one, other = (inspected(without_leader(), log(leader_epoch=epoch)) for epoch in (9, 4000))
    assert plan_hash(asked(), one) == plan_hash(asked(), other)


def test_a_plan_that_was_taken_back_gets_another_hash() -> None:
    """Its copies are of the time before the controllers ran again: the next copies must have other names."""
    look = inspected(without_leader(), log())
    first = plan_hash(asked(), look)
    left = copy(copy_name("alpha-3000-g1", first), epoch=1)
    second = plan_hash(asked(), replace(look, copies=(left,)))
    assert second != first
    again = copy(copy_name("alpha-3000-g1", second), epoch=1)
    assert plan_hash(asked(), replace(look, copies=(left, again))) not in (first, second)
    record = replace(running(), recovery_epoch=1)
    ended = inspected(without_leader(record), log())
    assert plan_hash(asked(), replace(ended, copies=(left,))) == plan_hash(asked(), ended)


def test_an_approval_from_before_a_recovery_that_led_back_counts_no_more() -> None:
    """Also if every copy is deleted and every fact is as it was: a person left the hash in the spec."""
    look = inspected(without_leader(), log())
    first = plan_hash(asked(), look)
    back = abandoned(begun(running(), replace(journal(), plan=first)))
    assert back == replace(running(), recoveries_taken_back=1)
    second = plan_hash(asked(), inspected(without_leader(back), log()))
    assert second != first
    assert abandoned(begun(back, replace(journal(), plan=second))).recoveries_taken_back == 2
