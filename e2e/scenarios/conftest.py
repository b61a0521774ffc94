"""For every scenario: the installed operator, namespaces under the restricted standard, a report on failure."""

import json
import sys
import uuid
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import ExitStack

import pytest

from demo import NAMESPACE
from harness import clients, history, operator, streams
from harness.broker import KAFKA_IMAGE, NEWEST
from harness.everywhere import Remembering, everything
from harness.pool import Pool
from harness.quorum import Quorum
from harness.shell import kubectl, run, succeed
from harness.writer import Writer
from kafka_quorum.model.names import FIELD_MANAGER
from testbed.config import KAFKA_VERSIONS, SOURCE

Make = Callable[[str], Quorum]
Write = Callable[[Quorum], Writer]

WAYS_IN = range(3000, 3008)
"""The node ids at which a writer's broker looks for the quorum: all node ids of all scenarios."""
OLDER_IMAGES = tuple(f"testbed/kafka:{version}" for version in KAFKA_VERSIONS if version != NEWEST)
_IMAGE_TIMEOUT_S = 2400.0
_OURS = f"app.kubernetes.io/managed-by={FIELD_MANAGER}"
"""The labels of Secrets that the operator made."""
_REMEMBER_S = 10.0
_QUORUMS = pytest.StashKey[list[Quorum]]()
_POOLS = pytest.StashKey[list[Pool]]()


@pytest.fixture(scope="session")
def randomly_seed(pytestconfig: pytest.Config) -> int:
    """The seed of this run, from its heading: `-p "randomly_seed=…"` repeats it."""
    return int(pytestconfig.getoption("randomly_seed"))


@pytest.fixture(scope="session")
def operator_image() -> str:
    """The operator's image from the checkout, on every worker."""
    return operator.current_image()


@pytest.fixture(scope="session")
def installed(operator_image: str) -> str:
    """The operator, installed once with the chart; returns its image."""
    operator.install(operator_image)
    return operator_image


@pytest.fixture
def serving(installed: str) -> str:
    """The operator runs, whatever the scenario before did to it."""
    operator.wait_ready()
    return installed


@pytest.fixture
def namespaces(serving: str) -> Iterator[Callable[[], str]]:  # noqa: ARG001 - an order, not a value
    """Makes namespaces that admit restricted pods only; searches them for contents of Secrets, and deletes them."""
    made: dict[str, Remembering] = {}

    def make() -> str:
        name = f"scenario-{uuid.uuid4().hex[:8]}"
        labels = {f"pod-security.kubernetes.io/{mode}": "restricted" for mode in ("enforce", "warn")}
        body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}}
        kubectl("create", "-f", "-", stdin=json.dumps(body))
        made[name] = stack.enter_context(Remembering(name, _OURS, _REMEMBER_S))
        return name

    stack = ExitStack()
    try:
        yield make
        for name, remembering in made.items():
            # After every scenario: no key and no password that the operator made is in an object or in a log.
            remembering.look()
            if remembering.known.needles:
                found = remembering.search(everything((name, NAMESPACE)))
                assert not found.leaks, str(found)
    finally:
        stack.close()
        _delete(made)


def _delete(names: Iterable[str]) -> None:
    for name in names:
        run("kubectl", "-n", name, "delete", "ksa", "--all", "--wait=false")
        run("kubectl", "-n", name, "delete", "kbp", "--all", "--wait=false")
        # The resource first, so that no operator creates pods again; then the pods without grace, for the next
        # scenario.
        run("kubectl", "-n", name, "delete", "kq", "--all", "--wait=false")
        run("kubectl", "-n", name, "delete", "pods", "--all", "--force", "--grace-period=0", "--wait=false")
        run("kubectl", "delete", "namespace", name, "--wait=false")


@pytest.fixture
def quorums(namespaces: Callable[[], str], request: pytest.FixtureRequest) -> Make:
    """Makes quorums, each in a namespace of its own."""
    known = request.node.stash.setdefault(_QUORUMS, [])

    def make(name: str = "q") -> Quorum:
        made = Quorum(namespace=namespaces(), name=name)
        known.append(made)
        return made

    return make


@pytest.fixture
def quorum(quorums: Make) -> Quorum:
    """One quorum, not applied yet."""
    return quorums("q")


@pytest.fixture
def pools(quorum: Quorum, request: pytest.FixtureRequest) -> Callable[[str], Pool]:
    """Makes pools of the quorum, not applied yet."""
    known = request.node.stash.setdefault(_POOLS, [])

    def make(name: str = "brokers") -> Pool:
        made = Pool(quorum=quorum, name=name)
        known.append(made)
        return made

    return make


@pytest.fixture(scope="session")
def client_image() -> str:
    """The image of clients, on every node."""
    return clients.image()


@pytest.fixture
def ready(quorum: Quorum) -> Quorum:
    """A ready quorum of three."""
    quorum.apply()
    quorum.wait_ready()
    return quorum


@pytest.fixture(scope="session")
def kafka_everywhere() -> None:
    """Kafka's image is on the control plane too, because the writers' brokers run there."""
    succeed(sys.executable, str(SOURCE), "load", KAFKA_IMAGE, "--all-nodes", timeout_s=240)


@pytest.fixture(scope="session")
def older_kafka() -> None:
    """The images of the older releases are on the workers; only the writers' brokers run elsewhere."""
    succeed(sys.executable, str(SOURCE), "load", *OLDER_IMAGES, timeout_s=480)


@pytest.fixture
def writing(namespaces: Callable[[], str], kafka_everywhere: None) -> Iterator[Write]:  # noqa: ARG001 - an order
    """Starts clients that write metadata until the scenario ends, or until `finish`."""
    with ExitStack() as stack:
        yield lambda quorum: stack.enter_context(Writer(quorum, WAYS_IN))


@pytest.fixture(scope="session")
def history_image() -> str:
    """The history's image from the checkout, on every worker."""
    return succeed(sys.executable, str(SOURCE), "history-image", timeout_s=_IMAGE_TIMEOUT_S).strip()


@pytest.fixture
def scheduled(serving: str, history_image: str) -> Iterator[None]:
    """The operator with observations on a claim and with the history; afterwards as before."""
    with history.installed(serving, history_image):
        yield


@pytest.fixture
def observed(scheduled: None, quorum: Quorum) -> Quorum:  # noqa: ARG001 - an order, not a value
    """A ready quorum of three with observations from the operator."""
    quorum.apply()
    quorum.wait_ready()
    history.wait_observed(quorum)
    return quorum


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Put the evidence into the report of a failed scenario, before its namespace is deleted."""
    report = yield
    if call.when == "call" and report.failed:
        for pool in item.stash.get(_POOLS, []):
            report.sections.append((f"pool {pool.namespace}/{pool.name}", pool.report()))
        for application in item.stash.get(streams.KNOWN, []):
            report.sections.append((f"application {application.namespace}/{application.name}", application.report()))
        for quorum in item.stash.get(_QUORUMS, []):
            report.sections.append((f"quorum {quorum.namespace}/{quorum.name}", quorum.report()))
        if "installed" in getattr(item, "fixturenames", ()):
            report.sections.append(("operator", operator.logs()))
    return report
