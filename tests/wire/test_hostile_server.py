"""Whatever a server sends, a pass ends with a view or with Unknown and a reason, and does nothing wrong."""

import asyncio
import random
import re
import struct
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from kio.schema.describe_quorum.v2 import response as describe_quorum
from kio.schema.errors import ErrorCode
from kio.static.primitive import i64
from tests.model.values import IDS, LEADER_NOW_MS
from tests.test_hostile_text import texts
from tests.wire.fakes import answer_to
from tests.wire.hostile import (
    IMPATIENCE_S,
    LEADER,
    PATIENCE_S,
    Controller,
    Scene,
    Send,
    cluster,
    features,
    partition,
    quorum,
    replica,
    scene,
)
from tests.wire.test_reader import chosen, mutated

from kafka_quorum.kind import QUORUMS
from kafka_quorum.model.known import Known, Unknown
from kafka_quorum.wire import bounds
from kafka_quorum.wire.requests.add_raft_voter import API as ADD_RAFT_VOTER
from kafka_quorum.wire.requests.api_versions import API as API_VERSIONS
from kafka_quorum.wire.requests.describe_cluster import API as DESCRIBE_CLUSTER
from kafka_quorum.wire.requests.describe_quorum import API as DESCRIBE_QUORUM
from kafka_quorum.wire.requests.remove_raft_voter import API as REMOVE_RAFT_VOTER
from kafka_quorum.wire.requests.unregister_controller import UnregisterControllerResponse
from kafka_quorum.wire.requests.update_features import API as UPDATE_FEATURES

QUORUM, CLUSTER_KEY, VERSIONS = DESCRIBE_QUORUM.key, DESCRIBE_CLUSTER.key, API_VERSIONS.key
CHANGES = {ADD_RAFT_VOTER.key, REMOVE_RAFT_VOTER.key, UPDATE_FEATURES.key}
LOW, HIGH = i64(-(2**63)), i64(2**63 - 1)
Distort = Callable[[Controller], None]


def nothing_was_done(of: Scene) -> None:
    """Checks that no pod, claim or voter was changed."""
    acts = [(call.verb, call.plural) for call in of.kube.writes()]
    assert not {act for act in acts if act[0] in ("delete", "evict")}
    assert not {act for act in acts if act == ("create", "pods")}
    assert not CHANGES & {key for controller in of.controllers.values() for key in controller.asked}


def status_can_be_shown(of: Scene) -> None:
    """Checks that every text of the status is printable."""
    stored = of.kube.objects[QUORUMS.plural, "alpha"].get("status", {})
    assert all(text.isprintable() for text in texts(stored))


def sending(key: int, send: Send) -> Distort:
    """Writes this in place of an answer."""
    return lambda controller: controller.sends.update({key: send})


def saying(response: Any) -> Distort:  # noqa: ANN401 - an answer of kio's
    """Gives another answer to the request."""
    return lambda controller: controller.answers.update({int(response.__api_key__): response})


def raw(make: Callable[[bytes, bytes], bytes]) -> Distort:
    """Gives these bytes in place of DescribeQuorum's answer."""
    return sending(QUORUM, lambda request, honest, writer: writer.write(make(request, honest)))


async def one_by_one(_: bytes, honest: bytes, writer: asyncio.StreamWriter) -> None:
    """Sends one byte, and nothing more for longer than a request may take."""
    for byte in honest[:40]:
        writer.write(bytes([byte]))
        await asyncio.sleep(0.05)


def _hang_up(honest: bytes, writer: asyncio.StreamWriter) -> None:
    writer.write(honest[:20])
    writer.close()


def framed(request: bytes, body: bytes) -> bytes:
    """An answer with header and length around this body."""
    return struct.pack(">i", len(body) + 5) + request[4:8] + b"\0" + body


ENDLESS_TAGS = b"\xff\xff\xff\xff\x0f" + b"\x63\x00" * 5000

NEVER_CAME = rf"\b{2 * IMPATIENCE_S:.0f} s\b"

BAD_BYTES: dict[str, tuple[Distort, str]] = {
    "slow": (sending(QUORUM, one_by_one), NEVER_CAME),
    "silent": (sending(QUORUM, lambda *_: None), NEVER_CAME),
    "another correlation id": (raw(lambda _, honest: honest[:4] + b"\x00\x00\xff\xff" + honest[8:]), str(0xFFFF)),
    "a huge frame": (raw(lambda *_: struct.pack(">i", 2**31 - 1)), "262144"),
    "a frame above the bound": (
        raw(lambda *_: struct.pack(">i", bounds.MAX_ANSWER_BYTES + 1)),
        str(bounds.MAX_ANSWER_BYTES),
    ),
    "a negative frame": (raw(lambda *_: struct.pack(">i", -1)), "-1"),
    "two answers": (raw(lambda _, honest: honest + honest), ""),
    "half an answer, then the end": (
        sending(QUORUM, lambda _, honest, writer: _hang_up(honest, writer)),
        "",
    ),
    "HTTP": (raw(lambda *_: b"HTTP/1.1 400 Bad Request\r\n\r\n"), str(int.from_bytes(b"HTTP"))),
    "tags without end": (raw(lambda request, _: framed(request, bytes(6) + ENDLESS_TAGS)), ""),
    "a negative count": (raw(lambda request, _: framed(request, b"\0\0\0" + b"\0")), "-1"),
    "a count of 2^28": (raw(lambda request, _: framed(request, b"\0\0\0" + b"\xff\xff\xff\x7f")), ""),
    "more voters than are read": (
        saying(quorum(partition(current_voters=tuple(map(replica, range(5000, 10_000)))))),
        "5000",
    ),
}

