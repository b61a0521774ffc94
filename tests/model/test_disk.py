"""The state of a controller's disk: exactly one, from what its claim shows."""

from dataclasses import replace

import pytest
from tests.golden.facts import facts
from tests.model.values import at_rest, node, running

from kafka_quorum.model.disk import Another, Claimed, Deleting, Disk, Gone, Unclaimed, VolumeGone, disk_of, why_going
from kafka_quorum.model.observed import Observed

RECORD = running()
OF = node(RECORD, 3001)
CLAIM = next(one for one in at_rest().claims if one.node_id == 3001)


def look(**changes: object) -> Observed:
    """Three controllers at rest, the claim of one of them changed."""
    changed = replace(CLAIM, **changes)  # type: ignore[arg-type]
    return replace(at_rest(), claims=tuple(changed if one.node_id == 3001 else one for one in at_rest().claims))


@pytest.mark.parametrize(
    ("changes", "state", "why"),
    [
        ({}, Claimed, ""),
        ({"deleting": True}, Deleting, f"claim {CLAIM.name}"),
        ({"deleting": True, "volume_gone": True}, Deleting, f"claim {CLAIM.name}"),
        ({"volume_gone": True}, VolumeGone, f"claim {CLAIM.name}"),
        ({"uid": "other"}, Another, f"claim {CLAIM.name}"),
        ({"uid": "other", "volume_gone": True}, Another, f"claim {CLAIM.name}"),
        ({"generation": 2}, Gone, "3001"),
    ],
)
def test_states(changes: dict[str, object], state: type[Disk], why: str) -> None:
    """The claim decides the state, and whether the disk is gone after its pod stops."""
    disk = disk_of(look(**changes), OF)
    assert isinstance(disk, state)
    assert facts(why_going(disk, OF)) == facts(why)


def test_unclaimed() -> None:
    """Before the record has a claim the disk is unclaimed, whether a claim with its name exists or not."""
    unclaimed = replace(OF, claim_uid=None)
    there, absent = disk_of(look(), unclaimed), disk_of(replace(at_rest(), claims=()), unclaimed)
    assert (there, absent) == (Unclaimed(claim=CLAIM), Unclaimed(claim=None))
    assert facts(why_going(there, unclaimed)) == facts(CLAIM.name)
    assert facts(why_going(absent, unclaimed)) == facts(3001)
