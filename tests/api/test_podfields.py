"""Every admitted pod field, with every kind of value, is refused by name or built into both kinds of pods."""

import json
from typing import Any, Final

import pytest
from tests.api.specs import resource
from tests.model.values import revision, runtime
from tests.resources.test_pods import both, formatter, kafka

from kafka_quorum.api.template import ALLOWED_POD_FIELDS, OWNED_POD_FIELDS
from kafka_quorum.api.validation import validate
from kafka_quorum.model.desired import Desired, FieldFault
from kafka_quorum.settings import PodException

Json = dict[str, Any]

_SPEC: Final = "spec.controllers.template.spec"
_VALUES: Final[tuple[object, ...]] = (None, {}, [], "", 0, -1, 1.5, True, "x", [None], [[]], {"x": None}, {"x": []})
_PLACES: Final[tuple[tuple[str, ...], ...]] = (
    *((name,) for name in ALLOWED_POD_FIELDS),
    *(("affinity", name) for name in ("nodeAffinity", "podAffinity", "podAntiAffinity")),
    *(
        ("affinity", "nodeAffinity", f"{kind}DuringSchedulingIgnoredDuringExecution")
        for kind in ("preferred", "required")
    ),
    *(
        ("securityContext", name)
        for name in (
            "appArmorProfile",
            "fsGroup",
            "fsGroupChangePolicy",
            "runAsGroup",
            "runAsNonRoot",
            "runAsUser",
            "seLinuxChangePolicy",
            "seLinuxOptions",
            "seccompProfile",
            "supplementalGroups",
            "supplementalGroupsPolicy",
            "sysctls",
            "windowsOptions",
        )
    ),
    ("securityContext", "appArmorProfile", "type"),
    ("securityContext", "seccompProfile", "type"),
)
_IN_CONTAINER: Final[tuple[tuple[str, ...], ...]] = (
    ("resources",),
    ("resources", "limits"),
    ("resources", "requests"),
    ("resources", "limits", "memory"),
    ("resources", "requests", "cpu"),
    ("env",),
)


def _at(path: tuple[str, ...], value: object) -> object:
    for name in reversed(path):
        value = {name: value}
    return value


def _answer(pod: object) -> Desired | tuple[FieldFault, ...]:
    return validate(resource({"controllers": {"template": {"spec": pod}}}))


def _built_or_refused(pod: object, field: str) -> None:
    answer = _answer(pod)
    if not isinstance(answer, Desired):
        assert all(fault.field.startswith((field, "spec.controllers.jvm.heap")) for fault in answer), answer
        return
    of = revision(runtime(template_spec=answer.runtime.template_spec))
    for body in (formatter(of=of), formatter(of=of, avoid=("worker",)), kafka(of=of)):
        security = body["spec"]["securityContext"]
        assert security["runAsNonRoot"] is True
        assert security["runAsUser"] != 0
        assert security["seccompProfile"]["type"] == "RuntimeDefault"
        assert not _has_null(body), json.dumps(body)


def _has_null(value: object) -> bool:
    if isinstance(value, dict | list):
        return any(map(_has_null, value.values() if isinstance(value, dict) else value))
    return value is None


@pytest.mark.parametrize("value", _VALUES, ids=repr)
@pytest.mark.parametrize("path", _PLACES, ids=".".join)
def test_any_value_of_a_pod_field_is_refused_or_built(path: tuple[str, ...], value: object) -> None:
    """A value that validation accepts can be built into confined pods; one that it refuses is named."""
    _built_or_refused(_at(path, value), f"{_SPEC}.{path[0]}")


def _in_term(**more: object) -> Json:
    term = {"topologyKey": "zone", **more}
    return {"affinity": {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}}


