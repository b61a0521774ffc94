"""A quorum that lost its majority continues from one disk, which `kraftlog.rewrite` changed; no record of it is lost.

A survivor alone never gets a leader. After the rewrite it elects itself, accepts writes, and takes new voters.
"""

import asyncio
import hashlib
import shutil
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Final

import pytest
from tests.live.brokers import LiveBrokers
from tests.live.jars import DEFAULT_VERSION, Kafka, ensure_kafka
from tests.live.ports import HOST
from tests.live.quorum import LiveNode, LiveQuorum
from tests.live.storage import ModeMissing, NoInitialControllers
from tests.live.waiting import wait_for

from kafka_quorum.errors import KafkaError
from kafka_quorum.model.ids import NodeID
from kafka_quorum.model.quorum import AddVoter, QuorumAnswer, RemoveVoter
from kafka_quorum.model.scram import ScramCredential, ScramMechanism
from kafka_quorum.wire.admin import KafkaControllers
from kraftlog.disk import DiskError, DiskLook, Endpoint, content, look, read_look, to_json
from kraftlog.disk.looking import log_files, valid_batches
from kraftlog.rewrite import EPOCH_GAP, copy, plan_of, rewrite, seed, seed_plan_of

pytestmark = [pytest.mark.live, pytest.mark.timeout(300), pytest.mark.asyncio(loop_scope="module")]

NODES = (3000, 3001, 3002)
RECORDS: Final = 60
LOG: Final = "__cluster_metadata-0"
SEGMENT: Final = f"{0:020}.log"
STRICT_VERSION: Final = "3.9.0"
"""The only supported release that does not start if more than one voter comes or goes with a voter set in its log."""
NO_OVERLAP: Final = "doesn't have an overlapping majority with the new voter set"
"""What a server logs when it reads a voter set with which more than one voter comes or goes."""
NewQuorum = Callable[[str], LiveQuorum]


async def write(controllers: KafkaControllers, node: LiveNode, user: str) -> None:
    """One acknowledged record: a user of the brokers."""
    await controllers.alter_scram(
        node.endpoint,
        ScramCredential(
            user=user, mechanism=ScramMechanism.SHA_512, iterations=8192, salt=b"salt" * 4, salted_password=b"x" * 64
        ),
    )


async def writes_work(quorum: LiveQuorum, controllers: KafkaControllers, user: str) -> tuple[LiveNode, QuorumAnswer]:
    """Waits for a leader that accepts a record; returns it, and its answer."""

    async def accepted() -> tuple[LiveNode, QuorumAnswer] | None:
        leader, answer = await quorum.leader(controllers)
        await write(controllers, leader, user)
        return leader, answer

    return await wait_for("a leader that accepts a write", accepted)


def digest(data: Path, end_offset: int) -> str:
    """The sum of all batches below an offset, of which each replica must have the same."""
    summed, last = hashlib.sha256(), 0
    log_dir = data / LOG
    for batch in valid_batches(log_dir, log_files(log_dir).bases):
        if batch.last_offset < end_offset:
            last = batch.last_offset
            summed.update(repr((batch.base_offset, batch.leader_epoch, batch.control, batch.body)).encode())
    assert last == end_offset - 1
    return summed.hexdigest()


def kill(nodes: Iterable[LiveNode]) -> None:
    """All at once, as a power cut."""
    for node in nodes:
        node.running.kill()


async def no_leader(controllers: KafkaControllers, node: LiveNode) -> None:
    """Checks that a controller answers and has no leader."""

    async def answers() -> bool | None:
        return bool((await controllers.api_versions(node.endpoint)).supported)

    await wait_for("the survivor", answers)
    with pytest.raises(KafkaError):
        await controllers.describe_quorum(node.endpoint)


async def with_records(quorum: LiveQuorum, controllers: KafkaControllers, nodes: list[LiveNode]) -> None:
    """Starts controllers, writes records that a majority has, and kills all of them."""
    quorum.start(*nodes)
    leader, _ = await writes_work(quorum, controllers, "first")
    for number in range(RECORDS):
        await write(controllers, leader, f"user-{number}")
    kill(nodes)


def best(nodes: Iterable[LiveNode]) -> tuple[LiveNode, DiskLook]:
    """The disk that has the most: the highest last epoch, then the highest end offset."""
    looks = [(node, read_look(to_json(look(node.data)))) for node in nodes]
    return max(looks, key=lambda pair: (pair[1].last_epoch, pair[1].end_offset))


