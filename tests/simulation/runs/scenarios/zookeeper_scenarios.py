"""The table of migrations from ZooKeeper, and of their roll back: the whole way, and what may happen on it.

`BESIDE` is for every test run. `BESIDE_STAGES` has what may happen at each stage and moment, and the exhaustive ones:
`tests/test_zookeeper.py` performs a share of them.
"""

from collections.abc import Callable
from typing import Final

from tests.simulation.model.kafka.zookeeper_broker import Mode
from tests.simulation.model.world import World
from tests.simulation.runs.faults import Loss
from tests.simulation.runs.scenarios.keeper_scenes import (
    FINALIZES,
    GOES_ON,
    HINDRANCES,
    ROLLS_BACK,
    KeeperScenario,
    another_claims,
    at,
    becomes_kraft,
    both_hold,
    breaks_migration,
    broker_stops,
    clients_hurry,
    either,
    elects_again,
    elects_slowly,
    finalized,
    formats,
    has_begun,
    has_znode,
    is_back,
    is_copied,
    is_parked,
    keeper_spec,
    needs_help,
    owner_holds,
    owner_sleeps,
    parked,
    rolled_back,
    runs_none,
    runs_one,
    some,
    stops_first,
    turns_round,
    untouched,
    waits_before,
    zookeeper_is_away,
    zookeeper_lags,
)
from tests.simulation.runs.scenarios.release_scenes import both, later, loses_record, pauses_for
from tests.simulation.runs.scenarios.scenes import Act, Turn, When, after, applies, erases_status, loses, says, turn

from kafka_quorum.model.migration import BACK_TO_ZOOKEEPER, LEFT_ZOOKEEPER_ALONE, ZOOKEEPER_TO_KRAFT

THERE: Final = "ZooKeeperToKRaft"
BACK: Final = "BackToZooKeeper"
ALONE: Final = "LeftZooKeeperAlone"
_SPEC: Final = keeper_spec()
_OTHER_HEAP: Final = {"controllers": {"jvm": {"heap": "1Gi"}}}
_OFF: Final = GOES_ON
Holds = Callable[[World], str]


def _turns_back(name: str, when: When, holds: Holds = rolled_back) -> KeeperScenario:
    """It is rolled back at this moment."""
    turns = (turn("rolls back", when, ROLLS_BACK),)
    return KeeperScenario(name=f"zookeeper-back-{name}", spec=_SPEC, turns=turns, ends="RolledBack", holds=holds)


def _again(name: str, when: When, *, ends: bool) -> KeeperScenario:
    """It is rolled back at this moment, and begun again when that has ended."""
    turns: tuple[Turn, ...] = (turn("rolls back", when, ROLLS_BACK), turn("begins again", is_back, GOES_ON))
    if ends:
        turns += (turn("finalizes", is_parked, FINALIZES),)
    return KeeperScenario(name=f"zookeeper-again-{name}", spec=_SPEC, turns=turns, holds=finalized if ends else parked)


MOMENTS: Final[dict[str, When]] = {
    "from-controllers": at(THERE, "Controllers"),
    "from-running-controllers": has_znode,
    "from-brokers": at(THERE, "Brokers"),
    "from-some-brokers": some(Mode.MIGRATES),
    "from-the-copy": is_copied,
    "from-dual-write-at-once": at(THERE, "DualWrite"),
    "from-some-kraft-brokers": some(Mode.KRAFT),
    "from-dual-write": is_parked,
}
"""From where it may be rolled back."""

