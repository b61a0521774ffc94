"""The API server's faults of types, without Go."""

import pytest

from kit.kube.words import without_go

FIELD = "spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution.namespaceSelector"
POD = 'Pod in version "v1" cannot be handled as a Pod: json: '


@pytest.mark.parametrize(
    ("said", "told"),
    [
        (
            f"{POD}cannot unmarshal string into Go struct field PodAffinityTerm.{FIELD} of type v1.LabelSelector",
            f"field {FIELD} must be an object, not a text",
        ),
        (
            f"{POD}cannot unmarshal number 1.5 into Go struct field PodSpec.spec.priority of type int32",
            "field spec.priority must be a whole number, not 1.5",
        ),
        (
            "json: cannot unmarshal object into Go struct field PodSpec.spec.tolerations of type []v1.Toleration",
            "field spec.tolerations must be a list, not an object",
        ),
        (
            f"{POD}cannot unmarshal array into Go struct field PodSpec.spec.hostNetwork of type bool",
            "field spec.hostNetwork must be true or false, not a list",
        ),
        (
            f"{POD}cannot unmarshal bool into Go struct field PodSpec.spec.restartPolicy of type v1.RestartPolicy",
            "field spec.restartPolicy must not be true or false",
        ),
        (
            f"{POD}cannot unmarshal number into Go struct field PodSpec.spec.nodeSelector of type string",
            "field spec.nodeSelector must be a text, not a number",
        ),
        ("json: cannot unmarshal string into Go value of type v1.Pod", "the object must not be a text"),
        (
            "json: cannot unmarshal string into Go struct field Pod.spec of type map[string]interface {}",
            "field spec must be an object, not a text",
        ),
        ('pods "x" is forbidden: exceeded quota: few', 'pods "x" is forbidden: exceeded quota: few'),
    ],
)
def test_no_go_in_a_message(said: str, told: str) -> None:
    """A value of another type is reported with its field and the type that the field has; other words stay."""
    assert without_go(said) == told


@pytest.mark.parametrize("before", ["", "json: cannot unmarshal string into Go struct field "])
def test_a_long_message_costs_little(before: str) -> None:
    """A message that quotes a long value of a user is looked at up to a limit only, and stays whole."""
    message = before + "a" * 4_000_000 + " of type v1.Pod"
    assert without_go(message) == message
