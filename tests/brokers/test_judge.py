"""What a pool's spec is judged by beside itself: the names that its brokers have in their certificate."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import pytest
from tests.brokers.edges import api_server
from tests.brokers.observe.test_snapshot import taken
from tests.brokers.secured import mutual
from tests.brokers.values import CLUSTER, resource

from kafka_brokers.judge import Judged, judge
from kafka_brokers.model.disks import PoolRecord, changed, with_brokers
from kafka_quorum.model.ids import NodeID
from kit.kube.protocol import Json


def places(*names: str) -> list[Json]:
    """External listeners with TLS."""
    rows = enumerate(names)
    plain = {"protocol": "SSL", "external": "NodePort"}
    return [{**plain, "name": each, "port": 9100 + n, "host": f"b-{{id}}.{each.lower()}.org"} for n, each in rows]


def of_brokers(ids: Iterable[int], leaving: Iterable[int] = ()) -> PoolRecord:
    """A record of these brokers."""
    found = with_brokers(PoolRecord(cluster_id=CLUSTER), map(NodeID, ids), 1)
    for node_id in leaving:
        broker = found.broker(NodeID(node_id))
        assert broker is not None
        found = changed(found, replace(broker, leaving=True))
    return found


async def judged(record: PoolRecord, accepted: Json, **spec: Any) -> Judged:  # noqa: ANN401 - any field
    """What is made of this spec, after another one was accepted."""
    seen = replace(await taken(api_server()), record=record, accepted_spec={"quorum": "events", **accepted}, claims=())
    return judge(replace(seen, resource=resource({**accepted, **spec})), mutual(), frozenset())


LARGE = of_brokers(range(70, 202), leaving=range(170, 202))
ACCEPTED: Json = {"listeners": places("A", "B", "C"), "replicas": 100, "nodeIDs": list(range(70, 170))}


@pytest.mark.parametrize(
    "spec",
    [
        {"nodeIDs": [*range(71, 170), 500]},
        {"listeners": places("A", "B", "D"), "nodeIDs": list(range(70, 169)), "replicas": 99},
    ],
    ids=["another broker", "another host"],
)
async def test_growth_without_room_is_refused_before_anything_is_made(spec: Json) -> None:
    """Brokers that leave still have names: the spec as it stands would have room for all of its own."""
    found = await judged(LARGE, ACCEPTED, **spec)
    (fault,) = found.faults
    assert fault.field == "spec.listeners"
    assert "brokers in the certificate of this pool would be" in fault.message
    assert found.desired is not None
    assert found.desired.node_ids == tuple(range(70, 170))


@pytest.mark.parametrize("count", [100, 99, 3])
async def test_a_pool_becomes_smaller_whatever_it_has(count: int) -> None:
    """Fewer brokers are the way out."""
    found = await judged(LARGE, ACCEPTED, nodeIDs=list(range(70, 70 + count)), replicas=count)
    assert found.faults == ()


async def test_brokers_with_other_ids_than_the_spec_begins_with_may_become_more() -> None:
    """The second pool with the default `firstNodeID` grows as far as a pool does whose ids begin there."""
    small = {"listeners": places("A", "B", "C"), "replicas": 55}
    assert (await judged(of_brokers(range(70, 125)), small, replicas=100)).faults == ()