BESIDE: Final = (
    KeeperScenario(name="zookeeper-parked", spec=_SPEC, holds=parked),
    KeeperScenario(
        name="zookeeper-to-the-end", spec=_SPEC, turns=(turn("finalizes", is_parked, FINALIZES),), holds=finalized
    ),
    KeeperScenario(name="zookeeper-finalizes-at-once", spec=keeper_spec(finalize=True), holds=finalized),
    *(_turns_back(name, when) for name, when in MOMENTS.items()),
    KeeperScenario(
        name="zookeeper-back-from-a-quick-broker",
        spec=_SPEC,
        turns=(
            turn("a broker is quick", at(THERE, "DualWrite"), both(owner_sleeps(60), later(1, becomes_kraft(2)))),
            turn("rolls back", some(Mode.KRAFT), later(3, ROLLS_BACK)),
        ),
        ends="RolledBack",
        holds=rolled_back,
    ),
    KeeperScenario(
        name="zookeeper-back-with-a-broker-of-the-page-before",
        spec=_SPEC,
        turns=(
            turn(
                "rolls back",
                at(THERE, "DualWrite"),
                both(both(owner_sleeps(120), zookeeper_lags(110)), both(ROLLS_BACK, later(102, becomes_kraft(2)))),
            ),
        ),
        ends="RolledBack",
        holds=rolled_back,
    ),
    _again("from-controllers", MOMENTS["from-controllers"], ends=False),
    _again("from-dual-write", is_parked, ends=True),
    KeeperScenario(
        name="zookeeper-back-from-the-end",
        spec=_SPEC,
        turns=(
            turn("finalizes", is_parked, FINALIZES),
            turn("rolls back too late", at(THERE, "Finalize"), ROLLS_BACK),
        ),
        ends="",
        holds=either(finalized, rolled_back),
    ),
    KeeperScenario(name="zookeeper-dry-run", spec=keeper_spec(dryRun=True), ends="Preflight", holds=untouched),
    KeeperScenario(
        name="zookeeper-after-a-dry-run",
        spec=keeper_spec(dryRun=True),
        turns=(turn("goes on", after(15), GOES_ON),),
        holds=parked,
    ),
    KeeperScenario(
        name="zookeeper-rolled-back-before-the-start",
        spec=_SPEC,
        turns=(turn("rolls back", formats, ROLLS_BACK),),
        ends="Preflight",
        holds=waits_before,
    ),
    KeeperScenario(name="zookeeper-with-one", spec=keeper_spec(1), holds=parked),
)
"""The whole way, and back from everywhere."""

_BEYOND: Final[dict[str, Act]] = {
    "the-record-lost": loses_record,
    "the-status-lost": erases_status,
    "both-lost": both(erases_status, later(12, loses_record)),
    "a-pause": pauses_for(60),
    "a-lost-disk": loses(Loss.EMPTIED_AND_KILLED, "follower"),
    "a-lost-claim": loses(Loss.CLAIM_DELETED, "follower"),
    "the-leader-killed": loses(Loss.SANDBOX, "leader"),
    "a-frozen-leader": loses(Loss.FROZEN, "leader"),
    "zookeeper-away": zookeeper_is_away(60, unseen=False),
    "zookeeper-unseen": zookeeper_is_away(120, unseen=True),
    "a-lag": zookeeper_lags(60),
    "a-faulty-spec": both(
        applies({"controllers": {"replicas": -1}}), later(40, applies({"controllers": {"replicas": 3}}))
    ),
    "another-release": both(
        applies({"kafka": {"version": "4.0.0"}}), later(60, applies({"kafka": {"version": "3.9.2"}}))
    ),
    "another-heap": applies(_OTHER_HEAP),
    "kafkas-metrics": applies({"metrics": {"jmx": True}}),
    "a-dead-broker": broker_stops(2, 60),
    "a-held-broker": owner_holds(2, 120),
    "a-sleeping-owner": owner_sleeps(120),
}
"""What may happen at a stage."""
_OF_CONTROLLERS: Final = frozenset({"a-lost-disk", "a-lost-claim", "the-leader-killed", "a-frozen-leader"})
"""What can happen only while controllers run."""


def _at(kind: str, stage: str, name: str, act: Act) -> KeeperScenario:
    """Something happens at this stage; then it goes on to where it was asked to go."""
    first = (kind, stage) == (THERE, "Controllers")  # until the status repeats it, the record cannot be made again
    turns: tuple[Turn, ...] = (turn(name, has_begun if first else at(kind, stage), act),)
    ends, holds = "Ready", parked
    if stage == "Finalize":
        turns, holds = (turn("finalizes", is_parked, FINALIZES), *turns), finalized
    if kind == BACK:
        turns, ends, holds = (turn("rolls back", is_parked, ROLLS_BACK), *turns), "RolledBack", rolled_back
    if kind == ALONE:
        asks = turn("rolls back", at(THERE, "Controllers"), ROLLS_BACK)
        turns, ends, holds = (asks, *turns), "RolledBack", rolled_back
    return KeeperScenario(
        name=f"zookeeper-{kind}-{stage}-{name}".lower(), spec=_SPEC, turns=turns, ends=ends, holds=holds
    )


_BEFORE: Final = frozenset({"a-stale-migration", "a-high-epoch", "a-missing-right"})
"""What only counts, or is only read, until the controllers run."""


