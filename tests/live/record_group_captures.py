"""Record the captures of groups for tests/wire: `PYTHONPATH=operator:. python -m tests.live.record_group_captures DIR`.

DIR holds a compiled class `App` and, for each of `APPS`, a directory `libs-RELEASE` with Kafka Streams and what it
needs. `App` takes settings as `name=value`, and counts the records of topic `in` by their key, in two threads. Each
capture has the bytes of one request and its answer, and as its truth what the application was started with.
"""

import asyncio
import json
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from kio.static.protocol import RequestPayload
from tests.live.brokers import LiveBrokers
from tests.live.jars import ensure_kafka
from tests.live.record_captures import CAPTURES, Truth
from tests.live.waiting import wait_for

from kafka_quorum.model.brokers import TopicPartition
from kafka_quorum.model.groups import LogEnd
from kafka_quorum.model.quorum import Endpoint
from kafka_quorum.wire import codec
from kafka_quorum.wire.channel import Channel, open_channel
from kafka_quorum.wire.requests import (
    describe_groups,
    find_coordinator,
    list_groups,
    list_offsets,
    offset_fetch,
    streams_group_describe,
)

TOPIC, RECORDS, PARTITIONS = "in", 100, 3
ENDPOINT = "pod-1:8080"
APPS: tuple[tuple[str, str, str, int, int | None], ...] = (
    ("v1", "2.3.1", "0.10.0", 1, None),
    ("v2", "2.3.1", "1.1", 2, None),
    ("v4", "2.3.1", "", 4, 4),
    ("v11", "3.9.2", "", 11, 11),
    ("v11_43", "4.3.1", "", 11, 11),
)
"""A name, the release, `upgrade.from`, and the versions that its members use and support."""
Fits = Callable[[Any], bool]


class Recorder:
    """Sends requests to one broker, and stores those whose answer fits."""

    def __init__(self, world: LiveBrokers, channel: Channel) -> None:
        """Takes an open channel."""
        self._world, self._channel = world, channel

    async def record(self, name: str, what: str, request: RequestPayload, truth: Truth, fits: Fits) -> None:
        """Asks until the answer fits, and stores this one."""
        sent: list[bytes] = []

        def encode(correlation_id: int) -> bytes:
            sent.append(codec.encode_request(request, correlation_id))
            return sent[-1]

        async def fitting() -> bytes | None:
            sent.clear()
            answer = await self._channel.ask(encode)
            response = codec.decode_response(request.__api_key__, request.__version__, answer)
            return answer if fits(response) else None

        answer = await wait_for(name, fitting, pause_s=0.005)
        capture = {
            "what": what,
            "kafka": self._world.kafka.version,
            "truth": {"cluster_id": self._world.quorum.cluster_id, "asked": 1, **truth},
            "request": sent[-1].hex(),
            "answer": answer.hex(),
        }
        (CAPTURES / f"{name}.json").write_text(json.dumps(capture, indent=2) + "\n")
        print(name)  # noqa: T201 - a command speaks by printing


def start(directory: Path, release: str, bootstrap: str, group: str, **settings: str) -> "subprocess.Popen[bytes]":
    """Starts the application, with `_` for `.` in names of settings."""
    given = {
        "application.id": group,
        "bootstrap.servers": bootstrap,
        "client.id": f"{group}-client",
        "application.server": ENDPOINT,
        "state.dir": tempfile.mkdtemp(),
        "num.stream.threads": "2",
        "commit.interval.ms": "200",
        **{name.replace("_", "."): value for name, value in settings.items() if value},
    }
    arguments = [f"{name}={value}" for name, value in given.items()]
    path = f"{directory}:{directory}/libs-{release}/*"
    command = ["setpriv", "--pdeathsig", "KILL", "java", "-Xmx128m", "-cp", path, "App", *arguments]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def group_is(state: str, members: int) -> Fits:
    """The only group is in this state, with so many members."""

    def fits(response: Any) -> bool:  # noqa: ANN401 - of the request
        (group,) = response.groups
        return (group.group_state, len(group.members)) == (state, members)

    return fits