BAD_VALUES: dict[str, tuple[Distort, str]] = {
    "a voter twice": (
        saying(quorum(partition(current_voters=(*map(replica, IDS), replica(3001))))),
        "3001",
    ),
    "an observer twice": (
        saying(quorum(partition(observers=(replica(4000), replica(4000))))),
        "4000",
    ),
    "a negative node id": (saying(quorum(partition(observers=(replica(-1),)))), "-1"),
    "a negative epoch": (saying(quorum(partition(leader_epoch=-1))), "-1"),
    "a negative high watermark": (saying(quorum(partition(high_watermark=LOW))), str(LOW)),
    "a fetch before time": (
        saying(quorum(partition(current_voters=(replica(3000), replica(3001, last_fetch_timestamp=LOW))))),
        str(LOW),
    ),
    "a catch-up before time": (
        saying(quorum(partition(observers=(replica(4000, last_caught_up_timestamp=i64(-2)),)))),
        "-2",
    ),
    "a log end before its begin": (saying(quorum(partition(observers=(replica(4, log_end_offset=LOW),)))), str(LOW)),
    "another leader": (saying(quorum(partition(leader_id=3001))), "3001"),
    "a leader without id": (saying(quorum(partition(leader_id=-1))), "-1"),
    "a leader that does not vote": (
        saying(quorum(partition(current_voters=(replica(3001), replica(3002))))),
        r"\b0\D+2\b",
    ),
    "no voters": (saying(quorum(partition(current_voters=()))), r"\b0\D+0\b"),
    "a leader with a clock at the end": (
        saying(quorum(partition(current_voters=(replica(3000, last_fetch_timestamp=HIGH), *map(replica, IDS[1:]))))),
        r"\b1\D+3\b",
    ),
    "a leader with a clock before all": (
        saying(quorum(partition(current_voters=(replica(3000, last_fetch_timestamp=i64(-1)), *map(replica, IDS[1:]))))),
        r"\b1\D+3\b",
    ),
    "no partition": (saying(quorum()), r"\b0\b"),
    "two partitions": (saying(quorum(partition(), partition())), r"\b2\b"),
    "another cluster": (saying(cluster(cluster_id="AAAAAAAAQACAAAAAAAAAAQ")), "AAAAAAAAQACAAAAAAAAAAQ"),
    "a cluster without an id": (saying(cluster(cluster_id="\u202eevil")), ""),
    "no UUID": (saying(cluster(cluster_id="x" * 22)), "x" * 22),
    "brokers in place of controllers": (saying(cluster(endpoint_type=1)), r"\b1\b"),
}


@pytest.mark.parametrize("name", [*BAD_BYTES, *BAD_VALUES])
async def test_what_no_leader_can_mean_is_unknown_with_a_reason(name: str) -> None:
    """Invalid bytes, and values that no controller can mean, give no view, a reason that names them, and no action."""
    distort, reason = (BAD_BYTES | BAD_VALUES)[name]
    comes = reason != NEVER_CAME
    async with scene(patience_s=PATIENCE_S if comes else IMPATIENCE_S) as of:
        distort(of.controllers[LEADER])
        await of.run()
        found = of.seen[-1].quorum
        assert isinstance(found, Unknown), found
        assert re.search(reason, found.reason)
        assert len(found.reason) < 4000
        nothing_was_done(of)
        status_can_be_shown(of)


RIGHT: dict[str, Distort] = {
    "as it is": lambda _: None,
    "an answer in pieces": sending(QUORUM, lambda _, honest, writer: _pieces(honest, writer)),
    "the last epoch": saying(quorum(partition(leader_epoch=2**31 - 1))),
    "offsets at their end": saying(
        quorum(partition(high_watermark=HIGH, current_voters=tuple(replica(node, log_end_offset=HIGH) for node in IDS)))
    ),
    "two thousand brokers": saying(quorum(partition(observers=tuple(map(replica, range(2000)))))),
    "as many observers as are read": saying(
        quorum(partition(observers=tuple(map(replica, range(10_000, 10_000 + bounds.MAX_OBSERVERS)))))
    ),
    "an observer of the leader's id": saying(
        quorum(partition(observers=(replica(LEADER, replica_directory_id=None),)))
    ),
    "unknown offsets and times": saying(
        quorum(partition(high_watermark=i64(-1), observers=(replica(4, log_end_offset=i64(-1)),)))
    ),
}


