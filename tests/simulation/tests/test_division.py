"""The packages of the simulation import each other in one direction: model, rules, runs."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

SIMULATION = Path(__file__).resolve().parents[1]
PACKAGES = ("model", "rules", "runs", "mutations", "tests")


def _imported(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("tests.simulation."):
            yield str(node.module)


@pytest.mark.parametrize(
    ("package", "above"),
    [
        ("model", ("rules", "runs", "mutations", "tests")),
        ("rules", ("runs", "mutations", "tests")),
        ("runs", ("tests",)),
    ],
)
def test_nothing_below_imports_what_is_above(package: str, above: tuple[str, ...]) -> None:
    """The models import no rules, the rules import no runs, and none of them imports the tests."""
    paths = list((SIMULATION / package).rglob("*.py"))
    found = [f"{path.name} imports {name}" for path in paths for name in _imported(path)]
    assert paths
    assert not [one for one in found if one.split(".")[2] in above]


def test_kafka_knows_no_kubernetes() -> None:
    """The KRaft model imports no Kubernetes: only the kubelet turns a pod into a process."""
    paths = (SIMULATION / "model" / "kafka").glob("*.py")
    assert not [path.name for path in paths for name in _imported(path) if ".kubernetes." in name]


def test_every_module_has_its_package() -> None:
    """Except the packages there are only the commands."""
    assert {path.stem for path in SIMULATION.glob("*.py")} == {
        "__main__",
        "digest",
        "mutants",
        "shares",
        "soak",
        "trace",
    }
    assert {path.name for path in SIMULATION.iterdir() if path.is_dir()} - {"__pycache__"} == set(PACKAGES)
