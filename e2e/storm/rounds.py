"""Which blows a storm strikes, and when: drawn from the seed alone, so that a seed repeats them. Pure.

The victim of a blow on the cluster (the leader, the second controller by node id) is chosen at the blow, because only
the cluster has it. Each round draws from its own source, so that a storm can begin at any of its rounds.
"""

import random
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final, TypeAlias

from harness.refused import POD_SPECS

Json: TypeAlias = dict[str, Any]

NODE_IDS: Final = tuple(range(3000, 3008))
"""The node ids that a storm may request: the writer's brokers look for the quorum at all of them."""
REPLICAS: Final = (3, 3, 4, 5)
"""Numbers of controllers to draw from. With fewer than three, one lost disk is the loss of the quorum."""
LOST_AFTER_S: Final = 45
"""`lostNodeAfterSeconds` of the storm's quorum. Kubernetes needs 12 s more until a node is not ready."""
_LONGEST_OFF_S: Final = 35.0
"""A node that returns within this time is not given up."""
_MOST_BLOWS: Final = 4
_LONGEST_PAUSE_S: Final = 12.0


class Kind(Enum):
    """The act of a blow."""

    SCALE = "scale"
    NODE_IDS = "other-node-ids"
    CHANGE = "valid-change"
    BAD_SPEC = "bad-spec"
    REFUSED_POD = "refused-pod"
    WIPE = "disk-wiped"
    WIPE_RUNNING = "disk-wiped-under-pod"
    CLAIM = "claim-deleted"
    POD = "pod-deleted"
    POD_FORCED = "pod-deleted-by-force"
    CONTAINER = "container-killed"
    SANDBOX = "sandbox-killed"
    ALL = "all-controllers-killed"
    FROZEN = "controller-frozen"
    NODE_OFF = "node-off"
    NODE_LOST = "node-lost"
    CUT = "node-cut-off"
    CUT_API = "node-cut-off-from-api"
    OPERATOR = "operator-killed"
    OPERATORS = "all-operators-killed"
    OPERATOR_STOP = "operator-stopped"
    OPERATOR_FROZEN = "operator-frozen"
    OBJECT = "object-deleted"
    RECORD = "identity-configmap-deleted"
    ORPHAN = "resource-orphaned-and-applied"


FINAL: Final = frozenset({Kind.WIPE, Kind.WIPE_RUNNING, Kind.CLAIM, Kind.NODE_LOST})
"""Blows after which a voter's disk does not return."""
_LASTING: Final = frozenset(
    {Kind.BAD_SPEC, Kind.REFUSED_POD, Kind.FROZEN, Kind.NODE_OFF, Kind.CUT, Kind.CUT_API, Kind.OPERATOR_FROZEN}
)
"""Blows that last for a time, and are undone."""
_ALONE: Final = frozenset({Kind.NODE_LOST, Kind.ORPHAN})
"""Blows that a round has at most once."""
NODES: Final = frozenset({Kind.NODE_OFF, Kind.NODE_LOST, Kind.CUT, Kind.CUT_API})
"""Blows at a Kubernetes node; a round has one such node."""
_AIMED: Final = NODES | {
    Kind.WIPE,
    Kind.WIPE_RUNNING,
    Kind.CLAIM,
    Kind.POD,
    Kind.POD_FORCED,
    Kind.CONTAINER,
    Kind.SANDBOX,
    Kind.FROZEN,
}
"""Blows that hit one controller, or its node."""
_SPECS: Final = frozenset({Kind.BAD_SPEC, Kind.REFUSED_POD})
"""Blows after which the spec is wrong; a round has one such fault."""
_WEIGHTS: Final = {
    Kind.SCALE: 6,
    Kind.NODE_IDS: 3,
    Kind.CHANGE: 3,
    Kind.BAD_SPEC: 4,
    Kind.REFUSED_POD: 3,
    Kind.WIPE: 4,
    Kind.WIPE_RUNNING: 3,
    Kind.CLAIM: 3,
    Kind.POD: 3,
    Kind.POD_FORCED: 3,
    Kind.CONTAINER: 3,
    Kind.SANDBOX: 2,
    Kind.ALL: 2,
    Kind.FROZEN: 3,
    Kind.NODE_OFF: 4,
    Kind.NODE_LOST: 2,
    Kind.CUT: 3,
    Kind.CUT_API: 2,
    Kind.OPERATOR: 5,
    Kind.OPERATORS: 3,
    Kind.OPERATOR_STOP: 2,
    Kind.OPERATOR_FROZEN: 2,
    Kind.OBJECT: 2,
    Kind.RECORD: 1,
    Kind.ORPHAN: 1,
}

CHANGES: Final[tuple[Json, ...]] = (
    {"kafka": {"config": {"num.io.threads": "5"}}},
    {"kafka": {"config": {"num.io.threads": "6"}}},
    {"controllers": {"jvm": {"options": ["-Dchanged=yes"]}}},
    {"controllers": {"jvm": {"options": ["-Dchanged=again"]}}},
    {"controllers": {"template": {"metadata": {"labels": {"changed": "yes"}}}}},
    {"controllers": {"template": {"metadata": {"labels": {"changed": "again"}}}}},
)
"""Valid changes of the spec: each is one roll."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """A wrong spec and its correction, as merge patches of the spec."""

    name: str
    wrong: Json
    right: Json


def _pod(name: str, wrong: Json) -> Fault:
    """A fault of the pod template's spec, corrected by its removal."""
    return Fault(
        name=name,
        wrong={"controllers": {"template": {"spec": wrong}}},
        right={"controllers": {"template": {"spec": dict.fromkeys(wrong)}}},
    )


