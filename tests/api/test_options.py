"""Java's options, as the kubelet makes them: `$(NAME)` in an option stands for the text of a variable."""

from typing import Any, Final

import pytest
from tests.api.specs import resource

from kafka_quorum.api.validation import validate
from kafka_quorum.model.desired import Desired, FieldFault

_FIELD: Final = "spec.controllers.jvm.options"


def judged(option: str, *env: dict[str, Any]) -> Desired | tuple[FieldFault, ...]:
    """What becomes of a spec with this option and these variables."""
    template = {"spec": {"containers": [{"name": "kafka", "env": list(env)}]}}
    return validate(resource({"controllers": {"jvm": {"options": [option]}, "template": template}}))


@pytest.mark.parametrize("text", ["x -Xmx64g", "x -version", "x -jar /tmp/x.jar", "x @/tmp/x", "x com.example.Main"])
def test_a_variable_brings_no_refused_option(text: str) -> None:
    """An option that is refused is refused too where a variable holds it, or another variable holds that one."""
    for env in (
        ({"name": "A", "value": text},),
        ({"name": "B", "value": text}, {"name": "A", "value": "$(B)"}),
    ):
        faults = judged("-Da=$(A)", *env)
        assert isinstance(faults, tuple)
        assert {fault.field for fault in faults} == {_FIELD}


def test_a_variable_that_cannot_be_checked() -> None:
    """An annotation may hold several options, and is refused as part of one."""
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
    """An address, one word, what is no variable, and what the kubelet leaves as it is."""
    assert isinstance(judged(option, {"name": "POD_IP"} | variable), Desired)
