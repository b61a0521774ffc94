"""An even number of voters is allowed, and its cost is told."""

import pytest
from tests.model.values import at_rest, desired
from tests.status.passes import done

from kafka_quorum.status.finding import Truth
from kafka_quorum.status.odd_voters import odd_voter_count


@pytest.mark.parametrize(
    ("replicas", "truth", "said"),
    [
        (1, Truth.TRUE, "1 voter tolerates the loss of 0"),
        (2, Truth.FALSE, "2 voters tolerate the loss of 0, as 1 do"),
        (3, Truth.TRUE, "3 voters tolerate the loss of 1"),
        (4, Truth.FALSE, "4 voters tolerate the loss of 1, as 3 do"),
        (5, Truth.TRUE, "5 voters tolerate the loss of 2"),
    ],
)
def test_odd_is_fine_and_even_costs(replicas: int, truth: Truth, said: str) -> None:
    """The message counts the losses that can be borne, and names the way out."""
    finding = odd_voter_count(done(at_rest(), desired(replicas=replicas)))
    assert finding.truth is truth
    assert finding.message.startswith(said)
    assert (truth is Truth.TRUE) or f"to {replicas - 1} or {replicas + 1}" in finding.message
