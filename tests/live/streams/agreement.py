"""The operator's answer for each measured pair, beside what was measured.

The operator must never name a way that was measured to fail or to lose counts. Where it refuses what worked, a rule
here says why, with a source.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

from tests.live.streams.measured import Pair, Row
from tests.live.streams.releases import minor
from tests.live.streams.ways import WORKS

from kafka_streams.model.release import StreamsRelease, parse_release
from kafka_streams.model.way import Kind, Protocol, Way, WayFound
from kafka_streams.plan import matrix
from kafka_streams.plan.ways import Change, find_way

_CAREFUL: Final = {"one": 1, "two": 2, "offline": 3}
_RETURNS: Final = frozenset({"turned", "late"})
_ACTS: Final = {Kind.ONE_BOUNCE: "one", Kind.TWO_BOUNCES: "two", Kind.OFFLINE: "offline"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Act:
    """A way as it is measured."""

    way: str
    upgrade_from: str | None
    wiped: bool

    def __str__(self) -> str:
        """For a table."""
        return self.way + (f" with `{self.upgrade_from}`" if self.upgrade_from else "") + (", wiped" * self.wiped)


@dataclass(frozen=True, slots=True, kw_only=True)
class Stricter:
    """Why the operator does not name some ways that worked."""

    name: str
    text: str
    source: str
    holds: Callable[[Pair], bool]
    """Whether it is the reason for a pair that worked."""


def _lines(pair: Pair) -> tuple[tuple[int, ...], tuple[int, ...]]:
    return release(pair.old).line, release(pair.new).line


def _served(pair: Pair) -> bool:
    """Whether the operator trusts these brokers with the target."""
    found = answer(pair)
    return isinstance(found, Way) or found.offline is not None


def _forward(pair: Pair) -> bool:
    old, new = _lines(pair)
    return old < new and _served(pair) and pair.way not in _RETURNS


def _old_brokers(pair: Pair) -> bool:
    return not _served(pair) and pair.protocol == "classic"


def _corrupting(pair: Pair) -> bool:
    return not _served(pair) and pair.protocol != "classic"


def _eager(pair: Pair) -> bool:
    old, new = _lines(pair)
    return (
        _forward(pair) and old <= matrix.LAST_EAGER and new >= matrix.FIRST_WITHOUT_EAGER and pair.way in {"one", "two"}
    )


def _guide(pair: Pair) -> bool:
    """Two bounces are asked for, one was enough."""
    act, probing = running(pair), _lines(pair)[0] > matrix.LAST_EAGER
    return _forward(pair) and probing and pair.way == "one" and act is not None and act.way == "two"


def _leader(pair: Pair) -> bool:
    act, eager = running(pair), _lines(pair)[0] <= matrix.LAST_EAGER
    return _forward(pair) and eager and pair.way == "one" and act is not None and act.way == "two"


def _wiped(pair: Pair) -> bool:
    """The operator does the same with an empty state directory."""
    acts = [act for act in (running(pair), offline(pair)) if act is not None]
    same = any(pair.way in {act.way, "stale"} for act in acts)
    return _forward(pair) and not pair.wiped and same and all(act.wiped for act in acts)


def _back(pair: Pair) -> bool:
    """The operator goes the same way back with an empty state directory."""
    old, new = _lines(pair)
    act = running(pair)
    return _served(pair) and (pair.way in _RETURNS or (new < old and act is not None and act.way == pair.way))


def _format_back(pair: Pair) -> bool:
    old, new = _lines(pair)
    return _served(pair) and new < old and pair.way == "one" and running(pair) is None


STRICTER: Final[tuple[Stricter, ...]] = (
    Stricter(
        name="guide",
        text="The instances find a common version. But since 3.3 foreign-key joins, and since 3.5 some repartition"
        " topics, have another format, which `upgrade.from` holds back. The counting application has neither.",
        source="Kafka Streams upgrade guide 3.3 and 3.5, KIP-904",
        holds=_guide,
    ),
    Stricter(
        name="leader",
        text="It worked by chance: it fails if the leader of the group is an instance that does not know the other's"
        " subscription; and up to 2.3 the instances rebalance by another protocol than from 2.4 on.",
        source="KIP-268, KAFKA-8649, Kafka Streams upgrade guide 2.4, KIP-429",
        holds=_leader,
    ),
    Stricter(
        name="eager",
        text="Releases from 4.0 on do not know the eager rebalance protocol, the only one of releases up to 2.3: two"
        " instances may have one task at the same time.",
        source="KAFKA-8179, Kafka Streams upgrade guide 4.0",
        holds=_eager,
    ),
    Stricter(
        name="checkpoints",
        text="Nothing was lost here, as every instance had all of the changelog. The later release reads a checkpoint"
        " differently, and skips a record of each store whose checkpoint is older than its changelog.",
        source="the rows `stale` above",
        holds=_wiped,
    ),
    Stricter(
        name="back",
        text="No release promises to open the stores of a later one, and some do not: every way back empties them.",
        source="the rows 4.3.1 → 3.9.1, 4.3.1 → 4.2.0 and 3.9.1 → 2.8.2 above",
        holds=_back,
    ),
    Stricter(
        name="format back",
        text="It worked by chance, or because both releases probe. An instance of the earlier release fails if it leads"
        " the group and gets a subscription that it does not know, and no `upgrade.from` names a later release.",
        source="KIP-268",
        holds=_format_back,
    ),
    Stricter(
        name="brokers",
        text="Brokers of 4.0 and later support clients from 2.1 on.",
        source="KIP-896",
        holds=_old_brokers,
    ),
    Stricter(
        name="corrupting",
        text="No harm was seen in this run. The issue says that such a broker corrupts a group that changes to the"
        " streams protocol.",
        source="KAFKA-20254",
        holds=_corrupting,
    ),
)


def release(text: str) -> StreamsRelease:
    """A release that is one (AssertionError)."""
    parsed = parse_release(text)
    assert parsed is not None, text
    return parsed


def answer(pair: Pair) -> WayFound:
    """What the operator says of this change with these brokers."""
    return find_way(
        Change(
            start=release(pair.old),
            target=release(pair.new),
            brokers=frozenset({release(pair.broker)}),
            target_protocol=Protocol(pair.protocol),
        )
    )


def running(pair: Pair) -> Act | None:
    """What the operator does while instances run; None if it refuses that."""
    found = answer(pair)
    return _act(found) if isinstance(found, Way) else None


def offline(pair: Pair) -> Act | None:
    """What the operator does if a person allows it to stop all instances; None if it does not come to that."""
    found = answer(pair)
    return None if isinstance(found, Way) or found.offline is None else _act(found.offline)


def named(pair: Pair) -> bool:
    """Whether the operator may do just this.

    `stale` is not an act of the operator: it is what any of its ways may meet, an instance whose local state is older
    than the changelog. `turned` and `late` are its way back between two bounces, always with an empty state directory.
    """
    if pair.way == "bridge":
        return _bridge(pair)
    acts = [act for act in (running(pair), offline(pair)) if act is not None]
    if pair.way == "stale":
        return any(act.wiped == pair.wiped for act in acts)
    if pair.way in _RETURNS:
        return pair.wiped and any(act.way == "two" and act.upgrade_from == pair.upgrade_from for act in acts)
    return Act(way=pair.way, upgrade_from=pair.upgrade_from, wiped=pair.wiped) in acts


def _bridge(pair: Pair) -> bool:
    """Whether the operator names this release between the two, and does both halves in this way."""
    found = answer(pair)
    if isinstance(found, Way) or pair.over is None or found.bridge != minor(pair.over):
        return False
    first, second = running(replace(pair, new=pair.over)), running(replace(pair, old=pair.over))
    return first == Act(way="two", upgrade_from=pair.upgrade_from, wiped=pair.wiped) and second == Act(
        way="one", upgrade_from=None, wiped=False
    )


def contradicts(row: Row) -> str:
    """How the operator's answer is disproved by a row; empty if it is not."""
    if not named(row.pair) or row.outcome == WORKS:
        return ""
    return f"the operator may do this, and it {row.outcome}: {row.runs}, lost {row.lost}, {row.reason}"


def refused(row: Row) -> bool:
    """Whether something worked that the operator does not do, because it does something more careful, or nothing."""
    pair = row.pair
    if row.outcome != WORKS or named(pair):
        return False
    acts = [act for act in (running(pair), offline(pair)) if act is not None]
    if pair.way in _RETURNS:
        return not pair.wiped
    careful = _CAREFUL.get(pair.way, max(_CAREFUL.values()))
    return not any(_CAREFUL[act.way] <= careful and act.wiped <= pair.wiped for act in acts)


def reasons(row: Row) -> list[Stricter]:
    """Why: the rules that hold for a refused row."""
    return [rule for rule in STRICTER if rule.holds(row.pair)]


def _act(way: Way) -> Act:
    first = way.steps[0]
    return Act(way=_ACTS[way.kind], upgrade_from=first.upgrade_from or None, wiped=first.wipe)
