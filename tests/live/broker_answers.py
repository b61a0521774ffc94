"""What brokers and their controller answer after an act, as data: compared with real servers, and with a model.

Each case begins with brokers 1, 2 and 3 of one cluster, unfenced, and with the topics of `TOPICS`, of which every
replica is in sync and broker 2 leads, and in which `ACKED` records were acknowledged. It lists acts, and what `Brokers`
shows afterwards. `play` runs a case over a `World`: real processes (`test_broker_answers`) or a simulation. Every
expectation is waited for, so that a world may take its own time.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Protocol

from kafka_quorum.errors import KafkaError, KafkaRefused
from kafka_quorum.model.brokers import ConfigChange, Move, Partition, TopicPartition
from kafka_quorum.model.ids import NodeID
from kafka_quorum.model.quorum import Endpoint
from kafka_quorum.wire.brokers import Brokers

ACKED = 20
"""How many records of each topic were acknowledged before the acts, if the world counts records."""
THREE, TWO, ONE, LOOSE = "three", "two", "one", "loose"


@dataclass(frozen=True, slots=True, kw_only=True)
class Topic:
    """A topic of one partition; the first replica leads."""

    replicas: tuple[int, ...]
    min_isr: int


TOPICS = {
    THREE: Topic(replicas=(2, 1, 3), min_isr=2),
    TWO: Topic(replicas=(2, 1), min_isr=2),
    ONE: Topic(replicas=(2,), min_isr=1),
    LOOSE: Topic(replicas=(2, 1, 3), min_isr=1),
}


class Do(Enum):
    """An act on one broker."""

    STOP = "stop"
    """SIGTERM, and the end of the process is waited for."""
    KILL = "kill"
    START = "start"
    """On the disks that it has."""
    EMPTY = "empty"
    """Its process is killed, and its disks are formatted again; it is not started."""
    WRITE = "write"
    """Records are written to every topic as far as it accepts them; the broker's id has no meaning."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Act:
    """One act."""

    do: Do
    broker: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """A partition as `describe_partitions` shows it; None for what the case leaves open.

    `leaders` are those that it may have; None in it means no leader. The order of nodes has no meaning.
    """

    leaders: frozenset[int | None] | None = None
    isr: frozenset[int] | None = None
    elr: frozenset[int] | None = None
    last_elr: frozenset[int] | None = None
    offline: frozenset[int] | None = None

    def differs(self, row: Partition) -> str:
        """What is not as it is listed here; empty if everything is."""
        found: list[str] = []
        if self.leaders is not None and row.leader not in self.leaders:
            found.append(f"leader {row.leader}")
        for name in ("isr", "elr", "last_elr", "offline"):
            wanted, there = getattr(self, name), frozenset(getattr(row, name))
            if wanted is not None and wanted != there:
                found.append(f"{name} {sorted(there)} instead of {sorted(wanted)}")
        return f"{row.at}: {', '.join(found)}" if found else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """Acts, and what is shown afterwards, with ELR on or off. `lost` are topics whose acknowledged records are gone.

    `asked` is the broker that is asked. `lost` counts after every broker runs again and is in sync.
    """

    name: str
    acts: tuple[Act, ...]
    asked: int = 1
    fenced: frozenset[int] = frozenset()
    rows: dict[str, Shown] = field(default_factory=dict)
    elr: dict[str, Shown] = field(default_factory=dict)
    """Replaces rows if ELR is on."""
    lost: frozenset[str] = frozenset()
    lost_without_elr: frozenset[str] = frozenset()
    """More topics that are lost if ELR is off."""


def stop(*brokers: int) -> tuple[Act, ...]:
    """Stops these one after another."""
    return tuple(Act(do=Do.STOP, broker=each) for each in brokers)


def kill(*brokers: int) -> tuple[Act, ...]:
    """Kills these."""
    return tuple(Act(do=Do.KILL, broker=each) for each in brokers)


def start(*brokers: int) -> tuple[Act, ...]:
    """Starts these."""
    return tuple(Act(do=Do.START, broker=each) for each in brokers)


