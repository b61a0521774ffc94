"""Changes of trust with a pool beside the quorum: one operator serves both, and brokers have TLS to the controllers."""

import base64
import math
from functools import partial
from typing import Any, Final, TypeAlias

from tests.simulation.model.place import NAME, NAMESPACE
from tests.simulation.model.world import World
from tests.simulation.rules.invariants import Checker
from tests.simulation.rules.pool_away import cut_off
from tests.simulation.runs.faults import CLOCK_LOSSES
from tests.simulation.runs.scenarios.certificate_scenarios import (
    ends_renewed,
    foreign_secret,
    loses_secrets,
    no_more_may_end_later,
    secured,
    shows_until,
)
from tests.simulation.runs.scenarios.listener_scenarios import (
    OLD,
    SECURE,
    STAGES,
    STEPS,
    THREE,
    asks,
    listens_at,
    renews,
)
from tests.simulation.runs.scenarios.migration_scenarios import at_stage, has_ended
from tests.simulation.runs.scenarios.pool_scenes import (
    OTHER,
    POOL,
    PoolScenario,
    Topic,
    applies_pool,
    broker_of,
    frees_broker,
    holds_broker,
    pool_spec,
    pools_rest,
    with_topics,
)
from tests.simulation.runs.scenarios.release_scenes import all_hold, both, later
from tests.simulation.runs.scenarios.scenes import Act, When, after, condition, does_nothing, turn
from tests.simulation.runs.scenarios.token_scenarios import holder

from kit.kube.protocol import Json
from kit.kube.secrets import SECRETS

_ORDERS: Final = Topic(name="orders", replicas=((0, 1), (1, 0)), min_isr=1)
_POOL: Final = ((POOL, pool_spec(2)),)
_TWO_POOLS: Final = ((POOL, pool_spec(1)), (OTHER, pool_spec(1, firstNodeID=10)))
_TWO_AND_ONE: Final = ((POOL, pool_spec(2)), (OTHER, pool_spec(1, firstNodeID=10)))
_OF_THREE: Final = Topic(name="orders", replicas=((1, 0, 10), (10, 0, 1)), min_isr=2)
_SHARED: Final = Topic(name="orders", replicas=((0, 10), (10, 0)), min_isr=1)
"""Both brokers of the two pools have a replica of each partition."""
_LEAF_S: Final = 300
_RAISED_FOR_S: Final = 400
_RECOVERS_S: Final = 120
_BROKERS: Final = 2
_CERTAINLY_S: Final = 60
_no_more_may_end: Final = no_more_may_end_later(_RECOVERS_S)
_NEW_POOL: Final = applies_pool(pool_spec(1, firstNodeID=10), OTHER)
_TOPICS: Final = "auto.create.topics.enable"
_CHANGED: Final[Json] = {"config": {_TOPICS: "false"}}
_REQUESTS: Final = "queued.max.requests"
_CHANGED_AT_S: Final = 150
_ROLLS_S: Final = 60
_CONTROLLERS: Final = 3
_LAST_S: Final = 55
"""Restarts begin 100 s before an end of such certificates: half of that, and some seconds for the time of a look."""
_SECRET: Final = "brokers-tls"  # noqa: S105 - the end of a name
Moment: TypeAlias = tuple[str, When, Act]
"""A turn: what it is, when it comes, and what it does."""


def _encrypted(world: World) -> str:
    """Every broker reaches the controllers with TLS."""
    plain = [one.node_id for one in world.pools.every() if one.process.tls is None]
    return f"brokers {plain} have no TLS" if plain else ""


def _shows_one_authority(world: World) -> str:
    """Every broker trusts one authority, and it is the one that signed what the controllers show."""
    wrong = [
        one.node_id
        for one in world.pools.every()
        for tls in (one.process.tls,)
        if tls is None or len(tls.trust.authorities) != 1 or not tls.shown.issued_by(tls.trust.authorities[0])
    ]
    return f"brokers {wrong} do not have one authority alone" if wrong else ""