def _in_the_middle(name: str) -> KeeperScenario:
    """Something comes in the way as soon as a controller runs, one of which is late: no broker changes before."""
    act = both(HINDRANCES[name].for_(160), loses(Loss.NODE_OFF, "first"))
    turns = (turn("is in the way", runs_one, act),)
    return KeeperScenario(name=f"zookeeper-before-the-brokers-{name}", spec=_SPEC, turns=turns, holds=parked)


def _forgets(stage: str, everything: bool) -> KeeperScenario:  # noqa: FBT001 - of this table
    """In a roll back the request is taken away, and then the record is lost, perhaps with the status."""
    loss = both(erases_status, loses_record) if everything else loses_record
    turns = (
        turn("rolls back", is_parked, ROLLS_BACK),
        turn("forgets", at(BACK, stage), both(_OFF, later(3, loss))),
    )
    name = f"zookeeper-{stage.lower()}-forgotten{'-by-all' if everything else ''}"
    return KeeperScenario(name=name, spec=_SPEC, turns=turns, ends="", holds=either(parked, needs_help))


def _blocked(name: str) -> tuple[KeeperScenario, ...]:
    """Something is in the way: from the beginning, between the preflight and the start, or when the controllers run."""
    found = HINDRANCES[name]
    return (
        KeeperScenario(
            name=f"zookeeper-blocked-by-{name}",
            spec=_SPEC,
            before=found.comes,
            turns=(turn("clears the way", after(60), found.goes),),
            holds=parked,
        ),
        KeeperScenario(
            name=f"zookeeper-late-{name}",
            spec=_SPEC,
            turns=(turn("is in the way", formats, found.for_(160)),),
            ends="",
            holds=parked,
        ),
    )


