"""What would be lost, as far as another log shows it: only what is proven; what no log shows is said to be unknown."""

from dataclasses import replace
from typing import Any

import pytest
from tests.model.values import NOW_S, directory, node, running
from tests.plan.reading import every, planned
from tests.plan.recovery.lost import (
    asked,
    failed,
    inspected,
    log,
    plan_hash,
    read,
    seeded,
    situation_of,
    source,
    voters,
    without_leader,
    worker,
)

from kafka_quorum.model.actions import CreateInspector, DeleteWorker
from kafka_quorum.model.desired import Desired
from kafka_quorum.model.disk_work import CompareDisk, WorkReport, work_name
from kafka_quorum.model.ids import NodeID
from kafka_quorum.model.known import Known, Unknown
from kafka_quorum.model.memory import Memory
from kafka_quorum.model.observed import Observed
from kafka_quorum.model.proposal import LossVerdict, Tail, VerdictKind
from kafka_quorum.model.recovery_request import Seed
from kafka_quorum.model.surveyed import Beyond, EpochRange, EpochStart, LogEnd, Watermark
from kafka_quorum.plan.facts.tails import committed_of
from kafka_quorum.plan.facts.verdict import verdict

FIVE = running(5)
ALL = voters(3000, 3001, 3002, 3003, 3004)
BEST_END, OTHER_END = LogEnd(epoch=8, offset=700), LogEnd(epoch=7, offset=900)
BEST = log(3000, end=BEST_END, voters=ALL, epochs=(EpochStart(epoch=6, offset=0), EpochStart(epoch=8, offset=480)))
OTHER = log(3001, end=OTHER_END, voters=ALL, epochs=(EpochStart(epoch=6, offset=0), EpochStart(epoch=7, offset=480)))
BEFORE, AT_END = Watermark(epoch=6, offset=300), Watermark(epoch=7, offset=500)
DAMAGED = log(3001, end=LogEnd(epoch=6, offset=300), damaged_at=300, epochs=(EpochStart(epoch=6, offset=0),))


def beyond(**changes: Any) -> Beyond:  # noqa: ANN401 - whatever the field holds
    """What `OTHER` has more than `BEST`: 420 records of epoch 7."""
    plain = Beyond(
        end=OTHER_END,
        shared=LogEnd(epoch=6, offset=479),
        records=420,
        undecided=0,
        unread=0,
        whole=True,
        first=480,
        last=899,
        epochs=(EpochRange(epoch=7, first=480, last=899, records=420),),
        types=(("NO_OP_RECORD", 416), ("PARTITION_RECORD", 3), ("TOPIC_RECORD", 1)),
        topics=("orders",),
        topics_total=1,
    )
    return replace(plain, **changes)


def parted(watermark: Watermark | None = BEFORE) -> Observed:
    """Three disks of five are gone; of the two others, one ends in an earlier epoch, and further behind."""
    look = inspected(without_leader(FIVE, lost=(3002, 3003, 3004)), BEST, OTHER)
    return replace(look, memory=Memory(watermark=watermark))


def damaged(watermark: Watermark | None = AT_END) -> Observed:
    """One disk of three is gone, and one is damaged; the third ends at offset 500 of epoch 7."""
    best = log(epochs=(EpochStart(epoch=6, offset=0), EpochStart(epoch=7, offset=400)))
    return replace(inspected(without_leader(lost=(3002,)), best, DAMAGED), memory=Memory(watermark=watermark))


def given_up() -> Desired:
    """A person gives up the damaged disk."""
    return asked(without=(NodeID(3001),))


def judged(look: Observed, wanted: Desired | None = None) -> LossVerdict:
    """The verdict on a look."""
    return verdict(situation_of(wanted or asked(), look))


def compared(look: Observed, found: Beyond | None, wanted: Desired | None = None) -> Observed:
    """The same, after the one other log was compared with the best one; None: it could not be."""
    (tail,) = judged(look, wanted).tails
    report = (
        failed("two cluster ids")
        if found is None
        else WorkReport(done=True, found=Unknown(reason="its pod only compared it"), beyond=found)
    )
    return replace(look, workers=(*look.workers, worker(tail.work, report)))


def tail_of(look: Observed, wanted: Desired | None = None) -> Tail:
    """What is known of the one other log."""
    (tail,) = judged(look, wanted).tails
    return tail


# The epochs of a log


