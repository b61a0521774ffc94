"""Quorums that do not answer take no time from one that does."""

import asyncio
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, cast

from tests import virtual_time
from tests.kit.kube.recording import RecordingKube
from tests.model.values import NAME, NAMESPACE, UID
from tests.observe import kubernetes as k8s
from tests.observe.test_gather import api_server, healthy
from tests.test_reconcile import SPEC, Ids
from tests.wire.answering import AnsweringControllers

from kafka_quorum.errors import KafkaUnreachable
from kafka_quorum.kind import QUORUMS
from kafka_quorum.model.quorum import ClusterAnswer, Endpoint, NodeVersions, QuorumAnswer
from kafka_quorum.reconcile import Reconciler
from kafka_quorum.settings import Settings
from kit.errors import Fault
from kit.key import ObjectKey
from kit.kube.protocol import Json, KubeApi, ResourceType
from kit.loops import Loops

SILENT = 120
ANSWER_S = 5.0
"""The seconds after which a request to a silent controller fails."""
REQUEST_S = 0.005
WAIT_S = 1.0
KEY = ObjectKey(namespace=NAMESPACE, name=NAME)


class LoopClock:
    """The loop's own time."""

    def now(self) -> datetime:
        """Wall time."""
        return datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=self.monotonic())

    def monotonic(self) -> float:
        """Seconds of the loop."""
        return asyncio.get_running_loop().time()


class Slowly:
    """An API server with many namespaces and their objects, on which every request takes some milliseconds."""

    def __init__(self, spaces: Mapping[str, RecordingKube]) -> None:
        """Takes the namespaces."""
        self._spaces = spaces
        self.busy_most = 0
        self._busy = 0

    def __getattr__(self, verb: str) -> Any:  # noqa: ANN401 - any request
        """A request that is answered a little later."""

        async def request(*args: Any, **options: Any) -> Any:  # noqa: ANN401 - any request
            space = next(arg for arg in args if isinstance(arg, str))
            self._busy += 1
            self.busy_most = max(self.busy_most, self._busy)
            await asyncio.sleep(REQUEST_S)
            self._busy -= 1
            return await getattr(self._spaces[space], verb)(*args, **options)

        return request


class MostlySilent(AnsweringControllers):
    """Controllers by address: those of the silent quorums fail after five seconds."""

    async def describe_quorum(self, endpoint: Endpoint) -> QuorumAnswer:
        """Answers, or fails."""
        await _silence(endpoint)
        return await AnsweringControllers.describe_quorum(self, endpoint)

    async def api_versions(self, endpoint: Endpoint) -> NodeVersions:
        """Answers, or fails."""
        await _silence(endpoint)
        return await AnsweringControllers.api_versions(self, endpoint)

    async def describe_cluster(self, endpoint: Endpoint) -> ClusterAnswer:
        """Answers, or fails."""
        await _silence(endpoint)
        return await AnsweringControllers.describe_cluster(self, endpoint)


async def _silence(endpoint: Endpoint) -> None:
    if endpoint.host.startswith("10.0.0."):
        return
    await asyncio.sleep(ANSWER_S)
    text = f"controller {endpoint} does not answer"
    raise KafkaUnreachable(text, fault=Fault.PATH, retry_safe=True, outcome_unknown=False)


def space(namespace: str, *, silent: bool) -> RecordingKube:
    """The quorum `alpha` in a namespace."""
    kube = api_server()
    kube.put(QUORUMS, {"metadata": k8s.metadata(NAME, uid=UID, generation=1), "spec": SPEC})
    for item in kube.objects.values():
        item["metadata"]["namespace"] = namespace
        if silent and "podIP" in item.get("status", {}):
            item["status"]["podIP"] = item["status"]["podIP"].replace("10.0.0.", "10.9.0.")
    return kube


def looks_of(kube: RecordingKube) -> int:
    """How often the resource was read."""
    return sum(call.verb == "get" and call.plural == QUORUMS.plural for call in kube.calls)


async def _waits() -> tuple[list[float], Slowly]:
    """How long a healthy quorum waits for its pass after a wake-up, thirty times, while many quorums do not answer."""
    spaces = {f"silent-{number}": space(f"silent-{number}", silent=True) for number in range(SILENT)}
    spaces[NAMESPACE] = space(NAMESPACE, silent=False)
    answering = healthy()
    controllers = MostlySilent(quorums=answering.quorums, versions=answering.versions, clusters=answering.clusters)
    kube = Slowly(spaces)
    reconciler = Reconciler(
        kube=cast("KubeApi", kube), controllers=controllers, clock=LoopClock(), ids=Ids(), settings=Settings()
    )
    loops, waits = Loops(reconciler), []
    for namespace in spaces:
        loops.wake(ObjectKey(namespace=namespace, name=NAME), create=True)
    await asyncio.sleep(60.0)  # virtual
    for _ in range(30):
        await asyncio.sleep(3.7)
        before, since_s = looks_of(spaces[NAMESPACE]), asyncio.get_running_loop().time()
        loops.wake(KEY, create=True)
        while looks_of(spaces[NAMESPACE]) == before:  # noqa: ASYNC110 - in virtual time it costs nothing
            await asyncio.sleep(0.01)
        waits.append(asyncio.get_running_loop().time() - since_s)
    await loops.stop()
    return waits, kube


def test_a_healthy_quorum_does_not_wait_for_silent_ones() -> None:
    """While 120 quorums do not answer, each pass of a healthy one begins within a second of virtual time."""
    waits, kube = virtual_time.run(_waits())
    assert max(waits) < WAIT_S
    assert kube.busy_most <= 16 * 7 + SILENT  # reads of sixteen quorums, and requests of actions and reports


async def _read(count: int) -> list[str]:
    """The order in which the objects of this many quorums are read, if they are woken one after the other."""
    order: list[str] = []

    class Noting(Slowly):
        def __getattr__(self, verb: str) -> Any:  # noqa: ANN401 - any request
            request = super().__getattr__(verb)

            async def noted(resource: ResourceType, namespace: str, *rest: Any, **options: Any) -> Json | None:  # noqa: ANN401
                if verb == "get" and resource is QUORUMS:
                    order.append(namespace)
                return cast("Json | None", await request(resource, namespace, *rest, **options))

            return noted

    spaces = {f"n{number:03}": space(f"n{number:03}", silent=True) for number in range(count)}
    reconciler = Reconciler(
        kube=cast("KubeApi", Noting(spaces)),
        controllers=MostlySilent(),
        clock=LoopClock(),
        ids=Ids(),
        settings=Settings(),
    )
    loops = Loops(reconciler)
    for namespace in spaces:
        loops.wake(ObjectKey(namespace=namespace, name=NAME), create=True)
    await asyncio.sleep(ANSWER_S / 2)
    await loops.stop()
    return order


def test_quorums_are_read_in_the_order_in_which_they_asked() -> None:
    """Quorums that wait to be read are read in the order of their wake-ups."""
    order = virtual_time.run(_read(100))
    assert order == sorted(order)
    assert len(order) == 100
