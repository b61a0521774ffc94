"""Invalid Streams applications reach the API server: a sentence refuses them, which names the field and the correction.

The tables are those of the tests of validation. Nothing is stored (server-side dry runs).
"""

import json
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.streams.api.specs import ACCEPTED, REFUSED, Refused, resource

from harness.shell import kubectl, run
from kafka_streams.api import crd

pytestmark = pytest.mark.e2e

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def namespace() -> Iterator[str]:
    """A namespace, and the definition from the chart; applied if no chart did that."""
    if run("kubectl", "get", "crd", crd.NAME)[0] != 0:
        kubectl("apply", "--server-side", "-f", str(ROOT / "crds"))
        kubectl("wait", "--for=condition=Established", f"crd/{crd.NAME}", "--timeout=30s")
    name = f"admission-{uuid.uuid4().hex[:8]}"
    kubectl("create", "namespace", name)
    yield name
    kubectl("delete", "namespace", name, "--wait=false")


def dry_run(patch: dict[str, Any], namespace: str) -> tuple[int, str, str]:
    """The answer to a creation that stores nothing."""
    candidate = resource({"release": "3.9.1", "image": "app:1", **patch})
    candidate["metadata"] = {"name": "counts", "namespace": namespace}
    return run("kubectl", "create", "--dry-run=server", "-f", "-", "-o", "json", stdin=json.dumps(candidate))


@pytest.mark.parametrize("case", [case for case in REFUSED if case.by_server], ids=lambda case: case.name)
def test_the_server_refuses_with_a_sentence(case: Refused, namespace: str) -> None:
    """The answer names the field, the fault and the correction, before anything is stored."""
    code, output, errors = dry_run(case.patch, namespace)
    assert code != 0, output
    assert case.field in errors
    assert case.words in errors


@pytest.mark.parametrize("case", [case for case in REFUSED if not case.by_server], ids=lambda case: case.name)
def test_what_only_the_operator_refuses_is_admitted(case: Refused, namespace: str) -> None:
    """CEL accepts these cases, as the table states: only the operator's own validation refuses them."""
    code, _, errors = dry_run(case.patch, namespace)
    assert code == 0, errors


@pytest.mark.parametrize("spec", ACCEPTED.values(), ids=ACCEPTED.keys())
def test_the_server_accepts_what_is_valid(spec: dict[str, Any], namespace: str) -> None:
    """No rule refuses a valid spec."""
    code, _, errors = dry_run(spec, namespace)
    assert code == 0, errors
