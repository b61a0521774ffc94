"""A retired replica that fetches, in a pair that needs its vote, is removed, or the reason is reported."""

from dataclasses import replace

from tests.model.values import IDS, at_rest, desired, mirrored, running, situation
from tests.plan.reading import planned, verdict, wait

from kafka_quorum.model.actions import BeginOperation
from kafka_quorum.model.identity import with_disk_lost
from kafka_quorum.model.observed import Observed
from kafka_quorum.plan.voters.operation import membership


def returned_in_a_pair() -> Observed:
    """3001 lost its disk, and its pod came back with that disk and fetches, while only 3000 is the other voter."""
    record = running(2)
    lost = with_disk_lost(record, IDS[1], new_claim=False)
    return replace(at_rest(record), record=lost, status=mirrored(lost))


def test_a_retired_voter_of_a_pair_that_fetches_is_removed() -> None:
    """A retired voter that is not requested is removed while it fetches, because a pair cannot stop its pod first."""
    look = returned_in_a_pair()
    said = membership(situation(desired=desired(replicas=1), observed=look))
    assert isinstance(said.exclusive, BeginOperation)
    three = at_rest()
    assert three.record is not None
    lost = with_disk_lost(three.record, IDS[2], new_claim=False)
    covered = membership(situation(desired=desired(replicas=2), observed=replace(three, record=lost)))
    assert covered.exclusive is None  # its pod is stopped first


def test_why_a_retired_pod_is_not_stopped_is_told() -> None:
    """If the pod on a retired disk cannot be stopped, a wait gives the guard's reason."""
    said = planned(returned_in_a_pair(), desired(replicas=2))
    assert wait(said, "RemovingPod").message == verdict(said, "3-stop-retired").reason