def _in_spread(**more: object) -> Json:
    spread = {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule", **more}
    return {"topologySpreadConstraints": [spread]}


def _from(source: Json) -> Json:
    return {"containers": [{"name": "kafka", "env": [{"name": "X", "valueFrom": source}]}]}


@pytest.mark.parametrize(
    ("pod", "field"),
    [
        (_in_term(namespaceSelector="x"), "namespaceSelector"),
        (_in_term(namespaceSelector={"matchLabels": {"a": 1}}), "namespaceSelector.matchLabels.a"),
        (_in_term(matchLabelKeys="x"), "matchLabelKeys"),
        (_in_term(mismatchLabelKeys=[1]), "mismatchLabelKeys[0]"),
        (_in_spread(nodeAffinityPolicy="Never"), "nodeAffinityPolicy"),
        (_in_spread(nodeTaintsPolicy=True), "nodeTaintsPolicy"),
        (
            {"securityContext": {"appArmorProfile": {"type": "RuntimeDefault", "localhostProfile": 1}}},
            "localhostProfile",
        ),
        (_from({"fieldRef": {}}), "fieldRef.fieldPath"),
        (_from({"fieldRef": {"fieldPath": 1}}), "fieldRef.fieldPath"),
        (_from({"fieldRef": {"fieldPath": "metadata.name", "apiVersion": 1}}), "fieldRef.apiVersion"),
        (_from({"resourceFieldRef": {"resource": ["limits.cpu"]}}), "resourceFieldRef.resource"),
        (_from({"resourceFieldRef": {"resource": "limits.cpu", "divisor": "one"}}), "resourceFieldRef.divisor"),
        (
            _from({"resourceFieldRef": {"resource": "limits.cpu", "containerName": {}}}),
            "resourceFieldRef.containerName",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_nested_value_of_another_type_is_refused(pod: Json, field: str) -> None:
    """A value deep in the template that the API server could not decode is refused, and its field named."""
    answer = _answer(pod)
    assert not isinstance(answer, Desired)
    assert [fault.field.endswith(field) for fault in answer] == [True], answer


def test_values_of_the_pod_itself_are_accepted() -> None:
    """Variables can come from the pod's fields and from its container's resources."""
    for source in (
        {"fieldRef": {"fieldPath": "metadata.name", "apiVersion": "v1"}},
        {"resourceFieldRef": {"resource": "limits.cpu", "divisor": "1m", "containerName": "kafka"}},
        {"resourceFieldRef": {"resource": "limits.memory", "divisor": 1}},
    ):
        assert isinstance(_answer(_from(source)), Desired)


@pytest.mark.parametrize("value", _VALUES, ids=repr)
@pytest.mark.parametrize("path", _IN_CONTAINER, ids=".".join)
def test_any_value_of_a_container_field_is_refused_or_built(path: tuple[str, ...], value: object) -> None:
    """The same holds for the fields of the container named kafka."""
    container = {"name": "kafka", **dict(_at(path, value))}  # type: ignore[call-overload]  # an object by its path
    _built_or_refused({"containers": [container]}, f"{_SPEC}.containers")


@pytest.mark.parametrize("value", _VALUES, ids=repr)
@pytest.mark.parametrize("name", ["value", "valueFrom"])
def test_any_value_of_a_variable_is_refused_or_built(name: str, value: object) -> None:
    """The same holds for the value of a variable."""
    variable = {"name": "KAFKA_JMX_OPTS", name: value}
    _built_or_refused({"containers": [{"name": "kafka", "env": [variable]}]}, f"{_SPEC}.containers")


@pytest.mark.parametrize("name", [*ALLOWED_POD_FIELDS, *OWNED_POD_FIELDS, "nodeSelectr"])
def test_null_is_not_set(name: str) -> None:
    """A pod field that is null gives the same pods as without it."""
    answer = _answer({name: None})
    assert isinstance(answer, Desired), answer
    built = [body["spec"] for body in both(template_spec=answer.runtime.template_spec)]
    assert built == [body["spec"] for body in both()]


def test_null_takes_no_confinement_away() -> None:
    """A stored revision with nulls also gives pods that do not run as root, with a seccomp profile."""
    stored = {"securityContext": {"runAsNonRoot": None, "runAsUser": None, "seccompProfile": None}}
    for body, plain in zip(both(template_spec=json.dumps(stored)), both(), strict=True):
        assert body["spec"]["securityContext"] == plain["spec"]["securityContext"]


def test_root_by_exception_is_built() -> None:
    """With the exception `root` the pods get the template's user."""
    spec = {"controllers": {"template": {"spec": {"securityContext": {"runAsUser": 0, "runAsNonRoot": False}}}}}
    answer = validate(resource(spec), allowed=frozenset({PodException.ROOT}))
    assert isinstance(answer, Desired)
    security = both(template_spec=answer.runtime.template_spec)[1]["spec"]["securityContext"]
    assert (security["runAsUser"], security["runAsNonRoot"], security["runAsGroup"]) == (0, False, 1000)


@pytest.mark.parametrize(("heap", "size"), [("512Mi", "512m"), ("1Gi", "1024m"), ("2G", "1907m"), ("600000k", "572m")])
def test_the_heap_is_whole_mebibytes(heap: str, size: str) -> None:
    """The heap is passed to Java in its own units, and never exceeds the requested size."""
    options = {row["name"]: row.get("value") for row in both(heap=heap)[1]["spec"]["containers"][0]["env"]}
    assert options["KAFKA_HEAP_OPTS"] == f"-Xms{size} -Xmx{size}"