async def record_all(world: LiveBrokers, directory: Path) -> None:
    """Every request about groups, with real members."""
    at = world.brokers[1].endpoint
    channel = await open_channel(at.host, at.port)
    recorder = Recorder(world, channel)
    await world.topic(TOPIC, [[1]] * PARTITIONS)
    assert await world.produce(TOPIC, RECORDS) == RECORDS
    await record_nothing(recorder, at)
    for name, release, upgrade_from, used, supported in APPS:
        process = start(directory, release, world.bootstrap(), name, upgrade_from=upgrade_from)
        truth: Truth = {"group": name, "release": release, "used": used, "supported": supported, "endpoint": ENDPOINT}
        request = describe_groups.message(name)
        try:
            if name == "v11":
                what = "DescribeGroups v5 while members join: neither a protocol nor metadata"
                rebalancing = group_is("PreparingRebalance", 2)
                await recorder.record("describe_groups_v5_joining", what, request, truth, rebalancing)
            what = f"DescribeGroups v5 of Kafka Streams {release}, upgrade.from {upgrade_from or 'not set'}"
            await recorder.record(f"describe_groups_v5_{name}", what, request, truth, group_is("Stable", 2))
            if name == "v11":
                await record_offsets(recorder, name)
        finally:
            process.kill()
    await record_streams(recorder, directory, world.bootstrap())
    channel.abort()


async def record_nothing(recorder: Recorder, at: Endpoint) -> None:
    """The answers about a group that does not exist."""
    message, truth = find_coordinator.message("nobody"), {"group": "nobody", "host": at.host, "port": at.port}

    def found(response: Any) -> bool:  # noqa: ANN401 - of the request
        return bool(response.coordinators[0].error_code == 0)

    await recorder.record("find_coordinator_v4", "FindCoordinator v4", message, dict(truth), found)
    what = "DescribeGroups v5 of a group that does not exist: Dead"
    await recorder.record(
        "describe_groups_v5_nobody", what, describe_groups.message("nobody"), dict(truth), group_is("Dead", 0)
    )
    what = "StreamsGroupDescribe v0 of a group that does not exist: GROUP_ID_NOT_FOUND"
    await recorder.record(
        "streams_group_describe_v0_nobody", what, streams_group_describe.message("nobody"), dict(truth), lambda _: True
    )


async def record_offsets(recorder: Recorder, group: str) -> None:
    """The committed offset when everything is counted, and both ends of the log."""
    truth: Truth = {"group": group, "topic": TOPIC, "records": RECORDS}

    def committed(response: Any) -> bool:  # noqa: ANN401 - of the request
        topics = response.groups[0].topics
        return any(row.committed_offset == RECORDS for topic in topics for row in topic.partitions)

    await recorder.record(
        "offset_fetch_v8", "OffsetFetch v8, all topics", offset_fetch.message(group), truth, committed
    )
    partitions = [TopicPartition(topic="gone", index=0), TopicPartition(topic=TOPIC, index=0)]
    for end in LogEnd:
        what = f"ListOffsets v7, {end.name.lower()}, of a partition and of one that does not exist"
        request = list_offsets.message(partitions, end)
        await recorder.record(f"list_offsets_v7_{end.name.lower()}", what, request, truth, lambda _: True)


async def record_streams(recorder: Recorder, directory: Path, bootstrap: str) -> None:
    """A group of the streams protocol, and what DescribeGroups says of it."""
    process = start(directory, "4.3.1", bootstrap, "by-broker", group_protocol="streams")
    truth: Truth = {"group": "by-broker", "release": "4.3.1", "endpoint": ENDPOINT, "partitions": PARTITIONS}
    try:
        what = "StreamsGroupDescribe v0 of two threads of Kafka Streams 4.3.1"
        request = streams_group_describe.message("by-broker")
        await recorder.record("streams_group_describe_v0", what, request, truth, group_is("Stable", 2))
        what = "DescribeGroups v5 of a group of the streams protocol: Dead"
        name = "describe_groups_v5_by_broker"
        await recorder.record(name, what, describe_groups.message("by-broker"), truth, group_is("Dead", 0))
        what = "ListGroups v5: groups of both types"
        await recorder.record("list_groups_v5", what, list_groups.message(), truth, lambda _: True)
    finally:
        process.kill()


async def main(directory_of_apps: Path) -> None:
    """Starts a broker, records, and stops it."""
    with tempfile.TemporaryDirectory() as directory:
        world = LiveBrokers(ensure_kafka(), Path(directory), brokers=(1,))
        try:
            await world.open()
            await record_all(world, directory_of_apps)
        finally:
            await world.close()


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]).resolve()))
