"""The annotation that restarts all controllers: a time, or a fault; without it nothing changes."""

from dataclasses import replace

import pytest
from tests.model.values import at_rest, desired, revision, running, runtime

from kafka_quorum.api.restarts import FIELD, faults, restarted_at
from kafka_quorum.api.validation import validate
from kafka_quorum.model.desired import Desired
from kafka_quorum.model.names import RESTARTED_AT, inputs_hash
from kafka_quorum.model.nodes import target_runtime
from kafka_quorum.model.situation import Situation

AT = "2026-01-31T12:00:00Z"
BEFORE = "c2e3f48cd0"
"""The hash of the plain runtime, computed before the annotation existed."""


def annotated(value: str) -> dict[str, object]:
    """Metadata with the annotation."""
    return {"name": "demo", "annotations": {RESTARTED_AT: value}}


@pytest.mark.parametrize("value", [AT, "2026-01-31T12:00:00+02:00", "2026-01-31T12:00:00.123456Z"])
def test_time_is_taken(value: str) -> None:
    """A time as `date` and kubectl write it is accepted, and becomes an input of the pods."""
    assert restarted_at(annotated(value)) == value
    assert list(faults(annotated(value))) == []
    resource = {"metadata": annotated(value), "spec": {"kafka": {"version": "4.4.0"}, "controllers": {"replicas": 3}}}
    valid = validate(resource)
    assert isinstance(valid, Desired)
    assert valid.runtime.restarted_at == value


@pytest.mark.parametrize("value", ["now", "2026-01-31", "2026-01-31T12:00:00", "x" * 500, "1T\\n"])
def test_anything_else_is_a_fault(value: str) -> None:
    """Any other text is refused with an example, because it would restart only once."""
    (fault,) = faults(annotated(value))
    assert fault.field == FIELD
    assert AT in fault.message
    assert len(fault.message) < 200
    assert restarted_at(annotated(value)) == ""


def test_quorum_without_the_annotation_keeps_its_hash() -> None:
    """Without the annotation the hash is that of an earlier version, so an operator upgrade restarts nothing."""
    assert inputs_hash(runtime()) == BEFORE
    assert inputs_hash(runtime(restarted_at=AT)) != BEFORE
    assert inputs_hash(runtime(restarted_at=AT)) != inputs_hash(runtime(restarted_at="2026-02-01T12:00:00Z"))


def test_removed_annotation_restarts_nothing() -> None:
    """If the annotation is removed, for example by a tool, the requested restart stays an input of the pods."""
    applied = revision(runtime(restarted_at=AT))
    record = replace(running(), applied_revision=applied.name)
    look = at_rest(record, revisions=(applied,))
    assert target_runtime(desired(), look, record) == applied.runtime
    later = desired(runtime=runtime(restarted_at="2026-02-01T12:00:00Z"))
    assert Situation(desired=later, observed=look, record=record).target != applied.name