async def join(quorum: LiveQuorum, controllers: KafkaControllers, nodes: Iterable[LiveNode]) -> None:
    """Formats controllers without initial controllers, starts them, and adds them as voters."""
    for node in nodes:
        quorum.must_format([node], NoInitialControllers())
        quorum.start(node)
        await quorum.observer(controllers, node.key)
        leader, _ = await quorum.leader(controllers)
        add = AddVoter(cluster_id=quorum.cluster_id, voter=node.key, listeners=(node.listener,), timeout_ms=10_000)
        await controllers.add_voter(leader.endpoint, add)


async def all_vote(quorum: LiveQuorum, controllers: KafkaControllers, nodes: list[LiveNode]) -> None:
    """Checks that these are the voters, and that they catch up. Kills all."""
    _, answer = await writes_work(quorum, controllers, "last")
    assert {row.key for row in answer.voters} == {node.key for node in nodes}

    async def caught_up() -> bool | None:
        _, now = await quorum.leader(controllers)
        return all(row.log_end_offset >= answer.high_watermark for row in now.voters) or None

    await wait_for("voters that have everything", caught_up)
    kill(nodes)


async def have_all(quorum: LiveQuorum, controllers: KafkaControllers, nodes: list[LiveNode], end_offset: int) -> None:
    """The same, and each has the records below an offset, byte for byte."""
    await all_vote(quorum, controllers, nodes)
    assert len({digest(node.data, end_offset) for node in nodes}) == 1


async def test_one_of_three_disks_is_left(new_quorum: NewQuorum, controllers: KafkaControllers, tmp_path: Path) -> None:
    """Rewritten, the survivor leads 1000 epochs later; two new voters join, and each has every earlier record."""
    quorum = new_quorum("rewritten")
    nodes = [quorum.add_node(each) for each in NODES]
    quorum.must_format(nodes, quorum.initial_controllers(nodes))
    await with_records(quorum, controllers, nodes)
    survivor, disk = best(nodes)
    assert (disk.kraft_version, disk.damage) == (1, None)
    types = {each.type: each.records for each in content(survivor.data, 0).types}
    assert types["USER_SCRAM_CREDENTIAL_RECORD"] >= RECORDS
    for node in nodes:
        if node is not survivor:
            quorum.wipe(node)
    quorum.start(survivor)
    await no_leader(controllers, survivor)
    with pytest.raises(DiskError, match="stop the server"):
        rewrite(survivor.data, plan_of(disk))
    survivor.running.kill()
    disk = look(survivor.data)
    copied = copy(survivor.data, tmp_path / "copy")
    assert look(tmp_path / "copy") == disk
    assert len(copied.files) > 4
    before = digest(survivor.data, disk.end_offset)
    plan = plan_of(disk)
    done = rewrite(survivor.data, plan)
    assert (done.changed, done.offset) == (True, disk.end_offset)
    assert done.leader_epoch == disk.leader_epoch + EPOCH_GAP
    assert not rewrite(survivor.data, plan).changed
    quorum.start(survivor)
    leader, answer = await writes_work(quorum, controllers, "second")
    assert leader is survivor
    assert answer.leader_epoch > done.leader_epoch
    assert answer.high_watermark > disk.end_offset
    assert [row.key for row in answer.voters] == [survivor.key]
    await join(quorum, controllers, [node for node in nodes if node is not survivor])
    await have_all(quorum, controllers, nodes, disk.end_offset)
    assert digest(survivor.data, disk.end_offset) == before
    assert not rewrite(survivor.data, plan).changed
    quorum.close()


@pytest.mark.parametrize("release", [DEFAULT_VERSION, pytest.param(STRICT_VERSION, marks=pytest.mark.full)])
@pytest.mark.parametrize("where", ["log", "checkpoint"])
async def test_the_voters_have_changed_before(
    release: str, where: str, controllers: KafkaControllers, tmp_path: Path
) -> None:
    """The survivor of three leads alone if voters were added and removed before, in its log or in a later checkpoint.

    Kafka compares each voter set with the one before, except with that of the format. Release 3.9.0 does not start if
    more than one voter is gone; later releases only log it. So the rewrite removes one voter with each record.
    """
    quorum = LiveQuorum(kafka=ensure_kafka(release), directory=tmp_path)
    if where == "checkpoint":
        quorum.config["metadata.log.max.record.bytes.between.snapshots"] = "2000"
    nodes = [quorum.add_node(each) for each in (*NODES, 3003)]
    try:
        nodes.remove(await change_voters(quorum, controllers, nodes))
        await until_voters_are(where, quorum, controllers, nodes)
        survivor, disk = best(nodes)
        assert disk.voters is not None
        assert {each.node_id for each in disk.voters.voters} == {node.node_id for node in nodes}
        lost = [node for node in nodes if node is not survivor]
        for node in lost:
            quorum.wipe(node)
        before = digest(survivor.data, disk.end_offset)
        plan = plan_of(disk)
        done = rewrite(survivor.data, plan)
        assert (done.changed, done.offset, done.last_offset) == (True, disk.end_offset, disk.end_offset + 1)
        quorum.start(survivor)
        leader, answer = await writes_work(quorum, controllers, "second")
        assert (leader, [row.key for row in answer.voters]) == (survivor, [survivor.key])
        assert NO_OVERLAP not in survivor.log.read_text()
        await join(quorum, controllers, lost)
        if where == "log":
            await have_all(quorum, controllers, nodes, disk.end_offset)
        else:  # the new controllers begin with a checkpoint of the survivor, so their logs have no earlier record
            await all_vote(quorum, controllers, nodes)
        assert digest(survivor.data, disk.end_offset) == before
        assert not rewrite(survivor.data, plan).changed
    finally:
        quorum.close()


