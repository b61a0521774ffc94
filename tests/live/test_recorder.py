"""The check of voter sets accepts single steps, and nothing else."""

import pytest
from tests.live.recorder import Seen, VoterSet, faults

from kafka_quorum.model.ids import DirectoryID, NodeID, ReplicaKey, uuid_from_bytes


def key(node_id: int, letter: str = "d") -> ReplicaKey:
    """A replica key; another letter means another directory."""
    directory = DirectoryID(uuid_from_bytes(f"{letter}{node_id:015d}".encode()))
    return ReplicaKey(node_id=NodeID(node_id), directory_id=directory)


def voters(*node_ids: int) -> VoterSet:
    """A voter set."""
    return frozenset(map(key, node_ids))


def seen(*sets: VoterSet) -> list[Seen]:
    """Looks at these sets, one after another."""
    return [Seen(epoch=1, voters=each, at_s=float(index)) for index, each in enumerate(sets)]


STALE, FRESH = voters(1, 2, 3), voters(1, 2) | {key(3, "e")}
ONE_BY_ONE = (voters(1), voters(1, 2), voters(1, 2, 3), voters(1, 3))


def test_single_steps_are_no_fault() -> None:
    """One key more or one key less is no fault, seen or logged."""
    assert faults(seen(*ONE_BY_ONE), [ONE_BY_ONE]) == []


def test_a_step_too_quick_to_be_seen_is_looked_up_in_the_logs() -> None:
    """A key replaced between two looks is two steps in a log, and a fault without them."""
    assert faults(seen(STALE, FRESH), [(STALE, voters(1, 2), FRESH)]) == []
    assert len(faults(seen(STALE, FRESH), [])) == 1
    assert len(faults(seen(STALE, FRESH), [(FRESH, voters(1, 2), STALE)])) == 1


@pytest.mark.parametrize(
    "after", [FRESH, voters(1), voters(1, 2, 3, 4, 5), voters(4, 5, 6)], ids=["swap", "two less", "two more", "others"]
)
def test_two_keys_in_one_step_of_a_log_are_a_fault(after: VoterSet) -> None:
    """Two keys in one step of a log are a fault, whatever the looks showed."""
    found = faults(seen(STALE), [(STALE, after)])
    assert len(found) == 1
    assert "a log has" in found[0]