def _none_has_ended(world: World) -> bool:
    """No broker shows a certificate that has ended."""
    now = world.clock.now()
    return all(one.process.tls is None or one.process.tls.shown.not_after > now for one in world.pools.every())


def _ended(world: World) -> str:
    return "" if _none_has_ended(world) else "a broker shows a certificate that has ended"


def _beside(name: str, spec: Json, *turns: Moment, **more: Any) -> PoolScenario:  # noqa: ANN401 - fields of a scenario
    """Two brokers beside three controllers: of one pool, if no other pools are given."""
    topic = more.pop("topic", _ORDERS)
    given = {"pools": _POOL, "bound": 1500, **more}
    return PoolScenario(
        name=name,
        spec=spec,
        controllers=0,
        turns=(*with_topics(topic), *(turn(*each) for each in turns)),
        long=True,
        spares=CLOCK_LOSSES,
        **given,
    )


def _to_tls(name: str, *turns: Moment, **more: Any) -> PoolScenario:  # noqa: ANN401 - the same
    """From PLAINTEXT to SSL."""
    holds = more.pop("holds", all_hold(has_ended, listens_at(SECURE), _encrypted))
    return _beside(
        f"to-tls-with-a-pool{name}", THREE, ("asks for SSL", pools_rest, asks(SECURE)), *turns, holds=holds, **more
    )


def _authority(name: str, *turns: Moment, **more: Any) -> PoolScenario:  # noqa: ANN401 - the same
    """To another authority."""
    return _beside(
        f"authority-with-a-pool{name}",
        secured(leaf_s=36_000),
        ("asks for another authority", pools_rest, renews("1")),
        *turns,
        holds=all_hold(has_ended, _shows_one_authority),
        **more,
    )


def _held(stage: str) -> tuple[Moment, Moment]:
    """Broker 1 does not follow a stage until the quorum says that it waits for it alone."""
    return ("holds a broker", at_stage(stage), holds_broker(1)), ("lets it go", _waits_for_one, frees_broker(1))


def _waits_for_one(world: World) -> bool:
    message = condition(world, "FeaturesSettled").get("message", "")
    return "broker 1: " in message and "broker 0: " not in message


def _somebody_elses(name: str) -> Act:
    """For half a minute somebody else has a Secret of this name."""
    return both(both(loses_secrets(name), foreign_secret(name)), later(60, loses_secrets(name)))


def _lasts(world: World, _: Checker) -> None:
    """Connections stay open while both servers run, as they do with real ones; what a person holds up may end."""
    world.kraft.connections.kept_s = math.inf
    world.certificates_may_end = True


def _returns(world: World, other: int = 1) -> bool:
    """Broker 0 starts with a renewed certificate, and the other broker still has the earlier one."""
    shown = [
        one.process.tls.shown.not_after for one in map(partial(broker_of, world), (0, other)) if one and one.process.tls
    ]
    return len(shown) == _BROKERS and shown[0] > shown[1]


def _does_not_fetch(world: World, _: Checker) -> None:
    if (broker := broker_of(world, 0)) is not None:
        broker.fetches = 0


def _fetches(world: World, _: Checker) -> None:
    if (broker := broker_of(world, 0)) is not None:
        broker.fetches = world.pools.fetches


def _freezes(world: World, _: Checker) -> None:
    if (broker := broker_of(world, 0)) is not None:
        broker.process.frozen = True


def _thaws(world: World, _: Checker) -> None:
    if (broker := broker_of(world, 0)) is not None:
        broker.process.frozen = False


def _was_cut_off(world: World) -> bool:
    """The same for so long that the operator, whose clock may differ, counts it as ended."""
    held = broker_of(world, 1)
    if held is None or held.process.tls is None:
        return False
    return (world.clock.now() - held.process.tls.served.not_after).total_seconds() > _CERTAINLY_S


def _is_cut_off(world: World, node_id: int = 1) -> bool:
    """The certificate of this broker has ended: who has no connection to it gets none."""
    return node_id in cut_off(world)


