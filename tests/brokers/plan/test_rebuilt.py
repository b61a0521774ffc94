"""A record that is rebuilt from claims: a volume that may have had data is formatted only under rule 10."""

from dataclasses import replace

from tests.brokers import values
from tests.brokers.looks import ORDERS, claim, claims, look, partition, planned, ran, registered, view, with_view
from tests.brokers.values import broker, desired, record

from kafka_brokers.model.actions import CreateClaim, CreateFormatter, DeleteClaim, WriteRecord
from kafka_brokers.model.changes import RecordChange
from kafka_brokers.model.disks import PoolRecord, without_data
from kafka_brokers.model.observed import Claim, ClusterView, Observed
from kafka_brokers.model.plan import Plan
from kafka_brokers.plan.guards.rule10_records import may_delete_volume
from kafka_quorum.model.known import Known, Unknown

JBOD = desired({"storage": [{"size": "10Gi"}, {"size": "10Gi"}]})
WHOLE = ran(record(volumes=2), JBOD)
DELETES = desired({"retentionPolicy": {"whenScaled": "Delete"}})
LEFT = tuple(one for one in claims(WHOLE) if (one.node_id, one.index) != (1, 1))
"""The claims of all volumes but the last one of broker 1."""


def minted(left: tuple[Claim, ...]) -> PoolRecord:
    """The record that is rebuilt from these claims."""
    (action,) = planned(look(WHOLE, JBOD, record=None, claims=left), JBOD).actions
    assert isinstance(action, WriteRecord)
    assert action.change is RecordChange.MINTED
    return replace(action.record, resource_version="8")


def fenced(*rows: object) -> ClusterView:
    """The cluster while broker 1 is fenced."""
    orders = [partition(str(one.at), one.replicas, [node for node in one.replicas if node != 1]) for one in ORDERS]
    return view([*orders, *rows], [registered(node, fenced=node == 1) for node in range(3)])  # type: ignore[list-item]


def without_broker(of: PoolRecord, left: tuple[Claim, ...], seen: ClusterView) -> Observed:
    """The look after the record was rebuilt: the pod of broker 1 is gone."""
    found = look(WHOLE, JBOD, record=of, claims=left)
    return with_view(replace(found, pods=tuple(one for one in found.pods if one.node_id != 1)), seen)


def begun(plan: Plan) -> list[object]:
    """What would put an empty volume under broker 1."""
    kinds = (CreateClaim, CreateFormatter)
    return [one for one in plan.actions if isinstance(one, kinds) and one.node_id == 1]


def test_a_missing_claim_is_a_lost_volume_not_a_new_one() -> None:
    """The last volume of a broker that has run stays in the record, without a claim, as one that may have had data."""
    disks = broker(minted(LEFT), 1).disks
    assert [(one.index, one.claim_uid is None, one.unproven) for one in disks] == [(0, False, False), (1, True, True)]


def test_a_missing_claim_between_others_is_a_lost_volume_too() -> None:
    """The same for the first of two volumes."""
    left = tuple(one for one in claims(WHOLE) if (one.node_id, one.index) != (1, 0))
    assert [one.unproven for one in broker(minted(left), 1).disks] == [True, False]


def test_a_volume_is_not_replaced_if_its_records_would_be_lost() -> None:
    """Broker 1 is the only in-sync replica of a partition: nothing is formatted, and `LostDisk` names the partition."""
    alone = partition("alone-0", [1], [1], leader=None)
    plan = planned(without_broker(minted(LEFT), LEFT, fenced(alone)), JBOD)
    assert begun(plan) == []
    (wait,) = (one for one in plan.waits if one.reason == "LostDisk")
    assert "alone-0" in wait.message


def test_a_volume_is_not_replaced_while_the_partitions_are_unknown() -> None:
    """Unknown is a no."""
    of = replace(without_broker(minted(LEFT), LEFT, fenced()), cluster=Unknown(reason="nobody answers"))
    plan = planned(of, JBOD)
    assert begun(plan) == []
    assert any(one.reason == "LostDisk" for one in plan.waits)