@pytest.mark.full
@pytest.mark.parametrize(("target_id", "records"), [(3004, 4), (3003, 3)])
async def test_a_seed_whose_disk_was_no_voter(
    target_id: int, records: int, controllers: KafkaControllers, tmp_path: Path
) -> None:
    """A new controller, or a voter with a new disk, leads alone with the log of a quorum whose voters had changed.

    Release 3.9.0 requires that the first record adds the controller, or replaces its disk, and changes nothing else.
    """
    quorum = LiveQuorum(kafka=ensure_kafka(STRICT_VERSION), directory=tmp_path)
    nodes = [quorum.add_node(each) for each in (*NODES, 3003)]
    try:
        nodes.remove(await change_voters(quorum, controllers, nodes))
        await until_voters_are("log", quorum, controllers, nodes)
        source, disk = best(node for node in nodes if node.node_id != target_id)
        target = quorum.nodes.get(NodeID(target_id)) or quorum.add_node(target_id)
        if target in nodes:
            quorum.wipe(target)
        quorum.must_format([target], NoInitialControllers())
        endpoint = Endpoint(name=target.listener.name, host=HOST, port=target.port)
        plan = seed_plan_of(disk, target.node_id, target.meta["directory.id"], plan_of(disk, (endpoint,)))
        done = seed(source.data, target.data, plan)
        assert (done.changed, done.last_offset - done.offset + 1) == (True, records)
        quorum.start(target)
        leader, answer = await writes_work(quorum, controllers, "second")
        assert (leader, [row.key for row in answer.voters]) == (target, [target.key])
        target.running.kill()
        assert digest(target.data, disk.end_offset) == digest(source.data, disk.end_offset)
    finally:
        quorum.close()


async def change_voters(quorum: LiveQuorum, controllers: KafkaControllers, nodes: list[LiveNode]) -> LiveNode:
    """Starts three controllers, adds the fourth, and removes one of the first three, which is returned."""
    *first, newcomer = nodes
    quorum.must_format(first, quorum.initial_controllers(first))
    quorum.start(*first)
    await join(quorum, controllers, [newcomer])
    leader, _ = await writes_work(quorum, controllers, "first")
    gone = next(node for node in first if node is not leader)
    gone.running.kill()  # a leader of 3.9 may end when a replica that it just removed answers it (`FATAL_REMOVAL`)
    await controllers.remove_voter(leader.endpoint, RemoveVoter(cluster_id=quorum.cluster_id, voter=gone.key))
    return gone


async def until_voters_are(
    where: str, quorum: LiveQuorum, controllers: KafkaControllers, nodes: list[LiveNode]
) -> None:
    """Writes records until the last voter set of each disk is there: in the log, or in a checkpoint only. Kills all."""

    async def there() -> bool | None:
        leader, _ = await quorum.leader(controllers)
        for number in range(RECORDS):
            await write(controllers, leader, f"user-{number}")
        looks = [look(node.data) for node in nodes]
        if where == "log":
            return all(each.voters_in_log for each in looks) or None
        return all(each.voters_in_log is None and each.voters_in_checkpoint for each in looks) or None

    await wait_for(f"voters in the {where}", there)
    kill(nodes)


