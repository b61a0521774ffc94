"""Java's options, as the kubelet expands them: `$(NAME)` in an option is replaced by a variable's text."""

from typing import Any, Final

import pytest
from tests.api.specs import resource

from kafka_quorum.api.validation import validate
from kafka_quorum.model.desired import Desired, FieldFault

_FIELD: Final = "spec.controllers.jvm.options"


def judged(option: str, *env: dict[str, Any]) -> Desired | tuple[FieldFault, ...]:
    """The answer to a spec with this option and these variables."""
    template = {"spec": {"containers": [{"name": "kafka", "env": list(env)}]}}
    return validate(resource({"controllers": {"jvm": {"options": [option]}, "template": template}}))


@pytest.mark.parametrize("text", ["x -Xmx64g", "x -version", "x -jar /tmp/x.jar", "x @/tmp/x", "x com.example.Main"])
def test_a_variable_brings_no_refused_option(text: str) -> None:
    """An option that is refused is also refused in a variable, or in a variable of a variable."""
    for env in (
        ({"name": "A", "value": text},),
        ({"name": "B", "value": text}, {"name": "A", "value": "$(B)"}),
    ):
        faults = judged("-Da=$(A)", *env)
        assert isinstance(faults, tuple)
        assert {fault.field for fault in faults} == {_FIELD}


def test_a_variable_that_cannot_be_checked() -> None:
    """A variable from an annotation is refused in an option, because it may contain several options."""
    source = {"fieldRef": {"fieldPath": "metadata.annotations['options']"}}
    faults = judged("-Da=$(A)", {"name": "A", "valueFrom": source})
    assert isinstance(faults, tuple)
    assert [fault.field for fault in faults] == [_FIELD]


@pytest.mark.parametrize(
    ("option", "variable"),
    [
        ("-Djava.rmi.server.hostname=$(POD_IP)", {"valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}}),
        ("-Da=$(POD_IP)", {"value": "one"}),
        ("-Da=$(OTHER)", {"value": "x -version"}),
        ("-Da=$$(POD_IP)", {"value": "x -version"}),
    ],
)
def test_other_variables_stay_allowed(option: str, variable: dict[str, Any]) -> None:
    """An address, one word, a text that is no variable, and what the kubelet does not expand, are allowed."""
    assert isinstance(judged(option, {"name": "POD_IP"} | variable), Desired)
