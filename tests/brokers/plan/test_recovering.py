"""A fenced broker that a partition without a leader waits for is not restarted: it may be recovering its logs."""

from dataclasses import replace

import pytest
from tests.brokers.looks import (
    CRASHES,
    ORDERS,
    changed_pod,
    edited,
    look,
    new_spec,
    partition,
    planned,
    ran,
    registered,
    revision_of,
    view,
    with_view,
    without_pod,
)
from tests.brokers.values import broker, desired, record

from kafka_brokers.model.actions import DeletePod, RecordChange, WriteRecord
from kafka_brokers.model.observed import Observed
from kafka_quorum.model.brokers import Partition

NEW = new_spec()
OLD = revision_of(desired())
LONELY = {
    "the only in-sync replica": partition("alone-0", [1], [1], leader=None),
    "an eligible leader": partition("alone-0", [1, 2], [], leader=None, elr=[1]),
    "the last known eligible leader": partition("alone-0", [1, 2], [], leader=None, last_elr=[1]),
}


def outdated(*rows: Partition) -> Observed:
    """Broker 1 runs from an earlier revision, and is fenced."""
    orders = [partition(str(one.at), one.replicas, [node for node in one.replicas if node != 1]) for one in ORDERS]
    seen = view([*orders, *rows], [registered(node, fenced=node == 1) for node in range(3)], min_isr=1)
    of = with_view(look(ran(record(), desired()), NEW, old=(OLD,), least=3), seen)
    of = replace(of, pods=tuple(replace(one, revision=OLD.name) for one in of.pods))
    return changed_pod(of, 1, gate="False")


@pytest.mark.parametrize("row", LONELY.values(), ids=LONELY)
def test_it_is_not_restarted_while_a_partition_waits_for_it(row: Partition) -> None:
    """Neither record nor pod changes, no other broker is stopped, and the sentence names broker and partition."""
    plan = planned(outdated(row), NEW)
    assert not any(isinstance(one, WriteRecord | DeletePod) for one in plan.actions)
    (wait,) = (one for one in plan.waits if one.reason == "RollHeld")
    assert "broker 1" in wait.message
    assert "alone-0" in wait.message


def test_it_is_restarted_if_no_partition_waits_for_it() -> None:
    """Other brokers lead its partitions: nothing gets worse."""
    (action,) = planned(outdated(), NEW).actions
    assert isinstance(action, WriteRecord)
    assert action.change is RecordChange.REVISION


@pytest.mark.parametrize("row", LONELY.values(), ids=LONELY)
def test_one_that_cannot_start_gets_the_present_spec(row: Partition) -> None:
    """Its container ends again and again, or a person deleted its pod: then nothing is delayed by another revision."""
    crashes = changed_pod(outdated(row), 1, container=CRASHES)
    for of in (crashes, without_pod(outdated(row), 1)):
        (action,) = planned(of, NEW).actions
        assert isinstance(action, WriteRecord)
        assert action.change is RecordChange.REVISION
        assert broker(action.record, 1).revision == revision_of(NEW).name


def test_a_revision_that_was_chosen_before_waits_too() -> None:
    """The record names the new revision, and a partition lost its leader since: the pod runs on."""
    of = outdated(LONELY["the only in-sync replica"])
    assert of.record is not None
    later = replace(of, record=edited(of.record, 1, revision=revision_of(NEW).name))
    assert not any(isinstance(one, DeletePod) for one in planned(later, NEW).actions)