def nodes(*ids: int) -> frozenset[int]:
    """A set of node ids."""
    return frozenset(ids)


EMPTY = Act(do=Do.EMPTY, broker=2)
WRITE = Act(do=Do.WRITE)
NONE: frozenset[int] = frozenset()
NO_LEADER: frozenset[int | None] = frozenset({None})
_WITHOUT_2 = {
    THREE: Shown(leaders=frozenset({1, 3}), isr=nodes(1, 3), elr=NONE, offline=nodes(2)),
    TWO: Shown(leaders=frozenset({1}), isr=nodes(1), elr=NONE, offline=nodes(2)),
    ONE: Shown(leaders=NO_LEADER, isr=nodes(2), elr=NONE, last_elr=NONE, offline=nodes(2)),
    LOOSE: Shown(leaders=frozenset({1, 3}), isr=nodes(1, 3), elr=NONE, offline=nodes(2)),
}
_WITHOUT_2_ELR = {
    TWO: Shown(leaders=frozenset({1}), isr=nodes(1), elr=nodes(2), offline=nodes(2)),
    ONE: Shown(leaders=NO_LEADER, isr=NONE, elr=nodes(2), last_elr=nodes(2), offline=nodes(2)),
}
_ALL = {
    THREE: Shown(isr=nodes(1, 2, 3), elr=NONE, offline=NONE),
    TWO: Shown(isr=nodes(1, 2), elr=NONE, offline=NONE),
    ONE: Shown(leaders=frozenset({2}), isr=nodes(2), elr=NONE, offline=NONE),
    LOOSE: Shown(isr=nodes(1, 2, 3), elr=NONE, offline=NONE),
}