async def test_only_the_log_of_a_broker_is_left(kafka: Kafka, tmp_path: Path) -> None:
    """A new controller gets the log of a running broker, leads alone, and the broker follows it with its topics."""
    cluster = LiveBrokers(kafka, tmp_path, brokers=(1,))
    quorum, controllers, broker = cluster.quorum, cluster.controllers, cluster.brokers[1]
    (target,) = quorum.nodes.values()
    data = broker.log_dirs[0]
    try:
        await cluster.open()
        await cluster.topic("orders", [[1], [1]])
        for number in range(RECORDS):
            await write(controllers, target, f"user-{number}")
        written = (await controllers.describe_quorum(target.endpoint)).high_watermark

        async def fetched() -> bool | None:
            return look(data).end_offset >= written or None

        await wait_for("a broker that has every record", fetched)
        target.running.kill()
        quorum.wipe(target)
        quorum.must_format([target], NoInitialControllers())
        disk = look(data)
        assert [each.name for each in content(data, 0).topics if each.created] == ["orders"]
        endpoint = Endpoint(name=target.listener.name, host=HOST, port=target.port)
        plan = seed_plan_of(disk, target.node_id, target.meta["directory.id"], plan_of(disk, (endpoint,)))
        done = seed(data, target.data, plan)
        assert (done.changed, done.offset) == (True, disk.end_offset)
        assert not seed(data, target.data, plan).changed
        quorum.start(target)
        leader, answer = await writes_work(quorum, controllers, "second")
        assert (leader, [row.key for row in answer.voters]) == (target, [target.key])
        assert answer.leader_epoch > done.leader_epoch
        await cluster.all_unfenced()
        await cluster.topic("invoices", [[1]])
        assert (await cluster.partition("orders", 1)).isr == (1,)
    finally:
        await cluster.close()
    assert digest(target.data, disk.end_offset) == digest(data, disk.end_offset)


async def test_a_static_quorum_has_another_way(new_quorum: NewQuorum, controllers: KafkaControllers) -> None:
    """A static quorum is not rewritten: its survivor leads with itself as the only entry of its voters' setting."""
    quorum = new_quorum("static")
    nodes = [quorum.add_node(each) for each in NODES]
    servers = ",".join(f"{node.node_id}@{HOST}:{node.port}" for node in nodes)
    for node in nodes:
        quorum.write_config(node, controller_quorum_voters=servers, controller_quorum_bootstrap_servers="")
    quorum.must_format(nodes, ModeMissing())
    await with_records(quorum, controllers, nodes)
    survivor, disk = best(nodes)
    assert disk.kraft_version == 0
    endpoint = Endpoint(name=survivor.listener.name, host=HOST, port=survivor.port)
    with pytest.raises(DiskError, match=r"only entry of controller\.quorum\.voters"):
        plan_of(disk, (endpoint,))
    with pytest.raises(DiskError, match=r"only entry of controller\.quorum\.voters"):
        rewrite(survivor.data, plan_of(replace(disk, kraft_version=1), (endpoint,)))
    before = digest(survivor.data, disk.end_offset)
    for node in nodes:
        if node is not survivor:
            quorum.wipe(node)
    alone = f"{survivor.node_id}@{HOST}:{survivor.port}"
    quorum.write_config(survivor, controller_quorum_voters=alone, controller_quorum_bootstrap_servers="")
    quorum.start(survivor)
    found, answer = await writes_work(quorum, controllers, "second")
    assert found is survivor
    assert answer.high_watermark > disk.end_offset
    survivor.running.kill()
    assert digest(survivor.data, disk.end_offset) == before
    quorum.close()


async def test_a_broker_that_has_more_than_the_survivor(kafka: Kafka, tmp_path: Path) -> None:
    """A running broker ends with code 1; started again, it follows, and keeps the records of a lost topic as strays."""
    cluster = LiveBrokers(kafka, tmp_path, brokers=(1,))
    quorum, controllers, broker = cluster.quorum, cluster.controllers, cluster.brokers[1]
    (target,) = quorum.nodes.values()
    data, before = broker.log_dirs[0], tmp_path / "before"
    try:
        await cluster.open()
        await cluster.topic("orders", [[1]])
        target.running.kill()
        shutil.copytree(target.data, before)
        quorum.start(target)
        await cluster.all_unfenced()
        await cluster.topic("later", [[1]])
        assert await cluster.produce("later", RECORDS) == RECORDS
        records = (data / "later-0" / SEGMENT).read_bytes()
        written = (await controllers.describe_quorum(target.endpoint)).high_watermark

        async def fetched() -> bool | None:
            return look(data).end_offset >= written or None

        await wait_for("a broker that has every record", fetched)
        target.running.kill()
        shutil.rmtree(target.data)
        shutil.copytree(before, target.data)
        endpoint = Endpoint(name=target.listener.name, host=HOST, port=target.port)
        rewrite(target.data, plan_of(look(target.data), (endpoint,)))
        quorum.start(target)
        await writes_work(quorum, controllers, "second")
        assert await asyncio.to_thread(broker.running.wait) == 1
        assert "below the current high watermark" in broker.log.read_text()
        cluster.start(broker)
        await cluster.all_unfenced()
        await cluster.isr("orders", (1,))

        async def set_aside() -> Path | None:
            return next(data.glob("later-0.*-stray"), None)

        assert ((await wait_for("a stray", set_aside)) / SEGMENT).read_bytes() == records
    finally:
        await cluster.close()