@pytest.mark.parametrize(
    ("epoch", "offset", "has"),
    [
        (6, 480, True),
        (6, 481, False),
        (7, 500, False),
        (8, 481, True),
        (8, 700, True),
        (8, 701, False),
        (9, 10, False),
        (6, 1, True),
        (5, 1, False),
    ],
)
def test_a_record_is_in_a_log_if_its_epoch_is_there(epoch: int, offset: int, has: bool) -> None:  # noqa: FBT001
    """A log has the record before an end exactly if it has this epoch at this offset."""
    assert BEST.has(LogEnd(epoch=epoch, offset=offset)) is has


def test_what_is_before_the_known_epochs_is_unknown() -> None:
    """Before the first epoch that was reported, only a later epoch is certainly missing."""
    late = log(end=BEST_END, epochs=(EpochStart(epoch=7, offset=400), EpochStart(epoch=8, offset=600)))
    assert late.has(LogEnd(epoch=6, offset=100)) is None
    assert late.has(LogEnd(epoch=7, offset=100)) is None
    assert late.has(LogEnd(epoch=8, offset=100)) is False
    assert log(end=BEST_END).has(LogEnd(epoch=6, offset=100)) is None
    assert log(end=BEST_END).has(BEST_END) is True
    assert (late.until(6), late.until(7), late.until(8), log().until(7)) == (None, 600, 700, None)


# What is compared


def test_a_log_that_is_a_beginning_of_the_best_one_is_not_compared() -> None:
    """If the last record of a log is in the best one, nothing of it would be lost, and no pod has to read it again."""
    shorter = log(3001, end=LogEnd(epoch=6, offset=450), voters=ALL, epochs=OTHER.epochs[:1])
    look = inspected(without_leader(FIVE, lost=(3002, 3003, 3004)), BEST, shorter)
    assert judged(look).tails == ()
    assert not every(planned(look, asked()), CreateInspector)


def test_a_log_that_parted_is_compared_once() -> None:
    """One pod compares the other log with the best one, on its Kubernetes node; its report is not asked for again."""
    (create,) = every(planned(parted(), asked()), CreateInspector)
    assert create.work == CompareDisk(source=source(FIVE, 3001), epochs=BEST.epochs, end=BEST_END)
    assert create.kube_node == "worker-3001"
    done = planned(compared(parted(), beyond()), asked())
    assert not every(done, CreateInspector)
    assert not every(done, DeleteWorker)


def test_another_best_log_is_other_work() -> None:
    """A comparison with a log that is not the best one any more is removed, and never counts for the present one."""
    old = compared(parted(), beyond())
    longer = replace(BEST, end=LogEnd(epoch=8, offset=701))
    look = replace(inspected(without_leader(FIVE, lost=(3002, 3003, 3004)), longer, OTHER), memory=old.memory)
    look = replace(look, workers=(*look.workers, old.workers[-1]))
    assert isinstance(tail_of(look).found, Unknown)
    assert [each.worker.name for each in every(planned(look, asked()), DeleteWorker)] == [old.workers[-1].name]


def test_a_comparison_that_failed_is_done_again() -> None:
    """A pod that could not compare says why, and is removed after a while."""
    look = compared(parted(), None)
    tail = tail_of(look)
    assert tail.found == Unknown(reason="two cluster ids")
    assert not every(planned(look, asked()), DeleteWorker)
    late = replace(look, workers=(*look.workers[:-1], replace(look.workers[-1], finished_at_s=NOW_S - 60.0)))
    (delete,) = every(planned(late, asked()), DeleteWorker)
    assert delete.worker.name == work_name("alpha", tail.work)


def test_nothing_is_compared_if_nothing_would_be_lost() -> None:
    """If a majority of the voters have their disks, no log is compared: the quorum decides itself."""
    look = inspected(without_leader(lost=(3002,)), log(3000), replace(OTHER, voters=voters(3000, 3001, 3002)))
    assert judged(look).kind is VerdictKind.NOT_NEEDED
    assert judged(look).tails == ()


def test_a_seed_that_is_not_the_best_log_is_compared() -> None:
    """A broker's copy that parted from the best log is compared like a controller's disk."""
    seed = Seed(claim="broker-0", path="kraft")
    copy = replace(OTHER, node_id=NodeID(7), directory_id=directory(7))
    look = seeded(inspected(without_leader(FIVE, lost=(3001, 3002, 3003, 3004)), BEST), seed, copy)
    (tail,) = judged(look, asked(seeds=(seed,))).tails
    assert tail.work.source.claim == "broker-0"


# What is said