def _starts_changed(world: World) -> bool:
    """Broker 0 was stopped, and starts with the changed setting."""
    broker = broker_of(world, 0)
    return broker is not None and broker.properties.get(_TOPICS) == _CHANGED["config"][_TOPICS]


def _stays_frozen(world: World, checker: Checker) -> None:
    """Whatever the kubelet and the operator do, broker 0 does not come back before the controllers have restarted."""
    if not _controllers_are_renewed(world):
        _freezes(world, checker)
        world.later(1, lambda: _stays_frozen(world, checker))


def _controllers_are_renewed(world: World) -> bool:
    """Every controller shows a certificate that is valid for most of its life."""
    ends = shows_until(world).values()
    return all((end - world.clock.now()).total_seconds() > _LEAF_S / 2 for end in ends) and len(ends) == _CONTROLLERS


def _changes_again(world: World, checker: Checker) -> None:
    """Every five seconds a setting of the pool changes, until the controllers have restarted: its roll never ends."""
    value = str(int(world.clock.elapsed_s))
    applies_pool(pool_spec(2, config={_REQUESTS: value}))(world, checker)
    if not _controllers_are_renewed(world) or world.clock.elapsed_s < _CHANGED_AT_S + _ROLLS_S:
        world.later(10, lambda: _changes_again(world, checker))


def _left_s(world: World) -> float:
    """How long the certificates are valid that the controllers show until they restart."""
    item = world.kube.view(SECRETS, NAMESPACE, f"{NAME}-3000-tls") or {"data": {}}
    return float(base64.b64decode(item["data"].get("before-ends", "")) or 0) - world.clock.now().timestamp()


def _is_given_away(world: World) -> bool:
    """The pool does not have the disruption token any more."""
    return holder(world) != f"pool/{POOL}"


def _not_too_early(world: World, checker: Checker) -> None:
    """The pool has waited for its broker for half of the time before the end."""
    if _left_s(world) > _LAST_S:
        checker.fail("11, together", "the pool gives the disruption token away before its broker had its time")


def _were_in_time(world: World, checker: Checker) -> None:
    """The controllers restarted before the certificates ended that they showed."""
    if _left_s(world) <= 0:
        checker.fail(
            "13, ended", "a pool kept the disruption token until the certificates of the controllers had ended"
        )


def _raises_its_number(world: World, _: Checker) -> None:
    """Every 40 s a user who may write the Secret of the pool raises the generation in it by one."""

    def once() -> None:
        item = world.kube.view(SECRETS, NAMESPACE, f"{NAME}-brokers-tls.{POOL}")
        if item is not None:
            number = int(base64.b64decode(item["data"]["generation"])) + 1
            data = {"generation": base64.b64encode(str(number).encode()).decode()}
            world.kube.patch(SECRETS, NAMESPACE, f"{NAME}-brokers-tls.{POOL}", {"data": data})
        if world.clock.elapsed_s < _RAISED_FOR_S:
            world.later(80, once)

    once()


