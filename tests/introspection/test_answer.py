"""Answers to questions: by the planner, from the last look, whatever the question contains."""

import copy
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.introspection.worlds import SPEC, last
from tests.test_reconcile import KEY, Bench, at_rest, subscribed

from kafka_quorum.introspection.answer import (
    ANSWERED,
    CHARS_MAX,
    INVALID,
    LEVELS_MAX,
    REFUSED,
    UNKNOWN,
    VALUES_MAX,
    Question,
    answer,
    question_of,
    refused,
)
from kafka_quorum.introspection.models import PlanQuestionStatus
from kafka_quorum.introspection.passes import LastPass, LastPasses
from kafka_quorum.kind import QUORUMS
from kafka_quorum.model.names import RESTARTED_AT

Json = dict[str, Any]
NAME = "alpha"


def asked(manifest: Json | None, found: LastPass) -> Json:
    """The answer about this manifest; it fits its schema."""
    status = answer(Question(quorum=NAME, manifest=manifest), found, frozenset())
    PlanQuestionStatus.model_validate(status, by_alias=True, by_name=False)
    return status


async def test_the_present_spec() -> None:
    """Without a manifest the answer is what the next pass would do: at rest, nothing."""
    status = asked(None, await last())
    assert status["state"] == ANSWERED
    assert {"acts", "waits", "changes", "errors"}.isdisjoint(status)
    assert status["lookedAt"].startswith("2026-")


async def test_the_same_spec_changes_nothing() -> None:
    """The present manifest as a question gets the same answer: no change, no act."""
    found = await last()
    spec = found.decided.taken.resource["spec"]
    assert {**asked({"spec": spec}, found)} == asked(None, found)


async def test_more_controllers() -> None:
    """For more controllers the first acts are those of the pass that follows the change, and the field is named."""
    found = await last()
    status = asked({"spec": {**SPEC, "controllers": {"replicas": 5}}}, found)
    assert (status["state"], status["changes"]) == (ANSWERED, ["spec.controllers.replicas"])
    kinds = [act["kind"] for act in status["acts"]]

    bench = await at_rest()
    bench.resource({**SPEC, "controllers": {"replicas": 5}}, status=found.decided.taken.resource.get("status"))
    bench.reconciler.changed(KEY)
    planned = (await bench.run()).plan
    assert planned is not None
    assert kinds == [type(action).__name__ for action in planned.actions]
    assert kinds


async def test_another_heap_restarts_every_controller() -> None:
    """For another heap the answer lists every controller as one that would restart."""
    status = asked({"spec": {**SPEC, "controllers": {"replicas": 3, "jvm": {"heap": "1Gi"}}}}, await last())
    assert status["changes"] == ["spec.controllers.jvm.heap"]
    assert status["older"] == [3000, 3001, 3002]


async def test_a_restart_that_is_asked_for() -> None:
    """The annotation that asks for a restart counts, and other metadata does not."""
    annotations = {RESTARTED_AT: "2026-01-31T12:00:00Z", "team": "x"}
    status = asked({"metadata": {"annotations": annotations, "labels": {"a": "b"}}, "spec": SPEC}, await last())
    assert status["older"] == [3000, 3001, 3002]


async def test_faults_are_those_of_the_operator() -> None:
    """An invalid spec has each fault with its field, also those that depend on the recorded identity."""
    found = await last()
    status = asked({"spec": {"kafka": {"version": "4.x"}, "controllers": {"replicas": "three"}, "other": 1}}, found)
    assert status["state"] == INVALID
    assert {row["field"] for row in status["errors"]} == {"spec.controllers.replicas", "spec.other"}
    changed = asked({"spec": {**SPEC, "clusterID": "4L6g3nShT-eMCtK--X86sw"}}, found)
    assert [row["field"] for row in changed["errors"]] == ["spec.clusterID"]


