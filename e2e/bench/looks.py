"""What one look at every partition costs: the pool's own asking, in this process, against running brokers."""

import asyncio
import gc
import time
import tracemalloc
from dataclasses import dataclass

from kafka_brokers.observe import kafka
from kafka_brokers.observe.snapshot import snapshot
from kafka_brokers.plan.facts import endpoint_of
from kafka_quorum.model.known import Known
from kafka_quorum.model.names import FIELD_MANAGER
from kafka_quorum.wire.broker_admin import KafkaBrokers
from kit.clock import SystemClock
from kit.kube.client import connect


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """One look: seconds on the clock, seconds of CPU of this process, and the partitions that it saw."""

    took_s: float
    cpu_s: float
    partitions: int


def observe(namespace: str, name: str, looks: int) -> tuple[list[Look], float]:
    """These looks, and the mebibytes that one of them holds at its peak."""
    return asyncio.run(_observe(namespace, name, looks))


async def _observe(namespace: str, name: str, looks: int) -> tuple[list[Look], float]:
    kube, brokers, clock = await connect(FIELD_MANAGER), KafkaBrokers(), SystemClock()
    found: list[Look] = []
    try:
        taken = await snapshot(kube, namespace, name, clock)
        assert taken is not None
        assert isinstance(taken.contract, Known), taken.contract
        contract = taken.contract.value
        controllers = kafka.controllers_of(contract)
        servers = {pod.node_id: endpoint_of(pod.node_id, pod.ip) for pod in taken.pods if pod.ip}

        async def look() -> Look:
            began_s, cpu_s = time.perf_counter(), time.process_time()
            asked = await kafka.ask(brokers, controllers, servers, contract.cluster_id, clock)
            took_s, used_s = time.perf_counter() - began_s, time.process_time() - cpu_s
            assert isinstance(asked.cluster, Known), asked.cluster
            return Look(took_s=took_s, cpu_s=used_s, partitions=len(asked.cluster.value.partitions))

        await look()  # opens the connections
        found = [await look() for _ in range(looks)]
        gc.collect()
        tracemalloc.start()
        await look()
        _, peak_bytes = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    finally:
        await brokers.close()
        await kube.close()
    return found, peak_bytes / 2**20
