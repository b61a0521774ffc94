"""The figures of one run: collected by the measurements, printed together at the end, as a table or as JSON."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from bench.figures import Figures
from bench.spaces import clear
from harness import operator
from harness.shell import succeed
from testbed.config import SOURCE
from testbed.keys import content_key

_FAKE = Path(__file__).resolve().parent / "fake"


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--figures json` prints JSON in place of tables."""
    parser.addoption("--figures", choices=("table", "json"), default="table", help="how figures are printed")
    parser.addoption("--pairs", type=int, default=5, help="how many alternated pairs of bootstraps")
    parser.addoption("--cures", type=int, default=10, help="how many pairs of lost disks")
    parser.addoption("--changes", type=int, default=5, help="how many changes of controllers under writes")
    parser.addoption("--migrations", type=int, default=1, help="how many pairs of migrations from ZooKeeper")
    parser.addoption("--migrated-topics", type=int, default=40, help="how many topics such a cluster has")
    parser.addoption("--acts", type=int, default=240, help="how many acts are timed on each side")
    parser.addoption("--failures", type=int, default=3, help="how many failures of the operator of each kind")
    parser.addoption("--recoveries", type=int, default=3, help="how many pairs of lost majorities")
    parser.addoption("--rest-seconds", type=int, default=300, help="how long quorums at rest are measured")


@pytest.fixture(scope="session", autouse=True)
def installed() -> None:
    """The operator as the chart installs it, of this checkout."""
    operator.install(operator.current_image())


@pytest.fixture(scope="session")
def figures(pytestconfig: pytest.Config) -> Iterator[Figures]:
    """The receiver of the measurements' figures."""
    collected = Figures()
    yield collected
    if pytestconfig.getoption("figures") == "json":
        print("\n" + json.dumps(collected.values, indent=1))
    else:
        print("\n" + "\n\n".join(collected.tables))


@pytest.fixture(scope="session")
def fake_image() -> str:
    """The image with controllers that only answer, on every worker."""
    image = f"testbed/fake-kafka:{content_key(_FAKE)}"
    succeed(sys.executable, str(SOURCE), "base-images", "--kafka", "", timeout_s=600)
    succeed(sys.executable, str(SOURCE), "build-image", "-t", image, str(_FAKE), timeout_s=300)
    succeed(sys.executable, str(SOURCE), "load", image, timeout_s=300)
    return image


@pytest.fixture
def spaces() -> Iterator[list[str]]:
    """Namespaces of a measurement; they are deleted before the next one begins."""
    made: list[str] = []
    yield made
    for name in made:
        clear(name)