CASES = (
    Case(name="a clean stop", acts=stop(2), fenced=nodes(2), rows=_WITHOUT_2, elr=_WITHOUT_2_ELR),
    Case(name="a crash", acts=kill(2), fenced=nodes(2), rows=_WITHOUT_2, elr=_WITHOUT_2_ELR),
    Case(name="a clean stop and a start", acts=(*stop(2), *start(2)), rows=_ALL),
    Case(name="a crash and a start", acts=(*kill(2), *start(2)), rows=_ALL),
    Case(
        name="two of three stop",
        acts=stop(3, 2),
        fenced=nodes(2, 3),
        rows={
            THREE: Shown(leaders=frozenset({1}), isr=nodes(1), elr=NONE, offline=nodes(2, 3)),
            LOOSE: Shown(leaders=frozenset({1}), isr=nodes(1), elr=NONE, offline=nodes(2, 3)),
        },
        elr={THREE: Shown(leaders=frozenset({1}), isr=nodes(1), elr=nodes(2), offline=nodes(2, 3))},
    ),
    Case(
        name="the only member of an ISR comes back with an empty disk, before the others",
        acts=(*stop(1, 3), WRITE, EMPTY, *start(2)),
        asked=2,
        fenced=nodes(1, 3),
        rows={
            LOOSE: Shown(leaders=frozenset({2}), isr=nodes(2), offline=nodes(1, 3)),
            ONE: Shown(leaders=frozenset({2}), isr=nodes(2), offline=NONE),
        },
        elr={THREE: Shown(leaders=NO_LEADER, isr=NONE, elr=nodes(3), last_elr=nodes(2))},
        lost=frozenset({LOOSE, ONE}),
        lost_without_elr=frozenset({THREE, TWO}),
    ),
    Case(
        name="a member of an ISR comes back with an empty disk, while others are in it",
        acts=(WRITE, EMPTY, *start(2)),
        rows=_ALL,
        lost=frozenset({ONE}),
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestCase:
    """A request and its answer: `refused` begins with Kafka's name of the error, None is success.

    `at_leader`: it is sent to the active controller, otherwise to broker `asked`.
    """

    name: str
    send: Callable[[Brokers, Endpoint], Awaitable[Any]]
    at_leader: bool = True
    asked: int = 1
    since: str = "4.0"
    refused: str | None


def at(topic: str) -> TopicPartition:
    """The only partition of a topic."""
    return TopicPartition(topic=topic, index=0)


def move(topic: str, *replicas: int) -> Move:
    """A reassignment; without replicas, its cancellation."""
    return Move(at=at(topic), replicas=tuple(map(NodeID, replicas)) or None)


def moving(*moves: Move) -> Callable[[Brokers, Endpoint], Awaitable[Any]]:
    """Sends one request for reassignments; the answer is the words of its refused rows."""

    async def send(brokers: Brokers, endpoint: Endpoint) -> object:
        return "; ".join(sorted((await brokers.reassign(endpoint, moves)).values()))

    return send


def changing(broker: int, name: str, value: str | None) -> Callable[[Brokers, Endpoint], Awaitable[Any]]:
    """Sends one change of a broker's settings."""

    async def send(brokers: Brokers, endpoint: Endpoint) -> None:
        await brokers.alter_broker_config(endpoint, NodeID(broker), [ConfigChange(name=name, value=value)])

    return send


REQUESTS = (
    RequestCase(name="cancel what does not run", send=moving(move(THREE)), refused=None),
    RequestCase(name="move to an unknown broker", send=moving(move(ONE, 9)), refused="INVALID_REPLICA_ASSIGNMENT"),
    RequestCase(name="move with a broker twice", send=moving(move(ONE, 2, 2)), refused="INVALID_REPLICA_ASSIGNMENT"),
    RequestCase(name="move an unknown topic", send=moving(move("gone", 1)), refused="UNKNOWN_TOPIC_OR_PARTITION"),
    RequestCase(name="move to where it is", send=moving(move(TWO, 2, 1)), refused=None),
    RequestCase(
        name="list reassignments at a broker, which passes it on",
        send=lambda brokers, endpoint: brokers.reassignments(endpoint),
        at_leader=False,
        refused=None,
    ),
    RequestCase(
        name="elect for what is led by its preferred leader, and for what is not there",
        send=lambda brokers, endpoint: brokers.elect_preferred(endpoint, [at(THREE), at("gone")]),
        refused=None,
    ),
    RequestCase(
        name="unregister an unknown broker",
        send=lambda brokers, endpoint: brokers.unregister_broker(endpoint, NodeID(77)),
        refused=None,
    ),
    RequestCase(
        name="settings of another broker",
        send=lambda brokers, endpoint: brokers.describe_broker_config(endpoint, NodeID(2)),
        at_leader=False,
        refused="INVALID_REQUEST",
    ),
    RequestCase(
        name="brokers, asked of a controller",
        send=lambda brokers, endpoint: brokers.describe_brokers(endpoint),
        refused="MISMATCHED_ENDPOINT_TYPE",
    ),
    RequestCase(
        name="change a dynamic setting at the broker itself",
        send=changing(1, "background.threads", "11"),
        at_leader=False,
        refused=None,
    ),
    RequestCase(
        name="change a dynamic setting at another broker",
        send=changing(2, "background.threads", "11"),
        at_leader=False,
        refused="INVALID_REQUEST",
    ),
    RequestCase(
        name="change what a broker reads at its start, at the broker itself",
        send=changing(1, "broker.rack", "other"),
        at_leader=False,
        refused="INVALID_REQUEST",
    ),
    RequestCase(
        name="cordon at the controller",
        send=changing(3, "cordoned.log.dirs", "*"),
        since="4.3",
        refused="INVALID_CONFIG",
    ),
    RequestCase(
        name="cordon at the broker itself",
        send=changing(3, "cordoned.log.dirs", "*"),
        at_leader=False,
        asked=3,
        since="4.3",
        refused=None,
    ),
    RequestCase(
        name="uncordon at the controller",
        send=changing(3, "cordoned.log.dirs", None),
        since="4.3",
        refused=None,
    ),
    RequestCase(
        name="change a topic that is not there",
        send=lambda brokers, endpoint: brokers.alter_topic_config(
            endpoint, "gone", [ConfigChange(name="min.insync.replicas", value="1")]
        ),
        refused="UNKNOWN_TOPIC_OR_PARTITION",
    ),
)
"""In this order: some follow each other."""


class World(Protocol):
    """What a case needs besides `Brokers`."""

    @property
    def brokers(self) -> Brokers:
        """The client."""

    @property
    def elr(self) -> bool:
        """Whether eligible.leader.replicas.version is 1."""

    def endpoint(self, broker: int) -> Endpoint:
        """Where a broker listens."""

    async def leader(self) -> Endpoint:
        """The active controller."""

    async def act(self, act: Act) -> None:
        """Does it."""

    async def lost(self, topic: str) -> bool:
        """Whether acknowledged records of a topic are missing, now that every broker runs."""

    async def until(self, what: str, look: Callable[[], Awaitable[str]]) -> None:
        """Repeats the look, and lets time pass, until it returns an empty text; fails with its last text."""


async def restore(world: World) -> None:
    """Starts nothing: waits until all three brokers are in sync, and broker 2 leads; for the begin of a case."""
    await world.until("three brokers answer", lambda: _silent(world, {1, 2, 3}))

    async def look() -> str:
        texts = await _differences(world, 1, frozenset(), _ALL)
        if not texts:
            await world.brokers.elect_preferred(await world.leader(), [at(topic) for topic in TOPICS])
            rows = await world.brokers.describe_partitions(world.endpoint(1))
            texts = "; ".join(
                f"{row.at} is led by {row.leader}" for row in rows if row.at.topic in TOPICS and row.leader != 2
            )
        return texts

    await world.until("three brokers in sync", look)


async def play(case: Case, world: World) -> None:
    """Runs the acts of a case in a restored world, and waits for what it lists (AssertionError)."""
    for act in case.acts:
        await world.act(act)
    runs = {1, 2, 3} - {act.broker for act in case.acts} | {act.broker for act in case.acts if act.do is Do.START}
    await world.until(f"{case.name}: brokers answer", lambda: _silent(world, runs))
    rows = case.rows | (case.elr if world.elr else {})
    await world.until(case.name, lambda: _differences(world, case.asked, case.fenced, rows))


async def check_lost(case: Case, world: World) -> None:
    """After `restore`: exactly the listed topics have lost records (AssertionError)."""
    wanted = case.lost | (frozenset() if world.elr else case.lost_without_elr)
    found = {topic for topic in TOPICS if await world.lost(topic)}
    assert found == wanted, f"{case.name}: {sorted(found)} lost records instead of {sorted(wanted)}"


async def _silent(world: World, runs: set[int]) -> str:
    """Which of these do not answer; one that restarts within its session is shown as if it had never been away."""
    silent = []
    for broker in sorted(runs):
        try:
            await world.brokers.describe_brokers(world.endpoint(broker))
        except KafkaError as error:
            silent.append(str(error))
    return "; ".join(silent)


async def _differences(world: World, asked: int, fenced: frozenset[int], rows: dict[str, Shown]) -> str:
    answer = await world.brokers.describe_brokers(world.endpoint(asked))
    there = {int(row.node_id) for row in answer.brokers if row.fenced}
    texts = [] if there == fenced else [f"fenced are {sorted(there)} instead of {sorted(fenced)}"]
    partitions = {row.at.topic: row for row in await world.brokers.describe_partitions(world.endpoint(asked))}
    texts += [shown.differs(partitions[topic]) for topic, shown in rows.items()]
    return "; ".join(text for text in texts if text)


async def ask(case: RequestCase, world: World) -> None:
    """Sends the request of a case, and compares the answer (AssertionError)."""
    endpoint = await world.leader() if case.at_leader else world.endpoint(case.asked)
    try:
        result = await case.send(world.brokers, endpoint)
    except KafkaRefused as error:
        refused: str | None = error.name
    else:
        refused = result if isinstance(result, str) and result else None
    fine = refused is None if case.refused is None else (refused or "").startswith(case.refused)
    assert fine, f"{case.name}: {refused} instead of {case.refused}"
