"""SpecAccepted lists every fault by its field."""

from tests.golden.facts import facts
from tests.status.passes import FAULT, done

from kafka_quorum.model.desired import FieldFault
from kafka_quorum.status.spec_accepted import spec_accepted
from kit.conditions.finding import Truth


def test_a_valid_spec_is_accepted() -> None:
    """A spec without a fault is accepted."""
    assert spec_accepted(done()).truth is Truth.TRUE


def test_every_fault_is_listed() -> None:
    """Two faults are two sentences, each with its field."""
    second = FieldFault(field="spec.controllers.replicas", message="0 is too few")
    finding = spec_accepted(done(faults=(FAULT, second)))
    assert (finding.truth, finding.reason) == (Truth.FALSE, "InvalidSpec")
    assert facts(finding.message) == facts(FAULT.field, FAULT.message, second.field, second.message)
