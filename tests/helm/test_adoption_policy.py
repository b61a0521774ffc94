"""The chart's policy for adoptions, evaluated: which StatefulSets, Deployments and ReplicaSets may be deleted."""

from functools import cache
from typing import Any

import celpy
import pytest
import yaml
from celpy.adapter import json_to_cel

from helm import render
from kafka_streams.model import names

Json = dict[str, Any]
ACCOUNT = f"system:serviceaccount:{render.NAMESPACE}:kafka-quorum-operator"
ORPHAN: Json = {"propagationPolicy": "Orphan"}
GIVEN: Json = {"metadata": {"name": "app", "annotations": {names.ADOPT: "counts"}}}
LEFT: Json = {"metadata": {"name": "app-1"}}


@cache
def policy() -> tuple[Json, dict[str, Any]]:
    """The policy's spec, and each of its expressions as a program."""
    file = "templates/admissionpolicy-adoption.yaml"
    text = render.template("--set", "admissionPolicy.enabled=true", "--show-only", file)
    items = [item for item in yaml.safe_load_all(text) if item]
    spec: Json = next(item for item in items if item["kind"] == "ValidatingAdmissionPolicy")["spec"]
    env = celpy.Environment()
    rows = [*spec["matchConditions"], *spec["validations"]]
    return spec, {row["expression"]: env.program(env.compile(row["expression"])) for row in rows}


MARKED: Json = {"metadata": {"name": "apps", "annotations": {names.ADOPT: "yes"}}}


def said(
    resource: str,
    old: Json,
    *,
    options: Json,
    operation: str = "DELETE",
    user: str = ACCOUNT,
    space: Json = MARKED,
) -> list[str]:
    """The messages of the validations that refuse a request in this namespace; none if it is allowed."""
    spec, programs = policy()
    request = {
        "operation": operation,
        "resource": {"group": "apps", "version": "v1", "resource": resource},
        "userInfo": {"username": user},
        "options": options,
    }
    context = {"request": request, "oldObject": old, "namespaceObject": space}
    given = {name: json_to_cel(value) for name, value in context.items()}
    if not all(programs[row["expression"]].evaluate(given) for row in spec["matchConditions"]):
        return []
    return [row["message"] for row in spec["validations"] if not programs[row["expression"]].evaluate(given)]


@pytest.mark.parametrize("resource", ["statefulsets", "deployments"])
def test_what_a_person_gives_may_be_deleted_without_its_pods(resource: str) -> None:
    """With the annotation, and only if the pods run on; never changed."""
    assert said(resource, GIVEN, options=ORPHAN) == []
    for options in ({}, {"propagationPolicy": "Background"}, {"propagationPolicy": "Foreground"}):
        (message,) = said(resource, GIVEN, options=options)
        assert "propagationPolicy Orphan" in message
    assert said(resource, GIVEN, options=ORPHAN, operation="UPDATE")


@pytest.mark.parametrize("resource", ["statefulsets", "deployments"])
def test_what_nobody_gave_stays(resource: str) -> None:
    """Without the annotation it is not deleted, in whatever way."""
    for metadata in ({"name": "app"}, {"name": "app", "annotations": {"a": "b"}}):
        (message,) = said(resource, {"metadata": metadata}, options=ORPHAN)
        assert names.ADOPT in message


def test_a_replicaset_goes_after_its_deployment() -> None:
    """While a Deployment owns it, it stays."""
    assert said("replicasets", LEFT, options=ORPHAN) == []
    assert said("replicasets", LEFT, options={})
    owned = {"metadata": {"name": "app-1", "ownerReferences": [{"kind": "Deployment", "name": "app"}]}}
    assert said("replicasets", owned, options=ORPHAN)


def test_no_other_account_is_judged() -> None:
    """Everybody else may delete what they may."""
    assert said("deployments", LEFT, options={}, user="system:serviceaccount:a:b") == []


@pytest.mark.parametrize("metadata", [{"name": "apps"}, {"name": "apps", "annotations": {"a": "b"}}])
def test_a_namespace_without_the_mark_keeps_everything(metadata: Json) -> None:
    """There the pods could not be adopted afterwards, so nothing is deleted in the first place."""
    (message,) = said("deployments", GIVEN, options=ORPHAN, space={"metadata": metadata})
    assert "namespace has no annotation kafkaquorum.io/adopt" in message
