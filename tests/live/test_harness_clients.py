"""The clients of the end-to-end tests reach a secured broker, and the measuring client finds a gap that is there."""

import asyncio
import time
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any, Final

import confluent_kafka.admin
import pytest
import pytest_asyncio
from tests.live.jars import ensure_kafka
from tests.live.ports import HOST
from tests.live.secured import PASSWORD, USER, SecuredBroker
from tests.live.waiting import wait_for

from harness.access import PLAIN, Access
from harness.client.ledger import judge
from harness.client.streams import Streams, read_back
from harness.gaps import KINDS, PRODUCE, TOPIC, Meter

pytestmark = [pytest.mark.live, pytest.mark.timeout(300), pytest.mark.asyncio(loop_scope="module")]

_ADMIN: Final[Any] = confluent_kafka.admin  # typed in part
FROZEN_S = 3.0


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def broker(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[SecuredBroker]:
    """A broker with TLS, SCRAM and PLAIN, and with every right for its user and for the client's certificate."""
    made = SecuredBroker(ensure_kafka(), tmp_path_factory.mktemp("secured"))
    try:
        await made.open()
        await made.set_password(PASSWORD)
        for topic in ("SSL", "SASL_SSL", TOPIC):
            await made.cluster.topic(topic, [[1]])
        await asyncio.to_thread(_allow_all, made, (f"User:{USER}", "User:CN=client"))
        yield made
    finally:
        await made.close()


def _allow_all(broker: SecuredBroker, principals: tuple[str, ...]) -> None:
    admin = _ADMIN.AdminClient({"bootstrap.servers": broker.cluster.bootstrap(), "log_level": 0})
    literal, every, allow = _ADMIN.ResourcePatternType.LITERAL, _ADMIN.AclOperation.ALL, _ADMIN.AclPermissionType.ALLOW
    kinds = (_ADMIN.ResourceType.TOPIC, _ADMIN.ResourceType.GROUP)
    rows = [_ADMIN.AclBinding(kind, "*", literal, who, "*", every, allow) for kind in kinds for who in principals]
    for future in admin.create_acls(rows).values():
        future.result(20)


def accesses(broker: SecuredBroker) -> dict[str, tuple[int, Access]]:
    """Both ways in, by protocol: the port, and what a client needs there."""
    pem = broker.pem
    certificate = Access(protocol="SSL", ca=pem("ca.crt"), certificate=pem("client.crt"), key=pem("client.key"))
    user = Access(protocol="SASL_SSL", ca=pem("ca.crt"), mechanism="SCRAM-SHA-512", username=USER, password=PASSWORD)
    return {"SSL": (broker.ports["TLS"], certificate), "SASL_SSL": (broker.ports["SCRAM"], user)}


def way(port: int, access: Access) -> dict[str, str]:
    """The properties of a client."""
    return {"bootstrap.servers": f"{HOST}:{port}"} | access.settings()


@pytest.mark.parametrize("protocol", ["SSL", "SASL_SSL"])
async def test_a_pod_of_clients_gets_in(broker: SecuredBroker, protocol: str) -> None:
    """Its producer, its consumer and its reading at the end use the same way in, and no record is lost."""
    at = way(*accesses(broker)[protocol])
    lane = f"{protocol}-0"
    streams = Streams(at, (lane,), 0.05, 20)
    streams.start()

    async def flowing() -> bool | None:
        return (len(streams.lanes[lane].consumed) > 10) or None

    await wait_for("records that were produced and consumed", flowing, deadline_s=60)
    await asyncio.to_thread(streams.stop)
    logs = await asyncio.to_thread(read_back, at, streams.lanes, 60.0)
    verdict = judge(lane, streams.lanes[lane], logs[lane])
    assert verdict.acknowledged > 10
    assert not verdict.faults
    assert not streams.broken


async def test_a_client_of_another_authority_is_not_let_in(broker: SecuredBroker) -> None:
    """The certificate is what lets it in: with that of an authority that nobody trusts, nothing is acknowledged."""
    port, access = accesses(broker)["SSL"]
    stranger = replace(access, certificate=broker.pem("stranger.crt"), key=broker.pem("stranger.key"))
    for refused in (stranger, replace(access, certificate="", key=""), PLAIN):
        client = _ADMIN.AdminClient({**way(port, refused), "log_level": 0})
        with pytest.raises(confluent_kafka.KafkaException):
            await asyncio.to_thread(client.list_topics, timeout=4)


async def test_a_gap_is_measured_through_tls(broker: SecuredBroker) -> None:
    """While the broker's process is frozen, no kind is answered: each has one gap of at least that length."""
    at = way(*accesses(broker)["SASL_SSL"])
    with Meter(at, hz=10, least_s=1.0) as meter:

        async def answered() -> bool | None:
            return all(len(meter.lanes[kind].took_s) > 5 for kind in KINDS) or None

        await wait_for("answers of each kind", answered, deadline_s=60)
        before = {kind: len(meter.lanes[kind].gaps) for kind in KINDS}
        process = broker.cluster.brokers[1].running
        try:
            await asyncio.to_thread(process.freeze)
            began_s = time.monotonic()
            await asyncio.sleep(FROZEN_S)  # the length of the gap, not a wait for something
            frozen_s = time.monotonic() - began_s
        finally:
            process.thaw()
        counts = {kind: len(meter.lanes[kind].took_s) for kind in KINDS}

        async def more() -> bool | None:
            return all(len(meter.lanes[kind].took_s) > counts[kind] + 5 for kind in KINDS) or None

        await wait_for("answers again", more, deadline_s=60)
    for kind in KINDS:
        gaps = meter.lanes[kind].gaps[before[kind] :]
        assert gaps, kind
        assert max(gap.took_s for gap in gaps) >= frozen_s, kind
    assert meter.lanes[PRODUCE].failures == {}
