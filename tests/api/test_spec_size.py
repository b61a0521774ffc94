"""A spec of the API server's maximum size is judged quickly, with little memory, and with a bounded answer.

One process serves every quorum, and judges an invalid spec repeatedly: time and memory for it are taken from other
quorums.
"""

import gc
import time
import tracemalloc
from typing import Any, Final

import pytest
from tests.api.specs import resource

from kafka_quorum.api import template, validation
from kafka_quorum.api.shapes import FAULTS_MAX
from kafka_quorum.api.validation import validate
from kafka_quorum.model.desired import Desired

Json = dict[str, Any]

_CPU_S: Final = 0.5
"""Far more than needed, even on a busy machine; without bounds it took from half a second to seven."""
_MEMORY_BYTES: Final = 32 * 1024 * 1024
_MANY: Final = 60_000


def _kafka(**fields: object) -> Json:
    return {"containers": [{"name": "kafka", **fields}]}


def _numbered(value: object) -> Json:
    return {f"k{index}": value for index in range(_MANY)}


_ENV: Final = [{"name": "A", "value": "a" * 90_000}, *({"name": f"v{i}", "value": "$(A)"} for i in range(30_000))]
_WORDS: Final = [{"name": "A", "value": "x " * 45_000}, *({"name": "JAVA_TOOL_OPTIONS", "value": "$(A)"},) * 500]
LARGE: Final[dict[str, Json]] = {
    "a list of wrong types": {"tolerations": [0] * 400_000},
    "fields that no pod has": _numbered(0),
    "labels of wrong types": {"nodeSelector": _numbered(0)},
    "fields that no container has": _kafka(**_numbered(0)),
    "amounts that are no quantities": _kafka(resources={"limits": _numbered("x")}),
    "variables that are made of a long one": _kafka(env=_ENV),
    "options that are made of a long variable": _kafka(env=_WORDS),
    "empty objects": {"affinity": {"nodeAffinity": {"x": [{}] * 400_000}}},
    "one long text": {"schedulerName": "a" * 1_000_000},
}


@pytest.mark.parametrize("spec", LARGE.values(), ids=LARGE.keys())
def test_a_large_template_is_refused_in_a_moment(spec: Json) -> None:
    """A large template is refused by its field, and neither time nor the number of faults grows with its length."""
    large = resource({"controllers": {"template": {"spec": spec}}})
    gc.collect()
    gc.disable()  # a collection goes through everything that earlier tests have left
    try:
        begun_s = time.process_time()
        faults = validate(large)
        taken_s = time.process_time() - begun_s
    finally:
        gc.enable()
    assert taken_s < _CPU_S
    assert isinstance(faults, tuple)
    assert 0 < len(faults) <= FAULTS_MAX
    assert all(fault.field.startswith("spec.controllers.template.spec") for fault in faults)


@pytest.mark.parametrize("spec", LARGE.values(), ids=LARGE.keys())
def test_a_large_template_takes_little_memory(spec: Json) -> None:
    """A template whose variables expand to gigabytes, or with a fault in every value, needs some megabytes."""
    large = resource({"controllers": {"template": {"spec": spec}}})
    tracemalloc.start()
    try:
        validate(large)
        assert tracemalloc.get_traced_memory()[1] < _MEMORY_BYTES
    finally:
        tracemalloc.stop()


def test_long_specs_are_not_all_kept() -> None:
    """Results of earlier passes are kept within a limit of what was read, however many long specs a person writes."""
    for number in range(20):
        validate(resource({"controllers": {"template": {"spec": {"schedulerName": f"{number}" + "a" * 1_000_000}}}}))
    assert 1_000_000 < sum(len(key[0]) for key in validation._VALIDATED._found) <= 8 << 20


def test_variables_that_are_long_together_are_refused() -> None:
    """Variables that are each short enough are refused if all together are too long for a process."""
    env = [{"name": "A", "value": "a" * 90_000}, *({"name": f"v{i}", "value": "$(A)"} for i in range(30))]
    faults = validate(resource({"controllers": {"template": {"spec": _kafka(env=env)}}}))
    assert isinstance(faults, tuple)
    assert [fault.field for fault in faults] == ["spec.controllers.template.spec.containers[0].env"]


def test_a_template_within_the_bounds_is_accepted() -> None:
    """Two hundred variables, some of which use others, are valid."""
    env = [{"name": f"V{i}", "value": f"$(V{i - 1})x"} for i in range(200)]
    assert isinstance(validate(resource({"controllers": {"template": {"spec": _kafka(env=env)}}})), Desired)


def test_server_properties_must_fit_into_one_config_map() -> None:
    """Properties that are valid one by one are refused if those of all controllers exceed a ConfigMap."""
    config = {f"k{index}": "x" * 4000 for index in range(200)}
    large = resource({"kafka": {"config": config}, "controllers": {"replicas": 5, "config": {"own": "x" * 4000}}})
    faults = validate(large)
    assert isinstance(faults, tuple)
    assert [fault.field for fault in faults] == ["spec.controllers.config"]
    assert isinstance(validate(resource({"kafka": {"config": dict(list(config.items())[:25])}})), Desired)


def test_bounds_leave_room() -> None:
    """A template may have many more values than any real pod."""
    assert template.VALUES_MAX >= 2_000