async def test_a_manifest_of_something_else() -> None:
    """A manifest of another kind, name or namespace, or without a spec, is refused with the field."""
    found = await last()
    manifest = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x", "namespace": "y"}, "data": {}}
    status = asked(manifest, found)
    assert (status["state"], "acts" in status) == (INVALID, False)
    assert {row["field"] for row in status["errors"]} == {
        "spec.manifest",
        "spec.manifest.apiVersion",
        "spec.manifest.kind",
        "spec.manifest.metadata.name",
        "spec.manifest.metadata.namespace",
        "spec.manifest.spec",
    }
    right = {
        "apiVersion": QUORUMS.api_version,
        "kind": QUORUMS.kind,
        "metadata": {"name": NAME},
        "spec": SPEC,
        "status": {"clusterID": "nonsense"},
    }
    assert asked(right, found)["state"] == ANSWERED


async def test_a_pause() -> None:
    """A paused spec does nothing, and says so as a wait."""
    status = asked({"spec": {**SPEC, "paused": True}}, await last())
    assert "acts" not in status
    assert [row["reason"] for row in status["waits"]] == ["Paused"]


async def test_nothing_that_is_remembered_changes() -> None:
    """A question changes neither the remembered look nor the manifest."""
    found = await last()
    manifest = {"metadata": {"annotations": {RESTARTED_AT: "2026-01-31T12:00:00Z"}}, "spec": copy.deepcopy(SPEC)}
    before = copy.deepcopy((found.decided.taken.resource, manifest))
    asked(manifest, found)
    assert (found.decided.taken.resource, manifest) == before


async def test_a_quorum_that_never_had_a_valid_spec() -> None:
    """Without a look the answer is Unknown for a valid spec, and lists the faults of an invalid one."""
    bench = Bench()
    bench.resource({**SPEC, "kafka": {"version": "4.x"}})
    passes = LastPasses(bench.clock)
    subscribed(bench, passes)
    await bench.run()
    found = passes.of(KEY)
    assert found is not None
    assert asked({"spec": SPEC}, found)["state"] == UNKNOWN
    assert asked(None, found)["state"] == INVALID


async def test_an_error_after_the_look_is_told() -> None:
    """If the pass after the look ended early, the answer says so."""
    status = asked(None, replace(await last(), error="no answer from the API server"))
    assert "no answer from the API server" in status["message"]


@pytest.mark.parametrize(
    ("spec", "field"),
    [
        (None, "spec"),
        ({}, "spec.quorum"),
        ({"quorum": 7}, "spec.quorum"),
        ({"quorum": "a\u202eb"}, "spec.quorum"),
        ({"quorum": NAME, "manifest": []}, "spec.manifest"),
        ({"quorum": NAME, "manifest": {"spec": [0] * (VALUES_MAX + 1)}}, "spec.manifest"),
        ({"quorum": NAME, "manifest": {"spec": "x" * (CHARS_MAX + 1)}}, "spec.manifest"),
    ],
)
def test_a_question_that_is_not_read(spec: Any, field: str) -> None:  # noqa: ANN401 - any JSON
    """A question of a wrong form, or beyond the bounds, is refused with its field."""
    found = question_of({"metadata": {}, "spec": spec})
    assert isinstance(found, tuple)
    assert [fault.field for fault in found] == [field]
    assert (refused(found)["state"], refused(found)["errors"][0]["field"]) == (REFUSED, field)


def test_a_manifest_of_ten_thousand_levels() -> None:
    """A manifest that is nested without end is refused, and does not end in a recursion."""
    manifest: Json = {}
    for _ in range(10_000):
        manifest = {"spec": manifest}
    found = question_of({"spec": {"quorum": NAME, "manifest": manifest}})
    assert isinstance(found, tuple)
    assert str(LEVELS_MAX) in found[0].message


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=10), inner, max_size=3),
    max_leaves=10,
)
_FIELDS = st.sampled_from(["kafka", "controllers", "security", "bootstrap", "clusterID", "paused", "zookeeper", "x"])


async def test_whatever_a_manifest_contains() -> None:
    """Any JSON as a spec gets an answer, with errors or without, and never an exception."""
    found = await last()

    @given(st.dictionaries(_FIELDS, _JSON, max_size=4), st.booleans())
    def answered(spec: Json, valid: bool) -> None:  # noqa: FBT001 - drawn
        status = asked({"spec": {**SPEC, **spec} if valid else spec}, found)
        assert status["state"] in {ANSWERED, INVALID}

    answered()
