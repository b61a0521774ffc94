"""OddVoterCount counts the committed voters, whatever the spec requests."""

import pytest
from tests.golden.facts import facts, mentions
from tests.model.values import SILENT, at_rest, desired, key, view
from tests.status.passes import done

from kafka_quorum.model.known import Known
from kafka_quorum.status.odd_voters import odd_voter_count
from kit.conditions.finding import Finding, Truth


def counted(voters: int, wanted: int | None = None) -> Finding:
    """The condition of a quorum with these numbers of voters and of requested controllers."""
    seen = view([key(3000 + number) for number in range(voters)])
    return odd_voter_count(done(at_rest(quorum=Known(value=seen)), desired(replicas=wanted or voters)))


@pytest.mark.parametrize(
    ("voters", "truth", "lost"),
    [
        (1, Truth.TRUE, 0),
        (2, Truth.FALSE, 0),
        (3, Truth.TRUE, 1),
        (4, Truth.FALSE, 1),
        (5, Truth.TRUE, 2),
    ],
)
def test_odd_is_fine_and_even_costs(voters: int, truth: Truth, lost: int) -> None:
    """The message has the number of losses that are tolerated, and names the field to change."""
    finding = counted(voters)
    assert finding.truth is truth
    even = ("spec.controllers.replicas", voters - 1, voters - 1, voters + 1) if truth is Truth.FALSE else ()
    assert facts(finding.message) == facts(voters, lost, *even)


def test_what_is_wanted_is_not_what_is() -> None:
    """While four voters become five, four are counted, and five are mentioned."""
    finding = counted(4, wanted=5)
    assert (finding.truth, finding.reason) == (Truth.FALSE, "Even")
    assert mentions(finding.message, 5)


def test_nothing_is_counted_without_a_committed_set() -> None:
    """Without a leader, or before a voter set is committed, the number of voters is unknown."""
    assert odd_voter_count(done(at_rest(quorum=SILENT))).truth is Truth.UNKNOWN
    seen = view([key(3000)], committed=False)
    finding = odd_voter_count(done(at_rest(quorum=Known(value=seen))))
    assert (finding.truth is Truth.UNKNOWN) is not bool(seen.committed_voters)
