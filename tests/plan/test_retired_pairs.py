"""A retired replica that fetches, in a quorum that cannot do without its vote: it is removed, or it is said why not."""

from dataclasses import replace

from tests.model.values import IDS, at_rest, desired, mirrored, running, situation
from tests.plan.reading import planned, verdict, wait

from kafka_quorum.model.actions import BeginOperation
from kafka_quorum.model.identity import with_disk_lost
from kafka_quorum.model.observed import Observed
from kafka_quorum.plan.voters.operation import membership


def returned_in_a_pair() -> Observed:
    """3001 lost its disk, and its pod came back with it, fetching, when only 3000 votes beside it."""
    record = running(2)
    lost = with_disk_lost(record, IDS[1], new_claim=False)
    return replace(at_rest(record), record=lost, status=mirrored(lost))


def test_a_retired_voter_of_a_pair_that_fetches_is_removed() -> None:
    """One that is not requested is removed while it fetches: a pair cannot stop its pod first."""
    look = returned_in_a_pair()
    said = membership(situation(desired=desired(replicas=1), observed=look))
    assert isinstance(said.exclusive, BeginOperation)
    three = at_rest()
    assert three.record is not None
    lost = with_disk_lost(three.record, IDS[2], new_claim=False)
    covered = membership(situation(desired=desired(replicas=2), observed=replace(three, record=lost)))
    assert covered.exclusive is None  # its pod is stopped first


def test_why_a_retired_pod_is_not_stopped_is_told() -> None:
    """A pod on a retired disk that cannot be stopped says why, beside the wait that asks for its stop."""
    said = planned(returned_in_a_pair(), desired(replicas=2))
    assert wait(said, "RemovingPod").message == verdict(said, "3-stop-retired").reason
