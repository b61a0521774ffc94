"""Scenarios of the disruption token: a pool of brokers has it, takes it at the same moment, or a person deletes it."""

from collections.abc import Callable
from typing import Final

from tests.simulation.model.place import NAME, NAMESPACE
from tests.simulation.model.world import World
from tests.simulation.rules.invariants import Checker
from tests.simulation.rules.roll_rules import NO_TOKEN
from tests.simulation.runs.scenarios.release_scenes import later
from tests.simulation.runs.scenarios.scenes import Scenario, applies, is_ready, one_of, rests, spec_of, tells, turn
from tests.simulation.runs.slow import Hitch

from kafka_quorum.kind import QUORUMS
from kafka_quorum.model.names import token_holder, token_name
from kit.kube.protocol import LEASES, Json

_POOL: Final = "pool/hot"
_WHILE_STEPS: Final = 30
_VOTERS: Final = 3
_HEAP: Final = {"controllers": {"jvm": {"heap": "1Gi"}}}
_LATE_STEPS: Final = 8
"""A request to give the token back has its effect so late: while a controller of the next roll is away."""


def holder(world: World) -> str:
    """Who has the token; empty for nobody."""
    lease = world.kube.get(LEASES, NAMESPACE, token_name(NAME)) or {}
    return str((lease.get("spec") or {}).get("holderIdentity") or "")


def takes(world: World, _: Checker) -> None:
    """A pool takes the token if nobody has it."""
    if not holder(world):
        _write(world, _POOL)


def gives_back(world: World, _: Checker) -> None:
    """The pool gives the token back."""
    if holder(world) == _POOL:
        _write(world, "")


def deletes_lease(world: World, _: Checker) -> None:
    """A person deletes the Lease, whoever has the token."""
    lease = world.kube.get(LEASES, NAMESPACE, token_name(NAME))
    if lease is not None:
        world.kube.delete(LEASES, NAMESPACE, token_name(NAME), uid=lease["metadata"]["uid"])


def _write(world: World, identity: str) -> None:
    lease: Json | None = world.kube.get(LEASES, NAMESPACE, token_name(NAME))
    if lease is None:
        body = {"metadata": {"name": token_name(NAME)}, "spec": {"holderIdentity": identity}}
        world.kube.create(LEASES, NAMESPACE, body)
    else:
        world.kube.replace(LEASES, NAMESPACE, {**lease, "spec": {"holderIdentity": identity}})


def is_asked_for(world: World) -> bool:
    """Once the quorum has the token, or a write is still under way, which may be the one that takes it."""
    return holder(world) == token_holder(NAME) or bool(world.pending)


def nobody_has_it(world: World) -> str:
    """At rest the token is free for others."""
    return f"{holder(world)} has the token" if holder(world) else ""


def keeps_follower(world: World, checker: Checker) -> None:
    """Request one controller: the one that does not lead."""
    applies({"controllers": {"replicas": 1, "nodeIDs": [one_of(world, "follower")]}})(world, checker)


def takes_by_turns(every_steps: int, times: int) -> Callable[[World, Checker], None]:
    """A pool tries to take the token again and again, and gives it back some steps later."""

    def act(world: World, checker: Checker) -> None:
        takes(world, checker)
        world.later(every_steps // 2, lambda: gives_back(world, checker))
        if times:
            world.later(every_steps, lambda: takes_by_turns(every_steps, times - 1)(world, checker))

    return act


def unheard(who: str, steps: int, meanwhile: Callable[[World], None], *, second: bool = False) -> Hitch:
    """The first request by which `who` gives the token back, or the second one, is answered by nothing, and comes late.

    Meanwhile something else is to be stopped under the same token.
    """

    def gives_back(world: World) -> bool:
        spec = (world.kube.get(LEASES, NAMESPACE, token_name(NAME)) or {}).get("spec") or {}
        return spec.get("holderIdentity") == who and ("leaseDurationSeconds" in spec or not second)

    what = LEASES.plural
    return Hitch(verb="replace", what=what, when=gives_back, steps=steps, meanwhile=meanwhile, unanswered=True)


def _wants_more(world: World) -> None:
    world.kube.patch(QUORUMS, NAMESPACE, NAME, {"spec": {"controllers": {"jvm": {"heap": "2Gi"}}}})


def _is_away(world: World) -> bool:
    """Whether fewer controllers run than there are voters."""
    return len(world.kraft.processes) < _VOTERS


def _is_free_or_at_rest(world: World) -> bool:
    """Once nobody has the token while a controller is away; or the second roll has ended."""
    return not holder(world) and (_is_away(world) or (rests(world) and not world.pending))


def _keeps_it(world: World, checker: Checker) -> None:
    if _is_away(world):
        checker.fail(NO_TOKEN, "the disruption token is free, and a controller that was stopped with it is not back")


def _given_back_late(name: str, *, second: bool) -> Scenario:
    """Another roll begins while the token is being given back, and this comes while a controller is away."""
    late = unheard(token_holder(NAME), _LATE_STEPS, _wants_more, second=second)
    spec = spec_of("InitialControllers", _VOTERS)
    turns = (_ROLL, turn("the token is free", _is_free_or_at_rest, _keeps_it))
    return Scenario(name=name, spec=spec, turns=turns, hitches=(late,), holds=nobody_has_it)


_ROLL: Final = turn("wants another heap", is_ready, applies(_HEAP))
TOKENS: Final = (
    _given_back_late("token-given-back-late", second=False),
    _given_back_late("token-freed-late", second=True),
    Scenario(
        name="roll-waits-for-a-pool",
        spec=spec_of("InitialControllers", 3),
        turns=(
            turn("a pool restarts brokers", is_ready, takes),
            _ROLL,
            turn("the pool is done", tells("Progressing", _POOL), later(_WHILE_STEPS, gives_back)),
        ),
    ),
    Scenario(
        name="roll-while-a-pool-has-the-token-for-ever",
        spec=spec_of("InitialControllers", 3),
        turns=(turn("a pool restarts brokers", is_ready, takes), _ROLL),
        ends="DisruptionElsewhere",
    ),
    Scenario(
        name="roll-without-its-lease",
        spec=spec_of("InitialControllers", 3),
        turns=(
            _ROLL,
            turn("a person deletes the Lease", lambda world: holder(world) == token_holder(NAME), deletes_lease),
        ),
    ),
    Scenario(
        name="roll-taken-back-as-it-begins",
        spec=spec_of("InitialControllers", 3),
        turns=(_ROLL, turn("takes it back", is_asked_for, applies({"controllers": {"jvm": None}}))),
        holds=nobody_has_it,
        until_s=300,
    ),
    Scenario(
        name="roll-beside-a-pool",
        spec=spec_of("InitialControllers", 3),
        turns=(turn("a pool begins", is_ready, takes_by_turns(14, 12)), _ROLL),
    ),
    Scenario(
        name="hand-over-waits-for-a-pool",
        spec=spec_of("InitialControllers", 2, controllers={"allowInterruption": True}),
        turns=(
            turn("a pool restarts brokers", is_ready, takes),
            turn("removes the leader", is_ready, keeps_follower),
            turn("the pool is done", tells("Progressing", _POOL), later(_WHILE_STEPS, gives_back)),
        ),
    ),
)
