"""The arithmetic of majorities, compared with a simple version that enumerates every deciding set of voters."""

from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st
from tests.model.values import key

from kafka_quorum.model.ids import ReplicaKey
from kafka_quorum.model.voters import VoterSet, majority_of, tolerated_by

KEYS = tuple(key(3000 + index) for index in range(7))
SETS = st.builds(
    VoterSet,
    st.frozensets(st.sampled_from(KEYS), min_size=1),
    st.frozensets(st.sampled_from(KEYS)),
)


def decides(of: frozenset[ReplicaKey], among: frozenset[ReplicaKey]) -> bool:
    """The simple version: voters decide if no set of the other voters could decide as well."""
    rest = among - of
    return of <= among and not any(
        len(other) >= len(of) for n in range(len(rest) + 1) for other in combinations(rest, n)
    )


def survives(voters: frozenset[ReplicaKey], healthy: frozenset[ReplicaKey]) -> bool:
    """Whether the healthy voters alone decide."""
    return decides(healthy & voters, voters)


@given(SETS)
def test_majority_is_what_decides(votes: VoterSet) -> None:
    """The caught-up voters carry the quorum exactly if they alone could decide."""
    assert votes.carries is survives(votes.voters, votes.caught_up)
    assert votes.healthy | votes.lagging == votes.voters
    assert not votes.healthy & votes.lagging


@given(SETS)
def test_two_majorities_meet(votes: VoterSet) -> None:
    """Any two sets of a majority's size have a voter in common, and smaller ones need not."""
    size = len(votes.voters)
    assert 2 * majority_of(size) > size >= 2 * (majority_of(size) - 1)


@given(SETS, st.sampled_from(KEYS))
def test_added_voter_counts_as_lagging(votes: VoterSet, newcomer: ReplicaKey) -> None:
    """With one more voter, the others must carry the larger set without it."""
    added = votes.added(newcomer)
    assert added.voters == votes.voters | {newcomer}
    assert added.carries is survives(votes.voters | {newcomer}, votes.caught_up - {newcomer})


@given(SETS, st.sampled_from(KEYS))
def test_removed_voter_has_no_vote(votes: VoterSet, leaver: ReplicaKey) -> None:
    """After a voter is removed, the others are judged as the smaller set."""
    removed = votes.removed(leaver)
    assert removed.voters == votes.voters - {leaver}
    if removed.voters:
        assert removed.carries is survives(votes.voters - {leaver}, votes.caught_up)


@given(SETS, st.sampled_from(KEYS))
def test_stopped_voter_keeps_its_vote(votes: VoterSet, stopped: ReplicaKey) -> None:
    """A lost or stopped voter still counts for the size of the majority."""
    assert votes.without(stopped).voters == votes.voters
    assert votes.without(stopped).carries is survives(votes.voters, votes.caught_up - {stopped})


@given(SETS)
def test_failure_tolerance(votes: VoterSet) -> None:
    """Any choice of this many caught-up voters may fail; with one more, some choice loses the majority."""
    tolerance = votes.failure_tolerance
    if votes.carries:
        assert all(votes.without(*lost).carries for lost in combinations(votes.healthy, tolerance))
        assert not any(votes.without(*lost).carries for lost in combinations(votes.healthy, tolerance + 1))
    else:
        assert tolerance == 0


def test_tolerated() -> None:
    """Three voters tolerate the loss of one, five the loss of two; a fourth voter adds nothing."""
    assert [tolerated_by(count) for count in range(8)] == [0, 0, 0, 1, 1, 2, 2, 3]


@given(SETS, st.frozensets(st.sampled_from(KEYS)))
def test_only_those_that_count(votes: VoterSet, counted: frozenset[ReplicaKey]) -> None:
    """Of the caught-up voters only the given ones count."""
    assert votes.only(counted).healthy == votes.healthy & counted