BAD_SPECS: Final = (
    Fault(name="image", wrong={"kafka": {"image": "testbed/kafka:4.4.O"}}, right={"kafka": {"image": ""}}),
    Fault(
        name="jvm-option",
        wrong={"controllers": {"jvm": {"options": ["-XX:NoSuchOption"]}}},
        right={"controllers": {"jvm": {"options": []}}},
    ),
    Fault(
        name="property",
        wrong={"kafka": {"config": {"metadata.log.segment.bytes": "none"}}},
        right={"kafka": {"config": {"metadata.log.segment.bytes": None}}},
    ),
    Fault(
        name="heap",
        wrong={"controllers": {"jvm": {"heap": "900Gi"}}},
        right={"controllers": {"jvm": {"heap": "128Mi"}}},
    ),
    Fault(
        name="timeout",
        wrong={"kafka": {"config": {"controller.quorum.fetch.timeout.ms": "2s"}}},
        right={"kafka": {"config": {"controller.quorum.fetch.timeout.ms": None}}},
    ),
    _pod("node-selector", {"nodeSelector": {"no-such": "label"}}),
    _pod("cpu", {"containers": [{"name": "kafka", "resources": {"requests": {"cpu": "64"}}}]}),
)
"""Specs with which no pod can start, or that the operator refuses."""
REFUSED_PODS: Final = tuple(
    _pod(name, POD_SPECS[name]) for name in ("memory", "service-account", "root", "priority-class")
)
"""Specs whose pods the API server refuses."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Blow:
    """One blow. `at_s` counts from the round's start, `hold_s` from `at_s`; `pick` (0 to 1) chooses the victim."""

    kind: Kind
    at_s: float
    hold_s: float = 0.0
    leader: bool = False
    pick: float = 0.0
    replicas: int = 0
    node_ids: tuple[int, ...] = ()
    patch: Json | None = None
    fault: Fault | None = None

    def __str__(self) -> str:
        """For the report: `disk-wiped (the leader's)`, `node-off for 23 s`."""
        words = [self.kind.value]
        if self.replicas:
            words.append(f"to {self.replicas}")
        if self.node_ids:
            words.append(f"to {','.join(map(str, self.node_ids))}")
        if self.fault is not None:
            words.append(self.fault.name)
        if self.hold_s:
            words.append(f"for {self.hold_s:.0f} s")
        if self.leader and self.kind in _AIMED:
            words.append("(the leader's)")
        return " ".join(words)


@dataclass(frozen=True, slots=True, kw_only=True)
class Round:
    """The blows of a round, in the order in which they are struck.

    `found` is the number of controllers before it, `replicas` the requested number after it.
    """

    number: int
    blows: tuple[Blow, ...]
    found: int
    replicas: int


def rounds(seed: int, kinds: Iterable[Kind] = tuple(Kind), *, replicas: int = 3) -> Iterator[Round]:
    """The rounds of a storm, without end. `replicas` is the number of controllers before the first one."""
    allowed, number = tuple(sorted(set(kinds), key=lambda kind: kind.value)), 0
    if not allowed:
        raise ValueError("a storm needs at least one kind of blow")
    while True:
        number += 1
        drawn = _round(random.Random(f"{seed}/{number}"), number, allowed, replicas)  # noqa: S311 - a replay, no secret
        replicas = drawn.replicas
        yield drawn


def _round(dice: random.Random, number: int, kinds: tuple[Kind, ...], replicas: int) -> Round:
    weights, struck, now_s = [_WEIGHTS[kind] for kind in kinds], list[Blow](), 0.0
    found = least = replicas
    count = dice.randint(1, _MOST_BLOWS)
    for _ in range(count):
        blow = _blow(dice, dice.choices(kinds, weights)[0], now_s, replicas)
        wanted = blow.replicas or len(blow.node_ids)
        if not _fits(blow, struck, min(least, wanted or least)):
            continue
        struck.append(blow)
        replicas, least = wanted or replicas, min(least, wanted or least)
        now_s += dice.uniform(0.0, _LONGEST_PAUSE_S)
    return Round(number=number, blows=tuple(struck), found=found, replicas=replicas)


def _fits(blow: Blow, struck: list[Blow], least: int) -> bool:
    """Whether the quorum tolerates this blow and the earlier ones: a majority of the fewest voters keeps its disks."""
    kinds = [earlier.kind for earlier in struck]
    final = sum(kind in FINAL for kind in (*kinds, blow.kind))
    if final > (least - 1) // 2:
        return False
    groups = (NODES, _SPECS, {Kind.FROZEN}, {Kind.OPERATOR_FROZEN}, *({kind} for kind in _ALONE))
    return not any(blow.kind in group and any(kind in group for kind in kinds) for group in groups)


def _blow(dice: random.Random, kind: Kind, at_s: float, replicas: int) -> Blow:
    """Every draw is made for every kind, so that another kind in a round does not change the blows after it."""
    hold_s, leader, pick = dice.uniform(3.0, _LONGEST_OFF_S), dice.random() < 0.4, dice.random()
    count, chosen = dice.choice(REPLICAS), dice.random()
    ids = tuple(sorted(dice.sample(NODE_IDS, replicas)))
    fields: Json = {}
    if kind is Kind.SCALE:
        fields["replicas"] = count
    elif kind is Kind.NODE_IDS:
        fields["node_ids"] = ids
    elif kind is Kind.CHANGE:
        fields["patch"] = CHANGES[int(chosen * len(CHANGES))]
    elif kind in _SPECS:
        faults = BAD_SPECS if kind is Kind.BAD_SPEC else REFUSED_PODS
        fields["fault"] = faults[int(chosen * len(faults))]
    if kind in _LASTING:
        fields["hold_s"] = hold_s
    return Blow(kind=kind, at_s=at_s, leader=leader, pick=pick, **fields)
