"""How long one observation takes: the operator's own gathering code, in this process, against a running quorum."""

import asyncio
import time

from kafka_quorum.model.desired import ControllerListener
from kafka_quorum.model.known import Known
from kafka_quorum.model.memory import Memory
from kafka_quorum.model.names import FIELD_MANAGER
from kafka_quorum.observe import gather
from kafka_quorum.observe.access import Access
from kafka_quorum.observe.snapshot import snapshot
from kafka_quorum.wire.admin import KafkaControllers
from kit.clock import SystemClock
from kit.kube.client import connect

_PORT = 9093


def observe(namespace: str, name: str, looks: int) -> dict[str, list[float]]:
    """Seconds of every look, by its object: `Kubernetes objects`, `quorum`, `both`."""
    return asyncio.run(_observe(namespace, name, looks))


async def _observe(namespace: str, name: str, looks: int) -> dict[str, list[float]]:
    kube, controllers, clock, memory = await connect(FIELD_MANAGER), KafkaControllers(), SystemClock(), Memory()
    access = Access(namespace=namespace, quorum=name, listener=ControllerListener(name="CONTROLLER", port=_PORT))
    measured: dict[str, list[float]] = {"Kubernetes objects": [], "quorum": [], "both": []}
    try:
        for _ in range(looks + 1):
            began_s = time.perf_counter()
            taken = await snapshot(kube, namespace, name, clock)
            assert taken is not None
            between_s = time.perf_counter()
            looked = await gather.look(controllers, taken, memory, access=access, clock=clock)
            ended_s = time.perf_counter()
            assert isinstance(looked.quorum, Known), looked.quorum
            memory = looked.memory
            measured["Kubernetes objects"].append(between_s - began_s)
            measured["quorum"].append(ended_s - between_s)
            measured["both"].append(ended_s - began_s)
    finally:
        await controllers.close()
        await kube.close()
    return {name: seconds[1:] for name, seconds in measured.items()}  # the first look opens connections