def test_before_the_comparison_nothing_is_concluded() -> None:
    """Without a report it is unknown whether the other log has more: it is never said to have nothing."""
    tail = tail_of(parted())
    assert isinstance(tail.found, Unknown)
    assert "not known" in tail.message
    waiting = replace(parted(), workers=(*parted().workers, worker(tail.work, None, why="no node can run its pod")))
    assert tail_of(waiting).found == Unknown(reason="no node can run its pod")


def test_records_and_topics_are_named() -> None:
    """The sentence has the number, the offsets, the types and the topics."""
    tail = tail_of(compared(parted(), beyond()))
    assert tail.found == Known(value=beyond())
    assert "has 420 records that the best log does not have (offsets 480 to 899, epoch 7)" in tail.message
    assert "416 NO_OP_RECORD, 3 PARTITION_RECORD, 1 TOPIC_RECORD; topics: orders" in tail.message


def test_a_long_list_is_cut_and_counted() -> None:
    """Of many types and topics the first ones are named, and the others counted."""
    many = beyond(
        types=tuple((f"TYPE_{at}", 20) for at in range(20)),
        topics=tuple(f"{at:0100}" for at in range(30)),
        topics_total=1000,
    )
    message = tail_of(compared(parted(), many)).message
    assert "260 of other types" in message
    assert "997 more" in message
    assert len(message) < 1000


def test_a_later_leader_proves_that_nothing_was_committed() -> None:
    """Records of an epoch that the best log lacks were not committed, as long as disks were whole when it went on."""
    message = tail_of(compared(parted(), beyond())).message
    assert "The leader of epoch 8 was elected without them, so none of them was committed, unless" in message


def test_the_watermark_proves_what_was_committed() -> None:
    """What lies below the last high watermark of its own epoch was committed, whatever leader came later."""
    tail = tail_of(compared(parted(Watermark(epoch=7, offset=500)), beyond()))
    assert tail.committed == 20
    assert "At least 20 of them were committed" in tail.message
    assert "none of them" not in tail.message


@pytest.mark.parametrize(
    ("watermark", "committed"),
    [
        (None, 0),
        (Watermark(epoch=7, offset=480), 0),
        (Watermark(epoch=7, offset=2000), 420),
        (Watermark(epoch=6, offset=2000), 0),
        (Watermark(epoch=8, offset=2000), 0),
    ],
)
def test_only_the_epoch_of_the_watermark_proves_it(watermark: Watermark | None, committed: int) -> None:
    """A watermark of an epoch that the log does not have says nothing about its records."""
    assert committed_of(beyond(), watermark) == committed


def test_of_damaged_records_the_fewest_are_proven() -> None:
    """If records are missing between the others, each that may be above the watermark counts as above it."""
    some = (EpochRange(epoch=7, first=480, last=899, records=100),)
    assert committed_of(beyond(epochs=some, whole=False), Watermark(epoch=7, offset=850)) == 50
    assert committed_of(beyond(epochs=some, whole=False), Watermark(epoch=7, offset=700)) == 0


def test_a_damaged_disk_shows_what_goes_with_it() -> None:
    """A disk that cannot be used is compared, and shows at least what a person gives up with it."""
    assert judged(damaged()).kind is VerdictKind.MAJORITY_MAY_RETURN
    assert [each.work.source.node_id for each in judged(damaged()).tails] == [3001]
    more = beyond(
        end=DAMAGED.end,
        whole=False,
        shared=LogEnd(epoch=7, offset=499),
        records=12,
        first=500,
        last=511,
        epochs=(EpochRange(epoch=7, first=500, last=511, records=12),),
    )
    tail = tail_of(compared(damaged(), more, given_up()), given_up())
    assert "has at least 12 records" in tail.message
    assert "It is not known whether they were committed" in tail.message
    assert tail.committed == 0


def test_a_damaged_disk_with_nothing_more_says_so() -> None:
    """If the best log has all that can be read of a damaged disk, this is said with its limit."""
    none = beyond(end=DAMAGED.end, whole=False, records=0, first=None, last=None, epochs=(), types=(), topics=())
    none = replace(none, topics_total=0)
    message = tail_of(compared(damaged(), none)).message
    assert message.startswith("The best log has every record of the disk of controller 3001")
    assert message.endswith("as far as it can be read")


def test_topics_that_cannot_be_read_are_not_none() -> None:
    """Without a topic, it is said whether there is none, or none that can be read."""
    bare = beyond(topics=(), topics_total=0)
    assert "topics: none. " in tail_of(compared(parted(), bare)).message
    unread = replace(bare, unread=3)
    message = tail_of(compared(parted(), unread)).message
    assert "topics: none that can be read" in message
    assert "3 of these records cannot be decoded" in message


