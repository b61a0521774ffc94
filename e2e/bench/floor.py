"""The floor: the same three controllers from plain manifests, and the same final probe for both sides.

Both are finished when a leader answers with three caught-up voters, by the project's own judgement of an answer. The
plain manifests start their initial controllers in parallel, with a format in an init container of the same pod. An
operator must do more, because it must record every format before it starts any controller.
"""

import asyncio
import time
from collections.abc import Callable
from pathlib import Path

import yaml

from harness.shell import Json, items, kubectl
from kafka_quorum.api.properties import DEFAULT_FETCH_TIMEOUT_MS
from kafka_quorum.errors import KafkaError
from kafka_quorum.model.ids import NodeID
from kafka_quorum.model.known import Knowable, Known, Unknown
from kafka_quorum.model.memory import Memory
from kafka_quorum.model.quorum import Endpoint, QuorumAnswer
from kafka_quorum.observe.instances import FetchTimeouts
from kafka_quorum.observe.quorum import leader_of, view
from kafka_quorum.resources.properties import JAVA_SECURITY
from kafka_quorum.wire.admin import KafkaControllers
from testbed.config import SOURCE

HEAP = "256Mi"
PLAINTEXT: Json = {"name": "CONTROLLER", "port": 9093, "protocol": "PLAINTEXT"}
"""The listener of both sides. A new quorum of the operator has TLS without it; the plain manifests have none."""
CLUSTER_ID = "GxYTuLWqRhmb7dK0aQ2Ssw"
"""The cluster id of the plain manifests' formats."""
_MANIFEST: Path = SOURCE / "examples" / "quorum.yaml"
_CONTROLLERS = 3
_POLL_S = 0.1
_TIMEOUT_S = 120.0


def manifests(*, fresh_names: bool = False) -> str:
    """The test-bed's example with the heap of the operator's quorum, and no other change.

    With `fresh_names` Java caches addresses no longer than in the operator's pods.
    """
    documents: list[Json] = list(yaml.safe_load_all(_MANIFEST.read_text()))
    for document in documents:
        if document["kind"] == "ConfigMap":
            document["data"]["java.security"] = JAVA_SECURITY
        if document["kind"] == "StatefulSet":
            (container,) = document["spec"]["template"]["spec"]["containers"]
            container["env"] = [{"name": "KAFKA_HEAP_OPTS", "value": "-Xms256m -Xmx256m"}]
            if fresh_names:
                option = "-Djava.security.properties=/settings/java.security"
                container["env"].append({"name": "KAFKA_OPTS", "value": option})
    return yaml.safe_dump_all(documents)


def apply_floor(namespace: str, *, fresh_names: bool = False) -> None:
    """Apply the plain manifests."""
    kubectl("-n", namespace, "apply", "-f", "-", stdin=manifests(fresh_names=fresh_names))


def seconds_until_done(namespace: str, selector: str, node_of: Callable[[Json], int], started_s: float) -> float:
    """Seconds since `started_s` until a leader and three caught-up voters are seen."""
    return asyncio.run(_until_done(namespace, selector, node_of, started_s))


def ordinal(pod: Json) -> int:
    """The node id of a pod of the plain manifests."""
    return int(pod["metadata"]["name"].rpartition("-")[2])


def labelled(pod: Json) -> int:
    """The node id of a pod of the operator."""
    return int(pod["metadata"]["labels"]["kafkaquorum.io/node-id"])


async def _until_done(namespace: str, selector: str, node_of: Callable[[Json], int], started_s: float) -> float:
    controllers, endpoints = KafkaControllers(), list[Endpoint]()
    try:
        while (passed_s := time.monotonic() - started_s) < _TIMEOUT_S:
            if len(endpoints) < _CONTROLLERS:
                pods = await asyncio.to_thread(items, namespace, "pods", "-l", selector)
                endpoints = endpoints_of(pods, node_of)
            elif await _done(controllers, endpoints):
                return passed_s
            await asyncio.sleep(_POLL_S)
        raise AssertionError(f"no three caught-up voters after {_TIMEOUT_S:.0f} s")
    finally:
        await controllers.close()


def endpoints_of(pods: list[Json], node_of: Callable[[Json], int]) -> list[Endpoint]:
    """The endpoints of the controllers in these pods, for the pods that have an address."""
    addresses = ((node_of(pod), pod["status"].get("podIP")) for pod in pods)
    return [Endpoint(node_id=NodeID(node), host=address, port=9093) for node, address in addresses if address]


async def _done(controllers: KafkaControllers, endpoints: list[Endpoint]) -> bool:
    async def one(endpoint: Endpoint) -> Knowable[QuorumAnswer]:
        try:
            return Known(value=await controllers.describe_quorum(endpoint))
        except KafkaError as error:
            return Unknown(reason=str(error))

    answers = dict(zip((e.node_id for e in endpoints), await asyncio.gather(*map(one, endpoints)), strict=True))
    leader = leader_of(answers, FetchTimeouts())
    if isinstance(leader, Unknown):
        return False
    judged, _ = view(leader.value, Memory(), live_within_ms=DEFAULT_FETCH_TIMEOUT_MS, taken_at_s=0.0, settles_s=0.0)
    return len(judged.voters & judged.shown) == _CONTROLLERS