AT_STAGES: Final = tuple(
    _at(migration.kind.value, stage.name, name, act)
    for migration in (ZOOKEEPER_TO_KRAFT, BACK_TO_ZOOKEEPER, LEFT_ZOOKEEPER_ALONE)
    for stage in migration.stages
    for name, act in _BEYOND.items()
    if name not in _OF_CONTROLLERS or not stage.controllers.stopped or stage.name == "ControllersStop"
)
BLOCKED: Final = tuple(one for name in HINDRANCES for one in _blocked(name))
AT_MOMENTS: Final = (
    *(
        KeeperScenario(
            name=f"zookeeper-rolled-back-at-{seconds}-s",
            spec=_SPEC,
            turns=(turn("rolls back", after(seconds), ROLLS_BACK),),
            ends="",
            holds=either(rolled_back, waits_before, untouched),
        )
        for seconds in range(2, 110, 3)
    ),
    *(
        KeeperScenario(
            name=f"zookeeper-rolled-back-for-{pause}-s-at-{seconds}-s",
            spec=_SPEC,
            turns=(turn("rolls back, and not", after(seconds), both(ROLLS_BACK, later(2 * pause, _OFF))),),
            ends="",
            holds=parked,
        )
        for pause in (1, 5, 30)
        for seconds in range(3, 110, 9)
    ),
    *(
        KeeperScenario(
            name=f"zookeeper-finalized-for-{pause}-s-at-{seconds}-s",
            spec=_SPEC,
            turns=(turn("finalizes, and not", after(seconds), both(FINALIZES, later(2 * pause, _OFF))),),
            ends="",
            holds=either(parked, finalized),
        )
        for pause in (1, 10)
        for seconds in range(80, 120, 4)
    ),
)
_MORE: Final = (
    KeeperScenario(
        name="zookeeper-a-lost-disk-then-back",
        spec=_SPEC,
        turns=(
            turn("loses a disk", at(THERE, "Brokers"), loses(Loss.EMPTIED_AND_KILLED, "follower")),
            turn("rolls back", says("Degraded", "LostDisk"), ROLLS_BACK),
        ),
        ends="RolledBack",
        holds=rolled_back,
    ),
    KeeperScenario(
        name="zookeeper-a-lost-disk-in-dual-write-then-back",
        spec=_SPEC,
        turns=(
            turn("loses a disk", is_parked, loses(Loss.EMPTIED_AND_KILLED, "follower")),
            turn("rolls back", says("Degraded", "LostDisk"), ROLLS_BACK),
        ),
        ends="RolledBack",
        holds=rolled_back,
    ),
    *(_forgets(stage.name, also) for stage in BACK_TO_ZOOKEEPER.stages for also in (False, True)),
    *(_in_the_middle(name) for name in HINDRANCES if name not in _BEFORE),
    KeeperScenario(
        name="zookeeper-again-while-it-ends",
        spec=_SPEC,
        turns=(turn("rolls back", is_parked, ROLLS_BACK), turn("begins again", at(BACK, "BrokersLeave"), GOES_ON)),
        holds=parked,
    ),
    KeeperScenario(
        name="zookeeper-a-late-controller",
        spec=_SPEC,
        turns=(turn("a machine is off", runs_one, loses(Loss.NODE_OFF, "first")),),
        holds=parked,
    ),
    *(
        KeeperScenario(
            name=f"zookeeper-back-{name}",
            spec=_SPEC,
            turns=(turn("rolls back", is_parked, ROLLS_BACK), turn(name, at(BACK, stage), act)),
            ends="RolledBack",
            holds=rolled_back,
        )
        for name, stage, act in (
            ("with-a-long-lag", "BrokersReturn", zookeeper_lags(300)),
            ("with-a-new-leader", "BrokersReturn", elects_slowly(200)),
            ("with-a-silent-node", "ControllersStop", loses(Loss.NODE_SILENT, "leader")),
            ("with-a-broken-znode", "ControllersStop", breaks_migration(120)),
            (
                "with-a-lag-and-no-leader",
                "ControllersStop",
                both(both(clients_hurry, zookeeper_lags(60)), later(4, loses(Loss.SANDBOX, "leader"))),
            ),
        )
    ),
    KeeperScenario(
        name="zookeeper-back-with-a-foreign-claim",
        spec=_SPEC,
        turns=(
            turn("rolls back", is_parked, ROLLS_BACK),
            turn("another claims", both_hold(at(BACK, "ControllersStop"), runs_none), another_claims(120)),
        ),
        ends="RolledBack",
        holds=rolled_back,
    ),
    KeeperScenario(
        name="zookeeper-back-beside-a-stale-migration",
        spec=_SPEC,
        turns=(
            turn(
                "an old /migration is restored",
                has_znode,
                both(HINDRANCES["a-stale-migration"].for_(250), later(30, ROLLS_BACK)),
            ),
            turn("ZooKeeper is not seen", turns_round, zookeeper_is_away(150, unseen=True)),
        ),
        ends="RolledBack",
        holds=rolled_back,
    ),
    KeeperScenario(
        name="zookeeper-back-with-a-lag-after-the-first-stop",
        spec=_SPEC,
        turns=(
            turn("rolls back", is_parked, both(clients_hurry, ROLLS_BACK)),
            turn("lags", stops_first, zookeeper_lags(60)),
        ),
        ends="RolledBack",
        holds=rolled_back,
    ),
    KeeperScenario(
        name="zookeeper-back-after-elections",
        spec=_SPEC,
        turns=(
            turn("the leader ends again and again", runs_one, elects_again(12)),
            turn("rolls back", is_parked, ROLLS_BACK),
        ),
        ends="RolledBack",
        holds=rolled_back,
    ),
    *(_again(f"{name}-to-the-end", when, ends=True) for name, when in MOMENTS.items() if name != "from-dual-write"),
)
EXHAUSTIVE: Final = (
    KeeperScenario(
        name="zookeeper-exhaustive-there", spec=keeper_spec(finalize=True), holds=finalized, exhaustive=True
    ),
    KeeperScenario(
        name="zookeeper-exhaustive-back",
        spec=_SPEC,
        turns=(turn("rolls back", is_parked, ROLLS_BACK),),
        ends="RolledBack",
        holds=rolled_back,
        exhaustive=True,
    ),
    KeeperScenario(
        name="zookeeper-exhaustive-alone",
        spec=_SPEC,
        turns=(turn("rolls back", at(THERE, "Controllers"), ROLLS_BACK),),
        ends="RolledBack",
        holds=rolled_back,
        exhaustive=True,
    ),
    KeeperScenario(
        name="zookeeper-exhaustive-again",
        spec=_SPEC,
        turns=(turn("rolls back", at(THERE, "Brokers"), ROLLS_BACK), turn("begins again", is_back, GOES_ON)),
        holds=parked,
        exhaustive=True,
    ),
)
BESIDE_STAGES: Final = (*AT_STAGES, *BLOCKED, *AT_MOMENTS, *_MORE, *EXHAUSTIVE)