async def _pieces(honest: bytes, writer: asyncio.StreamWriter) -> None:
    for start in range(0, len(honest), 7):
        writer.write(honest[start : start + 7])
        await writer.drain()
        await asyncio.sleep(0)


@pytest.mark.parametrize("name", RIGHT)
async def test_what_a_leader_can_mean_is_a_view(name: str) -> None:
    """Extreme but possible values give a view with these three caught-up voters, and no action."""
    async with scene() as of:
        RIGHT[name](of.controllers[LEADER])
        for _ in range(3):
            await of.run()
        found = of.seen[-1].quorum
        assert isinstance(found, Known), found
        assert {key.node_id for key in found.value.voters} == set(IDS)
        assert found.value.voters <= found.value.shown
        nothing_was_done(of)
        status_can_be_shown(of)


async def test_every_controller_claims_to_lead() -> None:
    """Several answers as the leader in one epoch give one view of one of them, or none, and no action."""
    async with scene(followers_lead=True) as of:
        await of.run()
        nothing_was_done(of)


BAD_FEATURES = {
    "a feature twice": (features(("kraft.version", 0, 1), ("kraft.version", 0, 9)), "kraft.version"),
    "a feature without a name": (features(("", 0, 1)), ""),
    "a range backwards": (features(("kraft.version", 2, 1)), "kraft.version"),
    "a negative range": (features(("kraft.version", -5, 1)), "-5"),
    "a negative level": (features(("a", 0, 1), levels=(("a", -1),)), "-1"),
    "more features than are read": (features(*((f"f{index}", 0, 1) for index in range(65))), "65"),
}


@pytest.mark.parametrize("name", BAD_FEATURES)
async def test_features_that_no_server_has_are_unknown(name: str) -> None:
    """If a controller lists a feature twice, backwards, or too many features, its features are unknown."""
    response, reason = BAD_FEATURES[name]
    async with scene() as of:
        saying(response)(of.controllers[3001])
        await of.run()
        said = of.seen[-1].versions_of(IDS[1])
        assert isinstance(said, Unknown)
        assert reason in said.reason
        nothing_was_done(of)


async def test_random_answers_end_no_pass_in_an_exception() -> None:
    """With seeded random values and mutated bytes in every answer, each pass ends, and its status can be shown."""
    seed = random.randrange(1 << 32)
    pick = random.Random(seed)

    def distorted(_: bytes, honest: bytes, writer: asyncio.StreamWriter) -> None:
        if honest and pick.random() < 0.7:
            body = mutated(honest[4:], pick)
            writer.write(struct.pack(">i", len(body)) + body)
        else:
            writer.write(honest)

    for _ in range(12):
        async with scene(patience_s=IMPATIENCE_S) as of:
            leader = of.controllers[LEADER]
            row = replace(chosen(describe_quorum.PartitionData, pick), **_plausible(pick))
            leader.answers[QUORUM] = quorum(row)
            for controller in of.controllers.values():
                for key in pick.sample((QUORUM, CLUSTER_KEY, VERSIONS), pick.randrange(3)):
                    controller.sends[key] = distorted
            try:
                for _ in range(2):
                    await of.run()
                status_can_be_shown(of)
            except Exception as error:  # noqa: BLE001 - what must not happen, with its seed
                pytest.fail(f"seed {seed}: {error!r}")
            acts = {(call.verb, call.plural) for call in of.kube.writes()}
            assert not {act for act in acts if act[1] == "persistentvolumeclaims" and act[0] == "delete"}, seed


def _plausible(pick: random.Random) -> dict[str, Any]:
    """Sometimes makes an answer plausible enough to be read further."""
    some = [replica(node, last_fetch_timestamp=i64(LEADER_NOW_MS - pick.randrange(9000))) for node in IDS]
    changes: dict[str, Any] = {"partition_index": 0, "error_code": ErrorCode.none, "leader_id": LEADER}
    if pick.random() < 0.8:
        changes |= {"leader_epoch": pick.choice([0, 5, 2**31 - 1]), "current_voters": tuple(some[: pick.randrange(4)])}
        changes |= {"observers": tuple(some[2:]), "high_watermark": i64(pick.choice([-1, 0, 100, 2**63 - 1]))}
    return changes


def test_hostile_answers_are_written_as_they_are_meant() -> None:
    """The harness writes the bytes of the given values."""
    response = UnregisterControllerResponse(
        throttle_time=features().throttle_time, error_code=_small(0), error_message=None
    )
    request = struct.pack(">hhi", 94, 0, 7)
    assert answer_to(request, response)[4:8] == request[4:8]


def _small(value: int) -> Any:  # noqa: ANN401 - a number of kio's
    return value