def test_a_volume_is_replaced_if_others_have_every_record() -> None:
    """It is given up under rule 10, and its next generation is a new volume."""
    before = minted(LEFT)
    (action,) = planned(without_broker(before, LEFT, fenced()), JBOD).actions
    assert isinstance(action, WriteRecord)
    assert action.change is RecordChange.DISK_LOST
    disk = broker(action.record, 1).disks[1]
    assert (disk.generation, disk.claim_uid, disk.unproven) == (2, None, False)
    after = replace(action.record, resource_version="9")
    assert any(isinstance(one, CreateClaim) for one in begun(planned(without_broker(after, LEFT, fenced()), JBOD)))


def test_a_person_accepts_the_loss() -> None:
    """The annotation that accepts the loss of a disk accepts this one, too."""
    alone = partition("alone-0", [1], [1], leader=None)
    of = replace(without_broker(minted(LEFT), LEFT, fenced(alone)), accept_loss=frozenset({f"{values.POOL}-1-d1-g1"}))
    assert any(
        isinstance(one, WriteRecord) and one.change is RecordChange.DISK_LOST for one in planned(of, JBOD).actions
    )


def test_a_claim_without_a_copy_of_its_id_is_examined_under_the_same_rule() -> None:
    """A restored claim has lost its annotation, and may be empty: the formatter waits for rule 10."""
    bare = (*LEFT, claim(broker(WHOLE, 1), 1, directory_id=None))
    of = minted(bare)
    assert broker(of, 1).disks[1].unproven
    alone = partition("alone-0", [1], [1], leader=None)
    held = planned(without_broker(of, bare, fenced(alone)), JBOD)
    assert begun(held) == []
    assert any("alone-0" in one.message for one in held.waits)
    assert any(isinstance(one, CreateFormatter) for one in begun(planned(without_broker(of, bare, fenced()), JBOD)))


def test_a_pool_that_never_ran_is_rebuilt_with_new_volumes() -> None:
    """No claim has a directory id, so no broker has run: what is missing is new."""
    fresh = tuple(replace(one, directory_id=None) for one in LEFT)
    assert not any(disk.unproven for one in minted(fresh).brokers for disk in one.disks)


def test_generations_go_on_after_retired_claims() -> None:
    """The claim of generation 2 is gone, the retired one of generation 1 is there: the next one has neither name."""
    old = claim(broker(WHOLE, 1), 1, retired=True)
    assert broker(minted((*LEFT, old)), 1).disks[1].generation == 2


def test_a_restored_claim_is_the_volume_again() -> None:
    """A person restores the claim that the rebuilt record misses, with its copy of the directory id."""
    of = minted(LEFT)
    name = replace(broker(of, 1), disks=(broker(of, 1).disks[0], replace(broker(of, 1).disks[1], claim_uid="restored")))
    known = broker(WHOLE, 1).disks[1].directory_id
    back = (*LEFT, claim(name, 1, directory_id=known))
    (action,) = planned(without_broker(of, back, fenced()), JBOD).actions
    assert isinstance(action, WriteRecord)
    assert action.change is RecordChange.CLAIM_BOUND
    disk = broker(action.record, 1).disks[1]
    assert (disk.claim_uid, disk.directory_id, disk.unproven) == ("restored", known, False)


def test_a_broker_whose_earlier_volume_had_data_has_run() -> None:
    """Its new volume was not formatted yet when the record was lost: what was given up may be the last copy."""
    before = ran(record(), DELETES)
    given_up = replace(broker(before, 1), disks=(without_data(broker(before, 1).disks[0], new_claim=True),))
    earlier = claim(broker(before, 1), retired=True)
    later = claim(given_up, directory_id=None)
    left = (*(one for one in claims(before) if one.node_id != 1), earlier, later)
    rebuilt = minted(left)
    assert [(one.node_id, one.ran) for one in rebuilt.brokers] == [(0, True), (1, True), (2, True)]
    alone = partition("pair-0", [1, 2], [2], leader=None)
    rows = [registered(node, fenced=node > 0) for node in range(3)]
    for seen in (Known(value=view([alone], rows)), Unknown(reason="nobody answers")):
        of = look(rebuilt, DELETES, claims=left, pods=(), cluster=seen)
        assert not any(isinstance(one, DeleteClaim) for one in planned(of, DELETES).actions)
        assert not may_delete_volume(of, earlier).allowed
