"""What a person requests of a recovery: bad input is refused for its field, and a good one is read as it is meant."""

from typing import Any

import pytest
from tests.api.specs import resource

from kafka_quorum.api.validation import validate
from kafka_quorum.model.desired import Desired, FieldFault
from kafka_quorum.model.ids import NodeID
from kafka_quorum.model.recovery_request import RecoveryRequest, Seed

RELEASE = "kafkaquorum.io/release-recovery"


def asked(spec: dict[str, Any], release: str = "") -> Desired | tuple[FieldFault, ...]:
    """The answer to a resource with this recovery."""
    body = resource({"recovery": spec})
    if release:
        body["metadata"]["annotations"] = {RELEASE: release}
    return validate(body)


@pytest.mark.parametrize(
    ("spec", "field", "words"),
    [
        ({"inspect": True, "plan": "0123"}, "spec.recovery.plan", "status.recovery.plan"),
        ({"inspect": True, "plan": "012345678X"}, "spec.recovery.plan", "no hash"),
        ({"plan": "0123456789"}, "spec.recovery.inspect", "set it to true"),
        ({"without": [-1]}, "spec.recovery.without", "-1"),
        ({"without": [3000, 3000]}, "spec.recovery.without", "twice"),
        ({"seeds": [{"claimName": "Up"}]}, "spec.recovery.seeds[0].claimName", "no name"),
        ({"seeds": [{"claimName": "a", "path": "../x"}]}, "spec.recovery.seeds[0].path", "leaves the volume"),
        ({"seeds": [{"claimName": "a", "path": "/x"}]}, "spec.recovery.seeds[0].path", "leaves the volume"),
        ({"seeds": [{"claimName": "a"}, {"claimName": "a"}]}, "spec.recovery.seeds", "twice"),
    ],
)
def test_a_bad_request_is_refused_for_its_field(spec: dict[str, Any], field: str, words: str) -> None:
    """Each fault names its field, and says what to do."""
    faults = asked(spec)
    assert isinstance(faults, tuple)
    assert [(fault.field, words in fault.message) for fault in faults] == [(field, True)]


@pytest.mark.parametrize("release", ["yes", "-1", "0", "99999999999"])
def test_a_release_is_the_number_of_a_recovery(release: str) -> None:
    """A word releases nothing, because it could mean any recovery."""
    faults = asked({}, release)
    assert isinstance(faults, tuple)
    assert RELEASE in faults[0].field


def test_a_good_request() -> None:
    """Everything is read, in a fixed order."""
    seeds = [{"claimName": "b", "path": "data/kraft"}, {"claimName": "a"}]
    spec = {"inspect": True, "plan": "0123456789", "acceptLoss": True, "without": [3002, 3001], "seeds": seeds}
    wanted = asked(spec, "2")
    assert isinstance(wanted, Desired)
    assert wanted.recovery == RecoveryRequest(
        inspect=True,
        plan="0123456789",
        accept_loss=True,
        without=(NodeID(3001), NodeID(3002)),
        seeds=(Seed(claim="a"), Seed(claim="b", path="data/kraft")),
        released=2,
    )


def test_nothing_is_requested_by_default() -> None:
    """A resource without the field requests nothing."""
    wanted = asked({})
    assert isinstance(wanted, Desired)
    assert wanted.recovery == RecoveryRequest()
