"""Available: a live, caught-up majority with a leader; without data it is Unknown."""

import pytest
from tests.golden.facts import facts
from tests.model.values import SILENT, at_rest, key, nothing, started, view
from tests.status.passes import done

from kafka_quorum.model.ids import ReplicaKey
from kafka_quorum.model.known import Known
from kafka_quorum.model.observed import Observed
from kafka_quorum.status.available import available
from kit.conditions.finding import Truth

THREE = [key(3000), key(3001), key(3002)]


@pytest.mark.parametrize(
    ("behind", "truth"), [([], Truth.TRUE), ([key(3002)], Truth.TRUE), ([key(3001), key(3002)], Truth.FALSE)]
)
def test_a_majority_decides(behind: list[ReplicaKey], truth: Truth) -> None:
    """Two of three caught-up voters are enough, one is not."""
    finding = available(done(at_rest(quorum=Known(value=view(THREE, behind=behind)))))
    assert finding.truth is truth
    assert facts(finding.message) == facts(3000, 3 - len(behind), 3)


@pytest.mark.parametrize("observed", [nothing(), at_rest(started())])
def test_before_the_first_leader_it_is_not_available(observed: Observed) -> None:
    """A quorum that never had a leader is not available."""
    assert (available(done(observed)).truth, available(done(observed)).reason) == (Truth.FALSE, "NotStarted")


def test_no_answer_is_unknown() -> None:
    """Without a leader it is Unknown, because brokers may still be served."""
    assert available(done(at_rest(quorum=SILENT))).truth is Truth.UNKNOWN
