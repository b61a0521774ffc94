"""State that a later version stored is reported with the way out, and nothing is planned."""

from dataclasses import replace

import pytest
from tests.model.values import at_rest, desired, key, mirrored, nothing, operation, running, without_pod
from tests.plan.reading import planned

from kafka_quorum.model.actions import KeepSpec
from kafka_quorum.model.desired import Desired
from kafka_quorum.model.observed import Observed, Unreadable
from kafka_quorum.model.operation import Operation, UnknownOperation
from kafka_quorum.model.plan import LATER_FORMAT, UNKNOWN_OPERATION, Severity

UNKNOWN = UnknownOperation(why="status.operation is of type 'RecoverMajority'", holder="operator-9")
TO_DO: dict[str, tuple[Observed, Desired]] = {
    "more controllers": (at_rest(), desired(replicas=5)),
    "fewer controllers": (at_rest(), desired(replicas=1)),
    "a pod is gone": (without_pod(at_rest(), 3001), desired()),
    "nothing is there": (nothing(), desired()),
    "no service": (replace(at_rest(), support=()), desired()),
    "another spec": (replace(at_rest(), spec_kept=False), desired()),
}


def opened(look: Observed, of: Operation) -> Observed:
    """The same look while this operation is open."""
    return replace(look, status=replace(look.status, open=of))


@pytest.mark.parametrize("repair_only", [False, True], ids=["valid", "with faults"])
@pytest.mark.parametrize("name", TO_DO)
def test_an_unknown_operation_stops_everything(name: str, *, repair_only: bool) -> None:
    """An unknown operation stops every action: the wait names the operation and its holder."""
    look, wanted = TO_DO[name]
    if not repair_only:
        assert planned(look, wanted).actions
    said = planned(opened(look, UNKNOWN), wanted, repair_only=repair_only)
    assert (said.actions, said.questions) == ((), ())
    (wait,) = said.waits
    assert (wait.severity, wait.reason) == (Severity.DEGRADED, UNKNOWN_OPERATION)
    assert UNKNOWN.why in wait.message
    assert UNKNOWN.holder in wait.message


def test_nobody_is_named_where_nobody_is_known() -> None:
    """An unknown operation without a holder is reported without an empty name."""
    said = planned(opened(at_rest(), replace(UNKNOWN, holder="")))
    assert UNKNOWN.why in said.waits[0].message
    assert "(" not in said.waits[0].message


def test_a_known_operation_stops_nothing() -> None:
    """An operation of a known type stops nothing."""
    look = opened(without_pod(at_rest(), 3001), operation(key(3003)))
    assert planned(look).actions


@pytest.mark.parametrize("name", TO_DO)
def test_a_later_format_stops_everything(name: str) -> None:
    """A stored object with a later schema version stops every action, whether it can be read or not."""
    look, wanted = TO_DO[name]
    claim = Unreadable(kind="Pod", name="x", node_id=None, why="Pod x has schema version '2'", later=True)
    for later in (replace(look, later=("the status has schema version '2'",)), replace(look, unreadable=(claim,))):
        said = planned(later, wanted)
        assert (said.actions, said.questions) == ((), ())
        (wait,) = said.waits
        assert (wait.severity, wait.reason) == (Severity.DEGRADED, LATER_FORMAT)
        assert "has schema version '2'" in wait.message


def test_paused_as_well() -> None:
    """An unknown operation is reported for a paused quorum too, because ending the pause would not be enough."""
    said = planned(opened(at_rest(), UNKNOWN), desired(paused=True))
    assert [wait.reason for wait in said.waits] == ["Paused", UNKNOWN_OPERATION]


def test_an_accepted_spec_is_stored_before_voters_change() -> None:
    """A spec that is accepted and not stored yet is stored before any change of a voter."""
    record = running()
    look = replace(at_rest(status=mirrored(record)), spec_kept=False)
    assert planned(look).actions == (KeepSpec(resource_version=record.resource_version),)


def test_a_spec_with_faults_is_not_stored() -> None:
    """Only an accepted spec is stored."""
    assert planned(replace(at_rest(), spec_kept=False), repair_only=True).actions == ()