def test_what_is_undecided_is_neither_lost_nor_kept() -> None:
    """If the epochs of the best log are not known where the other one ends, this is said."""
    message = tail_of(compared(parted(), beyond(records=0, undecided=300, shared=None, first=None, epochs=()))).message
    assert "It is not known whether the best log has 300 records" in message
    assert "every record" not in message


def test_a_log_that_changed_since_does_not_count() -> None:
    """A comparison of another end than the one that was read is no answer."""
    tail = tail_of(compared(parted(), beyond(end=LogEnd(epoch=7, offset=901))))
    assert isinstance(tail.found, Unknown)
    assert "when it was compared" in tail.message


def test_what_no_log_has_is_said_to_be_unknown() -> None:
    """Each verdict with a plan has a sentence about what no log shows; no other verdict has one."""
    lost = "Not"
    plain = inspected(without_leader(), log())
    assert "number, types and topics are not known" in judged(plain).unknown
    assert "number, types and topics are not known" in judged(replace(plain, memory=Memory())).unknown
    behind = replace(plain, memory=Memory(watermark=Watermark(epoch=7, offset=900)))
    assert "At least 400 records that were committed are not in the best log. No log" in judged(behind).unknown
    assert judged(inspected(without_leader(lost=(3002,)), log(3000), of3001=failed(lost))).unknown == ""


def test_what_another_log_has_of_a_proven_loss_is_subtracted() -> None:
    """Committed records that another log shows are not said to be in no log."""
    mark = Watermark(epoch=7, offset=520)
    more = beyond(
        end=DAMAGED.end, whole=False, records=12, first=500, last=511,
        epochs=(EpochRange(epoch=7, first=500, last=511, records=12),),
    )  # fmt: skip
    look = compared(damaged(mark), more, given_up())
    found = judged(look, given_up())
    assert (found.kind, found.loss_at_least, tail_of(look, given_up()).committed) == (VerdictKind.PROVEN_LOSS, 20, 12)
    assert "12 of them are in another log that was read, and no log has the others" in found.unknown


# The verdict and the plan


def test_a_later_epoch_that_lacks_the_watermark_is_a_proven_loss() -> None:
    """A log of a later epoch lost committed records if it ends the watermark's epoch below the watermark."""
    found = judged(parted(Watermark(epoch=7, offset=500)))
    assert (found.kind, found.loss_at_least) == (VerdictKind.PROVEN_LOSS, 20)
    assert "its records up to epoch 7 end at offset 480" in found.message
    assert judged(parted(Watermark(epoch=7, offset=480))).loss_at_least == 1
    assert judged(parted(Watermark(epoch=6, offset=480))).kind is VerdictKind.NO_LOSS
    newest = inspected(without_leader(FIVE, lost=(3001, 3002, 3003, 3004)), replace(BEST, epochs=BEST.epochs[-1:]))
    start = BEST.epochs[-1]
    for offset, loss in ((start.offset, 0), (start.offset + 1, 1)):
        mark = Memory(watermark=Watermark(epoch=start.epoch - 1, offset=offset))
        found = judged(replace(newest, memory=mark))
        assert (found.loss_at_least, f"begins at offset {start.offset}" in found.message) == (loss, bool(loss))
    alone = inspected(without_leader(FIVE, lost=(3001, 3002, 3003, 3004)), replace(BEST, epochs=()))
    marks = {offset: Memory(watermark=Watermark(epoch=7, offset=offset)) for offset in (500, 701)}
    assert [judged(replace(alone, memory=mark)).loss_at_least for mark in marks.values()] == [0, 1]


def test_the_hash_does_not_depend_on_the_comparison() -> None:
    """A plan that a person read keeps its hash when the comparison ends, fails or is repeated."""
    look = parted(Watermark(epoch=7, offset=500))
    hashes = {plan_hash(asked(), each) for each in (look, compared(look, beyond()), compared(look, None))}
    assert len(hashes) == 1


def test_a_report_of_a_comparison_is_no_look() -> None:
    """A pod that should read a disk and only compared it leaves the disk unknown: it is neither empty nor lost."""
    only = replace(read(log()), found=Unknown(reason="its pod only compared it"), beyond=beyond())
    look = inspected(without_leader(lost=(3002,)), log(3000), of3001=only)
    assert judged(look).kind is VerdictKind.MAJORITY_MAY_RETURN
    assert node(running(), 3001).key in judged(look).unreachable