TRUST_WITH_POOLS: Final = (
    _to_tls("", exhaustive=True),
    _to_tls("-that-is-held", *_held(STAGES[1])),
    _to_tls("-and-another-pool", ("another pool comes", at_stage(STAGES[0]), _NEW_POOL), later=(OTHER,)),
    _to_tls("-back", ("back", at_stage(STAGES[2]), asks(OLD)), holds=all_hold(has_ended, listens_at(OLD))),
    _to_tls("-and-a-lost-secret", ("brokers' Secret is lost", at_stage(STAGES[1]), loses_secrets(_SECRET))),
    _to_tls("-and-a-foreign-secret", ("somebody has its name", at_stage(STAGES[0]), _somebody_elses(_SECRET))),
    _authority("", exhaustive=True),
    _authority("-that-is-held", *_held(STEPS[0]), *_held(STEPS[1])),
    _authority("-and-another-pool", ("another pool comes", at_stage(STEPS[0]), _NEW_POOL), later=(OTHER,)),
    _authority("-and-a-lost-secret", ("brokers' Secret is lost", at_stage(STEPS[1]), loses_secrets(_SECRET))),
    _beside(
        "renewal-with-a-broker-that-comes-too-late",
        secured(leaf_s=_LEAF_S),
        ("connections last", pools_rest, _lasts),
        ("broker 0 lags", _returns, _does_not_fetch),
        ("broker 1 was its leader", _is_cut_off, both(_fetches, _no_more_may_end)),
        until=lambda world: not world.certificates_may_end,
        holds=all_hold(_encrypted, _ended),
    ),
    _beside(
        "renewal-with-two-pools-and-a-broker-that-comes-too-late",
        secured(leaf_s=_LEAF_S),
        ("connections last", pools_rest, _lasts),
        ("broker 0 lags", partial(_returns, other=10), _does_not_fetch),
        ("broker 10 was its leader", partial(_is_cut_off, node_id=10), both(_fetches, _no_more_may_end)),
        pools=_TWO_POOLS,
        topic=_SHARED,
        bound=2000,
        until=lambda world: not world.certificates_may_end,
        holds=all_hold(_encrypted, _ended),
    ),
    _beside(
        "renewal-with-two-pools-whose-brokers-end-together",
        secured(leaf_s=_LEAF_S),
        ("connections last", pools_rest, _lasts),
        ("broker 0 lags", partial(_returns, other=10), _does_not_fetch),
        ("brokers 1 and 10 lead all", lambda world: cut_off(world) >= {1, 10}, both(_fetches, _no_more_may_end)),
        pools=_TWO_AND_ONE,
        topic=_OF_THREE,
        bound=2000,
        until=lambda world: not world.certificates_may_end,
        holds=all_hold(_encrypted, _ended),
    ),
    _beside(
        "renewal-with-a-broker-that-freezes",
        secured(leaf_s=_LEAF_S),
        ("connections last", pools_rest, _lasts),
        ("broker 0 freezes", _returns, _freezes),
        ("broker 1 was its leader", _was_cut_off, both(_thaws, _no_more_may_end)),
        until=lambda world: not world.certificates_may_end,
        holds=all_hold(_encrypted, _ended),
    ),
    _beside(
        "renewal-while-a-broker-does-not-come-back",
        secured(leaf_s=_LEAF_S),
        ("connections last", pools_rest, _lasts),
        ("a setting is changed", after(_CHANGED_AT_S), applies_pool(pool_spec(2, **_CHANGED))),
        ("broker 0 freezes in its start", _starts_changed, _stays_frozen),
        ("the pool gives the token away", _is_given_away, _not_too_early),
        ("the controllers have restarted", _controllers_are_renewed, both(_were_in_time, _thaws)),
        ("the broker is back", pools_rest, _no_more_may_end),
        until=lambda world: not world.certificates_may_end,
        holds=all_hold(ends_renewed(2), _encrypted, _ended),
    ),
    _beside(
        "renewal-while-a-pool-rolls-without-end",
        secured(leaf_s=_LEAF_S),
        ("connections last", pools_rest, _lasts),
        ("its settings change again and again", after(_CHANGED_AT_S), _changes_again),
        ("certificates are renewed", after(_CHANGED_AT_S + _ROLLS_S), does_nothing),
        ("the controllers have restarted", _controllers_are_renewed, both(_were_in_time, _no_more_may_end)),
        until=lambda world: not world.certificates_may_end,
        holds=all_hold(ends_renewed(2), _encrypted, _ended),
    ),
    _beside(
        "renewal-with-a-pool",
        secured(leaf_s=_LEAF_S),
        until_s=_LEAF_S + 10.0,
        until=_none_has_ended,
        holds=all_hold(ends_renewed(2), _encrypted, _ended),
    ),
    _beside(
        "renewal-with-a-pool-whose-number-grows",
        secured(leaf_s=_LEAF_S),
        ("a user raises its number again and again", pools_rest, _raises_its_number),
        until_s=_RAISED_FOR_S + 10.0,
        until=_none_has_ended,
        holds=all_hold(ends_renewed(2), _encrypted, _ended),
    ),
)
